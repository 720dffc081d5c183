"""Compilation of all kernels in advance, for images, tests and impatient users."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator

from cordwood._kernel_cache import CACHE_DIR
from cordwood.ensemble.adaboost_m2 import AdaBoostM2Classifier
from cordwood.ensemble.boosted_forest import BoostedForestClassifier
from cordwood.ensemble.forests import RandomForestClassifier
from cordwood.ensemble.lazy_forest import LazyForestClassifier
from cordwood.linear_model.linear_svm import LinearSVMClassifier
from cordwood.neighbors.k_neighbors import NeighborsClassifier

_N_SAMPLES = 40

# Forests of more than 2**15 features have nodes of other integer types, and kernels of their own.
_N_FEATURES = (30, 40_000)


def warmup(progress: Callable[[int, int | None], None] | None = None) -> Path | None:
    """Compile all kernels, so that no later fit or prediction has to.

    Kernels are compiled on first use and cached on disk, which takes up to a minute once for each
    version of cordwood, numba and Python, and each type of processor. In the image of a container,
    set the environment variable ``NUMBA_CACHE_DIR`` to a directory of the image, both when this
    function is called and when the container runs.

    Parameters
    ----------
    progress : callable, default=None
        Called as ``progress(done, total)`` after each step.

    Returns
    -------
    Path or None
        The cache directory; None if no writable directory was found, so that kernels are compiled
        again in every process.

    Examples
    --------
    >>> from cordwood import warmup
    >>> cache_dir = warmup()
    >>> cache_dir.name.startswith("cordwood-kernels-")
    True
    """
    steps = list(_make_steps())
    for done, (estimator, X, y) in enumerate(steps):
        if progress is not None:
            progress(done, len(steps))
        _use(estimator, X, y)
    if progress is not None:
        progress(len(steps), len(steps))
    return CACHE_DIR


def _make_steps() -> Iterator[tuple[BaseEstimator, Any, Any]]:
    """Yield estimators and training sets that together call every kernel with every type."""
    for n_features in _N_FEATURES:
        X, y = _make_counts(n_features)
        yield RandomForestClassifier(2, oob_score=True, random_state=0), X, y
        yield BoostedForestClassifier(2, trees_per_round=2, random_state=0), X, y
        yield AdaBoostM2Classifier(2, random_state=0), X, y
    X, y = _make_counts(_N_FEATURES[0])
    yield LazyForestClassifier(10, 2, random_state=0), X, y
    yield NeighborsClassifier(5), X, y
    yield NeighborsClassifier(5, metric="euclidean"), X, y
    # With the hinge loss, the solver is always the dual one, which has kernels.
    yield LinearSVMClassifier(loss="hinge", nb_scaling=0.5, temperature=1.0, random_state=0), X, y


def _use(estimator: Any, X: Any, y: Any) -> None:
    estimator.fit(X, y).predict_proba(X)
    if hasattr(estimator, "feature_importances_"):
        estimator.feature_importances_.sum()
    if hasattr(estimator, "to_sklearn"):
        estimator.to_sklearn()


def _make_counts(n_features: int) -> tuple[sp.csr_matrix, Any]:
    """Return counts with duplicate samples, and features that are present in most samples."""
    rng = np.random.default_rng(0)
    y = np.arange(_N_SAMPLES) % 3
    X = np.zeros((_N_SAMPLES, n_features), np.float32)
    X[:, :20] = rng.poisson(0.3 + 2.0 * (np.arange(20) % 5 == y[:, None]))
    X[-1] = X[0]
    return sp.csr_matrix(X), y
