import numba
import numpy as np
import pytest
import scipy.sparse as sp
from cordwood.ensemble._tree_engine.records import Rows
from cordwood.ensemble._tree_engine.workspace import allocate_block

from cordwood import _intrinsics as bits
from cordwood.ensemble.forests import RandomForestClassifier

rng = np.random.default_rng(0)
X = sp.csr_matrix(rng.poisson(0.3, size=(150, 12)) * rng.choice([-1.0, 0.5, 1.0], size=(150, 12)))
X = X.astype(np.float32)
Y = rng.integers(0, 4, 150)


@pytest.fixture(scope="module", params=["narrow", "wide"])
def model(request):
    # Deep and shallow leaves, pure and mixed ones.
    grown = RandomForestClassifier(7, min_samples_leaf=3, random_state=0).fit(X, Y)
    assert not grown.forest_.is_wide
    if request.param == "wide":
        grown.forest_ = grown.forest_._replace(
            split=grown.forest_.split.astype(np.uint32), other=grown.forest_.other.astype(np.int32)
        )
    return grown


def walk(forest, tree, x):
    """Follow the definition of `Forest`, one step at a time, to the node that refers to a leaf."""
    node = forest.node_start[tree]
    while forest.threshold[node] > -np.inf:
        feature, next_is_right = divmod(int(forest.split[node]), 2)
        goes_right = x[feature] > forest.threshold[node]
        if goes_right == next_is_right:
            node += 1
        elif forest.other[node] < 0:
            break
        else:
            node = forest.node_start[tree] + forest.other[node]
    return node


def share(forest, node):
    """Class frequencies of the leaf that a node refers to."""
    code = int(~forest.other[node])
    if code < 4:
        return np.eye(4)[code]
    tree = np.searchsorted(forest.node_start, node, side="right") - 1
    mixed = forest.mixed_first[tree] + code - 4
    entries = slice(forest.mixed_start[mixed], forest.mixed_start[mixed + 1])
    answer = np.zeros(4)
    answer[forest.mixed_class[entries]] = forest.mixed_weight[entries]
    return answer / answer.sum()


def make_block(n_features=12):
    rows = Rows(X.indptr.astype(np.int64), X.indices, X.data)
    # What is not present must not be read.
    block = allocate_block(rows, n_features)._replace(least=np.full(n_features, np.nan, np.float32))
    return rows, block


def run(kernels, forest, first, last, bags, factors=None):
    rows, block = make_block()
    votes, n_votes = np.zeros((150, 4)), np.zeros(150, np.int64)
    factors = np.ones(forest.n_trees) if factors is None else factors
    kernels.walk.vote(forest, rows, first, last, bags, factors, block, votes, n_votes)
    assert not block.present.any()
    return votes, n_votes


def test_votes_are_the_shares_of_the_leaves_that_are_reached(kernels, model):
    forest = model.forest_
    codes = ~forest.other[forest.other < 0]
    assert codes.min() < 4 <= codes.max()
    votes, n_votes = run(kernels, forest, 64, 140, np.empty((0, 0), np.uint8))
    rows = X.toarray()
    for row in range(150):
        expected = sum(share(forest, walk(forest, tree, rows[row])) for tree in range(7))
        inside = 64 <= row < 140
        np.testing.assert_allclose(votes[row], expected if inside else 0, rtol=1e-12)
        assert n_votes[row] == (7 if inside else 0)


def test_trees_do_not_vote_on_rows_of_their_bags(kernels, model):
    forest = model.forest_
    in_bag = rng.random((7, 150)) < 0.6
    bags = np.packbits(in_bag, axis=1, bitorder="little")
    votes, n_votes = run(kernels, forest, 0, 150, bags)
    rows = X.toarray()
    for row in range(150):
        voters = np.flatnonzero(~in_bag[:, row])
        expected = sum((share(forest, walk(forest, t, rows[row])) for t in voters), np.zeros(4))
        np.testing.assert_allclose(votes[row], expected, rtol=1e-12)
        assert n_votes[row] == len(voters)


def test_each_tree_votes_with_its_factor(kernels, model):
    forest, factors = model.forest_, rng.random(7)
    votes, n_votes = run(kernels, forest, 0, 150, np.empty((0, 0), np.uint8), factors)
    rows = X.toarray()
    for row in range(150):
        shares = [share(forest, walk(forest, tree, rows[row])) for tree in range(7)]
        np.testing.assert_allclose(votes[row], factors @ shares, rtol=1e-12)
    assert (n_votes == 7).all()


def test_rows_reach_the_leaves_that_a_walk_reaches(kernels, model):
    forest = model.forest_
    in_bag = rng.random((7, 150)) < 0.6
    bags = np.packbits(in_bag, axis=1, bitorder="little")
    rows, block = make_block()
    leaves = np.full((7, 150), -1, np.int32)
    kernels.walk.reach(forest, rows, 64, 150, bags, block, leaves)
    assert not block.present.any()
    dense = X.toarray()
    for tree in range(7):
        for row in range(150):
            answers = row >= 64 and not in_bag[tree, row]
            assert leaves[tree, row] == (walk(forest, tree, dense[row]) if answers else -1)


@pytest.mark.parametrize("word", [1, 2, 3, 0x8000000000000000, 0xFFFFFFFFFFFFFFFF, 0xF0F000])
def test_bits_are_counted_and_found(word):
    def both(word):
        return bits.count_bits(word), bits.lowest_bit(word)

    expected = word.bit_count(), f"{word:b}"[::-1].index("1")
    assert both(np.uint64(word)) == numba.njit(both)(np.uint64(word)) == expected


def test_plain_and_compiled_votes_agree_to_the_last_bit(plain, compiled, model):
    bags = np.packbits(rng.random((7, 150)) < 0.6, axis=1, bitorder="little")
    for answer, other in zip(
        run(plain, model.forest_, 0, 150, bags),
        run(compiled, model.forest_, 0, 150, bags),
        strict=True,
    ):
        assert answer.tobytes() == other.tobytes()


def test_totals_of_nodes_are_those_of_the_leaves_below(kernels, model):
    forest = model.forest_
    number = np.cumsum(forest.other < 0) - 1
    for tree in range(7):
        first, last = forest.node_start[tree : tree + 2]
        n_nodes = last - first
        n_leaves = int(np.diff(forest.leaf_start)[tree])
        counts, sizes = np.zeros((n_nodes + n_leaves, 4)), np.zeros(n_nodes + n_leaves, np.int64)
        kernels.totals.total_nodes(forest, tree, counts, sizes)

        def total_leaf(node):
            leaf = number[node]
            return share(forest, node) * forest.leaf_weight[leaf], int(forest.leaf_size[leaf])

        def total(node, first=first):
            """Add up the leaves below a node."""
            counts, size = (
                total_leaf(node) if forest.other[node] < 0 else total(first + forest.other[node])
            )
            if forest.threshold[node] > -np.inf:
                more, n_more = total(node + 1)
                return counts + more, size + n_more
            return counts, size

        for node in range(n_nodes):
            expected, size = total(first + node)
            np.testing.assert_allclose(counts[node], expected, rtol=1e-6)
            assert sizes[node] == size
        nodes = first + np.flatnonzero(forest.other[first:last] < 0)
        assert len(nodes) == n_leaves
        for leaf, node in enumerate(nodes):
            np.testing.assert_allclose(counts[n_nodes + leaf], total_leaf(node)[0], rtol=1e-6)


@pytest.mark.parametrize("entropy", [False, True])
def test_gains_are_what_splits_take_from_the_impurity_of_nodes(kernels, model, entropy):
    forest = model.forest_
    for tree in range(7):
        first, last = forest.node_start[tree : tree + 2]
        n_nodes, n_leaves = last - first, int(np.diff(forest.leaf_start)[tree])
        counts, sizes = np.zeros((n_nodes + n_leaves, 4)), np.zeros(n_nodes + n_leaves, np.int64)
        kernels.totals.total_nodes(forest, tree, counts, sizes)
        share = counts / counts.sum(axis=1, keepdims=True)
        logs = np.log2(share, where=share > 0, out=np.zeros_like(share))
        impurity = -(share * logs).sum(axis=1) if entropy else 1 - (share**2).sum(axis=1)
        impurity *= counts.sum(axis=1)
        other = forest.other[first:last].astype(int)
        aside = impurity[np.where(other < 0, n_nodes + np.cumsum(other < 0) - 1, other)]
        inner = np.flatnonzero(forest.threshold[first:last] > -np.inf)
        expected = np.bincount(
            forest.split[first:last][inner] >> 1,
            weights=impurity[inner] - impurity[inner + 1] - aside[inner],
            minlength=12,
        )
        gains = np.zeros(12)
        kernels.totals.add_gains(forest, tree, 4, entropy, gains)
        assert expected.max() > 1
        np.testing.assert_allclose(gains, expected, rtol=1e-9, atol=1e-12)
