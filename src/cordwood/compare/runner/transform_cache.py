"""Preparation: what comes before a classifier, done once for all who want the same.

Learners of a plan mostly prepare the same rows in the same way. What was made last is kept in this
process, up to a certain size, with the seconds that it took, so that the times of learning and
answering can be told as if it had been made anew.
"""

from collections import OrderedDict
from collections.abc import Hashable
from typing import Any, NamedTuple

import numpy as np
from sklearn.pipeline import Pipeline

from cordwood.compare.runner.resources import Seconds, timed
from cordwood.datasets.corpus import Corpus, FeatureMatrix

_MOST_BYTES = 256_000_000


class Prepared(NamedTuple):
    """Rows as a classifier takes them.

    Parameters
    ----------
    X, X_asked : array or sparse matrix
        The rows to learn from and those to ask about; None if there are no such.
    fitting, applying : Seconds
        What they took when they were made.
    """

    X: Any
    X_asked: Any
    fitting: Seconds
    applying: Seconds

    @property
    def n_bytes(self) -> int:
        """Their size."""
        return _count_bytes(self.X) + _count_bytes(self.X_asked)


_kept: OrderedDict[Hashable, Prepared] = OrderedDict()


def prepare(
    pipeline: Pipeline, learnt: Corpus | FeatureMatrix, asked: Corpus | FeatureMatrix | None = None
) -> Prepared:
    """Fit the steps before a pipeline's classifier, of which there may be none, and apply them.

    Parameters
    ----------
    pipeline : Pipeline
        Unfitted; its last step is not looked at.
    learnt : Corpus or FeatureMatrix
        Labelled rows to fit the steps on.
    asked : Corpus or FeatureMatrix, optional
        Further ones.

    Returns
    -------
    Prepared
        The same as from an earlier call that was about the same.
    """
    if len(pipeline) == 1:
        return _make(pipeline, learnt, asked)
    name = _name(pipeline, learnt, asked)
    if name in _kept:
        _kept.move_to_end(name)
        return _kept[name]
    made = _make(pipeline, learnt, asked)
    _kept[name] = made
    while sum(prepared.n_bytes for prepared in _kept.values()) > _MOST_BYTES:
        _kept.popitem(last=False)
    return made


def forget() -> None:
    """Give back the memory of all that is kept."""
    _kept.clear()


def content(rows: Corpus | FeatureMatrix) -> Any:
    """Give the texts or the numbers of rows."""
    return rows.texts if isinstance(rows, Corpus) else rows.X


def _make(
    pipeline: Pipeline, learnt: Corpus | FeatureMatrix, asked: Corpus | FeatureMatrix | None
) -> Prepared:
    steps = pipeline[:-1] if len(pipeline) > 1 else None
    with timed() as fitting:
        X = content(learnt)
        if steps is not None:
            X = steps.fit_transform(X, np.asarray(learnt.labels))
    with timed() as applying:
        X_asked = None if asked is None else content(asked)
        if steps is not None and asked is not None:
            X_asked = steps.transform(X_asked)
    return Prepared(X, X_asked, fitting, applying)


def _name(
    pipeline: Pipeline, learnt: Corpus | FeatureMatrix, asked: Corpus | FeatureMatrix | None
) -> Hashable:
    """Tell all that the steps can depend on."""
    steps = tuple(
        repr((type(step), sorted(step.get_params().items()))) for _, step in pipeline.steps[:-1]
    )
    return steps, _identity(learnt), None if asked is None else _identity(asked)


def _identity(rows: Corpus | FeatureMatrix) -> Hashable:
    # Texts by themselves: a string remembers its hash, and selections share their strings, so that
    # this costs a unit next to nothing, where a digest costs as much as a twentieth of its work.
    if isinstance(rows, Corpus):
        return rows.texts, rows.labels
    return rows.fingerprint()


def _count_bytes(X: Any) -> int:
    if X is None:
        return 0
    arrays = (X.data, X.indices, X.indptr) if hasattr(X, "indptr") else (np.asarray(X),)
    return sum(int(array.nbytes) for array in arrays)
