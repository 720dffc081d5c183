import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.utils.estimator_checks import parametrize_with_checks

from cordwood import EmbeddingClassifier, load
from cordwood.persist import save


@parametrize_with_checks([EmbeddingClassifier(), EmbeddingClassifier(balanced=True)])
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def draw(n_classes, n_samples=60, seed=0):
    """Draw unit vectors around the mean of each class."""
    rng = np.random.default_rng(seed)
    means = rng.normal(size=(n_classes, 8))
    y = np.arange(n_samples) % n_classes
    X = means[y] + rng.normal(size=(n_samples, 8))
    return X / np.linalg.norm(X, axis=1, keepdims=True), y, means


@pytest.mark.parametrize("n_classes", [2, 5])
def test_is_logistic_regression_with_more_strength_for_more_classes(n_classes):
    X, y, _ = draw(n_classes)
    model = EmbeddingClassifier().fit(X, y)
    reference = LogisticRegression(C=3 * np.sqrt(n_classes / 2), max_iter=300).fit(X, y)
    np.testing.assert_array_equal(model.coef_, reference.coef_)
    np.testing.assert_allclose(model.predict_proba(X), reference.predict_proba(X), atol=1e-12)
    np.testing.assert_array_equal(model.predict(X), reference.predict(X))
    assert EmbeddingClassifier(C=7.0).fit(X, y).coef_ == pytest.approx(
        LogisticRegression(C=7.0, max_iter=300).fit(X, y).coef_
    )


def test_class_vectors_count_as_three_samples():
    X, y, means = draw(3)
    vectors = {0: means[:1], 1: means[1:2], 2: np.vstack([means[2], -means[2]])}
    model = EmbeddingClassifier(C=1.0, class_vectors=vectors).fit(X, y)
    weights = np.r_[np.ones(len(y)), 3, 3, 1.5, 1.5]
    reference = LogisticRegression(C=1.0, max_iter=300).fit(
        np.vstack([X, means, -means[2]]), np.r_[y, 0, 1, 2, 2], weights
    )
    np.testing.assert_allclose(model.coef_, reference.coef_, atol=1e-6)


def test_balanced_classes_have_the_same_weight():
    X, y, _ = draw(3)
    kept = np.flatnonzero((y > 0) | (np.arange(len(y)) < 15))
    weights = np.linspace(0.5, 2, len(kept))
    model = EmbeddingClassifier(C=1.0, balanced=True).fit(X[kept], y[kept], weights)
    totals = np.bincount(y[kept], weights)
    reference = LogisticRegression(C=1.0, max_iter=300).fit(
        X[kept], y[kept], weights * (totals.mean() / totals)[y[kept]]
    )
    np.testing.assert_allclose(model.coef_, reference.coef_, atol=1e-6)


def test_classes_without_samples_are_not_added():
    X, y, means = draw(3)
    labels = np.array(["a", "b", "c"])[y]
    vectors = {label: mean for label, mean in zip("abc", means, strict=True)}
    model = EmbeddingClassifier(class_vectors=vectors).fit(X[y < 2], labels[y < 2])
    assert model.classes_.tolist() == ["a", "b"]
    without = EmbeddingClassifier(class_vectors={"z": means[0]}).fit(X, labels)
    np.testing.assert_array_equal(without.coef_, EmbeddingClassifier().fit(X, labels).coef_)


@pytest.mark.parametrize(
    ("params", "match"),
    [
        ({"C": 0.0}, "C must be a positive number"),
        ({"balanced": "auto"}, "balanced must be"),
        ({"class_vectors": [1.0]}, "class_vectors must be a mapping"),
        ({"class_vectors": {0: [1.0]}}, "class_vectors of 0 must be finite vectors of 8 elements"),
        ({"class_vectors": {0: [np.nan] * 8}}, "class_vectors of 0 must be finite"),
    ],
)
def test_invalid_parameters_raise(params, match):
    X, y, _ = draw(2)
    with pytest.raises(ValueError, match=match):
        EmbeddingClassifier(**params).fit(X, y)


def test_model_file_has_no_class_vectors(tmp_path):
    X, y, means = draw(2)
    model = EmbeddingClassifier(class_vectors={0: means[0]}).fit(X, y)
    save(model, tmp_path / "model.cordwood")
    loaded = load(tmp_path / "model.cordwood")
    assert loaded.class_vectors is None
    np.testing.assert_allclose(loaded.predict_proba(X), model.predict_proba(X), atol=1e-3)
    assert clone(model).class_vectors[0] == pytest.approx(means[0])
