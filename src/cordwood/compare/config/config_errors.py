"""Faults: what is wrong with a plan, in sentences that name the place as people count."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from cordwood import recipes
from cordwood.exceptions import CordwoodError

_EXPECTED = {
    "bool_type": "true or false",
    "bool_parsing": "true or false",
    "dict_type": "a table",
    "float_type": "a number",
    "int_type": "a whole number",
    "mapping_type": "a table",
    "model_type": "a table",
    "string_type": "a string",
    "tuple_type": "a list",
}


def describe(fault: Mapping[str, Any], keys: Mapping[str, Collection[str]]) -> str:
    """Say what pydantic found wrong, where, and what would be right.

    Parameters
    ----------
    fault : mapping
        One of the `errors()` of a `ValidationError`.
    keys : mapping of str to collection of str
        The keys of each table of a plan; those of the plan itself under "".
    """
    *parents, last = fault["loc"] or ("the plan",)
    kind, given, context = fault["type"], fault["input"], fault.get("ctx", {})
    if kind == "extra_forbidden":
        near = recipes.nearest(str(last), keys[str(parents[0]) if parents else ""])
        return f"{_place(parents)}there is no key {last!r}; {near}"
    if kind == "missing":
        return f"{_place(parents)}{last} is missing"
    where = _place(fault["loc"]).rstrip(": ")
    if kind == "value_error":
        return f"{where} {context['error']}" if where else str(context["error"])
    if kind in _EXPECTED:
        return f"{where} is {given!r}, but must be {_EXPECTED[kind]}"
    if kind == "literal_error":
        return f"{where} is {given!r}, but can be {context['expected']}"
    return f"{where} is {given!r}, but {fault['msg'].removeprefix('Input ')}"


def _place(location: Sequence[Any]) -> str:
    """Name a place in the plan as people count: ("learners", 1, "grid") is "learner 2, grid: "."""
    names = {"datasets": "data set", "learners": "learner"}
    if len(location) > 1 and location[0] in names and isinstance(location[1], int):
        first, rest = f"{names[location[0]]} {location[1] + 1}", location[2:]
        return ", ".join([first, ".".join(map(str, rest))] if rest else [first]) + ": "
    return ".".join(map(str, location)) + ": " if location else ""


def join(faults: Sequence[str]) -> CordwoodError:
    """Make one error of all that is wrong.

    Examples
    --------
    >>> join(["seed is -1", "metric is 'f2'"])
    CordwoodError("2 things are wrong with the plan: (1) seed is -1; (2) metric is 'f2'")
    """
    if len(faults) == 1:
        return CordwoodError(faults[0])
    listed = "; ".join(f"({n}) {fault}" for n, fault in enumerate(faults, start=1))
    return CordwoodError(f"{len(faults)} things are wrong with the plan: {listed}")
