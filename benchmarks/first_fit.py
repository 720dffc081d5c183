"""How long must a user wait for the first forest, with kernels to compile and with them on disk?

    python dev.py bench first_fit [--repeats 3]

New processes import the library, fit a forest of ten trees on 2,000 generated documents and let it
predict, and do both a second time. "Over" is the first time less the second, by the clock on the
wall, and for the fit also by the processor time, which other work on the machine disturbs less.
The folder of compiled kernels is empty at first, then full. The last line is the median of the
processes that found it full.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median

from options import at_least
from stopwatch import print_head, print_row, print_run

CHILD = """
import json, time
start = time.perf_counter()
from cordwood.ensemble.forests import RandomForestClassifier
seconds = {"import": time.perf_counter() - start}
import corpora
split = corpora.generate(2_000)
model = RandomForestClassifier(10, random_state=0)
for turn in ("first", "second"):
    start, busy = time.perf_counter(), time.process_time()
    model.fit(split.X, split.y)
    seconds[f"{turn} fit"] = time.perf_counter() - start
    seconds[f"{turn} fit, processor"] = time.process_time() - busy
    start = time.perf_counter()
    model.predict_proba(split.X)
    seconds[f"{turn} predict_proba"] = time.perf_counter() - start
print(json.dumps(seconds))
"""


def main(n_repeats: int) -> None:
    print_run()
    print_head(
        "kernels",
        "import, s",
        "second fit, s",
        "first fit over, s",
        "of it processor, s",
        "predict_proba over, s",
    )
    with tempfile.TemporaryDirectory() as folder:
        empty = report("to compile, 1 process", [run(folder)])
        full = report(f"on disk, {n_repeats} processes", [run(folder) for _ in range(n_repeats)])
    print(f"\nfirst fit over a later one, kernels to compile: {empty:.1f} s")
    print(f"first fit over a later one, kernels on disk: {full:.2f} s")


def run(folder: str) -> dict[str, float]:
    """Time one process that keeps its kernels in this folder."""
    answer = subprocess.run(
        [sys.executable, "-c", CHILD],
        env={**os.environ, "NUMBA_CACHE_DIR": folder},
        cwd=Path(__file__).parent,
        check=True,
        stdout=subprocess.PIPE,
        text=True,
    )
    return dict(json.loads(answer.stdout))


def report(name: str, runs: list[dict[str, float]]) -> float:
    """Print a row; return the seconds of the first fit over the second."""

    def over(step: str) -> float:
        return median(run[f"first {step}"] - run[f"second {step}"] for run in runs)

    print_row(
        name,
        f"{median(run['import'] for run in runs):.2f}",
        f"{median(run['second fit'] for run in runs):.2f}",
        f"{over('fit'):.2f}",
        f"{over('fit, processor'):.2f}",
        f"{over('predict_proba'):.2f}",
    )
    return over("fit")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Time the first fit of new processes.")
    parser.add_argument("--repeats", type=at_least(1), default=3)
    main(parser.parse_args().repeats)
