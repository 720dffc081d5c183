"""Models by name, each loaded from a file, and loaded again when the file is replaced."""

import asyncio
import logging
import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from cordwood.classifier.files import compute_digest, load_with_card
from cordwood.classifier.text_classifier import TextClassifier
from cordwood.confidence.rule import ConfidenceRule
from cordwood.datasets.rows import list_names
from cordwood.exceptions import CordwoodError, ModelFileError
from cordwood.explain.explainer import Explainer
from cordwood.explain.explanation import Explanation
from cordwood.serve.batching import count_characters
from cordwood.serve.errors import RequestError
from cordwood.serve.limits import Limits

logger = logging.getLogger("cordwood.serve")

_POLL_SECONDS = 1.0
_KEYS = {"text": "texts", "table": "rows", "numeric": "features"}
_NEEDS = {
    "text": "texts, each a string",
    "table": "rows, each an object with the columns of the table",
    "numeric": "features, each a list of numbers",
}


class Options(NamedTuple):
    """Arguments of `TextClassifier.classify`."""

    coverage: float | None = None
    class_conditional: bool = False
    min_confidence: float | None = None
    max_error: float | None = None
    unknown: float | None = None


class Prediction(NamedTuple):
    """The prediction of one sample, in built-in types."""

    label: Any  # a tuple of several labels, the most probable first
    probability: Any  # of the label, or a tuple of those of several
    proba: list[float]  # in the order of the classes
    set: tuple[Any, ...] | None = None
    is_decided: bool | None = None
    is_in_scope: bool | None = None

    @property
    def labels(self) -> tuple[Any, ...]:
        """The label, or several, as a tuple."""
        return self.label if isinstance(self.label, tuple) else (self.label,)

    @property
    def is_certain(self) -> bool:
        """Whether the label is decided, and the sample like the training samples."""
        return self.is_decided is not False and self.is_in_scope is not False


@dataclass(frozen=True, kw_only=True, eq=False)
class ServedModel:
    """A loaded model, which is never modified: requests keep theirs when the file is replaced."""

    name: str
    path: Path
    version: str
    sha256: str
    classifier: TextClassifier
    text_columns: tuple[str, ...]  # of the training file
    _make_rule: Any = field(init=False, repr=False)

    def __post_init__(self) -> None:
        def make_rule(options: Options) -> ConfidenceRule:
            return self.classifier.make_rule(**options._asdict())

        object.__setattr__(self, "_make_rule", lru_cache(64)(make_rule))

    @property
    def kind(self) -> str:
        """Kind of the samples: "text", "table" or "numeric"."""
        return str(self.classifier.input_kind_)

    @property
    def is_multilabel(self) -> bool:
        """Whether samples have several labels."""
        return self.classifier.target_kind_ != "label"

    @property
    def classes(self) -> list[Any]:
        """The labels, in built-in types."""
        return list(self.classifier.classes_.tolist())

    @property
    def columns(self) -> dict[str, list[str]]:
        """Columns of a table by role; empty for other models."""
        roles = self.classifier.columns_
        return {} if roles is None else roles.to_dict()

    @property
    def column_names(self) -> list[str]:
        """Columns of a table; empty for other models."""
        return [] if self.classifier.columns_ is None else list(self.classifier.columns_.names)

    @property
    def n_features(self) -> int:
        """Number of numeric features."""
        return int(self.classifier.n_features_in_)

    def check(self, samples: Sequence[Any], limits: Limits, *, first: int = 0) -> list[Any]:
        """Return valid samples; raise an error that names the first one that is not."""
        key = _KEYS[self.kind]
        for position, sample in enumerate(samples, first):
            where = f"{key}[{position}]"
            if self.kind == "text" and not isinstance(sample, str):
                raise RequestError(422, f"{where} must be a string; the model takes texts")
            if self.kind == "table":
                self._check_row(where, sample)
            if self.kind == "numeric":
                self._check_features(where, sample)
            n_characters = count_characters(sample)
            if n_characters > limits.text_length:
                raise RequestError(
                    422,
                    f"{where} has {n_characters:,} characters, more than the limit of "
                    f"{limits.text_length:,}; shorten it",
                )
        return list(samples)

    def needs(self) -> str:
        """Name what the model takes."""
        names = f" {list_names(self.column_names)}" if self.kind == "table" else ""
        return _NEEDS[self.kind] + names

    def _check_row(self, where: str, row: Any) -> None:
        if not isinstance(row, dict):
            raise RequestError(422, f"{where} must be an object; the model takes {self.needs()}")
        for name in self.column_names:
            if name not in row:
                raise RequestError(
                    422,
                    f'{where} has no column "{name}", which the model needs; its columns are: '
                    f"{list_names(map(str, row))}",
                )
            if not isinstance(row[name], str | int | float | None):
                raise RequestError(422, f"{where}.{name} must be a string, a number or null")

    def _check_features(self, where: str, values: Any) -> None:
        is_valid = isinstance(values, list | tuple) and all(
            isinstance(value, int | float) and abs(value) < 1e300 for value in values
        )
        if not is_valid or len(values) != self.n_features:
            raise RequestError(422, f"{where} must be a list of {self.n_features} numbers")

    def to_input(self, samples: Sequence[Any]) -> Any:
        """Return samples as the classifier takes them."""
        if self.kind == "table":
            names = self.column_names or list(samples[0])
            return {name: [row.get(name) for row in samples] for name in names}
        return np.array(samples, np.float64) if self.kind == "numeric" else list(samples)

    def predict(self, samples: Sequence[Any], options: Options) -> list[Prediction]:
        """Predict valid samples."""
        found = self.classifier.apply_rule(self.to_input(samples), self._make_rule(options))
        n_samples = len(found)
        no_values = [None] * n_samples
        return list(
            map(
                Prediction,
                found.labels.tolist(),
                found.confidence.tolist(),
                found.proba.tolist(),
                no_values if found.sets is None else found.label_sets(),
                no_values if found.is_decided is None else found.is_decided.tolist(),
                no_values if found.is_in_scope is None else found.is_in_scope.tolist(),
            )
        )

    def explain(self, samples: Sequence[Any]) -> list[Explanation]:
        """Explain the predictions of valid samples."""
        explainer: Explainer = self.classifier.make_explainer()
        X = self.to_input(samples)
        return list(explainer.explain_each(X))

    def find_label(self, label: str) -> Any:
        """Return the class that is spelled so."""
        known = {str(each): each for each in self.classes}
        if label not in known:
            raise RequestError(
                422, f"labels: {label!r} is no class of the model: {list_names(known)}"
            )
        return known[label]


def load_served(path: Path, *, name: str, version: str) -> ServedModel:
    """Load a model file that can be served."""
    digest = compute_digest(path)
    model, card = load_with_card(path, digest=digest)
    if not isinstance(model, TextClassifier):
        raise ModelFileError(
            f"{path} contains a {type(model).__name__}; cordwood serve needs a model of "
            "`cordwood train` or TextClassifier.save"
        )
    return ServedModel(
        name=name,
        path=path,
        version=version,
        sha256=digest,
        classifier=model,
        text_columns=tuple(card.columns.get("text", ())),
    )


class Models:
    """Loaded models by name; the first is the default."""

    def __init__(self, paths: Sequence[Path]) -> None:
        names = [path.stem for path in paths]
        twice = {name for name in names if names.count(name) > 1}
        if twice:
            raise CordwoodError(
                f"several models have the name {min(twice)!r}, that of their files; rename one"
            )
        self._stamps = [_stamp(path) for path in paths]
        loaded = (
            load_served(path, name=name, version="1")
            for path, name in zip(paths, names, strict=True)
        )
        self._models = {model.name: model for model in loaded}

    def __iter__(self) -> Any:
        return iter(self._models.values())

    def get(self, name: str | None) -> ServedModel:
        """Return a model; the default one for None."""
        if name is None:
            return next(iter(self._models.values()))
        if name not in self._models:
            raise RequestError(
                404, f"there is no model {name!r}; there are: {list_names(self._models)}"
            )
        return self._models[name]

    async def watch(self) -> None:
        """Replace models whose files have changed, until it is cancelled."""
        while True:
            await asyncio.sleep(_POLL_SECONDS)
            for position, model in enumerate(list(self._models.values())):
                stamp = _stamp(model.path)
                # A file that is missing, or that changes still, is tried again.
                if stamp is None or stamp == self._stamps[position]:
                    continue
                await asyncio.sleep(_POLL_SECONDS / 4)
                if stamp == _stamp(model.path):
                    self._stamps[position] = stamp
                    await self._replace(model)

    async def _replace(self, model: ServedModel) -> None:
        version = str(int(model.version) + 1)
        try:
            found = await asyncio.to_thread(
                load_served, model.path, name=model.name, version=version
            )
        except (CordwoodError, OSError) as error:
            logger.error("model not replaced", extra={"fields": {"error": str(error)}})
            return
        self._models[model.name] = found
        fields = {"model": found.name, "version": version, "sha256": found.sha256}
        logger.info("model replaced", extra={"fields": fields})


def _stamp(path: Path) -> tuple[int, ...] | None:
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino
