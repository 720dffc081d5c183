"""Protocol files: defaults that several plans share.

A plan names a protocol file by its path relative to the plan, ``protocol = "protocols/cv10.toml"``.
The plan takes from it whatever it does not set itself::

    [evaluation]                # as in a plan
    folds = 10

    [tuning]                    # as in a plan
    folds = 10

    [vectorizer]                # as in a plan
    preset = "sigir15"

    [[datasets]]                # further vectorizer parameters of some data sets
    names = ["tweets", "forum_*"]
    vectorizer = {preset = "social"}

    [recipes.nb]                # parameters and the default grid of a recipe
    params = {vectorizer__weighting = "tf"}
    grid = {alpha = [0.1, 1.0]}
"""

import os
import tomllib
from collections.abc import Collection, Mapping
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from pydantic import StrictStr, ValidationError, field_validator

from cordwood import recipes
from cordwood.compare.config.config_errors import describe_error
from cordwood.compare.config.schema import (
    ConfigTable,
    EvaluationConfig,
    TuningConfig,
    check_json,
    check_lists,
)
from cordwood.exceptions import CordwoodError


class DatasetDefaults(ConfigTable):
    """Vectorizer parameters of some data sets.

    Parameters
    ----------
    names : tuple of str
        Registered names of data sets, or glob patterns such as "forum_*".
    vectorizer : dict
        Parameters of `TextVectorizer`, which override those of the protocol.
    """

    names: tuple[StrictStr, ...]
    vectorizer: dict[str, Any]

    @field_validator("vectorizer")
    @classmethod
    def _check_vectorizer(cls, params: dict[str, Any]) -> dict[str, Any]:
        return check_json(params)


class RecipeDefaults(ConfigTable):
    """Parameters and grid of a recipe.

    Parameters
    ----------
    params : dict, default={}
        Parameters by their full names, for learners that neither set nor tune them.
    grid : dict of str to list, default={}
        What ``grid = "default"`` stands for.
    """

    params: dict[str, Any] = {}
    grid: dict[str, Any] = {}

    @field_validator("params")
    @classmethod
    def _check_params(cls, params: dict[str, Any]) -> dict[str, Any]:
        return check_json(params)

    @field_validator("grid", mode="before")
    @classmethod
    def _check_grid(cls, grid: Any) -> Any:
        return check_lists(grid, "a table of lists")


class Protocol(ConfigTable):
    """Defaults of a plan.

    Parameters
    ----------
    evaluation, tuning : dict, default={}
        Values of the tables `EvaluationConfig` and `TuningConfig`.
    vectorizer : dict, default={}
        Parameters of `TextVectorizer`.
    datasets : tuple of DatasetDefaults, default=()
        Vectorizer parameters of some data sets; of several entries that match, the first counts.
    recipes : dict of str to RecipeDefaults, default={}
        Parameters and grids by the names of recipes.
    """

    evaluation: dict[str, Any] = {}
    tuning: dict[str, Any] = {}
    vectorizer: dict[str, Any] = {}
    datasets: tuple[DatasetDefaults, ...] = ()
    recipes: dict[StrictStr, RecipeDefaults] = {}

    @field_validator("vectorizer")
    @classmethod
    def _check_vectorizer(cls, params: dict[str, Any]) -> dict[str, Any]:
        return check_json(params)

    @field_validator("recipes")
    @classmethod
    def _check_recipes(cls, table: dict[str, RecipeDefaults]) -> dict[str, RecipeDefaults]:
        for name in table:
            if name not in recipes.names():
                near = recipes.nearest(name, recipes.names())
                raise ValueError(f"has an unknown recipe {name!r}; {near}")
        return table

    def fill(self, plan: Mapping[str, Any]) -> dict[str, Any]:
        """Return a plan's tables with the evaluation and tuning that it leaves open.

        Values for another kind of evaluation or tuning are not taken over: ten folds of a
        stratified cross-validation mean nothing for a fixed split.
        """
        filled = dict(plan)
        for name, defaults, table in (
            ("evaluation", self.evaluation, EvaluationConfig),
            ("tuning", self.tuning, TuningConfig),
        ):
            given = plan.get(name, {})
            if not isinstance(given, Mapping) or not defaults:
                continue
            default_kind = defaults.get("kind", table.model_fields["kind"].default)
            kind = given.get("kind", default_kind)
            same = _without_repeats(kind) == _without_repeats(default_kind)
            filled[name] = {**(defaults if same else {}), **given}
        return filled

    def vectorizer_params(self, dataset: str) -> dict[str, Any]:
        """Return the vectorizer parameters of a data set, by its registered name."""
        for entry in self.datasets:
            if any(fnmatchcase(dataset, pattern) for pattern in entry.names):
                return {**self.vectorizer, **entry.vectorizer}
        return dict(self.vectorizer)


def _without_repeats(kind: Any) -> Any:
    return "stratified" if kind == "repeated" else kind


_KEYS: Mapping[str, Collection[str]] = {
    "": Protocol.model_fields,
    "datasets": DatasetDefaults.model_fields,
    "recipes": RecipeDefaults.model_fields,
    "evaluation": EvaluationConfig.model_fields,
    "tuning": TuningConfig.model_fields,
}


def load_protocol(path: str | os.PathLike[str]) -> Protocol:
    """Read and validate a protocol file.

    Parameters
    ----------
    path : path
        A TOML file.

    Returns
    -------
    Protocol

    Raises
    ------
    CordwoodError
        Naming the file and what is wrong in it.
    """
    mapping = read_toml(path, "protocol")
    try:
        protocol = Protocol.model_validate(mapping)
    except ValidationError as error:
        raise _first_error(path, error) from None
    tables = ((EvaluationConfig, "evaluation"), (TuningConfig, "tuning"))
    for table, name in tables:
        try:
            table.model_validate(getattr(protocol, name))
        except ValidationError as error:
            raise _first_error(path, error, name) from None
    return protocol


def read_toml(path: str | os.PathLike[str], what: str) -> dict[str, Any]:
    """Read a TOML file; raise CordwoodError naming `what` it is and its path."""
    try:
        return tomllib.loads(Path(path).read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise CordwoodError(
            f"the {what} {path} cannot be read: {error.strerror or error}"
        ) from error
    except UnicodeDecodeError as error:
        raise CordwoodError(
            f"the {what} {path} is not UTF-8 at byte {error.start + 1}; save it as UTF-8"
        ) from error
    except tomllib.TOMLDecodeError as error:
        raise CordwoodError(f"the {what} {path} is not valid TOML: {error}") from error


def _first_error(
    path: str | os.PathLike[str], error: ValidationError, *parents: str
) -> CordwoodError:
    details = dict(error.errors()[0])
    details["loc"] = (*parents, *error.errors()[0]["loc"])
    return CordwoodError(f"protocol {path}: {describe_error(details, _KEYS)}")
