"""Calibration of AdaUBoost and LPUBoost with more than two classes.

    python dev.py bench rule_calibration [--datasets r8 r52] [--samples 3000]

Recipes `adauboost` and `lpuboost` on the official splits of r8, r52, 20ng and ohsumed (a random
third where there is none), with at most `--samples` random training samples and 4,000 test samples.
Prints F1 (%), the log loss and the expected calibration error (ECE, 15 bins of the confidence) of
the test samples, and the CPU time of `fit`.
"""

import argparse
import os
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import f1_score

from cordwood import recipes
from cordwood.datasets.corpus import Corpus
from cordwood.datasets.registry import DATA_DIR_VARIABLE, load_dataset
from cordwood.exceptions import DataError
from options import at_least
from stopwatch import measure, print_head, print_row, print_run

_FOLDER = Path(__file__).resolve().parent.parent.parent / "shared" / "datasets"
_MAX_TEST = 4000
_N_BINS = 15


def main(names: list[str], n_samples: int) -> None:
    print_run("highspy", "scipy")
    print_head("data set, recipe", "seconds", "micro-F1", "macro-F1", "log loss", "ECE")
    for name in names:
        train, test = load(name, n_samples)
        for recipe in ("adauboost", "lpuboost"):
            model = recipes.make(recipe)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ConvergenceWarning)
                seconds, _ = measure(model.fit, train.texts, train.labels)
            scores = score(model.predict_proba(test.texts), model.classes_, np.array(test.labels))
            print_row(f"{name} ({len(train):,}), {recipe}", f"{seconds:.1f}", *scores)


def load(name: str, n_samples: int) -> tuple[Corpus, Corpus]:
    folder = None if os.environ.get(DATA_DIR_VARIABLE) else _FOLDER
    try:
        corpus = load_dataset(name, data_dir=folder)
    except DataError as error:
        raise SystemExit(str(error)) from error
    random = np.random.RandomState(0)
    if corpus.split is None:
        test, train = np.split(random.permutation(len(corpus)), [len(corpus) // 3])
    else:
        train, test = (np.flatnonzero(np.array(corpus.split) == part) for part in ("train", "test"))
    parts = (random.permutation(train)[:n_samples], random.permutation(test)[:_MAX_TEST])
    train_part, test_part = (corpus.select(np.sort(part)) for part in parts)
    return train_part, test_part


def score(proba: NDArray[Any], classes: NDArray[Any], y: NDArray[Any]) -> list[str]:
    """Return micro-F1, macro-F1, log loss and ECE; classes without training samples are wrong."""
    y_pred, confidence = classes[proba.argmax(axis=1)], proba.max(axis=1)
    is_known = np.isin(y, classes)
    own = proba[is_known, np.searchsorted(classes, y[is_known])]
    bins = np.minimum((confidence * _N_BINS).astype(int), _N_BINS - 1)
    differences = np.bincount(bins, confidence - (y_pred == y), _N_BINS)
    return [
        f"{100 * np.mean(y_pred == y):.1f}",
        f"{100 * f1_score(y, y_pred, average='macro', zero_division=0.0):.1f}",
        f"{-np.log(np.maximum(own, 1e-15)).mean():.3f}",
        f"{np.abs(differences).sum() / len(y):.3f}",
    ]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--datasets", nargs="+", default=["r8", "r52", "20ng", "ohsumed"])
    parser.add_argument("--samples", type=at_least(100), default=3000)
    arguments = parser.parse_args()
    main(arguments.datasets, arguments.samples)
