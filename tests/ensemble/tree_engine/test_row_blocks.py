import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from cordwood._base.csr import csr_arrays
from cordwood.ensemble.forests import ExtraTreesClassifier
from cordwood.ensemble.tree_engine.apply import allocate_row_block, apply, as_mask
from cordwood.ensemble.tree_engine.bootstrap import pack_in_bag
from cordwood.ensemble.tree_engine.row_blocks import (
    RowBlocks,
    _allocate,
    apply_blocks,
    to_row_blocks,
)
from synthetic_data import make_counts, make_numbers


def to_arrays(X):
    return csr_arrays(sp.csr_matrix(X))


def check_leaves(forest, X, seed):
    masks = pack_in_bag(range(seed, seed + forest.n_trees), X.shape[0], X.shape[0])
    arrays = to_arrays(X)
    blocks = to_row_blocks(arrays)
    for in_bag in (None, masks):
        expected = apply(forest, arrays, in_bag=in_bag)
        for n_jobs in (1, 2):
            found = apply_blocks(forest, blocks, in_bag=in_bag, n_jobs=n_jobs)
            assert np.array_equal(found, expected)


@pytest.mark.parametrize("n_samples", [1, 8, 63, 64, 65, 2047, 2048, 2049])
def test_leaves_are_those_of_apply(n_samples):
    X, y = make_counts(2049, 30, 3, seed=2)
    forest = ExtraTreesClassifier(4, random_state=0).fit(X, y).forest_
    check_leaves(forest, X[:n_samples], seed=0)


def test_leaves_of_values_of_both_signs():
    X, y = make_numbers(200, 9, 3, 4)
    check_leaves(ExtraTreesClassifier(6, random_state=0).fit(X, y).forest_, X, seed=3)


@given(st.integers(0, 2**31), st.floats(0, 1))
@settings(max_examples=25, deadline=None)
def test_blocks_store_the_matrix(seed, density):
    rng = np.random.default_rng(seed)
    n_samples = rng.integers(1, 200)
    X = rng.normal(size=(n_samples, 7)) * (rng.random((n_samples, 7)) < density)
    X = X.astype(np.float32)
    blocks = to_row_blocks(to_arrays(X))
    decoded = np.zeros_like(X)
    for block in range(len(blocks.column_start) - 1):
        for i in range(*blocks.column_start[block : block + 2]):
            bits = np.array([int(blocks.present[i]) >> bit & 1 for bit in range(64)])
            samples = 64 * block + np.flatnonzero(bits)
            values = blocks.value[blocks.start[i] : blocks.start[i] + len(samples)]
            decoded[samples, blocks.column[i]] = values
            assert values.min() == blocks.min_value[i]
    assert np.array_equal(decoded, X)


def test_plain_and_compiled_kernels_agree(plain, compiled):
    X, y = make_counts(90, 20, 3, seed=2)
    forest = ExtraTreesClassifier(2, random_state=0).fit(X, y).forest_
    arrays = to_arrays(X)
    expected = to_row_blocks(arrays)
    for kernels in (plain, compiled):
        nnz = len(arrays.data)
        blocks = RowBlocks(
            column_start=np.zeros(3, np.int64),
            column=np.empty(nnz, np.int32),
            present=np.empty(nnz, np.uint64),
            start=np.empty(nnz, np.int64),
            min_value=np.empty(nnz, np.float32),
            value=np.empty(nnz, np.float32),
            n_samples=90,
            n_features=20,
        )
        block = allocate_row_block(arrays)
        n_columns = kernels.row_blocks.transpose_rows(arrays, block, blocks)
        assert not block.present.any()
        assert n_columns == len(expected.column)
        for name in ("column", "present", "start", "min_value"):
            written, stored = getattr(blocks, name)[:n_columns], getattr(expected, name)
            assert np.array_equal(written, stored), name
        assert np.array_equal(blocks.column_start, expected.column_start)
        assert np.array_equal(blocks.value, expected.value)

        leaves = np.full((2, 90), -1, np.int32)
        block = _allocate(expected)
        kernels.row_blocks.apply_block_range(forest, expected, 0, 90, as_mask(None), block, leaves)
        assert np.array_equal(leaves, apply(forest, arrays))
        assert not block.present.any()
