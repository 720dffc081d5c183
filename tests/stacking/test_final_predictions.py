"""Out-of-fold predictions of the whole stack."""

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.model_selection import PredefinedSplit, cross_val_predict
from sklearn.naive_bayes import GaussianNB

from cordwood import OOBStackingClassifier, RandomForestClassifier
from cordwood._base.duplicates import number_duplicates
from cordwood.stacking._final_predictions import assign_final_folds
from cordwood.stacking.combiners import LogarithmicPool, Voting

FINAL_ESTIMATORS = [LogarithmicPool(), LogisticRegression(), Voting("mean"), RidgeClassifier()]


def make_stack(final_estimator=None, **params):
    members = [("nb", GaussianNB()), ("rf", RandomForestClassifier(20, random_state=0))]
    return OOBStackingClassifier(
        members, final_estimator, check_leakage=False, random_state=0, **params
    )


@pytest.fixture(scope="module")
def samples():
    return make_classification(150, 8, n_informative=5, n_classes=3, random_state=0, class_sep=0.7)


@pytest.mark.parametrize("final_estimator", FINAL_ESTIMATORS[:3], ids=lambda each: str(each))
def test_matches_cross_val_predict_on_meta_features(samples, final_estimator):
    X, y = samples
    stack = make_stack(final_estimator).fit(X, y)
    folds = stack._final_training_set.folds
    expected = cross_val_predict(
        final_estimator, stack.meta_features_, y, cv=PredefinedSplit(folds), method="predict_proba"
    )
    # The pool starts from its solution for all samples, and ends within its tolerance.
    np.testing.assert_allclose(stack.oof_proba_, expected, rtol=0.01)
    assert np.bincount(folds).tolist() == [30] * 5


def test_decision_values_become_probabilities(samples):
    proba = make_stack(RidgeClassifier()).fit(*samples).oof_proba_
    np.testing.assert_allclose(proba.sum(axis=1), 1)


def test_passthrough_uses_the_features(samples):
    X, y = samples
    for features in (X, sp.csr_matrix(X)):
        stack = make_stack(
            LogisticRegression(max_iter=1000),
            passthrough=True,
        ).set_params(nb="drop")
        stack.fit(features, y)
        assert stack._final_training_set is None
        folds = assign_final_folds(X, y, None, _final_seed())
        expected = cross_val_predict(
            LogisticRegression(max_iter=1000),
            np.hstack([stack.meta_features_, X]),
            y,
            cv=PredefinedSplit(folds),
            method="predict_proba",
        )
        np.testing.assert_allclose(stack.oof_proba_, expected, atol=1e-4)


def _final_seed():
    return int(np.random.RandomState(0).randint(np.iinfo(np.int32).max, size=4)[1])


def test_duplicates_and_groups_are_in_one_fold():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 3, size=(200, 3)).astype(float)
    y, groups = rng.integers(0, 2, 200), rng.integers(0, 60, 200)
    folds = assign_final_folds(X, y, None, 0)
    by_sample = [set(folds[number_duplicates(X) == i]) for i in range(27)]
    assert max(map(len, by_sample)) == 1
    distinct = np.arange(600.0).reshape(200, 3)
    folds = assign_final_folds(distinct, y, groups, 0)
    assert max(len(set(folds[groups == group])) for group in range(60)) == 1
    assert len(set(folds)) == 5


def test_class_of_one_sample_gets_probability_zero():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(41, 3)), np.array(["a", "b"] * 20 + ["c"])
    for final_estimator in FINAL_ESTIMATORS:
        for passthrough in (False, True):
            if passthrough and not isinstance(final_estimator, LogisticRegression):
                continue
            stack = make_stack(final_estimator, passthrough=passthrough).fit(X, y)
            assert stack.oof_proba_.shape == (41, 3)
            assert stack.oof_proba_[40, 2] == 0
            np.testing.assert_allclose(stack.oof_proba_.sum(axis=1), 1)


def test_single_group_has_uniform_probabilities(samples):
    X, y = samples
    stack = OOBStackingClassifier([("nb", GaussianNB().fit(X, y))], cv="prefit", random_state=0)
    stack.fit(X, y, groups=np.zeros(len(y)))
    np.testing.assert_allclose(stack.oof_proba_, 1 / 3)


def test_sample_weight_reaches_the_folds(samples):
    X, y = samples
    weights = np.where(y == 0, 5.0, 1.0)
    weighted = make_stack().fit(X, y, sample_weight=weights)
    unweighted = make_stack().fit(X, y)
    assert weighted.oof_proba_[:, 0].mean() > unweighted.oof_proba_[:, 0].mean() + 0.05


def test_estimate_is_less_optimistic_than_the_training_score():
    # A flexible final estimator memorizes its training set: only cross-fitting shows it.
    X, y = make_classification(1200, 20, n_informative=2, flip_y=0.4, random_state=0)
    stack = make_stack(RandomForestClassifier(50, random_state=0)).fit(X[:600], y[:600])
    truth = stack.score(X[600:], y[600:])
    assert stack.final_estimator_.score(stack.meta_features_, y[:600]) > truth + 0.2
    estimate = np.mean(stack.oof_proba_.argmax(axis=1) == y[:600])
    assert abs(estimate - truth) < 0.06  # two standard errors


def test_survives_pickling_before_and_after_it_is_read(samples):
    stack = make_stack().fit(*samples)
    before = pickle.loads(pickle.dumps(stack)).oof_proba_
    np.testing.assert_array_equal(before, stack.oof_proba_)
    np.testing.assert_array_equal(before, pickle.loads(pickle.dumps(stack)).oof_proba_)
    stack.fit(samples[0][:100], samples[1][:100])
    assert len(stack.oof_proba_) == 100
