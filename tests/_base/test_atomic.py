import errno
import os
import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from cordwood._base import atomic


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


needs_links = pytest.mark.skipif(os.name == "nt", reason="Windows restricts symbolic links")


@needs_links
def test_symbolic_link_is_followed(tmp_path):
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    (folder / "file").write_text("old")
    (tmp_path / "link").symlink_to("elsewhere/file")
    (tmp_path / "second").symlink_to(tmp_path / "link")
    with atomic.write(tmp_path / "second") as file:
        file.write("new")
    assert (folder / "file").read_text() == "new"
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "second").is_symlink()
    assert list(folder.iterdir()) == [folder / "file"]


@needs_links
def test_link_to_a_missing_file_creates_it(tmp_path):
    (tmp_path / "link").symlink_to("file")
    with atomic.write(tmp_path / "link") as file:
        file.write("new")
    assert (tmp_path / "file").read_text() == "new"
    assert (tmp_path / "link").is_symlink()


@needs_links
def test_cycle_of_links_raises(tmp_path):
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a")
    with pytest.raises(OSError, match="symbolic links") as caught, atomic.write(tmp_path / "a"):
        pass
    assert caught.value.filename == str(tmp_path / "a")
    assert (tmp_path / "a").is_symlink()


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="Windows has no named pipes")
def test_named_pipe_is_written_and_not_replaced(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with ThreadPoolExecutor(1) as threads:
        received = threads.submit(pipe.read_text)
        with atomic.write(pipe) as file:
            file.write("new")
        assert received.result() == "new"
    assert pipe.is_fifo()
    assert list(tmp_path.iterdir()) == [pipe]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full")
@needs_links
def test_error_of_a_full_disk_names_the_file(tmp_path):
    (tmp_path / "file").symlink_to("/dev/full")
    with pytest.raises(OSError, match="No space left") as caught:
        with atomic.write(tmp_path / "file") as file:
            file.write("new")
    assert caught.value.filename == str(tmp_path / "file")


def test_full_disk_leaves_no_temporary_file(target, monkeypatch):
    target.write_text("old")

    def fail(descriptor):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(OSError, match="No space left") as caught, atomic.write(target) as file:
        file.write("new")
    assert caught.value.filename == str(target)
    assert target.read_text() == "old"
    assert list(target.parent.iterdir()) == [target]


def test_other_errors_are_not_attributed_to_the_file(target):
    with pytest.raises(ConnectionResetError) as caught, atomic.write(target):
        raise ConnectionResetError(errno.ECONNRESET, "reset")
    assert caught.value.filename is None
