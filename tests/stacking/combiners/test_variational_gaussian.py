import warnings

import numpy as np
import pytest
from scipy.stats import multivariate_normal, wishart
from sklearn.exceptions import ConvergenceWarning

from cordwood.stacking.combiners import VariationalGaussian


def expected_gaussian(X, method, scatter=1.0, weights=None):
    """Return mean and covariance by the formulas of the docstring, with full matrices."""
    weights = np.ones(len(X)) if weights is None else weights
    D, n = X.shape[1], weights.sum()
    mean = weights @ X / n
    S = (weights[:, None] * (X - mean)).T @ (X - mean)
    unit = np.eye(D)
    if method == "conjugate":
        k = scatter / D
        psi = scatter * unit + S + k * n / (k + n) * np.outer(mean, mean)
        return n / (k + n) * mean, psi / (D + n)
    psi = scatter * unit + S
    for _ in range(2000):
        precision = (D + n) * np.linalg.inv(psi)
        C = np.linalg.inv(unit + n * precision)
        m = n * C @ precision @ mean
        psi = scatter * unit + S + n * np.outer(mean - m, mean - m) + n * C
    return m, psi / (D + n)


def log_posterior(X, y, samples, method, factors, **options):
    logs = []
    for code in np.unique(y):
        m, covariance = expected_gaussian(X[y == code], method, **options)
        logs.append(np.log(factors[code]) + multivariate_normal(m, covariance).logpdf(samples))
    return np.transpose(logs)


def normalize(logs):
    shares = np.exp(logs - logs.max(axis=1, keepdims=True))
    return shares / shares.sum(axis=1, keepdims=True)


@pytest.mark.parametrize("method", ["conjugate", "variational"])
@pytest.mark.parametrize(
    "n_samples", [9, 60, 600]
)  # fewer and more samples of a class than features
@pytest.mark.parametrize("scatter", [1.0, 0.1])
def test_probabilities_match_full_covariance_matrices(method, n_samples, scatter, simulate):
    X, y = simulate(n=n_samples, n_members=4)
    samples, _ = simulate(n=30, n_members=4, seed=1)
    model = VariationalGaussian(method, prior_scatter=scatter, tol=1e-12).fit(X, y)
    logs = log_posterior(X, y, samples, method, np.full(3, 1 / 3), scatter=scatter)
    np.testing.assert_allclose(model.predict_proba(samples), normalize(logs), rtol=1e-6, atol=1e-9)


def test_closed_form_matches_importance_sampling_of_the_posterior():
    # Importance sampling from the prior uses Bayes' rule only.
    rng = np.random.default_rng(0)
    X = rng.normal([0.4, 0.6], 0.5, size=(3, 2))
    D, k = 2, 1 / 2
    precisions = wishart(df=D, scale=np.eye(D)).rvs(100_000, random_state=rng)
    roots = np.linalg.cholesky(np.linalg.inv(precisions) / k)
    means = (roots @ rng.normal(size=(len(roots), D, 1)))[..., 0]
    gaps = X[:, None] - means
    distances = np.einsum("ijk,jkl,ijl->ij", gaps, precisions, gaps, optimize=True).sum(axis=0)
    logs = len(X) / 2 * np.linalg.slogdet(precisions)[1] - distances / 2
    weights = np.exp(logs - logs.max())
    weights /= weights.sum()
    assert 1 / np.square(weights).sum() > 1000  # effective sample size
    model = VariationalGaussian().fit(X, np.zeros(3))
    covariance = (model.axes_[0].T * model.variances_[0]) @ model.axes_[0]
    np.testing.assert_allclose(weights @ means, model.means_[0], atol=0.02)
    expected = np.einsum("i,ijk->jk", weights, precisions)
    np.testing.assert_allclose(np.linalg.inv(covariance), expected, rtol=0.06)


def test_methods_differ_with_few_samples(simulate):
    X, y = simulate(n=6, n_members=4)
    conjugate, variational = (
        VariationalGaussian(method).fit(X, y).means_ for method in ("conjugate", "variational")
    )
    assert np.abs(conjugate - variational).max() > 1e-3
    # Both priors shrink the mean towards zero.
    raw = np.array([X[y == code].mean(axis=0) for code in range(3)])
    assert (np.linalg.norm(conjugate, axis=1) < np.linalg.norm(raw, axis=1)).all()
    assert (np.linalg.norm(variational, axis=1) < np.linalg.norm(raw, axis=1)).all()


@pytest.mark.parametrize("method", ["conjugate", "variational"])
def test_class_with_fewer_samples_than_features(method, simulate):
    X, y = simulate(n=3000, n_members=10, n_classes=3, skill=2.0)
    train = np.concatenate([np.flatnonzero(y < 2)[:300], np.flatnonzero(y == 2)[:3]])
    model = VariationalGaussian(method).fit(X[train], y[train])
    assert model.axes_[2].shape[0] <= 4  # at most its samples and the prior, of 30 features
    rest = np.setdiff1d(np.arange(len(y)), train)
    probabilities = model.predict_proba(X[rest])
    assert np.isfinite(probabilities).all()
    found = probabilities.argmax(axis=1)
    assert (found == y[rest]).mean() > 0.9
    assert (found[y[rest] == 2] == 2).mean() > 0.8


@pytest.mark.parametrize("method", ["conjugate", "variational"])
def test_constant_features(method):
    # Without the prior, the covariance would be singular.
    X = np.tile([[0.7, 0.3, 1.0, 0.0], [0.2, 0.8, 1.0, 0.0]], (5, 1))
    model = VariationalGaussian(method).fit(X, [0, 1] * 5)
    assert model.predict(X).tolist() == [0, 1] * 5


def test_class_weight_multiplies_the_prior(simulate):
    X, y = simulate(n=300, skill=0.3)
    kept = np.flatnonzero((y != 2) | (np.arange(300) % 10 == 2))
    X, y = X[kept], y[kept]
    plain = VariationalGaussian().fit(X, y)
    logs = np.log(plain.predict_proba(X))
    for class_weight, factors in [
        ("balanced", 1 / plain.class_prior_),
        ({0: 1.0, 1: 0.5, 2: 20.0}, np.array([1.0, 0.5, 20.0])),
    ]:
        model = VariationalGaussian(class_weight=class_weight).fit(X, y)
        np.testing.assert_allclose(model.predict_proba(X), normalize(logs + np.log(factors)))
        assert (model.predict(X) == 2).sum() > (plain.predict(X) == 2).sum()


def test_underflowing_densities(simulate):
    X, y = simulate(n=600, n_members=60, n_classes=5)
    far = np.full((1, 300), 50.0)
    probabilities = VariationalGaussian().fit(X, y).predict_proba(np.vstack([X, far]))
    np.testing.assert_allclose(probabilities.sum(axis=1), 1)


def test_convergence_warning(simulate):
    X, y = simulate(n=30)
    with pytest.warns(ConvergenceWarning, match="for 3 of 3 classes after max_iter=1 "):
        VariationalGaussian("variational", max_iter=1, tol=1e-12).fit(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert 1 < VariationalGaussian("variational").fit(X, y).n_iter_ < 100
        assert VariationalGaussian(max_iter=1, tol=1e-12).fit(X, y).n_iter_ == 1
