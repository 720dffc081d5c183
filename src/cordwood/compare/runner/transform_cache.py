"""In-process LRU cache of transformed data: the output of the steps before the classifier.

Most learners of a plan transform the same samples in the same way. The latest results are cached,
up to a total size, together with the time they took, so that reported times are the same whether
the data come from the cache or not.
"""

from collections import OrderedDict
from collections.abc import Hashable
from typing import Any, NamedTuple

import numpy as np
from sklearn.pipeline import Pipeline

from cordwood._base.resources import Timing, timer
from cordwood.compare.runner.trial_scores import make_target
from cordwood.datasets.corpus import Corpus, FeatureMatrix

_MAX_BYTES = 256_000_000


class TransformedData(NamedTuple):
    """Training and test samples as the classifier receives them."""

    X_train: Any
    X_test: Any  # or None
    fit_timing: Timing  # of the training samples
    transform_timing: Timing  # of the test samples

    @property
    def n_bytes(self) -> int:
        """Size of both arrays."""
        return _count_bytes(self.X_train) + _count_bytes(self.X_test)


_cache: OrderedDict[Hashable, TransformedData] = OrderedDict()


def fit_transform(
    pipeline: Pipeline, train: Corpus | FeatureMatrix, test: Corpus | FeatureMatrix | None = None
) -> TransformedData:
    """Fit the transformers of a pipeline and transform the training and test samples."""
    if len(pipeline) == 1:
        return _fit_transform(pipeline, train, test)
    key = _make_key(pipeline, train, test)
    if key in _cache:
        _cache.move_to_end(key)
        return _cache[key]
    result = _fit_transform(pipeline, train, test)
    _cache[key] = result
    while sum(data.n_bytes for data in _cache.values()) > _MAX_BYTES:
        _cache.popitem(last=False)
    return result


def clear() -> None:
    """Empty the cache."""
    _cache.clear()


def get_inputs(data: Corpus | FeatureMatrix) -> Any:
    """Return the texts of a corpus, or the matrix of a feature matrix."""
    return data.texts if isinstance(data, Corpus) else data.X


def _fit_transform(
    pipeline: Pipeline, train: Corpus | FeatureMatrix, test: Corpus | FeatureMatrix | None
) -> TransformedData:
    transformers = pipeline[:-1] if len(pipeline) > 1 else None
    with timer() as fit_timing:
        X_train = get_inputs(train)
        if transformers is not None:
            X_train = transformers.fit_transform(X_train, make_target(train))
    with timer() as transform_timing:
        X_test = None if test is None else get_inputs(test)
        if transformers is not None and test is not None:
            X_test = transformers.transform(X_test)
    return TransformedData(X_train, X_test, fit_timing, transform_timing)


def _make_key(
    pipeline: Pipeline, train: Corpus | FeatureMatrix, test: Corpus | FeatureMatrix | None
) -> Hashable:
    transformers = tuple(
        repr((type(step), sorted(step.get_params().items()))) for _, step in pipeline.steps[:-1]
    )
    return transformers, _identify(train), None if test is None else _identify(test)


def _identify(data: Corpus | FeatureMatrix) -> Hashable:
    # Texts themselves, not a digest: strings cache their hash, and subsets of a corpus share their
    # strings, so a lookup is almost free, while a digest takes up to 5 % of the time of a trial.
    if isinstance(data, Corpus):
        return data.texts, data.labels
    return data.fingerprint()


def _count_bytes(X: Any) -> int:
    if X is None:
        return 0
    arrays = (X.data, X.indices, X.indptr) if hasattr(X, "indptr") else (np.asarray(X),)
    return sum(int(array.nbytes) for array in arrays)
