"""Do two threads fit a forest 1.7 times faster than one?

    python dev.py bench forest_threads [--set 20ng] [--trees 50] [--repeats 7]

Minimum wall-clock time of interleaved repeats. Other processes on the computer distort the result,
so the load is printed, and the number of CPUs that the two threads could use. The last line is the
smallest speedup of fitting.
"""

import argparse
import time
from typing import Any

import numpy as np
from numpy.typing import NDArray

import corpora
from cordwood.ensemble import forests
from options import at_least
from stopwatch import measure, print_head, print_row, print_run

KINDS = ("RandomForestClassifier", "ExtraTreesClassifier")
STEPS = ("predict_proba", "fit")


def main(name: str, n_trees: int, n_repeats: int) -> None:
    print_run()
    split = corpora.load_split(name)
    print(f"{split.describe()}; {n_trees} trees, {n_repeats} repeats")
    print_head("step", "one thread, s", "two threads, s", "speedup", "CPUs used")
    smallest = dict.fromkeys(STEPS, float("inf"))
    for kind in KINDS:
        maker = getattr(forests, kind)
        maker(1).fit(split.X, split.y).predict_proba(split.X)  # compiles or loads kernels
        times = np.array([time_round(maker, split, n_trees, seed) for seed in range(n_repeats)])
        for step, of_step in zip(STEPS, times.swapaxes(0, 1), strict=True):
            one, two = of_step[:, :, 0].min(axis=0)
            n_cpus = of_step[of_step[:, 1, 0].argmin(), 1, 1] / two
            smallest[step] = min(smallest[step], one / two)
            print_row(
                f"{kind}, {step}", f"{one:.3f}", f"{two:.3f}", f"{one / two:.2f}", f"{n_cpus:.2f}"
            )
    print()
    for step in STEPS:
        print(f"smallest speedup, {step}: {smallest[step]:.2f}")


def time_round(
    maker: Any, split: corpora.Split, n_trees: int, seed: int
) -> list[list[NDArray[np.float64]]]:
    """Return wall-clock and CPU times of both steps, each on one and on two threads."""
    models = [maker(n_trees, bootstrap=True, random_state=seed, n_jobs=n) for n in (1, 2)]
    fit = [measure(model.fit, split.X, split.y, clock=read_clocks)[0] for model in models]
    predict = [measure(model.predict_proba, split.X, clock=read_clocks)[0] for model in models]
    return [predict, fit]


def read_clocks() -> NDArray[np.float64]:
    return np.array([time.perf_counter(), time.process_time()])


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Compare two threads with one.")
    parser.add_argument("--set", default="20ng")
    parser.add_argument("--trees", type=at_least(1), default=50)
    parser.add_argument("--repeats", type=at_least(1), default=7)
    options = parser.parse_args()
    main(options.set, options.trees, options.repeats)
