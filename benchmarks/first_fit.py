"""How long does the first fit of a process take, with and without cached kernels?

    python dev.py bench first_fit [--repeats 3]

New processes import the library, fit a forest of ten trees on 2,000 generated documents, predict,
and do both a second time. "Extra" is the first time minus the second, in wall-clock time, and for
the fit also in CPU time, which other processes disturb less. The kernel cache is empty at first,
then filled. The last line is the median of the processes with a filled cache.
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
    seconds[f"{turn} fit, CPU"] = time.process_time() - busy
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
        "first fit, extra s",
        "of it CPU, s",
        "predict_proba, extra s",
    )
    with tempfile.TemporaryDirectory() as folder:
        empty = report("to compile, 1 process", [run(folder)])
        full = report(f"on disk, {n_repeats} processes", [run(folder) for _ in range(n_repeats)])
    print(f"\nextra time of the first fit, kernels to compile: {empty:.1f} s")
    print(f"extra time of the first fit, kernels on disk: {full:.2f} s")


def run(folder: str) -> dict[str, float]:
    """Time one process that caches its kernels in this folder."""
    process = subprocess.run(
        [sys.executable, "-c", CHILD],
        env={**os.environ, "NUMBA_CACHE_DIR": folder},
        cwd=Path(__file__).parent,
        check=True,
        stdout=subprocess.PIPE,
        text=True,
    )
    return dict(json.loads(process.stdout))


def report(name: str, runs: list[dict[str, float]]) -> float:
    """Print a row; return the seconds by which the first fit exceeds the second."""

    def extra(step: str) -> float:
        return median(run[f"first {step}"] - run[f"second {step}"] for run in runs)

    print_row(
        name,
        f"{median(run['import'] for run in runs):.2f}",
        f"{median(run['second fit'] for run in runs):.2f}",
        f"{extra('fit'):.2f}",
        f"{extra('fit, CPU'):.2f}",
        f"{extra('predict_proba'):.2f}",
    )
    return extra("fit")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Time the first fit of new processes.")
    parser.add_argument("--repeats", type=at_least(1), default=3)
    main(parser.parse_args().repeats)
