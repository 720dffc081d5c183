"""Views: what the members of a stack see of the rows, each made once however many members share it.

A member that is a pipeline sees rows through its first steps. Members whose first steps are alike,
such as two forests on the same counts of words, share them.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.pipeline import Pipeline
from sklearn.utils import get_tags

# Steps of preparation by name, as in a pipeline; none where members see the rows as they are.
View: TypeAlias = list[tuple[str, Any]]


class Seats(NamedTuple):
    """Where the members of a stack look from.

    Parameters
    ----------
    views : list of View
        Fitted.
    rows : list
        The training rows through each view.
    places : list of int
        For each member, which view is its own.
    rests : list of estimators
        For each member, what is left of it behind its view; not fitted.
    """

    views: list[View]
    rows: list[Any]
    places: list[int]
    rests: list[Any]


def seat(members: Sequence[Any], X: Any, remember: Callable[..., Any] = lambda f: f) -> Seats:
    """Fit each distinct view of the members on the training rows, without their labels.

    So that it can tell nothing of the label of any row. A pipeline with a step that needs labels
    stays whole behind the rows as they are, and is fitted anew in every fold.

    Parameters
    ----------
    members : sequence of estimators
    X : rows of any kind
    remember : callable, optional
        Makes a function that does nothing twice of one that does.

    Examples
    --------
    >>> from sklearn.feature_extraction.text import CountVectorizer
    >>> from sklearn.naive_bayes import MultinomialNB
    >>> member = Pipeline([("words", CountVectorizer()), ("bayes", MultinomialNB())])
    >>> seats = seat([member, member], ["to be", "or not to be"])
    >>> len(seats.views), seats.places, seats.rests[0]
    (1, [0, 0], MultinomialNB())
    """
    known: list[View] = []
    fitted: list[tuple[View, Any] | None] = []
    fit = remember(fit_view)
    seats = Seats([], [], [], [])
    for member in members:
        steps, rest = _part(member)
        number = next((i for i, view in enumerate(known) if _is_same(view, steps)), len(known))
        if number == len(known):
            known.append(steps)
            fitted.append(fit(steps, X) if steps else ([], X))
        found = fitted[number]
        view, rows = ([], X) if found is None else found
        place = next((i for i, other in enumerate(seats.views) if other is view), len(seats.views))
        if place == len(seats.views):
            seats.views.append(view)
            seats.rows.append(rows)
        seats.places.append(place)
        seats.rests.append(member if found is None else rest)
    return seats


def _part(member: Any) -> tuple[View, Any]:
    """Part a member into its first steps and the rest of it."""
    if not isinstance(member, Pipeline) or member.memory is not None:
        return [], member
    *steps, (_, rest) = [
        (name, step) for name, step in member.steps if step not in (None, "passthrough")
    ]
    return steps, rest


def look(view: View, X: Any) -> Any:
    """Send rows through a fitted view."""
    for _, step in view:
        X = step.transform(X)
    return X


def fit_view(steps: View, X: Any) -> tuple[View, Any] | None:
    """Fit steps without labels; None where that cannot be done."""
    if any(get_tags(step).target_tags.required for _, step in steps):
        return None
    fitted = []
    for name, step in steps:
        copy = clone(step)
        try:
            X = copy.fit_transform(X)
        except (TypeError, ValueError):
            # It may want labels without saying so, as SelectKBest. Whatever else is wrong shows
            # when the member is fitted as a whole.
            return None
        fitted.append((name, copy))
    return fitted, X


def _is_same(a: Any, b: Any) -> bool:
    """Tell whether two values of a parameter mean the same; transformers by their parameters."""
    if type(a) is not type(b):
        return False
    if isinstance(a, BaseEstimator):
        ours, theirs = a.get_params(deep=False), b.get_params(deep=False)
        return ours.keys() == theirs.keys() and all(
            _is_same(ours[name], theirs[name]) for name in ours
        )
    if isinstance(a, np.ndarray):
        return np.array_equal(a, b)
    if isinstance(a, list | tuple):
        return len(a) == len(b) and all(map(_is_same, a, b))
    return bool(a is b or a == b)
