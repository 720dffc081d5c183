"""Development commands, which need only Python: each installs its dependencies and then runs.

python dev.py demo     train and evaluate on text that every Python installation has
python dev.py test     run all tests
python dev.py lint     run ruff, mypy and the import contracts
python dev.py docs     regenerate docs/cli.md from the commands
python dev.py results  regenerate docs/results.md from the plans and ledgers of the reproduction
python dev.py bench    run a benchmark by name, such as: python dev.py bench vectorizer_speed
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
        prepare("-e", ".")
        generators = ("generate_cli.py", "generate_layers.py")
        return max(call(PYTHON, ROOT / "docs" / name, *rest) for name in generators)
    if command == "results":
        prepare("-e", ".[plots]")
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


def call(*program: str | Path) -> int:
    return subprocess.run(program, cwd=ROOT).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
