"""Plans: which learners are compared on which data sets, how, and with what parameters.

A plan is a TOML file. Everything that can be wrong with it is said before anything runs.
"""

import hashlib
import json
import os
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, Self

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    StrictFloat,
    StrictInt,
    StrictStr,
    ValidationError,
    field_validator,
    model_validator,
)

from cordwood import recipes
from cordwood.errors import CordwoodError
from cordwood.experiment.datasets import DatasetInfo, list_datasets, load_dataset
from cordwood.experiment.protocols import PROTOCOLS, SENTIMENT, Protocol
from cordwood.text.corpus import Corpus, Matrix
from cordwood.text.lines import Progress
from cordwood.text.presets import PRESETS, resolve
from cordwood.text.reading import detect_format, read
from cordwood.text.vectorizer import TextVectorizer

_FOLDED = ("stratified", "grouped")
_COLUMNS = ("text_columns", "label", "group", "split")


class _Table(BaseModel):
    """A table of the plan, which nobody changes and which has no keys but its own."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Evaluation(_Table):
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


class Tuning(_Table):
    """How the best parameters of a grid are found, within the training rows.

    Parameters
    ----------
    kind : {"cv", "oob"}
        By cross-validation; or by the out-of-bag score of learners that have one.
    folds : int
        Number of folds of the cross-validation.
    """

    kind: Literal["cv", "oob"] = "cv"
    folds: StrictInt = Field(default=5, ge=2)


class Dataset(_Table):
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
        What the rows hold; found out, not asked for.
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
    def _check_plain(cls, settings: dict[str, Any]) -> dict[str, Any]:
        return _plain(settings)

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


class Learner(_Table):
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
    """

    recipe: StrictStr
    name: StrictStr = ""
    params: dict[str, Any] = {}
    grid: dict[str, Any] = {}

    @model_validator(mode="before")
    @classmethod
    def _name_after_recipe(cls, given: Any) -> Any:
        if isinstance(given, Mapping) and not given.get("name"):
            return {**given, "name": given.get("recipe", "")}
        return given

    @field_validator("params")
    @classmethod
    def _check_params(cls, params: dict[str, Any]) -> dict[str, Any]:
        return _plain(params)

    @field_validator("grid", mode="before")
    @classmethod
    def _check_grid(cls, grid: Any) -> Any:
        if grid == "paper":
            return {"paper": []}  # until the recipe is known to be one
        if not isinstance(grid, Mapping):
            raise ValueError(f"is {grid!r}, but must be a table of lists, or 'paper'")
        for param, values in grid.items():
            if not isinstance(values, list | tuple) or not values:
                raise ValueError(f"gives {param} as {values!r}, but must list values to try")
        return {param: list(values) for param, values in _plain(grid).items()}


class Plan(_Table):
    """Learners, data sets, and how they are compared.

    Parameters
    ----------
    name : str
        A title for people.
    protocol : str, optional
        The name of a protocol; what it prescribes is filled in where the plan says nothing.
    seed : int
        Of everything that is drawn at random.
    metric : {"micro_f1", "macro_f1"}
        What tuning selects by.
    evaluation, tuning
        See `Evaluation` and `Tuning`.
    text : dict
        Parameters of `TextVectorizer` for every learner, but those that prepare text in a way of
        their own (`lr`). In a plan that was read, each data set has them, with its own on top.
    datasets, learners
        At least one of each; see `Dataset` and `Learner`.
    """

    name: StrictStr = "comparison"
    protocol: StrictStr | None = None
    seed: StrictInt = Field(default=42, ge=0, lt=2**32)
    metric: Literal["micro_f1", "macro_f1"] = "micro_f1"
    evaluation: Evaluation = Evaluation()
    tuning: Tuning = Tuning()
    text: dict[str, Any] = {}
    datasets: tuple[Dataset, ...]
    learners: tuple[Learner, ...]

    @field_validator("text")
    @classmethod
    def _check_plain(cls, settings: dict[str, Any]) -> dict[str, Any]:
        return _plain(settings)

    @field_validator("datasets", "learners")
    @classmethod
    def _check_not_empty(cls, parts: tuple[Any, ...]) -> tuple[Any, ...]:
        # Not by Field(min_length=1), which also counts a wrong part as none.
        if not parts:
            raise ValueError("is empty; give at least one")
        return parts

    def fingerprint(self) -> str:
        """Hash what the plan says, but not where its files are."""
        content = self.model_dump(mode="json", exclude={"datasets": {"__all__": {"path"}}})
        return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def load_plan(
    path: str | os.PathLike[str], *, data_dir: str | os.PathLike[str] | None = None
) -> Plan:
    """Read a plan from a TOML file and check all of it.

    Parameters
    ----------
    path : path
        The file. Paths of data sets in it are relative to its folder.
    data_dir : path, optional
        The data folder; see `cordwood.experiment.datasets.list_datasets`.

    Returns
    -------
    Plan

    Raises
    ------
    CordwoodError
        Naming the file, and each key that is wrong with the nearest right one.
    """
    file = Path(path)
    try:
        mapping = tomllib.loads(file.read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise CordwoodError(f"the plan {path} cannot be read: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise CordwoodError(
            f"the plan {path} is not UTF-8 at byte {error.start + 1}; save it as UTF-8"
        ) from error
    except tomllib.TOMLDecodeError as error:
        raise CordwoodError(f"the plan {path} is not TOML: {error}") from error
    try:
        return parse_plan({"name": file.stem, **mapping}, folder=file.parent, data_dir=data_dir)
    except CordwoodError as error:
        raise CordwoodError(f"{path}: {error}") from error


def parse_plan(
    mapping: Mapping[str, Any],
    *,
    folder: str | os.PathLike[str] = ".",
    data_dir: str | os.PathLike[str] | None = None,
) -> Plan:
    """Make a plan of tables and lists, and check all of it.

    Parameters
    ----------
    mapping : mapping
        What a plan file holds.
    folder : path
        What the paths of data sets are relative to.
    data_dir : path, optional
        The data folder; see `cordwood.experiment.datasets.list_datasets`.

    Returns
    -------
    Plan
        With the protocol filled in, parameters by their full names, and the kind and the whole
        text settings of each data set.

    Raises
    ------
    CordwoodError
        Naming each key that is wrong with the nearest right one.

    Examples
    --------
    >>> plan = parse_plan(
    ...     {
    ...         "datasets": [{"name": "docstrings"}],
    ...         "learners": [{"recipe": "svm", "grid": {"C": [0.1, 1, 10]}}],
    ...     }
    ... )
    >>> plan.learners[0].grid
    {'classifier__C': [0.1, 1, 10]}
    >>> parse_plan({"datasets": [{"name": "docstrings"}], "learners": [{"recipe": "smv"}]})
    Traceback (most recent call last):
        ...
    cordwood.errors.CordwoodError: learner 1: there is no recipe 'smv'; did you mean 'svm'?
    """
    protocol = _find_protocol(mapping.get("protocol"))
    try:
        plan = Plan.model_validate(mapping if protocol is None else _fill(mapping, protocol))
    except ValidationError as error:
        raise _join([_sentence(dict(fault)) for fault in error.errors()]) from None
    faults = list(_check_text(plan.text))
    known: dict[str, list[DatasetInfo]] = {}
    for info in list_datasets(data_dir):
        known.setdefault(info.name, []).append(info)
    plan = plan.model_copy(
        update={
            "datasets": tuple(
                _resolve_dataset(plan, n, known, Path(folder), protocol, faults)
                for n in range(len(plan.datasets))
            ),
            "learners": tuple(
                _resolve_learner(learner, f"learner {n}", protocol, faults)
                for n, learner in enumerate(plan.learners, start=1)
            ),
        }
    )
    faults.extend(_find_clashes(plan))
    if faults:
        raise _join(faults)
    return plan


def _find_protocol(name: Any) -> Protocol | None:
    if not isinstance(name, str):
        return None
    if name not in PROTOCOLS:
        raise CordwoodError(f"there is no protocol {name!r}; {recipes.nearest(name, PROTOCOLS)}")
    return PROTOCOLS[name]


def _fill(mapping: Mapping[str, Any], protocol: Protocol) -> dict[str, Any]:
    """Put what the protocol prescribes where the plan says nothing."""
    filled = dict(mapping)
    for name, prescribed in (("evaluation", protocol.evaluation), ("tuning", protocol.tuning)):
        given = mapping.get(name, {})
        if not isinstance(given, Mapping):
            continue
        kind = given.get("kind", prescribed["kind"])
        # Folds of another kind of evaluation are not the paper's; the same, repeated, are.
        same = prescribed["kind"] == ("stratified" if kind == "repeated" else kind)
        filled[name] = {**(prescribed if same else {}), **given}
    return filled


def _resolve_dataset(
    plan: Plan,
    position: int,
    known: Mapping[str, list[DatasetInfo]],
    folder: Path,
    protocol: Protocol | None,
    faults: list[str],
) -> Dataset:
    """Complete a data set of the plan; add a sentence to `faults` for each that is wrong."""
    dataset = plan.datasets[position]
    where = f"data set {position + 1}"
    update: dict[str, Any] = {}
    if dataset.path is None:
        update["kind"] = _check_name(dataset, where, known, faults)
    else:
        update["path"] = os.path.abspath(folder / dataset.path)
        update["kind"] = _check_file(update["path"], where, faults)
    prescribed: Mapping[str, Any] = {}
    if protocol is not None:
        prescribed = protocol.sentiment if dataset.name in SENTIMENT else protocol.text
    text = {**prescribed, **plan.text, **dataset.text}
    # What is wrong for all data sets was said once.
    checked = dataset.text if any(_check_text(plan.text)) else text
    faults.extend(f"{where}, {fault}" for fault in _check_text(checked))
    if "kind" in dataset.model_fields_set and dataset.kind != update["kind"]:
        faults.append(f"{where}: kind is {dataset.kind!r}, but the rows are {update['kind']}")
    update["text"] = text if update["kind"] == "text" else {}
    return dataset.model_copy(update=update)


def _check_name(
    dataset: Dataset, where: str, known: Mapping[str, list[DatasetInfo]], faults: list[str]
) -> str:
    for column in _COLUMNS:
        if getattr(dataset, column) is not None:
            said = "text" if column == "text_columns" else column
            faults.append(f"{where}: {said} names a column, which needs a path to a file")
    found = known.get(dataset.name, [])
    if not found:
        faults.append(
            f"{where}: there is no data set {dataset.name!r}; "
            f"{recipes.nearest(dataset.name, known)}"
        )
    elif len(found) > 1:
        faults.append(f"{where}: the name {dataset.name!r} is shared by {len(found)} data sets")
    return found[0].kind if found else "text"


def _check_file(path: str, where: str, faults: list[str]) -> str:
    if not os.path.exists(path):
        faults.append(f"{where}: there is no file {path}")
        return "text"
    try:
        return "numeric" if detect_format(path, None) == "svmlight" else "text"
    except CordwoodError as error:
        faults.append(f"{where}: {error}")
        return "text"


def _check_text(text: Mapping[str, Any]) -> Iterator[str]:
    """Yield a sentence for each text setting that is none, or else for the first wrong value."""
    settable = TextVectorizer().get_params()
    unknown = [name for name in text if name not in settable]
    for name in unknown:
        yield f"text: there is no key {name!r}; {recipes.nearest(name, settable)}"
    if unknown:
        return
    preset = text.get("preset", "auto")
    if preset != "auto" and preset not in PRESETS:
        yield f"text: there is no preset {preset!r}; {recipes.nearest(str(preset), PRESETS)}"
        return
    try:
        asked = {name: value for name, value in text.items() if name != "preset"}
        resolve("sigir17" if preset == "auto" else preset, asked)
    except CordwoodError as error:
        yield f"text: {error}"


def _resolve_learner(
    learner: Learner, where: str, protocol: Protocol | None, faults: list[str]
) -> Learner:
    """Give a learner's parameters their full names; add a sentence to `faults` for each wrong."""
    try:
        words = recipes.find(learner.recipe).text != "none"
        recipes.make(learner.recipe, words=words)  # complains of a missing package
    except CordwoodError as error:
        faults.append(f"{where}: {error}")
        return learner
    given = recipes.grid(learner.recipe) if "paper" in learner.grid else learner.grid
    params = _full_names(learner.recipe, learner.params, f"{where}, params", faults)
    grid = _full_names(learner.recipe, given, f"{where}, grid", faults)
    for param in params.keys() & grid.keys():
        faults.append(f"{where}: {param} is both in params and in grid; leave one out")
    if protocol is not None:
        prescribed = protocol.params.get(learner.recipe, {})
        params = {**{p: v for p, v in prescribed.items() if p not in grid}, **params}
    return learner.model_copy(
        update={"params": params, "grid": {param: list(values) for param, values in grid.items()}}
    )


def _full_names(
    recipe: str, params: Mapping[str, Any], where: str, faults: list[str]
) -> dict[str, Any]:
    found = {}
    for param, value in params.items():
        try:
            full = recipes.full_name(recipe, param)
        except CordwoodError as error:
            faults.append(f"{where}: {error}")
            continue
        if full in found:
            faults.append(f"{where}: {full} is given twice")
        found[full] = value
    return found


def _find_clashes(plan: Plan) -> Iterator[str]:
    """Yield what is wrong between parts of a plan that are each right."""
    tables: tuple[tuple[str, tuple[Dataset, ...] | tuple[Learner, ...]], ...] = (
        ("data sets", plan.datasets),
        ("learners", plan.learners),
    )
    for what, parts in tables:
        names = [part.name for part in parts]
        for name in sorted({name for name in names if names.count(name) > 1}):
            yield f"{names.count(name)} {what} have the name {name!r}; give each its own"
    for learner in plan.learners:
        if learner.recipe not in recipes.names() or recipes.find(learner.recipe).text != "none":
            continue
        for dataset in plan.datasets:
            if dataset.kind == "text":
                yield (
                    f"recipe {learner.recipe!r} learns from dense numbers only, and data set "
                    f"{dataset.name!r} holds text; leave one of them out"
                )


def _plain(table: Mapping[str, Any]) -> dict[str, Any]:
    """Refuse what JSON cannot hold, such as the dates of TOML."""
    for name, value in table.items():
        try:
            json.dumps(value, allow_nan=False)
        except (TypeError, ValueError):
            raise ValueError(
                f"gives {name} as {value!r}; use text, finite numbers, true or false, or lists"
            ) from None
    return dict(table)


_TABLES: Mapping[str, type[_Table]] = {
    "evaluation": Evaluation,
    "tuning": Tuning,
    "datasets": Dataset,
    "learners": Learner,
}
_EXPECTED = {
    "dict_type": "a table",
    "float_type": "a number",
    "int_type": "a whole number",
    "mapping_type": "a table",
    "model_type": "a table",
    "string_type": "a string",
    "tuple_type": "a list",
}


def _sentence(fault: Mapping[str, Any]) -> str:
    """Say what pydantic found wrong, where, and what would be right."""
    *parents, last = fault["loc"] or ("the plan",)
    kind, given, context = fault["type"], fault["input"], fault.get("ctx", {})
    if kind == "extra_forbidden":
        table = _TABLES[str(parents[0])] if parents else Plan
        near = recipes.nearest(str(last), table.model_fields)
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


def _join(faults: Sequence[str]) -> CordwoodError:
    if len(faults) == 1:
        return CordwoodError(faults[0])
    listed = "; ".join(f"({n}) {fault}" for n, fault in enumerate(faults, start=1))
    return CordwoodError(f"{len(faults)} things are wrong with the plan: {listed}")
