"""High-level API: train, predict and evaluate.

Each function takes a list of texts, or a `Corpus` or `FeatureMatrix` read from a file. The command
line calls the same functions.
"""

import html
import warnings
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray
from sklearn.metrics import precision_recall_fscore_support
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from cordwood import recipes
from cordwood._labels import check_n_classes, check_no_missing
from cordwood.datasets.corpus import Corpus, FeatureMatrix
from cordwood.exceptions import CordwoodError, DataError
from cordwood.text.languages import check_language

_MAX_HTML_ROWS = 20


@dataclass(frozen=True, kw_only=True)
class Predictions:
    """Predicted labels and class probabilities.

    Parameters
    ----------
    labels : ndarray of shape (n_samples,)
        Label with the highest probability.
    probabilities : ndarray of shape (n_samples, n_classes)
        Class probabilities, in the order of `classes`.
    classes : ndarray of shape (n_classes,)
        Class labels of the model.

    Examples
    --------
    >>> found = Predictions(
    ...     labels=np.array(["spam", "ham"]),
    ...     probabilities=np.array([[0.25, 0.75], [0.9, 0.1]]),
    ...     classes=np.array(["ham", "spam"]),
    ... )
    >>> found.to_frame()
      label  probability  probability:ham  probability:spam
    0  spam         0.75             0.25              0.75
    1   ham         0.90             0.90              0.10
    """

    labels: NDArray[Any]
    probabilities: NDArray[np.floating[Any]]
    classes: NDArray[Any]

    def __len__(self) -> int:
        return len(self.labels)

    @property
    def confidence(self) -> NDArray[np.floating[Any]]:
        """Probability of the predicted label, of shape (n_samples,)."""
        return np.asarray(self.probabilities.max(axis=1))

    def to_frame(self) -> Any:
        """Convert to a pandas DataFrame with one row per sample.

        Returns
        -------
        DataFrame
            Columns `label`, `probability` (of that label), and ``probability:CLASS`` for each
            class.
        """
        columns: dict[str, Any] = {"label": self.labels, "probability": self.confidence}
        for position, label in enumerate(self.classes.tolist()):
            columns[f"probability:{label}"] = self.probabilities[:, position]
        return _import_pandas().DataFrame(columns)

    def _repr_html_(self) -> str:
        shown = zip(self.labels.tolist(), self.confidence.tolist(), strict=True)
        rows = [(label, f"{probability:.3f}") for label, probability in shown]
        return _html_table(f"{len(self):,} predictions", ("label", "probability"), rows)


@dataclass(frozen=True)
class ClassScores:
    """Precision, recall and F1 of one class.

    Parameters
    ----------
    label : object
        Class label.
    precision : float
        Share of the samples predicted as this class that belong to it; 0 if there are none.
    recall : float
        Share of the samples of this class that are predicted as it; 0 if there are none.
    f1 : float
        Harmonic mean of precision and recall; 0 if both are 0.
    support : int
        Number of samples of this class.
    """

    label: Any
    precision: float
    recall: float
    f1: float
    support: int


@dataclass(frozen=True, kw_only=True)
class Evaluation:
    """Scores of a model on labelled samples.

    Parameters
    ----------
    n_samples : int
        Number of samples.
    micro_f1 : float
        Micro-averaged F1. With one label per sample it equals the accuracy.
    macro_f1 : float
        Unweighted mean of the F1 of `classes`.
    classes : tuple of ClassScores
        Scores of the classes that occur among the true or the predicted labels, sorted by label.
    confusion : ndarray of shape (n_classes, n_classes)
        Confusion matrix: rows are true classes, columns predicted classes, in the order of
        `classes`.
    unseen_labels : dict
        True labels that were not in the training set, with their number of samples. These samples
        count as errors.
    """

    n_samples: int
    micro_f1: float
    macro_f1: float
    classes: tuple[ClassScores, ...]
    confusion: NDArray[np.int64]
    unseen_labels: dict[Any, int]

    @property
    def labels(self) -> tuple[Any, ...]:
        """Class labels of the rows and columns of `confusion`."""
        return tuple(scores.label for scores in self.classes)

    def confused_pairs(self, n: int = 10) -> list[tuple[Any, Any, int]]:
        """List the most frequent errors.

        Parameters
        ----------
        n : int, default=10
            Maximum number of pairs.

        Returns
        -------
        list of (true label, predicted label, number of samples)
            Most frequent first.

        Examples
        --------
        >>> score(["a", "a", "b"], ["b", "b", "b"], ["a", "b"]).confused_pairs()
        [('a', 'b', 2)]
        """
        errors = self.confusion.copy()
        np.fill_diagonal(errors, 0)
        order = np.argsort(-errors, axis=None, kind="stable")[:n]
        pairs = zip(*np.unravel_index(order, errors.shape), strict=True)
        labels = self.labels
        return [(labels[i], labels[j], int(errors[i, j])) for i, j in pairs if errors[i, j]]

    def to_dict(self) -> dict[str, Any]:
        """Convert to built-in types that `json.dumps` accepts.

        Returns
        -------
        dict
            One entry per field; `classes` is a list of dicts, `confusion` a list of lists.
        """
        return {
            "n_samples": self.n_samples,
            "micro_f1": self.micro_f1,
            "macro_f1": self.macro_f1,
            "classes": [vars(scores).copy() for scores in self.classes],
            "confusion": self.confusion.tolist(),
            "unseen_labels": dict(self.unseen_labels),
        }

    def to_frame(self) -> Any:
        """Convert the scores of the classes to a pandas DataFrame.

        Returns
        -------
        DataFrame
            Columns `precision`, `recall`, `f1` and `support`, indexed by label.
        """
        records = [vars(scores) for scores in self.classes]
        return _import_pandas().DataFrame(records).set_index("label")

    def __str__(self) -> str:
        header = ("class", "precision", "recall", "F1", "samples")
        lines = [header, *map(_format_scores, self.classes)]
        widths = [max(len(line[i]) for line in lines) for i in range(len(header))]
        table = [
            "  ".join(
                [line[0].ljust(widths[0])]
                + [cell.rjust(width) for cell, width in zip(line[1:], widths[1:], strict=True)]
            )
            for line in lines
        ]
        return "\n".join([self._summary(), *table])

    def _repr_html_(self) -> str:
        header = ("class", "precision", "recall", "F1", "samples")
        return _html_table(self._summary(), header, [*map(_format_scores, self.classes)])

    def _summary(self) -> str:
        return (
            f"micro F1 {self.micro_f1:.3f}, macro F1 {self.macro_f1:.3f} on "
            f"{self.n_samples:,} samples"
        )


def train(
    data: Corpus | FeatureMatrix | Sequence[str],
    labels: ArrayLike | None = None,
    *,
    recipe: str = recipes.DEFAULT,
    language: str | None = None,
    random_state: int | None = 0,
    n_jobs: int | None = None,
    **params: Any,
) -> Pipeline:
    """Train a classifier.

    Parameters
    ----------
    data : Corpus, FeatureMatrix or sequence of str
        Training set. A `Corpus` or `FeatureMatrix` contains its labels.
    labels : array-like of shape (n_samples,), optional
        Label of each text. Required if `data` is a sequence of texts.
    recipe : str, default="quick"
        Name of a recipe, one of `cordwood.recipes.names()`.
    language : str, optional
        Language of the texts as ISO 639-1 code, such as "de" or "de+fr", which selects the stop
        words. By default it is detected.
    random_state : int or None, default=0
        Seed of the random number generators. The default is a fixed seed, so that the same data
        give the same model. Recipes without randomness ignore it.
    n_jobs : int, optional
        Number of threads; -1 uses all cores, None one unless in a `joblib.parallel_config`
        context. The model does not depend on it.
    **params
        Further parameters of `cordwood.recipes.make`, such as ``C=10`` or
        ``vectorizer__min_df=2``.

    Returns
    -------
    Pipeline
        Fitted pipeline. Its `predict` and `predict_proba` take texts, or a feature matrix if
        trained on one.

    See Also
    --------
    predict : Predict labels and probabilities.
    evaluate : Score a model on labelled samples.
    cordwood.save : Write a model to a file.

    Examples
    --------
    >>> model = train(["good", "so good", "bad", "so bad"], ["+", "+", "-", "-"])
    >>> model.predict(["very good"]).tolist()
    ['+']
    """
    X, y = _check_inputs(data, labels)
    check_n_classes(y.tolist(), "the training set")
    if isinstance(data, FeatureMatrix):
        # Sparse features are usually term weights, which are on comparable scales.
        params.setdefault("scale", not sp.issparse(data.X))
    input_type: recipes.InputType = "numeric" if isinstance(data, FeatureMatrix) else "text"
    if language is not None:
        check_language(language)
        if input_type == "numeric":
            raise CordwoodError("language requires texts, but the samples are numeric; omit it")
    model = recipes.make(
        recipe,
        input=input_type,
        language=language,
        random_state=random_state,
        n_jobs=n_jobs,
        **params,
    )
    try:
        return model.fit(X, y)
    except ValueError as error:
        raise CordwoodError(f"training of recipe {recipe!r} failed: {error}") from error


def predict(model: Any, data: Corpus | FeatureMatrix | Sequence[str]) -> Predictions:
    """Predict labels and class probabilities.

    Parameters
    ----------
    model : fitted classifier
        Model returned by `train` or `cordwood.load`, or any classifier with `predict_proba`.
    data : Corpus, FeatureMatrix or sequence of str
        Samples. Labels in a `Corpus` or `FeatureMatrix` are ignored.

    Returns
    -------
    Predictions
        Labels and probabilities, in the order of the samples.

    See Also
    --------
    evaluate : Score a model on labelled samples.

    Examples
    --------
    >>> model = train(["good", "so good", "bad", "so bad"], ["+", "+", "-", "-"])
    >>> predict(model, ["bad", "good"]).labels.tolist()
    ['-', '+']
    """
    _check_fitted(model)
    classes = np.asarray(model.classes_)
    X = _select_features(model, data)
    # scikit-learn estimators reject an empty input, but a batch or a file may be empty.
    probabilities = model.predict_proba(X) if len(data) else np.empty((0, len(classes)))
    labels = classes[np.argmax(probabilities, axis=1)]
    return Predictions(labels=labels, probabilities=probabilities, classes=classes)


def evaluate(
    model: Any, data: Corpus | FeatureMatrix | Sequence[str], labels: ArrayLike | None = None
) -> Evaluation:
    """Score a model on labelled samples.

    Parameters
    ----------
    model : fitted classifier
        Model returned by `train` or `cordwood.load`, or any classifier with `predict_proba`.
    data : Corpus, FeatureMatrix or sequence of str
        Test set. A `Corpus` or `FeatureMatrix` contains its labels.
    labels : array-like of shape (n_samples,), optional
        True label of each text. Required if `data` is a sequence of texts.

    Returns
    -------
    Evaluation
        F1 scores, scores by class, and the confusion matrix.

    Examples
    --------
    >>> model = train(["good", "so good", "bad", "so bad"], ["+", "+", "-", "-"])
    >>> print(evaluate(model, ["bad", "good", "so good"], ["-", "+", "-"]))
    micro F1 0.667, macro F1 0.667 on 3 samples
    class  precision  recall     F1  samples
    +          0.500   1.000  0.667        1
    -          1.000   0.500  0.667        2
    """
    _check_fitted(model)
    _, y_true = _check_inputs(data, labels)
    if not len(y_true):
        raise DataError("the test set has no samples; evaluation needs at least one")
    predictions = predict(model, data)
    return score(y_true.tolist(), predictions.labels.tolist(), predictions.classes.tolist())


def score(y_true: Sequence[Any], y_pred: Sequence[Any], classes: Iterable[Any]) -> Evaluation:
    """Score predicted labels.

    Parameters
    ----------
    y_true : sequence of length n_samples
        True labels.
    y_pred : sequence of length n_samples
        Predicted labels.
    classes : iterable
        Labels that the model was trained on.

    Returns
    -------
    Evaluation
        F1 scores, scores by class, and the confusion matrix.

    Examples
    --------
    >>> score(["a", "a", "b"], ["a", "b", "b"], classes=["a", "b"]).micro_f1
    0.6666666666666666
    """
    try:
        labels = sorted({*y_true, *y_pred})
    except TypeError as error:
        raise DataError(
            f"the true labels (such as {y_true[0]!r}) and the labels of the model (such as "
            f"{y_pred[0]!r}) have different types; convert the true labels"
        ) from error
    codes = {label: position for position, label in enumerate(labels)}
    pairs = np.array([[codes[label] for label in y_true], [codes[label] for label in y_pred]])
    precision, recall, f1, support = precision_recall_fscore_support(
        *pairs, labels=range(len(labels)), zero_division=0.0
    )
    # sklearn.metrics.confusion_matrix warns if there is only one class.
    confusion = np.zeros((len(labels), len(labels)), dtype=np.int64)
    np.add.at(confusion, tuple(pairs), 1)
    known = set(classes)
    return Evaluation(
        n_samples=len(y_true),
        micro_f1=float(np.trace(confusion) / len(y_true)),
        macro_f1=float(np.mean(f1)),
        classes=tuple(
            ClassScores(label, float(precision[i]), float(recall[i]), float(f1[i]), int(support[i]))
            for label, i in codes.items()
        ),
        confusion=confusion,
        unseen_labels={
            label: n for label, n in Counter(y_true).most_common() if label not in known
        },
    )


def _check_fitted(model: Any) -> None:
    """Raise if `model` is not a fitted estimator."""
    if isinstance(model, str):
        raise TypeError(
            f"model must be a fitted classifier, not the str {model!r}; open a model file with "
            "cordwood.load"
        )
    check_is_fitted(
        model, msg="this %(name)s is not fitted; call its fit method, or cordwood.train"
    )


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


def _check_inputs(
    data: Corpus | FeatureMatrix | Sequence[str], labels: ArrayLike | None
) -> tuple[Any, NDArray[Any]]:
    """Return X and y, with one valid label per sample."""
    if isinstance(data, Corpus | FeatureMatrix):
        kind = type(data).__name__
        if labels is not None:
            raise TypeError(f"a {kind} contains its labels; omit the argument labels")
        if data.labels is None:
            raise DataError(f"the {kind} has no labels; read it with a label column")
        if data.multilabel:
            raise DataError(
                f"the {kind} has a list of labels per sample; only one label per sample is "
                "supported"
            )
        return data.texts if isinstance(data, Corpus) else data.X, np.asarray(data.labels)
    _check_texts(data)
    if labels is None:
        raise TypeError("labels is missing; give one label per text")
    return data, _check_labels(labels, len(data))


def _check_labels(labels: Any, n_samples: int) -> NDArray[Any]:
    """Return an array of labels, one per text."""
    listed = list(labels)
    if len(listed) != n_samples:
        raise DataError(
            f"labels has {len(listed)} entries for {n_samples} texts; give one label per text"
        )
    # Before the conversion, which turns NaN into the str "nan".
    check_no_missing(listed, "labels")
    for position, label in enumerate(listed):
        if isinstance(label, list | tuple | set | dict) or np.ndim(label):
            raise DataError(
                f"labels[{position}] is of type {type(label).__name__}; give one label per text, "
                "a str or a number"
            )
    return np.asarray(labels if hasattr(labels, "__array__") else listed)


def _select_features(model: Any, data: Corpus | FeatureMatrix | Sequence[str]) -> Any:
    """Return the input of the model's first step."""
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


def _format_scores(scores: ClassScores) -> tuple[str, ...]:
    shares = (scores.precision, scores.recall, scores.f1)
    return str(scores.label), *(f"{share:.3f}" for share in shares), f"{scores.support:,}"


def _html_table(caption: str, header: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    """Render an HTML table of at most `_MAX_HTML_ROWS` rows."""

    def row(cells: Sequence[Any], tag: str) -> str:
        return "".join(["<tr>", *(f"<{tag}>{html.escape(str(c))}</{tag}>" for c in cells), "</tr>"])

    if len(rows) > _MAX_HTML_ROWS:
        caption = f"{caption}, the first {_MAX_HTML_ROWS}"
    return "".join(
        [
            f"<table><caption>{html.escape(caption)}</caption><thead>{row(header, 'th')}</thead>",
            "<tbody>",
            *(row(cells, "td") for cells in rows[:_MAX_HTML_ROWS]),
            "</tbody></table>",
        ]
    )


def _import_pandas() -> Any:
    try:
        return import_module("pandas")
    except ImportError as error:
        raise ImportError(
            "to_frame requires pandas; install it with: pip install pandas"
        ) from error
