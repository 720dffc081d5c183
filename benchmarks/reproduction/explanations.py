"""Explanations of differences between our scores and published ones.

They are written by hand in a TOML file, each with what it applies to::

    [[explanations]]
    dataset = "reut90"
    learner = "NB"
    text = "The paper has a document once for each of its topics."

`plan` (the name of its file, without ``.toml``), `dataset`, `learner` and `metric` restrict what an
explanation applies to.
"""

import os
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Literal, Self

from pydantic import BaseModel, ConfigDict, StrictStr, ValidationError, model_validator

from cordwood.exceptions import CordwoodError

_SELECTORS = ("plan", "dataset", "learner", "metric")


class Explanation(BaseModel):
    """Explanation of differences in some scores.

    Parameters
    ----------
    plan, dataset, learner, metric : str, optional
        What it applies to; at least one of them.
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
        if not self.selectors:
            raise ValueError(f"set at least one of {', '.join(_SELECTORS)}")
        if not self.text.strip():
            raise ValueError("text is empty")
        return self

    @property
    def selectors(self) -> dict[str, str]:
        """The selectors that are set."""
        return {name: getattr(self, name) for name in _SELECTORS if getattr(self, name) is not None}

    def applies_to(self, **score: str) -> bool:
        """Return whether it applies to a score, given by all four selectors."""
        return all(score[name] == value for name, value in self.selectors.items())


def load_explanations(path: str | os.PathLike[str]) -> tuple[Explanation, ...]:
    """Read explanations from a TOML file.

    Parameters
    ----------
    path : path
        The file; if there is none, there are no explanations.

    Returns
    -------
    tuple of Explanation

    Raises
    ------
    CordwoodError
        Naming the file and the invalid explanation.
    """
    file = Path(path)
    if not file.exists():
        return ()
    try:
        tables = tomllib.loads(file.read_text(encoding="utf-8"))
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise CordwoodError(f"{file} is not valid TOML: {error}") from error
    entries = tables.pop("explanations", [])
    if tables or not isinstance(entries, list):
        raise CordwoodError(f"{file} may only contain tables [[explanations]]")
    explanations = []
    for number, entry in enumerate(entries, start=1):
        try:
            explanations.append(Explanation.model_validate(entry))
        except ValidationError as error:
            details = error.errors()[0]
            where = ".".join(map(str, details["loc"]))
            message = f"{where}: {details['msg']}" if where else str(details["ctx"]["error"])
            raise CordwoodError(f"{file}, explanation {number}: {message}") from error
    return tuple(explanations)


def find_explanations(
    explanations: Sequence[Explanation], *, plan: str, dataset: str, learner: str, metric: str
) -> tuple[Explanation, ...]:
    """Return the most specific explanations of a score: those with the most selectors.

    Examples
    --------
    >>> general = Explanation(dataset="webkb", text="Other pages.")
    >>> specific = Explanation(dataset="webkb", learner="NB", text="Another smoothing.")
    >>> score = {"plan": "p", "dataset": "webkb", "metric": "micro_f1"}
    >>> [e.text for e in find_explanations([general, specific], learner="NB", **score)]
    ['Another smoothing.']
    >>> [e.text for e in find_explanations([general, specific], learner="RF", **score)]
    ['Other pages.']
    """
    applicable = [
        explanation
        for explanation in explanations
        if explanation.applies_to(plan=plan, dataset=dataset, learner=learner, metric=metric)
    ]
    most = max((len(explanation.selectors) for explanation in applicable), default=0)
    return tuple(each for each in applicable if len(each.selectors) == most)
