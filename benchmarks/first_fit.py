"""How long does a user wait for the first fit of a process, and for the first answer of a command?

    python dev.py bench first_fit [--repeats 3]

New processes import the library, fit a forest of ten trees on 2,000 generated documents, predict,
and do both a second time. "Extra" is the first time minus the second, in wall-clock time, and for
the fit also in CPU time, which other processes disturb less. The kernel cache is empty at first,
then filled. The same is done with the recipe `quick` on 200 texts, and in wall-clock time with
`cordwood train`, which compiles in two processes. Then commands are timed in CPU
seconds, the minimum over the repeats, with what they cannot do without: the import of scikit-learn
and numba. The last line is the median of the processes with a filled cache.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

from options import at_least
from stopwatch import print_head, print_row, print_run

CLOCKS = ("ru_utime", "ru_stime")

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


QUICK = """
import csv, json, time
from cordwood import TextClassifier
model = TextClassifier("quick", encoder=None)
with open("data.csv", newline="") as file:
    texts, labels = zip(*list(csv.reader(file))[1:])
seconds = []
for _ in range(2):
    start = time.process_time()
    model.fit(texts, labels).predict(texts)
    seconds.append(time.process_time() - start)
model.save("model.cordwood")
print(json.dumps({"extra": seconds[0] - seconds[1]}))
"""

LABELS = ["a", "b", "c", "d"] * 50
TRAIN = ["-m", "cordwood", "train", "data.csv", "--encoder", "none", "-o", "first.cordwood"]
COMMANDS = {
    "a missing column": ["-m", "cordwood", "train", "data.csv", "--text", "nosuch"],
    "predict --text": ["-m", "cordwood", "predict", "model.cordwood", "--text", "a text of a"],
    "import of scikit-learn and numba": ["-c", "import sklearn.pipeline, numba"],
}


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
    with tempfile.TemporaryDirectory() as folder:
        write_data(folder)
        extra = run(folder, QUICK)["extra"]
        print(f"\nextra CPU time of the first `quick`, kernels to compile: {extra:.1f} s")
        time_commands(folder, n_repeats)
    with tempfile.TemporaryDirectory() as folder:
        write_data(folder)
        first, second = (time_training(folder) for _ in range(2))
        print(f"\nfirst and second `cordwood train`, wall-clock: {first:.1f} and {second:.1f} s")
    print(f"\nextra time of the first fit, kernels to compile: {empty:.1f} s")
    print(f"extra time of the first fit, kernels on disk: {full:.2f} s")


def write_data(folder: str) -> None:
    """Write 200 texts of four classes."""
    rows = [
        f"{label} text {i % 17} of {label} and {i % 5},{label}" for i, label in enumerate(LABELS)
    ]
    Path(folder, "data.csv").write_text("\n".join(["text,label", *rows]), encoding="utf-8")


def time_training(folder: str) -> float:
    """Return the wall-clock time of `cordwood train` in a process of its own."""
    start = time.perf_counter()
    subprocess.run(
        [sys.executable, *TRAIN], env=make_env(folder), cwd=folder, capture_output=True, check=True
    )
    return time.perf_counter() - start


def time_commands(folder: str, n_repeats: int) -> None:
    """Print the CPU seconds of commands, with kernels on disk."""
    print()
    print_head("command", "CPU, s")
    for name, arguments in COMMANDS.items():
        least = float("inf")
        for _ in range(n_repeats + 1):  # the first one writes bytecode
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            subprocess.run(
                [sys.executable, *arguments], env=make_env(folder), cwd=folder, capture_output=True
            )
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            used = [getattr(after, clock) - getattr(before, clock) for clock in CLOCKS]
            least = min(least, sum(used))
        print_row(name, f"{least:.2f}")


def make_env(folder: str) -> dict[str, str]:
    """Return an environment with a kernel cache, and this folder and that of the sources."""
    paths = [str(Path(path).resolve()) for path in sys.path if path]
    env = {**os.environ, "NUMBA_CACHE_DIR": folder, "PYTHONPATH": os.pathsep.join(paths)}
    env.pop("PYTHONDONTWRITEBYTECODE", None)
    return env


def run(folder: str, code: str = CHILD) -> dict[str, float]:
    """Time one process that caches its kernels in this folder, and runs in it."""
    process = subprocess.run(
        [sys.executable, "-c", code],
        env=make_env(folder),
        cwd=folder,
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
