"""High-level API: train, predict and evaluate.

Each function takes a list of texts, a table, or a `Corpus` or `FeatureMatrix` read from a file. The
command line calls the same functions.
"""

import logging
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray
from sklearn.pipeline import Pipeline

from cordwood import recipes
from cordwood._api_inputs import check_fitted, check_inputs, select_features
from cordwood._base.empty_features import EmptyFeatureRemover, is_mostly_empty
from cordwood._base.labels import check_n_classes
from cordwood._training_options import (
    balance_classes,
    choose_columns,
    convert_table,
    join_texts,
    list_metadata,
    list_pretrained,
    make_multilabel,
    parse_decision,
    report_truncation,
)
from cordwood.columns.frames import count_rows, is_table
from cordwood.columns.roles import ColumnRoles
from cordwood.confidence.decision_rule import DecisionRule, make_decision_rule
from cordwood.confidence.out_of_scope import fit_scope
from cordwood.datasets.corpus import Corpus, FeatureMatrix
from cordwood.decisions.tuned_decision import TunedDecisionClassifier
from cordwood.exceptions import CordwoodError, DataError
from cordwood.metrics.evaluation import oof_evaluation
from cordwood.metrics.predictions import MultiLabelPredictions, Predictions
from cordwood.metrics.scoring import (
    ClassScores,
    Evaluation,
    MultiLabelEvaluation,
    score,
    score_multilabel,
)
from cordwood.multilabel.multilabel_classifier import MultiLabelClassifier
from cordwood.oof.oof_predictions import fit_with_oof
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
    data: Corpus | FeatureMatrix | Sequence[str] | Any,
    labels: ArrayLike | None = None,
    *,
    groups: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    recipe: str = recipes.DEFAULT,
    columns: Mapping[str, Any] | ColumnRoles | Literal["auto"] | None = None,
    language: str | None = None,
    encoder: Any = "auto",
    lexicon: Any = None,
    random_state: int | None = 0,
    n_jobs: int | None = None,
    oof: bool | None = None,
    calibrate: bool | None = None,
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
    data : Corpus, FeatureMatrix, sequence of str or dataframe
        Training set. A `Corpus` or `FeatureMatrix` contains its labels. A dataframe is one of
        pandas or polars, a table of pyarrow, or a mapping of names to columns.
    labels : array-like of shape (n_samples,), sequence of lists or str, optional
        Label of each text, a list of its labels, which may be empty, or the column of the dataframe
        that contains the labels. Required if `data` is a sequence of texts or a dataframe.
    groups : array-like of shape (n_samples,), optional
        Group of each sample, such as ``data.groups``, for recipes that fit by cross-validation,
        such as stacks: samples of a group are never divided between training and validation.
    sample_weight : array-like of shape (n_samples,), optional
        Sample weights; by default those of `data`.
    recipe : str, default="quick"
        Name of a recipe, one of `cordwood.recipes.names()`.
    columns : mapping of str to list of str or "auto", optional
        Names of the columns of a dataframe or a `Corpus` by role: "text", "categorical", "numeric"
        and "date"; "auto" guesses the roles by `cordwood.columns.detect_columns`. By default "auto"
        for a dataframe, and only the texts of a `Corpus`.
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
        `cordwood.metrics.oof_evaluation` estimates the scores on new samples. True may take
        several times as long, see `cordwood.oof.compute_oof`. By default they are computed
        for stacks only, whose base estimators have them already.
    calibrate : bool, optional
        Whether to calibrate the probabilities of a recipe that is not a stack by out-of-fold
        predictions; labels do not change. By default, recipes with poor probabilities are
        calibrated: `rf`, `nb` and `knn` always, others, for which it takes several more fits, only
        with ``oof=True``. See docs/confidence.md.
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
        Fitted pipeline. Its `predict` and `predict_proba` take what it was trained on: texts, a
        feature matrix, or a table with the columns of the training set. Its attribute `oof_`
        contains the out-of-fold predictions, an `OOFPredictions`, if they were computed,
        `evaluation_` the scores expected on new samples, an `OOFEvaluation` without baselines, and
        `scope_` a `ScopeReference`, with which `predict` finds samples that are unlike the training
        samples.

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

    Rows of a table:

    >>> table = {"text": ["soup", "tea", "soup", "tea"], "price": [4, 2, 5, 3]}
    >>> columns = {"text": ["text"], "numeric": ["price"]}
    >>> model = train(table, ["food", "drink", "food", "drink"], columns=columns)
    >>> model.predict({"text": ["", "soup"], "price": [2, 4]}).tolist()
    ['drink', 'food']
    """
    X, y = check_inputs(data, labels)
    is_multilabel = isinstance(y, list)
    if not is_multilabel:
        check_n_classes(y.tolist(), "the training set")
    roles = choose_columns(data, labels, columns)
    if roles is not None:
        if is_multilabel:
            raise CordwoodError("columns requires one label per sample; omit it")
        params["columns"] = roles
        X = data
    if isinstance(data, FeatureMatrix):
        # Sparse features are usually term weights, which are on comparable scales.
        params.setdefault("scale", not sp.issparse(data.X))
    input_type: recipes.InputType = "numeric" if isinstance(data, FeatureMatrix) else "text"
    if language is not None:
        check_language(language)
        if input_type == "numeric":
            raise CordwoodError("language requires texts, but the samples are numeric; omit it")
    texts = join_texts(data, roles) if roles is not None else X if input_type == "text" else None
    params |= list_pretrained(recipe, texts, encoder, lexicon)
    multilabel_params = {
        name: params.pop(name) for name in _MULTILABEL_PARAMS if is_multilabel and name in params
    }
    if is_multilabel:
        given = {
            "oof": oof,
            "calibrate": calibrate,
            "class_weight": class_weight,
            "cost_matrix": cost_matrix,
            "pos_label": pos_label,
            f"optimize={optimize!r}": optimize not in (None, "f1"),
        }
        for name, value in given.items():
            if value is not None and value is not False:
                raise CordwoodError(f"{name} requires one label per sample; omit it")
        oof = calibrate = False
    elif calibrate is None:
        calibration = recipes.find(recipe).calibration
        is_wanted = calibration == "cheap" or (calibration == "costly" and bool(oof))
        # Cross-validation requires a class with at least two samples.
        calibrate = is_wanted and len(np.unique(y)) < len(y)
    model = recipes.make(
        recipe,
        input=input_type,
        language=language,
        random_state=random_state,
        n_jobs=n_jobs,
        calibrate=calibrate,
        **params,
    )
    decision = parse_decision(optimize, cost_matrix, pos_label)
    balancing: NDArray[np.float64] | None = None
    if is_multilabel:
        model, y = make_multilabel(model, y, **multilabel_params)
        model.set_params(classifier__random_state=random_state, classifier__n_jobs=n_jobs)
    elif class_weight is not None:
        balancing = balance_classes(recipe, model, y, class_weight)
    if decision and not is_multilabel:
        if oof or balancing is not None:
            other = "oof" if oof else "class_weight of a stack"
            raise CordwoodError(f"optimize and {other} exclude each other; omit one of them")
        name, classifier = model.steps[-1]
        tuned = TunedDecisionClassifier(
            classifier, n_jobs=n_jobs, random_state=random_state, **decision
        )
        model.steps[-1] = (name, tuned)
    if roles is None and is_mostly_empty(X):
        model.steps.insert(0, ("remover", EmptyFeatureRemover()))
    if oof is None:
        oof = isinstance(model[-1], OOBStackingClassifier)
    metadata = list_metadata(model, recipe, data, groups, sample_weight, oof=oof)
    if balancing is not None:
        metadata["sample_weight"] = balancing * metadata.get("sample_weight", 1.0)
    try:
        if oof:
            options = {"n_jobs": n_jobs, "random_state": random_state}
            _fit_with_records(model, X, y, is_table=roles is not None, **metadata, **options)
        else:
            name = model.steps[-1][0]
            model.fit(X, y, **{f"{name}__{key}": value for key, value in metadata.items()})
    except DataError:
        raise
    except ValueError as error:
        raise CordwoodError(f"training of recipe {recipe!r} failed: {error}") from error
    report_truncation(model)
    return model


def _fit_with_records(model: Pipeline, X: Any, y: Any, *, is_table: bool, **params: Any) -> None:
    """Fit a model, and set its records of the training samples."""
    # Rows of a table are selected after its conversion.
    rows, inner = convert_table(model, X) if is_table else (X, model)
    oof = fit_with_oof(inner, rows, y, **params)
    if isinstance(inner[-1], OOBStackingClassifier):
        _ = inner[-1].ablation_  # computed now, because a model file has no meta-features
    scope = fit_scope(inner, rows, oof.proba)
    model.steps[-len(inner.steps) :] = inner.steps
    model.oof_, model.scope_ = oof, scope
    model.evaluation_ = oof_evaluation(oof)


def _find_multilabel(model: Any) -> MultiLabelClassifier | None:
    """Return the classifier of several labels per sample, if the model is one."""
    last = model.steps[-1][1] if isinstance(model, Pipeline) else model
    return last if isinstance(last, MultiLabelClassifier) else None


def predict(
    model: Any,
    data: Corpus | FeatureMatrix | Sequence[str] | Any,
    *,
    coverage: float | None = None,
    class_conditional: bool = False,
    min_confidence: float | None = None,
    max_error: float | None = None,
    unknown: float | None = None,
) -> Predictions | MultiLabelPredictions:
    """Predict labels and class probabilities.

    Parameters
    ----------
    model : fitted classifier
        Model returned by `train` or `cordwood.load`, or any classifier with `predict_proba`.
    data : Corpus, FeatureMatrix, sequence of str or dataframe
        Samples. Labels in a `Corpus` or `FeatureMatrix` are ignored.
    coverage : float, optional
        Also predict a set of labels for each sample, which contains the true label with this
        probability, such as 0.95.
    class_conditional : bool, default=False
        Whether the coverage holds for the samples of each class instead of all samples.
    min_confidence : float, optional
        Leave samples undecided whose label has a lower probability.
    max_error : float, optional
        Leave samples undecided such that at most this share of the others is wrong, with a
        confidence of 90 %.
    unknown : float, optional
        Find samples that are unlike the training samples, at the cost of losing this share of
        those that are like them, such as 0.02.

    Returns
    -------
    Predictions or MultiLabelPredictions
        Labels and probabilities, in the order of the samples, with `sets`, `is_decided` and
        `is_in_scope` according to the arguments. `MultiLabelPredictions` if the model was trained
        on a list of labels per sample.

    Raises
    ------
    DataError
        If an argument requires out-of-fold predictions of the training samples, which the model
        does not have; see the argument `oof` of `train`.

    See Also
    --------
    evaluate : Score a model on labelled samples.
    cordwood.confidence.make_decision_rule : Prepare the arguments once for many calls.

    Examples
    --------
    >>> model = train(["good", "so good", "bad", "so bad"], ["+", "+", "-", "-"])
    >>> predict(model, ["bad", "good"]).labels.tolist()
    ['-', '+']
    """
    check_fitted(model)
    rule = make_decision_rule(
        model,
        coverage=coverage,
        class_conditional=class_conditional,
        min_confidence=min_confidence,
        max_error=max_error,
        unknown=unknown,
    )
    return predict_by_rule(model, data, rule)


def predict_by_rule(
    model: Any, data: Corpus | FeatureMatrix | Sequence[str] | Any, rule: DecisionRule
) -> Predictions | MultiLabelPredictions:
    """Predict labels and class probabilities, and apply a rule that was made for the model.

    Parameters
    ----------
    model : fitted classifier
        Model returned by `train` or `cordwood.load`, or any classifier with `predict_proba`.
    data : Corpus, FeatureMatrix, sequence of str or dataframe
        Samples. Labels in a `Corpus` or `FeatureMatrix` are ignored.
    rule : DecisionRule
        Made by `cordwood.confidence.make_decision_rule`.

    Returns
    -------
    Predictions or MultiLabelPredictions
        As returned by `predict`.
    """
    classes = np.asarray(model.classes_)
    X = select_features(model, data)
    n_samples = count_rows(data) if is_table(data) else len(data)
    # scikit-learn estimators reject an empty input, but a batch or a file may be empty.
    probabilities = model.predict_proba(X) if n_samples else np.empty((0, len(classes)))
    if classes.ndim != 1 or np.shape(probabilities) != (n_samples, len(classes)):
        raise ValueError(
            f"classes_ of the model has shape {classes.shape}, but its probabilities of "
            f"{n_samples} samples have shape {np.shape(probabilities)}"
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
    predictions = Predictions(labels=labels, probabilities=probabilities, classes=classes)
    return rule.apply(model, X, predictions)


def evaluate(
    model: Any,
    data: Corpus | FeatureMatrix | Sequence[str] | Any,
    labels: ArrayLike | None = None,
    *,
    sample_weight: ArrayLike | None = None,
) -> Evaluation | MultiLabelEvaluation:
    """Score a model on labelled samples.

    Parameters
    ----------
    model : fitted classifier
        Model returned by `train` or `cordwood.load`, or any classifier with `predict_proba`.
    data : Corpus, FeatureMatrix, sequence of str or dataframe
        Test set. A `Corpus` or `FeatureMatrix` contains its labels.
    labels : array-like of shape (n_samples,), sequence of lists or str, optional
        True label of each text, a list of its labels, or the column of the dataframe that contains
        the labels. Required if `data` is a sequence of texts or a dataframe.
    sample_weight : array-like of shape (n_samples,), optional
        Sample weights of the scores; by default those of `data`.

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
    check_fitted(model)
    _, y_true = check_inputs(data, labels)
    if not len(y_true):
        raise DataError("the test set has no samples; evaluation needs at least one")
    predictions = predict(model, data)
    weights = getattr(data, "weights", None) if sample_weight is None else sample_weight
    if isinstance(predictions, MultiLabelPredictions):
        true_labels = y_true if isinstance(y_true, list) else [(each,) for each in y_true.tolist()]
        return score_multilabel(true_labels, predictions, weights)
    if isinstance(y_true, list):
        raise DataError(
            "the test set has a list of labels per sample, but the model predicts one label per "
            "sample"
        )
    return score(
        y_true.tolist(), predictions.labels.tolist(), predictions.classes.tolist(), weights
    )
