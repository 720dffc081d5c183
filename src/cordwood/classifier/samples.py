"""Samples and labels of a model: which kind they are, decided here and nowhere else.

Samples are texts, rows of a table, or rows of numeric features; a target has one label per sample,
or several, given as lists or as an indicator matrix.
"""

import warnings
from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.utils import column_or_1d

from cordwood._base.labels import check_n_classes, check_no_missing, find_indicators
from cordwood._base.sklearn_private import num_samples
from cordwood._base.voting_classifier import check_classification_labels
from cordwood.columns.converter import TableConverter
from cordwood.columns.detection import detect_columns
from cordwood.columns.frames import count_rows, is_table, read_columns, take_label_column
from cordwood.columns.roles import ColumnRoles, check_columns
from cordwood.datasets.corpus import Corpus, FeatureMatrix
from cordwood.exceptions import DataError
from cordwood.multilabel.indicators import to_indicators

InputKind: TypeAlias = Literal["text", "table", "numeric"]
TargetKind: TypeAlias = Literal["label", "lists", "indicators"]


class TrainingSamples(NamedTuple):
    """Samples and labels as a pipeline takes them, and their kinds."""

    X: Any
    y: NDArray[Any]  # labels, or indicators of shape (n_samples, n_labels)
    classes: NDArray[Any]
    input_kind: InputKind
    target_kind: TargetKind
    roles: ColumnRoles | None  # columns of a table, if they are chosen here
    weights: Any  # of a Corpus or FeatureMatrix

    @property
    def is_multilabel(self) -> bool:
        """Whether samples have several labels."""
        return self.target_kind != "label"

    @property
    def texts(self) -> Sequence[str] | None:
        """The texts, joined for each row of a table; None if there are none."""
        if self.input_kind == "text":
            return self.X  # type: ignore[no-any-return]
        if self.roles is None or not self.roles.text:
            return None
        joined = TableConverter(text=self.roles.text).fit_transform(self.X)
        return [text for (text,) in joined.tolist()]


def read_training_samples(
    data: Any, labels: Any, columns: Any, *, converts_tables: bool
) -> TrainingSamples:
    """Recognize and validate training samples and their labels.

    Columns of a table have roles if it is converted; else the estimator takes it as it is.
    """
    X, kind = read_samples(data)
    y, classes, target_kind = _read_target(data, labels, count_samples(X))
    roles = None
    if converts_tables and (kind == "table" or columns is not None):
        if not is_table(data):
            raise TypeError("columns requires a dataframe or a Corpus; omit it")
        X, kind = data, "table"
        if columns is None or (isinstance(columns, str) and columns == "auto"):
            exclude = [labels] if isinstance(labels, str) else ()
            roles = detect_columns(data, exclude=exclude).roles
        else:
            roles = check_columns(columns)
    weights = getattr(data, "weights", None) if isinstance(data, Corpus | FeatureMatrix) else None
    return TrainingSamples(X, y, classes, kind, target_kind, roles, weights)


def read_samples(data: Any) -> tuple[Any, InputKind]:
    """Return what a pipeline takes, and its kind: the texts of a Corpus are texts."""
    if isinstance(data, Corpus):
        return data.texts, "text"
    if isinstance(data, FeatureMatrix):
        return data.X, "numeric"
    if isinstance(data, str | bytes):
        raise TypeError("X must be a sequence of texts, not a single str; pass [text]")
    if hasattr(data, "__array__") and not (hasattr(data, "__iter__") or is_table(data)):
        data = np.asarray(data)
    # Before the test for a table, because a sparse array of type dok is a mapping.
    if sp.issparse(data) or (isinstance(data, np.ndarray) and data.ndim == 2):
        return data, "numeric"
    if is_table(data):
        return data, "numeric" if _is_unnamed(data) else "table"
    if not hasattr(data, "__len__") and hasattr(data, "__iter__"):
        raise TypeError("X must be a sequence, which has a length, not an iterator; pass a list")
    first = data[0] if isinstance(data, list | tuple | np.ndarray) and len(data) else None
    if isinstance(first, Sequence | np.ndarray) and not isinstance(first, str | bytes):
        return np.asarray(data), "numeric"
    if isinstance(data, np.ndarray) and data.dtype.kind not in "OUT":
        raise ValueError(
            f"Expected 2D array, got {data.ndim}D array instead. Reshape your data to one row per "
            "sample, or pass texts"
        )
    texts = data if isinstance(data, list | tuple) else _to_list(data)
    for position, text in enumerate(texts):
        if not isinstance(text, str):
            raise DataError(
                f"X[{position}] is of type {type(text).__name__}, not str; convert it to str, or "
                "pass numeric features as a matrix"
            )
    return texts, "text"


def _is_unnamed(table: Any) -> bool:
    """Return whether no column of a dataframe of pandas has a name of type str."""
    return hasattr(table, "iloc") and not any(isinstance(name, str) for name in table.columns)


def _to_list(values: Any) -> list[Any]:
    """Return the values as Python objects, which an iteration over pyarrow does not give."""
    for method in ("to_pylist", "to_list"):
        if hasattr(values, method):
            return list(getattr(values, method)())
    return list(values)


def count_samples(X: Any) -> int:
    """Return the number of samples."""
    if isinstance(X, list | tuple):
        return len(X)
    return count_rows(X) if isinstance(X, Mapping) and not sp.issparse(X) else num_samples(X)


def match_samples(
    data: Any, kind: InputKind, roles: ColumnRoles | None, n_features: int | None
) -> Any:
    """Return new samples as the model takes them; raise if it was trained on another kind."""
    X, found = read_samples(data)
    if roles is None and {kind, found} == {"table", "numeric"} and not isinstance(X, Mapping):
        return X  # a matrix, or a dataframe of numbers
    if kind == "table":
        if not is_table(data):
            needed = "" if roles is None else f" with the columns {', '.join(roles.names)}"
            raise DataError(
                f"the model was trained on a table; it needs a dataframe or a Corpus{needed}"
            )
        return data
    if found != kind:
        names = {"text": "texts", "table": "a table", "numeric": "numeric features"}
        hint = "; pass the column of texts as a list" if found == "table" else ""
        raise DataError(
            f"the model was trained on {names[kind]}; it cannot predict {names[found]}{hint}"
        )
    if isinstance(data, FeatureMatrix) and n_features is not None:
        return _match_n_features(X, n_features)
    return X


def to_dataset(
    data: Any, labels: Any, kind: InputKind, roles: ColumnRoles | None
) -> Corpus | FeatureMatrix:
    """Return labelled samples as a Corpus or FeatureMatrix, for reports."""
    if isinstance(data, Corpus | FeatureMatrix) and labels is None:
        return data
    matched = match_samples(data, kind, roles, None)
    n_samples = count_samples(matched)
    y = read_labels(data, labels, n_samples)
    if isinstance(y, list) or y.ndim == 2:
        raise DataError(
            "the samples have several labels each; a report of a model requires one label per "
            "sample"
        )
    names = tuple(map(str, y.tolist()))
    ids = tuple(str(i + 1) for i in range(n_samples))
    if kind == "numeric":
        return FeatureMatrix(X=matched, ids=ids, labels=names)
    if roles is None:
        return Corpus(texts=tuple(matched), ids=ids, labels=names)
    columns = {name: tuple(values) for name, values in read_columns(data, roles.names).items()}
    texts = [""] * n_samples
    if roles.text:
        joined = TableConverter(text=roles.text).fit_transform(data)
        texts = [text for (text,) in joined.tolist()]
    return Corpus(texts=tuple(texts), ids=ids, labels=names, columns=columns)


def _match_n_features(X: Any, n_features: int) -> Any:
    """Pad or truncate a sparse matrix to the number of features of the model."""
    # The width of a matrix read from an svmlight file is that of its last nonzero feature, which
    # may be below or above that of the training file.
    if X.shape[1] == n_features:
        return X
    if isinstance(X, np.ndarray):
        raise DataError(
            f"X has {X.shape[1]} features, but the model was trained on {n_features} features"
        )
    if X.shape[1] > n_features:
        warnings.warn(
            f"X has {X.shape[1]} features, but the model was trained on {n_features} features; "
            f"only the first {n_features} are used",
            stacklevel=5,
        )
        return X[:, :n_features]
    return sp.csr_array((X.data, X.indices, X.indptr), shape=(X.shape[0], n_features))


def _read_target(
    data: Any, labels: Any, n_samples: int
) -> tuple[NDArray[Any], NDArray[Any], TargetKind]:
    """Return the labels or indicators, the classes, and the kind of the target."""
    y = read_labels(data, labels, n_samples)
    if isinstance(y, list):
        classes, indicators = to_indicators(y)
        if not classes:
            raise DataError("the training set has no labels; at least one sample must have one")
        return _check_varied(indicators), np.array(classes), "lists"
    if y.ndim == 2:
        return _check_varied(y), np.arange(y.shape[1]), "indicators"
    check_n_classes(y.tolist(), "the training set")
    return y, np.unique(y), "label"


def _check_varied(indicators: NDArray[Any]) -> NDArray[np.int64]:
    if (indicators == indicators[0]).all():
        raise DataError(
            f"all {len(indicators)} samples of the training set have the same labels; at least two "
            "samples must differ"
        )
    return indicators.astype(np.int64)


def read_labels(data: Any, labels: Any, n_samples: int) -> Any:
    """Return valid labels: an array, a list of tuples, or an indicator matrix."""
    if isinstance(data, Corpus | FeatureMatrix) and labels is None:
        kind = type(data).__name__
        if data.labels is None:
            raise DataError(f"the {kind} has no labels; read it with a label column, or pass y")
        return list(data.labels) if data.multilabel else np.asarray(data.labels)
    if labels is None:
        raise ValueError(
            "TextClassifier requires y to be passed, but the target y is None; give one label per "
            "sample, or the column with the labels"
        )
    if isinstance(labels, str):
        if not is_table(data) or isinstance(data, Corpus):
            raise TypeError("y must be a sequence of labels; only a dataframe has named columns")
        labels = take_label_column(data, labels)
    if not hasattr(labels, "__iter__") and hasattr(labels, "__array__"):
        labels = np.asarray(labels)
    if sp.issparse(labels) or len(getattr(labels, "shape", ())) == 2:
        return _read_matrix(labels, n_samples)
    listed = _to_list(labels)
    _check_length(len(listed), n_samples)
    # Before the conversion, which turns NaN into the str "nan".
    check_no_missing(listed, "labels")
    is_list = [isinstance(label, list | tuple | set | frozenset) for label in listed]
    if any(is_list):
        return _read_lists(listed, is_list)
    for position, label in enumerate(listed):
        if isinstance(label, Mapping) or np.ndim(label):
            raise DataError(
                f"labels[{position}] is of type {type(label).__name__}; give one label per sample, "
                "a str or a number, or a list of labels"
            )
    check_classification_labels(labels)
    return np.asarray(labels if hasattr(labels, "__array__") else listed)


def _read_matrix(labels: Any, n_samples: int) -> NDArray[Any]:
    """Return an indicator matrix; a single column is labels, as everywhere in scikit-learn."""
    _check_length(labels.shape[0], n_samples)
    if labels.shape[1] == 1 and not sp.issparse(labels):
        return np.asarray(column_or_1d(labels, warn=True))
    indicators = find_indicators(labels)
    if indicators is None:
        raise DataError(
            "y has several columns, but is no indicator matrix of zeros and ones; give one label "
            "per sample, or lists of labels"
        )
    return indicators


def _read_lists(listed: list[Any], is_list: list[bool]) -> list[tuple[Any, ...]]:
    if not all(is_list):
        position = is_list.index(not is_list[0])
        raise DataError(
            f"labels[{position}] is of type {type(listed[position]).__name__}, but labels[0] of "
            f"type {type(listed[0]).__name__}; give one label per sample, or a list of labels per "
            "sample"
        )
    for position, labels in enumerate(listed):
        check_no_missing([*labels], f"labels[{position}]")
    return [tuple(each) for each in listed]


def _check_length(n_labels: int, n_samples: int) -> None:
    if n_labels != n_samples:
        raise DataError(
            f"y has {n_labels} entries for {n_samples} samples; give one label per sample"
        )
