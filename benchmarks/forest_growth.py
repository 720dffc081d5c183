"""Does the time of a tree grow no faster than n log n with the number of documents?

    python dev.py bench forest_growth [--trees 10] [--repeats 5]

Fits forests on 1x, 2x, 4x and 8x documents of one distribution, in turns, by the processor time of
one thread, and takes the time of each tree after the first, the least of the repeats. The
documents are nested parts of 20 newsgroups, and of documents drawn by Zipf's law. Twice: with the
same words at every size, and with the words that six of the documents hold, as a user would have
it; then the square root of the number of words, which is what a node draws, grows too. The exponent
is the slope of log(time) over log(documents); that of n log n over the same numbers is beside it.
The last line is the greatest exponent with the same words.
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
    greatest = {}
    whole = [corpora.load_split("20ng"), corpora.generate(GENERATED)]
    forests.RandomForestClassifier(1).fit(whole[0].X, whole[0].y)  # compiles or loads kernels
    for title, same_words in (("words of their own", False), ("the same words", True)):
        greatest[title] = max(
            fit_exponents(title, take_parts(split, same_words=same_words), n_trees, n_repeats)
            for split in whole
        )
    for title, exponent in greatest.items():
        print(f"greatest exponent, {title}: {exponent:.2f}")


def take_parts(split: corpora.Split, *, same_words: bool) -> list[corpora.Split]:
    """Give nested parts; the rows stand in random order."""
    parts = []
    for step in STEPS:
        n = len(split.y) * step // STEPS[-1]
        X = split.X[:n] if same_words else corpora.keep_frequent(split.X[:n])
        parts.append(split._replace(X=X, y=split.y[:n]))
    return parts


def fit_exponents(title: str, parts: list[corpora.Split], n_trees: int, n_repeats: int) -> float:
    """Print the times of one series; return the greatest exponent."""
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
    n_docs = np.array([len(part.y) for part in parts])
    exponents = [slope(n_docs, column) for column in times.T]
    allowed = slope(n_docs, n_docs * np.log(n_docs))
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


def slope(sizes: NDArray[np.int64], times: NDArray[np.float64]) -> float:
    return float(np.polyfit(np.log(sizes), np.log(times), 1)[0])


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Fit the exponent of time over documents.")
    parser.add_argument("--trees", type=at_least(1), default=10)
    parser.add_argument("--repeats", type=at_least(1), default=5)
    options = parser.parse_args()
    main(options.trees, options.repeats)
