"""Kernels are compiled by other processes, if a command will need them."""

import pytest

from cordwood._kernels import cache
from cordwood.cli import compile_ahead
from cordwood.cli.commands import Demo, Predict, Train


@pytest.fixture
def started(monkeypatch, tmp_path):
    started = []
    monkeypatch.setattr(cache, "CACHE_DIR", tmp_path)
    monkeypatch.setattr(compile_ahead.os, "cpu_count", lambda: 2)
    monkeypatch.setattr(
        compile_ahead.subprocess, "Popen", lambda command, **_: started.append(command)
    )
    return started


def make(record, **fields):
    """Return the arguments of a command, of which only some are set."""
    args = object.__new__(record)
    for name, value in fields.items():
        object.__setattr__(args, name, value)
    return args


@pytest.mark.parametrize(
    ("record", "fields", "n_started"),
    [
        (Train, {"recipe": "quick"}, 2),
        (Demo, {}, 2),
        (Train, {"recipe": "nb"}, 0),
        (Predict, {}, 0),
    ],
)
def test_commands(started, record, fields, n_started):
    compile_ahead.compile_ahead(make(record, **fields))
    assert len(started) == n_started


def test_a_cached_kernel_is_not_compiled(started, tmp_path):
    (tmp_path / f"{compile_ahead._KERNEL}.0123.kernel").touch()
    compile_ahead.compile_ahead(make(Demo))
    assert not started


def test_one_core_compiles_one_kernel_at_a_time(started, monkeypatch):
    monkeypatch.setattr(compile_ahead.os, "cpu_count", lambda: 1)
    compile_ahead.compile_ahead(make(Demo))
    assert not started
