"""Compilation of all kernels in advance, for images, tests and impatient users."""

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.pipeline import make_pipeline

from cordwood._kernels.cache import CACHE_DIR
from cordwood._view import view_model
from cordwood.audit.near_duplicates import find_near_duplicates
from cordwood.encoders.activations import add_bias_and_gelu
from cordwood.encoders.matmul import matmul, pack
from cordwood.ensemble.adaboost_m2 import AdaBoostM2Classifier
from cordwood.ensemble.boosted_forest import BoostedForestClassifier
from cordwood.ensemble.forests import RandomForestClassifier
from cordwood.ensemble.lazy_forest import LazyForestClassifier
from cordwood.explain.explainer import Explainer
from cordwood.linear_model.linear_svm import LinearSVMClassifier
from cordwood.neighbors.k_neighbors import NeighborsClassifier
from cordwood.stacking.combiners import LogarithmicPool
from cordwood.text.vectorizer import TextVectorizer

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
    for done, step in enumerate(steps):
        if progress is not None:
            progress(done, len(steps))
        step()
    if progress is not None:
        progress(len(steps), len(steps))
    return CACHE_DIR


def _make_steps() -> Iterator[Callable[[], Any]]:
    """Yield functions that together call every kernel with every type."""
    for n_features in _N_FEATURES:
        X, y = _make_counts(n_features)
        yield partial(_use, RandomForestClassifier(2, oob_score=True, random_state=0), X, y)
        yield partial(_use, BoostedForestClassifier(2, trees_per_round=2, random_state=0), X, y)
        yield partial(_use, AdaBoostM2Classifier(2, random_state=0), X, y)
        yield partial(_explain, RandomForestClassifier(2, random_state=0), n_features)
    X, y = _make_counts(_N_FEATURES[0])
    yield partial(_use, LazyForestClassifier(10, 2, random_state=0), X, y)
    yield partial(_use, NeighborsClassifier(5), X, y)
    yield partial(_use, NeighborsClassifier(5, metric="euclidean"), X, y)
    # With the hinge loss, the solver is always the dual one, which has kernels.
    svm = LinearSVMClassifier(loss="hinge", nb_scaling=0.5, temperature=1.0, random_state=0)
    yield partial(_use, svm, X, y)
    yield partial(_use, svm, X.astype(np.float64) / 3, y)  # does not fit into single precision
    yield partial(_explain, LazyForestClassifier(10, 2, random_state=0), _N_FEATURES[0])
    yield partial(find_near_duplicates, _make_texts(_N_FEATURES[0])[0])
    yield partial(_use, LogarithmicPool(), np.tile(np.eye(3)[y], 2), y)
    ones = np.ones((2, 2), np.float32)
    yield partial(matmul, ones, pack(ones))
    yield partial(add_bias_and_gelu, ones, ones[0])


def _use(estimator: Any, X: Any, y: Any) -> None:
    estimator.fit(X, y).predict_proba(X)
    if hasattr(estimator, "feature_importances_"):
        estimator.feature_importances_.sum()
    if hasattr(estimator, "to_sklearn"):
        estimator.to_sklearn()


def _explain(classifier: Any, n_words: int) -> None:
    texts, y = _make_texts(n_words)
    model = make_pipeline(TextVectorizer(weighting="tf", min_df=1), classifier)
    Explainer(view_model(model.fit(texts, y))).explain(texts[0])


def _make_texts(n_words: int) -> tuple[list[str], Any]:
    """Return texts with this number of different words."""
    words = [f"word{i}" for i in range(n_words)]
    texts = [f"{words[i % n_words]} {words[i % 3]}" for i in range(_N_SAMPLES)]
    return [" ".join(words), *texts[1:]], np.arange(_N_SAMPLES) % 3


def _make_counts(n_features: int) -> tuple[sp.csr_matrix, Any]:
    """Return counts with duplicate samples, and features that are present in most samples."""
    rng = np.random.default_rng(0)
    y = np.arange(_N_SAMPLES) % 3
    X = np.zeros((_N_SAMPLES, n_features), np.float32)
    X[:, :20] = rng.poisson(0.3 + 2.0 * (np.arange(20) % 5 == y[:, None]))
    X[-1] = X[0]
    return sp.csr_matrix(X), y
