"""Tuning: the best parameters of a grid, found within the training rows.

The same answer as scikit-learn's `GridSearchCV`, but words are counted once for all candidates
which prepare them alike, and a learner's own votes for its training rows do where it has them:
out-of-bag those of bagged trees, leave-one-out those of lazy learners.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import ParameterGrid
from sklearn.pipeline import Pipeline

from cordwood.text.corpus import Corpus, Matrix
from cordwood.workflow import score

Build = Callable[[Mapping[str, Any]], Pipeline]
Division = tuple[NDArray[np.intp], NDArray[np.intp]]
Kind = Literal["cv", "oob", "loo"]
"""By what candidates are told apart: folds, out-of-bag votes, leave-one-out votes."""


class Choice(NamedTuple):
    """The best of the candidates.

    Parameters
    ----------
    params : dict
        Its parameters.
    score : float or None
        Its score within the training rows: the mean over folds, or that of the learner's own
        votes; None where there was nothing to choose.
    kind : {"cv", "oob", "loo"} or None
        By what it was told from the others.
    """

    params: dict[str, Any]
    score: float | None
    kind: Kind | None


def choose_by_folds(
    build: Build,
    grid: Mapping[str, Sequence[Any]],
    rows: Corpus | Matrix,
    divisions: Sequence[Division],
    metric: str,
) -> Choice:
    """Choose the parameters that score best in cross-validation.

    Parameters
    ----------
    build : callable
        Makes an unfitted pipeline from parameters.
    grid : mapping of str to sequence
        Values of each parameter, by its full name.
    rows : Corpus or Matrix
        What to learn from.
    divisions : sequence of (ndarray, ndarray)
        Positions of the rows to learn from and of those to score, for each fold.
    metric : {"micro_f1", "macro_f1"}
        What to choose by.

    Returns
    -------
    Choice
        The first among equals, in the order of scikit-learn's `ParameterGrid`.
    """
    candidates = list(ParameterGrid(dict(grid)))
    scores = np.empty((len(candidates), len(divisions)))
    for fold, (train, test) in enumerate(divisions):
        learnt, asked = rows.select(train), rows.select(test)
        for positions, prepare in _group(build, candidates):
            X = prepare.fit(learnt)
            X_asked = prepare.apply(asked)
            for position in positions:
                classifier = build(candidates[position])[-1].fit(X, np.asarray(learnt.labels))
                votes = classifier.predict_proba(X_asked)
                scores[position, fold] = _score(asked.labels, votes, classifier.classes_, metric)
    return _best(candidates, scores.mean(axis=1), "cv")


def resolve_kind(
    kind: Kind | Literal["auto"],
    build: Build,
    grid: Mapping[str, Sequence[Any]],
    *,
    grouped: bool = False,
) -> Kind:
    """Find out by what a learner's candidates can be told apart.

    Parameters
    ----------
    kind : {"cv", "oob", "loo", "auto"}
        What was asked for.
    build, grid
        As for `choose_by_folds`.
    grouped : bool, default=False
        Whether rows come in groups. A row's own score is told with the rest of its group at hand,
        so "auto" then keeps to folds, which keep groups together.

    Returns
    -------
    {"cv", "oob", "loo"}
        "oob" or "loo", asked for or found by "auto", if every candidate has such a score, because
        scores of different kinds do not compare; otherwise "cv".

    Examples
    --------
    >>> from cordwood import recipes
    >>> forest = lambda params: recipes.make("rf", **params)
    >>> resolve_kind("auto", forest, {"classifier__max_depth": [3, None]})
    'oob'
    >>> resolve_kind("auto", forest, {"classifier__bootstrap": [True, False]})
    'cv'
    """
    if kind == "cv" or (kind == "auto" and grouped):
        return "cv"
    learners = [build(candidate)[-1] for candidate in ParameterGrid(dict(grid))]
    if kind in ("oob", "auto") and all(map(_has_out_of_bag_votes, learners)):
        return "oob"
    if kind in ("loo", "auto") and all(map(_has_leave_one_out_votes, learners)):
        return "loo"
    return "cv"


def choose_by_own_votes(
    kind: Literal["oob", "loo"],
    build: Build,
    grid: Mapping[str, Sequence[Any]],
    rows: Corpus | Matrix,
    metric: str,
) -> Choice:
    """Choose the parameters that score best by each learner's own votes for its training rows.

    Parameters
    ----------
    kind : {"oob", "loo"}
        Out-of-bag votes, from `oob_decision_function_`, or leave-one-out votes, from
        `loo_decision_function()`. Rows without votes, which no tree has left out or whose
        neighbours tell nothing, count for nothing.
    build, grid, rows, metric
        As for `choose_by_folds`.

    Returns
    -------
    Choice
        The first among equals, in the order of scikit-learn's `ParameterGrid`.
    """
    candidates = list(ParameterGrid(dict(grid)))
    labels = np.asarray(rows.labels)
    scores = np.zeros(len(candidates))
    for positions, prepare in _group(build, candidates):
        X = prepare.fit(rows)
        for position in positions:
            classifier = build(candidates[position])[-1]
            votes = _OWN_VOTES[kind](classifier, X, labels)
            # Ours are NaN for rows without votes, scikit-learn's are zero.
            known = votes.sum(axis=1) > 0
            if known.any():
                scores[position] = _score(labels[known], votes[known], classifier.classes_, metric)
    return _best(candidates, scores, kind)


def _has_out_of_bag_votes(classifier: Any) -> bool:
    params = classifier.get_params()
    return "oob_score" in params and bool(params.get("bootstrap", True))


def _vote_out_of_bag(classifier: Any, X: Any, labels: NDArray[Any]) -> NDArray[Any]:
    fitted = classifier.set_params(oob_score=True).fit(X, labels)
    return np.asarray(fitted.oob_decision_function_)


def _has_leave_one_out_votes(classifier: Any) -> bool:
    return hasattr(classifier, "loo_decision_function")


def _leave_one_out(classifier: Any, X: Any, labels: NDArray[Any]) -> NDArray[Any]:
    return np.asarray(classifier.fit(X, labels).loo_decision_function())


_OWN_VOTES: Mapping[str, Callable[[Any, Any, NDArray[Any]], NDArray[Any]]] = {
    "oob": _vote_out_of_bag,
    "loo": _leave_one_out,
}


class _Preparation:
    """The steps of a pipeline before its classifier, which may be none."""

    def __init__(self, pipeline: Pipeline) -> None:
        self._steps = pipeline[:-1] if len(pipeline) > 1 else None

    def fit(self, rows: Corpus | Matrix) -> Any:
        X = _content(rows)
        return X if self._steps is None else self._steps.fit_transform(X, np.asarray(rows.labels))

    def apply(self, rows: Corpus | Matrix) -> Any:
        X = _content(rows)
        return X if self._steps is None else self._steps.transform(X)


def _group(
    build: Build, candidates: Sequence[Mapping[str, Any]]
) -> Iterator[tuple[list[int], _Preparation]]:
    """Bring together the candidates that differ in nothing but the classifier."""
    groups: dict[str, list[int]] = {}
    for position, candidate in enumerate(candidates):
        own = {param: candidate[param] for param in candidate if not _is_classifiers(param)}
        groups.setdefault(json.dumps(own, sort_keys=True), []).append(position)
    for positions in groups.values():
        yield positions, _Preparation(build(candidates[positions[0]]))


def _is_classifiers(param: str) -> bool:
    return param.startswith("classifier__")


def _content(rows: Corpus | Matrix) -> Any:
    return rows.texts if isinstance(rows, Corpus) else rows.X


def _score(truth: Any, votes: NDArray[Any], classes: NDArray[Any], metric: str) -> float:
    predicted = classes[np.argmax(votes, axis=1)].tolist()
    return float(getattr(score(list(truth), predicted, classes.tolist()), metric))


def _best(candidates: Sequence[dict[str, Any]], scores: NDArray[np.float64], kind: Kind) -> Choice:
    best = int(np.argmax(scores))
    return Choice(candidates[best], float(scores[best]), kind)
