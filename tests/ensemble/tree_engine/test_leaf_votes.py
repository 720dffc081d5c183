import numpy as np
import pytest
import scipy.sparse as sp

from cordwood._base.csr import csr_arrays
from cordwood.ensemble.forests import RandomForestClassifier
from cordwood.ensemble.tree_engine.apply import apply
from cordwood.ensemble.tree_engine.leaf_votes import predict_trees, sum_votes
from synthetic_data import make_counts

N_CLASSES, N_TREES = 4, 7


@pytest.fixture(scope="module")
def fitted():
    """A forest with many impure leaves, leaves of which 30 % are missing, and probabilities."""
    X, y = make_counts(150, 40, N_CLASSES, seed=1, noise=0.4)
    model = RandomForestClassifier(N_TREES, min_samples_leaf=4, random_state=0).fit(X, y)
    leaves = apply(model.forest_, csr_arrays(sp.csr_matrix(X)))
    leaves[np.random.default_rng(0).random(leaves.shape) < 0.3] = -1
    leaves[:, 5] = -1
    assert (~model.forest_.far_child >= N_CLASSES).any()
    proba = np.stack([tree.predict_proba(X) for tree in model.to_sklearn().estimators_])
    return model.forest_, leaves, proba


def test_predictions_match_scikit_learns_trees(kernels, fitted):
    forest, leaves, proba = fitted
    expected = np.where(leaves < 0, -1, proba.argmax(axis=2))
    predictions = np.empty_like(leaves)
    kernels.leaf_votes.predict_leaves(forest, leaves, N_CLASSES, predictions)
    assert np.array_equal(predictions, expected)
    assert np.array_equal(predict_trees(forest, leaves, N_CLASSES), expected)


def test_votes_match_scikit_learns_trees(kernels, fitted):
    forest, leaves, proba = fitted
    weights = np.arange(1, N_TREES + 1) / 3
    expected = np.einsum("t,tsc->sc", weights, proba * (leaves >= 0)[:, :, None])
    votes = np.zeros((leaves.shape[1], N_CLASSES))
    kernels.leaf_votes.add_leaf_votes(forest, leaves, weights, votes)
    np.testing.assert_allclose(votes, expected, rtol=1e-6)
    np.testing.assert_allclose(sum_votes(forest, leaves, weights, N_CLASSES), votes, rtol=1e-12)
    assert not votes[5].any()
