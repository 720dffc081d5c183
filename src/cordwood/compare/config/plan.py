"""Plan files: which learners are compared on which data sets, and how.

A plan is a TOML file, see ``docs/plans.md``. It is validated completely before anything runs.
"""

import hashlib
import json
import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any, Literal, NamedTuple

from pydantic import Field, StrictInt, StrictStr, ValidationError, field_validator

from cordwood import recipes
from cordwood.compare.config.config_errors import describe_error, join_errors
from cordwood.compare.config.external_estimator import (
    full_name,
    load_factory,
    make_pipeline,
    to_absolute,
)
from cordwood.compare.config.protocol import Protocol, load_protocol, read_toml
from cordwood.compare.config.schema import (
    READ_KEYS,
    ConfigTable,
    DatasetConfig,
    EvaluationConfig,
    JsonTable,
    LearnerConfig,
    TuningConfig,
    expand_categories,
)
from cordwood.datasets.file_source import detect_format
from cordwood.datasets.registry import DatasetInfo, list_datasets
from cordwood.exceptions import CordwoodError
from cordwood.text.languages import check_language
from cordwood.text.presets import PRESETS, apply_language, check_auto_for, resolve_params
from cordwood.text.vectorizer import TextVectorizer

_FILE_COLUMNS = ("text", "label", "split", "weight", "time")
# The limits of files do not change what is read.
_FILE_LIMITS = ("n_features", "max_bytes", "max_row_length")

MULTILABEL_METRICS = ("samples_f1", "subset_accuracy", "ranking_precision")
"""Metrics of data sets with several labels per sample only."""


class Plan(ConfigTable):
    """Learners, data sets, and how the learners are compared."""

    name: StrictStr = "comparison"
    protocol: StrictStr | None = None
    seed: StrictInt = Field(default=42, ge=0, lt=2**32)
    metric: Literal[
        "micro_f1", "macro_f1", "f1", "samples_f1", "subset_accuracy", "ranking_precision"
    ] = "micro_f1"
    evaluation: EvaluationConfig = EvaluationConfig()
    tuning: TuningConfig = TuningConfig()
    # Import path of a `cordwood.compare.runner.procedure.Procedure`, and its input.
    procedure: StrictStr | None = None
    options: JsonTable = {}
    vectorizer: JsonTable = {}
    datasets: tuple[DatasetConfig, ...]
    learners: tuple[LearnerConfig, ...]

    @field_validator("datasets", mode="before")
    @classmethod
    def _expand_categories(cls, datasets: Any) -> Any:
        return expand_categories(datasets)

    @field_validator("datasets", "learners")
    @classmethod
    def _check_not_empty(cls, tables: tuple[Any, ...]) -> tuple[Any, ...]:
        # Field(min_length=1) would also report a list whose only table is invalid as empty.
        if not tables:
            raise ValueError("must have at least one entry")
        return tables

    def fingerprint(self) -> str:
        """Return a hash of the plan's content, independent of where its files are."""
        content = self.model_dump(
            mode="json",
            exclude={
                "protocol": True,
                "procedure": True,
                "datasets": {"__all__": {"path", "read"}},
            },
        )
        for table, dataset in zip(content["datasets"], self.datasets, strict=True):
            options = asdict(dataset.read)
            table |= {key: options[key] for key in READ_KEYS if key not in _FILE_LIMITS}
        return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


_KEYS = {
    "": Plan.model_fields,
    "evaluation": EvaluationConfig.model_fields,
    "tuning": TuningConfig.model_fields,
    "datasets": [
        *READ_KEYS,
        *(key for key in DatasetConfig.model_fields if key != "read"),
        "categories",
    ],
    "learners": LearnerConfig.model_fields,
}


def load_plan(
    path: str | os.PathLike[str],
    *,
    data_dir: str | os.PathLike[str] | None = None,
    lookup_only: bool = False,
) -> Plan:
    """Read and validate a TOML file; paths in it are relative to its folder."""
    file = Path(path)
    mapping = read_toml(path, "plan")
    try:
        return parse_plan(
            {"name": file.stem, **mapping},
            folder=file.parent,
            data_dir=data_dir,
            lookup_only=lookup_only,
        )
    except CordwoodError as error:
        raise CordwoodError(f"{path}: {error}") from error


def parse_plan(
    mapping: Mapping[str, Any],
    *,
    folder: str | os.PathLike[str] = ".",
    data_dir: str | os.PathLike[str] | None = None,
    lookup_only: bool = False,
) -> Plan:
    """Build a plan from tables and lists and validate it.

    Adds the values of the protocol, full parameter names, and the kind and the complete vectorizer
    parameters of each data set. With `lookup_only`, which serves to look up results, data sets and
    packages of learners may be missing: data sets then hold text unless the plan states another
    `kind`, and parameters must have their full names.

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
    name = mapping.get("protocol")
    protocol = load_protocol(Path(folder, name)) if isinstance(name, str) else Protocol()
    try:
        plan = Plan.model_validate(protocol.fill(mapping))
    except ValidationError as error:
        raise join_errors([describe_error(dict(each), _KEYS) for each in error.errors()]) from None
    errors = list(_check_vectorizer(plan.vectorizer))
    context = _Context(Path(folder), protocol, lookup_only, {}, errors)
    for info in list_datasets(data_dir):
        context.registered.setdefault(info.name, []).append(info)
    plan = plan.model_copy(
        update={
            "procedure": plan.procedure and to_absolute(plan.procedure, Path(folder)),
            "datasets": tuple(
                _resolve_dataset(plan, index, context) for index in range(len(plan.datasets))
            ),
            "learners": tuple(
                _resolve_learner(learner, f"learner {number}", context)
                for number, learner in enumerate(plan.learners, start=1)
            ),
        }
    )
    errors.extend(_check_consistency(plan))
    if errors:
        raise join_errors(errors)
    return plan


class _Context(NamedTuple):
    """What the tables of a plan are resolved with; errors are collected in `errors`."""

    folder: Path
    protocol: Protocol
    lookup_only: bool
    registered: dict[str, list[DatasetInfo]]
    errors: list[str]


def _resolve_dataset(plan: Plan, index: int, context: _Context) -> DatasetConfig:
    """Complete a data set: absolute path, kind and vectorizer parameters."""
    dataset = plan.datasets[index]
    where = f"data set {index + 1}"
    update: dict[str, Any] = {}
    if dataset.path is None:
        update["kind"] = _check_name(dataset, where, context)
    else:
        update["path"] = tuple(os.path.abspath(context.folder / path) for path in dataset.path)
        update["kind"] = _check_files(dataset, update["path"], where, context)
    defaults = context.protocol.vectorizer_params(dataset.registered_name)
    params = {**defaults, **plan.vectorizer, **dataset.vectorizer}
    # Errors of the plan's own table are reported once, not for each data set.
    checked = dataset.vectorizer if any(_check_vectorizer(plan.vectorizer)) else params
    context.errors.extend(f"{where}, {error}" for error in _check_vectorizer(checked))
    if "kind" in dataset.model_fields_set and dataset.kind != update["kind"]:
        context.errors.append(
            f"{where}: kind is {dataset.kind!r}, but the data set is {update['kind']}"
        )
    update["vectorizer"] = params if update["kind"] == "text" else {}
    return dataset.model_copy(update=update)


def _check_name(dataset: DatasetConfig, where: str, context: _Context) -> str:
    """Look up a registered data set and return its kind."""
    for column in _FILE_COLUMNS:
        if column in dataset.read.given:
            context.errors.append(f"{where}: {column} names a column, which needs a path to a file")
    if dataset.read.label_separator is not None:
        context.errors.append(f"{where}: label_separator applies to files only; add a path")
    name = dataset.registered_name
    found = context.registered.get(name, [])
    if not found:
        if not context.lookup_only:
            near = recipes.nearest(name, context.registered)
            context.errors.append(f"{where}: there is no data set {name!r}; {near}")
        return dataset.kind
    if len(found) > 1:
        context.errors.append(f"{where}: {len(found)} data sets have the name {name!r}")
    return found[0].kind


def _check_files(
    dataset: DatasetConfig, paths: tuple[str, ...], where: str, context: _Context
) -> str:
    """Check the files of a data set and return its kind."""
    missing = [path for path in paths if not os.path.exists(path)]
    if missing:
        if not context.lookup_only:
            context.errors.append(f"{where}: there is no file {missing[0]}")
        return dataset.kind
    try:
        formats = [detect_format(path, dataset.read.format) for path in paths]
        return "numeric" if "svmlight" in formats else "text"
    except CordwoodError as error:
        context.errors.append(f"{where}: {error}")
        return "text"


def _check_vectorizer(params: Mapping[str, Any]) -> Iterator[str]:
    """Yield an error for each unknown parameter, or else for the first invalid value."""
    valid = TextVectorizer().get_params()
    unknown = [name for name in params if name not in valid]
    for name in unknown:
        yield f"vectorizer: there is no key {name!r}; {recipes.nearest(name, valid)}"
    if unknown:
        return
    preset = params.get("preset", "auto")
    if preset != "auto" and preset not in PRESETS:
        yield f"vectorizer: there is no preset {preset!r}; {recipes.nearest(str(preset), PRESETS)}"
        return
    own = ("preset", "auto_for", "language")
    given = {name: value for name, value in params.items() if name not in own}
    preset = "sigir17" if preset == "auto" else preset
    try:
        check_auto_for(params.get("auto_for", "trees"))
        if (language := params.get("language")) is not None:
            check_language(language)
        resolve_params(preset, apply_language(preset, [], given, language)[0])
    except CordwoodError as error:
        yield f"vectorizer: {error}"


# Parameters of `TextClassifier` that plans do not have, and what to do instead.
_NOT_COMPARED = {
    "decision": "it scores the most probable classes, so evaluate the decision of a trained model",
    "columns": "it reads texts or numbers, so evaluate the model of a table by cross_val_score",
    "class_descriptions": "evaluate such a model by cross_val_score",
}


def _resolve_learner(learner: LearnerConfig, where: str, context: _Context) -> LearnerConfig:
    """Expand the names of a learner's parameters and fill in the protocol's."""
    grid, numeric_grid = learner.grid, learner.numeric_grid
    defaults = context.protocol.recipes.get(learner.recipe or "")
    update: dict[str, Any] = {}
    folder = None
    try:
        if learner.estimator is not None:
            update["estimator"], folder = _locate(learner.estimator, context.folder)
            if "default" in grid:
                raise CordwoodError("grid = 'default' needs a recipe; list the values of the grid")
            expand = _estimator_names(update["estimator"], folder)
        else:
            recipe = recipes.find(str(learner.recipe))
            for param, advice in _NOT_COMPARED.items():
                if param in learner.params:
                    raise CordwoodError(f"a comparison has no {param}; {advice}")
            if "default" in grid:
                numeric_grid = {**recipe.numeric_grid, **numeric_grid}
                grid = defaults.grid if defaults and defaults.grid else dict(recipe.grid)
            expand = _recipe_names(learner)
    except CordwoodError as error:
        if not context.lookup_only or learner.recipe not in (None, *recipes.names()):
            context.errors.append(f"{where}: {error}")
            return learner
        expand = str  # the package is missing: names must be full ones
    rename = partial(_expand_names, expand, context.errors)
    params = rename(learner.params, f"{where}, params")
    grid = rename(grid, f"{where}, grid")
    numeric_grid = rename(numeric_grid, f"{where}, numeric_grid")
    tuned = {**grid, **numeric_grid}
    for param in params.keys() & tuned.keys():
        context.errors.append(f"{where}: {param} is both in params and in grid; remove one")
    if defaults is not None:
        params = {**{p: v for p, v in defaults.params.items() if p not in tuned}, **params}
    update.update(params=params, grid=_as_lists(grid), numeric_grid=_as_lists(numeric_grid))
    resolved = learner.model_copy(update=update)
    resolved._folder = folder
    return resolved


def _locate(reference: str, folder: Path) -> tuple[str, str | None]:
    """Split the path of an estimator's file into its name and its folder."""
    if not reference.rpartition(":")[0].endswith(".py"):
        return reference, None
    path = Path(to_absolute(reference, folder))
    return path.name, str(path.parent)


def _estimator_names(reference: str, folder: str | None) -> Callable[[str], str]:
    return partial(full_name, make_pipeline(reference, folder))


def _recipe_names(learner: LearnerConfig) -> Callable[[str], str]:
    members = learner.params.get("members")
    given: dict[str, Any] = {} if members is None else {"members": members}
    recipes.make(str(learner.recipe), **given)  # raises if a package is missing
    return partial(recipes.full_name, str(learner.recipe), members=members)


def _as_lists(grid: Mapping[str, Any]) -> dict[str, list[Any]]:
    return {param: list(values) for param, values in grid.items()}


def _expand_names(
    expand: Callable[[str], str], errors: list[str], params: Mapping[str, Any], where: str
) -> dict[str, Any]:
    expanded = {}
    for param, value in params.items():
        try:
            name = expand(param)
        except CordwoodError as error:
            errors.append(f"{where}: {error}")
            continue
        if name in expanded:
            errors.append(f"{where}: {name} is given twice")
        expanded[name] = value
    return expanded


def _check_consistency(plan: Plan) -> Iterator[str]:
    """Yield the errors between tables that are valid by themselves."""
    tables: tuple[tuple[str, tuple[DatasetConfig, ...] | tuple[LearnerConfig, ...]], ...] = (
        ("data sets", plan.datasets),
        ("learners", plan.learners),
    )
    for what, entries in tables:
        names = [entry.name for entry in entries]
        for name in sorted({name for name in names if names.count(name) > 1}):
            yield f"{names.count(name)} {what} have the name {name!r}; names must be unique"
    without = [dataset.name for dataset in plan.datasets if dataset.category is None]
    if plan.metric == "f1" and without:
        yield f"metric = 'f1' needs a category, and data set {without[0]!r} has none"
    grouped = [each for each in plan.datasets if each.read.group is not None or each.group_pattern]
    if grouped and plan.evaluation.kind != "grouped":
        key = "group_pattern" if grouped[0].read.group is None else "group"
        yield (
            f"data set {grouped[0].name!r} has a {key}, which needs evaluation.kind = 'grouped'; "
            f"the kind is {plan.evaluation.kind!r}"
        )
    if plan.procedure is not None:
        yield from load_factory(plan.procedure, what="procedure")().check(plan)
        return
    if plan.evaluation.kind == "fixed" and plan.evaluation.repeats != 1:
        yield "evaluation repeats has no effect with kind = 'fixed'; leave it out"
    if plan.options:
        yield "options need a procedure, and the plan has none"
