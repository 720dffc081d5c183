"""Protocol files: defaults that several plans share.

A plan takes from its protocol whatever it does not set itself; see ``docs/plans.md``.
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
from cordwood.compare.config.external_estimator import to_absolute
from cordwood.compare.config.schema import (
    ConfigTable,
    EvaluationConfig,
    Grid,
    JsonTable,
    TuningConfig,
)
from cordwood.exceptions import CordwoodError


class DatasetDefaults(ConfigTable):
    """Vectorizer parameters of some data sets."""

    # Registered names, or glob patterns such as "forum_*".
    names: tuple[StrictStr, ...]
    vectorizer: JsonTable


class RecipeDefaults(ConfigTable):
    """Parameters of a recipe for learners that do not set them, and its default grid."""

    params: JsonTable = {}
    grid: Grid = {}


class Protocol(ConfigTable):
    """Defaults of a plan."""

    evaluation: dict[str, Any] = {}
    tuning: dict[str, Any] = {}
    procedure: StrictStr | None = None
    vectorizer: JsonTable = {}
    datasets: tuple[DatasetDefaults, ...] = ()  # of several that match, the first counts
    recipes: dict[StrictStr, RecipeDefaults] = {}

    @field_validator("recipes")
    @classmethod
    def _check_recipes(cls, table: dict[str, RecipeDefaults]) -> dict[str, RecipeDefaults]:
        for name in table:
            if name not in recipes.names():
                near = recipes.nearest(name, recipes.names())
                raise ValueError(f"has an unknown recipe {name!r}; {near}")
        return table

    def fill(self, plan: Mapping[str, Any]) -> dict[str, Any]:
        """Return a plan's tables with the evaluation, tuning and procedure that it leaves open."""
        filled = dict(plan)
        if self.procedure is not None:
            filled.setdefault("procedure", self.procedure)
        for name, defaults, table in (
            ("evaluation", self.evaluation, EvaluationConfig),
            ("tuning", self.tuning, TuningConfig),
        ):
            given = plan.get(name, {})
            if not isinstance(given, Mapping) or not defaults:
                continue
            default_kind = defaults.get("kind", table.model_fields["kind"].default)
            kind = given.get("kind", default_kind)
            # Ten folds of a stratified cross-validation mean nothing for a fixed split.
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
    """Read and validate a protocol file."""
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
    if protocol.procedure is None:
        return protocol
    procedure = to_absolute(protocol.procedure, Path(path).parent)
    return protocol.model_copy(update={"procedure": procedure})


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
