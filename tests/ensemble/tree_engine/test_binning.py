import numpy as np
import pytest
import scipy.sparse as sp

from cordwood.ensemble._tree_engine import binning as table_module
from cordwood.ensemble._tree_engine.binning import encode


def decode(table):
    """Read the matrix back from the columns, and from the rows."""
    shape = table.n_docs, table.n_features
    by_column, by_row = np.zeros(shape, np.float32), np.zeros(shape, np.float32)
    for feature in range(table.n_features):
        values = table.least[table.value_start[feature] : table.value_start[feature + 1]]
        column = table.column[feature]
        if feature < table.n_dense:
            entries = table.dense_entry[feature]
            by_column[:, column] = by_row[:, column] = values[entries >> table.doc_bits]
            continue
        entries = table.column_entry[table.column_start[feature] : table.column_start[feature + 1]]
        by_column[entries & table.doc_mask, column] = values[entries >> table.doc_bits]
    for doc in range(table.n_docs):
        for e in range(table.row_start[doc], table.row_start[doc + 1]):
            feature = table.row_feature[e]
            rank = table.row_entry[e] >> table.doc_bits
            value = table.least[table.value_start[feature] + rank]
            by_row[doc, table.column[feature]] = value
    return by_column, by_row


@pytest.mark.parametrize("n_docs", [1, 2, 3, 128, 129, 200])
def test_the_matrix_is_kept_by_columns_and_by_rows(numbers, words, n_docs):
    for X, _ in (words(n_docs, 30, 3, 0), numbers(n_docs, 9, 3, 0)):
        table = encode(sp.csc_matrix(X))
        for read in decode(table):
            assert np.array_equal(read, X)
        entries = np.count_nonzero(X, axis=0)[table.column]
        assert (np.diff(entries) <= 0).all()
        assert table.n_used == np.count_nonzero(entries)
        assert table.n_dense == np.count_nonzero(entries > n_docs / 4)


def test_a_matrix_without_entries_is_a_table():
    table = encode(sp.csc_matrix((4, 3), dtype=np.float32))
    assert (table.n_docs, table.n_features, table.n_used, table.n_dense) == (4, 3, 0, 0)
    assert len(set(table.twin)) == 1
    assert not any(part.any() for part in decode(table))


def test_with_few_ranks_values_stay_in_order(numbers):
    X, _ = numbers(200, 9, 3, 1)
    table = encode(sp.csc_matrix(X), max_ranks=16)
    read, _ = decode(table)
    n_values = np.diff(table.value_start)
    assert n_values.max() <= 16
    for column in range(9):
        order = np.argsort(X[:, column], kind="stable")
        assert (np.diff(read[order, column]) >= 0).all()
        assert np.array_equal(read[:, column] == 0, X[:, column] == 0)
        assert np.array_equal(np.sign(read[:, column]), np.sign(X[:, column]))
    assert (n_values[np.argsort(table.column)] < [len(set(column)) for column in X.T]).any()


def test_factorials_are_those_of_the_number_of_features(words):
    table = encode(sp.csc_matrix(words(10, 170, 2, 0)[0]))
    expected = np.cumsum(np.log(np.arange(1, 171)))
    np.testing.assert_allclose(table.log_factorial, [0, *expected], rtol=1e-12)


# --- equal rows -------------------------------------------------------------------------------


def repeated(n=120):
    rng = np.random.default_rng(3)
    X = rng.integers(-1, 3, size=(n, 4)).astype(np.float32)
    X[:5] = 0
    return X


def same(numbers):
    return np.equal.outer(numbers, numbers)


def test_equal_rows_and_no_others_are_twins():
    X = repeated()
    _, expected = np.unique(X, axis=0, return_inverse=True)
    assert np.array_equal(same(encode(sp.csc_matrix(X)).twin), same(expected.ravel()))


@pytest.mark.parametrize("n_hashes", [1, 3])
def test_rows_that_differ_are_no_twins_even_if_their_hashes_collide(monkeypatch, n_hashes):
    def collide(row_start, row_feature, row_entry, dense, out):
        out[:] = np.arange(len(out)) % n_hashes

    monkeypatch.setattr(table_module, "hash_rows", collide)
    X = repeated()
    _, expected = np.unique(X, axis=0, return_inverse=True)
    twins = same(encode(sp.csc_matrix(X)).twin)
    assert not (twins & ~same(expected.ravel())).any()
    assert (twins & ~np.eye(len(X), dtype=bool)).any()
