"""Explanations: why our figures differ from a paper's, as far as anyone has found out.

They are written by hand in a TOML file, each with the places that it is about::

    [[explanations]]
    dataset = "reut90"
    learner = "nb"
    text = "The paper counts a story once for each of its topics."

`plan` (the name of its file, without ``.toml``), `dataset`, `learner` and `metric` say where it
holds; what is left out may be anything.
"""

import os
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Literal, Self

from pydantic import BaseModel, ConfigDict, StrictStr, ValidationError, model_validator

from cordwood.exceptions import CordwoodError

_PLACES = ("plan", "dataset", "learner", "metric")


class Explanation(BaseModel):
    """Why certain figures differ.

    Parameters
    ----------
    plan, dataset, learner, metric : str, optional
        Where it holds; at least one of them.
    text : str
        The explanation.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    plan: StrictStr | None = None
    dataset: StrictStr | None = None
    learner: StrictStr | None = None
    metric: Literal["micro_f1", "macro_f1"] | None = None
    text: StrictStr

    @model_validator(mode="after")
    def _check(self) -> Self:
        if not self.places:
            raise ValueError(f"it names no place; give it one of {', '.join(_PLACES)}")
        if not self.text.strip():
            raise ValueError("its text is empty")
        return self

    @property
    def places(self) -> dict[str, str]:
        """Where it holds: the value of each place that is named."""
        return {name: getattr(self, name) for name in _PLACES if getattr(self, name) is not None}

    def holds_for(self, **place: str) -> bool:
        """Tell whether it is about a place that names all there is to name."""
        return all(place[name] == value for name, value in self.places.items())


def load_explanations(path: str | os.PathLike[str]) -> tuple[Explanation, ...]:
    """Read explanations from a TOML file.

    Parameters
    ----------
    path : path
        The file; where there is none, nothing is explained.

    Returns
    -------
    tuple of Explanation

    Raises
    ------
    CordwoodError
        Naming the file and the explanation that is wrong.
    """
    file = Path(path)
    if not file.exists():
        return ()
    try:
        tables = tomllib.loads(file.read_text(encoding="utf-8"))
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise CordwoodError(f"{file} is not TOML: {error}") from error
    entries = tables.pop("explanations", [])
    if tables or not isinstance(entries, list):
        raise CordwoodError(f"{file} may have nothing but tables called [[explanations]]")
    found = []
    for number, entry in enumerate(entries, start=1):
        try:
            found.append(Explanation.model_validate(entry))
        except ValidationError as error:
            fault = error.errors()[0]
            where = ".".join(map(str, fault["loc"]))
            told = f"{where}: {fault['msg']}" if where else str(fault["ctx"]["error"])
            raise CordwoodError(f"{file}, explanation {number}: {told}") from error
    return tuple(found)


def find_explanations(
    explanations: Sequence[Explanation], *, plan: str, dataset: str, learner: str, metric: str
) -> tuple[Explanation, ...]:
    """Find what explains a figure: of all that hold for it, those which name the most places.

    Examples
    --------
    >>> wide = Explanation(dataset="webkb", text="Other pages.")
    >>> narrow = Explanation(dataset="webkb", learner="nb", text="Another smoothing.")
    >>> place = {"plan": "p", "dataset": "webkb", "metric": "micro_f1"}
    >>> [e.text for e in find_explanations([wide, narrow], learner="nb", **place)]
    ['Another smoothing.']
    >>> [e.text for e in find_explanations([wide, narrow], learner="rf", **place)]
    ['Other pages.']
    """
    holding = [
        explanation
        for explanation in explanations
        if explanation.holds_for(plan=plan, dataset=dataset, learner=learner, metric=metric)
    ]
    most = max((len(explanation.places) for explanation in holding), default=0)
    return tuple(explanation for explanation in holding if len(explanation.places) == most)
