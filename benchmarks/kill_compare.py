"""Kill `cordwood compare` at random moments, resume it, and check that the ledger is complete.

A small plan with two worker processes is run once without kills. Then it is started again and again
with the ledger of the killed runs; each run is killed (SIGKILL) at a random moment, in every second
round together with its workers, and the others survive it. A ledger that is complete is checked and
replaced by a new one. Each must have every trial of the plan exactly once, with the scores of the
run without kills, and readable predictions of each.

python dev.py bench kill_compare [--kills N] [--seed N]
"""

import argparse
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from cordwood.compare.runner.ledger import Ledger
from options import at_least

PLAN = """
learners = [{recipe = "nb"}, {recipe = "svm"}, {recipe = "rf", params = {n_estimators = 10}}]
datasets = [{name = "small", path = "data.csv"}]
evaluation = {folds = 4}
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--kills", type=at_least(1), default=50)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    rng = random.Random(args.seed)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_data(folder, rng)
        start_run(folder, "warmup").wait()  # compiles kernels
        start = time.monotonic()
        start_run(folder, "expected").wait()
        seconds = time.monotonic() - start
        n_kills, n_ledgers, n_wrong, n_partial = 0, 0, 0, 0
        while n_kills < args.kills:
            ledger = f"killed{n_ledgers}"
            while (killed := run_and_kill(folder, ledger, rng, seconds, n_kills)) is not None:
                n_kills += 1
                n_partial += killed
            n_wrong += not is_equal(folder, ledger)
            n_ledgers += 1
            print(f"{ledger}: complete after {n_kills} kills in all, {n_wrong} wrong", flush=True)
    print(
        f"{n_kills} kills, {n_partial} of them between the first and the last record; "
        f"{n_ledgers} ledgers completed, {n_wrong} of them wrong"
    )
    sys.exit(n_wrong > 0)


def write_data(folder: Path, rng: random.Random) -> None:
    words = {"a": "tree leaf root", "b": "sea wave shore", "c": "tree sea sky"}
    rows = [
        (" ".join(rng.choices(words[label].split(), k=6)), label)
        for label in rng.choices("abc", k=400)
    ]
    lines = ["text,label", *(f"{text},{label}" for text, label in rows)]
    (folder / "data.csv").write_text("\n".join(lines) + "\n")
    (folder / "plan.toml").write_text(PLAN)


def start_run(folder: Path, ledger: str) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "cordwood", "compare", "plan.toml", "--quiet", "--jobs", "2"]
    # A session of its own, so that the workers can be killed as well.
    # Workers whose parent is killed complain.
    return subprocess.Popen(
        [*command, "--ledger", f"{ledger}.jsonl"],
        cwd=folder,
        start_new_session=True,
        stderr=subprocess.DEVNULL,
    )


def run_and_kill(
    folder: Path, ledger: str, rng: random.Random, seconds: float, n_kills: int
) -> bool | None:
    """Kill a run; return whether its ledger was begun and incomplete, None if it ended before."""
    run = start_run(folder, ledger)
    try:
        run.wait(timeout=rng.uniform(0.2, 1.1) * seconds)
    except subprocess.TimeoutExpired:
        kill = os.killpg if n_kills % 2 else os.kill
        kill(run.pid, signal.SIGKILL)
        run.wait()
        n_records = len(Ledger(folder / f"{ledger}.jsonl").records())
        return 0 < n_records < len(Ledger(folder / "expected.jsonl").records())
    assert run.returncode == 0, f"a resumed run ended with {run.returncode}"
    return None


def is_equal(folder: Path, ledger: str) -> bool:
    """Return whether a ledger has the trials, scores and predictions of the run without kills."""
    expected, found = (
        sorted((record["key"], record["scores"]) for record in Ledger(folder / name).records())
        for name in ("expected.jsonl", f"{ledger}.jsonl")
    )
    return expected == found and all(
        have_same_arrays(folder / "expected.predictions" / f"{key}.npz", path)
        for key, _ in expected
        if (path := folder / f"{ledger}.predictions" / f"{key}.npz")
    )


def have_same_arrays(path: Path, other: Path) -> bool:
    with np.load(path) as arrays, np.load(other) as others:
        return all(np.array_equal(arrays[name], others[name]) for name in arrays.files)


if __name__ == "__main__":
    main()
