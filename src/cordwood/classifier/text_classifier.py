"""The model: a scikit-learn classifier of texts, tables and numbers."""

from __future__ import annotations  # `help` shows the short names

import logging
import os
import warnings
from collections.abc import Iterable, Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn import config_context
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.pipeline import Pipeline
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted, has_fit_parameter, validate_data

from cordwood import persist
from cordwood._base.csr import check_sparse
from cordwood._base.samples import check_fitted
from cordwood._view import MemberRecord, ModelView, view_model
from cordwood.classifier.builder import (
    BuiltModel,
    Settings,
    build_from_descriptions,
    build_model,
)
from cordwood.classifier.class_names import check_descriptions, to_samples
from cordwood.classifier.decision import (
    Decision,
    TunedDecision,
    check_classes,
    check_decision,
    tune_decision,
)
from cordwood.classifier.samples import (
    TrainingSamples,
    count_samples,
    match_samples,
    read_labels,
    read_samples,
    read_training_samples,
    to_dataset,
)
from cordwood.columns.converter import TableConverter
from cordwood.columns.roles import ColumnRoles
from cordwood.confidence.rule import ConfidenceRule, make_rule
from cordwood.confidence.scope import ScopeReference, find_vectorizer, fit_scope
from cordwood.confidence.shift import DatasetShift, ShiftDetector
from cordwood.datasets.corpus import Corpus, FeatureMatrix
from cordwood.exceptions import CordwoodError, DataError
from cordwood.explain.class_words import ClassWords, explain_classes
from cordwood.explain.explainer import Explainer
from cordwood.explain.explanation import Explanations, add_sources
from cordwood.metrics.evaluation import (
    N_RESAMPLES,
    check_weights,
    evaluate_oof,
    evaluate_predictions,
)
from cordwood.metrics.learning_curve import LearningCurveEstimate
from cordwood.metrics.predictions import Predictions, rank_labels
from cordwood.metrics.scores import Evaluation
from cordwood.oof.fit import fit_with_oof
from cordwood.oof.records import OOFPredictions
from cordwood.stacking.oob_stacking import OOBStackingClassifier
from cordwood.text.embedding import EmbeddingVectorizer, describe_truncation

if TYPE_CHECKING:
    from cordwood.audit.dataset_audit import DatasetAudit
    from cordwood.reports.model_records import ModelSummary
    from cordwood.reports.report import Report

logger = logging.getLogger("cordwood")


class TextClassifier(ClassifierMixin, BaseEstimator):
    """Classifier of texts that explains itself and estimates how good it is.

    It also takes tables with texts, categories, numbers and dates, and matrices of numeric
    features; one label per sample or several.

    Parameters
    ----------
    estimator : str or classifier, default="quick"
        Name of a recipe, one of `cordwood.recipes.names()`, or any unfitted scikit-learn
        classifier or pipeline, which is fitted as it is; its parameters can be searched as
        ``estimator__<parameter>``.
    encoder : "auto", None, str, path-like, object or list of these, default="auto"
        Sentence encoder of the member `embeddings` of a stack, as in `EmbeddingVectorizer`; a list
        adds one member for each. "auto" adds it to the recipe `quick` if an encoder is
        installed and encodes the texts in about five minutes on one core. None adds nothing.
    lexicon : str, path-like, mapping or None, default=None
        Lexicon of the member `lexicon` of a stack, as in `LexiconVectorizer`; None adds nothing.
    columns : mapping of str to list of str, ColumnRoles, "auto" or None, default=None
        Names of the columns of a dataframe or a `Corpus` by role: "text", "categorical", "numeric"
        and "date"; "auto" guesses the roles by `cordwood.columns.detect_columns`. None is "auto"
        for a dataframe, and only the texts of a `Corpus`.
    language : str, default=None
        Language of the texts as ISO 639-1 code, such as "de" or "de+fr", which selects the stop
        words. By default it is detected.
    recipe_params : mapping, default=None
        Further parameters of `cordwood.recipes.make`, such as ``{"C": 10}``,
        ``{"members": ["nbsvm", "rf"]}`` or ``{"vectorizer__min_df": 2}``.
    class_descriptions : mapping of labels to str, list of str or None, default=None
        What the classes mean: a description, or several texts such as a description and examples.
        Their embeddings count as training samples, those of one class as twelve, so that the model
        needs a sentence encoder. A class that is None or missing has its name, which is used unless
        it harms out of fold. ``fit([], [])`` trains on the descriptions alone: how accurate such a
        model is remains unknown.
    class_weight : {"balanced"} or None, default=None
        Give all classes the same weight in training. Members of a stack that cannot use weights
        are left out, which is logged.
    decision : {"f1", "macro_f1"}, Decision or None, default=None
        What the choice of the predicted labels optimizes; it does not change probabilities. By
        default the most probable class is predicted, and of several labels those that reach
        thresholds of highest F1.
    calibrate : bool, default=True
        Whether to calibrate the probabilities of a recipe that is neither a stack nor calibrated by
        itself, by a temperature that is fitted on out-of-fold predictions: `rf`, `nb` and `knn`
        have them already, `et`, boosted and lazy forests and `logistic` are fitted five more times.
    oof : bool or "auto", default="auto"
        Whether to compute out-of-fold predictions of the training samples, from which the expected
        scores, prediction sets and the detection of unknown samples follow. "auto" computes them
        where this needs no further fits: for stacks and calibrated recipes. They do not change the
        fitted model.
    random_state : int or None, default=0
        Seed of the random number generators of a recipe. The default is a fixed seed, so that the
        same data give the same model.
    n_jobs : int, default=None
        Number of threads of a recipe; -1 uses all cores, None one unless in a
        `joblib.parallel_config` context. The model does not depend on it.

    Attributes
    ----------
    estimator_ : Pipeline
        The fitted pipeline.
    classes_ : ndarray of shape (n_classes,)
        Class labels, sorted.
    evaluation_ : Evaluation or None
        Scores to expect on new samples, from the out-of-fold predictions; None without them.
    oof_ : OOFPredictions or None
        Out-of-fold predictions of the training samples.
    decision_ : TunedDecision
        From probabilities to labels.
    scope_ : ScopeReference or None
        How unusual the training samples are, as a reference for new samples.
    members_ : list of MemberRecord
        Name, weight, scores and fit time of each member of a stack, and whether explanations of it
        are exact; empty if the model is none.
    input_kind_ : {"text", "table", "numeric"}
        Kind of the training samples.
    target_kind_ : {"label", "lists", "indicators"}
        One label per sample, or several as lists or as an indicator matrix.
    columns_ : ColumnRoles or None
        Columns of a table by role.
    n_features_in_ : int
        Number of features seen during `fit`. Defined only for numeric features.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features. Defined only for numeric features with names of type str.

    See Also
    --------
    cordwood.load : Load a model file.
    cordwood.recipes.make : The pipeline of a recipe, without encoder and calibration.

    Examples
    --------
    >>> from cordwood import TextClassifier
    >>> texts = ["good film", "great film", "bad film", "awful film"] * 5
    >>> model = TextClassifier("nb").fit(texts, ["+", "+", "-", "-"] * 5)
    >>> model.predict(["a great and good film"]).tolist()
    ['+']
    >>> print(model.evaluation_.accuracy)
    1.000 (0.787 to 1.000)

    Rows of a table:

    >>> table = {"text": ["soup", "tea", "soup", "tea"], "price": [4, 2, 5, 3]}
    >>> columns = {"text": ["text"], "numeric": ["price"]}
    >>> model = TextClassifier(columns=columns).fit(table, ["food", "drink", "food", "drink"])
    >>> model.predict({"text": ["", "soup"], "price": [2, 4]}).tolist()
    ['drink', 'food']
    """

    classes_: NDArray[Any]
    estimator_: Pipeline
    oof_: OOFPredictions | None
    evaluation_: Evaluation | None
    scope_: ScopeReference | None
    decision_: TunedDecision
    columns_: ColumnRoles | None

    def __init__(
        self,
        estimator: Any = "quick",
        *,
        encoder: Any = "auto",
        lexicon: Any = None,
        columns: Mapping[str, Any] | ColumnRoles | Literal["auto"] | None = None,
        language: str | None = None,
        recipe_params: Mapping[str, Any] | None = None,
        class_descriptions: Mapping[Any, Any] | None = None,
        class_weight: str | None = None,
        decision: str | Decision | None = None,
        calibrate: bool = True,
        oof: bool | str = "auto",
        random_state: int | None = 0,
        n_jobs: int | None = None,
    ) -> None:
        self.estimator = estimator
        self.encoder = encoder
        self.lexicon = lexicon
        self.columns = columns
        self.language = language
        self.recipe_params = recipe_params
        self.class_descriptions = class_descriptions
        self.class_weight = class_weight
        self.decision = decision
        self.calibrate = calibrate
        self.oof = oof
        self.random_state = random_state
        self.n_jobs = n_jobs

    def fit(
        self,
        X: Any,
        y: Any = None,
        sample_weight: ArrayLike | None = None,
        groups: ArrayLike | None = None,
    ) -> Self:
        """Fit the model.

        Parameters
        ----------
        X : sequence of str, dataframe, Corpus, FeatureMatrix, array or sparse matrix
            Training samples. A dataframe is one of pandas or polars, a table of pyarrow, or a
            mapping of names to columns. An empty list trains on `class_descriptions` alone.
        y : array-like of shape (n_samples,), sequence of lists, indicator matrix or str
            Label of each sample; lists of labels, which may be empty; zeros and ones of shape
            (n_samples, n_labels); or the column of the dataframe with the labels. A `Corpus` or
            `FeatureMatrix` may contain its labels.
        sample_weight : array-like of shape (n_samples,), default=None
            Sample weights; by default those of a `Corpus` or `FeatureMatrix`.
        groups : array-like of shape (n_samples,), default=None
            Groups of related samples, which are never divided between training and validation
            where the model cross-validates.

        Returns
        -------
        self : TextClassifier
        """
        decision = check_decision(self.decision)
        if self.oof not in (True, False, "auto"):
            raise CordwoodError(f"oof must be True, False or 'auto'; got {self.oof!r}")
        has_samples = not self._has_only_descriptions(X, y)
        converts_tables = isinstance(self.estimator, str)
        if has_samples:
            samples = read_training_samples(X, y, self.columns, converts_tables=converts_tables)
        else:
            samples = to_samples(check_descriptions(self.class_descriptions))
            groups = None  # of no samples
        if samples.input_kind != "text" and samples.roles is None:
            samples = samples._replace(X=self._check_features(X, samples.X, reset=True))
        else:
            for name in ("n_features_in_", "feature_names_in_"):
                self.__dict__.pop(name, None)
        check_classes(decision, samples.classes, is_multilabel=samples.is_multilabel)
        built = (
            build_model(self._settings(), samples, sample_weight)
            if has_samples
            else build_from_descriptions(self._settings(), samples)
        )
        self.classes_, self.columns_ = samples.classes, samples.roles
        self.input_kind_, self.target_kind_ = samples.input_kind, samples.target_kind
        needs_oof = decision is not None or samples.is_multilabel
        has_oof = self._wants_oof(built.pipeline) or needs_oof
        self._check_groups(built.pipeline, groups, has_oof=has_oof)
        self.oof_ = self.evaluation_ = self.scope_ = None
        self.__dict__.pop("_view", None)
        try:
            # Metadata of the inner pipeline is passed by name, whatever is routed to this one.
            with config_context(enable_metadata_routing=False), warnings.catch_warnings():
                # Folds of a few texts have few samples of each of many classes.
                warnings.filterwarnings("ignore", "The number of unique classes", UserWarning)
                self._fit(built, samples, groups, has_oof=has_oof)
        except CordwoodError:
            raise
        except ValueError as error:
            raise CordwoodError(f"training of {self._settings().name} failed: {error}") from error
        self.decision_ = TunedDecision()
        if self.oof_ is not None:
            # Weights that balance the classes are for training only: the score that a decision
            # optimizes is that of the classes as frequent as they are.
            given = samples.weights if sample_weight is None else sample_weight
            weights = None if given is None else check_weights(given)
            self.decision_ = tune_decision(decision, self.oof_, weights)
            self.evaluation_ = evaluate_oof(self.oof_, self.decision_.apply(self.oof_.proba))
        self._report_truncation()
        return self

    def _fit(
        self, built: BuiltModel, samples: TrainingSamples, groups: Any, *, has_oof: bool
    ) -> None:
        """Fit the pipeline, with or without records of the training samples."""
        metadata = {"groups": groups, "sample_weight": built.sample_weight}
        metadata = {name: value for name, value in metadata.items() if value is not None}
        pipeline, X = built.pipeline, samples.X
        table: list[tuple[str, Any]] = []
        if isinstance(pipeline.steps[0][1], TableConverter):
            # Rows of a table are selected by position after its conversion.
            table, pipeline = pipeline.steps[:1], Pipeline(pipeline.steps[1:])
            X = table[0][1].fit_transform(X)
        if has_oof:
            fitted, oof = fit_with_oof(
                pipeline,
                X,
                samples.y,
                n_jobs=self.n_jobs,
                random_state=self.random_state,
                **metadata,
            )
            self.oof_ = oof
            last = fitted.steps[-1][1]
            if isinstance(last, OOBStackingClassifier):
                _ = last.ablation_  # computed now, because a model file has no meta-features
        else:
            name = pipeline.steps[-1][0]
            params = {f"{name}__{key}": value for key, value in metadata.items()}
            fitted = pipeline.fit(X, samples.y, **params)
        self.estimator_ = Pipeline([*table, *fitted.steps])
        if self.oof_ is not None:
            self.scope_ = fit_scope(self.view, X, self.oof_.proba)

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict labels.

        Parameters
        ----------
        X : sequence of str, dataframe, Corpus, FeatureMatrix, array or sparse matrix
            Samples of the kind of the training samples; labels in them are ignored.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_classes)
            Labels. With several labels per sample, tuples of labels if `y` were lists, the most
            probable first, or label indicators if `y` was an indicator matrix.
        """
        found = self.classify(X)
        if self.target_kind_ == "indicators" and found.indicators is not None:
            return found.indicators.astype(np.int64)
        return found.labels

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Predict class probabilities.

        Parameters
        ----------
        X : sequence of str, dataframe, Corpus, FeatureMatrix, array or sparse matrix
            Samples of the kind of the training samples.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Probabilities, with columns in the order of `classes_`. Those of several labels per
            sample do not sum to one.
        """
        return self._predict_proba(self._match(X))

    def classify(
        self,
        X: Any,
        *,
        coverage: float | None = None,
        class_conditional: bool = False,
        min_confidence: float | None = None,
        max_error: float | None = None,
        unknown: float | None = None,
    ) -> Predictions:
        """Predict labels and probabilities, and what the model does not know.

        Parameters
        ----------
        X : sequence of str, dataframe, Corpus, FeatureMatrix, array or sparse matrix
            Samples of the kind of the training samples.
        coverage : float, default=None
            Also predict a set of labels for each sample, which contains the true label with this
            probability, such as 0.95: on average over training sets, and as far as new samples are
            like the training samples. With fewer than ``coverage / (1 - coverage)`` training
            samples (19 for 0.95), all labels are in each set.
        class_conditional : bool, default=False
            Whether the coverage holds for the samples of each class instead of all samples.
        min_confidence : float, default=None
            Leave samples undecided whose label has a lower probability.
        max_error : float, default=None
            Leave samples undecided such that at most this share of the others is wrong, with a
            confidence of 90 %.
        unknown : float, default=None
            Find samples that are unlike the training samples, at the cost of losing this share of
            those that are like them, such as 0.02.

        Returns
        -------
        Predictions
            With `sets`, `is_decided` and `is_in_scope` according to the arguments.

        Raises
        ------
        DataError
            If an argument requires out-of-fold predictions, which the model does not have, or one
            label per sample.
        """
        rule = self.make_rule(
            coverage=coverage,
            class_conditional=class_conditional,
            min_confidence=min_confidence,
            max_error=max_error,
            unknown=unknown,
        )
        return self.apply_rule(X, rule)

    def make_rule(self, **params: Any) -> ConfidenceRule:
        """Prepare the arguments of `classify` once, for many calls of `apply_rule`.

        Parameters
        ----------
        **params : dict
            Arguments of `classify` other than `X`.

        Returns
        -------
        ConfidenceRule
        """
        check_fitted(self)
        oof = self.oof_
        predicted = None
        if oof is not None and params.get("max_error") is not None:
            predicted = self.decision_.apply(oof.proba)
        is_multilabel = self.target_kind_ != "label"
        return make_rule(oof, predicted, self.scope_, is_multilabel=is_multilabel, **params)

    def apply_rule(self, X: Any, rule: ConfidenceRule) -> Predictions:
        """Predict labels and probabilities by a rule of `make_rule`.

        Parameters
        ----------
        X : sequence of str, dataframe, Corpus, FeatureMatrix, array or sparse matrix
            Samples of the kind of the training samples.
        rule : ConfidenceRule
            Made for this model.

        Returns
        -------
        Predictions
        """
        matched = self._match(X)
        proba = self._predict_proba(matched)
        decided = self.decision_.apply(proba)
        if self.target_kind_ == "label":
            found = Predictions(labels=self.classes_[decided], proba=proba, classes=self.classes_)
        else:
            labels = rank_labels(decided, proba, self.classes_)
            found = Predictions(
                labels=labels, proba=proba, classes=self.classes_, indicators=decided
            )
        if rule.unknown is not None and self.view.converter is not None:
            matched = self.view.converter.transform(matched)
        return rule.apply(self.view, matched, found)

    def detect_shift(self, X: Any) -> DatasetShift | None:
        """Find out whether texts differ from the training texts, in time or source.

        Scores that were estimated on the training texts, prediction sets and error rates hold for
        texts like these only.

        Parameters
        ----------
        X : sequence of str or Corpus
            Texts; of more than 2,000, a random sample is compared.

        Returns
        -------
        DatasetShift or None
            Terms whose frequency differs, and as a string a sentence; None if chance explains all
            differences. Texts like the training texts are found to differ with a probability of at
            most 1 %.

        Raises
        ------
        DataError
            If the model does not know the frequencies of terms: of tables and numbers, and without
            out-of-fold predictions.
        """
        texts, detector = self._match(X), self.make_shift_detector()
        if detector is None:
            raise DataError(
                "detect_shift requires a model of texts with out-of-fold predictions; train it on "
                "labelled texts with oof=True"
            )
        detector.add(texts)
        return detector.detect()

    def make_shift_detector(self) -> ShiftDetector | None:
        """Prepare `detect_shift` for texts that come in parts.

        Returns
        -------
        ShiftDetector or None
            Has the methods `add` and `detect`; None where `detect_shift` raises an error.
        """
        check_is_fitted(self)
        vectorizer = find_vectorizer(self.view)
        frequencies = None if self.scope_ is None else self.scope_.frequencies
        if frequencies is None or vectorizer is None or self.oof_ is None:
            return None
        if len(frequencies) != len(vectorizer.vocabulary_):
            raise DataError("scope_ was made for another model, with other terms; train again")
        return ShiftDetector(vectorizer, frequencies, len(self.oof_))

    def evaluate(
        self,
        X: Any,
        y: Any = None,
        *,
        sample_weight: ArrayLike | None = None,
        groups: ArrayLike | None = None,
    ) -> Evaluation:
        """Score the model on labelled samples.

        Parameters
        ----------
        X : sequence of str, dataframe, Corpus, FeatureMatrix, array or sparse matrix
            Test samples.
        y : array-like, sequence of lists, indicator matrix or str, default=None
            True labels, as in `fit`.
        sample_weight : array-like of shape (n_samples,), default=None
            Sample weights of the scores; by default those of `X`.
        groups : array-like of shape (n_samples,), default=None
            Groups of related samples, which are resampled as a whole for the intervals.

        Returns
        -------
        Evaluation
            Scores with intervals, scores by class, and the confusion matrix.
        """
        return self._evaluate(X, y, sample_weight, groups, N_RESAMPLES)

    def _evaluate(
        self, X: Any, y: Any, sample_weight: Any, groups: Any, n_resamples: int
    ) -> Evaluation:
        check_is_fitted(self)
        n_samples = count_samples(X)
        labels = read_labels(X, y, n_samples)
        if not n_samples:
            raise DataError("the test set has no samples; evaluation needs at least one")
        weights = getattr(X, "weights", None) if isinstance(X, Corpus | FeatureMatrix) else None
        return evaluate_predictions(
            self._to_label_sequences(labels),
            self.classify(X),
            weights if sample_weight is None else sample_weight,
            groups,
            n_resamples,
        )

    def score(self, X: Any, y: Any = None, sample_weight: ArrayLike | None = None) -> float:
        """Return the accuracy: the share of samples without error.

        Parameters
        ----------
        X : sequence of str, dataframe, Corpus, FeatureMatrix, array or sparse matrix
            Test samples.
        y : array-like, sequence of lists, indicator matrix or str, default=None
            True labels, as in `fit`.
        sample_weight : array-like of shape (n_samples,), default=None
            Sample weights.

        Returns
        -------
        float
        """
        return float(self._evaluate(X, y, sample_weight, None, 0).accuracy)

    def explain(self, X: Any, *, training: Any = None, output: str = "auto") -> Explanations:
        """Explain predictions by contributions of members, words, columns and training samples.

        Parameters
        ----------
        X : sequence of str, Corpus or dataframe
            Samples to explain. The explanations have the ids and labels of a Corpus.
        training : sequence of str or Corpus, default=None
            The training samples of the model, in their order. If given, the explanations of models
            with nearest neighbors contain the most similar ones in full; otherwise their positions,
            because a model contains no texts.
        output : {"auto", "log_odds", "probability"}, default="auto"
            Quantity that contributions add up to: the log-odds of each class against all others, or
            its probability. "auto" is "log_odds" for linear models, naive Bayes, rules and stacks
            with the default combiner, and "probability" for all others, whose probabilities may be
            zero.

        Returns
        -------
        Explanations
            One `Explanation` per sample.

        See Also
        --------
        explain_classes : Words that argue for and against each class, over many texts.

        Notes
        -----
        The baseline is the prediction for the empty text; in a table, for a row whose numbers are
        the medians and whose categories are unknown. For each class, the baseline and the
        contributions of all members add up to the output, and so do the baseline and the
        contributions of all words.

        Contributions of terms to the scores of a member are exact for linear models, naive Bayes
        and rules (coefficient times value), and for forests and boosted forests (Shapley values).
        For nearest neighbors and lazy forests they are approximate: the vote of a neighbor is
        shared by the terms that it has in common with the text, and a split on the path of a lazy
        tree counts for its feature. Any other classifier is explained by removing one word at a
        time. The field `is_exact` of each member states which. Members are joined by the rescale
        rule of G-DeepSHAP [1]_; where a function has several arguments, such as the softmax
        function, by integrated gradients [2]_. The contributions of a member to the output of the
        default combiner are exact for two classes and Aumann-Shapley values for more.

        Contributions of n-grams of words and characters are distributed equally over the words
        that they cover.

        References
        ----------
        .. [1] Chen, Lundberg, Lee (2022). Explaining a series of models by propagating Shapley
           values. Nature Communications 13.
        .. [2] Sundararajan, Taly, Yan (2017). Axiomatic attribution for deep networks. ICML.

        Examples
        --------
        >>> texts = ["so good", "good", "so bad", "bad"]
        >>> model = TextClassifier("svm").fit(texts, ["+", "+", "-", "-"])
        >>> [explanation] = model.explain(["so very good"])
        >>> explanation.prediction, explanation.words
        ('+', ('so', 'very', 'good'))
        """
        matched = self._match(X)
        found = self.make_explainer(output=output).explain_each(matched)
        return Explanations(tuple(add_sources(found, X, training)))

    def make_explainer(self, *, output: str = "auto") -> Explainer:
        """Prepare the explanations of this model, to explain samples one after another.

        Parameters
        ----------
        output : {"auto", "log_odds", "probability"}, default="auto"
            As in `explain`.

        Returns
        -------
        Explainer
        """
        check_is_fitted(self)
        if self.input_kind_ == "numeric":
            raise DataError(
                "the model was trained on numeric features; only models of texts can be explained"
            )
        if self.view.takes_columns and self.view.converter is None:
            raise DataError(
                "the estimator selects columns of a table by itself, so that its predictions "
                "cannot be explained; set estimator to the name of a recipe, and columns"
            )
        return Explainer(self.view, decide=self.decision_.apply, output=output)

    def explain_classes(
        self,
        X: Iterable[str] | None = None,
        y: ArrayLike | None = None,
        *,
        training: Any = None,
        cv: int = 3,
        n_words: int = 10,
        min_texts: int = 3,
        output: str = "auto",
        progress: Any = None,
    ) -> ClassWords:
        """Find the words that argue for and against each class.

        Parameters
        ----------
        X : iterable of str, or Corpus, default=None
            Texts whose explanations are aggregated. In the training texts of the model, rare words
            look more important than they are: use other texts, or pass the labels as well. If None,
            each word of the vocabulary is explained as a text of its own.
        y : array-like of shape (n_texts,), default=None
            Labels of the texts. If given, clones of the model are fitted on these texts in a
            cross-validation, and each text is explained by a model that was not trained on it.
        training : sequence of str or Corpus, default=None
            Texts from which examples of the words of the vocabulary are taken, if X is None; a
            model contains no texts.
        cv : int, default=3
            Number of folds of this cross-validation.
        n_words : int, default=10
            Maximum number of words for, and of words against a class.
        min_texts : int, default=3
            Minimum number of texts that contain a word. Without texts, these are training texts, if
            the model stores them: models with nearest neighbors or lazy forests do.
        output : {"auto", "log_odds", "probability"}, default="auto"
            Quantity that contributions add up to; see `explain`.
        progress : callable, default=None
            Called with the number of explained texts or words, and with their total number or None.

        Returns
        -------
        ClassWords

        Notes
        -----
        Words are ranked by the sum of their contributions over all texts, so that frequent words
        come before rare ones with the same mean. Without texts, they are ranked by their
        contribution, times n / (n + 10) if it is known that n training texts contain the word.
        """

        def refit(texts: list[str], labels: NDArray[Any]) -> Explainer:
            fresh: TextClassifier = clone(self).set_params(oof=False, decision=None)
            return fresh.fit(texts, labels).make_explainer(output=output)

        return explain_classes(
            self.make_explainer(output=output),
            X,
            y,
            refit=refit,
            training=training,
            cv=cv,
            n_words=n_words,
            min_texts=min_texts,
            progress=progress,
        )

    def report(
        self,
        path: str | os.PathLike[str] | None = None,
        X: Any = None,
        y: Any = None,
        *,
        name: str = "model",
        audit: DatasetAudit | None = None,
        curve: LearningCurveEstimate | None = None,
    ) -> Report[ModelSummary]:
        """Report how good the model is, where it is weak and why, and what to do next.

        Parameters
        ----------
        path : path-like, default=None
            File to write; the suffix .html, .md or .json determines the format.
        X : sequence of str, dataframe, Corpus, FeatureMatrix, array or sparse matrix, default=None
            Labelled samples. For the training samples of a model with out-of-fold predictions, the
            scores are out-of-fold; other samples are predicted. Without samples, the report shows
            no texts, and scores only if the model has out-of-fold predictions, or `evaluation_`.
        y : array-like of shape (n_samples,) or str, default=None
            Labels of the samples, as in `fit`.
        name : str, default="model"
            Name of the model, for the title.
        audit : DatasetAudit, default=None
            Result of `cordwood.audit_dataset` for the training data. By default, training data are
            audited without another model.
        curve : LearningCurveEstimate, default=None
            Result of `cordwood.metrics.estimate_learning_curve`, to show what more training samples
            would bring.

        Returns
        -------
        Report
        """
        check_is_fitted(self)
        data = None if X is None else to_dataset(X, y, self.input_kind_, self.columns_)
        # Imported here, because their import takes an eighth of the time until a first prediction.
        make_report = import_module("cordwood.reports.report").model_report
        provenance = import_module("cordwood.reports.model_summary").Provenance
        found: Report[ModelSummary] = make_report(
            self, data, provenance(name=name, audit=audit, curve=curve)
        )
        if path is not None:
            found.save(path)
        return found

    def save(
        self,
        path: str | os.PathLike[str],
        *,
        precision: str = "compact",
        bundle_encoder: bool = False,
    ) -> None:
        """Write the model to a file that contains no code.

        Parameters
        ----------
        path : path-like
            File to create or replace, such as "model.cordwood".
        precision : {"compact", "full"}, default="compact"
            "compact" rounds the coefficients of linear models, which changes probabilities by less
            than 0.001; "full" keeps every bit.
        bundle_encoder : bool, default=False
            Whether the file contains the sentence encoders of the model. By default, it contains
            their names and fingerprints, and they must be installed where the model is loaded.

        See Also
        --------
        cordwood.load : Load a model file.
        """
        persist.save(self, path, precision=precision, bundle_encoder=bundle_encoder)

    @property
    def members_(self) -> list[MemberRecord]:
        """Name, weight, scores and fit time of each member of a stack."""
        records = self.view.member_records()
        if not records or self.input_kind_ == "numeric":
            return records
        is_exact = self.make_explainer().is_exact
        return [record._replace(is_exact=is_exact.get(record.name)) for record in records]

    @property
    def view(self) -> ModelView:
        """The parts of the fitted model, for code that explains or describes it."""
        check_fitted(self)
        if "_view" not in vars(self):
            self._view = view_model(self.estimator_)
        return self._view

    def _settings(self) -> Settings:
        return Settings(
            estimator=self.estimator,
            encoder=self.encoder,
            lexicon=self.lexicon,
            language=self.language,
            recipe_params=self.recipe_params,
            class_descriptions=self.class_descriptions,
            class_weight=self.class_weight,
            calibrate=self.calibrate,
            # The check takes time and changes nothing but warnings.
            check_leakage=self.oof is not False,
            random_state=self.random_state,
            n_jobs=self.n_jobs,
        )

    def _wants_oof(self, pipeline: Pipeline) -> bool:
        if isinstance(self.oof, bool):
            return self.oof
        return isinstance(pipeline.steps[-1][1], OOBStackingClassifier)

    def _has_only_descriptions(self, X: Any, y: Any) -> bool:
        """Return whether there are descriptions of classes but no samples."""
        if self.class_descriptions is None:
            return False
        texts, kind = read_samples(X)
        if kind != "text" or len(texts) or not (y is None or count_samples(y) == 0):
            return False
        for name in ("columns", "lexicon", "recipe_params", "decision"):
            if getattr(self, name) is not None:
                raise CordwoodError(f"{name} requires training samples; omit it, or pass some")
        if self.oof is True:
            raise CordwoodError("oof=True requires training samples; omit it, or pass some")
        return True

    def _check_groups(self, pipeline: Pipeline, groups: Any, *, has_oof: bool) -> None:
        # Out-of-fold predictions are grouped for any classifier.
        if groups is None or has_oof or has_fit_parameter(pipeline.steps[-1][1], "groups"):
            return
        raise CordwoodError(
            f"{self._settings().name} does not cross-validate, so that groups have no effect; omit "
            "groups, or set oof=True"
        )

    def _check_features(self, data: Any, X: Any, *, reset: bool) -> Any:
        """Validate numeric features; the user's estimator validates its own."""
        X = check_sparse(X)
        names = data if hasattr(data, "columns") else X
        if isinstance(self.estimator, str):
            return validate_data(self, X, accept_sparse="csr", dtype="numeric", reset=reset)
        validate_data(self, names, skip_check_array=True, reset=reset)
        return X

    def _match(self, X: Any) -> Any:
        """Return samples as the pipeline takes them."""
        check_fitted(self)
        n_features = getattr(self, "n_features_in_", None)
        matched = match_samples(X, self.input_kind_, self.columns_, n_features)
        has_features = self.input_kind_ != "text" and self.columns_ is None
        if has_features and count_samples(matched):
            return self._check_features(X, matched, reset=False)
        return matched

    def _predict_proba(self, X: Any) -> NDArray[np.float64]:
        # scikit-learn estimators reject an empty input, but a batch or a file may be empty.
        if not count_samples(X):
            return np.empty((0, len(self.classes_)))
        steps = self.estimator_.steps
        # The stack alone: a pipeline checks all estimators in it, in the time of a short text.
        classifier = steps[0][1] if len(steps) == 1 else self.estimator_
        return np.asarray(classifier.predict_proba(X))

    def _to_label_sequences(self, labels: Any) -> Any:
        """Return true labels as `evaluate_predictions` takes them."""
        if self.target_kind_ == "label":
            if isinstance(labels, list) or labels.ndim == 2:
                raise DataError(
                    "the test set has several labels per sample, but the model predicts one"
                )
            return labels.tolist()
        if isinstance(labels, list):
            return labels
        if labels.ndim == 2:
            names = self.classes_.tolist()
            return [tuple(names[i] for i in np.flatnonzero(row)) for row in labels]
        return [(label,) for label in labels.tolist()]

    def _report_truncation(self) -> None:
        """Log how many training texts a sentence encoder has truncated."""
        for vectorizer in self.view.vectorizers:
            if isinstance(vectorizer, EmbeddingVectorizer) and vectorizer.n_truncated_:
                logger.warning(describe_truncation(vectorizer, f"{vectorizer.n_truncated_:,}"))

    def __getstate__(self) -> dict[str, Any]:
        state = dict(super().__getstate__())
        state.pop("_view", None)  # made again when it is needed
        return state

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.string = True
        tags.target_tags.multi_output = True
        tags.classifier_tags.multi_label = True
        return tags
