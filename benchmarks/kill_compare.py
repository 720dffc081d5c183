"""Kill `cordwood compare` at random moments, resume it, and check that the ledger is complete.

A small plan is run once without kills. Then two processes at a time run it with one ledger, until
both are killed (SIGKILL) at random moments, again and again, until the ledger is complete; then
with a new one. Each ledger must have every trial of the plan exactly once, with the scores and the
predictions of the run without kills.

python dev.py bench kill_compare [--kills N] [--seed N]
"""

import argparse
import os
import random
import signal
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path

import numpy as np

from cordwood.cli.main import main as cordwood
from cordwood.compare.runner.ledger import Ledger
from options import at_least

PLAN = """
learners = [{recipe = "nb"}, {recipe = "svm"}, {recipe = "rf", params = {n_estimators = 10}}]
datasets = [{name = "small", path = "data.csv"}]
evaluation = {folds = 4}
"""
N_TRIALS = 12


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--kills", type=at_least(1), default=50)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    rng = random.Random(args.seed)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_data(folder, rng)
        # Compiles kernels.
        assert cordwood(["compare", f"{folder}/plan.toml", "--quiet"]) == 0
        assert os.waitpid(start_run(folder, "expected"), 0)[1] == 0
        start = time.monotonic()
        assert os.waitpid(start_run(folder, "timed"), 0)[1] == 0
        seconds = time.monotonic() - start
        n_kills, n_ledgers, n_wrong = 0, 0, 0
        while n_kills < args.kills:
            ledger = f"killed{n_ledgers}"
            n_kills += kill_until_complete(folder, ledger, rng, seconds)
            n_wrong += not is_equal(folder, ledger)
            n_ledgers += 1
            print(f"{ledger}: complete after {n_kills} kills in all, {n_wrong} wrong", flush=True)
    print(f"{n_kills} kills, {n_ledgers} ledgers completed, {n_wrong} of them wrong")
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


def start_run(folder: Path, ledger: str) -> int:
    """Fork a process that runs the comparison; it has imported everything and compiles nothing."""
    child = os.fork()
    if child:
        return child
    os.chdir(folder)
    os._exit(cordwood(["compare", "plan.toml", "--quiet", "--ledger", f"{ledger}.jsonl"]))


def kill_until_complete(folder: Path, ledger: str, rng: random.Random, seconds: float) -> int:
    """Run two processes and kill each at a random moment, until one completes the ledger."""
    n_kills = 0
    while True:
        runs = [start_run(folder, ledger) for _ in range(2)]
        time.sleep(rng.uniform(0.0, 1.0) * seconds)
        codes = []
        for run in runs:
            with suppress(ProcessLookupError):
                os.kill(run, signal.SIGKILL)
            codes.append(os.waitstatus_to_exitcode(os.waitpid(run, 0)[1]))
            time.sleep(rng.uniform(0.0, 0.2) * seconds)
        assert set(codes) <= {0, -signal.SIGKILL}, f"runs ended with {codes}"
        n_kills += codes.count(-signal.SIGKILL)
        if len(Ledger(folder / f"{ledger}.jsonl").records()) >= N_TRIALS:
            # Another run finds nothing left to do, and doubles nothing.
            assert os.waitpid(start_run(folder, ledger), 0)[1] == 0
            return n_kills


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
