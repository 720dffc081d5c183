"""High-level API: train, predict and evaluate.

Each function takes a list of texts, or a `Corpus` or `FeatureMatrix` read from a file. The command
line calls the same functions.
"""

import logging
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray
from sklearn.pipeline import Pipeline
from sklearn.utils.class_weight import compute_sample_weight
from sklearn.utils.validation import check_is_fitted

from cordwood import recipes
from cordwood._empty_features import EmptyFeatureRemover, is_mostly_empty
from cordwood._labels import check_n_classes, check_no_missing
from cordwood._results import (
    ClassScores,
    Evaluation,
    MultiLabelEvaluation,
    MultiLabelPredictions,
    Predictions,
    score,
    score_multilabel,
)
from cordwood.datasets.corpus import Corpus, FeatureMatrix
from cordwood.decisions.tuned_decision import OBJECTIVES, TunedDecisionClassifier
from cordwood.encoders.choice import choose_encoder
from cordwood.exceptions import CordwoodError, DataError
from cordwood.inspection.oof_predictions import fit_with_oof
from cordwood.multilabel.multilabel_classifier import MultiLabelClassifier
from cordwood.stacking._routing import select_fit_params
from cordwood.stacking.oob_stacking import OOBStackingClassifier
from cordwood.text.languages import check_language

logger = logging.getLogger(__name__)

__all__ = [
    "ClassScores",
    "Evaluation",
    "MultiLabelEvaluation",
    "MultiLabelPredictions",
    "Predictions",
    "evaluate",
    "predict",
    "score",
    "score_multilabel",
    "train",
]

# Parameters of `MultiLabelClassifier` that are parameters of `train`.
_MULTILABEL_PARAMS = ("threshold", "min_labels")


def train(
    data: Corpus | FeatureMatrix | Sequence[str],
    labels: ArrayLike | None = None,
    *,
    recipe: str = recipes.DEFAULT,
    language: str | None = None,
    encoder: Any = "auto",
    lexicon: Any = None,
    random_state: int | None = 0,
    n_jobs: int | None = None,
    oof: bool | None = None,
    class_weight: str | None = None,
    optimize: str | None = None,
    cost_matrix: ArrayLike | None = None,
    pos_label: Any = None,
    **params: Any,
) -> Pipeline:
    """Train a classifier.

    With a list of labels per sample, the model is a `MultiLabelClassifier` of the recipe.

    Parameters
    ----------
    data : Corpus, FeatureMatrix or sequence of str
        Training set. A `Corpus` or `FeatureMatrix` contains its labels.
    labels : array-like of shape (n_samples,) or sequence of lists, optional
        Label of each text, or a list of its labels, which may be empty. Required if `data` is a
        sequence of texts.
    recipe : str, default="quick"
        Name of a recipe, one of `cordwood.recipes.names()`.
    language : str, optional
        Language of the texts as ISO 639-1 code, such as "de" or "de+fr", which selects the stop
        words. By default it is detected.
    encoder : "auto", None, str, path-like, object or list of these, default="auto"
        Sentence encoder of the member `embeddings` of a stack, as in `EmbeddingVectorizer`; a list
        adds one member for each. "auto" adds it to the recipes `quick` and `best` if an encoder is
        installed and encodes the texts in about ten minutes on one core. None adds nothing.
    lexicon : str, path-like, mapping or None, default=None
        Lexicon of the member `lexicon` of a stack, as in `LexiconVectorizer`; None adds nothing.
    random_state : int or None, default=0
        Seed of the random number generators. The default is a fixed seed, so that the same data
        give the same model. Recipes without randomness ignore it.
    n_jobs : int, optional
        Number of threads; -1 uses all cores, None one unless in a `joblib.parallel_config`
        context. The model does not depend on it.
    oof : bool, optional
        Whether to compute out-of-fold predictions of the training samples, from which
        `cordwood.inspection.oof_evaluation` estimates the scores on new samples. True may take
        several times as long, see `cordwood.inspection.compute_oof`. By default they are computed
        for stacks only, whose base estimators have them already.
    class_weight : {"balanced"}, optional
        Give all classes the same weight in training. All members of a stack must support weights.
    optimize : str, optional
        What the choice of the predicted class optimizes, by thresholds or class weights that are
        tuned on out-of-fold predictions: "f1" or "precision=0.95" of the positive class of two,
        "macro_f1" or "cost", see `TunedDecisionClassifier`. By default the most probable class is
        predicted. Out-of-fold predictions are not kept. With several labels per sample, the
        thresholds of the labels are always tuned for "f1".
    cost_matrix : array-like of shape (n_classes, n_classes), optional
        Costs for ``optimize="cost"``: of each predicted class (columns) by true class (rows), in
        sorted order of the classes.
    pos_label : object, optional
        The positive class; by default the one with fewer samples.
    **params
        Further parameters of `cordwood.recipes.make`, such as ``C=10`` or
        ``vectorizer__min_df=2``; with several labels per sample also `threshold` and `min_labels`
        of `MultiLabelClassifier`.

    Returns
    -------
    Pipeline
        Fitted pipeline. Its `predict` and `predict_proba` take texts, or a feature matrix if
        trained on one. Its attribute `oof_` contains the out-of-fold predictions, an
        `OOFPredictions`, if they were computed.

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
    is_multilabel = isinstance(y, list)
    if not is_multilabel:
        check_n_classes(y.tolist(), "the training set")
    if isinstance(data, FeatureMatrix):
        # Sparse features are usually term weights, which are on comparable scales.
        params.setdefault("scale", not sp.issparse(data.X))
    input_type: recipes.InputType = "numeric" if isinstance(data, FeatureMatrix) else "text"
    if language is not None:
        check_language(language)
        if input_type == "numeric":
            raise CordwoodError("language requires texts, but the samples are numeric; omit it")
    params |= _list_pretrained(recipe, X if input_type == "text" else None, encoder, lexicon)
    multilabel_params = {
        name: params.pop(name) for name in _MULTILABEL_PARAMS if is_multilabel and name in params
    }
    model = recipes.make(
        recipe,
        input=input_type,
        language=language,
        random_state=random_state,
        n_jobs=n_jobs,
        **params,
    )
    decision = _parse_decision(optimize, cost_matrix, pos_label)
    fit_params: dict[str, Any] = {}
    if is_multilabel:
        given = {
            "oof": oof,
            "class_weight": class_weight,
            "cost_matrix": cost_matrix,
            "pos_label": pos_label,
            f"optimize={optimize!r}": optimize not in (None, "f1"),
        }
        for name, value in given.items():
            if value is not None and value is not False:
                raise CordwoodError(f"{name} requires one label per sample; omit it")
        model, y, oof = *_make_multilabel(model, y, **multilabel_params), False
        model.set_params(classifier__random_state=random_state, classifier__n_jobs=n_jobs)
    elif class_weight is not None:
        fit_params = _balance(recipe, model, y, class_weight)
    if decision and not is_multilabel:
        if oof or fit_params:
            other = "oof" if oof else "class_weight of a stack"
            raise CordwoodError(f"optimize and {other} exclude each other; omit one of them")
        name, classifier = model.steps[-1]
        tuned = TunedDecisionClassifier(
            classifier, n_jobs=n_jobs, random_state=random_state, **decision
        )
        model.steps[-1] = (name, tuned)
    if is_mostly_empty(X):
        model.steps.insert(0, ("remover", EmptyFeatureRemover()))
    if oof is None:
        oof = isinstance(model[-1], OOBStackingClassifier)
    try:
        if not oof:
            return model.fit(X, y, **{f"classifier__{k}": v for k, v in fit_params.items()})
        model.oof_ = fit_with_oof(
            model, X, y, n_jobs=n_jobs, random_state=random_state, **fit_params
        )
        return model
    except ValueError as error:
        raise CordwoodError(f"training of recipe {recipe!r} failed: {error}") from error


def _parse_decision(
    optimize: str | None, cost_matrix: ArrayLike | None, pos_label: Any
) -> dict[str, Any]:
    """Return the parameters of `TunedDecisionClassifier`; empty without `optimize`.

    Examples
    --------
    >>> _parse_decision("precision=0.9", None, None)
    {'optimize': 'precision', 'min_precision': 0.9}
    """
    if optimize is None:
        if cost_matrix is not None or pos_label is not None:
            name = "pos_label" if cost_matrix is None else "cost_matrix"
            raise CordwoodError(f"{name} requires optimize; set it, or omit {name}")
        return {}
    name, _, value = optimize.partition("=")
    if name not in OBJECTIVES or (name == "precision") != bool(value):
        raise CordwoodError(
            f"optimize must be f1, macro_f1, cost or precision=NUMBER, such as precision=0.95; "
            f"got {optimize!r}"
        )
    decision: dict[str, Any] = {"optimize": name}
    if value:
        try:
            decision["min_precision"] = float(value)
        except ValueError:
            raise CordwoodError(
                f"the precision of optimize must be a number below 1; got {value!r}"
            ) from None
    if (name == "cost") != (cost_matrix is not None):
        raise CordwoodError("optimize='cost' and cost_matrix require each other")
    given = {"cost_matrix": cost_matrix, "pos_label": pos_label}
    return decision | {key: value for key, value in given.items() if value is not None}


def _balance(
    recipe: str, model: Pipeline, y: NDArray[Any], class_weight: str
) -> dict[str, NDArray[np.float64]]:
    """Set the class weights of a classifier, or return the sample weights of a stack."""
    if class_weight != "balanced":
        raise CordwoodError(f"class_weight must be 'balanced'; got {class_weight!r}")
    last = model.steps[-1][1]
    if isinstance(last, OOBStackingClassifier):
        unsupported = [
            name
            for name, member in last.estimators
            if not select_fit_params(member, {"sample_weight": None})
        ]
        if unsupported:
            raise CordwoodError(
                f"class_weight is not supported by the members {', '.join(unsupported)} of recipe "
                f"{recipe!r}; choose other members, or optimize='macro_f1', which needs no weights"
            )
        return {"sample_weight": compute_sample_weight("balanced", y)}
    names = [name for name in last.get_params() if name.rpartition("__")[2] == "class_weight"]
    if not names:
        raise CordwoodError(
            f"class_weight is not supported by recipe {recipe!r}; omit it, or set "
            "optimize='macro_f1', which needs no weights"
        )
    last.set_params(**{names[0]: "balanced"})
    return {}


def _make_multilabel(
    model: Pipeline, y: list[tuple[Any, ...]], **params: Any
) -> tuple[Pipeline, NDArray[np.int64]]:
    """Return a pipeline for several labels per sample, and the label indicators."""
    try:
        classes = sorted({label for labels in y for label in labels})
    except TypeError as error:
        raise DataError("the labels have different types; convert all to str") from error
    if not classes:
        raise DataError("the training set has no labels; at least one sample must have one")
    if len({frozenset(labels) for labels in y}) == 1:
        raise DataError(
            f"all {len(y)} samples of the training set have the same labels; at least two samples "
            "must differ"
        )
    columns = {label: column for column, label in enumerate(classes)}
    indicators = np.zeros((len(y), len(classes)), np.int64)
    for i, labels in enumerate(y):
        indicators[i, [columns[label] for label in labels]] = 1
    cv = getattr(model[-1], "cv", None)
    if isinstance(cv, int):
        params["cv"] = cv
    return Pipeline(
        [("classifier", MultiLabelClassifier(model, classes=classes, **params))]
    ), indicators


def _find_multilabel(model: Any) -> MultiLabelClassifier | None:
    """Return the classifier of several labels per sample, if the model is one."""
    last = model.steps[-1][1] if isinstance(model, Pipeline) else model
    return last if isinstance(last, MultiLabelClassifier) else None


def _list_pretrained(
    recipe: str, texts: Sequence[str] | None, encoder: Any, lexicon: Any
) -> dict[str, Any]:
    """Return the parameters `encoder` and `lexicon` of a recipe."""
    definition = recipes.find(recipe)
    if isinstance(encoder, str) and encoder == "auto":
        if texts is not None and definition.auto_encoder:
            choice = choose_encoder(texts)
            logger.info(f"encoder: {choice.reason}")
            encoder = choice.name
        else:
            encoder = None
    given = {"encoder": encoder, "lexicon": lexicon}
    return {name: value for name, value in given.items() if value is not None}


def predict(
    model: Any, data: Corpus | FeatureMatrix | Sequence[str]
) -> Predictions | MultiLabelPredictions:
    """Predict labels and class probabilities.

    Parameters
    ----------
    model : fitted classifier
        Model returned by `train` or `cordwood.load`, or any classifier with `predict_proba`.
    data : Corpus, FeatureMatrix or sequence of str
        Samples. Labels in a `Corpus` or `FeatureMatrix` are ignored.

    Returns
    -------
    Predictions or MultiLabelPredictions
        Labels and probabilities, in the order of the samples. `MultiLabelPredictions` if the model
        was trained on a list of labels per sample.

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
    if classes.ndim != 1 or np.shape(probabilities) != (len(data), len(classes)):
        raise ValueError(
            f"classes_ of the model has shape {classes.shape}, but its probabilities of "
            f"{len(data)} samples have shape {np.shape(probabilities)}"
        )
    multilabel = _find_multilabel(model)
    if multilabel is not None:
        indicators = multilabel.apply_thresholds(probabilities)
        return MultiLabelPredictions(
            indicators=indicators, probabilities=probabilities, classes=classes
        )
    last = model.steps[-1][1] if isinstance(model, Pipeline) else model
    if isinstance(last, TunedDecisionClassifier):
        labels = last.decide(probabilities)
    else:
        labels = classes[np.argmax(probabilities, axis=1)]
    return Predictions(labels=labels, probabilities=probabilities, classes=classes)


def evaluate(
    model: Any, data: Corpus | FeatureMatrix | Sequence[str], labels: ArrayLike | None = None
) -> Evaluation | MultiLabelEvaluation:
    """Score a model on labelled samples.

    Parameters
    ----------
    model : fitted classifier
        Model returned by `train` or `cordwood.load`, or any classifier with `predict_proba`.
    data : Corpus, FeatureMatrix or sequence of str
        Test set. A `Corpus` or `FeatureMatrix` contains its labels.
    labels : array-like of shape (n_samples,) or sequence of lists, optional
        True label of each text, or a list of its labels. Required if `data` is a sequence of
        texts.

    Returns
    -------
    Evaluation or MultiLabelEvaluation
        F1 scores, scores by class, and the confusion matrix. `MultiLabelEvaluation` if the model
        was trained on a list of labels per sample.

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
    if isinstance(predictions, MultiLabelPredictions):
        true_labels = y_true if isinstance(y_true, list) else [(each,) for each in y_true.tolist()]
        return score_multilabel(true_labels, predictions)
    if isinstance(y_true, list):
        raise DataError(
            "the test set has a list of labels per sample, but the model predicts one label per "
            "sample"
        )
    return score(y_true.tolist(), predictions.labels.tolist(), predictions.classes.tolist())


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
    _check_texts(data)
    if labels is None:
        raise TypeError("labels is missing; give one label per text")
    return data, _check_labels(labels, len(data))


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
