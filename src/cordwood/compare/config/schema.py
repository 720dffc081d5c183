"""The parts of a plan: how rows are divided, how learners are tuned, data sets and learners.

Each checks what can be told from itself alone; `cordwood.compare.config.plan` checks the rest.
"""

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar, Literal, Self

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    SerializerFunctionWrapHandler,
    StrictBool,
    StrictFloat,
    StrictInt,
    StrictStr,
    field_validator,
    model_serializer,
    model_validator,
)

from cordwood.datasets._lines import Progress
from cordwood.datasets.corpus import Corpus, FeatureMatrix
from cordwood.datasets.readers import Format, read_dataset
from cordwood.datasets.registry import load_dataset, set_against_rest

_FOLDED = ("stratified", "grouped")


class Table(BaseModel):
    """A table of the plan, which nobody changes and which has no keys but its own."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    # Keys that are not told where nobody has set them. Those that came to the tables later are
    # such: the fingerprints of plans and units without them, which ledgers hold, stay as they were.
    _told_if_set: ClassVar[frozenset[str]] = frozenset()

    @model_serializer(mode="wrap")
    def _tell(self, tell: SerializerFunctionWrapHandler) -> dict[str, Any]:
        fields = type(self).model_fields
        return {
            name: value
            for name, value in tell(self).items()
            if name not in self._told_if_set or getattr(self, name) != fields[name].default
        }


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
    positives : tuple of int
        How many training rows of its category a data set keeps at most, in rising order, for a
        curve of a class that gets rare; the others are discarded at random. All are kept by
        default. Only with categories, and not with `shares`. The official split may then have
        `repeats`, which discard others.
    rounds : tuple of int
        After how many rounds the learners that can tell, those with a `staged_predict`, are scored
        on training rows and test rows as well, in rising order; never by default.
    """

    _told_if_set = frozenset({"positives", "rounds"})

    kind: Literal["stratified", "grouped", "fixed", "holdout"] = "stratified"
    folds: StrictInt = 5
    repeats: StrictInt = Field(default=1, ge=1)
    test_share: StrictFloat | None = Field(default=None, gt=0, lt=1)
    shares: tuple[StrictFloat, ...] = (1.0,)
    positives: tuple[StrictInt, ...] = ()
    rounds: tuple[StrictInt, ...] = ()

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
        if kind == "fixed" and table.get("repeats", 1) != 1 and not table.get("positives"):
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
        for name in ("positives", "rounds"):
            counts = getattr(self, name)
            if sorted(set(counts)) != list(counts) or min(counts, default=1) < 1:
                raise ValueError(f"{name} must be numbers from 1 in rising order, each once")
        if self.positives and self.shares != (1.0,):
            raise ValueError("shares and positives both say what is learnt from; leave one out")
        return self


class Tuning(Table):
    """How the best parameters of a grid are found, within the training rows.

    Parameters
    ----------
    kind : {"cv", "oob", "loo", "auto", "test"}
        By cross-validation; by the out-of-bag or the leave-one-out score of the learners that have
        such a score, and by cross-validation for the others; "auto", by whichever of these
        scores a learner has (see `cordwood.compare.runner.tuning.resolve_kind`); or, "test", by the
        test rows themselves, which gives an upper bound and no result.
    folds : int
        Number of folds of the cross-validation.
    threshold : bool
        Whether the probability from which on a row counts as one of the category is chosen as
        well, in the folds of the cross-validation, in the place of one half. Only with the metric
        "f1"; also for learners without a grid.
    sample : int, optional
        How many training rows are asked for their leave-one-out votes at most, drawn from each
        class alike; all of them by default. What a row is answered by are still all the others.
        Only with the kinds "loo" and "auto", and of no effect on learners without such votes.
    """

    _told_if_set = frozenset({"threshold", "sample"})

    kind: Literal["cv", "oob", "loo", "auto", "test"] = "cv"
    folds: StrictInt = Field(default=5, ge=2)
    threshold: StrictBool = False
    sample: StrictInt | None = Field(default=None, ge=2)

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.threshold and self.kind != "cv":
            raise ValueError(f"threshold is chosen by kind 'cv' only, not by {self.kind!r}")
        if self.sample is not None and self.kind not in ("loo", "auto"):
            raise ValueError(
                "sample is of leave-one-out votes, by kind 'loo' or 'auto', and the kind is "
                f"{self.kind!r}; change one of them, or leave sample out"
            )
        return self


class Dataset(Table):
    """A data set of the plan: by its name, or a file with its columns.

    Parameters
    ----------
    name : str
        A name that `cordwood.datasets.registry` knows; for a file, or with `source`, a label of
        your own.
    source : str, optional
        The name that `cordwood.datasets.registry` knows, if `name` is a label of your own.
    category : str, optional
        The label that is set against all others, which makes two classes of many and of rows with
        several labels. A plan says ``categories = ["gold", "tin"]`` for a data set of each, named
        after it.
    path : str, optional
        A data file, or a folder of class folders; in a plan, relative to the plan's own folder.
    text_columns : tuple of str, optional
        Columns of the text in the file. A plan says ``text = "body"``.
    label, group, split : str, optional
        Columns of the label, the group and the official part in the file.
    id : str, optional
        Column with the sample ids.
    encoding : str, default="utf-8"
        Character encoding of the file.
    format : {"csv", "tsv", "jsonl", "folder", "svmlight"}, optional
        Format of the file; by default from its name.
    delimiter : str, optional
        Column separator of a CSV file, a comma by default.
    on_bad_rows : {"raise", "skip"}, default="raise"
        Whether to raise at the first invalid row or to skip invalid rows.
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
    source: StrictStr | None = None
    category: StrictStr | None = None
    id: StrictStr | None = None
    encoding: StrictStr = "utf-8"
    format: Format | None = None
    delimiter: StrictStr | None = None
    on_bad_rows: Literal["raise", "skip"] = "raise"

    _told_if_set = frozenset(
        {"source", "category", "id", "encoding", "format", "delimiter", "on_bad_rows"}
    )

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
        if table.get("source") and table.get("path"):
            raise ValueError("has both a source and a path; leave one out")
        if not table.get("name"):
            table["name"] = Path(str(table["path"]).removesuffix(".gz")).stem
        return table

    @field_validator("text")
    @classmethod
    def _checkplain(cls, settings: dict[str, Any]) -> dict[str, Any]:
        return plain(settings)

    def load(
        self, *, data_dir: str | os.PathLike[str] | None = None, progress: Progress | None = None
    ) -> Corpus | FeatureMatrix:
        """Load the rows with their labels, from the file or by the name."""
        if self.path is None:
            rows = load_dataset(self.known_as, data_dir=data_dir, progress=progress)
        else:
            rows = read_dataset(
                self.path,
                text=self.text_columns,
                label=self.label,
                group=self.group,
                split=self.split,
                id=self.id,
                encoding=self.encoding,
                format=self.format,
                delimiter=self.delimiter,
                on_bad_rows=self.on_bad_rows,
                progress=progress,
            )
        return rows if self.category is None else set_against_rest(rows, self.category)

    @property
    def known_as(self) -> str:
        """The name by which `cordwood.datasets.registry` knows it, if it is no file."""
        return self.source or self.name


def part_categories(tables: Any) -> Any:
    """Make of each data set with `categories` one for each of them.

    Examples
    --------
    >>> part_categories([{"name": "metals", "categories": ["gold", "tin"]}])[1]
    {'source': 'metals', 'name': 'tin', 'category': 'tin'}
    """
    if not isinstance(tables, list | tuple):
        return tables
    parted: list[Any] = []
    for place, table in enumerate(tables, start=1):
        categories = table.get("categories") if isinstance(table, Mapping) else None
        if categories is None:
            parted.append(table)
            continue
        if not isinstance(categories, list | tuple) or not categories:
            raise ValueError(
                f"number {place} has categories = {categories!r}, but must list labels of the data"
            )
        if not table.get("name") and not table.get("path"):
            raise ValueError(
                f"number {place} has categories = {categories!r}, but neither a name nor a path"
            )
        rest = {name: value for name, value in table.items() if name not in ("name", "categories")}
        if "path" not in rest:
            rest = {"source": table.get("name"), **rest}
        parted += [{**rest, "name": each, "category": each} for each in categories]
    return parted


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
