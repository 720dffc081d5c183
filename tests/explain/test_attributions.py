"""Attributions of classifiers against Shapley values by definition, SHAP and coefficients."""

from itertools import combinations
from math import comb

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.special import log_softmax, logit

from cordwood import recipes
from cordwood._base.csr import to_csr
from cordwood._view import view_model
from cordwood.ensemble.adaboost_m2 import AdaBoostM2Classifier
from cordwood.ensemble.boosted_forest import BoostedForestClassifier
from cordwood.ensemble.forests import ExtraTreesClassifier, RandomForestClassifier
from cordwood.ensemble.lazy_forest import LazyForestClassifier
from cordwood.explain._attribution import to_log_probability, to_probability
from cordwood.explain._forest_terms import make_forest_attributor
from cordwood.explain._lazy_terms import make_lazy_attributor
from cordwood.explain._linear_terms import make_linear_attributor
from cordwood.explain._neighbor_terms import make_neighbors_attributor
from cordwood.explain.explainer import Explainer
from cordwood.linear_model.linear_svm import LinearSVMClassifier
from cordwood.naive_bayes import NaiveBayesClassifier
from cordwood.neighbors import NeighborsClassifier
from cordwood.rules.estimators import AdaUBoostClassifier
from synthetic_data import make_counts, make_numbers

FORESTS = [
    RandomForestClassifier(20, random_state=0),
    ExtraTreesClassifier(20, random_state=0),
    RandomForestClassifier(20, min_samples_leaf=5, random_state=0),
    BoostedForestClassifier(5, trees_per_round=4, random_state=0),
]


def shapley_by_definition(function, n_players):
    """Shapley values from the values of all coalitions, given as sets of players."""
    outputs = {
        subset: function(subset)
        for size in range(n_players + 1)
        for subset in map(frozenset, combinations(range(n_players), size))
    }
    return np.array(
        [
            sum(
                (outputs[subset | {player}] - outputs[subset])
                / (n_players * comb(n_players - 1, len(subset)))
                for subset in outputs
                if player not in subset
            )
            for player in range(n_players)
        ]
    )


def first_entries(row, n):
    """A row with its first n nonzero entries only."""
    row = to_csr(row.astype(np.float32))
    return sp.csr_matrix((row.data[:n], row.indices[:n], [0, min(n, row.nnz)]), shape=row.shape)


def predict_coalition(model, row):
    def predict(coalition):
        dense = np.zeros(row.shape)
        kept = sorted(coalition)
        dense[0, row.indices[kept]] = row.data[kept]
        return model.predict_proba(dense)[0]

    return predict


@pytest.mark.parametrize("model", FORESTS, ids=str)
@pytest.mark.parametrize("data", [make_counts, make_numbers])
def test_forest_contributions_are_shapley_values(model, data):
    X, y = data(120, 12, 3, 0)
    model.fit(X, y)
    attribute = make_forest_attributor(model).attribute
    for i in range(5):
        row = first_entries(sp.csr_matrix(X[i : i + 1]), 7)
        found = attribute(row)
        expected = shapley_by_definition(predict_coalition(model, row), row.nnz)
        dense = np.zeros((row.shape[1], 3))
        dense[found.columns] = found.values
        np.testing.assert_allclose(dense[row.indices], expected, atol=1e-12)
        np.testing.assert_allclose(found.end, model.predict_proba(row)[0], atol=1e-12)


def test_adaboost_m2_contributions_are_shapley_values_of_its_scores():
    X, y = make_counts(150, 12, 3, 1)
    model = AdaBoostM2Classifier(20, max_depth=3, random_state=0).fit(X, y)
    found = make_forest_attributor(model).attribute(first_entries(sp.csr_matrix(X[:1]), 6))
    row = first_entries(sp.csr_matrix(X[:1]), 6)

    def total_weights(coalition):
        dense = np.zeros(row.shape, np.float32)
        kept = sorted(coalition)
        dense[0, row.indices[kept]] = row.data[kept]
        *_, last = model._staged_scores(to_csr(dense))
        return last[0].copy()

    expected = shapley_by_definition(total_weights, row.nnz)
    dense = np.zeros((row.shape[1], 3))
    dense[found.columns] = found.values
    np.testing.assert_allclose(dense[row.indices], expected, atol=1e-12)


def test_forest_contributions_match_shap():
    shap = pytest.importorskip("shap", reason="shap is not installed")
    X, y = make_counts(200, 30, 3, 2)
    X = sp.csr_matrix(X)
    model = RandomForestClassifier(15, random_state=0).fit(X, y)
    explainer = shap.TreeExplainer(
        model.to_sklearn(),
        data=np.zeros((1, X.shape[1])),
        feature_perturbation="interventional",
    )
    expected = explainer.shap_values(X[:20].toarray(), check_additivity=False)
    attribute = make_forest_attributor(model).attribute
    for i in range(20):
        found = attribute(to_csr(X[i].astype(np.float32)))
        dense = np.zeros((X.shape[1], 3))
        dense[found.columns] = found.values
        np.testing.assert_allclose(dense, expected[i], atol=1e-6)


def test_deep_trees_with_many_features_of_a_sample():
    rng = np.random.default_rng(0)
    X = sp.csr_matrix((rng.random((400, 300)) < 0.3).astype(np.float32))
    y = rng.integers(0, 4, 400)
    model = RandomForestClassifier(10, random_state=0).fit(X, y)
    attribute = make_forest_attributor(model).attribute
    for i in range(5):
        found = attribute(to_csr(X[i]))
        np.testing.assert_allclose(found.end, model.predict_proba(X[i])[0], atol=1e-9)
        zeros = np.zeros((1, 300))
        np.testing.assert_allclose(found.start, model.predict_proba(zeros)[0], atol=1e-12)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_linear_contributions_are_coefficients_times_values(n_classes):
    X, y = make_counts(100, 20, n_classes, 3)
    model = LinearSVMClassifier(random_state=0).fit(X, y)
    row = to_csr(sp.csr_matrix(X[:1]).astype(np.float32))
    found = make_linear_attributor(model).attribute(row)
    coef = model.coef_[:, row.indices].T * row.data[:, None] / model.temperature_
    np.testing.assert_allclose(found.values[:, -coef.shape[1] :], coef)


def test_log_odds_of_two_classes_are_linear():
    texts, labels = ["good so", "good", "bad so", "bad"] * 5, ["+", "+", "-", "-"] * 5
    model = recipes.make("logistic").fit(texts, labels)
    explanation = Explainer(view_model(model)).explain("so good")
    vectorizer, classifier = model["vectorizer"], model["classifier"].estimators_[0]
    row = vectorizer.transform(["so good"])
    expected = {
        term: classifier.coef_[0, column] * row[0, column]
        for term, column in vectorizer.vocabulary_.items()
        if row[0, column]
    }
    # The log-odds of the second class, "-", are the decision value.
    found = dict(explanation.top_words("-"))
    assert found.keys() == expected.keys()
    for term, value in expected.items():
        assert found[term] == pytest.approx(value, abs=1e-9)
    assert explanation.baseline[1] == pytest.approx(classifier.intercept_[0])


@pytest.mark.parametrize("variant", ["multinomial", "complement", "gaussian"])
def test_naive_bayes_scores_match_joint_log_likelihood(variant):
    X, y = make_counts(80, 15, 3, 4)
    model = NaiveBayesClassifier(variant=variant, alpha=0.5).fit(X, y)
    row = to_csr(sp.csr_matrix(X[:1]).astype(np.float32))
    found = make_linear_attributor(model).attribute(row)
    proba = model.predict_proba(row)[0]
    np.testing.assert_allclose(log_softmax(found.end), np.log(proba), atol=1e-6)


@pytest.mark.parametrize("rule", ["uniform", "distance"])
def test_weighted_votes_of_neighbors_add_up_to_the_probabilities(rule):
    X, y = make_counts(80, 15, 3, 4)
    weights = np.random.default_rng(0).exponential(size=80) * (np.arange(80) % 4 > 0)
    model = NeighborsClassifier(9, weights=rule).fit(X, y, weights)
    for row in X[:8]:
        found = make_neighbors_attributor(model).attribute(to_csr(sp.csr_matrix(row[None])))
        np.testing.assert_allclose(found.end, model.predict_proba(row[None])[0], atol=1e-9)
        assert (weights[found.neighbors.samples] > 0).all()


@pytest.mark.parametrize("n_classes", [2, 3])
def test_rules_contribute_only_if_their_feature_is_present(n_classes):
    X, y = make_counts(150, 20, n_classes, 5)
    model = AdaUBoostClassifier(max_iter=8).fit(X, y)
    row = to_csr(sp.csr_matrix(X[:1]).astype(np.float32))
    found = make_linear_attributor(model).attribute(row)
    used = {int(f) for rules in model._rule_sets for f in rules.feature}
    assert set(found.columns) <= used & set(row.indices)
    np.testing.assert_allclose(
        log_softmax(found.end), np.log(model.predict_proba(row)[0]), atol=1e-9
    )


@pytest.mark.parametrize("base", ["rf", "et"])
def test_lazy_paths_end_at_the_predicted_probabilities(base):
    X, y = make_counts(200, 40, 3, 6)
    model = LazyForestClassifier(40, 30, base=base, random_state=0).fit(X, y)
    attribute = make_lazy_attributor(model).attribute
    for i in range(10):
        row = to_csr(sp.csr_matrix(X[i : i + 1]).astype(np.float32))
        found = attribute(row)
        np.testing.assert_allclose(found.end, model.predict_proba(row)[0], atol=1e-12)
        np.testing.assert_allclose(found.start + found.values.sum(axis=0), found.end)


def test_lazy_paths_of_many_splits_are_traced_again(monkeypatch):
    monkeypatch.setattr("cordwood.explain._lazy_paths._SPLITS_PER_TREE", 1)
    X, y = make_counts(200, 40, 3, 6)
    model = LazyForestClassifier(40, 30, random_state=0).fit(X, y)
    row = to_csr(sp.csr_matrix(X[:1]).astype(np.float32))
    found = make_lazy_attributor(model).attribute(row)
    np.testing.assert_allclose(found.end, model.predict_proba(row)[0], atol=1e-12)


@pytest.mark.parametrize("floor", [1e-6, 0.1, 0.4])
def test_floor_of_log_probabilities(floor):
    X, y = make_counts(120, 12, 3, 7)
    linear = make_linear_attributor(LinearSVMClassifier(random_state=0).fit(X, y))
    forest = make_forest_attributor(RandomForestClassifier(20, random_state=0).fit(X, y))
    for attributor in (linear, forest):
        found = attributor.attribute(to_csr(sp.csr_matrix(X[:1]).astype(np.float32)))
        proba, logs = to_probability(found), to_log_probability(found, floor)
        np.testing.assert_allclose(logs.end, np.log(np.maximum(proba.end, floor)), atol=1e-9)
        total = logs.start + logs.apply(found.values).sum(axis=0)
        np.testing.assert_allclose(total, logs.end, atol=1e-9)


def test_member_contributions_of_two_classes_are_pool_weights_times_logs():
    texts, labels = ["good so", "good", "bad so", "bad"] * 6, ["+", "+", "-", "-"] * 6
    model = recipes.make("quick", members=["nb", "rf"], random_state=0).fit(texts, labels)
    explanation = Explainer(view_model(model)).explain("so good")
    stack = model["classifier"]
    pool = stack.final_estimator_
    logs = [
        np.log(np.maximum(stack.transform([text]).reshape(2, 2), pool.floor)) * pool.coef_
        for text in ("", "so good")
    ]
    change = logs[1] - logs[0]
    expected = change[:, 0] - change[:, 1]
    found = [member.contributions[0] for member in explanation.members]
    np.testing.assert_allclose(found, expected, atol=1e-9)
    proba = model.predict_proba(["so good"])[0, 0]
    assert explanation.values[0] == pytest.approx(logit(proba))
