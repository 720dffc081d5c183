"""Plans: which learners are compared on which data sets, how, and with what parameters.

A plan is a TOML file. Everything that can be wrong with it is said before anything runs.
"""

import hashlib
import json
import os
import tomllib
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any, Literal, NamedTuple

from pydantic import Field, StrictInt, StrictStr, ValidationError, field_validator

from cordwood import recipes
from cordwood.compare.config.config_errors import describe, join
from cordwood.compare.config.schema import (
    Dataset,
    Evaluation,
    Learner,
    Table,
    Tuning,
    part_categories,
    plain,
)
from cordwood.compare.reproduction.effects import find_gaps
from cordwood.compare.reproduction.protocols import NUMERIC, PROTOCOLS, SENTIMENT, Protocol
from cordwood.datasets.readers import detect_format
from cordwood.datasets.registry import DatasetInfo, list_datasets
from cordwood.exceptions import CordwoodError
from cordwood.text.presets import PRESETS, resolve
from cordwood.text.vectorizer import TextVectorizer

_COLUMNS = ("text_columns", "label", "group", "split")


class Plan(Table):
    """Learners, data sets, and how they are compared.

    Parameters
    ----------
    name : str
        A title for people.
    protocol : str, optional
        The name of a protocol; what it prescribes is filled in where the plan says nothing.
    seed : int
        Of everything that is drawn at random.
    metric : {"micro_f1", "macro_f1", "f1"}
        What tuning selects by. The last is that of a category alone, and wants data sets with one.
    evaluation, tuning
        See `Evaluation` and `Tuning`.
    text : dict
        Parameters of `TextVectorizer` for every learner, but those that prepare text in a way of
        their own (`lr`). In a plan that was read, each data set has them, with its own on top.
    datasets, learners
        At least one of each; see `Dataset` and `Learner`.
    factors : tuple of str
        Parameters that are true or false, of which the learners have every combination: the effect
        of each, and of several together, is told. None, by default.
    """

    _told_if_set = frozenset({"factors"})

    name: StrictStr = "comparison"
    protocol: StrictStr | None = None
    seed: StrictInt = Field(default=42, ge=0, lt=2**32)
    metric: Literal["micro_f1", "macro_f1", "f1"] = "micro_f1"
    evaluation: Evaluation = Evaluation()
    tuning: Tuning = Tuning()
    text: dict[str, Any] = {}
    datasets: tuple[Dataset, ...]
    learners: tuple[Learner, ...]
    factors: tuple[StrictStr, ...] = ()

    @field_validator("text")
    @classmethod
    def _check_plain(cls, settings: dict[str, Any]) -> dict[str, Any]:
        return plain(settings)

    @field_validator("datasets", mode="before")
    @classmethod
    def _part_categories(cls, datasets: Any) -> Any:
        return part_categories(datasets)

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


_KEYS = {
    "": Plan.model_fields,
    "evaluation": Evaluation.model_fields,
    "tuning": Tuning.model_fields,
    "datasets": (*Dataset.model_fields, "categories"),
    "learners": Learner.model_fields,
}


def load_plan(
    path: str | os.PathLike[str],
    *,
    data_dir: str | os.PathLike[str] | None = None,
    absent_data: bool = False,
) -> Plan:
    """Read a plan from a TOML file and check all of it.

    Parameters
    ----------
    path : path
        The file. Paths of data sets in it are relative to its folder.
    data_dir : path, optional
        The data folder; see `cordwood.datasets.registry.list_datasets`.
    absent_data : bool, default=False
        Whether data sets may be absent; see `parse_plan`.

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
        return parse_plan(
            {"name": file.stem, **mapping},
            folder=file.parent,
            data_dir=data_dir,
            absent_data=absent_data,
        )
    except CordwoodError as error:
        raise CordwoodError(f"{path}: {error}") from error


def parse_plan(
    mapping: Mapping[str, Any],
    *,
    folder: str | os.PathLike[str] = ".",
    data_dir: str | os.PathLike[str] | None = None,
    absent_data: bool = False,
) -> Plan:
    """Make a plan of tables and lists, and check all of it.

    Parameters
    ----------
    mapping : mapping
        What a plan file holds.
    folder : path
        What the paths of data sets are relative to.
    data_dir : path, optional
        The data folder; see `cordwood.datasets.registry.list_datasets`.
    absent_data : bool, default=False
        Whether data sets may be absent, as where results are only looked up. What the plan says of
        them is then believed; the papers' tables of numbers are known as such, and other sets
        hold text unless the plan gives their `kind`.

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
    cordwood.exceptions.CordwoodError: learner 1: unknown recipe 'smv'; did you mean 'svm'?
    """
    protocol = _find_protocol(mapping.get("protocol"))
    try:
        plan = Plan.model_validate(mapping if protocol is None else _fill(mapping, protocol))
    except ValidationError as error:
        raise join([describe(dict(fault), _KEYS) for fault in error.errors()]) from None
    faults = list(_check_text(plan.text))
    sources = _Sources({}, Path(folder), absent_data)
    for info in list_datasets(data_dir):
        sources.known.setdefault(info.name, []).append(info)
    plan = plan.model_copy(
        update={
            "datasets": tuple(
                _resolve_dataset(plan, n, sources, protocol, faults)
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
        raise join(faults)
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


class _Sources(NamedTuple):
    """Where data sets are looked for."""

    known: dict[str, list[DatasetInfo]]
    folder: Path
    may_be_absent: bool


def _resolve_dataset(
    plan: Plan,
    position: int,
    sources: _Sources,
    protocol: Protocol | None,
    faults: list[str],
) -> Dataset:
    """Complete a data set of the plan; add a sentence to `faults` for each that is wrong."""
    dataset = plan.datasets[position]
    where = f"data set {position + 1}"
    update: dict[str, Any] = {}
    if dataset.path is None:
        update["kind"] = _check_name(dataset, where, sources, faults)
    else:
        update["path"] = os.path.abspath(sources.folder / dataset.path)
        update["kind"] = _check_file(dataset, update["path"], where, sources, faults)
    prescribed: Mapping[str, Any] = {}
    if protocol is not None:
        prescribed = protocol.sentiment if dataset.known_as in SENTIMENT else protocol.text
    text = {**prescribed, **plan.text, **dataset.text}
    # What is wrong for all data sets was said once.
    checked = dataset.text if any(_check_text(plan.text)) else text
    faults.extend(f"{where}, {fault}" for fault in _check_text(checked))
    if "kind" in dataset.model_fields_set and dataset.kind != update["kind"]:
        faults.append(f"{where}: kind is {dataset.kind!r}, but the rows are {update['kind']}")
    update["text"] = text if update["kind"] == "text" else {}
    return dataset.model_copy(update=update)


def _check_name(dataset: Dataset, where: str, sources: _Sources, faults: list[str]) -> str:
    for column in _COLUMNS:
        if getattr(dataset, column) is not None:
            said = "text" if column == "text_columns" else column
            faults.append(f"{where}: {said} names a column, which needs a path to a file")
    name = dataset.known_as
    found = sources.known.get(name, [])
    if not found:
        if not sources.may_be_absent:
            near = recipes.nearest(name, sources.known)
            faults.append(f"{where}: there is no data set {name!r}; {near}")
        return _believed_kind(dataset)
    if len(found) > 1:
        faults.append(f"{where}: the name {name!r} is shared by {len(found)} data sets")
    return found[0].kind


def _believed_kind(dataset: Dataset) -> str:
    if "kind" in dataset.model_fields_set:
        return dataset.kind
    return "numeric" if dataset.known_as in NUMERIC else "text"


def _check_file(
    dataset: Dataset, path: str, where: str, sources: _Sources, faults: list[str]
) -> str:
    if not os.path.exists(path):
        if not sources.may_be_absent:
            faults.append(f"{where}: there is no file {path}")
        return _believed_kind(dataset)
    try:
        return "numeric" if detect_format(path, dataset.format) == "svmlight" else "text"
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
        recipes.make(learner.recipe)  # complains of a missing package
    except CordwoodError as error:
        faults.append(f"{where}: {error}")
        return learner
    grid, numeric_grid = learner.grid, learner.numeric_grid
    if "paper" in grid:
        grid = recipes.grid(learner.recipe)
        numeric_grid = {**recipes.find(learner.recipe).numeric_grid, **numeric_grid}
    members = learner.params.get("members")
    name = partial(_full_names, learner.recipe, members, faults)
    params = name(learner.params, f"{where}, params")
    grid = name(grid, f"{where}, grid")
    numeric_grid = name(numeric_grid, f"{where}, numeric_grid")
    tuned = {**grid, **numeric_grid}
    for param in params.keys() & tuned.keys():
        faults.append(f"{where}: {param} is both in params and in grid; leave one out")
    if protocol is not None:
        prescribed = protocol.params.get(learner.recipe, {})
        params = {**{p: v for p, v in prescribed.items() if p not in tuned}, **params}
    return learner.model_copy(
        update={"params": params, "grid": _listed(grid), "numeric_grid": _listed(numeric_grid)}
    )


def _listed(grid: Mapping[str, Any]) -> dict[str, list[Any]]:
    return {param: list(values) for param, values in grid.items()}


def _full_names(
    recipe: str, members: Any, faults: list[str], params: Mapping[str, Any], where: str
) -> dict[str, Any]:
    found = {}
    for param, value in params.items():
        try:
            full = recipes.full_name(recipe, param, members=members)
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
    yield from _find_missing_categories(plan)
    if plan.factors:
        yield from find_gaps(plan.factors, plan.learners)


def _find_missing_categories(plan: Plan) -> Iterator[str]:
    needs = {
        "metric 'f1'": plan.metric == "f1",
        "evaluation.positives": bool(plan.evaluation.positives),
    }
    without = [dataset.name for dataset in plan.datasets if dataset.category is None]
    for need, is_there in needs.items():
        if is_there and without:
            yield f"{need} is about one category, and data set {without[0]!r} names none"
    if plan.tuning.threshold and plan.metric != "f1":
        yield f"tuning.threshold serves metric 'f1' only, and the metric is {plan.metric!r}"
