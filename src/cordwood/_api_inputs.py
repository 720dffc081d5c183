"""Validation of the samples and labels that the high-level API receives."""

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from cordwood._base.labels import check_no_missing
from cordwood.columns.converter import TableConverter
from cordwood.columns.frames import count_rows, is_table, take_label_column
from cordwood.datasets.corpus import Corpus, FeatureMatrix
from cordwood.exceptions import DataError


def check_fitted(model: Any) -> None:
    """Raise if `model` is not a fitted estimator."""
    if isinstance(model, str):
        raise TypeError(
            f"model must be a fitted classifier, not the str {model!r}; open a model file with "
            "cordwood.load"
        )
    check_is_fitted(
        model, msg="this %(name)s is not fitted; call its fit method, or cordwood.train"
    )


def check_inputs(
    data: Corpus | FeatureMatrix | Sequence[str], labels: ArrayLike | None
) -> tuple[Any, Any]:
    """Return X and y: an array with one valid label per sample, or a list of tuples of labels."""
    if isinstance(data, Corpus | FeatureMatrix):
        kind = type(data).__name__
        if labels is not None:
            raise TypeError(f"a {kind} contains its labels; omit the argument labels")
        if data.labels is None:
            raise DataError(f"the {kind} has no labels; read it with a label column")
        X = data.texts if isinstance(data, Corpus) else data.X
        return X, list(data.labels) if data.multilabel else np.asarray(data.labels)
    if is_table(data):
        if labels is None:
            raise TypeError("labels is missing; give the column with the labels")
        found = take_label_column(data, labels) if isinstance(labels, str) else labels
        return data, _check_labels(found, count_rows(data))
    _check_texts(data)
    if labels is None:
        raise TypeError("labels is missing; give one label per text")
    return data, _check_labels(labels, len(data))


def _check_texts(texts: Any) -> None:
    """Raise if `texts` is not a sequence of str."""
    if isinstance(texts, str):
        raise TypeError("data must be a sequence of texts, not a single str; pass [text]")
    for position, text in enumerate(texts):
        if not isinstance(text, str):
            raise DataError(
                f"data[{position}] is of type {type(text).__name__}, not str; convert it to str, "
                "or pass numeric features as a cordwood.FeatureMatrix"
            )


def _check_labels(labels: Any, n_samples: int) -> Any:
    """Return an array of labels, one per text, or a list of tuples of labels."""
    listed = list(labels)
    if len(listed) != n_samples:
        raise DataError(
            f"labels has {len(listed)} entries for {n_samples} texts; give one label per text"
        )
    # Before the conversion, which turns NaN into the str "nan".
    check_no_missing(listed, "labels")
    is_multilabel = bool(listed) and isinstance(listed[0], list | tuple | set)
    for position, label in enumerate(listed):
        if is_multilabel != isinstance(label, list | tuple | set):
            raise DataError(
                f"labels[{position}] is of type {type(label).__name__}, but labels[0] of type "
                f"{type(listed[0]).__name__}; give one label per text, or a list of labels per text"
            )
        if is_multilabel:
            check_no_missing([*label], f"labels[{position}]")
        elif isinstance(label, dict) or np.ndim(label):
            raise DataError(
                f"labels[{position}] is of type {type(label).__name__}; give one label per text, "
                "a str or a number, or a list of labels"
            )
    if is_multilabel:
        return [tuple(each) for each in listed]
    return np.asarray(labels if hasattr(labels, "__array__") else listed)


def select_features(model: Any, data: Corpus | FeatureMatrix | Sequence[str]) -> Any:
    """Return the input of the model's first step."""
    if is_table_model(model):
        if not is_table(data):
            raise DataError(
                "the model was trained on a table; it needs a dataframe or a Corpus with the "
                f"columns {', '.join(model[0].columns_.names)}"
            )
        return data
    if is_table(data) and not isinstance(data, Corpus):
        raise DataError(
            "the model was trained on texts or features; pass the column of texts as a list"
        )
    is_text_model = not hasattr(model, "n_features_in_")
    if isinstance(data, FeatureMatrix):
        if is_text_model:
            raise DataError("the model was trained on texts; it cannot predict a FeatureMatrix")
        return _match_n_features(data.X, int(model.n_features_in_))
    if not isinstance(data, Corpus):
        _check_texts(data)
    if not is_text_model:
        raise DataError("the model was trained on numeric features; it cannot predict texts")
    return data.texts if isinstance(data, Corpus) else data


def is_table_model(model: Any) -> bool:
    """Return whether a model predicts rows of a table.

    Parameters
    ----------
    model : fitted classifier
        Any classifier.

    Returns
    -------
    bool
        Whether the first step of the model is a `TableConverter`.
    """
    return isinstance(model, Pipeline) and isinstance(model.steps[0][1], TableConverter)


def _match_n_features(X: NDArray[Any] | sp.csr_array, n_features: int) -> Any:
    """Pad or truncate a sparse matrix to the number of features of the model.

    The width of a matrix read from an svmlight file is that of its last nonzero feature, which may
    be below or above that of the training file.
    """
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
            stacklevel=4,
        )
        return X[:, :n_features]
    return sp.csr_array((X.data, X.indices, X.indptr), shape=(X.shape[0], n_features))
