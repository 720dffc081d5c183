"""Claims of the papers, and what was found of them.

They are written by hand, one TOML file per paper::

    title = "SIGIR 2015"
    source = "T. Salles et al., ..."

    [lists]                     # in the expressions: @topics
    topics = "sigir17-webkb; sigir17-20ng"

    [[claims]]
    place = "section 4.2"
    claim = "Boosting improves random forests."
    found = "BROOF against RF: {difference | @topics | * | BROOF | RF}."
    verdict = "holds"
    why = "Boosted trees concentrate on difficult documents."

    [[tables]]                  # optional, after the claims
    title = "Means"
    text = "Micro-F1 / macro-F1."
    header = ["learner", "WebKB"]
    items = ["BROOF", "RF"]     # one row for each
    row = ["{item}", "{mean | sigir17-webkb | webkb | {item}}"]

Expressions in braces stand for figures; `reproduction.claim_figures` lists them.
"""

import os
import tomllib
from pathlib import Path
from typing import Literal, Self

from pydantic import BaseModel, ConfigDict, StrictStr, ValidationError, model_validator

from cordwood.exceptions import CordwoodError

Verdict = Literal["holds", "holds in part", "does not hold", "not tested"]


class _Entry(BaseModel):
    """An immutable table that rejects unknown keys."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Claim(_Entry):
    """A claim of a paper.

    Parameters
    ----------
    place : str
        Where the paper makes it: section, table or figure.
    claim : str
        The claim.
    found : str
        What was found, with expressions in braces.
    verdict : {"holds", "holds in part", "does not hold", "not tested"}
        Whether the claim holds.
    why : str
        The reason, likewise with expressions.
    """

    place: StrictStr
    claim: StrictStr
    found: StrictStr
    verdict: Verdict
    why: StrictStr = ""


class ClaimTable(_Entry):
    """A table below the claims.

    Parameters
    ----------
    title, text : str
        Heading of the table, and the sentences before it.
    header : tuple of str
        Names of the columns.
    items : tuple of str
        What ``{item}`` stands for in each row.
    row : tuple of str
        The cells of a row, with expressions in braces.
    """

    title: StrictStr
    text: StrictStr
    header: tuple[StrictStr, ...]
    items: tuple[StrictStr, ...]
    row: tuple[StrictStr, ...]

    @model_validator(mode="after")
    def _check(self) -> Self:
        if len(self.header) != len(self.row):
            raise ValueError(f"header has {len(self.header)} columns, but row {len(self.row)}")
        return self


class Paper(_Entry):
    """The claims of a paper.

    Parameters
    ----------
    title : str
        Short name of the paper.
    source : str
        Authors, title, conference and year.
    lists : dict of str to str
        What ``@NAME`` stands for in the expressions.
    claims : tuple of Claim
    tables : tuple of ClaimTable
    """

    title: StrictStr
    source: StrictStr
    lists: dict[str, StrictStr] = {}
    claims: tuple[Claim, ...]
    tables: tuple[ClaimTable, ...] = ()


def load_paper(path: str | os.PathLike[str]) -> Paper:
    """Read the claims of a paper.

    Parameters
    ----------
    path : path
        TOML file.

    Returns
    -------
    Paper

    Raises
    ------
    CordwoodError
        Naming the file and the invalid entry.
    """
    file = Path(path)
    try:
        return Paper.model_validate(tomllib.loads(file.read_text(encoding="utf-8")))
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise CordwoodError(f"{file} is not valid TOML: {error}") from error
    except ValidationError as error:
        details = error.errors()[0]
        where = ".".join(map(str, details["loc"]))
        raise CordwoodError(f"{file}, {where}: {details['msg']}") from error
