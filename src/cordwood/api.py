"""The verbs of the library, from labelled rows to a model and from a model to its answers.

Each takes plain texts or the records of `cordwood.datasets.corpus`; the command line calls these.
"""

import warnings
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray
from sklearn.metrics import precision_recall_fscore_support
from sklearn.pipeline import Pipeline

from cordwood import recipes
from cordwood.datasets.corpus import Corpus, FeatureMatrix
from cordwood.exceptions import CordwoodError, DataError


@dataclass(frozen=True, kw_only=True)
class Predictions:
    """A model's answers, one for each row.

    Parameters
    ----------
    labels : ndarray of shape (n_rows,)
        The chosen label of each row: the one with the highest probability.
    probabilities : ndarray of shape (n_rows, n_classes)
        The probability of each class; columns are in the order of `classes`.
    classes : ndarray of shape (n_classes,)
        The labels that the model knows.
    """

    labels: NDArray[Any]
    probabilities: NDArray[np.floating[Any]]
    classes: NDArray[Any]

    def __len__(self) -> int:
        return len(self.labels)

    @property
    def confidence(self) -> NDArray[np.floating[Any]]:
        """The probability of the chosen label, one for each row."""
        return np.asarray(self.probabilities.max(axis=1))


@dataclass(frozen=True)
class ClassScores:
    """How well one class was found.

    Parameters
    ----------
    label : object
        The class.
    precision, recall, f1 : float
        Zero where they are not defined: nothing was predicted, or nothing was there to find.
    support : int
        How many rows truly have this label.
    """

    label: Any
    precision: float
    recall: float
    f1: float
    support: int


@dataclass(frozen=True, kw_only=True)
class Evaluation:
    """A model's labels against the true ones.

    Parameters
    ----------
    n : int
        Number of rows.
    micro_f1 : float
        With one label a row this is the accuracy: the share of rows with the right label.
    macro_f1 : float
        Mean F1 over the classes that occur in truth or in prediction.
    classes : tuple of ClassScores
        The classes that occur in truth or in prediction, sorted by label.
    confusion : ndarray of shape (n_classes, n_classes)
        Number of rows by true class (row) and predicted class (column), in the same order.
    unknown : dict
        Labels that the model has never seen, with the number of rows that have them. No model
        can get these rows right; they count as errors.
    """

    n: int
    micro_f1: float
    macro_f1: float
    classes: tuple[ClassScores, ...]
    confusion: NDArray[np.int64]
    unknown: dict[Any, int]

    @property
    def labels(self) -> tuple[Any, ...]:
        """The labels that the rows and columns of `confusion` stand for."""
        return tuple(scores.label for scores in self.classes)

    def confused_pairs(self, n: int = 10) -> list[tuple[Any, Any, int]]:
        """List the commonest errors as (true label, predicted label, number of rows)."""
        errors = self.confusion.copy()
        np.fill_diagonal(errors, 0)
        order = np.argsort(-errors, axis=None, kind="stable")[:n]
        pairs = zip(*np.unravel_index(order, errors.shape), strict=True)
        labels = self.labels
        return [(labels[i], labels[j], int(errors[i, j])) for i, j in pairs if errors[i, j]]

    def to_dict(self) -> dict[str, Any]:
        """Give everything as plain lists and numbers, ready for JSON."""
        return {
            "n": self.n,
            "micro_f1": self.micro_f1,
            "macro_f1": self.macro_f1,
            "classes": [vars(scores).copy() for scores in self.classes],
            "confusion": self.confusion.tolist(),
            "unknown": dict(self.unknown),
        }


def train(
    data: Corpus | FeatureMatrix | Sequence[str],
    labels: ArrayLike | None = None,
    *,
    recipe: str = recipes.DEFAULT,
    **params: Any,
) -> Pipeline:
    """Learn from labelled rows.

    Parameters
    ----------
    data : Corpus, FeatureMatrix or sequence of str
        What to learn from; a corpus or a matrix brings its own labels.
    labels : array-like of shape (n_rows,), optional
        One label for each text, if `data` is a sequence of texts.
    recipe : str
        A name from `cordwood.recipes.names()`.
    **params
        Passed on to `cordwood.recipes.make`.

    Returns
    -------
    Pipeline
        Fitted; its `predict` and `predict_proba` take what was learnt from: texts or numbers.

    Examples
    --------
    >>> model = train(["good", "so good", "bad", "so bad"], ["+", "+", "-", "-"])
    >>> model.predict(["very good"]).tolist()
    ['+']
    """
    X, y = _inputs(data, labels, purpose=f"recipe {recipe!r} learns from")
    classes = set(y.tolist())
    if len(classes) < 2:
        what = f"all {len(y)} rows have the label {classes.pop()!r}" if classes else "no rows came"
        raise DataError(f"{what}; training needs rows of at least two classes")
    if isinstance(data, FeatureMatrix):
        # Sparse rows are weights of words as a rule, and comparable as they are.
        params.setdefault("scale", not sp.issparse(data.X))
    input_type: recipes.InputType = "numeric" if isinstance(data, FeatureMatrix) else "text"
    model = recipes.make(recipe, input=input_type, **params)
    try:
        return model.fit(X, y)
    except ValueError as error:
        raise CordwoodError(f"recipe {recipe!r} cannot be trained like this: {error}") from error


def predict(model: Any, data: Corpus | FeatureMatrix | Sequence[str]) -> Predictions:
    """Label rows with a fitted model.

    Parameters
    ----------
    model : fitted classifier
        From `train`, `cordwood.load`, or any classifier with `predict_proba`.
    data : Corpus, FeatureMatrix or sequence of str
        The rows; labels, where there are any, are not looked at.

    Returns
    -------
    Predictions
        In the order of the rows.

    Examples
    --------
    >>> model = train(["good", "so good", "bad", "so bad"], ["+", "+", "-", "-"])
    >>> predict(model, ["bad", "good"]).labels.tolist()
    ['-', '+']
    """
    classes = np.asarray(model.classes_)
    X = _features(model, data)
    # Estimators refuse to look at no rows at all; a batch or a file may well hold none.
    probabilities = model.predict_proba(X) if len(data) else np.empty((0, len(classes)))
    chosen = classes[np.argmax(probabilities, axis=1)]
    return Predictions(labels=chosen, probabilities=probabilities, classes=classes)


def evaluate(
    model: Any, data: Corpus | FeatureMatrix | Sequence[str], labels: ArrayLike | None = None
) -> Evaluation:
    """Compare a model's labels with the true ones.

    Parameters
    ----------
    model : fitted classifier
        As for `predict`.
    data : Corpus, FeatureMatrix or sequence of str
        The rows; a corpus or a matrix brings its own labels.
    labels : array-like of shape (n_rows,), optional
        The true label of each text, if `data` is a sequence of texts.

    Returns
    -------
    Evaluation

    Examples
    --------
    >>> model = train(["good", "so good", "bad", "so bad"], ["+", "+", "-", "-"])
    >>> evaluate(model, ["bad", "good", "so good"], ["-", "+", "-"]).confusion.tolist()
    [[1, 0], [1, 1]]
    """
    _, truth = _inputs(data, labels, purpose="evaluation compares with")
    if not len(truth):
        raise DataError("there are no rows to evaluate on")
    predicted = predict(model, data)
    return score(truth.tolist(), predicted.labels.tolist(), known=predicted.classes.tolist())


def score(truth: Sequence[Any], predicted: Sequence[Any], known: Iterable[Any]) -> Evaluation:
    """Compare labels with labels; `known` are those that the model could have chosen.

    Examples
    --------
    >>> score(["a", "a", "b"], ["a", "b", "b"], known=["a", "b"]).micro_f1
    0.6666666666666666
    """
    try:
        names = sorted({*truth, *predicted})
    except TypeError as error:
        raise DataError(
            f"the true labels (such as {truth[0]!r}) and the model's labels (such as "
            f"{predicted[0]!r}) are of different types"
        ) from error
    code = {label: position for position, label in enumerate(names)}
    pair = np.array([[code[label] for label in truth], [code[label] for label in predicted]])
    precision, recall, f1, support = precision_recall_fscore_support(
        *pair, labels=range(len(names)), zero_division=0.0
    )
    # Not scikit-learn's confusion_matrix, which warns where there is but one class.
    confusion = np.zeros((len(names), len(names)), dtype=np.int64)
    np.add.at(confusion, tuple(pair), 1)
    known = set(known)
    return Evaluation(
        n=len(truth),
        micro_f1=float(np.trace(confusion) / len(truth)),
        macro_f1=float(np.mean(f1)),
        classes=tuple(
            ClassScores(label, float(precision[i]), float(recall[i]), float(f1[i]), int(support[i]))
            for label, i in code.items()
        ),
        confusion=confusion,
        unknown={label: n for label, n in Counter(truth).most_common() if label not in known},
    )


def _inputs(
    data: Corpus | FeatureMatrix | Sequence[str], labels: ArrayLike | None, *, purpose: str
) -> tuple[Any, NDArray[Any]]:
    """Bring rows and labels together, whichever way they were given."""
    if isinstance(data, Corpus | FeatureMatrix):
        if labels is not None:
            raise TypeError("a corpus or a matrix brings its own labels; give no others")
        if data.labels is None:
            raise DataError(f"{purpose} labels, and these rows have none")
        if data.multilabel:
            raise DataError(
                f"{purpose} one label a row, and here a row may have several, or none; "
                "keep the rows of one label, or one label for each row"
            )
        return data.texts if isinstance(data, Corpus) else data.X, np.asarray(data.labels)
    if labels is None:
        raise TypeError("texts need labels: give one for each text")
    y = np.asarray(labels)
    if y.ndim != 1 or len(y) != len(data):
        raise DataError(
            f"{purpose} one label a text, and here are {len(data)} texts and labels of shape "
            f"{y.shape}"
        )
    return data, y


def _features(model: Any, data: Corpus | FeatureMatrix | Sequence[str]) -> Any:
    """Take what the model's first step takes out of a record, or complain."""
    learnt_from_text = not hasattr(model, "n_features_in_")
    if isinstance(data, FeatureMatrix):
        if learnt_from_text:
            raise DataError("this model was trained on text and cannot label rows of numbers")
        return _align(data.X, int(model.n_features_in_))
    if not learnt_from_text:
        raise DataError("this model was trained on rows of numbers and cannot label text")
    return data.texts if isinstance(data, Corpus) else data


def _align(X: NDArray[Any] | sp.csr_array, n_features: int) -> Any:
    """Give sparse rows as many columns as the model knows.

    A sparse file is as wide as the last column that is used in it, which says nothing.
    """
    if X.shape[1] == n_features:
        return X
    if isinstance(X, np.ndarray):
        raise DataError(f"the rows have {X.shape[1]} columns; the model knows {n_features}")
    if X.shape[1] > n_features:
        warnings.warn(
            f"the rows have {X.shape[1]} columns and the model knows the first {n_features}; the "
            "others are left out",
            stacklevel=4,
        )
        return X[:, :n_features]
    return sp.csr_array((X.data, X.indices, X.indptr), shape=(X.shape[0], n_features))
