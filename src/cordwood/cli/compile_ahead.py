"""Compilation of kernels in two processes of their own, while a command reads its data."""

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
_FOREST = """
import scipy.sparse as sp
from cordwood.ensemble.forests import RandomForestClassifier
X = sp.eye_array(4, dtype="f4", format="csr")
RandomForestClassifier(1, random_state=0).fit(X, [0, 1, 0, 1]).predict_proba(X)
"""
_OTHERS = """
from cordwood import recipes
from cordwood.stacking.combiners import LogarithmicPool
labels = [0, 1] * 10
texts = [f"class {label} word{i} other{i}" for i, label in enumerate(labels)]
for name in ("nbsvm", "knn"):
    recipes.make(name).fit(texts, labels).predict_proba(texts)
LogarithmicPool().fit([[0.6, 0.4], [0.4, 0.6]] * 10, labels)
"""


def compile_ahead(args: Any) -> None:
    """Start to compile if the command will fit the default recipe, and trees never were."""
    is_default = getattr(args, "recipe", recipes.DEFAULT) == recipes.DEFAULT
    if not (isinstance(args, Audit | Curve | Demo | Label | Train) and is_default):
        return
    cache_dir = import_module("cordwood._kernels.cache").CACHE_DIR  # imports numba
    is_cached = cache_dir is None or any(cache_dir.glob(f"{_KERNEL}.*.kernel"))
    if not is_cached and sys.executable and (os.cpu_count() or 1) > 1:
        for code in (_FOREST, _OTHERS):
            # If one fails or is ended, its kernels are compiled when they are needed.
            subprocess.Popen(
                [sys.executable, "-c", code],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
