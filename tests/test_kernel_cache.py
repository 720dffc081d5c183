import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from cordwood import _jit as cache
from cordwood import _jit as jit

posix_only = pytest.mark.skipif(os.name != "posix", reason="permissions are those of POSIX")


@pytest.fixture
def bases(monkeypatch):
    def use(*folders):
        monkeypatch.setattr(cache, "_bases", lambda here: iter(folders))

    return use


def test_the_first_folder_that_can_be_made_is_taken(bases, tmp_path):
    (tmp_path / "a file").write_text("in the way")
    bases(None, tmp_path / "a file", tmp_path / "good", tmp_path / "never reached")
    folder = cache.find_folder()
    assert folder.parent == tmp_path / "good"
    assert folder.is_dir()
    assert not (tmp_path / "never reached").exists()


def test_there_may_be_no_folder_at_all(bases, tmp_path):
    (tmp_path / "a file").write_text("in the way")
    bases(None, tmp_path / "a file")
    assert cache.find_folder() is None


@posix_only
def test_a_folder_that_others_can_write_to_is_not_trusted(bases, tmp_path):
    bases(tmp_path)
    folder = cache.find_folder()
    folder.chmod(0o777)
    assert cache.find_folder() is None
    assert stat.S_IMODE(folder.stat().st_mode) == 0o777  # nor mended: somebody may be in it


@posix_only
def test_a_link_is_not_trusted(bases, tmp_path):
    bases(tmp_path)
    folder = cache.find_folder()
    folder.rmdir()
    (tmp_path / "elsewhere").mkdir()
    folder.symlink_to(tmp_path / "elsewhere")
    assert cache.find_folder() is None


def test_the_name_changes_with_any_source(tmp_path):
    (tmp_path / "_jit.py").write_text("x = 1")
    (tmp_path / "_random.py").write_text("y = 1")
    before = cache._digest(tmp_path)
    assert cache._digest(tmp_path) == before
    (tmp_path / "_random.py").write_text("y = 2")
    assert cache._digest(tmp_path) != before


def test_numba_cache_dir_comes_first(tmp_path):
    answer = subprocess.run(
        [sys.executable, "-c", "from cordwood._jit import _FOLDER; print(_FOLDER)"],
        env={**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert Path(answer.stdout.strip()).parent == tmp_path


def test_a_long_compilation_is_announced_and_a_short_one_is_not(caplog, monkeypatch):
    class Kernel:
        signatures = ()

    monkeypatch.setattr(jit, "_PATIENCE", 0.0)
    with jit.announced(Kernel()):
        for thread in jit.threading.enumerate():
            if isinstance(thread, jit.threading.Timer):
                thread.join()
    assert "first time only" in caplog.text
    caplog.clear()
    Kernel.signatures = ("compiled",)
    with jit.announced(Kernel()):
        pass
    assert not caplog.text
