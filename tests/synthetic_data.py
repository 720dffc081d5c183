"""Synthetic training data that the tests share: counts as in text, and real numbers."""

import numpy as np


def make_counts(
    n_samples,
    n_features,
    n_classes,
    seed,
    *,
    noise=0.1,
    spread=1.0,
    rate=3.0,
    exponent=0.9,
    empty=0.0,
):
    """Term counts whose frequencies follow Zipf's law, with rates that depend on the class.

    Parameters
    ----------
    noise : float
        Fraction of labels that are replaced by random ones.
    spread : float
        Standard deviation of the log rates between classes.
    rate, exponent : float
        The k-th term has a mean count of rate / k**exponent, before differences between classes.
    empty : float
        Fraction of samples that are all zeros.
    """
    rng = np.random.default_rng(seed)
    y = rng.integers(0, n_classes, n_samples)
    rates = rate / np.arange(1, n_features + 1) ** exponent
    class_factors = np.exp(rng.normal(scale=spread, size=(n_classes, n_features)))
    X = rng.poisson(rates * class_factors[y])
    if noise:
        is_noise = rng.random(n_samples) < noise
        y[is_noise] = rng.integers(0, n_classes, is_noise.sum())
    if empty:
        X[rng.random(n_samples) < empty] = 0
    return X.astype(np.float32), y


def make_numbers(n_samples, n_features, n_classes, seed):
    """Continuous and rounded columns of both signs, with and without zeros."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_samples, n_features))
    X[:, 1::3] = np.round(2 * X[:, 1::3])
    X[:, 2::3] *= rng.random((n_samples, len(X[0, 2::3]))) < 0.15
    X[:, 0] = -np.abs(X[:, 0])
    y = (X[:, 0] + X[:, 1] + rng.normal(size=n_samples) > np.arange(n_classes)[:, None]).sum(0)
    return X.astype(np.float32), y % n_classes
