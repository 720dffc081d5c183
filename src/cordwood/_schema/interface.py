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
    for first, second in pairwise(interfaces):
        is_known = first.n_outputs is not None
        if is_known and (second.takes_text or second.n_features not in (None, first.n_outputs)):
            raise Rejected(
                f"has a pipeline in which a step takes {second.n_features or 'texts'} and the one "
                f"before it returns {first.n_outputs} features"
            )
        _check_kinds(first, second)
        if first.classes is not None:
            raise Rejected("has a pipeline in which a classifier is not the last step")
        if {first.is_fitted, second.is_fitted} == {True, False}:
            raise Rejected("has a pipeline in which only some steps are fitted")
    first, last = interfaces[0], interfaces[-1]
    return last._replace(
        n_features=first.n_features,
        takes_text=first.takes_text,
        is_table=first.is_table,
        input_kinds=first.input_kinds,
    )


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
