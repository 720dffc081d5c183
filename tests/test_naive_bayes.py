import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.datasets import load_iris, load_wine
from sklearn.naive_bayes import ComplementNB, GaussianNB, MultinomialNB

from cordwood.naive_bayes import NaiveBayesClassifier

VARIANTS = ("multinomial", "complement", "gaussian")


@pytest.mark.parametrize(
    ("variant", "reference"),
    [
        ("multinomial", MultinomialNB(alpha=0.1)),
        ("complement", ComplementNB(alpha=0.1)),
        ("gaussian", GaussianNB(var_smoothing=0.1)),
    ],
)
@pytest.mark.parametrize("container", [np.asarray, sp.csr_array, sp.csc_matrix])
def test_variants_match_scikit_learn(variant, reference, container):
    X, y = load_iris(return_X_y=True)
    X[X < 1.5] = 0
    labels = np.array(["a", "b", "c"])[y]
    model = NaiveBayesClassifier(variant=variant, alpha=0.1).fit(container(X), labels)
    expected = clone(reference).fit(X, y).predict_proba(X)
    np.testing.assert_allclose(model.predict_proba(container(X)), expected, rtol=1e-9, atol=1e-15)
    assert (model.predict(container(X)) == model.classes_[expected.argmax(axis=1)]).all()
    assert model.classes_.tolist() == ["a", "b", "c"]
    assert model.n_features_in_ == 4


@pytest.mark.parametrize("alpha", [0.0, 0.1])
@pytest.mark.parametrize("container", [np.asarray, sp.csr_array])
@pytest.mark.parametrize(
    ("variant", "reference"), [("multinomial", MultinomialNB), ("complement", ComplementNB)]
)
@pytest.mark.filterwarnings("ignore")
def test_probabilities_are_those_of_scikit_learn_bit_by_bit(variant, reference, container, alpha):
    rng = np.random.default_rng(0)
    X, y = container(rng.poisson(0.3, (60, 40)) * 0.37), rng.integers(0, 5, 60)
    model = NaiveBayesClassifier(variant=variant, alpha=alpha).fit(X, y)
    expected = reference(alpha=alpha).fit(X, y).predict_proba(X)
    np.testing.assert_array_equal(model.predict_proba(X), expected)


def draw_weights(n_samples):
    return np.random.default_rng(0).integers(0, 4, n_samples)


@pytest.mark.parametrize(
    ("variant", "reference"),
    [("multinomial", MultinomialNB(alpha=0.1)), ("complement", ComplementNB(alpha=0.1))],
)
def test_weighted_counts_match_scikit_learn(variant, reference):
    X, y = load_iris(return_X_y=True)
    weights = draw_weights(len(y)) + 0.3
    model = NaiveBayesClassifier(variant=variant, alpha=0.1).fit(sp.csr_array(X), y, weights)
    np.testing.assert_allclose(
        model.predict_proba(X), reference.fit(X, y, weights).predict_proba(X), rtol=1e-9
    )


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("alpha", [1e-3, 1.0])
def test_integer_weights_equal_repeated_samples(variant, alpha):
    X, y = load_wine(return_X_y=True)
    weights = draw_weights(len(y))
    model = NaiveBayesClassifier(variant=variant, alpha=alpha)
    expected = clone(model).fit(X.repeat(weights, axis=0), y.repeat(weights)).predict_proba(X)
    proba = model.fit(X, y, weights).predict_proba(X)
    np.testing.assert_allclose(proba, expected, rtol=1e-6, atol=1e-12)


@pytest.mark.parametrize("variant", VARIANTS)
def test_weights_of_one_change_nothing(variant):
    X, y = load_wine(return_X_y=True)
    without, ones = (
        NaiveBayesClassifier(variant=variant).fit(X, y, weights).predict_proba(X).tobytes()
        for weights in (None, np.ones(len(y)))
    )
    assert without == ones


# Complement naive Bayes has no priors.
@pytest.mark.parametrize("variant", ["multinomial", "gaussian"])
def test_a_class_without_weight_has_no_probability(variant):
    X, y = load_iris(return_X_y=True)
    proba = NaiveBayesClassifier(variant=variant).fit(X, y, y != 1).predict_proba(X)
    assert not proba[:, 1].any()
    np.testing.assert_allclose(proba.sum(axis=1), 1)


@pytest.mark.parametrize("alpha", [1e-9, 1e-3, 10.0])
def test_gaussian_smoothing_is_relative_to_largest_variance(alpha):
    X, y = load_wine(return_X_y=True)  # features of different scales
    model = NaiveBayesClassifier(variant="gaussian", alpha=alpha).fit(X, y)
    epsilon = alpha * X.var(axis=0).max()
    log_joint = np.empty((len(y), 3))
    for k in range(3):
        mean, variance = X[y == k].mean(axis=0), X[y == k].var(axis=0) + epsilon
        log_density = -0.5 * (np.log(2 * np.pi * variance) + (X - mean) ** 2 / variance)
        log_joint[:, k] = np.log((y == k).mean()) + log_density.sum(axis=1)
    expected = np.exp(log_joint - log_joint.max(axis=1, keepdims=True))
    expected /= expected.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(model.predict_proba(X), expected, rtol=1e-6, atol=1e-12)


def test_gaussian_with_float32_equals_float64():
    X, y = load_wine(return_X_y=True)
    X = X.astype(np.float32)
    single, double = (
        NaiveBayesClassifier(variant="gaussian", alpha=1e-9).fit(Z, y).predict_proba(Z)
        for Z in (sp.csr_array(X), X.astype(np.float64))
    )
    assert np.array_equal(single, double)


def test_constant_feature_requires_smoothing():
    X, y = [[1.0, 0.0], [1.0, 1.0], [0.0, 0.0], [0.5, 1.0]], [0, 0, 1, 1]
    with pytest.raises(
        ValueError, match="X has features of zero variance within a class.*set alpha > 0"
    ):
        NaiveBayesClassifier(variant="gaussian", alpha=0.0).fit(X, y)
    assert NaiveBayesClassifier(variant="gaussian", alpha=0.1).fit(X, y).predict(X).shape == (4,)


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"variant": "normal"}, "^variant must be one of .*; got 'normal'"),
        ({"alpha": -1.0}, "^alpha must be .*; got -1.0"),
        ({"alpha": "1"}, "^alpha must be .*; got '1'"),
        ({"alpha": True}, "^alpha must be .*; got True"),
    ],
)
def test_invalid_parameters_raise(params, message):
    with pytest.raises(ValueError, match=message):
        NaiveBayesClassifier(**params).fit([[1.0], [2.0]], [0, 1])


def test_missing_label_raises():
    with pytest.raises(ValueError, match=r"y\[1\] is None; every sample needs a label"):
        NaiveBayesClassifier().fit([[0.0], [1.0], [2.0]], ["spam", None, "ham"])


@pytest.mark.parametrize("variant", VARIANTS)
def test_positive_only_tag_matches_behavior(variant):
    X, y = [[-1.0], [-2.0], [3.0], [4.0]], [0, 0, 1, 1]
    model = NaiveBayesClassifier(variant=variant)
    if model.__sklearn_tags__().input_tags.positive_only:
        with pytest.raises(ValueError, match="Negative values"):
            model.fit(X, y)
    else:
        assert model.fit(X, y).predict(X).tolist() == y
