import numpy as np
import pytest
import scipy.sparse as sp

from cordwood._base.csr import csc_arrays
from cordwood.ensemble.tree_engine import binning
from cordwood.ensemble.tree_engine.binning import bin_matrix
from synthetic_data import make_counts, make_numbers


def bin_dense(X, **params):
    return bin_matrix(csc_arrays(sp.csc_matrix(X)), **params)


def decode(binned):
    """Return the matrix as read from the columns, and as read from the rows."""
    shape = binned.n_samples, binned.n_features
    by_column, by_row = np.zeros(shape, np.float32), np.zeros(shape, np.float32)
    for feature in range(binned.n_features):
        values = binned.bin_min[slice(*binned.bin_start[feature : feature + 2])]
        column = binned.column[feature]
        if feature < binned.n_dense:
            entries = binned.dense_entry[feature]
            by_column[:, column] = by_row[:, column] = values[entries >> binned.sample_bits]
            continue
        entries = binned.column_entry[slice(*binned.column_start[feature : feature + 2])]
        by_column[entries & binned.sample_mask, column] = values[entries >> binned.sample_bits]
    for sample in range(binned.n_samples):
        for e in range(*binned.row_start[sample : sample + 2]):
            feature = binned.row_feature[e]
            bin_idx = binned.row_entry[e] >> binned.sample_bits
            value = binned.bin_min[binned.bin_start[feature] + bin_idx]
            by_row[sample, binned.column[feature]] = value
    return by_column, by_row


@pytest.mark.parametrize("n_samples", [1, 2, 3, 128, 129, 200])
def test_rows_and_columns_store_the_matrix(n_samples):
    for X, _ in (make_counts(n_samples, 30, 3, 0), make_numbers(n_samples, 9, 3, 0)):
        binned = bin_dense(X)
        for decoded in decode(binned):
            assert np.array_equal(decoded, X)
        n_entries = np.count_nonzero(X, axis=0)[binned.column]
        assert (np.diff(n_entries) <= 0).all()
        assert binned.n_nonempty == np.count_nonzero(n_entries)
        assert binned.n_dense == np.count_nonzero(n_entries > n_samples / 4)


def test_matrix_of_zeros():
    binned = bin_dense(np.zeros((4, 3), np.float32))
    assert (binned.n_samples, binned.n_features, binned.n_nonempty, binned.n_dense) == (4, 3, 0, 0)
    assert len(set(binned.duplicate_id)) == 1
    assert not any(decoded.any() for decoded in decode(binned))


def test_max_bins_keeps_the_order_of_values():
    X, _ = make_numbers(200, 9, 3, 1)
    binned = bin_dense(X, max_bins=16)
    decoded, _ = decode(binned)
    n_bins = np.diff(binned.bin_start)
    assert n_bins.max() <= 16
    for column in range(9):
        order = np.argsort(X[:, column], kind="stable")
        assert (np.diff(decoded[order, column]) >= 0).all()
        assert np.array_equal(decoded[:, column] == 0, X[:, column] == 0)
        assert np.array_equal(np.sign(decoded[:, column]), np.sign(X[:, column]))
    assert (n_bins[np.argsort(binned.column)] < [len(set(column)) for column in X.T]).any()


def test_log_factorials():
    binned = bin_dense(make_counts(10, 170, 2, 0)[0])
    expected = np.cumsum(np.log(np.arange(1, 171)))
    np.testing.assert_allclose(binned.log_factorial, [0, *expected], rtol=1e-12)


# --- duplicates -------------------------------------------------------------------------------


def make_duplicates(n=120):
    rng = np.random.default_rng(3)
    X = rng.integers(-1, 3, size=(n, 4)).astype(np.float32)
    X[:5] = 0
    return X


def same(ids):
    return np.equal.outer(ids, ids)


def test_duplicates_and_no_others_have_equal_ids():
    X = make_duplicates()
    _, expected = np.unique(X, axis=0, return_inverse=True)
    assert np.array_equal(same(bin_dense(X).duplicate_id), same(expected.ravel()))


@pytest.mark.parametrize("n_hashes", [1, 3])
def test_hash_collisions_do_not_make_duplicates(monkeypatch, n_hashes):
    def collide(row_start, row_feature, row_entry, dense, out):
        out[:] = np.arange(len(out)) % n_hashes

    monkeypatch.setattr(binning, "hash_rows", collide)
    X = make_duplicates()
    _, expected = np.unique(X, axis=0, return_inverse=True)
    found = same(bin_dense(X).duplicate_id)
    assert not (found & ~same(expected.ravel())).any()
    assert (found & ~np.eye(len(X), dtype=bool)).any()


# --- kernels ----------------------------------------------------------------------------------


def make_columns(kind, n=200, seed=0):
    rng = np.random.default_rng(seed)
    if kind == "counts":
        X = rng.poisson(0.4, size=(n, 6)).astype(float)
    elif kind == "negative":
        X = -rng.integers(0, 4, size=(n, 6)).astype(float)
    elif kind == "integers":
        X = rng.integers(-3, 4, size=(n, 6)).astype(float)
    else:
        X = rng.normal(size=(n, 6))
        X[:, 1] = 1e30 * X[:, 1]
        X[:, 2] = 1e-30 * X[:, 2]
        X[: n // 2, 3] = 0
    X[:, 4] = 0
    X[:, 5] = 2.5
    return sp.csc_matrix(X.astype(np.float32))


def assign_bins(kernels, X, sample_bits):
    """Yield of each feature: values, samples and bins of entries, ranges of bins, bin of zero."""
    order = np.array([5, 0, 4, 3, 1, 2], np.uint32)
    entry = np.zeros(X.nnz, np.uint32)
    bin_min, bin_max = np.zeros((2, X.nnz + 6), np.float32)
    bin_start, zero_bin = np.zeros(7, np.int64), np.zeros(6, np.uint32)
    n_bins = kernels.binning.assign_bins(
        X.indptr.astype(np.int64),
        X.indices,
        X.data,
        order,
        np.uint32(sample_bits),
        entry,
        bin_min,
        bin_max,
        bin_start,
        zero_bin,
    )
    assert n_bins == bin_start[-1]
    at = 0
    for feature, column in enumerate(order):
        values = X[:, [column]].toarray().ravel()
        found = entry[at : at + np.count_nonzero(values)]
        at += len(found)
        here = slice(*bin_start[feature : feature + 2])
        samples, bins = found & np.uint32((1 << sample_bits) - 1), found >> np.uint32(sample_bits)
        yield values, samples, bins, bin_min[here], bin_max[here], zero_bin[feature]
    assert at == X.nnz


@pytest.mark.parametrize("kind", ["counts", "negative", "integers", "real"])
def test_distinct_values_get_their_own_bins(kernels, kind):
    X = make_columns(kind)
    for values, samples, bins, low, high, zero in assign_bins(kernels, X, 8):
        distinct, position = np.unique(np.append(values, np.float32(0)), return_inverse=True)
        assert low.tolist() == high.tolist() == distinct.tolist()
        assert distinct[zero] == 0
        assert sorted(samples) == np.flatnonzero(values).tolist()
        assert bins.tolist() == position[samples].tolist()
        assert (np.diff(bins.astype(int)) >= 0).all()


@pytest.mark.parametrize("kind", ["integers", "real"])
@pytest.mark.parametrize("bin_bits", [3, 4, 6])
def test_adjacent_values_share_a_bin_if_there_are_too_many(kernels, kind, bin_bits):
    X = make_columns(kind)
    n_shared = 0
    for values, samples, bins, low, high, zero in assign_bins(kernels, X, 32 - bin_bits):
        assert len(low) < 2**bin_bits
        assert (low <= high).all()
        assert (high[:-1] < low[1:]).all()
        assert low[zero] == high[zero] == 0
        assert zero not in bins
        assert (values[samples] >= low[bins]).all()
        assert (values[samples] <= high[bins]).all()
        for b in set(bins):
            assert {low[b], high[b]} <= set(values[samples[bins == b]])
        n_shared += (low < high).sum()
        if len(low) < len(set(values) | {0}):
            # Bins hold about equally many samples, as far as ties between values allow.
            most_frequent = max(np.unique(values, return_counts=True)[1])
            max_size = len(samples) // (2**bin_bits - 4) + most_frequent
            assert np.bincount(bins).max() <= max_size
    # Seven bins are just enough for the integers from -3 to 3.
    assert (n_shared > 0) == (kind == "real")


def test_transpose_columns_matches_scipy(kernels):
    rng = np.random.default_rng(1)
    X = sp.csc_matrix(rng.poisson(0.2, size=(60, 30)))
    bits, mask = np.uint32(6), np.uint32(63)
    column_entry = (X.data.astype(np.uint32) << bits) | X.indices.astype(np.uint32)
    row_start = np.full(61, 9, np.uint32)
    row_feature, row_entry = np.zeros((2, X.nnz), np.uint32)
    kernels.binning.transpose_columns(
        X.indptr.astype(np.uint32), column_entry, mask, row_start, row_feature, row_entry
    )
    csr = X.tocsr()
    csr.sort_indices()
    assert row_start.tolist() == csr.indptr.tolist()
    assert row_feature.tolist() == csr.indices.tolist()
    assert (row_entry >> bits).tolist() == csr.data.tolist()
    assert not (row_entry & mask).any()


def encode_rows(X):
    """Encode rows as the kernels read them: two dense columns, then sparse ones; bins from zero."""
    bins = (X - X.min()).astype(np.uint32) << np.uint32(9)
    csr = sp.csr_matrix(X[:, 2:])
    row_entry = (csr.data - X.min()).astype(np.uint32) << np.uint32(9)
    return (
        csr.indptr.astype(np.uint32),
        csr.indices.astype(np.uint32) + np.uint32(2),
        row_entry,
        np.ascontiguousarray(bins[:, :2].T),
    )


def test_duplicates_and_no_others_have_equal_hashes(kernels):
    X = np.random.default_rng(2).integers(-1, 2, size=(300, 5)).astype(np.float32)
    hashes = np.full(300, 5, np.uint64)
    kernels.binning.hash_rows(*encode_rows(X), hashes)
    _, expected = np.unique(X, axis=0, return_inverse=True)
    _, found = np.unique(hashes, return_inverse=True)
    assert len(set(zip(expected.ravel(), found, strict=True))) == len(set(found))
    assert len(set(found)) == len(set(expected.ravel()))


def test_compare_rows_uses_all_features(kernels):
    rng = np.random.default_rng(3)
    X = rng.integers(0, 2, size=(60, 4)).astype(np.float32)
    samples, others = np.divmod(np.arange(3600), 60)
    equal = np.zeros(3600, np.bool_)
    kernels.binning.compare_rows(*encode_rows(X), samples, others, equal)
    assert equal.tolist() == (X[samples] == X[others]).all(axis=1).tolist()
    assert 60 < equal.sum() < 3600


def test_dense_columns_include_zeros(kernels):
    entry = np.array([(3 << 4) | 1, (4 << 4) | 5, (1 << 4) | 0], np.uint32)
    dense = np.full((2, 6), 99, np.uint32)
    kernels.binning.fill_dense_columns(
        np.array([2, 1]),
        entry,
        np.array([2, 0], np.uint32),
        np.uint32(4),
        np.uint32(15),
        dense,
    )
    assert (dense >> 4).tolist() == [[2, 3, 2, 2, 2, 4], [1, 0, 0, 0, 0, 0]]


@pytest.mark.parametrize("n_values", [1, 3, 24, 25, 500])
def test_sort_column_is_a_stable_sort(kernels, n_values):
    rng = np.random.default_rng(n_values)
    for n in (0, 1, 2, 7, 300):
        values = rng.integers(n_values, size=n).astype(np.float32)
        buffer, spare = np.empty((2, 300), np.int64)
        distinct, count = np.empty(24, np.float32), np.empty(48, np.int64)
        order = kernels.binning.sort_column(values, buffer, spare, distinct, count)
        assert order[:n].tolist() == np.argsort(values, kind="stable").tolist()
