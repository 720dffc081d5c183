import os
import stat
from pathlib import Path

import pytest

from cordwood import _atomic as atomic


@pytest.fixture
def target(tmp_path):
    return tmp_path / "result.txt"


def test_new_file_is_written(target):
    with atomic.write(target) as file:
        file.write("é\n")
    assert target.read_bytes().decode() == f"é{os.linesep}"
    assert list(target.parent.iterdir()) == [target]


def test_existing_file_is_replaced_at_the_end_of_the_block(target):
    target.write_text("old and longer")
    with atomic.write(os.fspath(target)) as file:
        file.write("new")
        file.flush()
        assert target.read_text() == "old and longer"
    assert target.read_text() == "new"
    assert list(target.parent.iterdir()) == [target]


def test_mode_and_options_are_passed_to_open(target):
    with atomic.write(target, "wb") as file:
        file.write(b"\xff\n")
    assert target.read_bytes() == b"\xff\n"
    with atomic.write(target, encoding="latin-1", newline="") as file:
        file.write("é\r\n")
    assert target.read_bytes() == b"\xe9\r\n"


@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt, SystemExit, GeneratorExit])
@pytest.mark.parametrize("exists", [True, False])
def test_exception_leaves_the_directory_unchanged(target, error, exists):
    if exists:
        target.write_text("old")
    with pytest.raises(error), atomic.write(target) as file:
        file.write("half")
        file.flush()
        raise error
    assert list(target.parent.iterdir()) == ([target] if exists else [])
    assert not exists or target.read_text() == "old"


def test_failed_rename_leaves_no_temporary_file(target, monkeypatch):
    target.write_text("old")

    def fail(source, destination):
        raise PermissionError("in use")

    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises(PermissionError), atomic.write(target) as file:
        file.write("new")
    assert list(target.parent.iterdir()) == [target]
    assert target.read_text() == "old"


def test_missing_directory_raises(target):
    with pytest.raises(FileNotFoundError), atomic.write(target / "none" / "file"):
        pass


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such permissions")
@pytest.mark.parametrize("mode", [0o600, 0o640, 0o755])
def test_permissions_of_an_existing_file_are_kept(target, mode):
    target.write_text("old")
    target.chmod(mode)
    with atomic.write(target) as file:
        file.write("new")
    assert stat.S_IMODE(target.stat().st_mode) == mode


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such permissions")
@pytest.mark.parametrize("mask", [0o022, 0o077])
def test_permissions_of_a_new_file_are_those_of_open(tmp_path, mask):
    before = os.umask(mask)
    try:
        with atomic.write(tmp_path / "ours") as file:
            file.write("new")
        Path(tmp_path, "theirs").write_text("new")
        assert os.umask(mask) == mask
    finally:
        os.umask(before)
    assert (tmp_path / "ours").stat().st_mode == (tmp_path / "theirs").stat().st_mode
