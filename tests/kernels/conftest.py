"""The kernels twice: compiled, and as plain Python all the way down."""

import functools
import sys
from importlib import import_module
from types import SimpleNamespace

import numba
import numpy as np
import pytest

import cordwood
import cordwood.kernels

NAMES = ("bag", "encode", "grow", "postings", "rng", "splits", "totals", "walk")


def load():
    return SimpleNamespace(**{name: import_module(f"cordwood.kernels.{name}") for name in NAMES})


def load_plain():
    """Import the kernels a second time, uncompiled, beside the modules that all others use."""
    package = cordwood.kernels
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
        cordwood.kernels = package


def let_overflow(function):
    @functools.wraps(function)
    def quiet(*arguments):
        with np.errstate(over="ignore"):
            return function(*arguments)

    return quiet


def is_kernel(name):
    return name == "cordwood.kernels" or name.startswith("cordwood.kernels.")


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
