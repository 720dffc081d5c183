"""The project's own verbs, with nothing but Python: each makes what it needs, then does one thing.

python dev.py demo    the main job, on text that is on every machine
python dev.py test    all tests
python dev.py lint    ruff, mypy and the layers
python dev.py docs    docs/cli.md, anew from the commands
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
    verb, *rest = arguments or ["help"]
    if verb == "demo":
        prepare("-e", ".")
        return call(PYTHON, "-m", "cordwood", "demo", *rest)
    if verb == "test":
        prepare("-e", ".", "--group", "test")
        # Tests differ in length: who has nothing left to do takes over from others. Each process
        # compiles what is new, so that more than a few gain nothing.
        side_by_side = ["-n", "auto", "--maxprocesses", "8", "--dist", "worksteal"]
        return call(PYTHON, "-m", "pytest", *side_by_side, *rest)
    if verb == "lint":
        prepare("-e", ".", "--group", "dev")
        checks = [
            [PYTHON, "-m", "ruff", "check"],
            [PYTHON, "-m", "ruff", "format", "--check"],
            [PYTHON, "-m", "mypy"],
            [BIN / "lint-imports"],
        ]
        return max(call(*check) for check in checks)
    if verb == "docs":
        prepare("-e", ".")
        generators = ("generate_cli.py", "generate_layers.py")
        return max(call(PYTHON, ROOT / "docs" / name, *rest) for name in generators)
    if verb == "results":
        # The peers make the names of their own parameters known.
        prepare("-e", ".", "--group", "bench")
        return call(PYTHON, ROOT / "benchmarks" / "results.py", *rest)
    if verb == "bench" and rest:
        prepare("-e", ".", "--group", "bench")
        return call(PYTHON, ROOT / "benchmarks" / f"{rest[0]}.py", *rest[1:])
    print(__doc__)
    return 0 if verb in ("help", "-h", "--help") else 2


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
