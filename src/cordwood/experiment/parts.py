"""The parts of a plan: how rows are divided, how learners are tuned, data sets and learners.

Each checks what can be told from itself alone; `cordwood.experiment.plan` checks the rest.
"""

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, Self

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    StrictFloat,
    StrictInt,
    StrictStr,
    field_validator,
    model_validator,
)

from cordwood.experiment.datasets import load_dataset
from cordwood.text.corpus import Corpus, Matrix
from cordwood.text.lines import Progress
from cordwood.text.reading import read

_FOLDED = ("stratified", "grouped")


class Table(BaseModel):
    """A table of the plan, which nobody changes and which has no keys but its own."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Evaluation(Table):
    """How rows are divided into those that are learnt from and those that are asked about.

    Parameters
    ----------
    kind : {"stratified", "grouped", "repeated", "fixed", "holdout"}
        Stratified folds; the same, with the rows of a group on one side; stratified folds drawn
        several times, which is kept as "stratified" with 5 `repeats` unless another number is
        given; the official split of the data; one random test part.
    folds : int
        Number of folds, 5 by default; 1 where there are none ("fixed", "holdout").
    repeats : int
        How often rows are divided anew; once by default.
    test_share : float, optional
        Share of the rows that "holdout" keeps for the test, 0.2 by default.
    shares : tuple of float
        Shares of the training rows to learn from, in rising order, for a learning curve; all of
        them by default.
    """

    kind: Literal["stratified", "grouped", "fixed", "holdout"] = "stratified"
    folds: StrictInt = 5
    repeats: StrictInt = Field(default=1, ge=1)
    test_share: StrictFloat | None = Field(default=None, gt=0, lt=1)
    shares: tuple[StrictFloat, ...] = (1.0,)

    @model_validator(mode="before")
    @classmethod
    def _complete(cls, given: Any) -> Any:
        if not isinstance(given, Mapping):
            return given
        table = dict(given)
        if table.get("kind") == "repeated":
            table["kind"] = "stratified"
            if table.setdefault("repeats", 5) == 1:
                raise ValueError("repeats is 1, but 'repeated' folds are drawn at least twice")
        kind = table.get("kind", "stratified")
        if kind in ("fixed", "holdout") and table.setdefault("folds", 1) != 1:
            raise ValueError(f"folds has no meaning for kind {kind!r}; leave it out")
        if kind == "holdout":
            table.setdefault("test_share", 0.2)
        elif table.get("test_share") is not None:
            raise ValueError("test_share belongs to kind 'holdout'; leave it out")
        if kind == "fixed" and table.get("repeats", 1) != 1:
            raise ValueError("repeats has no meaning for kind 'fixed', which is always the same")
        return table

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.kind in _FOLDED and self.folds < 2:
            raise ValueError(f"folds is {self.folds}, but must be at least 2")
        if not self.shares or not all(0 < share <= 1 for share in self.shares):
            raise ValueError("shares must be numbers above 0 and up to 1, such as [0.1, 0.5, 1.0]")
        if sorted(set(self.shares)) != list(self.shares):
            raise ValueError("shares must be in rising order, each once")
        return self


class Tuning(Table):
    """How the best parameters of a grid are found, within the training rows.

    Parameters
    ----------
    kind : {"cv", "oob", "loo", "auto"}
        By cross-validation; by the out-of-bag or the leave-one-out score of the learners that have
        such a score, and by cross-validation for the others; or, "auto", by whichever of these
        scores a learner has. See `cordwood.experiment.tuning.resolve_kind`.
    folds : int
        Number of folds of the cross-validation.
    """

    kind: Literal["cv", "oob", "loo", "auto"] = "cv"
    folds: StrictInt = Field(default=5, ge=2)


class Dataset(Table):
    """A data set of the plan: by its name, or a file with its columns.

    Parameters
    ----------
    name : str
        A name that `cordwood.experiment.datasets` knows; for a file, a label of your own.
    path : str, optional
        A data file, or a folder of class folders; in a plan, relative to the plan's own folder.
    text_columns : tuple of str, optional
        Columns of the text in the file. A plan says ``text = "body"``.
    label, group, split : str, optional
        Columns of the label, the group and the official part in the file.
    text : dict
        Parameters of `TextVectorizer` for this data set. To give columns as well, a plan says
        ``text = {column = "body", preset = "social"}``.
    kind : {"text", "numeric"}
        What the rows hold. It is found out wherever the data are at hand.
    """

    name: StrictStr = ""
    path: StrictStr | None = None
    text_columns: tuple[StrictStr, ...] | None = None
    label: StrictStr | None = None
    group: StrictStr | None = None
    split: StrictStr | None = None
    text: dict[str, Any] = {}
    kind: Literal["text", "numeric"] = "text"

    @model_validator(mode="before")
    @classmethod
    def _separate_columns(cls, given: Any) -> Any:
        if not isinstance(given, Mapping):
            return given
        table = dict(given)
        text = table.pop("text", {})
        column = text
        if isinstance(text, Mapping):
            settings = dict(text)
            column = settings.pop("column", None)
            table["text"] = settings
        if column is not None:
            table["text_columns"] = (column,) if isinstance(column, str) else column
        if not table.get("name") and not table.get("path"):
            raise ValueError("has neither a name nor a path")
        if not table.get("name"):
            table["name"] = Path(str(table["path"]).removesuffix(".gz")).stem
        return table

    @field_validator("text")
    @classmethod
    def _checkplain(cls, settings: dict[str, Any]) -> dict[str, Any]:
        return plain(settings)

    def load(
        self, *, data_dir: str | os.PathLike[str] | None = None, progress: Progress | None = None
    ) -> Corpus | Matrix:
        """Load the rows with their labels, from the file or by the name."""
        if self.path is None:
            return load_dataset(self.name, data_dir=data_dir, progress=progress)
        return read(
            self.path,
            text=self.text_columns,
            label=self.label,
            group=self.group,
            split=self.split,
            progress=progress,
        )


class Learner(Table):
    """A learner of the plan: a recipe, with parameters that are given and some that are sought.

    Parameters
    ----------
    recipe : str
        A name from `cordwood.recipes.names()`.
    name : str
        Its label in tables, the recipe by default.
    params : dict
        Parameters of the recipe. Short names are kept in full: `C` becomes `classifier__C`.
    grid : dict of str to list
        Values to choose among, for each parameter that is to be tuned; "paper" in a plan stands
        for `cordwood.recipes.grid`.
    numeric_grid : dict of str to list
        Entries of the grid that differ for rows of numbers.
    """

    recipe: StrictStr
    name: StrictStr = ""
    params: dict[str, Any] = {}
    grid: dict[str, Any] = {}
    numeric_grid: dict[str, Any] = {}

    @model_validator(mode="before")
    @classmethod
    def _name_after_recipe(cls, given: Any) -> Any:
        if isinstance(given, Mapping) and not given.get("name"):
            return {**given, "name": given.get("recipe", "")}
        return given

    @field_validator("params")
    @classmethod
    def _check_params(cls, params: dict[str, Any]) -> dict[str, Any]:
        return plain(params)

    @field_validator("grid", mode="before")
    @classmethod
    def _check_grid(cls, grid: Any) -> Any:
        if grid == "paper":
            return {"paper": []}  # until the recipe is known to be one
        return _check_lists(grid, "a table of lists, or 'paper'")

    @field_validator("numeric_grid", mode="before")
    @classmethod
    def _check_numeric_grid(cls, grid: Any) -> Any:
        return _check_lists(grid, "a table of lists")


def _check_lists(grid: Any, expected: str) -> dict[str, list[Any]]:
    if not isinstance(grid, Mapping):
        raise ValueError(f"is {grid!r}, but must be {expected}")
    for param, values in grid.items():
        if not isinstance(values, list | tuple) or not values:
            raise ValueError(f"gives {param} as {values!r}, but must list values to try")
    return {param: list(values) for param, values in plain(grid).items()}


def plain(table: Mapping[str, Any]) -> dict[str, Any]:
    """Refuse what JSON cannot hold, such as the dates of TOML."""
    for name, value in table.items():
        try:
            json.dumps(value, allow_nan=False)
        except (TypeError, ValueError):
            raise ValueError(
                f"gives {name} as {value!r}; use text, finite numbers, true or false, or lists"
            ) from None
    return dict(table)
