"""Small collections to boost on: some words lean to one side, none is perfect."""

import numpy as np
import pytest
import scipy.sparse as sp

from cordwood.rules._documents import find_present, merge, set_task


def make_documents(n_docs, n_words, share, seed):
    """Draw words at random, some of them more often in the positive documents."""
    rng = np.random.default_rng(seed)
    y = rng.random(n_docs) < share
    y[:2] = [True, False]
    lean = rng.normal(scale=1.5, size=n_words)
    odds = np.exp(rng.normal(-1.5, 1.0, n_words) + np.where(y[:, None], lean, 0.0))
    return (rng.random((n_docs, n_words)) < odds / (1 + odds)).astype(float), y


def make_task(n_docs=60, n_words=12, share=0.3, seed=0):
    X, y = make_documents(n_docs, n_words, share, seed)
    documents = merge(find_present(X), y[:, None], np.ones(n_docs))
    return set_task(documents, documents.labels[:, 0])


@pytest.fixture(scope="session")
def documents():
    return make_documents


@pytest.fixture(scope="session")
def tasks():
    return make_task


@pytest.fixture(scope="session")
def unfold():
    """Give a task as a dense matrix of its documents by words."""
    return lambda task: sp.hstack([task.plus, task.minus]).T.toarray() > 0
