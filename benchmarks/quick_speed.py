"""Does the recipe `quick` take a minute on twenty thousand documents?

    python dev.py bench quick_speed [--set 20ng] [--asked 1000] [--repeats 2]

Fits it in all threads on a whole set but some documents, which it is asked about then, beside the
same with `ngrams`, a linear machine without evidence, in the place of `nbsvm`. In turns; seconds of
the clock and of all processors together, the least of the repeats, so that other work on the
machine shows. The last line is the seconds of the clock for `quick`.
"""

import argparse
import time

import numpy as np
from numpy.typing import NDArray

from cordwood import recipes
from cordwood.datasets.registry import load_dataset
from options import at_least
from stopwatch import load, measure, print_head, print_row, print_run

MEMBERS = (("nbsvm", "nb", "knn", "rf"), ("svm_ngrams", "nb", "knn", "rf"))


def clocks() -> NDArray[np.float64]:
    return np.array([time.perf_counter(), time.process_time()])


def main(name: str, n_asked: int, n_repeats: int) -> None:
    print_run()
    corpus = load_dataset(name)
    order = np.random.default_rng(0).permutation(len(corpus))
    learnt, asked = corpus.select(order[n_asked:]), corpus.select(order[:n_asked])
    recipes.make("quick", random_state=0, n_jobs=-1).fit(
        learnt.texts[:500], learnt.labels[:500]
    )  # kernels
    print(f"{name}: {len(learnt):,} documents to learn from, {len(asked):,} to answer{load()}")
    print_head("members", "fit, s", "of all processors, s", "right, %")
    least: dict[tuple[str, ...], NDArray[np.float64]] = {}
    right = {}
    for _ in range(n_repeats):
        for members in MEMBERS:
            model = recipes.make("quick", members=list(members), random_state=0, n_jobs=-1)
            seconds, _ = measure(model.fit, learnt.texts, learnt.labels, clock=clocks)
            least[members] = np.minimum(least.get(members, seconds), seconds)
            right[members] = np.mean(model.predict(asked.texts) == np.array(asked.labels))
    for members, (clock, processors) in least.items():
        shown = f"{clock:.1f}", f"{processors:.1f}", f"{100 * right[members]:.1f}"
        print_row(", ".join(members), *shown)
    print(f"\nseconds: {least[MEMBERS[0]][0]:.0f}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Time the recipe quick on many documents.")
    parser.add_argument("--set", default="20ng")
    parser.add_argument("--asked", type=at_least(1), default=1000)
    parser.add_argument("--repeats", type=at_least(1), default=2)
    options = parser.parse_args()
    main(options.set, options.asked, options.repeats)
