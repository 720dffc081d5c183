"""The kernels twice: compiled, and as plain Python all the way down."""

import functools
import sys
from importlib import import_module
from types import SimpleNamespace

import numba
import numpy as np
import pytest

ENGINE = "cordwood.ensemble._tree_engine"
MODULES = {
    "bag": f"{ENGINE}._kernels_bootstrap",
    "encode": f"{ENGINE}._kernels_binning",
    "grow": f"{ENGINE}.grow",
    "postings": f"{ENGINE}.postings",
    "rng": "cordwood._random",
    "splits": f"{ENGINE}.splits",
    "totals": f"{ENGINE}._kernels_importances",
    "walk": f"{ENGINE}._kernels_apply",
}


def load():
    return SimpleNamespace(**{name: import_module(module) for name, module in MODULES.items()})


def load_plain():
    """Import the kernels a second time, uncompiled, beside the modules that all others use."""
    compiled = {name: module for name, module in sys.modules.items() if is_kernel(name)}
    for name in compiled:
        del sys.modules[name]
    enabled, numba.config.DISABLE_JIT = numba.config.DISABLE_JIT, 1
    try:
        return load()
    finally:
        numba.config.DISABLE_JIT = enabled
        for name in [name for name in sys.modules if is_kernel(name)]:
            del sys.modules[name]
        sys.modules.update(compiled)
        for name, module in compiled.items():
            parent, _, child = name.rpartition(".")
            setattr(sys.modules[parent], child, module)


def let_overflow(function):
    @functools.wraps(function)
    def quiet(*arguments):
        with np.errstate(over="ignore"):
            return function(*arguments)

    return quiet


def is_kernel(name):
    return name in ("cordwood._random", "cordwood._jit", "cordwood._intrinsics") or name.startswith(
        f"{ENGINE}."
    )


@pytest.fixture(scope="session")
def compiled():
    return load()


@pytest.fixture(scope="session")
def plain(compiled):
    kernels = load_plain()
    assert not hasattr(kernels.grow.grow, "py_func")
    assert hasattr(compiled.grow.grow, "py_func")
    # These live on products that overflow, of which numpy warns in plain Python.
    kernels.rng.uniform = kernels.splits.uniform = let_overflow(kernels.rng.uniform)
    kernels.encode.hash_rows = let_overflow(kernels.encode.hash_rows)
    return kernels


@pytest.fixture(scope="session", params=["compiled", "plain"])
def kernels(request):
    return request.getfixturevalue(request.param)
