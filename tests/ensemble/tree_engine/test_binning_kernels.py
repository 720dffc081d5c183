import numpy as np
import pytest
import scipy.sparse as sp


def columns(kind, n=200, seed=0):
    rng = np.random.default_rng(seed)
    if kind == "words":
        X = rng.poisson(0.4, size=(n, 6)).astype(float)
    elif kind == "negative":
        X = -rng.integers(0, 4, size=(n, 6)).astype(float)
    elif kind == "mixed":
        X = rng.integers(-3, 4, size=(n, 6)).astype(float)
    else:
        X = rng.normal(size=(n, 6))
        X[:, 1] = 1e30 * X[:, 1]
        X[:, 2] = 1e-30 * X[:, 2]
        X[: n // 2, 3] = 0
    X[:, 4] = 0
    X[:, 5] = 2.5
    return sp.csc_matrix(X.astype(np.float32))


def rank(kernels, X, doc_bits):
    order = np.array([5, 0, 4, 3, 1, 2], np.uint32)
    entry = np.zeros(X.nnz, np.uint32)
    least, greatest = np.zeros((2, X.nnz + 6), np.float32)
    value_start, zero_rank = np.zeros(7, np.int64), np.zeros(6, np.uint32)
    n_values = kernels.encode.rank_values(
        X.indptr.astype(np.int64),
        X.indices,
        X.data,
        order,
        np.uint32(doc_bits),
        entry,
        least,
        greatest,
        value_start,
        zero_rank,
    )
    assert n_values == value_start[-1]
    at = 0
    for feature, column in enumerate(order):
        values = X[:, [column]].tocoo()
        found = entry[at : at + values.nnz]
        at += values.nnz
        here = slice(value_start[feature], value_start[feature + 1])
        dense = X[:, [column]].toarray().ravel()
        docs, ranks = found & np.uint32((1 << doc_bits) - 1), found >> np.uint32(doc_bits)
        yield dense, docs, ranks, least[here], greatest[here], zero_rank[feature]
    assert at == X.nnz


@pytest.mark.parametrize("kind", ["words", "negative", "mixed", "real"])
def test_ranks_are_places_among_the_distinct_values_and_zero(kernels, kind):
    X = columns(kind)
    for values, docs, ranks, least, greatest, zero in rank(kernels, X, 8):
        distinct, place = np.unique(np.append(values, np.float32(0)), return_inverse=True)
        assert least.tolist() == greatest.tolist() == distinct.tolist()
        assert distinct[zero] == 0
        assert sorted(docs) == np.flatnonzero(values).tolist()
        assert ranks.tolist() == place[docs].tolist()
        assert (np.diff(ranks.astype(int)) >= 0).all()


@pytest.mark.parametrize("kind", ["mixed", "real"])
@pytest.mark.parametrize("rank_bits", [3, 4, 6])
def test_neighbouring_values_share_a_rank_where_there_are_too_few(kernels, kind, rank_bits):
    X = columns(kind)
    shared = 0
    for values, docs, ranks, least, greatest, zero in rank(kernels, X, 32 - rank_bits):
        assert len(least) < 2**rank_bits
        assert (least <= greatest).all()
        assert (greatest[:-1] < least[1:]).all()
        assert least[zero] == greatest[zero] == 0
        assert zero not in ranks
        assert (values[docs] >= least[ranks]).all()
        assert (values[docs] <= greatest[ranks]).all()
        for r in set(ranks):
            assert {least[r], greatest[r]} <= set(values[docs[ranks == r]])
        shared += (least < greatest).sum()
        if len(least) < len(set(values) | {0}):
            # Documents are spread evenly: no rank is needlessly large, whatever its values.
            largest_value = max(np.unique(values, return_counts=True)[1])
            room = len(docs) // (2**rank_bits - 4) + largest_value
            assert np.bincount(ranks).max() <= room
    # Seven ranks are just enough for the whole numbers from -3 to 3.
    assert (shared > 0) == (kind == "real")


def test_rows_are_the_columns_turned(kernels):
    rng = np.random.default_rng(1)
    X = sp.csc_matrix(rng.poisson(0.2, size=(60, 30)))
    bits, mask = np.uint32(6), np.uint32(63)
    column_entry = (X.data.astype(np.uint32) << bits) | X.indices.astype(np.uint32)
    row_start = np.full(61, 9, np.uint32)
    row_feature, row_entry = np.zeros((2, X.nnz), np.uint32)
    kernels.encode.spread_rows(
        X.indptr.astype(np.uint32), column_entry, mask, row_start, row_feature, row_entry
    )
    rows = X.tocsr()
    rows.sort_indices()
    assert row_start.tolist() == rows.indptr.tolist()
    assert row_feature.tolist() == rows.indices.tolist()
    assert (row_entry >> bits).tolist() == rows.data.tolist()
    assert not (row_entry & mask).any()


def encoded_rows(X):
    """Rows as the kernels read them: the first two features as whole columns, ranks from zero."""
    ranks = (X - X.min()).astype(np.uint32) << np.uint32(9)
    rows = sp.csr_matrix(X[:, 2:])
    row_entry = (rows.data - X.min()).astype(np.uint32) << np.uint32(9)
    return (
        rows.indptr.astype(np.uint32),
        rows.indices.astype(np.uint32) + np.uint32(2),
        row_entry,
        np.ascontiguousarray(ranks[:, :2].T),
    )


def test_equal_rows_and_no_others_have_equal_hashes(kernels):
    X = np.random.default_rng(2).integers(-1, 2, size=(300, 5)).astype(np.float32)
    hashes = np.full(300, 5, np.uint64)
    kernels.encode.hash_rows(*encoded_rows(X), hashes)
    _, expected = np.unique(X, axis=0, return_inverse=True)
    _, found = np.unique(hashes, return_inverse=True)
    assert len(set(zip(expected.ravel(), found, strict=True))) == len(set(found))
    assert len(set(found)) == len(set(expected.ravel()))


def test_rows_are_compared_with_all_their_features(kernels):
    rng = np.random.default_rng(3)
    X = rng.integers(0, 2, size=(60, 4)).astype(np.float32)
    docs, others = np.divmod(np.arange(3600), 60)
    equal = np.zeros(3600, np.bool_)
    kernels.encode.compare_rows(*encoded_rows(X), docs, others, equal)
    assert equal.tolist() == (X[docs] == X[others]).all(axis=1).tolist()
    assert 60 < equal.sum() < 3600


@pytest.mark.parametrize("n_values", [1, 3, 24, 25, 500])
def test_a_column_is_sorted_and_equal_values_keep_their_order(kernels, n_values):
    rng = np.random.default_rng(n_values)
    for n in (0, 1, 2, 7, 300):
        values = rng.integers(n_values, size=n).astype(np.float32)
        room, spare = np.empty((2, 300), np.int64)
        distinct, count = np.empty(24, np.float32), np.empty(48, np.int64)
        order = kernels.encode.sort_column(values, room, spare, distinct, count)
        assert order[:n].tolist() == np.argsort(values, kind="stable").tolist()
