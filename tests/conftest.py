"""Fixtures of all tests: no installed encoder, and all numba kernels, compiled or plain Python."""

import functools
import re
import sys
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace

import numba
import numpy as np
import pytest
from _pytest.doctest import DoctestModule

from cordwood._kernels import cache
from cordwood.encoders import choice

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


@pytest.hookimpl(wrapper=True)
def pytest_collect_file():
    """Do not look for doctests in tests: an ImportError would leave out all tests of a module.

    Doctests are skipped if their module cannot be imported, and the incomplete module is then taken
    from `sys.modules`.
    """
    return [each for each in (yield) if not isinstance(each, DoctestModule)]


@pytest.fixture(scope="session", autouse=True)
def hidden_encoders():
    """Make ``encoder="auto"`` find no encoder, so that models do not depend on the machine."""
    list_encoders = choice.list_encoders

    def list_as_missing():
        return [replace(info, install=info.install or "install it") for info in list_encoders()]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(choice, "list_encoders", list_as_missing)
        yield list_encoders


@pytest.fixture
def installed_encoders(hidden_encoders, monkeypatch):
    """Let ``encoder="auto"`` find what is installed, in a test that is about it."""
    monkeypatch.setattr(choice, "list_encoders", hidden_encoders)


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
