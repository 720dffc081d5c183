"""Do time and memory of a boosted forest grow at most linearly in the number of rounds?

    python dev.py bench boosted_growth [--set 20ng] [--rounds 25] [--repeats 1]

Interleaved fits of 1x, 2x, 4x and 8x `--rounds` rounds: minimum CPU time of one thread over the
repeats, size of the model, and peak allocation by numpy and Python in a separate fit. An exponent
is the log-log slope over the number of rounds. The last line is the largest exponent.
"""

import argparse
import tracemalloc

import numpy as np

import corpora
from cordwood.ensemble.boosted_forest import BoostedForestClassifier
from options import at_least
from stopwatch import load, measure, print_head, print_row, print_run

STEPS = (1, 2, 4, 8)


def main(name: str, n_rounds: int, n_repeats: int) -> None:
    print_run()
    split = corpora.load_split(name)
    print(f"{split.describe()}{load()}")
    BoostedForestClassifier(1).fit(split.X[:500], split.y[:500])  # compiles or loads kernels
    seconds = np.array(
        [[time_fit(split, step * n_rounds) for step in STEPS] for _ in range(n_repeats)]
    ).min(axis=0)
    sizes, peaks = np.array([measure_bytes(split, step * n_rounds) for step in STEPS]).T
    print_head("rounds", "fit, s", "model, MB", "peak, MB")
    for step, *values in zip(STEPS, seconds, sizes / 1e6, peaks / 1e6, strict=True):
        print_row(f"{step * n_rounds}", *(f"{value:.1f}" for value in values))
    exponents = [
        np.polyfit(np.log(STEPS), np.log(column), 1)[0] for column in (seconds, sizes, peaks)
    ]
    print_row("exponent", *(f"{exponent:.2f}" for exponent in exponents))
    print(f"\nlargest exponent: {max(exponents):.2f}")


def time_fit(split: corpora.Split, n_rounds: int) -> float:
    seconds, _ = measure(BoostedForestClassifier(n_rounds, random_state=0).fit, split.X, split.y)
    return float(seconds)


def measure_bytes(split: corpora.Split, n_rounds: int) -> tuple[int, int]:
    """Return the size of a model and the peak allocation of its fit, in bytes."""
    tracemalloc.start()
    try:
        model = BoostedForestClassifier(n_rounds, random_state=0).fit(split.X, split.y)
        return sum(array.nbytes for array in model.forest_), tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description="Measure boosted forests of increasing numbers of rounds."
    )
    parser.add_argument("--set", default="20ng")
    parser.add_argument("--rounds", type=at_least(1), default=25)
    parser.add_argument("--repeats", type=at_least(1), default=1)
    options = parser.parse_args()
    main(options.set, options.rounds, options.repeats)
