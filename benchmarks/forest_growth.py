"""Does the time to grow a tree increase at most as n log n in the number of documents?

    python dev.py bench forest_growth [--trees 10] [--repeats 5]

Interleaved fits of forests on 1x, 2x, 4x and 8x documents of one distribution: minimum CPU time of
one thread over the repeats, for each tree after the first. The documents are nested subsets of 20
newsgroups, and of documents drawn by Zipf's law. Each is measured twice: with a fixed vocabulary,
and with the words in at least six of the documents, as a user would have it; then max_features, the
square root of the number of words, grows too. The exponent is the log-log slope of time over
documents, shown beside that of n log n. The last line is the largest exponent with a fixed
vocabulary.
"""

import argparse

import numpy as np
from numpy.typing import NDArray

import corpora
from cordwood.ensemble import forests
from options import at_least
from stopwatch import load, measure, print_head, print_row, print_run

KINDS = ("RandomForestClassifier", "ExtraTreesClassifier")
STEPS = (1, 2, 4, 8)
GENERATED = 40_000


def main(n_trees: int, n_repeats: int) -> None:
    print_run()
    largest = {}
    whole = [corpora.load_split("20ng"), corpora.generate(GENERATED)]
    forests.RandomForestClassifier(1).fit(whole[0].X, whole[0].y)  # compiles or loads kernels
    for title, fixed_vocabulary in (("growing vocabulary", False), ("fixed vocabulary", True)):
        largest[title] = max(
            fit_exponents(
                title, take_subsets(split, fixed_vocabulary=fixed_vocabulary), n_trees, n_repeats
            )
            for split in whole
        )
    for title, exponent in largest.items():
        print(f"largest exponent, {title}: {exponent:.2f}")


def take_subsets(split: corpora.Split, *, fixed_vocabulary: bool) -> list[corpora.Split]:
    """Return nested subsets; samples are in random order."""
    subsets = []
    for step in STEPS:
        n = len(split.y) * step // STEPS[-1]
        X = split.X[:n] if fixed_vocabulary else corpora.keep_frequent(split.X[:n])
        subsets.append(split._replace(X=X, y=split.y[:n]))
    return subsets


def fit_exponents(title: str, parts: list[corpora.Split], n_trees: int, n_repeats: int) -> float:
    """Print the times of one series; return the largest exponent."""
    rounds = [
        [[time_tree(kind, part, n_trees, seed) for kind in KINDS] for part in parts]
        for seed in range(n_repeats)
    ]
    first, whole = np.moveaxis(np.min(rounds, axis=0), -1, 0)
    times = (whole - first) / n_trees
    print(f"{parts[0].name}, {title}{load()}")
    print_head("documents", "words", "entries", *(f"{kind}, s a tree" for kind in KINDS))
    for part, seconds in zip(parts, times, strict=True):
        sizes = len(part.y), part.X.shape[1], part.X.nnz
        print_row(*(f"{size:,}" for size in sizes), *(f"{value:.4f}" for value in seconds))
    n_samples = np.array([len(part.y) for part in parts])
    exponents = [fit_exponent(n_samples, column) for column in times.T]
    allowed = fit_exponent(n_samples, n_samples * np.log(n_samples))
    print_row("exponent", "", f"n log n: {allowed:.2f}", *(f"{value:.2f}" for value in exponents))
    print()
    return max(exponents)


def time_tree(kind: str, split: corpora.Split, n_trees: int, seed: int) -> list[float]:
    """Return the seconds of a fit of one tree, and of one with `n_trees` more."""
    maker = getattr(forests, kind)
    return [
        measure(maker(n, bootstrap=True, random_state=seed).fit, split.X, split.y)[0]
        for n in (1, n_trees + 1)
    ]


def fit_exponent(sizes: NDArray[np.int64], times: NDArray[np.float64]) -> float:
    return float(np.polyfit(np.log(sizes), np.log(times), 1)[0])


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Fit the exponent of time over documents.")
    parser.add_argument("--trees", type=at_least(1), default=10)
    parser.add_argument("--repeats", type=at_least(1), default=5)
    options = parser.parse_args()
    main(options.trees, options.repeats)
