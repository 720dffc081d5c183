"""The cache of compiled kernels, and the rules that hold for every module with kernels."""

import ast
import os
import stat
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from cordwood._kernels import cache as _kernel_cache

PACKAGE = Path(_kernel_cache.__file__).parents[1]
posix_only = pytest.mark.skipif(os.name != "posix", reason="needs POSIX permissions")


@pytest.fixture
def candidate_dirs(monkeypatch):
    def use(*paths):
        monkeypatch.setattr(_kernel_cache, "_candidate_dirs", lambda: iter(paths))

    return use


def test_first_writable_directory_is_used(candidate_dirs, tmp_path):
    (tmp_path / "file").write_text("not a directory")
    candidate_dirs(tmp_path / "file", tmp_path / "good", tmp_path / "unused")
    cache_dir = _kernel_cache.find_cache_dir()
    assert cache_dir.parent == tmp_path / "good"
    assert cache_dir.is_dir()
    assert not (tmp_path / "unused").exists()


def test_none_if_no_directory_is_writable(candidate_dirs, tmp_path):
    (tmp_path / "file").write_text("not a directory")
    candidate_dirs(tmp_path / "file")
    assert _kernel_cache.find_cache_dir() is None


@posix_only
def test_directories_that_others_can_write_to_are_not_used(candidate_dirs, tmp_path):
    candidate_dirs(tmp_path)
    cache_dir = _kernel_cache.find_cache_dir()
    cache_dir.chmod(0o777)
    assert _kernel_cache.find_cache_dir() is None
    assert stat.S_IMODE(cache_dir.stat().st_mode) == 0o777  # its permissions are not changed


@posix_only
def test_symbolic_links_are_not_used(candidate_dirs, tmp_path):
    candidate_dirs(tmp_path)
    cache_dir = _kernel_cache.find_cache_dir()
    cache_dir.rmdir()
    (tmp_path / "elsewhere").mkdir()
    cache_dir.symlink_to(tmp_path / "elsewhere")
    assert _kernel_cache.find_cache_dir() is None


@posix_only
def test_directories_below_one_that_others_can_write_to_are_not_used(candidate_dirs, tmp_path):
    shared = tmp_path / "shared"
    (shared / "own").mkdir(parents=True, mode=0o700)
    candidate_dirs(shared / "own", tmp_path / "next")
    for mode, expected in ((0o770, "next"), (0o707, "next"), (0o1777, "own"), (0o755, "own")):
        shared.chmod(mode)
        assert _kernel_cache.find_cache_dir().parent.name == expected


@posix_only
def test_links_to_directories_of_others_are_not_followed(candidate_dirs, tmp_path):
    (tmp_path / "shared" / "own").mkdir(parents=True)
    (tmp_path / "shared").chmod(0o777)
    (tmp_path / "link").symlink_to(tmp_path / "shared" / "own")
    candidate_dirs(tmp_path / "link")
    assert _kernel_cache.find_cache_dir() is None


@posix_only
def test_directories_are_private_whatever_the_umask(candidate_dirs, tmp_path):
    candidate_dirs(tmp_path / "a" / "b")
    before = os.umask(0)
    try:
        created = _kernel_cache.find_cache_dir()
    finally:
        os.umask(before)
    assert [stat.S_IMODE(path.stat().st_mode) for path in (created, *created.parents[:2])] == (
        [0o700] * 3
    )


@posix_only
def test_files_that_others_can_write_to_are_not_read(tmp_path):
    kernel = _kernel_cache.KernelCache("draw", tmp_path)
    kernel._write(b"draw", b"code")
    assert kernel._read(b"draw") == b"code"
    kernel._path(b"draw").chmod(0o620)
    assert kernel._read(b"draw") is None


def test_digest_depends_on_every_source(tmp_path):
    (tmp_path / "_kernels").mkdir()
    (tmp_path / "_kernels" / "jit.py").write_text("x = 1")
    (tmp_path / "_kernels" / "random.py").write_text("y = 1")
    before = _kernel_cache._source_digest(tmp_path)
    assert _kernel_cache._source_digest(tmp_path) == before
    (tmp_path / "_kernels" / "random.py").write_text("y = 2")
    assert _kernel_cache._source_digest(tmp_path) != before


def test_stale_caches_are_removed_in_all_candidate_directories(candidate_dirs, tmp_path):
    bases = [tmp_path / "first", tmp_path / "second"]
    names = {"old": "cordwood-kernels-0", "recent": "cordwood-kernels-1", "other": "numba-kernels"}
    for base in bases:
        for name in names.values():
            (base / name).mkdir(parents=True)
        os.utime(base / names["old"], (0, 0))
        os.utime(base / names["other"], (0, 0))
    candidate_dirs(*bases)
    cache_dir = _kernel_cache.find_cache_dir()
    kept = {names["recent"], names["other"]}
    assert {path.name for path in bases[0].iterdir()} == kept | {cache_dir.name}
    assert {path.name for path in bases[1].iterdir()} == kept


def test_a_cache_in_use_does_not_become_stale(candidate_dirs, tmp_path):
    candidate_dirs(tmp_path)
    cache_dir = _kernel_cache.find_cache_dir()
    (cache_dir / "grow.kernel").touch()
    os.utime(cache_dir, (0, 0))
    assert _kernel_cache.find_cache_dir() == cache_dir
    assert time.time() - cache_dir.stat().st_mtime < 3600


def run_child(code, **environment):
    environment = {**os.environ, **environment}
    return subprocess.run(
        [sys.executable, "-c", code],
        env={name: value for name, value in environment.items() if value is not None},
        capture_output=True,
        text=True,
        check=True,
    )


PRINT_CACHE_DIR = "from cordwood._kernels.cache import CACHE_DIR; print(CACHE_DIR)"


def test_numba_cache_dir_comes_first(tmp_path):
    child = run_child(PRINT_CACHE_DIR, NUMBA_CACHE_DIR=str(tmp_path))
    assert Path(child.stdout.strip()).parent == tmp_path


@pytest.mark.skipif(sys.platform != "linux", reason="other variables on other systems")
def test_the_cache_is_in_the_cache_directory_of_the_user(tmp_path):
    child = run_child(PRINT_CACHE_DIR, NUMBA_CACHE_DIR=None, XDG_CACHE_HOME=str(tmp_path))
    assert Path(child.stdout.strip()).parent == tmp_path / "cordwood"


@posix_only
def test_without_a_home_directory_the_cache_is_temporary(tmp_path):
    child = run_child(
        PRINT_CACHE_DIR,
        NUMBA_CACHE_DIR=None,
        XDG_CACHE_HOME=None,
        HOME="/proc/none" if sys.platform == "linux" else "/dev/null",
        TMPDIR=str(tmp_path),
    )
    assert Path(child.stdout.strip()).parent == tmp_path / f"cordwood-{os.getuid()}"


def test_the_cache_is_never_in_the_package():
    assert not any(path.is_relative_to(PACKAGE) for path in _kernel_cache._candidate_dirs())


# --- files of the cache -----------------------------------------------------------------------

# One kernel that compiles in a second, and its result.
DRAW = """
import logging
logging.basicConfig(level="INFO")
from cordwood.ensemble.tree_engine.bootstrap import draw, draw_counts
print(draw_counts(7, 5, 5).tolist(), sum(draw.stats.cache_hits.values()))
"""


def read_files(directory):
    return {path.name: path.read_bytes() for path in directory.rglob("*") if path.is_file()}


def flip(content):
    middle = len(content) // 2
    return content[:middle] + bytes([content[middle] ^ 1]) + content[middle + 1 :]


@pytest.fixture(scope="module")
def cache_of_one_kernel(tmp_path_factory):
    directory = tmp_path_factory.mktemp("cache")
    child = run_child(DRAW, NUMBA_CACHE_DIR=str(directory))
    assert child.stdout.strip().endswith("] 0")
    (path,) = (path for path in directory.rglob("*") if path.is_file())
    return path, child.stdout


def test_a_second_process_loads_the_kernel(cache_of_one_kernel):
    path, first = cache_of_one_kernel
    child = run_child(DRAW, NUMBA_CACHE_DIR=str(path.parents[1]))
    assert child.stdout == first.replace("] 0", "] 1")


@pytest.mark.parametrize(
    "damage",
    [
        lambda content: b"",
        lambda content: content[:20],
        lambda content: content[: len(content) // 2],
        flip,
        lambda content: flip(content[:32]) + content[32:],
        lambda content: b"\x80\x04N." * 1000,
        lambda content: content + b"\0",
    ],
    ids=["empty", "checksum only", "half", "one bit", "checksum", "foreign", "longer"],
)
def test_damaged_files_are_replaced(cache_of_one_kernel, tmp_path, damage):
    path, first = cache_of_one_kernel
    directory = tmp_path / path.parent.name
    directory.mkdir(mode=0o700)
    (directory / path.name).write_bytes(damage(path.read_bytes()))
    child = run_child(DRAW, NUMBA_CACHE_DIR=str(tmp_path))
    assert child.stdout == first
    assert f"{path.name} is damaged" in child.stderr
    child = run_child(DRAW, NUMBA_CACHE_DIR=str(tmp_path))
    assert child.stdout == first.replace("] 0", "] 1")
    assert list(read_files(tmp_path)) == [path.name]


def test_the_file_of_another_kernel_is_replaced(tmp_path):
    kernels = [_kernel_cache.KernelCache(name, tmp_path) for name in ("draw", "grow")]
    kernels[0]._write(b"draw", b"code of draw")
    kernels[0]._path(b"draw").rename(kernels[1]._path(b"grow"))
    assert kernels[1]._read(b"grow") is None
    kernels[1]._write(b"grow", b"code of grow")
    assert kernels[1]._read(b"grow") == b"code of grow"


def test_flush_deletes_the_files_of_the_kernel(tmp_path):
    caches = [_kernel_cache.KernelCache(name, tmp_path) for name in ("draw", "draw_weighted")]
    for cache in caches:
        cache._write(b"one", b"1")
        cache._write(b"two", b"2")
    caches[0].flush()
    assert caches[0]._read(b"one") is None
    assert caches[1]._read(b"two") == b"2"


def test_a_cache_that_cannot_be_written_does_not_stop_a_fit(tmp_path, caplog):
    cache = _kernel_cache.KernelCache("draw", tmp_path / "none")
    for _ in range(2):
        cache._write(b"identity", b"code")
    assert caplog.text.count("cannot be written: ") == 1
    assert cache._read(b"identity") is None


def test_of_two_processes_one_compiles(tmp_path):
    children = [
        subprocess.Popen(
            [sys.executable, "-c", DRAW],
            env={**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)},
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        for _ in range(2)
    ]
    printed = sorted(child.communicate()[0].split("] ") for child in children)
    assert all(child.returncode == 0 for child in children)
    assert printed[0][0] == printed[1][0]
    assert [hits.strip() for _, hits in printed] == ["0", "1"]
    assert len(read_files(tmp_path)) == 1


def test_a_process_that_holds_the_lock_is_not_waited_for_without_end(tmp_path, monkeypatch):
    monkeypatch.setattr(_kernel_cache, "_PATIENCE", 0.01)
    stopped, kernel = (_kernel_cache.KernelCache("draw", tmp_path) for _ in range(2))
    stopped._acquire_lock(b"identity")
    kernel._acquire_lock(b"identity")  # returns, and the kernel is compiled
    kernel._release_lock()
    assert list(tmp_path.glob("*.lock"))  # of the other process
    stopped._release_lock()
    assert not list(tmp_path.iterdir())


# --- message ----------------------------------------------------------------------------------


def wait_for_timers():
    for thread in threading.enumerate():
        if isinstance(thread, threading.Timer):
            thread.join()


def test_slow_compilation_is_logged_once(caplog, monkeypatch):
    monkeypatch.setattr(_kernel_cache, "_SLOW_COMPILATION", 0.0)
    log = _kernel_cache.CompilationLog()
    for _ in range(3):
        log.begin()
        wait_for_timers()
        log.end()
    assert caplog.text.count("the first time only") == 1


def test_fast_compilation_is_not_logged(caplog, monkeypatch):
    monkeypatch.setattr(_kernel_cache, "_SLOW_COMPILATION", 1000.0)
    log = _kernel_cache.CompilationLog()
    log.begin()
    log.end()
    wait_for_timers()
    assert not caplog.text


def test_the_times_of_all_kernels_are_added(caplog, monkeypatch):
    log = _kernel_cache.CompilationLog()
    log._seconds = 1000.0  # of earlier kernels
    log.begin()
    wait_for_timers()
    log.end()
    assert "the first time only" in caplog.text


# --- modules with kernels ---------------------------------------------------------------------


# Where kernels may come from, beside each other: a kernel is a function of arrays.
ARRAY_MODULES = {"numpy", "numba", "llvmlite", *sys.stdlib_module_names}
# Functions that call kernels use threads through one module; the cache needs a directory.
OTHER_IMPORTS = {
    ("cordwood.ensemble.tree_engine.threads", "joblib"),
    ("cordwood.ensemble.tree_engine.threads", "cordwood._base.threads"),
    ("cordwood._kernels.cache", "cordwood._user_dirs"),
}


def module_name(path):
    return ".".join(["cordwood", *path.relative_to(PACKAGE).with_suffix("").parts])


SOURCES = {module_name(path): path for path in _kernel_cache.list_sources(PACKAGE)}


def parse(path):
    return list(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))


def has_kernels(path):
    decorators = {
        decorator.id
        for node in parse(path)
        if isinstance(node, ast.FunctionDef)
        for decorator in node.decorator_list
        if isinstance(decorator, ast.Name)
    }
    return bool(decorators & {"kernel", "helper", "inlined"})


def list_imports(path):
    for node in parse(path):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert not node.level
            yield node.module


def test_modules_with_kernels_are_part_of_the_digest(plain):
    names = {module_name(path) for path in PACKAGE.rglob("*.py") if has_kernels(path)}
    assert "cordwood._kernels.random" in names
    assert "cordwood.linear_model._dual_solver" in names
    assert names <= set(SOURCES)
    assert names == {module.__name__ for module in vars(plain).values()}  # are tested as such


@pytest.mark.parametrize("name", SOURCES)
def test_the_sources_of_kernels_depend_only_on_arrays_and_each_other(name):
    others = [
        imported
        for imported in list_imports(SOURCES[name])
        if imported.partition(".")[0] not in ARRAY_MODULES
        and imported not in SOURCES
        and (name, imported) not in OTHER_IMPORTS
    ]
    assert not others
