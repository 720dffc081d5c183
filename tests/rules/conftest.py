"""Small binary data sets in which some features depend on the class and none is perfect."""

import numpy as np
import pytest
import scipy.sparse as sp

from cordwood.rules._samples import binarize, merge_duplicates, one_vs_rest


def make_samples(n_samples, n_features, positive_fraction, seed):
    """Draw binary features, some of them more often in the positive class."""
    rng = np.random.default_rng(seed)
    y = rng.random(n_samples) < positive_fraction
    y[:2] = [True, False]
    effect = rng.normal(scale=1.5, size=n_features)
    odds = np.exp(rng.normal(-1.5, 1.0, n_features) + np.where(y[:, None], effect, 0.0))
    return (rng.random((n_samples, n_features)) < odds / (1 + odds)).astype(float), y


def make_binary_problem(n_samples=60, n_features=12, positive_fraction=0.3, seed=0):
    X, y = make_samples(n_samples, n_features, positive_fraction, seed)
    samples = merge_duplicates(binarize(X), y[:, None], np.ones(n_samples))
    return one_vs_rest(samples, samples.labels[:, 0])


@pytest.fixture(scope="session")
def make_problem():
    return make_binary_problem


@pytest.fixture(scope="session")
def to_dense():
    """Return the dense boolean samples of a binary problem."""
    return lambda problem: sp.hstack([problem.positive, problem.negative]).T.toarray() > 0
