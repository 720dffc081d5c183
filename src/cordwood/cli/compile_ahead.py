"""Compilation of the largest kernel in a process of its own, while a command reads its data."""

import os
import subprocess
import sys
from importlib import import_module
from typing import Any

from cordwood import recipes
from cordwood.cli.commands import Audit, Curve, Demo, Label, Train

# Growing trees takes as long to compile as all other kernels of the default recipe together, and
# numba compiles one kernel at a time in a process.
_KERNEL = "ensemble.tree_engine.grow.grow_tree"
_CODE = """
import scipy.sparse as sp
from cordwood.ensemble.forests import RandomForestClassifier
RandomForestClassifier(1, random_state=0).fit(sp.eye_array(4, format="csr"), [0, 1, 0, 1])
"""


def compile_ahead(args: Any) -> None:
    """Start to compile, if the command will fit the default recipe and the kernel is not cached."""
    is_default = getattr(args, "recipe", recipes.DEFAULT) == recipes.DEFAULT
    if not (isinstance(args, Audit | Curve | Demo | Label | Train) and is_default):
        return
    cache_dir = import_module("cordwood._kernels.cache").CACHE_DIR  # imports numba
    is_cached = cache_dir is None or any(cache_dir.glob(f"{_KERNEL}.*.kernel"))
    if not is_cached and sys.executable and (os.cpu_count() or 1) > 1:
        # If it fails or is ended, the kernel is compiled when it is needed.
        subprocess.Popen(
            [sys.executable, "-c", _CODE],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
