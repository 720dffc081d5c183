"""Coverage and size of conformal prediction sets, beside those of MAPIE.

    python dev.py bench conformal_coverage [--datasets r8 yelp] [--repeats 3] [--samples 1500]

The recipe `quick` is trained on random samples; the thresholds come from its out-of-fold
predictions, and coverage and size from up to 3,000 other samples. Prints means over the repeats:
the coverage (%) of sets that may be empty, which should be the requested one, with its standard
error, and the mean number of labels if the most probable label is always in the set, followed by
the mean number of labels of MAPIE's sets from the same probabilities (if the package `mapie` is
installed). The last columns are for class-conditional sets: the coverage of all samples, and the
lowest coverage of a class with at least 100 test samples.
"""

import argparse
import warnings
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin

from cordwood import recipes
from cordwood.confidence import calibrate_sets
from cordwood.datasets.corpus import Corpus
from corpora import load_single_label
from options import at_least
from stopwatch import print_head, print_row, print_run

_DATASETS = ("bbc", "debate", "myspace", "nyt", "tweets", "twitter", "yelp", "youtube", "amazon")
_TOPICS = ("r8", "r52", "webkb", "20ng", "ohsumed", "spambase")
_MAX_TEST = 3000
_MIN_CLASS_SIZE = 5
_MIN_TEST_CLASS = 100
_METHODS = ("lac", "aps", "raps")


def main(names: list[str], coverages: list[float], n_repeats: int, n_samples: int) -> None:
    print_run(*(["mapie"] if find_spec("mapie") else []))
    mapie = [f"{method} MAPIE" for method in _METHODS] if find_spec("mapie") else []
    header = [f"{method} {what}" for method in _METHODS for what in ("%", "size")]
    print_head("data set, coverage", "acc %", *header, *mapie, "class %", "lowest")
    deviations: dict[float, list[NDArray[Any]]] = {coverage: [] for coverage in coverages}
    for name in names:
        runs = [predict(name, seed, n_samples) for seed in range(n_repeats)]
        for coverage in coverages:
            rows = np.array([measure_sets(*run, coverage, bool(mapie)) for run in runs])
            means, errors = rows.mean(axis=0), rows.std(axis=0) / np.sqrt(max(n_repeats - 1, 1))
            deviations[coverage].append(means[1:6:2] - 100 * coverage)
            cells = [f"{each:.2f}" for each in means]
            for column in (1, 3, 5):  # the coverage of each method
                cells[column] += f" ± {errors[column]:.2f}"
            print_row(f"{name}, {coverage:g}", *cells)
    for coverage, found in deviations.items():
        for method, each in zip(_METHODS, np.transpose(found), strict=True):
            print(
                f"coverage {coverage:g} by {method}: mean deviation {each.mean():+.2f} points, "
                f"largest {each[np.abs(each).argmax()]:+.2f}"
            )


def predict(
    name: str, seed: int, n_samples: int
) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Return out-of-fold probabilities, their class codes, and those of the test samples."""
    dataset = load_single_label(name)
    labels = np.array(dataset.labels)
    order = np.random.RandomState(seed).permutation(len(labels))
    n_train = min(n_samples, 2 * len(labels) // 3)
    train, test = order[:n_train], order[n_train : n_train + _MAX_TEST]
    classes, counts = np.unique(labels[train], return_counts=True)
    kept = classes[counts >= _MIN_CLASS_SIZE]
    train, test = (part[np.isin(labels[part], kept)] for part in (train, test))
    is_text = isinstance(dataset, Corpus)
    samples = [dataset.select(part).texts if is_text else dataset.X[part] for part in (train, test)]
    stack = recipes.make("quick", input="text" if is_text else "numeric", random_state=0)[-1]
    stack.set_params(check_leakage=False).fit(samples[0], labels[train])
    codes = [np.searchsorted(stack.classes_, labels[part]) for part in (train, test)]
    return stack.oof_proba_, codes[0], stack.predict_proba(samples[1]), codes[1]


def measure_sets(
    oof_proba: NDArray[Any],
    y: NDArray[Any],
    proba: NDArray[Any],
    y_test: NDArray[Any],
    coverage: float,
    has_mapie: bool,
) -> list[float]:
    own, mapie = [100 * float(np.mean(proba.argmax(axis=1) == y_test))], []
    for method in _METHODS:
        calibration = calibrate_sets(oof_proba, y, method=method)
        exact = calibration.predict_set(proba, coverage, allow_empty=True)
        sets = calibration.predict_set(proba, coverage)
        own += [100 * float(is_covered(exact, y_test).mean()), float(sets.sum(axis=1).mean())]
        if has_mapie:
            mapie.append(measure_mapie(oof_proba, y, proba, coverage, method))
    by_class = calibrate_sets(oof_proba, y, class_conditional=True)
    covered = is_covered(by_class.predict_set(proba, coverage, allow_empty=True), y_test)
    large = np.flatnonzero(np.bincount(y_test) >= _MIN_TEST_CLASS)
    lowest = min(covered[y_test == code].mean() for code in large)
    return [*own, *mapie, 100 * float(covered.mean()), 100 * float(lowest)]


def is_covered(sets: NDArray[Any], y: NDArray[Any]) -> NDArray[Any]:
    return np.asarray(sets[np.arange(len(y)), y])


class Probabilities(ClassifierMixin, BaseEstimator):
    """Fitted classifier whose samples are their probabilities."""

    def __init__(self, n_classes: int = 2) -> None:
        self.n_classes = n_classes

    def fit(self, X: Any, y: Any) -> "Probabilities":
        """Set the classes."""
        self.classes_ = np.arange(self.n_classes)
        self.n_features_in_ = self.n_classes
        return self

    def predict_proba(self, X: Any) -> Any:
        """Return the samples."""
        return X

    def predict(self, X: Any) -> Any:
        """Return the most probable class."""
        return X.argmax(axis=1)


def measure_mapie(
    oof_proba: NDArray[Any], y: NDArray[Any], proba: NDArray[Any], coverage: float, method: str
) -> float:
    """Return the mean size of MAPIE's sets; two classes are supported with LAC only."""
    n_classes = oof_proba.shape[1]
    if n_classes == 2 and method != "lac":
        return float("nan")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        mapie = import_module("mapie.classification").SplitConformalClassifier(
            Probabilities(n_classes).fit(None, None),
            confidence_level=coverage,
            conformity_score=method,
            prefit=True,
            random_state=0,
        )
        # MAPIE requires rows that sum to one in double precision.
        total = oof_proba.sum(axis=1, keepdims=True)
        mapie.conformalize(oof_proba / total, y)
        _, sets = mapie.predict_set(proba / proba.sum(axis=1, keepdims=True))
    return float(sets[:, :, 0].sum(axis=1).mean())


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--datasets", nargs="+", default=[*_DATASETS, *_TOPICS])
    parser.add_argument("--coverages", nargs="+", type=float, default=[0.9, 0.95])
    parser.add_argument("--repeats", type=at_least(1), default=3)
    parser.add_argument("--samples", type=at_least(100), default=1500)
    arguments = parser.parse_args()
    main(arguments.datasets, arguments.coverages, arguments.repeats, arguments.samples)
