"""Does a search of max_features by the out-of-bag score improve random forests?

    python dev.py bench max_features_search [--sets webkb,reut90] [--folds 3] [--output FILE]

Each fold grows one forest per candidate. Prints the test scores of each candidate, of the one with
the best out-of-bag accuracy, and of the one that has it already after the first trees. The latter
costs little, because the trees of the chosen candidate are kept (`warm_start`) and only the first
trees of the others are lost. Scores are micro-F1 / macro-F1 in percent, CPU seconds those of one
thread. The last line is the smallest difference in micro-F1, over the data sets, between the cheap
search and the default, "sqrt".

`--output` writes the figures to a JSON file, such as `reproduction/figures/max_features.json`.
"""

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
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


class Fit(NamedTuple):
    """A forest of one candidate on one fold: test scores, out-of-bag scores and CPU seconds."""

    micro_f1: float
    macro_f1: float
    oob: float
    first_oob: float
    seconds: float
    first_seconds: float


def main(
    names: Sequence[str], n_folds: int, n_trees: int, n_first: int, output: str | None
) -> None:
    print_run()
    figures: dict[str, dict[str, str]] = {}
    gains = []
    for name in names:
        folds = [fit_candidates(*split, n_trees, n_first) for split in load_folds(name, n_folds)]
        print(f"\n{name}: {n_trees} trees, {n_folds} of {N_FOLDS} folds")
        print_head("max_features", "scores", "OOB", f"OOB, {n_first} trees", "seconds", "chosen")
        for candidate in CANDIDATES:
            fits = [fold[candidate] for fold in folds]
            first, last = (
                sum(choose(fold, field) == candidate for fold in folds)
                for field in ("first_oob", "oob")
            )
            print_row(
                str(candidate),
                format_scores(fits),
                f"{100 * fmean(fit.oob for fit in fits):.1f}",
                f"{100 * fmean(fit.first_oob for fit in fits):.1f}",
                f"{fmean(fit.seconds for fit in fits):.1f}",
                f"{first} / {last}",
            )
        figures[name] = {str(each): format_scores([f[each] for f in folds]) for each in CANDIDATES}
        for title, field in (
            ("first trees", "first_oob"),
            ("all trees", "oob"),
            ("test", "micro_f1"),
        ):
            chosen = [fold[choose(fold, field)] for fold in folds]
            figures[name][title] = format_scores(chosen)
            print_row(f"chosen by {title}", figures[name][title], *[""] * 4)
        costs = [fold[choose(fold, "first_oob")].seconds + lost_seconds(fold) for fold in folds]
        default = fmean(fold[DEFAULT].seconds for fold in folds)
        figures[name]["ratio"] = f"{fmean(costs) / default:.1f}"
        print(f"CPU seconds of the cheap search: {fmean(costs):.1f}, of {DEFAULT}: {default:.1f}")
        gain = fmean(
            fold[choose(fold, "first_oob")].micro_f1 - fold[DEFAULT].micro_f1 for fold in folds
        )
        gains.append(100 * gain)
    if output:
        text = json.dumps(figures, indent=2)
        Path(output).write_text(text + "\n", encoding="utf-8", newline="\n")
    print(f"\nsmallest difference in percentage points: {min(gains):+.1f}")


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


def fit_candidates(
    X: Any, y: Any, X_test: Any, y_test: Any, n_trees: int, n_first: int
) -> dict[Any, Fit]:
    """Grow a forest per candidate, first a few trees and then the others."""
    fits = {}
    for candidate in CANDIDATES:
        forest = RandomForestClassifier(
            n_first, max_features=candidate, oob_score=True, warm_start=True, random_state=0
        )
        first_seconds, _ = measure(forest.fit, X, y)
        first_oob = forest.oob_score_
        seconds, _ = measure(forest.set_params(n_estimators=n_trees).fit, X, y)
        predicted = forest.predict(X_test)
        fits[candidate] = Fit(
            float(accuracy_score(y_test, predicted)),
            float(f1_score(y_test, predicted, average="macro", zero_division=0)),
            forest.oob_score_,
            first_oob,
            first_seconds + seconds,
            first_seconds,
        )
    return fits


def choose(fits: dict[Any, Fit], field: str) -> Any:
    """Return the candidate with the highest score, the first of equals."""
    return max(fits, key=lambda candidate: getattr(fits[candidate], field))


def lost_seconds(fits: dict[Any, Fit]) -> float:
    """Return the CPU seconds of the first trees of the candidates that are not chosen."""
    chosen = choose(fits, "first_oob")
    return sum(fit.first_seconds for candidate, fit in fits.items() if candidate != chosen)


def format_scores(fits: Sequence[Fit]) -> str:
    micro, macro = (100 * fmean(getattr(fit, m) for fit in fits) for m in ("micro_f1", "macro_f1"))
    return f"{micro:.1f} / {macro:.1f}"


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Search max_features by the out-of-bag score.")
    parser.add_argument("--sets", default="webkb,reut90")
    parser.add_argument("--folds", type=at_least(1), default=3)
    parser.add_argument("--trees", type=at_least(2), default=200)
    parser.add_argument("--first", type=at_least(1), default=20)
    parser.add_argument("--output")
    options = parser.parse_args()
    main(options.sets.split(","), options.folds, options.trees, options.first, options.output)
