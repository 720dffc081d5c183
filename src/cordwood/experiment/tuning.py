"""Tuning: the best parameters of a grid, found within the training rows.

The same answer as scikit-learn's `GridSearchCV`, but words are counted once for all candidates
which prepare them alike, and out-of-bag scores do where a learner has them.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import ParameterGrid
from sklearn.pipeline import Pipeline

from cordwood.text.corpus import Corpus, Matrix
from cordwood.workflow import score

Build = Callable[[Mapping[str, Any]], Pipeline]
Division = tuple[NDArray[np.intp], NDArray[np.intp]]


class Choice(NamedTuple):
    """The best of the candidates.

    Parameters
    ----------
    params : dict
        Its parameters.
    score : float
        Its score within the training rows: the mean over folds, or the out-of-bag score.
    """

    params: dict[str, Any]
    score: float


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
    return _best(candidates, scores.mean(axis=1))


def has_out_of_bag_score(pipeline: Pipeline) -> bool:
    """Tell whether a pipeline's classifier, as it is set, can score itself out of bag."""
    params = pipeline[-1].get_params()
    return "oob_score" in params and bool(params.get("bootstrap", True))


def choose_out_of_bag(
    build: Build, grid: Mapping[str, Sequence[Any]], rows: Corpus | Matrix, metric: str
) -> Choice:
    """Choose the parameters with the best out-of-bag score, from one fit for each candidate.

    Rows that no tree has left out count for nothing. The other parameters are those of
    `choose_by_folds`.
    """
    candidates = list(ParameterGrid(dict(grid)))
    labels = np.asarray(rows.labels)
    scores = np.empty(len(candidates))
    for positions, prepare in _group(build, candidates):
        X = prepare.fit(rows)
        for position in positions:
            classifier = build(candidates[position])[-1].set_params(oob_score=True).fit(X, labels)
            votes = classifier.oob_decision_function_
            # Ours are NaN for such rows, scikit-learn's are zero.
            known = votes.sum(axis=1) > 0
            scores[position] = _score(labels[known], votes[known], classifier.classes_, metric)
    return _best(candidates, scores)


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


def _best(candidates: Sequence[dict[str, Any]], scores: NDArray[np.float64]) -> Choice:
    best = int(np.argmax(scores))
    return Choice(candidates[best], float(scores[best]))
