"""Development commands, which need only Python: each installs its dependencies and then runs.

python dev.py demo     train and evaluate on text that every Python installation has
python dev.py test     run all tests
python dev.py lint     run ruff, mypy and the import contracts
python dev.py docs     regenerate the generated pages and build the site in docs/_build/html
python dev.py results  regenerate docs/results.md and docs/claims.md from plans and ledgers
python dev.py bench    run a benchmark by name, such as: python dev.py bench vectorizer_speed
python dev.py stale    list the tables and ledgers that are older than the defaults they describe
python dev.py build    build the distributions in dist/ and check them
python dev.py lock     resolve the dependencies again: requirements/*.txt
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent
VENV = ROOT / ".venv"
BIN = VENV / ("Scripts" if os.name == "nt" else "bin")
PYTHON = BIN / ("python.exe" if os.name == "nt" else "python")


def main(arguments: list[str]) -> int:
    command, *rest = arguments or ["help"]
    if command == "demo":
        prepare("-e", ".")
        return call(PYTHON, "-m", "cordwood", "demo", *rest)
    if command == "test":
        prepare("-e", ".", "--group", "test")
        # Work stealing, because tests differ in length. Each process compiles new kernels, so that
        # more than a few processes gain nothing.
        parallel = ["-n", "auto", "--maxprocesses", "8", "--dist", "worksteal"]
        return call(PYTHON, "-m", "pytest", *parallel, *rest)
    if command == "lint":
        prepare("-e", ".", "--group", "dev")
        checks = [
            [PYTHON, "-m", "ruff", "check"],
            [PYTHON, "-m", "ruff", "format", "--check"],
            [PYTHON, "-m", "mypy"],
            [BIN / "lint-imports"],
        ]
        return max(call(*check) for check in checks)
    if command == "docs":
        prepare("-e", ".", "--group", "docs")
        generators = ("api", "cli", "layers", "limits")
        pages = [[PYTHON, ROOT / "docs" / f"generate_{name}.py"] for name in generators]
        # Warnings are errors. Without `-j auto`, one example runs after another.
        site = [PYTHON, "-m", "sphinx", "-W", "--keep-going", "-j", "auto", *rest]
        return max(call(*command) for command in [*pages, [*site, "docs", "docs/_build/html"]])
    if command == "results":
        prepare("-e", ".")
        return call(PYTHON, ROOT / "benchmarks" / "results.py", *rest)
    if command == "stale":
        prepare("-e", ".")
        return call(PYTHON, ROOT / "benchmarks" / "stale.py", *rest)
    if command == "bench" and rest:
        prepare("-e", ".", "--group", "bench")
        return call(PYTHON, ROOT / "benchmarks" / f"{rest[0]}.py", *rest[1:])
    if command == "build":
        prepare("build", "twine")
        shutil.rmtree(ROOT / "dist", ignore_errors=True)
        checks = [
            [PYTHON, "-m", "build"],
            [PYTHON, "-m", "twine", "check", "--strict", "dist/*"],
            [PYTHON, ROOT / "tools" / "check_distribution.py"],
        ]
        return next((code for check in checks if (code := call(*check))), 0)
    if command == "lock":
        prepare("uv>=0.8")
        # The lower bounds of pyproject.toml, and the newest versions that they allow.
        tests, site = ("--all-extras", "--group", "test"), ("--group", "docs")
        files = (("minimum", "lowest-direct", tests), ("newest", "highest", tests))
        commands = [compile_command(*file) for file in (*files, ("docs", "highest", site))]
        return max(call(*command) for command in commands)
    print(__doc__)
    return 0 if command in ("help", "-h", "--help") else 2


def compile_command(name: str, resolution: str, groups: tuple[str, ...]) -> list[str | Path]:
    """Return the command that writes a lock file of the package and of some groups."""
    compiler = [PYTHON, "-m", "uv", "pip", "compile", "--quiet", "--upgrade"]
    inputs = ["pyproject.toml", *groups]
    # Universal: one file for all platforms and for all Python versions from 3.11.
    target = ["--universal", "--python-version", "3.11", "--only-binary", ":all:"]
    output = ["--no-annotate", "--custom-compile-command", "python dev.py lock"]
    file = ["--output-file", f"requirements/{name}.txt"]
    return [*compiler, *inputs, *target, "--resolution", resolution, *output, *file]


def prepare(*packages: str) -> None:
    if not PYTHON.exists():
        subprocess.run([sys.executable, "-m", "venv", VENV], check=True)
    pip = [PYTHON, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    # Dependency groups need pip 25.1; a new environment may hold an older one.
    subprocess.run([*pip, "--upgrade", "pip>=25.1"], check=True)
    subprocess.run([*pip, *packages], check=True, cwd=ROOT)


def call(*program: str | Path) -> int:
    return subprocess.run(program, cwd=ROOT).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
