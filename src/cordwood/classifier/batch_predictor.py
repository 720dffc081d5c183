"""Prediction of batches in any process: a model is known by its file and the digest of it."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib import import_module
from threading import RLock
from typing import Any, NamedTuple

import numpy as np

from cordwood._base.labels import is_missing
from cordwood.classifier.files import compute_digest, load_with_card
from cordwood.classifier.text_classifier import TextClassifier
from cordwood.columns.frames import is_table, list_columns, read_columns
from cordwood.confidence.rule import ConfidenceRule
from cordwood.datasets.values import to_list
from cordwood.exceptions import DataError, ModelFileError
from cordwood.metrics.predictions import Predictions, to_object_array
from cordwood.persist import ModelCard

_MAX_MODELS = 4
_RULE = ("coverage", "class_conditional", "min_confidence", "max_error", "unknown")

# A process loads a model once, whatever the number of its threads and of copies of a predictor.
_lock = RLock()


class _Column(NamedTuple):
    """Values of a column of predictions: strings or numbers, or lists of them."""

    kind: type  # str or float
    values: list[Any]  # None for a sample without a text
    has_lists: bool = False


@dataclass(frozen=True)
class BatchPredictor:
    """Function of batches of texts, or of rows of a table, which other processes may call.

    It is pickled as the path of a model file with its SHA-256 digest, not as the model. Each
    process loads the model when it needs it, once, and keeps the last four models; a file that was
    replaced by another one is an error. Engines such as Spark, Dask, Ray, DuckDB and Polars call it
    for each batch, see docs/large-data.md.

    Parameters
    ----------
    path : str or path-like
        Model file of a `TextClassifier`, which every process can read.
    digest : str, default=None
        SHA-256 digest of the file, in hexadecimal. By default it is computed.
    text : str or sequence of str, default=None
        Column of the text in batches that are tables; several are joined. By default the columns
        that `cordwood train` stored in the file, else "text". A model of a table has its own.
    all_probabilities : bool, default=False
        Whether to add the probability of each class, in columns ``probability:CLASS``.
    coverage, class_conditional, min_confidence, max_error, unknown : default=None
        As in `TextClassifier.classify`.

    See Also
    --------
    TextClassifier.classify : Predictions of samples in this process.

    Notes
    -----
    The columns are `label` and `probability`, those of each class, and `set` with a `coverage`;
    with "predicted_" before a name that the batch has already.
    Labels are strings, also "__undecided__" and "__unknown__"; of several labels per sample,
    `label` and `probability` are lists. A missing text has a missing label.

    The result for an empty batch has the columns and types of all others, which is the schema
    that some engines need.

    Examples
    --------
    >>> import pickle, tempfile
    >>> import pandas as pd
    >>> from cordwood import BatchPredictor, TextClassifier
    >>> texts = ["good film", "great film", "bad film", "awful film"] * 5
    >>> model = TextClassifier("nb").fit(texts, ["+", "+", "-", "-"] * 5)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     model.save(f"{folder}/films.cordwood")
    ...     predictor = BatchPredictor(f"{folder}/films.cordwood")
    ...     elsewhere = pickle.loads(pickle.dumps(predictor))
    ...     elsewhere(pd.DataFrame({"id": [7, 8], "text": ["a great film", None]})).round(3)
       id          text label  probability
    0   7  a great film     +        0.997
    1   8           NaN   NaN          NaN
    """

    path: str
    digest: str = ""
    text: Any = None
    all_probabilities: bool = False
    coverage: float | None = None
    class_conditional: bool = False
    min_confidence: float | None = None
    max_error: float | None = None
    unknown: float | None = None

    def __post_init__(self) -> None:
        # Not called when it is unpickled: the errors of a file, a column or a rule are raised here.
        path = os.path.abspath(self.path)
        object.__setattr__(self, "path", path)
        object.__setattr__(self, "digest", self.digest or compute_digest(path))
        if self.text is not None:
            names = (self.text,) if isinstance(self.text, str) else tuple(self.text)
            object.__setattr__(self, "text", names)
        model, _, _ = self._prepare()
        if self.text is not None and model.input_kind_ != "text":
            raise DataError(
                f"text applies to models of texts only, and {path} is not one; leave it out"
            )

    def __call__(self, batch: Any) -> Any:
        """Predict a batch.

        Parameters
        ----------
        batch : table, or sequence of str
            A dataframe of pandas or polars, a table or record batch of pyarrow, or a mapping of
            names to columns; or a column of texts as a list, an array of numpy or pyarrow, or a
            series of pandas or polars. For a model of numeric features, a matrix.

        Returns
        -------
        table or column
            A table with the columns of predictions after those of the batch, of the same library
            and with the same index. For a column of pandas a dataframe, of polars or pyarrow a
            column of structs, and otherwise a dict of arrays.
        """
        model, rule, card = self._prepare()
        is_present: Any = slice(None)
        n_samples = None
        if model.input_kind_ == "text":
            texts = _read_texts(batch, self.text or tuple(card.columns.get("text", ("text",))))
            is_present = [text is not None for text in texts]
            n_samples = len(texts)
            predictions = model.apply_rule([text for text in texts if text is not None], rule)
        else:
            predictions = model.apply_rule(batch, rule)
        kept = list_columns(batch) if is_table(batch) else []
        columns = {
            f"predicted_{name}" if name in kept else name: column._replace(
                values=_spread(column.values, is_present, n_samples)
            )
            for name, column in self._list_columns(predictions).items()
        }
        if twice := [name for name in columns if name in kept]:
            raise DataError(
                f'the batch has a column "{twice[0]}" and one without "predicted_" already; drop '
                "or rename one of them"
            )
        return _append(batch, columns)

    def _prepare(self) -> tuple[TextClassifier, ConfidenceRule, ModelCard]:
        with _lock:
            model, card = load_once(self.path, self.digest)
            rule = tuple(getattr(self, name) for name in _RULE)
            return model, _make_rule(self.path, self.digest, rule), card

    def _list_columns(self, found: Predictions) -> dict[str, _Column]:
        is_multilabel = found.indicators is not None
        labels, confidence = found.decided_labels(), found.confidence.tolist()
        if is_multilabel:
            columns = {
                "label": _Column(str, [[*map(str, each)] for each in labels], True),
                "probability": _Column(float, [[*each] for each in confidence], True),
            }
        else:
            columns = {
                "label": _Column(str, [*map(str, labels)]),
                "probability": _Column(float, confidence),
            }
        if found.sets is not None:
            sets = [[*map(str, each)] for each in found.label_sets()]
            columns["set"] = _Column(str, sets, True)
        if self.all_probabilities:
            for label, proba in zip(found.classes.tolist(), found.proba.T, strict=True):
                columns[f"probability:{label}"] = _Column(float, proba.tolist())
        return columns


@lru_cache(_MAX_MODELS)
def _load(path: str, digest: str) -> tuple[TextClassifier, ModelCard]:
    model, card = load_with_card(path, digest=digest)
    if not isinstance(model, TextClassifier):
        raise ModelFileError(
            f"{path} contains a {type(model).__name__}; batches are predicted by models of "
            "`cordwood train` or TextClassifier.save"
        )
    return model, card


def load_once(path: str, digest: str) -> tuple[TextClassifier, ModelCard]:
    """Return the model of a file with this digest, which a process loads once, and its card."""
    with _lock:
        return _load(path, digest)


@lru_cache(4 * _MAX_MODELS)
def _make_rule(path: str, digest: str, values: tuple[Any, ...]) -> ConfidenceRule:
    return load_once(path, digest)[0].make_rule(**dict(zip(_RULE, values, strict=True)))


def _read_texts(batch: Any, names: Sequence[str]) -> list[str | None]:
    """Return the texts of a batch; None if one of the columns of a text is missing."""
    if isinstance(batch, str | bytes):
        raise TypeError("batch must be a sequence of texts, not a single str; pass [text]")
    columns = read_columns(batch, tuple(names)) if is_table(batch) else {"": to_list(batch)}
    texts: list[str | None] = []
    for position, values in enumerate(zip(*columns.values(), strict=True)):
        if any(map(is_missing, values)):
            texts.append(None)
            continue
        for name, value in zip(columns, values, strict=True):
            if not isinstance(value, str):
                place = f'column "{name}", ' if name else ""
                raise DataError(
                    f"{place}row {position} of the batch: the text is of type "
                    f"{type(value).__name__}, not str; convert it, or set text to another column"
                )
        texts.append("\n".join(values))
    return texts


def _spread(values: list[Any], is_present: Any, n_samples: int | None) -> list[Any]:
    """Put None at the positions of samples without a text."""
    if n_samples in (None, len(values)):
        return values
    rest = iter(values)
    return [next(rest) if present else None for present in is_present]


def _append(batch: Any, columns: Mapping[str, _Column]) -> Any:
    """Append columns to a table, or return those of a column, as its library represents them."""
    library = type(batch).__module__.partition(".")[0]
    if library == "pandas":
        pandas = import_module("pandas")
        types = {str: "str", float: "float64"}
        series = {
            name: pandas.Series(
                column.values, batch.index, "object" if column.has_lists else types[column.kind]
            )
            for name, column in columns.items()
        }
        return batch.assign(**series) if is_table(batch) else pandas.DataFrame(series)
    if library == "polars":
        polars = import_module("polars")
        types = {str: polars.String, float: polars.Float64}
        found = [
            polars.Series(
                name,
                column.values,
                polars.List(types[column.kind]) if column.has_lists else types[column.kind],
            )
            for name, column in columns.items()
        ]
        if is_table(batch):
            return batch.with_columns(*found)
        return polars.DataFrame(found).to_struct(batch.name)
    if library == "pyarrow":
        arrow = import_module("pyarrow")
        types = {str: arrow.string(), float: arrow.float64()}
        arrays = [
            arrow.array(
                column.values,
                arrow.list_(types[column.kind]) if column.has_lists else types[column.kind],
            )
            for column in columns.values()
        ]
        if not is_table(batch):
            return arrow.StructArray.from_arrays(arrays, names=list(columns))
        for name, array in zip(columns, arrays, strict=True):
            batch = batch.append_column(name, array)
        return batch
    plain = {name: _to_array(column) for name, column in columns.items()}
    return {**batch, **plain} if isinstance(batch, Mapping) else plain


def _to_array(column: _Column) -> Any:
    if column.kind is float and not column.has_lists:
        return np.array(column.values, np.float64)  # None is NaN
    return to_object_array(column.values)
