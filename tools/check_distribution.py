"""Check the distributions in dist/ before they are published: python tools/check_distribution.py.

- The wheel contains the files of the package in git and its metadata, nothing else.
- The source distribution contains only files in git, and no ledgers of experiments.
- The wheel can be installed and used without a clone, and uninstalling it leaves nothing that can
  be imported.
"""

import os
import subprocess
import sys
import tarfile
import tempfile
import venv
from pathlib import Path
from zipfile import ZipFile

ROOT = Path(__file__).resolve().parents[1]
GENERATED = {"PKG-INFO"}
REQUIRED = {"LICENSE", "README.md", "pyproject.toml", "CHANGELOG.md", "tests/conftest.py"}
LEDGERS = "benchmarks/reproduction/ledgers/"

USE = """
from cordwood import TextClassifier, datasets, load
corpus = datasets.load_dataset("docstrings")
TextClassifier("rf").fit(corpus.subset("train")).save("model.cordwood")
evaluation = load("model.cordwood").evaluate(corpus.subset("test"))
print(f"accuracy {evaluation.accuracy:.2f}")
"""
FIND = "import importlib.util, sys; sys.exit(importlib.util.find_spec('cordwood') is not None)"


def main() -> None:
    """Check the only wheel and the only source distribution in dist/."""
    (wheel,) = (ROOT / "dist").glob("*.whl")
    (sdist,) = (ROOT / "dist").glob("*.tar.gz")
    listed = subprocess.run(
        ["git", "ls-files"], cwd=ROOT, check=True, capture_output=True, text=True
    )
    tracked = set(listed.stdout.splitlines())
    with ZipFile(wheel) as archive:
        check_wheel(set(archive.namelist()), tracked)
    with tarfile.open(sdist) as archive:
        check_sdist({member.name for member in archive if member.isfile()}, tracked)
    check_installation(wheel)
    for file in (wheel, sdist):
        print(f"{file.name}: {file.stat().st_size / 1024:.0f} KiB")


def check_wheel(names: set[str], tracked: set[str]) -> None:
    """Exit if the wheel is not the package in git with its metadata."""
    package = {name for name in names if name.startswith("cordwood/")}
    expected = {name.removeprefix("src/") for name in tracked if name.startswith("src/")}
    metadata = {name for name in names if name.partition("/")[0].endswith(".dist-info")}
    fail_if("wheel: not in git", names - expected - metadata)
    fail_if("wheel: missing", expected - package)
    if not any(name.endswith("/licenses/LICENSE") for name in metadata):
        fail_if("wheel: missing", {"LICENSE"})


def check_sdist(names: set[str], tracked: set[str]) -> None:
    """Exit if the source distribution has files that git or a release does not have."""
    files = {name.partition("/")[2] for name in names}
    fail_if("sdist: not in git", files - tracked - GENERATED)
    fail_if("sdist: ledgers", {name for name in files if name.startswith(LEDGERS)})
    fail_if("sdist: missing", REQUIRED - files)


def fail_if(problem: str, files: set[str]) -> None:
    """Exit with a message if there are such files."""
    if files:
        sys.exit(f"{problem}: {', '.join(sorted(files))}")


def check_installation(wheel: Path) -> None:
    """Install the wheel in a new environment, use it from an empty directory and uninstall it."""
    with tempfile.TemporaryDirectory() as folder:
        environment, work = Path(folder, "env"), Path(folder, "work")
        venv.create(environment, with_pip=True)
        work.mkdir()
        python = environment / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
        variables = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}

        def run(*arguments: str) -> int:
            return subprocess.run([python, *arguments], cwd=work, env=variables).returncode

        pip = ("-m", "pip", "--quiet", "--disable-pip-version-check")
        if run(*pip, "install", str(wheel)) or run("-c", USE) or run("-m", "cordwood", "--version"):
            sys.exit("the wheel cannot be used in a new environment")
        if run(*pip, "uninstall", "--yes", "cordwood") or run("-c", FIND):
            sys.exit("after pip uninstall, cordwood can still be imported")


if __name__ == "__main__":
    main()
