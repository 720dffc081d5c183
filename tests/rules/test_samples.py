import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from cordwood.rules._samples import (
    assign_calibration_folds,
    binarize,
    merge_duplicates,
    one_vs_rest,
)


def as_multiset(samples):
    rows = np.hstack([samples.present.toarray(), samples.labels, samples.weight[:, None]])
    return sorted(map(tuple, rows.tolist()))


@pytest.mark.parametrize("container", [np.asarray, sp.csr_array, sp.csc_matrix, sp.coo_array])
def test_binarize_marks_positive_values(container):
    X = np.array([[0.0, 0.5, -2.0], [1e-30, 0.0, 7.0]])
    present = binarize(container(X))
    assert present.toarray().tolist() == [[0, 1, 0], [1, 0, 1]]
    assert present.nnz == 3


def test_binarize_handles_stored_zeros_and_duplicate_entries():
    X = sp.csr_matrix(([0.0, 1.0, 1.0], [2, 0, 0], [0, 3]), shape=(1, 3))
    assert binarize(X).toarray().tolist() == [[1, 0, 0]]


@settings(deadline=None, max_examples=40)
@given(st.integers(0, 2**32 - 1))
def test_merging_ignores_order_and_treats_weights_as_duplicates(seed):
    rng = np.random.default_rng(seed)
    X, labels = rng.random((20, 3)) < 0.4, rng.random((20, 2)) < 0.5
    weights = rng.integers(0, 4, 20).astype(float)
    weights[0] = 1.0
    merged = merge_duplicates(binarize(X), labels, weights)
    copies = rng.permutation(20)
    copies = np.repeat(copies, weights[copies].astype(int))
    repeated = merge_duplicates(binarize(X[copies]), labels[copies], np.ones(len(copies)))
    for first, second in zip(merged, repeated, strict=True):
        first, second = (a.toarray() if sp.issparse(a) else a for a in (first, second))
        assert np.array_equal(first, second)
    distinct = {(*row, *label) for row, label, w in zip(X, labels, weights, strict=True) if w}
    assert len(merged.weight) == len(distinct)
    assert merged.weight.sum() == weights.sum()


def test_samples_of_different_labels_are_not_merged():
    labels = np.array([[True], [False], [True]])
    merged = merge_duplicates(binarize(np.ones((3, 2))), labels, np.ones(3))
    assert as_multiset(merged) == [(1, 1, 0, 1), (1, 1, 1, 2)]


def test_one_vs_rest_puts_positive_samples_first():
    X = np.array([[1, 0], [0, 1], [1, 1], [0, 0]])
    labels = np.array([True, False, False, True])
    samples = merge_duplicates(binarize(X), labels[:, None], np.array([1.0, 2, 3, 4]))
    problem = one_vs_rest(samples, samples.labels[:, 0])
    assert problem.n_positive == 2
    assert problem.sign.tolist() == [1, 1, -1, -1]
    assert problem.total_weight == 10
    assert sorted(problem.weight[:2]) == [1, 4]
    assert set(problem.weight[problem.samples_with(0)]) == {1, 3}


def test_folds_are_stratified_by_rarest_label():
    rng = np.random.default_rng(0)
    X = rng.random((300, 12)) < 0.5
    labels = np.zeros((300, 3), bool)
    labels[:6, 0] = labels[4:60, 1] = labels[50:200, 2] = True
    samples = merge_duplicates(binarize(X), labels, np.ones(300))
    folds = assign_calibration_folds(samples, 3)
    rare, medium, common = samples.labels.T
    for stratum in (rare, medium & ~rare, common & ~medium, ~samples.labels.any(axis=1)):
        counts = np.bincount(folds[stratum], minlength=3)
        assert counts.max() - counts.min() <= 1
    assert rare.sum() == 6


def test_samples_with_equal_features_are_in_one_fold():
    rng = np.random.default_rng(1)
    X, labels = rng.random((200, 5)) < 0.5, rng.random((200, 3)) < 0.5
    samples = merge_duplicates(binarize(X), labels, np.ones(200))
    folds = assign_calibration_folds(samples, 3)
    rows = samples.present.toarray()
    for row in np.unique(rows, axis=0):
        assert len(np.unique(folds[(rows == row).all(axis=1)])) == 1
    assert set(folds) == {0, 1, 2}


@pytest.mark.parametrize("positive_fraction", [0.1, 0.5, 0.9])
def test_folds_do_not_depend_on_the_positive_class(positive_fraction):
    rng = np.random.default_rng(2)
    X, y = rng.random((100, 5)) < 0.5, rng.permutation(100) < 100 * positive_fraction
    parts = []
    for labels in (y, ~y):
        samples = merge_duplicates(binarize(X), labels[:, None], np.ones(100))
        rows = samples.present.toarray() @ 2 ** np.arange(5)
        is_first = samples.labels[:, 0] == (labels is y)
        parts.append(sorted(zip(rows, is_first, assign_calibration_folds(samples, 3), strict=True)))
    assert parts[0] == parts[1]
