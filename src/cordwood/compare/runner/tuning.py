"""Tuning: the best parameters of a grid, found within the training rows.

The same answer as scikit-learn's `GridSearchCV`, but words are counted once for all candidates
which prepare them alike, and a learner's own votes for its training rows do where it has them:
out-of-bag those of bagged trees, leave-one-out those of lazy learners.

The F1 of one category is that of the votes of all folds together. Its mean over folds would be
moved most by those which hold none of a rare category [1]_.

References
----------
.. [1] Forman, Scholz (2010). Apples-to-apples in cross-validation studies: pitfalls in classifier
   performance measurement. SIGKDD Explorations 12.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import ParameterGrid
from sklearn.pipeline import Pipeline

from cordwood.api import score
from cordwood.compare.runner.cv_splits import Split, shrink
from cordwood.compare.runner.thresholds import HALF, category_scores, find_threshold, take_votes
from cordwood.compare.runner.transform_cache import prepare
from cordwood.datasets.corpus import Corpus, FeatureMatrix

Build = Callable[[Mapping[str, Any]], Pipeline]
Division = tuple[NDArray[np.intp], NDArray[np.intp]]
Kind = Literal["cv", "oob", "loo", "test"]
"""By what candidates are told apart: folds, out-of-bag or leave-one-out votes, the test rows."""


class Choice(NamedTuple):
    """The best of the candidates.

    Parameters
    ----------
    params : dict
        Its parameters.
    score : float or None
        Its score within the training rows: the mean over folds, or that of the learner's own
        votes; None where there was nothing to choose.
    kind : {"cv", "oob", "loo", "test"} or None
        By what it was told from the others.
    threshold : float or None
        The probability from which on a row is of the category, where it was sought.
    """

    params: dict[str, Any]
    score: float | None
    kind: Kind | None
    threshold: float | None = None


class Aim(NamedTuple):
    """What candidates are judged by.

    Parameters
    ----------
    metric : {"micro_f1", "macro_f1", "f1"}
        The score.
    category : str, optional
        The class that "f1" is about.
    threshold : bool
        Whether each candidate is judged at the threshold that is best for it.
    """

    metric: str
    category: str | None = None
    threshold: bool = False


def choose_by_folds(
    build: Build,
    grid: Mapping[str, Sequence[Any]],
    rows: Corpus | FeatureMatrix,
    divisions: Sequence[Division],
    aim: Aim,
) -> Choice:
    """Choose the parameters that score best in cross-validation.

    Parameters
    ----------
    build : callable
        Makes an unfitted pipeline from parameters.
    grid : mapping of str to sequence
        Values of each parameter, by its full name.
    rows : Corpus or FeatureMatrix
        What to learn from.
    divisions : sequence of (ndarray, ndarray)
        Positions of the rows to learn from and of those to score, for each fold.
    aim : Aim
        What to choose by.

    Returns
    -------
    Choice
        The first among equals, in the order of scikit-learn's `ParameterGrid`.
    """
    candidates = list(ParameterGrid(dict(grid)))
    scores = np.empty((len(candidates), len(divisions)))
    pooled = np.empty((len(candidates), len(rows)))  # the category's votes, where it is about one
    for fold, (train, test) in enumerate(divisions):
        learnt, asked = rows.select(train), rows.select(test)
        for position, votes, classes in _vote(build, candidates, learnt, asked):
            if aim.metric == "f1":
                pooled[position, test] = take_votes(votes, classes, aim.category)
            else:
                scores[position, fold] = _score(asked.labels, votes, classes, aim)
    if aim.metric != "f1":
        return _best(candidates, scores.mean(axis=1), "cv")
    return _choose_pooled(candidates, np.asarray(rows.labels) == aim.category, pooled, aim)


def _choose_pooled(
    candidates: Sequence[dict[str, Any]],
    truth: NDArray[np.bool_],
    pooled: NDArray[np.float64],
    aim: Aim,
) -> Choice:
    """Choose by the category's votes of all folds together."""
    thresholds = [find_threshold(truth, votes) if aim.threshold else HALF for votes in pooled]
    scores = [
        category_scores(truth, votes > threshold).f1
        for votes, threshold in zip(pooled, thresholds, strict=True)
    ]
    best = _best(candidates, np.array(scores), "cv")
    if not aim.threshold:
        return best
    return best._replace(threshold=thresholds[int(np.argmax(scores))])


def choose_by_test(
    build: Build,
    grid: Mapping[str, Sequence[Any]],
    learnt: Corpus | FeatureMatrix,
    asked: Corpus | FeatureMatrix,
    aim: Aim,
) -> Choice:
    """Choose the parameters that score best on the very rows that are asked about.

    No result, but an upper bound of what any choice of parameters could reach.

    Parameters
    ----------
    build, grid, aim
        As for `choose_by_folds`, without a threshold.
    learnt, asked : Corpus or FeatureMatrix
        Training rows and test rows.
    """
    candidates = list(ParameterGrid(dict(grid)))
    scores = np.empty(len(candidates))
    for position, votes, classes in _vote(build, candidates, learnt, asked):
        scores[position] = _score(asked.labels, votes, classes, aim)
    return _best(candidates, scores, "test")


def resolve_kind(
    kind: Literal["cv", "oob", "loo", "auto"],
    build: Build,
    grid: Mapping[str, Sequence[Any]],
    *,
    grouped: bool = False,
) -> Literal["cv", "oob", "loo"]:
    """Find out by what a learner's candidates can be told apart.

    Parameters
    ----------
    kind : {"cv", "oob", "loo", "auto"}
        What was asked for.
    build, grid
        As for `choose_by_folds`.
    grouped : bool, default=False
        Whether rows come in groups. Out of bag, a row is judged by trees that know the rest of its
        group, so "auto" then keeps to folds and to leave-one-out votes, which know groups.

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
    if kind == "cv":
        return "cv"
    learners = [build(candidate)[-1] for candidate in ParameterGrid(dict(grid))]
    if (kind == "oob" or (kind == "auto" and not grouped)) and all(
        map(_has_out_of_bag_votes, learners)
    ):
        return "oob"
    if kind in ("loo", "auto") and all(map(_has_leave_one_out_votes, learners)):
        return "loo"
    return "cv"


def sample_rows(
    rows: Corpus | FeatureMatrix, n_most: int | None, seed: int
) -> NDArray[np.intp] | None:
    """Draw rows to tune by, from each class alike.

    Parameters
    ----------
    rows : Corpus or FeatureMatrix
        What is learnt from.
    n_most : int or None
        How many to draw.
    seed : int
        The plan's.

    Returns
    -------
    ndarray or None
        Their positions in rising order, as `cordwood.compare.runner.cv_splits.shrink` keeps rows: a
        greater sample contains the smaller ones. None if it takes all rows.

    Examples
    --------
    >>> corpus = Corpus(texts=("",) * 6, ids=tuple("123456"), labels=tuple("aaaabb"))
    >>> [corpus.labels[row] for row in sample_rows(corpus, 3, seed=0)]
    ['a', 'a', 'b']
    """
    if n_most is None or n_most >= len(rows):
        return None
    everything = Split(np.arange(len(rows)), np.arange(0))
    return shrink(rows, everything, n_most / len(rows), seed).train


def choose_by_own_votes(
    kind: Literal["oob", "loo"],
    build: Build,
    grid: Mapping[str, Sequence[Any]],
    rows: Corpus | FeatureMatrix,
    aim: Aim,
    asked: NDArray[np.intp] | None = None,
    *,
    grouped: bool = False,
) -> Choice:
    """Choose the parameters that score best by each learner's own votes for its training rows.

    Parameters
    ----------
    kind : {"oob", "loo"}
        Out-of-bag votes, from `oob_decision_function_`, or leave-one-out votes, from
        `loo_decision_function()`. Rows without votes, which no tree has left out or whose
        neighbours tell nothing, count for nothing.
    build, grid, rows, aim
        As for `choose_by_folds`, without a threshold.
    asked : ndarray, optional
        Positions of the rows whose votes are asked for; all rows, by default. Learners are
        fitted to all of them in any case.
    grouped : bool, default=False
        Whether the rest of its group is left out with a row, among leave-one-out votes.

    Returns
    -------
    Choice
        The first among equals, in the order of scikit-learn's `ParameterGrid`.
    """
    candidates = list(ParameterGrid(dict(grid)))
    labels = np.asarray(rows.labels)
    asked = np.arange(len(rows)) if asked is None else asked
    groups = rows.groups if grouped else None
    scores = np.zeros(len(candidates))
    for positions in _group(candidates):
        X = prepare(build(candidates[positions[0]]), rows).X
        for position in positions:
            classifier = build(candidates[position])[-1]
            if kind == "oob":
                votes = _vote_out_of_bag(classifier, X, labels)[asked]
            else:
                votes = _leave_one_out(classifier, X, labels, groups, asked)
            # Ours are NaN for rows without votes, scikit-learn's are zero.
            known = votes.sum(axis=1) > 0
            if known.any():
                truth = labels[asked[known]]
                scores[position] = _score(truth, votes[known], classifier.classes_, aim)
    return _best(candidates, scores, kind)


def _has_out_of_bag_votes(classifier: Any) -> bool:
    params = classifier.get_params()
    return "oob_score" in params and bool(params.get("bootstrap", True))


def _vote_out_of_bag(classifier: Any, X: Any, labels: NDArray[Any]) -> NDArray[Any]:
    fitted = classifier.set_params(oob_score=True).fit(X, labels)
    return np.asarray(fitted.oob_decision_function_)


def _has_leave_one_out_votes(classifier: Any) -> bool:
    return hasattr(classifier, "loo_decision_function")


def _leave_one_out(
    classifier: Any, X: Any, labels: NDArray[Any], groups: Any, asked: NDArray[np.intp]
) -> NDArray[Any]:
    # To fit a lazy learner is to store its rows, which takes little beside its votes.
    return np.asarray(classifier.fit(X, labels).loo_decision_function(groups, asked))


def _vote(
    build: Build,
    candidates: Sequence[Mapping[str, Any]],
    learnt: Corpus | FeatureMatrix,
    asked: Corpus | FeatureMatrix,
) -> Iterator[tuple[int, NDArray[Any], NDArray[Any]]]:
    """Yield each candidate's position, its votes for rows that it has not seen, and the classes."""
    labels = np.asarray(learnt.labels)
    for positions in _group(candidates):
        prepared = prepare(build(candidates[positions[0]]), learnt, asked)
        for position in positions:
            classifier = build(candidates[position])[-1].fit(prepared.X, labels)
            yield position, classifier.predict_proba(prepared.X_asked), classifier.classes_


def _group(candidates: Sequence[Mapping[str, Any]]) -> Iterator[list[int]]:
    """Bring together the candidates that differ in nothing but the classifier."""
    groups: dict[str, list[int]] = {}
    for position, candidate in enumerate(candidates):
        own = {param: candidate[param] for param in candidate if not _is_classifiers(param)}
        groups.setdefault(json.dumps(own, sort_keys=True), []).append(position)
    yield from groups.values()


def _is_classifiers(param: str) -> bool:
    return param.startswith("classifier__")


def _score(truth: Any, votes: NDArray[Any], classes: NDArray[Any], aim: Aim) -> float:
    predicted = classes[np.argmax(votes, axis=1)]
    if aim.metric == "f1":
        return category_scores(np.asarray(truth) == aim.category, predicted == aim.category).f1
    return float(getattr(score(list(truth), predicted.tolist(), classes.tolist()), aim.metric))


def _best(candidates: Sequence[dict[str, Any]], scores: NDArray[np.float64], kind: Kind) -> Choice:
    best = int(np.argmax(scores))
    return Choice(candidates[best], float(scores[best]), kind)
