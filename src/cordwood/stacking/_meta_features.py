"""Meta-features: what members of a stack say of training rows that they have not learnt from."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, softmax
from sklearn.base import clone
from sklearn.utils.validation import has_fit_parameter

from cordwood._sklearn import take_rows
from cordwood.stacking._parallel import carry_out

Fold = tuple[NDArray[np.intp], NDArray[np.intp]]


class Lesson(NamedTuple):
    """What members learn, beside the rows, which each of them sees in its own way.

    Parameters
    ----------
    y : array of shape (n_rows,)
    weights : array of shape (n_rows,) or None
    groups : array of shape (n_rows,) or None
    classes : array of shape (n_classes,)
    folds : list of (ndarray, ndarray)
        Positions of the rows to learn from and of those to answer.
    """

    y: NDArray[Any]
    weights: NDArray[np.float64] | None
    groups: Any
    classes: NDArray[Any]
    folds: list[Fold]


class Learnt(NamedTuple):
    """What members came to.

    Parameters
    ----------
    models : list of estimators
        Fitted on all rows.
    sources : list of {"loo", "oob", "cv"}
        Where their answers come from.
    answers : list of arrays of shape (n_rows, n_classes)
        To rows that they have not learnt from; NaN where there is none.
    """

    models: list[Any]
    sources: list[str]
    answers: list[NDArray[np.float64]]


def learn(
    members: Sequence[Any],
    seen: Sequence[Any],
    lesson: Lesson,
    *,
    trust: Sequence[str],
    remember: Callable[..., Any],
    n_jobs: int | None,
) -> Learnt:
    """Fit every member on all rows, and find what it says of each without having seen it.

    Parameters
    ----------
    members : sequence of estimators
    seen : sequence
        The rows as each member sees them.
    lesson : Lesson
    trust : sequence of {"none", "honest", "all"}
        For each member, which of its own answers to take; see `find_source`.
    remember : callable
        Makes a function that does nothing twice of one that does.
    n_jobs : int or None
        How many fits go side by side.
    """
    y, weights, groups, classes, folds = lesson
    fit, read, answer = map(remember, (fit_member, read_rows, answer_fold))
    sources = [
        find_source(member, of_member, grouped=groups is not None)
        for member, of_member in zip(members, trust, strict=True)
    ]
    refits = [(i, fold) for i, source in enumerate(sources) if source == "cv" for fold in folds]
    fits = [
        (member, partial(fit, member, X, y, weights, groups))
        for member, X in zip(members, seen, strict=True)
    ]
    answered = [
        (members[i], partial(answer, members[i], seen[i], y, weights, fold, classes))
        for i, fold in refits
    ]
    # All at once, so that no thread waits between the fits to all rows and those to folds.
    done = carry_out([*fits, *answered], n_jobs)
    models = done[: len(fits)]
    answers = [
        read(model, source, groups, classes)
        if source != "cv"
        else np.full((len(y), len(classes)), np.nan)
        for model, source in zip(models, sources, strict=True)
    ]
    for (i, (_, test)), rows in zip(refits, done[len(fits) :], strict=True):
        answers[i][test] = rows
    return Learnt(models, sources, answers)


def fit_member(
    estimator: Any, X: Any, y: Any, weights: NDArray[np.float64] | None, groups: Any = None
) -> Any:
    """Fit a copy of a member, such that it has rows out of bag if it can."""
    model = clone(estimator)
    if _can_keep_bags(model) and not model.get_params(deep=False)["oob_score"]:
        model.set_params(oob_score=True)
    given = {"sample_weight": weights, "groups": groups}
    taken = {
        name: value
        for name, value in given.items()
        if value is not None and has_fit_parameter(model, name)
    }
    return model.fit(X, y, **taken)


def find_source(estimator: Any, trust: str, *, grouped: bool) -> str:
    """Decide where the rows of a member come from, before it is fitted: the one place that does.

    A member may say itself, by `oob_is_unbiased_`, that its rows out of bag are worse than what it
    says of new ones; then they are taken only if `trust` is "all", not if it is "honest". And most
    bags do not know of groups: a row's copy may be in the bag that the row is not in. With groups,
    therefore, only what can leave a group out is trusted.
    """
    if trust == "none":
        return "cv"
    if hasattr(estimator, "loo_decision_function"):
        return "loo"
    keeps_bags = hasattr(type(estimator), "oob_decision_function_") or _can_keep_bags(estimator)
    is_honest = getattr(estimator, "oob_is_unbiased_", True)
    if grouped:
        is_trusted = is_honest and has_fit_parameter(estimator, "groups")
    else:
        is_trusted = is_honest or trust == "all"
    return "oob" if keeps_bags and is_trusted else "cv"


def _can_keep_bags(estimator: Any) -> bool:
    """Tell whether a member gives rows out of bag if it is asked to."""
    params = estimator.get_params(deep=False)
    return "oob_score" in params and bool(params.get("bootstrap", True))


def read_rows(model: Any, source: str, groups: Any, classes: NDArray[Any]) -> NDArray[np.float64]:
    """Take the rows that a member has of itself; NaN for those that it knows nothing of."""
    if source == "loo":
        rows = model.loo_decision_function(groups=groups)
    else:
        rows = np.array(model.oob_decision_function_, np.float64)
        rows[~(rows.sum(axis=1) > 0)] = np.nan
    return align(rows, model.classes_, classes)


def answer_fold(
    estimator: Any,
    X: Any,
    y: NDArray[Any],
    weights: NDArray[np.float64] | None,
    fold: Fold,
    classes: NDArray[Any],
) -> NDArray[np.float64]:
    """Answer the rows of a fold by a copy of the member that is fitted on the others."""
    train, test = fold
    if len(np.unique(y[train])) == 1:  # many classifiers refuse to learn that there is one answer
        return align(np.ones((len(test), 1)), y[train[:1]], classes)
    model = fit_member(
        estimator, take_rows(X, train), y[train], None if weights is None else weights[train]
    )
    return ask(model, take_rows(X, test), classes)


def ask(model: Any, X: Any, classes: NDArray[Any]) -> NDArray[np.float64]:
    """Ask a fitted member for probabilities, one column for each of `classes`.

    The scores of one without probabilities go through the logistic function.
    """
    if hasattr(model, "predict_proba"):
        answers = np.asarray(model.predict_proba(X))
    elif hasattr(model, "decision_function"):
        scores = np.asarray(model.decision_function(X))
        answers = (
            softmax(scores, axis=1)
            if scores.ndim == 2
            else np.column_stack([expit(-scores), expit(scores)])
        )
    else:
        answers = np.asarray(model.predict(X))[:, None] == model.classes_
    return align(answers, model.classes_, classes)


def align(answers: NDArray[Any], of: NDArray[Any], classes: NDArray[Any]) -> NDArray[np.float64]:
    """Put columns of some classes in their places among all; those of the others are zero.

    Examples
    --------
    >>> align(np.array([[0.25, 0.75]]), np.array(["b", "c"]), np.array(["a", "b", "c"]))
    array([[0.  , 0.25, 0.75]])
    """
    placed = np.zeros((len(answers), len(classes)))
    placed[:, np.searchsorted(classes, of)] = answers
    return placed


def fill(rows: NDArray[np.float64], prior: NDArray[np.float64]) -> tuple[NDArray[np.float64], int]:
    """Put the classes' shares where a member knows nothing; tell in how many rows.

    In a copy, because what a member came to may be kept for other stacks.
    """
    unknown = np.asarray(np.isnan(rows).any(axis=1))
    return np.where(unknown[:, None], prior, rows), int(unknown.sum())
