"""Does the recipe `quick` fit twenty thousand documents in a minute?

    python dev.py bench quick_speed [--set 20ng] [--n-test 1000] [--repeats 2]

Fits `quick` with all threads on a data set without some test documents, and the same stack with
`svm_ngrams`, a linear SVM without log-count ratios, instead of `nbsvm`. The two alternate; reported
are the minima over the repeats of wall-clock and CPU seconds, because other processes can only add
to them. The last line is the wall-clock time of `quick`.
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


def main(name: str, n_test: int, n_repeats: int) -> None:
    print_run()
    corpus = load_dataset(name)
    order = np.random.default_rng(0).permutation(len(corpus))
    train, test = corpus.select(order[n_test:]), corpus.select(order[:n_test])
    warm_up = recipes.make("quick", random_state=0, n_jobs=-1)
    warm_up.fit(train.texts[:500], train.labels[:500])  # compiles or loads kernels
    print(f"{name}: {len(train):,} training documents, {len(test):,} test documents{load()}")
    print_head("members", "fit, s", "CPU, s", "accuracy, %")
    least: dict[tuple[str, ...], NDArray[np.float64]] = {}
    accuracy = {}
    for _ in range(n_repeats):
        for members in MEMBERS:
            model = recipes.make("quick", members=list(members), random_state=0, n_jobs=-1)
            seconds, _ = measure(model.fit, train.texts, train.labels, clock=clocks)
            least[members] = np.minimum(least.get(members, seconds), seconds)
            accuracy[members] = np.mean(model.predict(test.texts) == np.array(test.labels))
    for members, (wall, cpu) in least.items():
        print_row(", ".join(members), f"{wall:.1f}", f"{cpu:.1f}", f"{100 * accuracy[members]:.1f}")
    print(f"\nseconds: {least[MEMBERS[0]][0]:.0f}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Time the recipe quick on many documents.")
    parser.add_argument("--set", default="20ng")
    parser.add_argument("--n-test", type=at_least(1), default=1000)
    parser.add_argument("--repeats", type=at_least(1), default=2)
    options = parser.parse_args()
    main(options.set, options.n_test, options.repeats)
