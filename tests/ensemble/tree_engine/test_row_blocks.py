import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from cordwood.ensemble._tree_engine import _kernels_row_blocks as kernels
from cordwood.ensemble._tree_engine.bootstrap import pack
from cordwood.ensemble._tree_engine.grower import reach
from cordwood.ensemble._tree_engine.row_blocks import _allocate, reach_turned, turn_rows
from cordwood.ensemble.forests import ExtraTreesClassifier


def ask(forest, X, seed):
    bags = pack(range(seed, seed + forest.n_trees), X.shape[0], X.shape[0])
    rows = sp.csr_matrix(X)
    turned = turn_rows(rows)
    for given_bags in (None, bags):
        expected = reach(forest, rows, bags=given_bags)
        for n_jobs in (1, 2):
            found = reach_turned(forest, turned, bags=given_bags, n_jobs=n_jobs)
            assert np.array_equal(found, expected)
    return turned


@pytest.mark.parametrize("n_rows", [1, 8, 63, 64, 65, 2047, 2048, 2049])
def test_leaves_are_those_that_rows_reach(words, n_rows):
    X, y = words(2049, 30, 3, seed=2)
    forest = ExtraTreesClassifier(4, random_state=0).fit(X, y).forest_
    ask(forest, X[:n_rows], seed=0)


def test_numbers_of_all_signs_reach_their_leaves(numbers):
    X, y = numbers(200, 9, 3, 4)
    ask(ExtraTreesClassifier(6, random_state=0).fit(X, y).forest_, X, seed=3)


@given(st.integers(0, 2**31), st.floats(0, 1))
@settings(max_examples=25, deadline=None)
def test_any_rows_are_laid_out_column_by_column(seed, share):
    rng = np.random.default_rng(seed)
    n_rows = rng.integers(1, 200)
    X = (rng.normal(size=(n_rows, 7)) * (rng.random((n_rows, 7)) < share)).astype(np.float32)
    turned = turn_rows(sp.csr_matrix(X))
    again = np.zeros_like(X)
    for block in range(len(turned.column_start) - 1):
        for i in range(*turned.column_start[block : block + 2]):
            bits = np.array([int(turned.present[i]) >> bit & 1 for bit in range(64)])
            rows = 64 * block + np.flatnonzero(bits)
            values = turned.value[turned.start[i] : turned.start[i] + len(rows)]
            again[rows, turned.column[i]] = values
            assert values.min() == turned.least[i]
    assert np.array_equal(again, X)


def test_plain_python_finds_the_same_leaves(words):
    X, y = words(90, 20, 3, seed=2)
    forest = ExtraTreesClassifier(2, random_state=0).fit(X, y).forest_
    turned = turn_rows(sp.csr_matrix(X))
    leaves = np.full((2, 90), -1, np.int32)
    nobody = np.empty((0, 0), np.uint8)
    block = _allocate(turned)
    kernels.reach.py_func(forest, turned, 0, 90, nobody, block, leaves)
    assert np.array_equal(leaves, reach(forest, sp.csr_matrix(X)))
    assert not block.present.any()
