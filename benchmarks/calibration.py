"""Calibration of the recipes, with and without a temperature from out-of-fold predictions.

    python dev.py bench calibration [--datasets r8 yelp] [--recipes rf nb] [--samples 1500]

Each recipe is trained on random samples and predicts up to 3,000 others, alone and with
``calibrate=True``. Prints the accuracy (%), which calibration must not change (an error is raised
if a label changes, except with noise), the log loss and the expected calibration error (ECE, in
percentage points, in 15 bins of equal numbers of samples) before and after, the CPU time of both
fits and, last, the ratio of the log losses. `--noise 0.4` replaces the labels of 40 % of the
training and of the test samples by labels of random samples; 1 makes all labels random.
"""

import argparse
import time
import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from cordwood import recipes
from cordwood.datasets.corpus import Corpus
from cordwood.metrics.evaluation import evaluate_predictions
from cordwood.metrics.predictions import Predictions
from corpora import load_single_label
from options import at_least
from stopwatch import measure, print_head, print_row, print_run

_RECIPES = (
    *("rf", "et", "nb", "knn", "svm", "nbsvm", "logistic", "boosted_rf", "boosted_et", "adarf"),
    *("lazy_rf", "adaboost_m2", "adauboost", "lpuboost", "quick"),
)
_MAX_TEST = 3000


def main(names: list[str], chosen: list[str], n_samples: int, noises: list[float]) -> None:
    print_run()
    print_head(
        "data set, recipe",
        *("accuracy", "log loss", "calibrated", "ECE", "calibrated", "seconds", "calibrated"),
        "log loss ratio",
    )
    for name in names:
        for noise in noises:
            data = load(name, n_samples, noise)
            for recipe in chosen:
                shown = f"{name}, {recipe}" + (f", {noise:.0%} noise" if noise else "")
                print_row(shown, *compare(recipe, *data, is_noisy=bool(noise)))


def load(name: str, n_samples: int, noise: float) -> tuple[Any, NDArray[Any], Any, NDArray[Any]]:
    """Return training samples, their labels, test samples and their labels."""
    dataset = load_single_label(name)
    labels = np.array(dataset.labels)
    rng = np.random.RandomState(0)
    order = rng.permutation(len(labels))
    is_noisy = rng.random_sample(len(labels)) < noise
    labels = np.where(is_noisy, labels[rng.permutation(len(labels))], labels)
    n_train = min(n_samples, 2 * len(labels) // 3)
    train, test = order[:n_train], order[n_train : n_train + _MAX_TEST]
    classes, counts = np.unique(labels[train], return_counts=True)
    kept = classes[counts >= 5]
    train, test = (part[np.isin(labels[part], kept)] for part in (train, test))
    is_text = isinstance(dataset, Corpus)
    X, X_test = (
        dataset.select(part).texts if is_text else dataset.X[part] for part in (train, test)
    )
    return X, labels[train], X_test, labels[test]


def compare(
    name: str, X: Any, y: NDArray[Any], X_test: Any, y_test: NDArray[Any], *, is_noisy: bool
) -> tuple[str, ...]:
    """Return the cells of a row; a stack is not calibrated again."""
    input_type: recipes.InputType = "numeric" if isinstance(X, np.ndarray) else "text"
    scores, seconds = [], []
    is_stack = bool(recipes.find(name).members)
    for calibrate in (False, not is_stack):
        model = recipes.make(name, input=input_type, random_state=0, calibrate=calibrate)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            spent, _ = measure(model.fit, X, y, clock=time.process_time)
        seconds.append(spent)
        proba = model.predict_proba(X_test)
        labels = model.classes_[proba.argmax(axis=1)]
        found = Predictions(labels=labels, proba=proba, classes=model.classes_)
        scores.append((labels, evaluate_predictions(y_test.tolist(), found, n_resamples=0)))
    (before, plain), (after, calibrated) = scores
    n_changed = int((before != after).sum())
    if n_changed and not is_noisy:  # without any signal, the temperature may be infinite
        raise SystemExit(f"calibration of {name} changed {n_changed} labels")
    pairs = [(each.log_loss, 100 * each.calibration_error) for each in (plain, calibrated)]
    return (
        f"{100 * plain.accuracy:.1f}",
        *(f"{pair[0]:.3f}" for pair in pairs),
        *(f"{pair[1]:.1f}" for pair in pairs),
        *(f"{each:.1f}" for each in seconds),
        f"{pairs[1][0] / pairs[0][0]:.2f}",
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--datasets", nargs="+", default=["r8", "webkb", "20ng", "yelp"])
    parser.add_argument("--recipes", nargs="+", default=list(_RECIPES), choices=recipes.names())
    parser.add_argument("--samples", type=at_least(100), default=1500)
    parser.add_argument("--noise", nargs="+", type=float, default=[0.0], metavar="SHARE")
    arguments = parser.parse_args()
    main(arguments.datasets, arguments.recipes, arguments.samples, arguments.noise)
