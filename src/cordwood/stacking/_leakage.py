"""Data-leakage check: are out-of-fold predictions more accurate than predictions of new samples?

If the training set contains duplicates, the out-of-fold prediction of a sample may come from
estimators that were trained on its duplicate. The final estimator then overestimates the base
estimator. The check fits the base estimators on a subsample and compares the accuracy of their
out-of-fold predictions with their accuracy on other samples. Duplicates and samples of the same
group stay on one side of this split, which reveals the leakage.
"""

import warnings
from collections.abc import Hashable, Iterable, Mapping
from numbers import Integral
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.sparse.csgraph import connected_components
from sklearn.base import clone

from cordwood._sklearn import take_rows
from cordwood.stacking._meta_features import index_params

_N_TRAIN, _N_TEST, _N_FOLDS = 1000, 500, 5

# This many trees or boosting rounds reveal leakage by duplicates as well as hundreds do.
_MAX_ESTIMATORS = 50

# A difference of accuracy above this many standard errors is reported as leakage.
_MAX_STANDARD_ERRORS = 4.0


def measure_oof_optimism(
    stack: Any, X: Any, y: NDArray[Any], fit_params: Mapping[str, Any], seed: int
) -> dict[str, float]:
    """Measure by how much out-of-fold accuracy exceeds the accuracy on new samples.

    Parameters
    ----------
    stack : OOBStackingClassifier
        Its parameters are used; it need not be fitted.
    X : array-like, sparse matrix, data frame or sequence of texts of length n_samples
        Training samples of the stack.
    y : ndarray of shape (n_samples,)
        Training labels.
    fit_params : dict
        Further parameters of the stack's `fit`, e.g. `groups`.
    seed : int
        Seed of the subsample and of the folds.

    Returns
    -------
    dict of str to float
        Difference of accuracy of each base estimator; empty if there are too few samples.

    Warns
    -----
    UserWarning
        If a difference is too large to be due to chance.
    """
    rng = np.random.RandomState(seed)
    clusters = number_duplicates(X)
    if fit_params.get("groups") is not None:
        clusters = merge_partitions(clusters, fit_params["groups"])
    train, test = _subsample(clusters, y, rng)
    class_sizes = np.unique(y[train], return_counts=True)[1]
    if len(class_sizes) < 2 or class_sizes.max() < 2 or not len(test):
        return {}
    small = _make_small_stack(stack, rng)
    small.fit(take_rows(X, train), y[train], **index_params(fit_params, train, len(y)))
    oof_correct = _is_correct(small.meta_features_, y[train], small.classes_)
    test_proba = np.asarray(small.transform(take_rows(X, test)))
    test_correct = _is_correct(test_proba, y[test], small.classes_)
    differences = oof_correct.mean(axis=0) - test_correct.mean(axis=0)
    standard_errors = np.sqrt(
        oof_correct.var(axis=0) / len(train)
        + test_correct.var(axis=0) / len(test)
        + 1 / len(test) ** 2
    )
    names = list(small.oof_source_)
    leaking = [
        f"{name!r} (by {difference:.0%})"
        for name, difference, error in zip(names, differences, standard_errors, strict=True)
        if difference > _MAX_STANDARD_ERRORS * error
    ]
    if leaking:
        warnings.warn(
            "The out-of-fold predictions of these base estimators are more accurate than their "
            f"predictions of new samples: {', '.join(leaking)}. If X contains duplicate or related "
            "samples, pass groups to fit to keep them in the same fold.",
            stacklevel=4,
        )
    return dict(zip(names, differences.tolist(), strict=True))


def _make_small_stack(stack: Any, rng: np.random.RandomState) -> Any:
    """Clone the stack with fewer trees or boosting rounds."""
    small = clone(stack).set_params(check_leakage=False, random_state=rng)
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
    clusters: NDArray[np.intp], y: NDArray[Any], rng: np.random.RandomState
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Draw training samples and test samples of the same classes; clusters stay together."""
    order = rng.permutation(clusters.max() + 1)[clusters].argsort(kind="stable")
    n_train = min(_N_TRAIN, 2 * len(order) // 3)
    while n_train < len(order) and clusters[order[n_train]] == clusters[order[n_train - 1]]:
        n_train += 1
    train, rest = order[:n_train], order[n_train:]
    test = rest[np.isin(y[rest], y[train])][:_N_TEST]
    return np.sort(train), np.sort(test)


def _is_correct(
    probas: NDArray[np.float64], y: NDArray[Any], classes: NDArray[Any]
) -> NDArray[np.bool_]:
    """Return whether the most probable class is the label: shape (n_samples, n_estimators)."""
    predictions = probas.reshape(len(probas), -1, len(classes)).argmax(axis=2)
    return np.asarray(classes[predictions] == y[:, None])


def merge_partitions(*partitions: Any) -> NDArray[np.intp]:
    """Return the finest partition whose parts contain all parts of the given partitions.

    Parameters
    ----------
    *partitions : array-like of shape (n_samples,)
        Samples with equal values are in the same part.

    Returns
    -------
    ndarray of shape (n_samples,)
        Part of each sample.

    Examples
    --------
    Samples 0 and 1 are duplicates, samples 1 and 2 are in the same group:

    >>> merge_partitions([0, 0, 1, 2], ["a", "b", "b", "c"])
    array([0, 0, 0, 1])
    """
    codes = [np.unique(np.asarray(part), return_inverse=True)[1].ravel() for part in partitions]
    n_samples = len(codes[0])
    # A bipartite graph of the samples and the parts of all partitions.
    starts = n_samples + np.cumsum([0, *(part.max() + 1 for part in codes)])
    parts = np.concatenate([start + part for start, part in zip(starts, codes, strict=False)])
    samples = np.tile(np.arange(n_samples), len(codes))
    edges = (np.ones(len(parts), np.int8), (samples, parts))
    graph = sp.coo_matrix(edges, shape=(starts[-1], starts[-1]))
    components = connected_components(graph, directed=False)[1][:n_samples]
    return np.asarray(np.unique(components, return_inverse=True)[1].ravel())


def number_duplicates(X: Any) -> NDArray[np.intp]:
    """Return an id for each sample; duplicates, and only they, have the same id.

    Parameters
    ----------
    X : array, sparse matrix, data frame or sequence of texts of length n_samples

    Returns
    -------
    ndarray of shape (n_samples,)

    Examples
    --------
    >>> number_duplicates(["to be", "or not", "to be"])
    array([0, 1, 0])
    >>> number_duplicates(np.array([[1.0, 2.0], [1.0, 3.0], [1.0, 3.0]]))
    array([0, 1, 1])
    """
    ids: dict[Hashable, int] = {}
    return np.array([ids.setdefault(key, len(ids)) for key in _hashable_samples(X)], np.intp)


def _hashable_samples(X: Any) -> Iterable[Hashable]:
    """Yield a key for each sample that only its duplicates have."""
    if hasattr(X, "tocsr"):
        csr = X.tocsr(copy=True)
        csr.sum_duplicates()
        csr.eliminate_zeros()
        bounds = zip(csr.indptr[:-1], csr.indptr[1:], strict=True)
        return (
            (csr.indices[start:stop].tobytes(), csr.data[start:stop].tobytes())
            for start, stop in bounds
        )
    if hasattr(X, "itertuples"):
        tuples: Iterable[Hashable] = X.itertuples(index=False, name=None)
        return tuples
    if getattr(X, "ndim", 1) == 2:
        dense = np.asarray(X)
        if dense.dtype == object:
            return map(tuple, dense.tolist())
        return (sample.tobytes() for sample in np.ascontiguousarray(dense) + 0)  # -0.0 becomes 0.0
    return (sample if isinstance(sample, str) else repr(sample) for sample in X)
