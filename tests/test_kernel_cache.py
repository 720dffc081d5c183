"""The cache of compiled kernels, and the rules that hold for every module with kernels."""

import ast
import os
import stat
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from cordwood import _jit

ROOT = Path(__file__).parents[1]
PACKAGE = Path(_jit.__file__).parent
posix_only = pytest.mark.skipif(os.name != "posix", reason="needs POSIX permissions")


@pytest.fixture
def candidate_dirs(monkeypatch):
    def use(*paths):
        monkeypatch.setattr(_jit, "_candidate_dirs", lambda package: iter(paths))

    return use


def test_first_writable_directory_is_used(candidate_dirs, tmp_path):
    (tmp_path / "file").write_text("not a directory")
    candidate_dirs(None, tmp_path / "file", tmp_path / "good", tmp_path / "unused")
    cache_dir = _jit.find_cache_dir()
    assert cache_dir.parent == tmp_path / "good"
    assert cache_dir.is_dir()
    assert not (tmp_path / "unused").exists()


def test_none_if_no_directory_is_writable(candidate_dirs, tmp_path):
    (tmp_path / "file").write_text("not a directory")
    candidate_dirs(None, tmp_path / "file")
    assert _jit.find_cache_dir() is None


@posix_only
def test_directories_that_others_can_write_to_are_not_used(candidate_dirs, tmp_path):
    candidate_dirs(tmp_path)
    cache_dir = _jit.find_cache_dir()
    cache_dir.chmod(0o777)
    assert _jit.find_cache_dir() is None
    assert stat.S_IMODE(cache_dir.stat().st_mode) == 0o777  # its permissions are not changed


@posix_only
def test_symbolic_links_are_not_used(candidate_dirs, tmp_path):
    candidate_dirs(tmp_path)
    cache_dir = _jit.find_cache_dir()
    cache_dir.rmdir()
    (tmp_path / "elsewhere").mkdir()
    cache_dir.symlink_to(tmp_path / "elsewhere")
    assert _jit.find_cache_dir() is None


def test_digest_depends_on_every_source(tmp_path):
    (tmp_path / "_jit.py").write_text("x = 1")
    (tmp_path / "_random.py").write_text("y = 1")
    before = _jit._source_digest(tmp_path)
    assert _jit._source_digest(tmp_path) == before
    (tmp_path / "_random.py").write_text("y = 2")
    assert _jit._source_digest(tmp_path) != before


def test_stale_caches_are_removed(candidate_dirs, tmp_path, monkeypatch):
    monkeypatch.setattr(_jit, "__file__", str(tmp_path / "_jit.py"))
    pycache = tmp_path / "__pycache__"
    names = {"old": "cordwood-kernels-0", "recent": "cordwood-kernels-1", "other": "module.pyc"}
    for name in names.values():
        (pycache / name).mkdir(parents=True)
    os.utime(pycache / names["old"], (0, 0))
    os.utime(pycache / names["other"], (0, 0))
    candidate_dirs(pycache)
    cache_dir = _jit.find_cache_dir()
    kept = {path.name for path in pycache.iterdir()}
    assert kept == {names["recent"], names["other"], cache_dir.name}


def test_numba_cache_dir_comes_first(tmp_path):
    process = subprocess.run(
        [sys.executable, "-c", "from cordwood._jit import _CACHE_DIR; print(_CACHE_DIR)"],
        env={**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert Path(process.stdout.strip()).parent == tmp_path


def test_only_slow_compilation_is_logged(caplog, monkeypatch):
    class Kernel:
        signatures = ()

    monkeypatch.setattr(_jit, "_SLOW_COMPILATION", 0.0)
    with _jit.log_slow_compilation(Kernel()):
        for thread in _jit.threading.enumerate():
            if isinstance(thread, _jit.threading.Timer):
                thread.join()
    assert "on the first call only" in caplog.text
    caplog.clear()
    Kernel.signatures = ("compiled",)
    with _jit.log_slow_compilation(Kernel()):
        pass
    assert not caplog.text


# --- modules with kernels ---------------------------------------------------------------------


def has_kernels(path):
    decorators = {
        decorator.id
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.FunctionDef)
        for decorator in node.decorator_list
        if isinstance(decorator, ast.Name)
    }
    return bool(decorators & {"kernel", "helper", "inlined"})


KERNEL_PATHS = [path for path in sorted(PACKAGE.rglob("*.py")) if has_kernels(path)]


def module_name(path):
    return ".".join(["cordwood", *path.relative_to(PACKAGE).with_suffix("").parts])


def test_kernels_are_found():
    names = {module_name(path) for path in KERNEL_PATHS}
    assert "cordwood._random" in names
    assert "cordwood.ensemble._tree_engine.grow" in names
    assert "cordwood.linear_model._dual_solver" in names


@pytest.mark.parametrize("path", KERNEL_PATHS, ids=module_name)
def test_kernel_modules_are_part_of_the_digest(path):
    assert any(path in set(PACKAGE.glob(pattern)) for pattern in _jit._SOURCES)


@pytest.mark.parametrize("path", KERNEL_PATHS, ids=module_name)
def test_kernel_modules_are_under_the_import_contract(path):
    config = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    (contract,) = (
        contract
        for contract in config["tool"]["importlinter"]["contracts"]
        if contract["name"] == "Kernels depend only on arrays"
    )
    assert {"sklearn", "scipy", "pandas", "joblib"} <= set(contract["forbidden_modules"])
    name = module_name(path)
    assert any(f"{name}.".startswith(f"{source}.") for source in contract["source_modules"])


@pytest.mark.parametrize("path", KERNEL_PATHS, ids=module_name)
def test_kernel_modules_are_tested_as_plain_python(plain, path):
    assert module_name(path) in {module.__name__ for module in vars(plain).values()}
