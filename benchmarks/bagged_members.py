"""Bootstrap for every member: can a stack do without cross-validation? Future work of SIGIR'17.

    python dev.py bench bagged_members [--set webkb] [--folds 1] [--bags 10] [--folder FOLDER]

In the stack, `svm`, `nb` and `et` are cross-validated, and `knn` has leave-one-out predictions.
Here scikit-learn's `BaggingClassifier` fits `svm`, `nb` and `knn` on `--bags` bootstrap samples and
gives out-of-bag predictions, and `et` draws bootstrap samples, too. Prints micro-F1 / macro-F1 of
these members and of stacks of three (`svm`, `nb`, `knn`) and of all nine, with both kinds of
out-of-fold predictions, and the CPU seconds of the four members, and writes
reproduction/figures. The last line is the ratio of these seconds.
"""

import argparse
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import BaggingClassifier
from threadpoolctl import threadpool_limits

from cordwood import recipes
from cordwood.oof.proba import align_columns, impute_prior
from options import at_least
from reproduction.figure_files import add_figures
from reproduction.member_fits import (
    DEFAULT_FOLDER,
    SplitFits,
    find_trial,
    fit_members,
    load_split,
    make_members,
)
from reproduction.subsets import score_labels
from stopwatch import measure, print_head, print_row, print_run

BAGGED = ("svm", "nb", "knn")
BOOTSTRAPPED = (*BAGGED, "et")
COMBINERS = ("class_pool", "rf")
SUFFIXES = ("", ", bootstrap", ", bootstrap of et")

Scores = tuple[float, float]
Probas = tuple[NDArray[np.float64], NDArray[np.float64]]


def main(name: str, n_folds: int, n_bags: int, folder: Path) -> None:
    print_run()
    scores: dict[str, list[Scores]] = {}
    seconds = {"stack": np.zeros(len(BOOTSTRAPPED)), "bootstrap": np.zeros(len(BOOTSTRAPPED))}
    n_imputed = 0
    for number in range(n_folds):
        fits = fit_members(name, folder, number=number)
        trial = find_trial(name, number)
        samples = load_split(trial)
        pipelines = make_members(trial, ())
        bagged: dict[str, Probas] = {}
        for i, member in enumerate(BOOTSTRAPPED):
            times = fits.members[member].seconds
            seconds["stack"][i] += times.fit + times.oof + times.predict
            vectorizer, estimator = pipelines[member][:-1], pipelines[member][-1]
            if member in BAGGED:
                estimator = BaggingClassifier(estimator, n_bags, oob_score=True)
            else:
                estimator.set_params(bootstrap=True, oob_score=True)
            estimator.set_params(random_state=trial.seed)
            duration, bagged[member], missing = fit_bagged(vectorizer, estimator, *samples)
            seconds["bootstrap"][i] += duration
            n_imputed += missing
        for title, found in score_fold(fits, bagged, trial.seed).items():
            scores.setdefault(title, []).append(found)
    means = {
        title: " / ".join(f"{100 * mean:.1f}" for mean in np.mean(found, axis=0))
        for title, found in scores.items()
    }
    print_head("micro-F1 / macro-F1", "stack", "bootstrap", "bootstrap of et only")
    for title in [title for title in means if "bootstrap" not in title]:
        print_row(title, *(means[title + suffix] for suffix in SUFFIXES))
    figures = {
        "n_folds": n_folds,
        "n_bags": n_bags,
        "n_imputed": n_imputed,
        "scores": means,
        "seconds": {
            kind: {
                "all": f"{sums.sum() / n_folds:.1f}",
                **{m: f"{s / n_folds:.1f}" for m, s in zip(BOOTSTRAPPED, sums, strict=True)},
            }
            for kind, sums in seconds.items()
        },
    }
    print(f"\nwrote {add_figures('sigir17-bootstrap', f'{name}, {n_bags} bags', figures)}")
    for kind, sums in seconds.items():
        parts = ", ".join(f"{m} {s / n_folds:.1f}" for m, s in zip(BOOTSTRAPPED, sums, strict=True))
        print(f"{kind}: {parts} CPU s")
    print(f"bootstrap: {seconds['bootstrap'].sum() / seconds['stack'].sum():.2f} times the stack")


def fit_bagged(vectorizer: Any, estimator: Any, train: Any, test: Any) -> tuple[float, Probas, int]:
    """Fit an estimator with out-of-bag predictions.

    Returns
    -------
    float
        CPU seconds to fit and to predict.
    tuple of two ndarrays
        Probabilities of the training samples, with the class prior for those that were never out of
        bag, and of the test samples.
    int
        Number of training samples that were never out of bag.
    """
    X, X_test = vectorizer.fit_transform(train.texts), vectorizer.transform(test.texts)
    y = np.array(train.labels)
    classes, codes = np.unique(y, return_inverse=True)

    def fit_and_predict(rows: slice) -> Probas:
        with warnings.catch_warnings(), np.errstate(invalid="ignore"):
            warnings.filterwarnings("ignore", "Some inputs do not have OOB scores")
            estimator.fit(X[rows], y[rows])
        return estimator.oob_decision_function_, estimator.predict_proba(X_test[rows])

    with threadpool_limits(1):
        fit_and_predict(slice(None, None, 20))  # compiles the kernels
        seconds, probas = measure(fit_and_predict, slice(None), clock=time.process_time)
    oof, test_proba = (align_columns(proba, estimator.classes_, classes) for proba in probas)
    oof[~(oof.sum(axis=1) > 0)] = np.nan
    oof, n_imputed = impute_prior(oof, np.bincount(codes) / len(codes))
    return float(seconds), (oof, test_proba), n_imputed


def score_fold(fits: SplitFits, bagged: dict[str, Probas], seed: int) -> dict[str, Scores]:
    """Return the scores of members and stacks on the test samples."""
    usual = {name: (fit.oof_proba, fit.test_proba) for name, fit in fits.members.items()}
    classes = np.unique(fits.y_train)
    scores: dict[str, Scores] = {}

    variants = (usual, {**usual, **bagged}, {**usual, "et": bagged["et"]})
    for suffix, members in zip(SUFFIXES, variants, strict=True):
        for member in BOOTSTRAPPED:
            predicted = classes[members[member][1].argmax(axis=1)]
            scores[member + suffix] = score_labels(fits.y_test, predicted)
        for title, names in (("three", BAGGED), ("nine", tuple(usual))):
            train, test = (np.hstack([members[name][part] for name in names]) for part in (0, 1))
            for combiner in COMBINERS:
                stack = recipes.make("stack_sigir17", combiner=combiner, random_state=seed)
                estimator = stack["classifier"].final_estimator.fit(train, fits.y_train)
                predicted = estimator.predict(test)
                scores[f"{title}, {combiner}{suffix}"] = score_labels(fits.y_test, predicted)
    return scores


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Fit all members with bootstrap samples.")
    parser.add_argument("--set", default="webkb")
    parser.add_argument("--folds", type=int, choices=range(1, 6), default=1)
    parser.add_argument("--bags", type=at_least(2), default=10)
    parser.add_argument("--folder", type=Path, default=DEFAULT_FOLDER)
    options = parser.parse_args()
    main(options.set, options.folds, options.bags, options.folder)
