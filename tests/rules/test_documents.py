import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from cordwood.rules._documents import deal, find_present, merge, set_task


def as_multiset(documents):
    rows = np.hstack([documents.present.toarray(), documents.labels, documents.weight[:, None]])
    return sorted(map(tuple, rows.tolist()))


@pytest.mark.parametrize("container", [np.asarray, sp.csr_array, sp.csc_matrix, sp.coo_array])
def test_only_values_above_zero_are_present(container):
    X = np.array([[0.0, 0.5, -2.0], [1e-30, 0.0, 7.0]])
    found = find_present(container(X))
    assert found.toarray().tolist() == [[0, 1, 0], [1, 0, 1]]
    assert found.nnz == 3


def test_stored_zeros_and_duplicates_are_no_words():
    X = sp.csr_matrix(([0.0, 1.0, 1.0], [2, 0, 0], [0, 3]), shape=(1, 3))
    found = find_present(X)
    assert found.toarray().tolist() == [[1, 0, 0]]


@settings(deadline=None, max_examples=40)
@given(st.integers(0, 2**32 - 1))
def test_order_and_copies_make_no_difference(seed):
    rng = np.random.default_rng(seed)
    X, labels = rng.random((20, 3)) < 0.4, rng.random((20, 2)) < 0.5
    weights = rng.integers(0, 4, 20).astype(float)
    weights[0] = 1.0
    merged = merge(find_present(X), labels, weights)
    copies = np.repeat(rng.permutation(20), 1)
    copies = np.repeat(copies, weights[copies].astype(int))
    unmerged = merge(find_present(X[copies]), labels[copies], np.ones(len(copies)))
    for ours, theirs in zip(merged, unmerged, strict=True):
        ours, theirs = (a.toarray() if sp.issparse(a) else a for a in (ours, theirs))
        assert np.array_equal(ours, theirs)
    distinct = {(*row, *label) for row, label, w in zip(X, labels, weights, strict=True) if w}
    assert len(merged.weight) == len(distinct)
    assert merged.weight.sum() == weights.sum()


def test_documents_of_different_labels_stay_apart():
    merged = merge(find_present(np.ones((3, 2))), np.array([[True], [False], [True]]), np.ones(3))
    assert as_multiset(merged) == [(1, 1, 0, 1), (1, 1, 1, 2)]


def test_a_task_has_the_plus_side_first():
    X = np.array([[1, 0], [0, 1], [1, 1], [0, 0]])
    labels = np.array([True, False, False, True])
    documents = merge(find_present(X), labels[:, None], np.array([1.0, 2, 3, 4]))
    task = set_task(documents, documents.labels[:, 0])
    assert task.n_plus == 2
    assert task.sign.tolist() == [1, 1, -1, -1]
    assert task.size == 10
    assert sorted(task.weight[:2]) == [1, 4]
    holders = {task.weight[doc] for doc in task.find(0)}
    assert holders == {1, 3}


def test_folds_share_out_every_label():
    rng = np.random.default_rng(0)
    X = rng.random((300, 12)) < 0.5
    labels = np.zeros((300, 3), bool)
    labels[:6, 0] = labels[4:60, 1] = labels[50:200, 2] = True
    documents = merge(find_present(X), labels, np.ones(300))
    folds = deal(documents, 3)
    rare, middle, common = documents.labels.T
    for group in (rare, middle & ~rare, common & ~middle, ~documents.labels.any(axis=1)):
        counts = np.bincount(folds[group], minlength=3)
        assert counts.max() - counts.min() <= 1
    assert rare.sum() == 6
