"""Data-leakage check: are out-of-fold predictions more accurate than predictions of new samples?

If the training set contains duplicates, the out-of-fold prediction of a sample may come from
estimators that were trained on its duplicate. The final estimator then overestimates the base
estimator. The check fits the base estimators on a subsample and compares the accuracy of their
out-of-fold predictions with their accuracy on other samples. Related samples, which are duplicates,
near-duplicates and samples of the same group, stay on one side of this split, which reveals the
leakage. Samples with and without related ones are compared separately: leakage of a minority of
the samples would otherwise be lost in the noise of the others.
"""

import warnings
from collections.abc import Mapping
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from cordwood._base.sklearn_private import take_rows
from cordwood.oof.engine import index_params
from cordwood.oof.groups import ignore_few_groups
from cordwood.stacking.related_samples import RelatedSamples, find_related

_N_TRAIN, _N_TEST, _N_FOLDS = 1000, 500, 5

# This many trees or boosting rounds reveal leakage by duplicates as well as hundreds do.
_MAX_ESTIMATORS = 50

# A difference of accuracy above this many standard errors is reported as leakage.
_MAX_STANDARD_ERRORS = 4.0

# Leakage of samples with duplicates is reported if it changes the accuracy of all samples by this.
_MIN_DIFFERENCE = 0.01


def measure_oof_optimism(
    stack: Any, X: Any, y: NDArray[Any], fit_params: Mapping[str, Any], seed: int
) -> dict[str, float]:
    """Measure by how much out-of-fold accuracy exceeds the accuracy on new samples."""
    rng = np.random.RandomState(seed)
    related = find_related(X, fit_params.get("groups"), rng)
    train, test = _subsample(related, y, rng)
    class_sizes = np.unique(y[train], return_counts=True)[1]
    if len(class_sizes) < 2 or class_sizes.max() < 2 or not len(test):
        return {}
    small = _make_small_stack(stack, rng)
    with ignore_few_groups():
        small.fit(take_rows(X, train), y[train], **index_params(fit_params, train, len(y)))
    oof_correct = _is_correct(small.meta_features_, y[train], small.classes_)
    test_proba = np.asarray(small.transform(take_rows(X, test)))
    test_correct = _is_correct(test_proba, y[test], small.classes_)
    optimism, of_related = _compare(oof_correct, test_correct, related, train, test)
    names = list(small.oof_source_)
    leaking = [
        f"{name!r} (by {optimism.difference[i]:.1%})"
        for i, name in enumerate(names)
        if optimism.is_significant[i]
        or (of_related.is_significant[i] and optimism.difference[i] > _MIN_DIFFERENCE)
    ]
    if leaking:
        related_fraction = related.is_related[related.is_query].mean()
        warnings.warn(
            "The out-of-fold predictions of these base estimators are more accurate than their "
            f"predictions of new samples: {', '.join(leaking)}. {related_fraction:.0%} of "
            "the samples have duplicates or near-duplicates. If X contains duplicate or related "
            "samples, pass groups to fit to keep them in the same fold.",
            stacklevel=4,
        )
    return dict(zip(names, optimism.difference.tolist(), strict=True))


class _Difference(NamedTuple):
    """Differences of accuracy of the base estimators, with their standard errors."""

    difference: NDArray[np.float64]
    standard_error: NDArray[np.float64]

    @property
    def is_significant(self) -> NDArray[np.bool_]:
        return np.asarray(self.difference > _MAX_STANDARD_ERRORS * self.standard_error)


def _compare(
    oof_correct: NDArray[np.bool_],
    test_correct: NDArray[np.bool_],
    related: RelatedSamples,
    train: NDArray[np.intp],
    test: NDArray[np.intp],
) -> tuple[_Difference, _Difference]:
    """Return the differences of accuracy of all samples, and of those with related samples."""
    cluster, is_related, is_query = related
    zeros = np.zeros(oof_correct.shape[1])
    strata = []
    for value in (False, True):
        in_train, in_test = is_related[train] == value, is_related[test] == value
        if not in_train.any() or not in_test.any():
            strata.append((0.0, _Difference(zeros, zeros)))
            continue
        oof_mean, oof_variance = _mean_and_variance(oof_correct[in_train], cluster[train[in_train]])
        mean, variance = _mean_and_variance(test_correct[in_test], cluster[test[in_test]])
        stratum = _Difference(oof_mean - mean, np.sqrt(oof_variance + variance))
        strata.append((float((is_related[is_query] == value).mean()), stratum))
    total = sum(weight for weight, _ in strata) or 1.0
    difference = sum((weight * stratum.difference for weight, stratum in strata), zeros)
    variance = sum(((weight * stratum.standard_error) ** 2 for weight, stratum in strata), zeros)
    return _Difference(difference / total, np.sqrt(variance) / total), strata[1][1]


def _mean_and_variance(
    correct: NDArray[np.bool_], cluster: NDArray[np.intp]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return accuracies and their variances; samples of a cluster are not independent.

    The variance of a few equal values is not zero: it is increased as if one cluster in
    sqrt(n_clusters) of them were different.
    """
    mean = correct.mean(axis=0)
    codes = np.unique(cluster, return_inverse=True)[1]
    sums = np.zeros((codes.max() + 1, correct.shape[1]))
    np.add.at(sums, codes, correct - mean)
    return mean, (sums**2).sum(axis=0) / len(correct) ** 2 + 1 / len(sums) ** 2


def _make_small_stack(stack: Any, rng: np.random.RandomState) -> Any:
    """Clone the stack with fewer trees or boosting rounds."""
    small = clone(stack).set_params(check_leakage=False, prune_tol=0.0, random_state=rng)
    if hasattr(small, "set_callbacks"):
        small.set_callbacks()  # Clones keep callbacks, but this fit is not the user's.
    small.set_params(
        **{
            name: _MAX_ESTIMATORS
            for name, value in small.get_params().items()
            if name.endswith("n_estimators")
            and isinstance(value, Integral)
            and int(value) > _MAX_ESTIMATORS
        }
    )
    if not isinstance(small.cv, Integral):
        small.set_params(cv=_N_FOLDS)  # Indices of given folds refer to all samples.
    return small


def _subsample(
    related: RelatedSamples, y: NDArray[Any], rng: np.random.RandomState
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Draw training samples and test samples of the same classes; clusters stay together.

    Half of them have related samples if there are so many.
    """
    cluster, is_related, is_query = related
    drawn = np.isin(cluster, cluster[is_query])
    parts = [_shuffle_clusters(drawn & (is_related == value), cluster, rng) for value in (0, 1)]
    n_related = _split_evenly(len(parts[1]), len(parts[0]), _N_TRAIN + _N_TEST)
    n_samples = (min(len(parts[0]), _N_TRAIN + _N_TEST - n_related), n_related)
    train, test = [], []
    for part, n in zip(parts, n_samples, strict=True):
        n_train = 2 * n // 3
        while 0 < n_train < len(part) and cluster[part[n_train]] == cluster[part[n_train - 1]]:
            n_train += 1
        train.append(part[:n_train])
        test.append(part[n_train : max(n, n_train)])
    train_indices, test_indices = np.concatenate(train), np.concatenate(test)
    test_indices = test_indices[np.isin(y[test_indices], y[train_indices])]
    return np.sort(train_indices), np.sort(test_indices)


def _shuffle_clusters(
    mask: NDArray[np.bool_], cluster: NDArray[np.intp], rng: np.random.RandomState
) -> NDArray[np.intp]:
    """Return the indices of a mask, ordered by clusters in random order."""
    indices = np.flatnonzero(mask)
    order = rng.permutation(cluster.max() + 1)[cluster[indices]]
    return indices[order.argsort(kind="stable")]


def _split_evenly(n: int, n_others: int, total: int) -> int:
    """Return how many of `n` items to take for half of `total`, or more if others are missing."""
    return min(n, max(total // 2, total - n_others))


def _is_correct(
    probas: NDArray[np.float64], y: NDArray[Any], classes: NDArray[Any]
) -> NDArray[np.bool_]:
    """Return whether the most probable class is the label: shape (n_samples, n_estimators)."""
    predictions = probas.reshape(len(probas), -1, len(classes)).argmax(axis=2)
    return np.asarray(classes[predictions] == y[:, None])
