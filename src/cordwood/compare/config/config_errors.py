"""Validation errors of plans and protocols as sentences that name the table and the key."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from cordwood import recipes
from cordwood.exceptions import CordwoodError

_EXPECTED = {
    "bool_type": "true or false",
    "bool_parsing": "true or false",
    "dict_type": "a table",
    "float_type": "a number",
    "int_type": "an integer",
    "mapping_type": "a table",
    "model_type": "a table",
    "string_type": "a string",
    "tuple_type": "a list",
}


def describe_error(error: Mapping[str, Any], keys: Mapping[str, Collection[str]]) -> str:
    """Convert a validation error of pydantic to a sentence without a full stop.

    `keys` has the valid keys of each table, and those at the top level under "".
    """
    *parents, last = error["loc"] or ("the plan",)
    kind, given, context = error["type"], error["input"], error.get("ctx", {})
    if kind == "extra_forbidden":
        near = recipes.nearest(str(last), keys[str(parents[0]) if parents else ""])
        return f"{_format_location(parents)}there is no key {last!r}; {near}"
    if kind == "missing":
        return f"{_format_location(parents)}{last} is missing"
    where = _format_location(error["loc"]).rstrip(": ")
    if kind == "value_error":
        # The message of a CordwoodError names the key, that of another error is a predicate.
        between = ", " if isinstance(context["error"], CordwoodError) else " "
        return f"{where}{between}{context['error']}" if where else str(context["error"])
    if kind in _EXPECTED:
        return f"{where} must be {_EXPECTED[kind]}; got {given!r}"
    if kind == "literal_error":
        return f"{where} must be {context['expected']}; got {given!r}"
    return f"{where} {error['msg'].replace('Input should', 'must', 1)}; got {given!r}"


def _format_location(location: Sequence[Any]) -> str:
    """Name a key, counting from one: ("learners", 1, "grid") is "learner 2, grid: "."""
    names = {"datasets": "data set", "learners": "learner"}
    if len(location) > 1 and location[0] in names and isinstance(location[1], int):
        first, rest = f"{names[location[0]]} {location[1] + 1}", location[2:]
        return ", ".join([first, ".".join(map(str, rest))] if rest else [first]) + ": "
    return ".".join(map(str, location)) + ": " if location else ""


def join_errors(errors: Sequence[str]) -> CordwoodError:
    """Combine all errors of a plan in one exception.

    >>> join_errors(["seed must be an integer; got 'a'", "name is missing"])
    CordwoodError("2 errors in the plan: (1) seed must be an integer; got 'a'; (2) name is missing")
    """
    if len(errors) == 1:
        return CordwoodError(errors[0])
    listed = "; ".join(f"({n}) {error}" for n, error in enumerate(errors, start=1))
    return CordwoodError(f"{len(errors)} errors in the plan: {listed}")
