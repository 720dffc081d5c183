"""Tables of a plan file: evaluation, tuning, data sets and learners; see ``docs/plans.md``.

Each table validates what depends on that table alone; `cordwood.compare.config.plan` validates the
rest.
"""

import json
import os
import re
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PrivateAttr,
    StrictFloat,
    StrictInt,
    StrictStr,
    field_validator,
    model_validator,
)

from cordwood.datasets.corpus import Corpus, FeatureMatrix, with_groups
from cordwood.datasets.options import OPTION_NAMES, ReadOptions
from cordwood.datasets.readers import read_dataset
from cordwood.datasets.registry import binarize_labels, load_dataset
from cordwood.exceptions import CordwoodError

_CROSS_VALIDATED = ("stratified", "grouped", "time")


def _check_json(table: Mapping[str, Any]) -> dict[str, Any]:
    """Return the table as a dict; raise ValueError for values that JSON lacks, such as dates."""
    for name, value in table.items():
        try:
            json.dumps(value, allow_nan=False)
        except (TypeError, ValueError):
            raise ValueError(
                f"has {name} = {value!r}; use strings, finite numbers, booleans or lists"
            ) from None
    return dict(table)


def _check_lists(expected: str, grid: Any) -> dict[str, list[Any]]:
    """Return a grid as a dict of lists; raise ValueError for anything else."""
    if not isinstance(grid, Mapping):
        raise ValueError(f"must be {expected}; got {grid!r}")
    for param, values in grid.items():
        if not isinstance(values, list | tuple) or not values:
            raise ValueError(f"must list the values of {param}; got {values!r}")
    return {param: list(values) for param, values in _check_json(grid).items()}


JsonTable = Annotated[dict[str, Any], AfterValidator(_check_json)]
Grid = Annotated[dict[str, Any], BeforeValidator(partial(_check_lists, "a table of lists"))]


class ConfigTable(BaseModel):
    """An immutable table of a plan that rejects unknown keys."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class EvaluationConfig(ConfigTable):
    """How samples are split into training and test sets."""

    # "repeated" is stored as "stratified" with `repeats`, which is then 5 by default.
    kind: Literal["stratified", "grouped", "time", "fixed", "holdout"] = "stratified"
    folds: StrictInt = 5
    repeats: StrictInt = Field(default=1, ge=1)
    test_size: StrictFloat | None = Field(default=None, gt=0, lt=1)
    train_fractions: tuple[StrictFloat, ...] = (1.0,)

    @model_validator(mode="before")
    @classmethod
    def _complete(cls, given: Any) -> Any:
        if not isinstance(given, Mapping):
            return given
        table = dict(given)
        if table.get("kind") == "repeated":
            table["kind"] = "stratified"
            if table.setdefault("repeats", 5) == 1:
                raise ValueError("repeats must be at least 2 with kind = 'repeated'; got 1")
        kind = table.get("kind", "stratified")
        if kind in ("fixed", "holdout") and table.setdefault("folds", 1) != 1:
            raise ValueError(f"folds has no effect with kind = {kind!r}; leave it out")
        if kind == "holdout":
            table.setdefault("test_size", 0.2)
        elif table.get("test_size") is not None:
            raise ValueError(f"test_size needs kind = 'holdout'; the kind is {kind!r}")
        if kind == "time" and table.get("repeats", 1) != 1:
            raise ValueError("repeats has no effect with kind = 'time'; leave it out")
        return table

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.kind in _CROSS_VALIDATED and self.folds < 2:
            raise ValueError(f"folds must be at least 2; got {self.folds}")
        fractions = self.train_fractions
        if not fractions or not all(0 < fraction <= 1 for fraction in fractions):
            raise ValueError("train_fractions must be numbers in (0, 1], such as [0.1, 0.5, 1.0]")
        if sorted(set(fractions)) != list(fractions):
            raise ValueError("train_fractions must be strictly increasing")
        return self


class TuningConfig(ConfigTable):
    """How hyper-parameters are chosen from a grid, on the training set."""

    kind: Literal["cv", "oob", "loo", "auto"] = "cv"
    folds: StrictInt = Field(default=5, ge=2)
    sample: StrictInt | None = Field(default=None, ge=2)

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.sample is not None and self.kind not in ("loo", "auto"):
            raise ValueError(f"sample needs kind = 'loo' or 'auto'; the kind is {self.kind!r}")
        return self


# Keys of a data set in a plan that are options of reading it.
READ_KEYS = tuple(name for name in OPTION_NAMES if name not in ("extra_columns", "require_labels"))


class DatasetConfig(ConfigTable):
    """A data set of a plan: a registered name, or files and how to read them."""

    # Label in tables; by default the stem of the first file.
    name: StrictStr = ""
    # Registered name of the data set, if `name` is another label.
    source: StrictStr | None = None
    # Files and folders, relative to the folder of the plan, whose rows are concatenated.
    path: tuple[StrictStr, ...] | None = None
    # In a plan, the options are keys beside the others. A group needs an evaluation of the kind
    # "grouped"; weights are used to fit, to tune and to score.
    read: ReadOptions = ReadOptions()
    # Regular expression whose first match in the id of a sample is its group.
    group_pattern: StrictStr | None = None
    # Label that is the positive class against all others. In a plan, `categories` with a list
    # stands for one data set per category, named after it.
    category: StrictStr | None = None
    # Parameters of `TextVectorizer` for this data set.
    vectorizer: JsonTable = {}
    # Only needed to look up results without the data; otherwise it must agree with the data.
    kind: Literal["text", "numeric"] = "text"

    @model_validator(mode="before")
    @classmethod
    def _complete(cls, given: Any) -> Any:
        if not isinstance(given, Mapping):
            return given
        if not isinstance(given.get("read", ReadOptions()), ReadOptions):
            raise CordwoodError("there is no key 'read'")
        if isinstance(given.get("text"), Mapping):
            raise CordwoodError(
                "text must be a column or a list of columns; did you mean 'vectorizer'?"
            )
        options = {name: given[name] for name in READ_KEYS if name in given}
        table = {name: value for name, value in given.items() if name not in options}
        if options:
            table["read"] = ReadOptions(**options)
        if not table.get("name") and not table.get("path"):
            raise ValueError("needs a name or a path")
        if table.get("source") and table.get("path"):
            raise ValueError("has both a source and a path; remove one")
        if options.get("group") and table.get("group_pattern"):
            raise ValueError("has both a group and a group_pattern; remove one")
        if not table.get("name"):
            first, *more = _to_list(table["path"])
            stem = Path(str(first).removesuffix(".gz")).stem
            table["name"] = f"{stem} and {len(more)} more" if more else stem
        return table

    @field_validator("path", mode="before")
    @classmethod
    def _check_path(cls, path: Any) -> Any:
        return None if path is None else _to_list(path)

    @field_validator("group_pattern")
    @classmethod
    def _check_pattern(cls, pattern: str | None) -> str | None:
        try:
            re.compile(pattern or "")
        except re.error as error:
            raise ValueError(f"is not a regular expression: {error}") from None
        return pattern

    def load(self, *, data_dir: str | os.PathLike[str] | None = None) -> Corpus | FeatureMatrix:
        """Load the samples and their labels from the files or by the registered name."""
        data: Corpus | FeatureMatrix
        if self.path is None:
            data = load_dataset(self.registered_name, data_dir=data_dir, group=self.read.group)
        else:
            data = read_dataset(self.path, self.read)
        if self.group_pattern is not None:
            data = with_groups(data, self.group_pattern)
        return data if self.category is None else binarize_labels(data, self.category)

    @property
    def registered_name(self) -> str:
        """The name that `cordwood.datasets.registry` looks up, unless there is a `path`."""
        return self.source or self.name


def _to_list(value: Any) -> Any:
    return [value] if isinstance(value, str) else value


def expand_categories(tables: Any) -> Any:
    """Replace each data set that has `categories` by one data set per category.

    >>> expand_categories([{"name": "metals", "categories": ["gold", "tin"]}])[1]
    {'source': 'metals', 'name': 'tin', 'category': 'tin'}
    """
    if not isinstance(tables, list | tuple):
        return tables
    expanded: list[Any] = []
    for number, table in enumerate(tables, start=1):
        categories = table.get("categories") if isinstance(table, Mapping) else None
        if categories is None:
            expanded.append(table)
            continue
        if not isinstance(categories, list | tuple) or not categories:
            raise ValueError(
                f"number {number}: categories must be a list of labels; got {categories!r}"
            )
        if not table.get("name") and not table.get("path"):
            raise ValueError(f"number {number}: a data set with categories needs a name or a path")
        rest = {name: value for name, value in table.items() if name not in ("name", "categories")}
        if "path" not in rest:
            rest = {"source": table.get("name"), **rest}
        expanded += [{**rest, "name": each, "category": each} for each in categories]
    return expanded


class LearnerConfig(ConfigTable):
    """A learner of a plan: a recipe or any scikit-learn classifier, with its parameters."""

    recipe: StrictStr | None = None
    estimator: StrictStr | None = None
    name: StrictStr = ""
    params: JsonTable = {}
    grid: dict[str, Any] = {}
    numeric_grid: Grid = {}
    weighting: StrictStr | None = None
    scaler: Literal["standard", "minmax"] | None = None

    # Folder of the estimator's file, resolved when the plan is loaded. It is private because it is
    # not part of the plan's content.
    _folder: str | None = PrivateAttr(default=None)

    @model_validator(mode="before")
    @classmethod
    def _complete(cls, given: Any) -> Any:
        if not isinstance(given, Mapping):
            return given
        recipe, estimator = given.get("recipe"), given.get("estimator")
        if (recipe is None) == (estimator is None):
            raise ValueError("needs either a recipe or an estimator")
        if recipe is not None:
            for key in ("weighting", "scaler"):
                if given.get(key) is not None:
                    raise ValueError(f"{key} needs an estimator; recipes have their own")
        if not given.get("name"):
            return {**given, "name": recipe or str(estimator).rpartition(":")[2]}
        return given

    @field_validator("estimator")
    @classmethod
    def _check_estimator(cls, reference: str | None) -> str | None:
        if reference is not None and not all(reference.rpartition(":")[::2]):
            raise ValueError(
                f"must be 'package.module:Class' or 'file.py:function'; got {reference!r}"
            )
        return reference

    @field_validator("grid", mode="before")
    @classmethod
    def _check_grid(cls, grid: Any) -> Any:
        if grid == "default":
            return {"default": []}  # replaced when the recipe is resolved
        return _check_lists("a table of lists, or 'default'", grid)
