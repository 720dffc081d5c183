"""Fixtures with all numba kernels, compiled and as plain Python functions."""

import functools
import re
import sys
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace

import numba
import numpy as np
import pytest

from cordwood._kernels import cache

PACKAGE = Path(cache.__file__).parents[1]
DECORATOR = re.compile(r"^@(kernel|helper|inlined)$", re.MULTILINE)


def module_name(path):
    return ".".join(["cordwood", *path.relative_to(PACKAGE).with_suffix("").parts])


# Modules whose kernels change with the sources, and those of them that contain kernels.
SOURCES = {module_name(path): path for path in cache.list_sources(PACKAGE)}
MODULES = {
    path.stem.removeprefix("_"): name
    for name, path in SOURCES.items()
    if DECORATOR.search(path.read_text(encoding="utf-8"))
}

# These rely on integer products that wrap around, about which numpy warns in plain Python.
OVERFLOWING = ("uniform", "hash_rows", "fingerprint")


def import_kernels():
    return SimpleNamespace(**{name: import_module(module) for name, module in MODULES.items()})


def is_reloaded(name):
    """Whether a module contains kernels or is imported by modules that do."""
    # Not the cache itself: its directory is found once per process.
    return name in SOURCES and name != cache.__name__


def import_plain_kernels():
    """Import the kernel modules again, uncompiled, next to those that other modules use."""
    compiled = {name: module for name, module in sys.modules.items() if is_reloaded(name)}
    for name in compiled:
        del sys.modules[name]
    disabled, numba.config.DISABLE_JIT = numba.config.DISABLE_JIT, 1
    try:
        return import_kernels()
    finally:
        numba.config.DISABLE_JIT = disabled
        for name in [name for name in sys.modules if is_reloaded(name)]:
            del sys.modules[name]
        sys.modules.update(compiled)
        for name, module in compiled.items():
            parent, _, child = name.rpartition(".")
            setattr(sys.modules[parent], child, module)


def allow_overflow(function):
    @functools.wraps(function)
    def wrapped(*arguments):
        with np.errstate(over="ignore"):
            return function(*arguments)

    return wrapped


@pytest.fixture(scope="session")
def compiled():
    return import_kernels()


@pytest.fixture(scope="session")
def plain(compiled):
    kernels = import_plain_kernels()
    for name, module in vars(kernels).items():
        functions = [value for value in vars(module).values() if hasattr(value, "py_func")]
        assert not functions, f"{name} is compiled"
        for function in OVERFLOWING:
            if hasattr(module, function):
                setattr(module, function, allow_overflow(getattr(module, function)))
    return kernels


@pytest.fixture(scope="session", params=["compiled", "plain"])
def kernels(request):
    return request.getfixturevalue(request.param)
