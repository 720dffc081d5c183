"""Base class of the rule ensembles: one-vs-rest problems, voting and calibration."""

from __future__ import annotations  # `help` shows the short names

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit, softmax
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, column_or_1d, validate_data

from cordwood._base.csr import check_sparse
from cordwood._base.labels import find_indicators
from cordwood._base.param_validation import (
    N_JOBS,
    POSITIVE,
    Constraint,
    ParamValidationMixin,
    integer,
    options,
    real,
)
from cordwood._base.sklearn_private import check_sample_weight
from cordwood._base.threads import map_parallel
from cordwood._base.voting_classifier import (
    check_at_least_two_classes,
    check_classification_labels,
    warn_many_classes,
)
from cordwood.rules._describe import Rule, format_rules, list_rules
from cordwood.rules._samples import (
    UniqueSamples,
    assign_calibration_folds,
    binarize,
    merge_duplicates,
    one_vs_rest,
)
from cordwood.rules.calibration import (
    divide_by_temperatures,
    fit_multiclass_temperatures,
    fit_signed_temperatures,
)
from cordwood.rules.records import (
    BinaryProblem,
    Float64Array,
    RuleSet,
    make_constant_rule,
    sum_votes,
)
from cordwood.rules.weak_learners import WEAK_LEARNERS

_DECIMALS = 12

_COSTS = Constraint(
    "a mapping from labels to positive numbers",
    lambda value: isinstance(value, Mapping) and all(map(POSITIVE.accepts, value.values())),
)


class BinaryRules(NamedTuple):
    """Rules of a binary classifier, and diagnostics of its fit."""

    rules: RuleSet  # fitted rules
    n_iter: int  # number of iterations
    converged: bool  # whether the algorithm converged before its maximum number of iterations
    stages: list[RuleSet]  # rules after each iteration; empty if they were not kept
    margin: float = np.nan  # soft margin, in LPUBoost only
    gap: float = np.nan  # duality gap, in LPUBoost only


class _FittedFold(NamedTuple):
    """Binary classifiers that were fitted without the samples of a fold."""

    held_out: NDArray[np.bool_]
    classifiers: list[BinaryRules]


class BaseRuleEnsemble(ParamValidationMixin, ClassifierMixin, BaseEstimator, ABC):
    """Base of ensembles of single-feature rules; subclasses implement the binary classifier."""

    beta: float | str | Mapping[Any, float]
    weak_learner: str
    max_iter: int
    tol: float
    calibration_folds: int | None
    n_jobs: int | None

    _parameter_constraints: ClassVar[Mapping[str, Constraint]] = {
        "beta": real("[)", 1, np.inf) | options("balanced") | _COSTS,
        "weak_learner": options(*WEAK_LEARNERS),
        "max_iter": integer(1),
        "tol": real("[)", 0, np.inf),
        "calibration_folds": options(None, 0) | integer(2),
        "n_jobs": N_JOBS,
    }

    classes_: NDArray[Any]
    _rule_sets: list[RuleSet]
    _stages: list[list[RuleSet]]

    def fit(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> Self:
        """Fit the rules of each class.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training samples. A feature is present in a sample if its value is positive.
        y : array-like of shape (n_samples,) or indicator matrix of shape (n_samples, n_labels)
            Class labels, or label indicators for multilabel classification.
        sample_weight : array-like of shape (n_samples,), default=None
            Sample weights; a weight of 2 is equivalent to a duplicate. None means equal weights.

        Returns
        -------
        self : object
            Fitted estimator.
        """
        self._validate_params()
        X, y = validate_data(
            self,
            check_sparse(X),
            y,
            accept_sparse="csr",
            dtype=[np.float64, np.float32],
            multi_output=True,
        )
        if y.ndim == 1:
            check_classification_labels(y)
        weights = check_sample_weight(sample_weight, X)
        if not weights.any():
            raise ValueError("sample_weight must be positive for at least one sample.")
        labels = self._encode_labels(y)
        n_fits = 1 + (self.calibration_folds or 0)
        warn_many_classes(labels.shape[1], n_fits, "set calibration_folds=None, n_jobs")
        samples = merge_duplicates(binarize(X), labels, weights)
        classifiers, fitted_folds = self._fit_all(samples)
        columns = samples.columns
        self._rule_sets = [classifier.rules.rename_features(columns) for classifier in classifiers]
        self._stages = [
            [rules.rename_features(columns) for rules in classifier.stages]
            for classifier in classifiers
        ]
        self.n_iter_ = np.array([classifier.n_iter for classifier in classifiers])
        self.converged_ = np.array([classifier.converged for classifier in classifiers])
        self._set_diagnostics(classifiers)
        self.temperatures_ = self._fit_temperatures(samples, classifiers, fitted_folds)
        return self

    def decision_function(self, X: Any) -> Float64Array:
        """Compute the weighted sum of the rules' votes; for more than two classes, the logits.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        ndarray of shape (n_samples, n_classes) or (n_samples,)
            Decision values. For two classes, the sum of the votes of each sample, positive if the
            second class is predicted; in multilabel classification, positive if the label is
            predicted. For more than two classes, the sums of votes divided by `temperatures_`; the
            class of the largest value is predicted.
        """
        check_is_fitted(self)
        return self._decide(self._rule_sets, self._binarize(X))

    def predict_proba(self, X: Any) -> Float64Array:
        """Compute the probability of each class.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Probabilities, with columns in the order of `classes_`. In multilabel classification,
            the probabilities of the labels are independent and do not sum to one.
        """
        check_is_fitted(self)
        votes = _sum_votes_rounded(self._rule_sets, self._binarize(X))
        logits = divide_by_temperatures(votes, self.temperatures_)
        if self._is_multiclass:
            return np.asarray(softmax(logits, axis=1))
        probabilities = np.asarray(expit(logits))
        if self.multilabel_:
            return probabilities
        return np.column_stack([1.0 - probabilities, probabilities])

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict the most probable class of each sample, or all labels of positive decision value.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_labels)
            Predicted labels; label indicators in multilabel classification.
        """
        check_is_fitted(self)
        if self.multilabel_:
            return (self.decision_function(X) > 0).astype(np.int64)
        return np.asarray(self.classes_[self.predict_proba(X).argmax(axis=1)])

    def staged_decision_function(self, X: Any) -> Iterator[Float64Array]:
        """Compute decision values after each iteration.

        The rules of a class that needed fewer iterations stay the same.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples.

        Yields
        ------
        ndarray of shape (n_samples, n_classes) or (n_samples,)
            Decision values, as in `decision_function`.
        """
        check_is_fitted(self)
        present = self._binarize(X)
        for stage in range(int(self.n_iter_.max())):
            yield self._decide(self._staged_rules(stage), present)

    def staged_predict(self, X: Any) -> Iterator[NDArray[Any]]:
        """Predict labels after each iteration.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples.

        Yields
        ------
        ndarray of shape (n_samples,) or (n_samples, n_labels)
            Predicted labels, as in `predict`.
        """
        for decisions in self.staged_decision_function(X):
            if self.multilabel_:
                yield (decisions > 0).astype(np.int64)
            elif decisions.ndim == 1:
                yield np.asarray(self.classes_[(decisions > 0).astype(np.intp)])
            else:
                yield np.asarray(self.classes_[decisions.argmax(axis=1)])

    @property
    def rules_(self) -> list[list[Rule]]:
        """Rules of each class, in the order of `classes_`; of the second class only for two."""
        check_is_fitted(self)
        return [self._list_rules(rules, None) for rules in self._rule_sets]

    def describe(self, label: Any, feature_names: Sequence[str] | None = None) -> str:
        """Format the rules of one class as a table.

        Parameters
        ----------
        label : object
            One of `classes_`.
        feature_names : sequence of str, default=None
            Names of the features, such as ``vectorizer.get_feature_names_out()``. By default
            `feature_names_in_` if defined, otherwise the indices of the features.

        Returns
        -------
        str
            Table of the features, the votes if a feature is present or absent, and the weights, in
            decreasing order of influence.
        """
        check_is_fitted(self)
        found = np.flatnonzero(self.classes_ == label)
        if not len(found):
            first = ", ".join(repr(known) for known in self.classes_.tolist()[:10])
            raise ValueError(f"label must be one of the classes {first}; got {label!r}.")
        if feature_names is not None and len(feature_names) != self.n_features_in_:
            raise ValueError(
                f"feature_names must have {self.n_features_in_} names, one per feature; got "
                f"{len(feature_names)}."
            )
        class_index = int(found[0])
        is_binary = not self.multilabel_ and len(self.classes_) == 2
        rules = self._rule_sets[0 if is_binary else class_index]
        if is_binary and class_index == 0:
            rules = rules.negate()
        return format_rules(label, self._list_rules(rules, feature_names))

    @abstractmethod
    def _fit_binary(self, problem: BinaryProblem, beta: float) -> BinaryRules:
        """Fit the rules of a binary problem with cost ratio `beta` >= 1."""

    @abstractmethod
    def _staged_rules(self, stage: int) -> list[RuleSet]:
        """Return the rules of each class after an iteration, counted from zero."""

    def _set_diagnostics(self, classifiers: list[BinaryRules]) -> None:
        """Set fitted attributes that only some subclasses have."""

    def _encode_labels(self, y: NDArray[Any]) -> NDArray[np.bool_]:
        """Set `classes_`; return label indicators, one column per binary problem."""
        check_classification_targets(y)
        indicators = find_indicators(y)
        self.multilabel_ = indicators is not None and indicators.shape[1] > 1
        if indicators is not None and self.multilabel_:
            self.classes_ = np.arange(indicators.shape[1])
            return indicators
        if y.ndim == 2 and y.shape[1] > 1:
            raise ValueError(
                "y must be 1-d or an indicator matrix of zeros and ones; convert lists of labels "
                "with sklearn.preprocessing.MultiLabelBinarizer."
            )
        self.classes_, class_codes = np.unique(column_or_1d(y, warn=True), return_inverse=True)
        n_classes = len(self.classes_)
        check_at_least_two_classes(self.classes_)
        if n_classes == 2:
            return np.asarray(class_codes == 1)[:, None]
        return np.asarray(class_codes[:, None] == np.arange(n_classes))

    def _fit_all(self, samples: UniqueSamples) -> tuple[list[BinaryRules], list[_FittedFold]]:
        """Fit all binary classifiers to all samples, and to all but each calibration fold."""
        folds = assign_calibration_folds(samples, self.calibration_folds or 1)
        n_folds = self.calibration_folds or 0
        training_sets = [samples, *(samples.take(folds != fold) for fold in range(n_folds))]
        n_labels = samples.labels.shape[1]
        tasks = [(part, index) for part in training_sets for index in range(n_labels)]
        fitted = list(map_parallel(lambda task: self._fit_one(*task), tasks, self.n_jobs))
        fitted_folds = [
            _FittedFold(folds == fold, fitted[(fold + 1) * n_labels : (fold + 2) * n_labels])
            for fold in range(n_folds)
        ]
        return fitted[:n_labels], fitted_folds

    def _fit_one(self, samples: UniqueSamples, label_index: int) -> BinaryRules:
        """Fit one label against the rest; positive votes are for the label."""
        has_label = samples.labels[:, label_index]
        if has_label.all() or not has_label.any():
            rules = make_constant_rule(1.0 if has_label.all() else -1.0)
            return BinaryRules(rules, 1, True, [rules], 1.0, 0.0)
        fraction = samples.weight[has_label].sum() / samples.weight.sum()
        ratio = self._cost_ratio(label_index, float(fraction))
        # The positive class of a binary problem is the one of higher cost.
        is_negated = ratio < 1.0
        problem = one_vs_rest(samples, ~has_label if is_negated else has_label)
        fitted = self._fit_binary(problem, max(ratio, 1.0 / ratio))
        if not is_negated:
            return fitted
        return fitted._replace(
            rules=fitted.rules.negate(), stages=[rules.negate() for rules in fitted.stages]
        )

    def _cost_ratio(self, label_index: int, fraction: float) -> float:
        """Return the cost of missing a label, relative to the cost of a false positive."""
        if isinstance(self.beta, Mapping):
            costs = self._class_costs(self.beta)
            if not self.multilabel_ and len(self.classes_) == 2:
                return costs[1] / costs[0]
            return costs[label_index]
        if isinstance(self.beta, str):
            return (1.0 - fraction) / fraction
        return float(self.beta) if fraction <= 0.5 else 1.0 / float(self.beta)

    def _class_costs(self, beta: Mapping[Any, float]) -> list[float]:
        """Return the cost of each class; 1.0 for classes that `beta` does not contain."""
        classes = self.classes_.tolist()
        for label in beta:
            if label not in classes:
                raise ValueError(f"beta has the label {label!r}, which is not in y.")
        return [float(beta.get(label, 1.0)) for label in classes]

    @property
    def _is_multiclass(self) -> bool:
        return not self.multilabel_ and len(self.classes_) > 2

    def _fit_temperatures(
        self,
        samples: UniqueSamples,
        classifiers: list[BinaryRules],
        fitted_folds: list[_FittedFold],
    ) -> Float64Array:
        """Fit the temperatures of the sums of votes on held-out samples."""
        labels, weight = samples.labels, samples.weight
        temperatures = np.ones((labels.shape[1], 2))
        if not fitted_folds:
            return temperatures
        fitted_votes, held_out_votes = _sum_held_out_votes(samples, classifiers, fitted_folds)
        if self._is_multiclass:
            columns = labels.argmax(axis=1)
            known = ~np.isnan(held_out_votes[np.arange(len(columns)), columns])
            if not known.any():
                return fit_multiclass_temperatures(fitted_votes, columns, weight)
            return fit_multiclass_temperatures(held_out_votes[known], columns[known], weight[known])
        for index, has_label in enumerate(labels.T):
            if has_label.all() or not has_label.any():
                # The sum of votes is ±1: smoothed odds n + 1.
                temperatures[index] = 1.0 / np.log1p(weight.sum())
                continue
            known = ~np.isnan(held_out_votes[:, index])
            votes = held_out_votes if known.any() else fitted_votes
            known |= not known.any()
            temperatures[index] = fit_signed_temperatures(
                votes[known, index], has_label[known], weight[known]
            )
        return temperatures

    def _decide(self, rule_sets: list[RuleSet], present: Any) -> Float64Array:
        """Return decision values of binarized samples."""
        votes = _sum_votes_rounded(rule_sets, present)
        if self._is_multiclass:
            return divide_by_temperatures(votes, self.temperatures_)
        return votes if self.multilabel_ else votes[:, 0]

    def _binarize(self, X: Any) -> Any:
        return binarize(
            validate_data(
                self,
                check_sparse(X),
                accept_sparse="csr",
                dtype=[np.float64, np.float32],
                reset=False,
            )
        )

    def _list_rules(self, rules: RuleSet, feature_names: Sequence[str] | None) -> list[Rule]:
        if feature_names is None:
            feature_names = getattr(self, "feature_names_in_", None)
        return list_rules(rules, feature_names)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.classifier_tags.multi_label = True
        return tags


def _sum_held_out_votes(
    samples: UniqueSamples, classifiers: list[BinaryRules], fitted_folds: list[_FittedFold]
) -> tuple[Float64Array, Float64Array]:
    """Return the sums of votes of the fitted classifiers, and those of held-out samples."""
    # Sums of held-out samples are NaN where the training samples of the fold have one class.
    # Classifiers of fewer samples have larger sums of votes, so those of a fold are scaled to the
    # root mean square of the fitted classifiers, over all samples.
    present = samples.present.tocsr()
    fitted_votes = _sum_votes_rounded([classifier.rules for classifier in classifiers], present)
    held_out_votes = np.full(samples.labels.shape, np.nan)
    scale = _root_mean_square(fitted_votes, samples.weight)
    for held_out, fold_classifiers in fitted_folds:
        votes = _sum_votes_rounded([classifier.rules for classifier in fold_classifiers], present)
        fold_scale = _root_mean_square(votes, samples.weight)
        is_zero = (scale == 0.0) | (fold_scale == 0.0)
        ratio = np.divide(scale, fold_scale, out=np.ones_like(scale), where=~is_zero)
        held_out_votes[held_out] = votes[held_out] * ratio
        # Constant classifiers of a training fold with one class are not representative.
        train_labels = samples.labels[~held_out]
        is_constant = train_labels.all(axis=0) | ~train_labels.any(axis=0)
        held_out_votes[np.ix_(held_out, is_constant)] = np.nan
    return fitted_votes, held_out_votes


def _sum_votes_rounded(rule_sets: list[RuleSet], present: Any) -> Float64Array:
    """Sum votes; where they cancel out, rounding errors must not decide the class."""
    return np.round(sum_votes(rule_sets, present), _DECIMALS)


def _root_mean_square(votes: Float64Array, weights: Float64Array) -> Float64Array:
    """Return the weighted root mean square of each column."""
    return np.asarray(np.sqrt(weights @ np.square(votes) / weights.sum()))
