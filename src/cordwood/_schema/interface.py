"""Interfaces: what estimators take and return, so that parts of a model can be compared."""

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

from numpy.typing import NDArray

from cordwood._schema.errors import Rejected


class Interface(NamedTuple):
    """What an estimator takes and returns, as far as it is known."""

    n_features: int | None = None
    takes_text: bool = False
    n_outputs: int | None = None  # columns of `transform`
    norm: float | None = None  # largest Euclidean norm of a row of `transform`
    classes: NDArray[Any] | None = None
    is_multilabel: bool = False
    takes_counts: bool = False
    returns_counts: bool | None = False  # None if it returns counts when it takes counts
    is_fitted: bool | None = None  # None if the class has no schema
    is_table: bool = False  # whether samples are rows of a table
    # Kind of each feature if they are not all numbers: "text", "categorical", "numeric", or None
    # if it is not used.
    input_kinds: tuple[str | None, ...] | None = None
    output_kinds: tuple[str, ...] | None = None


InterfaceOf = Callable[[Any], Interface]


def chain_interface(steps: Sequence[Any], interface_of: InterfaceOf) -> Interface:
    """Return the interface of consecutive steps; raise Rejected if they do not fit together."""
    estimators = [step for step in steps if step is not None and not isinstance(step, str)]
    if not estimators:
        return Interface()
    interfaces = [interface_of(step) for step in estimators]
    returns_counts = None
    for first, second in pairwise(interfaces):
        is_known = first.n_outputs is not None
        if is_known and (second.takes_text or second.n_features not in (None, first.n_outputs)):
            raise Rejected(
                f"has a pipeline in which a step takes {second.n_features or 'texts'} and the one "
                f"before it returns {first.n_outputs} features"
            )
        _check_kinds(first, second)
        if first.classes is not None or (first.is_fitted and not is_known):
            raise Rejected("has a pipeline in which a step before the last is not a transformer")
        if {first.is_fitted, second.is_fitted} == {True, False}:
            raise Rejected("has a pipeline in which only some steps are fitted")
        if first.is_fitted is not None and first.returns_counts is not None:
            returns_counts = first.returns_counts
        if second.takes_counts and returns_counts is False:
            raise Rejected("has a pipeline in which a step takes counts, but gets other numbers")
    first, last = interfaces[0], interfaces[-1]
    if last.classes is not None and steps[-1] is not estimators[-1]:
        raise Rejected("has a pipeline in which a classifier is not the last step")
    return last._replace(
        n_features=first.n_features,
        takes_text=first.takes_text,
        takes_counts=first.takes_counts,
        returns_counts=returns_counts if last.returns_counts is None else last.returns_counts,
        is_table=first.is_table,
        input_kinds=first.input_kinds,
    )


def check_classifier(
    estimator: Any, interface_of: InterfaceOf, owner: str, *, is_multilabel: bool = False
) -> Interface:
    """Raise Rejected unless a part of `owner`, if its class is known, is a fitted classifier."""
    interface = interface_of(estimator)
    if interface.is_fitted is False:
        raise Rejected(f"has a {owner} with an estimator that is not fitted")
    is_classifier = interface.classes is not None and interface.is_multilabel == is_multilabel
    if interface.is_fitted and not is_classifier:
        kind = "multilabel classifier" if is_multilabel else "classifier"
        raise Rejected(f"has a {owner} with an estimator that is not a {kind}")
    return interface


def _check_kinds(first: Interface, second: Interface) -> None:
    """Raise Rejected unless the columns of the first step are of the kinds of the second."""
    if second.is_table:
        raise Rejected("has a pipeline in which a TableConverter is not the first step")
    if None in (first.is_fitted, second.is_fitted):
        return
    found, wanted = first.output_kinds, second.input_kinds
    if (found is None) != (wanted is None):
        raise Rejected("has a pipeline in which a step takes other kinds of columns")
    if found is not None and wanted is not None:
        pairs = zip(found, wanted, strict=True)
        if not all(kind in (None, each) for each, kind in pairs):
            raise Rejected("has a pipeline in which a step takes other kinds of columns")
