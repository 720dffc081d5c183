import itertools
import pickle

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import log_softmax
from sklearn.datasets import load_digits
from sklearn.dummy import DummyClassifier
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from sklearn.naive_bayes import GaussianNB, MultinomialNB
from sklearn.pipeline import make_pipeline

from cordwood import OOBStackingClassifier, RandomForestClassifier
from cordwood.stacking._pruning import choose_estimators
from cordwood.stacking.combiners import LogarithmicPool, Voting

SEVERAL = [
    ("forest", RandomForestClassifier(20, random_state=0)),
    ("chance", DummyClassifier(strategy="uniform", random_state=0)),
    ("bayes", GaussianNB(var_smoothing=0.1)),
]


def draw_probas(codes, sharpness, rng):
    """Draw probabilities that are informative if `sharpness` is positive."""
    n_classes = codes.max() + 1
    scores = rng.normal(size=(len(codes), n_classes)) + sharpness * np.eye(n_classes)[codes]
    return np.exp(log_softmax(scores, axis=1))


def find_log_loss(probas, codes, weights):
    """Minimize the log loss of a product of powers of probabilities, by a general optimizer."""
    logs = np.log(np.maximum(probas, 1e-3))

    def loss(coef):
        proba = log_softmax(np.tensordot(logs, coef, axes=(1, 0)), axis=1)
        return -np.average(proba[np.arange(len(codes)), codes], weights=weights)

    n = probas.shape[1]
    result = minimize(loss, np.full(n, 1 / n), bounds=[(0, 10)] * n, tol=1e-9)
    return result.fun


def eliminate(losses, tol):
    """Drop the estimator that the log loss needs least, by a table of all subsets."""
    kept = max(losses, key=len)
    while len(kept) > 1:
        smaller = [tuple(j for j in kept if j != i) for i in kept]
        best = min(smaller, key=losses.get)
        if losses[best] > (1 + tol) * losses[kept]:
            break
        kept = best
    return list(kept)


@pytest.mark.parametrize("weighted", [False, True])
def test_choice_equals_backward_elimination_over_all_subsets(weighted):
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 3, 400)
    probas = np.stack([draw_probas(codes, s, rng) for s in (1.0, 0.4, 0.0, 0.8)], axis=1)
    weights = rng.uniform(0.2, 2.0, 400) if weighted else None
    losses = {
        subset: find_log_loss(probas[:, subset], codes, weights)
        for size in (1, 2, 3, 4)
        for subset in itertools.combinations(range(4), size)
    }
    tols = (0.005, 0.05, 0.15, 0.5)
    n = probas.shape[1]
    chosen = [choose_estimators(probas, codes, weights, np.full(n, tol), seed=0) for tol in tols]
    assert chosen == [eliminate(losses, tol) for tol in tols]
    assert [len(kept) for kept in chosen] == [3, 2, 2, 1]


def test_one_estimator_is_kept_if_all_are_useless():
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 2, 100)
    probas = np.full((100, 3, 2), 0.5)
    assert len(choose_estimators(probas, codes, None, np.full(3, 0.01), seed=0)) == 1


def test_negative_tolerance_keeps_an_estimator():
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 2, 300)
    good, noise = draw_probas(codes, 1.0, rng), draw_probas(codes, 0.0, rng)
    probas = np.stack([good, noise, noise], axis=1)
    assert choose_estimators(probas, codes, None, np.array([0.05, 0.05, 0.05]), seed=0) == [0]
    assert choose_estimators(probas, codes, None, np.array([-1, 0.05, -1]), seed=0) == [0, 2]
    assert choose_estimators(probas, codes, None, np.array([0.05, -1, -1]), seed=0) == [0, 1, 2]


def test_choice_on_subsample_is_reproducible():
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 2, 5000)
    probas = np.stack([draw_probas(codes, s, rng) for s in (1.0, 0.1, 1.0)], axis=1)
    chosen = [choose_estimators(probas, codes, None, np.full(3, 0.02), seed) for seed in (0, 0, 1)]
    assert chosen == [[0, 2]] * 3


def fit_pruned(**params):
    X, y = load_digits(return_X_y=True)
    stack = OOBStackingClassifier(SEVERAL, prune_tol=0.01, cv=3, random_state=0, **params)
    return stack.fit(X[:600], y[:600]), X[600:], y[600:]


def test_pruned_stack_equals_stack_without_the_estimator():
    pruned, X, _ = fit_pruned()
    assert pruned.pruned_ == ["chance"]
    kept = [(name, estimator) for name, estimator in SEVERAL if name != "chance"]
    digits = load_digits(return_X_y=True)
    small = OOBStackingClassifier(kept, cv=3, random_state=0).fit(digits[0][:600], digits[1][:600])
    np.testing.assert_allclose(pruned.predict_proba(X), small.predict_proba(X))
    np.testing.assert_array_equal(pruned.meta_features_, small.meta_features_)
    assert list(pruned.get_feature_names_out()) == list(small.get_feature_names_out())
    assert pruned.transform(X).shape == (len(X), 20)
    assert list(pruned.named_estimators_) == ["forest", "bayes"]
    assert len(pruned.stack_method_) == len(pruned.estimators_) == 2


def test_estimator_weights_are_mean_coefficients_and_zero_for_pruned():
    pruned, *_ = fit_pruned()
    forest, bayes = pruned.final_estimator_.coef_.mean(axis=1)
    assert pruned.estimator_weights_ == {"forest": forest, "chance": 0.0, "bayes": bayes}


def test_estimator_weights_require_logarithmic_pool():
    pruned, *_ = fit_pruned(final_estimator=Voting())
    assert pruned.pruned_ == ["chance"]
    assert not hasattr(pruned, "estimator_weights_")


def test_all_estimators_are_kept_by_default():
    X, y = load_digits(return_X_y=True)
    stack = OOBStackingClassifier(SEVERAL, cv=3, random_state=0).fit(X[:300], y[:300])
    assert stack.pruned_ == []
    assert list(stack.estimator_weights_) == ["forest", "chance", "bayes"]


def test_leakage_check_omits_pruned_estimators():
    pruned, *_ = fit_pruned()
    assert set(pruned.oof_optimism_) == set(pruned.named_estimators_) == {"forest", "bayes"}


@pytest.mark.parametrize("final_estimator", [None, Voting()])
def test_pruned_stack_shares_remaining_steps_after_pickling(final_estimator):
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 200)
    texts = [" ".join(rng.choice([f"w{k}", "x", "y", "z"], 6)) for k in y]
    estimators = [
        ("chance", make_pipeline(TfidfVectorizer(), DummyClassifier(strategy="prior"))),
        ("counts", make_pipeline(CountVectorizer(), MultinomialNB())),
        ("again", make_pipeline(CountVectorizer(), MultinomialNB(alpha=0.1))),
    ]
    stack = OOBStackingClassifier(estimators, final_estimator, prune_tol=0.001, random_state=0)
    stack.fit(texts, y)
    assert "chance" in stack.pruned_
    assert len(stack._shared_steps) == 2  # no steps, and those of the vectorizer that is used
    loaded = pickle.loads(pickle.dumps(stack))
    assert np.array_equal(loaded.predict_proba(texts[:9]), stack.predict_proba(texts[:9]))
    assert loaded.pruned_ == stack.pruned_


def test_single_remaining_estimator_decides_alone():
    rng = np.random.default_rng(0)
    codes = rng.choice(3, 300, p=[0.8, 0.15, 0.05])
    proba = draw_probas(codes, 1.0, rng)
    pool = LogarithmicPool().fit(proba, codes)
    assert np.array_equal(pool.predict(proba), proba.argmax(axis=1))
    assert np.array_equal(pool.intercept_, np.zeros(3))
    assert len(np.unique(pool.coef_)) == 1 and pool.coef_[0, 0] > 0


@pytest.mark.parametrize(
    ("prune_tol", "dropped"), [({"chance": 0.01}, ["chance"]), ({"bayes": 0.01}, []), ({}, [])]
)
def test_tolerance_by_name(prune_tol, dropped):
    X, y = load_digits(return_X_y=True)
    stack = OOBStackingClassifier(SEVERAL, prune_tol=prune_tol, cv=3, random_state=0)
    assert stack.fit(X[:300], y[:300]).pruned_ == dropped


def test_tolerance_of_unknown_name_raises():
    X, y = load_digits(return_X_y=True)
    with pytest.raises(ValueError, match="prune_tol has 'forrest', which is no name of an est"):
        OOBStackingClassifier(SEVERAL, prune_tol={"forrest": 0.01}).fit(X, y)


@pytest.mark.parametrize(
    "prune_tol", [-0.1, np.nan, True, None, "auto", {"forest": -0.1}, {"forest": None}]
)
def test_invalid_prune_tol_raises(prune_tol):
    X, y = load_digits(return_X_y=True)
    with pytest.raises(ValueError, match="^prune_tol must be .*; got"):
        OOBStackingClassifier(SEVERAL, prune_tol=prune_tol).fit(X, y)
