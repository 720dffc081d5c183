import numpy as np
import pytest
import scipy.sparse as sp

from cordwood._base.csr import csc_arrays
from cordwood.ensemble.tree_engine.binning import bin_matrix
from cordwood.ensemble.tree_engine.grower import allocate_grow_workspace

BITS = np.uint32(10)
MASK = np.uint32(1023)


def make_entries(bins, samples):
    return (np.asarray(bins, np.uint32) << BITS) | np.asarray(samples, np.uint32)


def make_span(pairs):
    """Interleave starts and lengths of lists, as the kernels store them."""
    return np.array(pairs, np.uint32).ravel()


# --- reading a list ---------------------------------------------------------------------------


def test_unread_list_is_copied_from_its_column(kernels):
    column = make_entries([1, 1, 2, 3, 5], [4, 0, 3, 1, 2])
    column = np.concatenate([np.full(2, 99, np.uint32), column, np.full(2, 99, np.uint32)])
    weight_level = np.array([7, 0, 1, 0, 255], np.uint8)
    span = make_span([[kernels.postings.UNREAD] * 2] * 3)
    entry = np.zeros(9, np.uint32)
    n, levels = kernels.postings.read_postings(
        span, entry, column, weight_level, np.uint32(1), np.uint32(2), np.uint32(7), MASK
    )
    assert (n, levels) == (3, 7 + 1 + 255)
    assert span.tolist() == make_span([[2**32 - 1] * 2, [2, 3], [2**32 - 1] * 2]).tolist()
    assert entry[2:5].tolist() == make_entries([1, 1, 5], [4, 0, 2]).tolist()


def test_reading_removes_samples_in_place_and_keeps_the_order(kernels):
    rng = np.random.default_rng(0)
    samples, bins = rng.permutation(300).astype(np.uint32), rng.integers(0, 9, 300)
    span = make_span([[50, 300]])
    entry = np.zeros(400, np.uint32)
    entry[50:350] = make_entries(bins, samples)
    weight_level = rng.integers(0, 3, 300).astype(np.uint8)
    column = np.zeros(0, np.uint32)
    for _ in range(3):
        expected = entry[50 : 50 + span[1]]
        expected = expected[weight_level[expected & MASK] > 0].tolist()
        n, levels = kernels.postings.read_postings(
            span, entry, column, weight_level, np.uint32(0), np.uint32(0), np.uint32(0), MASK
        )
        assert entry[50 : 50 + n].tolist() == expected
        assert levels == weight_level[np.array(expected) & MASK].sum(dtype=int)
        assert span.tolist() == [50, len(expected)]
        weight_level[rng.integers(0, 300, 80)] = 0


def test_sum_of_levels_does_not_overflow(kernels):
    samples = np.arange(1000, dtype=np.uint32)
    n, levels = kernels.postings.read_postings(
        make_span([[0, 1000]]),
        make_entries(np.ones(1000), samples),
        np.zeros(0, np.uint32),
        np.full(1000, 255, np.uint8),
        np.uint32(0),
        np.uint32(0),
        np.uint32(0),
        MASK,
    )
    assert (n, levels) == (1000, 255_000)


def test_gather_dense_skips_zeros(kernels):
    samples = np.array([5, 2, 9, 0, 7, 1, 3, 4, 6, 8], np.uint32)
    bins = np.array([3, 1, 1, 0, 2, 1, 4, 0, 1, 2], np.uint32)
    dense = np.stack([np.zeros(10, np.uint32), bins << BITS])
    buffer = np.empty(11, np.uint32)
    n = kernels.postings.gather_dense(
        samples, dense, buffer, np.uint32(1), np.uint32(1) << BITS, np.uint32(2), np.uint32(8)
    )
    nonzero = [sample for sample in samples[2:8] if bins[sample] != 1]
    assert buffer[:n].tolist() == make_entries(bins[nonzero], nonzero).tolist()


@pytest.mark.parametrize(
    ("bins", "constant"), [([3], True), ([3, 3, 3], True), ([3, 3, 2], False), ([4, 3, 3], False)]
)
def test_is_constant(kernels, bins, constant):
    entries = make_entries([9, *bins, 9], [0, 1, 2, 3, 4, 5][: len(bins) + 2])
    found = kernels.postings.is_constant(entries, np.uint32(1), np.uint32(len(bins)), BITS)
    assert found == constant


@pytest.mark.parametrize("n", [0, 1, 2, 39, 40, 41, 257, 900])
@pytest.mark.parametrize("n_bins", [1, 2, 200, 300, 70_000, 4_000_000])
def test_sort_by_bin_is_a_stable_sort(kernels, n, n_bins):
    rng = np.random.default_rng(n)
    bins = rng.integers(0, n_bins, n).astype(np.uint32)
    samples = rng.permutation(1000)[:n]
    outside = np.array([5, 4, 3], np.uint32)
    entries = np.concatenate([outside, make_entries(bins, samples), outside])
    spare, digit_start = np.zeros(1000, np.uint32), np.zeros(256, np.uint32)
    kernels.postings.sort_by_bin(entries, np.uint32(3), np.uint32(n), spare, digit_start, BITS)
    order = np.argsort(bins, kind="stable")
    assert entries[3 : 3 + n].tolist() == make_entries(bins[order], samples[order]).tolist()
    assert entries[:3].tolist() == entries[3 + n :].tolist() == outside.tolist()


# --- building lists ---------------------------------------------------------------------------


def test_built_lists_are_the_columns_of_the_node(kernels):
    rng = np.random.default_rng(4)
    X = sp.csc_matrix(rng.poisson(0.1, size=(90, 40)).astype(np.float32))
    binned = bin_matrix(csc_arrays(X))
    workspace = allocate_grow_workspace(binned, 2)
    workspace.samples[:] = rng.permutation(90)
    workspace.span[:] = 0
    n_listed = 0
    for start, end in [(0, 90), (10, 30), (5, 6), (40, 90)]:
        n_listed = kernels.postings.build_postings(
            binned, workspace, np.uint32(start), np.uint32(end), n_listed
        )
        samples = workspace.samples[start:end]
        part = X[samples][:, binned.column].toarray()
        features = workspace.active[:n_listed]
        assert sorted(features) == np.flatnonzero(part.any(axis=0)).tolist()
        lists = workspace.span.reshape(-1, 2)
        for feature in features:
            at, n = lists[feature]
            found = workspace.entry[at : at + n]
            present = np.flatnonzero(part[:, feature])
            assert (found & binned.sample_mask).tolist() == samples[present].tolist()
            bins = (found >> binned.sample_bits) + binned.bin_start[feature]
            assert binned.bin_min[bins].tolist() == part[present, feature].tolist()
        absent = np.setdiff1d(np.arange(40), features)
        assert not lists[absent, 1].any()
