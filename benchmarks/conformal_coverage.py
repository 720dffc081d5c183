"""Coverage and size of conformal prediction sets, beside those of MAPIE.

    python dev.py bench conformal_coverage [--datasets r8 yelp] [--repeats 3] [--samples 1500]
    python dev.py bench conformal_coverage --per-class 16 [--datasets ...] [--repeats 5]

`TextClassifier(encoder=None)` is trained on random samples; the thresholds come from its
out-of-fold predictions, and coverage and size from up to 2,000 other samples. With `--per-class`,
training and test sets have equally many samples of each class, at most 1,600 training samples; the
data set "topics" is the union of four others. Prints means over the repeats: the coverage (%) of
sets that may be empty, which should be the requested one, with its standard error; the mean number
of labels, and the share (%) of single labels, if the most probable label is always in the set. If
the package `mapie` is installed, the mean number of labels of MAPIE's sets from the same
probabilities follows, for each of its scores. The last columns are for class-conditional sets: the
coverage of all samples, and the lowest coverage of a class with at least 100 test samples. At the
end: for how many models the bounds of `choose_confidence` can be shown, and how many exceed them on
the test samples.
"""

import argparse
import warnings
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin

from cordwood import TextClassifier
from cordwood.confidence import calibrate_sets, choose_confidence
from cordwood.datasets.corpus import Corpus
from cordwood.exceptions import DataError
from corpora import load_single_label
from options import at_least
from stopwatch import print_head, print_row, print_run

_DATASETS = ("bbc", "debate", "myspace", "nyt", "tweets", "twitter", "yelp", "youtube", "amazon")
_TOPICS = ("r8", "r52", "webkb", "20ng", "ohsumed", "spambase")
_UNION = ("20ng", "ohsumed", "r52", "webkb")
_MAX_TEST = 2000
_MAX_BALANCED = 1600
_MIN_CLASS_SIZE = 5
_MIN_CLASS_REST = 20
_MIN_TEST_CLASS = 100
_MAPIE_SCORES = ("lac", "aps", "raps")
_MAX_ERRORS = (0.02, 0.05, 0.1)


def main(
    names: list[str], coverages: list[float], n_repeats: int, n_samples: int, per_class: int
) -> None:
    print_run(*(["mapie"] if find_spec("mapie") else []))
    mapie = [f"MAPIE, {score}" for score in _MAPIE_SCORES] if find_spec("mapie") else []
    print_head("data set, coverage", "acc %", "%", "size", "single", *mapie, "class %", "lowest")
    deviations: dict[float, list[float]] = {coverage: [] for coverage in coverages}
    errors_of: dict[float, list[float]] = {max_error: [] for max_error in _MAX_ERRORS}
    for name in names:
        runs = [predict(name, seed, n_samples, per_class) for seed in range(n_repeats)]
        for max_error, found in errors_of.items():
            found += [each for run in runs for each in measure_decided(*run, max_error)]
        for coverage in coverages:
            rows = np.array([measure_sets(*run, coverage, bool(mapie)) for run in runs])
            means, errors = rows.mean(axis=0), rows.std(axis=0) / np.sqrt(max(n_repeats - 1, 1))
            deviations[coverage].append(means[1] - 100 * coverage)
            cells = [f"{each:.2f}" for each in means]
            cells[1] += f" ± {errors[1]:.2f}"
            print_row(f"{name}, {coverage:g}", *cells)
    for coverage, each_set in deviations.items():
        print(
            f"coverage {coverage:g}: mean deviation {np.mean(each_set):+.2f} points, "
            f"largest {max(each_set, key=abs):+.2f}"
        )
    for max_error, found in errors_of.items():
        n_above = sum(each > max_error for each in found)
        print(f"error of at most {max_error:g}: exceeded by {n_above} of {len(found)} models")


def predict(
    name: str, seed: int, n_samples: int, per_class: int
) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Return out-of-fold probabilities, their class codes, and those of the test samples."""
    X, labels = load(name)
    random = np.random.RandomState(seed)
    draw = draw_balanced if per_class else draw_any
    train, test = draw(labels, random, per_class or n_samples)
    model = TextClassifier(encoder=None).fit(X[train], labels[train])
    assert model.oof_ is not None
    codes = [np.searchsorted(model.classes_, labels[part]) for part in (train, test)]
    return model.oof_.proba, codes[0], model.predict_proba(X[test]), codes[1]


def load(name: str) -> tuple[NDArray[Any], NDArray[Any]]:
    if name == "topics":
        parts = {each: load(each) for each in _UNION}
        labels = [f"{each}:{label}" for each, (_, y) in parts.items() for label in y]
        return np.concatenate([X for X, _ in parts.values()]), np.array(labels)
    dataset = load_single_label(name)
    X = np.array(dataset.texts, object) if isinstance(dataset, Corpus) else dataset.X
    return X, np.array(dataset.labels)


def draw_any(
    labels: NDArray[Any], random: np.random.RandomState, n_samples: int
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Draw training and test samples, of classes with enough training samples."""
    order = random.permutation(len(labels))
    n_train = min(n_samples, 2 * len(labels) // 3)
    train, test = order[:n_train], order[n_train : n_train + _MAX_TEST]
    classes, counts = np.unique(labels[train], return_counts=True)
    kept = classes[counts >= _MIN_CLASS_SIZE]
    return train[np.isin(labels[train], kept)], test[np.isin(labels[test], kept)]


def draw_balanced(
    labels: NDArray[Any], random: np.random.RandomState, per_class: int
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Draw equally many training samples of each class, and equally many test samples."""
    order = random.permutation(len(labels))
    classes, counts = np.unique(labels, return_counts=True)
    kept = classes[counts >= per_class + _MIN_CLASS_REST]
    if len(kept) * per_class > _MAX_BALANCED:
        kept = random.choice(kept, _MAX_BALANCED // per_class, replace=False)
    rest = counts[np.isin(classes, kept)].min() - per_class
    n_test = min(rest, max(_MIN_CLASS_REST, _MAX_TEST // len(kept)))
    drawn = [order[labels[order] == label][: per_class + n_test] for label in kept]
    train, test = (
        [each[part] for each in drawn] for part in (slice(per_class), slice(per_class, None))
    )
    return np.concatenate(train), np.concatenate(test)


def measure_sets(
    oof_proba: NDArray[Any],
    y: NDArray[Any],
    proba: NDArray[Any],
    y_test: NDArray[Any],
    coverage: float,
    has_mapie: bool,
) -> list[float]:
    calibration = calibrate_sets(oof_proba, y)
    exact = calibration.predict_set(proba, coverage, allow_empty=True)
    sizes = calibration.predict_set(proba, coverage).sum(axis=1)
    own = [proba.argmax(axis=1) == y_test, is_covered(exact, y_test), sizes / 100, sizes == 1]
    mapie = [
        measure_mapie(oof_proba, y, proba, coverage, score)
        for score in (_MAPIE_SCORES if has_mapie else ())
    ]
    by_class = calibrate_sets(oof_proba, y, class_conditional=True)
    covered = is_covered(by_class.predict_set(proba, coverage, allow_empty=True), y_test)
    large = np.flatnonzero(np.bincount(y_test) >= _MIN_TEST_CLASS)
    lowest = min((covered[y_test == code].mean() for code in large), default=np.nan)
    return [
        *(100 * float(np.mean(each)) for each in own),
        *mapie,
        100 * float(covered.mean()),
        100 * float(lowest),
    ]


def measure_decided(
    oof_proba: NDArray[Any],
    y: NDArray[Any],
    proba: NDArray[Any],
    y_test: NDArray[Any],
    max_error: float,
) -> list[float]:
    """Return the test error of the samples that are decided; none if no bound can be shown."""
    try:
        least = choose_confidence(oof_proba, y, max_error).confidence
    except DataError:
        return []
    is_decided = proba.max(axis=1) >= least
    is_wrong = proba.argmax(axis=1) != y_test
    return [float(is_wrong[is_decided].mean())] if is_decided.any() else []


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
    oof_proba: NDArray[Any], y: NDArray[Any], proba: NDArray[Any], coverage: float, score: str
) -> float:
    """Return the mean size of MAPIE's sets; two classes are supported with LAC only."""
    n_classes = oof_proba.shape[1]
    if n_classes == 2 and score != "lac":
        return float("nan")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        mapie = import_module("mapie.classification").SplitConformalClassifier(
            Probabilities(n_classes).fit(None, None),
            confidence_level=coverage,
            conformity_score=score,
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
    parser.add_argument("--datasets", nargs="+")
    parser.add_argument("--coverages", nargs="+", type=float, default=[0.9, 0.95])
    parser.add_argument("--repeats", type=at_least(1), default=3)
    parser.add_argument("--samples", type=at_least(100), default=1500)
    parser.add_argument("--per-class", type=at_least(1), default=0)
    arguments = parser.parse_args()
    main(
        arguments.datasets or [*_DATASETS, *_TOPICS, *(["topics"] if arguments.per_class else [])],
        arguments.coverages,
        arguments.repeats,
        arguments.samples,
        arguments.per_class,
    )
