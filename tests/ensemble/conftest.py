"""Training data with a known answer: text-like counts, and numbers of all signs."""

import numpy as np
import pytest


def make_words(n_docs, n_words, n_classes, seed, *, noise=0.1):
    """Word counts by Zipf's law, each class with favourite words; a share of labels is random."""
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, n_classes, n_docs)
    rates = 3.0 / np.arange(1, n_words + 1) ** 0.9
    favour = np.exp(rng.normal(scale=1.0, size=(n_classes, n_words)))
    X = rng.poisson(rates * favour[codes])
    strange = rng.random(n_docs) < noise
    codes[strange] = rng.integers(0, n_classes, strange.sum())
    return X.astype(np.float32), codes


def make_numbers(n_docs, n_features, n_classes, seed):
    """Continuous and stepped columns of all signs, with and without zeros."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_docs, n_features))
    X[:, 1::3] = np.round(2 * X[:, 1::3])
    X[:, 2::3] *= rng.random((n_docs, len(X[0, 2::3]))) < 0.15
    X[:, 0] = -np.abs(X[:, 0])
    codes = (X[:, 0] + X[:, 1] + rng.normal(size=n_docs) > np.arange(n_classes)[:, None]).sum(0)
    return X.astype(np.float32), codes % n_classes


@pytest.fixture(scope="session")
def words():
    return make_words


@pytest.fixture(scope="session")
def numbers():
    return make_numbers
