"""Attributions of classifiers whose scores are sums over features: linear models and rules."""

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.special import expit, log_expit
from sklearn.linear_model import LogisticRegression
from sklearn.multiclass import OneVsRestClassifier
from sklearn.naive_bayes import ComplementNB, GaussianNB, MultinomialNB

from cordwood.explain._attribution import Attribution, Attributor
from cordwood.explain._path_integrals import Floats, rescale_multipliers
from cordwood.linear_model.linear_svm import LinearSVMClassifier
from cordwood.naive_bayes import NaiveBayesClassifier
from cordwood.rules.calibration import divide_by_temperatures
from cordwood.rules.records import concatenate_rules
from cordwood.rules.rule_ensemble import BaseRuleEnsemble

_LINEAR = "exact: coefficient times value of each term"


def make_linear_attributor(estimator: Any) -> Attributor | None:
    """Return the attributor of an additive classifier; None if the estimator is another one."""
    if isinstance(estimator, LinearSVMClassifier):
        temperature = estimator.temperature_
        return _make_linear(
            lambda columns: estimator.coef_[:, columns] / temperature,
            estimator.intercept_ / temperature,
        )
    if isinstance(estimator, LogisticRegression) and _is_softmax(estimator):
        return _make_linear(lambda columns: estimator.coef_[:, columns], estimator.intercept_)
    if isinstance(estimator, OneVsRestClassifier):
        return _make_one_vs_rest(estimator)
    if isinstance(estimator, NaiveBayesClassifier):
        return make_linear_attributor(estimator.model_)
    if isinstance(estimator, MultinomialNB | ComplementNB):
        is_complement = isinstance(estimator, ComplementNB)
        prior = estimator.class_log_prior_
        return _make_linear(
            lambda columns: estimator.feature_log_prob_[:, columns],
            np.zeros(len(prior)) if is_complement and len(prior) > 1 else prior,
        )
    if isinstance(estimator, GaussianNB):
        return _make_gaussian(estimator)
    if isinstance(estimator, BaseRuleEnsemble) and not estimator.multilabel_:
        return _make_rules(estimator)
    return None


def _make_linear(select: Callable[[Any], Floats], intercept: Floats) -> Attributor:
    """Make the attributor of a linear model; `select` returns the coefficients of columns.

    A single intercept is that of the second of two classes.
    """

    def attribute(X: sp.csr_matrix) -> Attribution:
        values = select(X.indices).T * X.data[:, None].astype(np.float64)
        return _from_scores(X.indices, values, intercept)

    return Attributor(attribute, _LINEAR, True)


def _from_scores(columns: Any, values: Floats, start: Floats) -> Attribution:
    """Return the attribution of softmax scores; a single column is that of the second class."""
    if len(start) == 1:
        values = np.column_stack([np.zeros(len(values)), values])
        start = np.array([0.0, start[0]])
    return Attribution(columns, values, start, start + values.sum(axis=0), "softmax")


def _is_softmax(estimator: LogisticRegression) -> bool:
    """Return whether probabilities are the softmax of scores: not if one-vs-rest."""
    is_one_vs_rest = (
        estimator.solver == "liblinear" or getattr(estimator, "multi_class", "auto") == "ovr"
    )
    return len(estimator.classes_) == 2 or not is_one_vs_rest


def _make_one_vs_rest(estimator: OneVsRestClassifier) -> Attributor | None:
    """One-vs-rest logistic regression: normalized probabilities are a softmax of log-sigmoids."""
    binary = estimator.estimators_
    if estimator.multilabel_ or not all(isinstance(each, LogisticRegression) for each in binary):
        return None
    intercept = np.array([each.intercept_[0] for each in binary])
    coef = np.vstack([each.coef_ for each in binary])
    if len(binary) == 1:
        return _make_linear(lambda columns: coef[:, columns], intercept)

    def attribute(X: sp.csr_matrix) -> Attribution:
        values = coef[:, X.indices].T * X.data[:, None].astype(np.float64)
        end = intercept + values.sum(axis=0)
        logs = log_expit(intercept), log_expit(end)
        multiplier = rescale_multipliers(intercept, end, logs, expit(-end))
        return Attribution(X.indices, values * multiplier, *logs, "softmax")

    return Attributor(attribute, _LINEAR, True)


def _make_gaussian(estimator: GaussianNB) -> Attributor:
    mean, variance = estimator.theta_, estimator.var_
    log_density = -0.5 * (np.log(2 * np.pi * variance) + np.square(mean) / variance)
    start = np.log(estimator.class_prior_) + log_density.sum(axis=1)

    def attribute(X: sp.csr_matrix) -> Attribution:
        x = X.data.astype(np.float64)
        here = mean[:, X.indices], variance[:, X.indices]
        values = (np.square(here[0]) - np.square(x - here[0])) / (2 * here[1])
        return _from_scores(X.indices, values.T, start)

    return Attributor(attribute, "exact: log-density ratio of each term", True)


def _make_rules(estimator: BaseRuleEnsemble) -> Attributor:
    rule_sets = estimator._rule_sets
    rules = concatenate_rules(rule_sets)
    n_sets = len(rule_sets)
    set_index = np.repeat(np.arange(n_sets), [len(each.feature) for each in rule_sets])
    gains = sp.csr_matrix(
        (rules.weight * (rules.present - rules.absent), (rules.feature, set_index)),
        shape=(estimator.n_features_in_, n_sets),
    )
    votes = rules.weight * rules.absent
    absent = np.asarray(np.bincount(set_index, votes, n_sets), np.float64)
    temperatures = estimator.temperatures_

    def attribute(X: sp.csr_matrix) -> Attribution:
        columns = X.indices[X.data > 0]
        values = gains[columns].toarray()
        has_rule = values.any(axis=1)
        columns, values = columns[has_rule], values[has_rule]
        end = absent + values.sum(axis=0)
        logits = divide_by_temperatures(np.array([absent, end]), temperatures)
        derivative = 1 / np.where(end < 0, temperatures[:, 0], temperatures[:, 1])
        values *= rescale_multipliers(absent, end, (logits[0], logits[1]), derivative)
        return _from_scores(columns, values, logits[0])

    return Attributor(attribute, "exact: votes of the rules whose word is in the text", True)
