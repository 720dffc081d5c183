"""Kernels, compiled and as plain Python, against the predictions of the forests."""

import numpy as np
import pytest
import scipy.sparse as sp

from cordwood._base.csr import csr_arrays, to_csr
from cordwood.ensemble.forests import RandomForestClassifier
from cordwood.ensemble.lazy_forest import LazyForestClassifier
from cordwood.ensemble.tree_engine.lazy_trees import allocate_lazy_workspace
from cordwood.explain._neighbor_terms import find_neighbors
from synthetic_data import make_counts

N_CLASSES = 3
X, Y = make_counts(80, 15, N_CLASSES, 0)
ROWS = [to_csr(sp.csr_matrix(X[i : i + 1]).astype(np.float32)) for i in range(4)]


@pytest.fixture(scope="module")
def forest():
    return RandomForestClassifier(8, min_samples_leaf=2, random_state=0).fit(X, Y)


@pytest.mark.parametrize("is_wide", [False, True])
def test_contributions_change_the_prediction_of_zeros_to_that_of_the_sample(
    kernels, forest, is_wide
):
    trees = forest.forest_
    if is_wide:
        trees = trees._replace(
            feature_and_side=trees.feature_and_side.astype(np.uint32),
            far_child=trees.far_child.astype(np.int32),
        )
    weights = np.full(trees.n_trees, 1 / trees.n_trees)
    zeros = forest.predict_proba(np.zeros((1, X.shape[1])))[0]
    for row in ROWS:
        values, reference = kernels.tree_shap.tree_shap(trees, csr_arrays(row), weights, N_CLASSES)
        np.testing.assert_allclose(reference, zeros)
        total = reference + values.sum(axis=0)
        np.testing.assert_allclose(total, forest.predict_proba(row)[0], atol=1e-12)


def test_contributions_are_the_same_compiled_and_as_plain_python(compiled, plain, forest):
    weights = np.linspace(0.5, 1.5, forest.forest_.n_trees)
    for row in ROWS:
        arguments = (forest.forest_, csr_arrays(row), weights, N_CLASSES)
        found, expected = (each.tree_shap.tree_shap(*arguments)[0] for each in (compiled, plain))
        np.testing.assert_allclose(found, expected, atol=1e-12)


# The score of no split, minus infinity, is multiplied by zero, which numpy reports in plain Python.
@pytest.mark.filterwarnings("ignore:invalid value encountered:RuntimeWarning")
@pytest.mark.parametrize("base", ["rf", "et"])
def test_lazy_paths_lead_to_the_votes(kernels, base):
    model = LazyForestClassifier(20, 5, base=base, random_state=0).fit(X, Y)
    workspace = allocate_lazy_workspace(model._rows, N_CLASSES, 20)
    params = model._tree_params(20, model.n_features_in_, is_loo=False)
    for row in ROWS[:2]:
        neighbors, _ = find_neighbors(model, row)
        weights, features = np.zeros(len(Y)), np.empty(500, np.int64)
        changes = np.zeros((500, N_CLASSES))
        n_splits = kernels.lazy_paths.record_paths(
            model._rows,
            params,
            workspace,
            row.indices,
            row.data,
            neighbors,
            np.int64(model.seed_),
            weights,
            features,
            changes,
        )
        assert 0 < n_splits <= 500
        assert weights.sum() == pytest.approx(1)
        root = np.bincount(model._codes, weights, N_CLASSES)
        changed = changes.sum(axis=0)
        total = root + changed
        np.testing.assert_allclose(total, model.predict_proba(row)[0], atol=1e-12)
