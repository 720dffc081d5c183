import numba
import numpy as np
import pytest
import scipy.sparse as sp

from cordwood._base.csr import csr_arrays
from cordwood._kernels import intrinsics as _intrinsics
from cordwood.ensemble.forests import RandomForestClassifier
from cordwood.ensemble.tree_engine.apply import allocate_row_block

N_SAMPLES, N_FEATURES, N_CLASSES, N_TREES = 150, 12, 4, 7
rng = np.random.default_rng(0)
SHAPE = (N_SAMPLES, N_FEATURES)
X = sp.csr_matrix(rng.poisson(0.3, size=SHAPE) * rng.choice([-1.0, 0.5, 1.0], size=SHAPE))
X = X.astype(np.float32)
Y = rng.integers(0, N_CLASSES, N_SAMPLES)
ALL_TREES = np.empty((0, 0), np.uint8)


@pytest.fixture(scope="module", params=["narrow", "wide"])
def forest(request):
    # Deep and shallow leaves, pure and impure ones.
    model = RandomForestClassifier(N_TREES, min_samples_leaf=3, random_state=0).fit(X, Y)
    forest = model.forest_
    assert not forest.is_wide
    codes = ~forest.far_child[forest.far_child < 0]
    assert codes.min() < N_CLASSES <= codes.max()
    if request.param == "narrow":
        return forest
    return forest._replace(
        feature_and_side=forest.feature_and_side.astype(np.uint32),
        far_child=forest.far_child.astype(np.int32),
    )


def find_leaf(forest, tree, x):
    """Follow the definition of `Forest`, one node at a time, to the node that refers to a leaf."""
    node = forest.node_start[tree]
    while forest.threshold[node] > -np.inf:
        feature, next_is_right = divmod(int(forest.feature_and_side[node]), 2)
        goes_right = x[feature] > forest.threshold[node]
        if goes_right == next_is_right:
            node += 1
        elif forest.far_child[node] < 0:
            break
        else:
            node = forest.node_start[tree] + forest.far_child[node]
    return node


def class_frequencies(forest, node):
    """Class frequencies of the leaf that a node refers to."""
    code = int(~forest.far_child[node])
    if code < N_CLASSES:
        return np.eye(N_CLASSES)[code]
    tree = np.searchsorted(forest.node_start, node, side="right") - 1
    impure = forest.impure_leaf_start[tree] + code - N_CLASSES
    entries = slice(*forest.impure_entry_start[impure : impure + 2])
    weights = np.zeros(N_CLASSES)
    weights[forest.impure_class[entries]] = forest.impure_weight[entries]
    return weights / weights.sum()


def expected_frequencies(forest):
    """Class frequencies by tree, sample and class."""
    dense = X.toarray()
    return np.array(
        [
            [class_frequencies(forest, find_leaf(forest, tree, x)) for x in dense]
            for tree in range(N_TREES)
        ]
    )


def make_block(arrays):
    # Features that are not present must not be read.
    return allocate_row_block(arrays)._replace(min_value=np.full(N_FEATURES, np.nan, np.float32))


def run_vote(kernels, forest, first, last, in_bag, tree_weights=None):
    arrays = csr_arrays(X)
    block = make_block(arrays)
    votes, n_votes = np.zeros((N_SAMPLES, N_CLASSES)), np.zeros(N_SAMPLES, np.int64)
    weights = np.ones(N_TREES) if tree_weights is None else tree_weights
    kernels.apply.vote_range(forest, arrays, first, last, in_bag, weights, block, votes, n_votes)
    assert not block.present.any()
    return votes, n_votes


def test_votes_are_sums_of_the_class_frequencies_of_leaves(kernels, forest):
    votes, n_votes = run_vote(kernels, forest, 64, 140, ALL_TREES)
    inside = (np.arange(N_SAMPLES) >= 64) & (np.arange(N_SAMPLES) < 140)
    expected = expected_frequencies(forest).sum(axis=0) * inside[:, None]
    np.testing.assert_allclose(votes, expected, rtol=1e-12)
    assert np.array_equal(n_votes, N_TREES * inside)


def test_trees_do_not_vote_on_in_bag_samples(kernels, forest):
    mask = rng.random((N_TREES, N_SAMPLES)) < 0.6
    in_bag = np.packbits(mask, axis=1, bitorder="little")
    votes, n_votes = run_vote(kernels, forest, 0, N_SAMPLES, in_bag)
    expected = (expected_frequencies(forest) * ~mask[:, :, None]).sum(axis=0)
    np.testing.assert_allclose(votes, expected, rtol=1e-12)
    assert np.array_equal(n_votes, (~mask).sum(axis=0))


def test_votes_are_multiplied_by_tree_weights(kernels, forest):
    weights = rng.random(N_TREES)
    votes, n_votes = run_vote(kernels, forest, 0, N_SAMPLES, ALL_TREES, weights)
    expected = np.einsum("t,tsc->sc", weights, expected_frequencies(forest))
    np.testing.assert_allclose(votes, expected, rtol=1e-12)
    assert (n_votes == N_TREES).all()


def test_apply_finds_the_leaves_of_out_of_bag_samples(kernels, forest):
    mask = rng.random((N_TREES, N_SAMPLES)) < 0.6
    in_bag = np.packbits(mask, axis=1, bitorder="little")
    arrays = csr_arrays(X)
    block = make_block(arrays)
    leaves = np.full((N_TREES, N_SAMPLES), -1, np.int32)
    kernels.apply.apply_range(forest, arrays, 64, N_SAMPLES, in_bag, block, leaves)
    assert not block.present.any()
    dense = X.toarray()
    for tree in range(N_TREES):
        for sample in range(N_SAMPLES):
            is_applied = sample >= 64 and not mask[tree, sample]
            expected = find_leaf(forest, tree, dense[sample]) if is_applied else -1
            assert leaves[tree, sample] == expected


def test_plain_and_compiled_votes_are_identical(plain, compiled, forest):
    in_bag = np.packbits(rng.random((N_TREES, N_SAMPLES)) < 0.6, axis=1, bitorder="little")
    for a, b in zip(
        run_vote(plain, forest, 0, N_SAMPLES, in_bag),
        run_vote(compiled, forest, 0, N_SAMPLES, in_bag),
        strict=True,
    ):
        assert a.tobytes() == b.tobytes()


@pytest.mark.parametrize("word", [1, 2, 3, 0x8000000000000000, 0xFFFFFFFFFFFFFFFF, 0xF0F000])
def test_bit_intrinsics(word):
    def both(word):
        return _intrinsics.count_bits(word), _intrinsics.lowest_bit(word)

    expected = word.bit_count(), f"{word:b}"[::-1].index("1")
    assert both(np.uint64(word)) == numba.njit(both)(np.uint64(word)) == expected
