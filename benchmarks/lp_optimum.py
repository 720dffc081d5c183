"""Whether LPUBoost is better at the optimum of its linear program.

    python dev.py bench lp_optimum [--categories lead corn]

Uses `reuters21578` (ModApte split, preprocessing of the ICML'03 paper) and default parameters,
without calibration. With the real votes of `real.mh`, column generation stops where the weak
learner finds no better rule, which depends on the number of rules per iteration; with the ±1 votes
of `disc.mh`, the result is optimal among all rules with votes in [-1, 1]. Prints for each category,
and as means, the test F1 (%), the duality gap, the number of rules and the CPU time of `fit`.
"""

import argparse
import os
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.metrics import f1_score

from cordwood.datasets.registry import DATA_DIR_VARIABLE, load_dataset
from cordwood.exceptions import DataError
from cordwood.rules import LPUBoostClassifier
from cordwood.text.vectorizer import TextVectorizer
from stopwatch import measure, print_head, print_row, print_run

_FOLDER = Path(__file__).resolve().parent.parent.parent / "shared" / "datasets"
_CATEGORIES = (
    *("naphtha", "potato", "platinum", "groundnut", "soy-meal", "lead", "pet-chem", "meal-feed"),
    *("cotton", "carcass", "gnp", "corn", "interest", "money-fx", "acq", "earn"),
)
_VARIANTS = {
    "real.mh, 10": {"weak_learner": "real.mh", "columns_per_iter": 10},
    "real.mh, 100": {"weak_learner": "real.mh", "columns_per_iter": 100},
    "disc.mh, 10": {"weak_learner": "disc.mh", "columns_per_iter": 10},
}


def main(categories: list[str]) -> None:
    print_run("highspy", "scipy")
    matrices, labels = load()
    print_head("category, weak learner, rules per iteration", "F1", "gap", "rules", "seconds")
    results: dict[str, list[list[float]]] = {name: [] for name in _VARIANTS}
    for category in categories:
        y, y_test = (np.array([category in topics for topics in part]) for part in labels)
        for name, params in _VARIANTS.items():
            model = LPUBoostClassifier(calibration_folds=None, **params)
            seconds, _ = measure(model.fit, matrices[0], y)
            f1 = 100 * f1_score(y_test, model.predict(matrices[1]), zero_division=0.0)
            row = [f1, float(model.duality_gap_[0]), len(model.rules_[0]), seconds]
            results[name].append(row)
            print_figures(f"{category}, {name}", row)
    for name, rows in results.items():
        print_figures(f"mean, {name}", np.mean(rows, axis=0).tolist())


def load() -> tuple[list[Any], list[Any]]:
    """Return the matrices and the labels of the training and the test set."""
    folder = None if os.environ.get(DATA_DIR_VARIABLE) else _FOLDER
    try:
        corpus = load_dataset("reuters21578", data_dir=folder)
    except DataError as error:
        raise SystemExit(str(error)) from error
    train, test = (
        corpus.select(np.flatnonzero(np.array(corpus.split) == part)) for part in ("train", "test")
    )
    vectorizer = TextVectorizer(preset="icml03")
    matrices = [vectorizer.fit_transform(train.texts), vectorizer.transform(test.texts)]
    return matrices, [train.labels, test.labels]


def print_figures(name: str, row: list[float]) -> None:
    f1, gap, n_rules, seconds = row
    print_row(name, f"{f1:.1f}", f"{gap:.4f}", f"{n_rules:.0f}", f"{seconds:.1f}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Compare LPUBoost with the optimum of its LP.")
    parser.add_argument("--categories", nargs="+", default=list(_CATEGORIES))
    main(parser.parse_args().categories)
