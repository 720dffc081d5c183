import numpy as np
import pytest
import scipy.sparse as sp
from cordwood.ensemble._tree_engine.workspace import allocate

from cordwood.ensemble._tree_engine.binning import encode

BITS = np.uint32(10)
MASK = np.uint32(1023)


def entries_of(ranks, docs):
    return (np.asarray(ranks, np.uint32) << BITS) | np.asarray(docs, np.uint32)


def spans(pairs):
    """Lay out starts and lengths of lists as the kernels have them."""
    return np.array(pairs, np.uint32).ravel()


# --- reading a list ---------------------------------------------------------------------------


def test_an_unread_list_is_copied_from_its_column_without_what_is_not_alive(kernels):
    column = entries_of([1, 1, 2, 3, 5], [4, 0, 3, 1, 2])
    column = np.concatenate([np.full(2, 99, np.uint32), column, np.full(2, 99, np.uint32)])
    live = np.array([7, 0, 1, 0, 255], np.uint8)
    span = spans([[kernels.postings.UNREAD] * 2] * 3)
    entry = np.zeros(9, np.uint32)
    n, mass = kernels.postings.fetch(
        span, entry, column, live, np.uint32(1), np.uint32(2), np.uint32(7), MASK
    )
    assert (n, mass) == (3, 7 + 1 + 255)
    assert span.tolist() == spans([[2**32 - 1] * 2, [2, 3], [2**32 - 1] * 2]).tolist()
    assert entry[2:5].tolist() == entries_of([1, 1, 5], [4, 0, 2]).tolist()


def test_a_list_is_cleaned_in_place_and_keeps_its_order(kernels):
    rng = np.random.default_rng(0)
    docs, ranks = rng.permutation(300).astype(np.uint32), rng.integers(0, 9, 300)
    span = spans([[50, 300]])
    entry = np.zeros(400, np.uint32)
    entry[50:350] = entries_of(ranks, docs)
    live = rng.integers(0, 3, 300).astype(np.uint8)
    column = np.zeros(0, np.uint32)
    for _ in range(3):
        expected = entry[50 : 50 + span[1]]
        expected = expected[live[expected & MASK] > 0].tolist()
        n, mass = kernels.postings.fetch(
            span, entry, column, live, np.uint32(0), np.uint32(0), np.uint32(0), MASK
        )
        assert entry[50 : 50 + n].tolist() == expected
        assert mass == live[np.array(expected) & MASK].sum(dtype=int)
        assert span.tolist() == [50, len(expected)]
        live[rng.integers(0, 300, 80)] = 0


def test_the_mass_of_a_long_list_does_not_overflow(kernels):
    docs = np.arange(1000, dtype=np.uint32)
    n, mass = kernels.postings.fetch(
        spans([[0, 1000]]),
        entries_of(np.ones(1000), docs),
        np.zeros(0, np.uint32),
        np.full(1000, 255, np.uint8),
        np.uint32(0),
        np.uint32(0),
        np.uint32(0),
        MASK,
    )
    assert (n, mass) == (1000, 255_000)


def test_a_dense_feature_lists_the_node_without_zeros(kernels):
    order = np.array([5, 2, 9, 0, 7, 1, 3, 4, 6, 8], np.uint32)
    ranks = np.array([3, 1, 1, 0, 2, 1, 4, 0, 1, 2], np.uint32)
    dense = np.stack([np.zeros(10, np.uint32), ranks << BITS])
    buffer = np.empty(11, np.uint32)
    n = kernels.postings.gather(
        order, dense, buffer, np.uint32(1), np.uint32(1) << BITS, np.uint32(2), np.uint32(8)
    )
    docs = [doc for doc in order[2:8] if ranks[doc] != 1]
    assert buffer[:n].tolist() == entries_of(ranks[docs], docs).tolist()


@pytest.mark.parametrize(
    ("ranks", "even"), [([3], True), ([3, 3, 3], True), ([3, 3, 2], False), ([4, 3, 3], False)]
)
def test_a_list_of_one_value_is_even(kernels, ranks, even):
    entries = entries_of([9, *ranks, 9], [0, 1, 2, 3, 4, 5][: len(ranks) + 2])
    answer = kernels.postings.is_even(entries, np.uint32(1), np.uint32(len(ranks)), BITS)
    assert answer == even


@pytest.mark.parametrize("n", [0, 1, 2, 39, 40, 41, 257, 900])
@pytest.mark.parametrize("n_ranks", [1, 2, 200, 300, 70_000, 4_000_000])
def test_a_list_is_sorted_by_value_and_documents_keep_their_order(kernels, n, n_ranks):
    rng = np.random.default_rng(n)
    ranks = rng.integers(0, n_ranks, n).astype(np.uint32)
    docs = rng.permutation(1000)[:n]
    strange = np.array([5, 4, 3], np.uint32)
    entries = np.concatenate([strange, entries_of(ranks, docs), strange])
    spare, tally = np.zeros(1000, np.uint32), np.zeros(256, np.uint32)
    kernels.postings.sort(entries, np.uint32(3), np.uint32(n), spare, tally, BITS)
    places = np.argsort(ranks, kind="stable")
    assert entries[3 : 3 + n].tolist() == entries_of(ranks[places], docs[places]).tolist()
    assert entries[:3].tolist() == entries[3 + n :].tolist() == strange.tolist()


# --- making lists anew ------------------------------------------------------------------------


def test_lists_made_from_rows_are_the_columns_of_the_node(kernels):
    rng = np.random.default_rng(4)
    X = sp.csc_matrix(rng.poisson(0.1, size=(90, 40)).astype(np.float32))
    table = encode(X)
    scratch = allocate(table, 2)
    scratch.order[:] = rng.permutation(90)
    scratch.span[:] = 0
    n_listed = 0
    for start, end in [(0, 90), (10, 30), (5, 6), (40, 90)]:
        n_listed = kernels.postings.build(
            table, scratch, np.uint32(start), np.uint32(end), n_listed
        )
        docs = scratch.order[start:end]
        part = X[docs][:, table.column].toarray()
        words = scratch.active[:n_listed]
        assert sorted(words) == np.flatnonzero(part.any(axis=0)).tolist()
        lists = scratch.span.reshape(-1, 2)
        for feature in words:
            at, n = lists[feature]
            found = scratch.entry[at : at + n]
            present = np.flatnonzero(part[:, feature])
            assert (found & table.doc_mask).tolist() == docs[present].tolist()
            ranks = (found >> table.doc_bits) + table.value_start[feature]
            assert table.least[ranks].tolist() == part[present, feature].tolist()
        absent = np.setdiff1d(np.arange(40), words)
        assert not lists[absent, 1].any()
