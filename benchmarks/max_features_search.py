"""Does a search of max_features by out-of-bag scores improve random forests?

    python dev.py bench max_features_search [--sets webkb,reut90] [--folds 3] [--output FILE]

Each fold grows one forest per candidate. Prints the test scores of each candidate and of those with
the best out-of-bag score, once of all trees and once of the first ones. The latter search is cheap:
the trees of the chosen candidate are kept (`warm_start`), and only the first trees of the others
are lost. Scores are micro-F1 / macro-F1 in percent, CPU seconds are of one thread. The last line is
the smallest difference in macro-F1, over the data sets, between the cheap search by macro-F1 and
the default, "sqrt".

`--output` writes the figures to a JSON file, such as `reproduction/figures/max_features.json`.
"""

import argparse
import json
import warnings
from collections.abc import Sequence
from statistics import fmean
from typing import Any, NamedTuple

import numpy as np
from sklearn.metrics import accuracy_score, f1_score
from sklearn.model_selection import StratifiedGroupKFold, StratifiedKFold

from cordwood.ensemble import RandomForestClassifier
from cordwood.text.vectorizer import TextVectorizer
from corpora import load_single_label
from options import at_least
from stopwatch import measure, print_head, print_row, print_run

CANDIDATES = ("log2", "sqrt", 0.02, 0.08, 0.15, 0.3)
DEFAULT = "sqrt"
N_FOLDS = 5


class Scores(NamedTuple):
    """Micro-F1 and macro-F1."""

    micro: float
    macro: float


class Fit(NamedTuple):
    """The forest of a candidate on a fold: its scores, also of the first trees, and CPU seconds."""

    test: Scores
    oob: Scores
    first_oob: Scores
    seconds: float
    first_seconds: float


Fold = dict[Any, Fit]
"""The forests of a fold by candidate."""

SEARCHES = {
    "oob, micro-F1": lambda fit: fit.oob.micro,
    "oob, macro-F1": lambda fit: fit.oob.macro,
    "first trees, micro-F1": lambda fit: fit.first_oob.micro,
    "first trees, macro-F1": lambda fit: fit.first_oob.macro,
    "test set, micro-F1": lambda fit: fit.test.micro,
    "test set, macro-F1": lambda fit: fit.test.macro,
}
CHEAP = "first trees, macro-F1"


def main(
    names: Sequence[str], n_folds: int, n_trees: int, n_first: int, output: str | None
) -> None:
    print_run()
    warnings.filterwarnings("ignore", message="The least populated class in y has only")
    figures = {}
    gains = []
    for name in names:
        splits = load_folds(name, n_folds)
        folds = [fit_candidates(*split, n_trees, n_first) for split in splits]
        print(f"\n{name}: {n_trees} trees, first {n_first}, {n_folds} of {N_FOLDS} folds\n")
        figures[name] = print_table(folds)
        gains += [fold[choose(fold, CHEAP)].test.macro - fold[DEFAULT].test.macro for fold in folds]
    if output:
        with open(output, "w", encoding="utf-8", newline="\n") as file:
            file.write(json.dumps(figures, indent=2) + "\n")
    n_sets = len(names)
    means = [fmean(gains[i * n_folds : (i + 1) * n_folds]) for i in range(n_sets)]
    print(f"\nsmallest difference in percentage points: {100 * min(means):+.1f}")


def load_folds(name: str, n_folds: int) -> list[tuple[Any, Any, Any, Any]]:
    """Return the vectorized training and test sets of the first folds."""
    dataset = load_single_label(name)
    y = np.unique(dataset.labels, return_inverse=True)[1]
    kind = StratifiedKFold if dataset.groups is None else StratifiedGroupKFold
    splits = kind(N_FOLDS, shuffle=True, random_state=42).split(y, y, dataset.groups)
    folds = []
    for _, (train, test) in zip(range(n_folds), splits, strict=False):
        vectorizer = TextVectorizer(preset="sigir17", weighting="tf")
        X = vectorizer.fit_transform(dataset.select(train).texts)
        folds.append((X, y[train], vectorizer.transform(dataset.select(test).texts), y[test]))
    return folds


def fit_candidates(X: Any, y: Any, X_test: Any, y_test: Any, n_trees: int, n_first: int) -> Fold:
    """Grow a forest per candidate, first a few trees and then the others."""
    fits = {}
    for candidate in CANDIDATES:
        forest = RandomForestClassifier(
            n_first, max_features=candidate, oob_score=True, warm_start=True, random_state=0
        )
        first_seconds, _ = measure(forest.fit, X, y)
        first_oob = score_oob(forest, y)
        seconds, _ = measure(forest.set_params(n_estimators=n_trees).fit, X, y)
        fits[candidate] = Fit(
            score(y_test, forest.predict(X_test)),
            score_oob(forest, y),
            first_oob,
            first_seconds + seconds,
            first_seconds,
        )
    return fits


def score_oob(forest: RandomForestClassifier, y: Any) -> Scores:
    """Score the out-of-bag predictions of the samples that have some."""
    scored = forest.oob_count_ > 0
    predicted = forest.classes_[forest.oob_decision_function_[scored].argmax(axis=1)]
    return score(y[scored], predicted)


def score(y: Any, predicted: Any) -> Scores:
    return Scores(
        float(accuracy_score(y, predicted)),
        float(f1_score(y, predicted, average="macro", zero_division=0)),
    )


def choose(fold: Fold, search: str) -> Any:
    """Return the candidate with the highest score, the first of equals."""
    return max(fold, key=lambda candidate: SEARCHES[search](fold[candidate]))


def print_table(folds: Sequence[Fold]) -> dict[str, dict[str, str]]:
    """Print the candidates and searches of a data set; return their test scores and seconds."""
    figures = {}
    print_head("max_features", "test set", "out-of-bag", "out-of-bag, first trees", "seconds")
    for candidate in CANDIDATES:
        fits = [fold[candidate] for fold in folds]
        scores = [format_means([getattr(fit, part) for fit in fits]) for part in Fit._fields[:3]]
        seconds = f"{fmean(fit.seconds for fit in fits):.1f}"
        print_row(str(candidate), *scores, seconds)
        figures[str(candidate)] = {"scores": scores[0], "seconds": seconds}
    for search in SEARCHES:
        chosen = [choose(fold, search) for fold in folds]
        fits = [fold[each] for fold, each in zip(folds, chosen, strict=True)]
        test = format_means([fit.test for fit in fits])
        seconds = f"{fmean(count_seconds(fold, search) for fold in folds):.1f}"
        print_row(f"by {search}", test, ", ".join(map(str, chosen)), "", seconds)
        figures[f"by {search}"] = {"scores": test, "seconds": seconds}
    return figures


def count_seconds(fold: Fold, search: str) -> float:
    """Return the CPU seconds of a search, including the forest that it chooses."""
    chosen = choose(fold, search)
    others = [fit for candidate, fit in fold.items() if candidate != chosen]
    is_cheap = search.startswith("first")
    return fold[chosen].seconds + sum(
        fit.first_seconds if is_cheap else fit.seconds for fit in others
    )


def format_means(scores: Sequence[Scores]) -> str:
    micro, macro = (100 * fmean(values) for values in zip(*scores, strict=True))
    return f"{micro:.1f} / {macro:.1f}"


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Search max_features by out-of-bag scores.")
    parser.add_argument("--sets", default="webkb,reut90")
    parser.add_argument("--folds", type=at_least(1), default=3)
    parser.add_argument("--trees", type=at_least(2), default=200)
    parser.add_argument("--first", type=at_least(1), default=20)
    parser.add_argument("--output")
    options = parser.parse_args()
    main(options.sets.split(","), options.folds, options.trees, options.first, options.output)
