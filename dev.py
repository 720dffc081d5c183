"""Development commands; each installs what it needs into .venv first.

python dev.py demo    train and evaluate a classifier on built-in texts
python dev.py test    all tests
python dev.py lint    ruff, mypy and import-linter
python dev.py docs    generate docs/cli.md and the layers in CONTRIBUTING.md
python dev.py results docs/results.md, anew from the plans and ledgers of the benchmarks
python dev.py bench   a benchmark by name: python dev.py bench vectorizer_speed
"""

import os
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
        # Test times differ, so idle workers steal tests. Each worker compiles new kernels, which
        # makes more than a few workers useless.
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
        prepare("-e", ".")
        generators = ("generate_cli.py", "generate_layers.py")
        return max(call(PYTHON, ROOT / "docs" / name, *rest) for name in generators)
    if command == "results":
        # The peers make the names of their own parameters known.
        prepare("-e", ".", "--group", "bench")
        return call(PYTHON, ROOT / "benchmarks" / "results.py", *rest)
    if command == "bench" and rest:
        prepare("-e", ".", "--group", "bench")
        return call(PYTHON, ROOT / "benchmarks" / f"{rest[0]}.py", *rest[1:])
    print(__doc__)
    return 0 if command in ("help", "-h", "--help") else 2


def prepare(*packages: str) -> None:
    if not PYTHON.exists():
        subprocess.run([sys.executable, "-m", "venv", VENV], check=True)
    pip = [PYTHON, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    # Dependency groups need pip 25.1; a new environment may hold an older one.
    subprocess.run([*pip, "--upgrade", "pip>=25.1"], check=True)
    subprocess.run([*pip, *packages], check=True, cwd=ROOT)


def call(*command: str | Path) -> int:
    return subprocess.run(command, cwd=ROOT).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
