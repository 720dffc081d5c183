"""The `Forest` record, and the validation of forests from untrusted files."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from cordwood._base.csr import csr_arrays
from cordwood.ensemble.forests import ExtraTreesClassifier, RandomForestClassifier
from cordwood.ensemble.tree_engine.apply import apply, vote
from cordwood.ensemble.tree_engine.forest import (
    Forest,
    check_forest,
    drop_leaf_stats,
    join,
    leaf_index,
    take_trees,
)
from cordwood.ensemble.tree_engine.importances import expand_tree, importances
from synthetic_data import make_counts

N_CLASSES, N_FEATURES = 4, 20


def fit_forest(n_trees, X, y, seed=0):
    """Grow a forest that has impure leaves."""
    return RandomForestClassifier(n_trees, min_samples_leaf=3, random_state=seed).fit(X, y).forest_


@pytest.fixture(scope="module")
def data():
    X, y = make_counts(150, N_FEATURES, N_CLASSES, 1, noise=0.4)
    return X, y, csr_arrays(sp.csr_matrix(X))


@pytest.fixture(scope="module")
def forest(data):
    forest = fit_forest(7, *data[:2])
    assert len(forest.impure_entry_start) > 7
    return forest


def widen(forest):
    return forest._replace(
        feature_and_side=forest.feature_and_side.astype(np.uint32),
        far_child=forest.far_child.astype(np.int32),
    )


# --- joining and slicing ----------------------------------------------------------------------


def test_join_concatenates_trees(data):
    X, y, arrays = data
    parts = [fit_forest(n, X, y, seed=n) for n in (1, 3, 2)]
    whole = join(parts)
    check_forest(whole, N_CLASSES, N_FEATURES)
    expected = sum(vote(part, arrays, N_CLASSES)[0] for part in parts)
    votes, n_votes = vote(whole, arrays, N_CLASSES)
    np.testing.assert_allclose(votes, expected, rtol=1e-12)
    assert set(n_votes) == {6}
    trees = [(part, tree) for part in parts for tree in range(part.n_trees)]
    for number, (part, tree) in enumerate(trees):
        joined, alone = expand_tree(whole, number, N_CLASSES), expand_tree(part, tree, N_CLASSES)
        for a, b in zip(joined, alone, strict=True):
            assert np.array_equal(a, b)


@pytest.mark.parametrize("is_wide", [(False, True), (True, False), (True, True)])
def test_join_with_a_wide_forest_is_wide(data, is_wide):
    X, y, arrays = data
    parts = [fit_forest(3, X, y, seed) for seed in (0, 1)]
    narrow = join(parts)
    wide = join([widen(part) if w else part for part, w in zip(parts, is_wide, strict=True)])
    assert (narrow.feature_and_side.dtype, narrow.far_child.dtype) == (np.uint16, np.int16)
    assert (wide.feature_and_side.dtype, wide.far_child.dtype) == (np.uint32, np.int32)
    check_forest(wide, N_CLASSES, N_FEATURES)
    votes, _ = vote(wide, arrays, N_CLASSES)
    assert votes.tobytes() == vote(narrow, arrays, N_CLASSES)[0].tobytes()


def test_many_features_make_a_forest_wide(data):
    X, y, _ = data
    forests = []
    for n in (2**15, 2**15 + 1):
        # The last features are the informative ones, so that the largest codes occur.
        padding = sp.csr_matrix((len(X), n - N_FEATURES))
        padded = sp.hstack([padding, sp.csr_matrix(X)], format="csr").astype(np.float32)
        forest = ExtraTreesClassifier(3, max_features=None, random_state=0).fit(padded, y).forest_
        check_forest(forest, N_CLASSES, n)
        assert (forest.feature_and_side >> 1).max() > n - N_FEATURES
        votes, _ = vote(forest, csr_arrays(padded), N_CLASSES)
        np.testing.assert_array_equal(votes, 3 * np.eye(N_CLASSES)[y])
        forests.append(forest)
    assert [forest.is_wide for forest in forests] == [False, True]


def test_many_nodes_make_a_forest_wide():
    """Each sample is a leaf, and a wrong step would lead to another class."""
    n = 30_000
    X = np.random.default_rng(0).permutation(n).astype(np.float32)[:, None]
    y = X[:, 0].astype(int) % 2
    for n_samples, is_wide in ((5000, False), (n, True)):
        model = ExtraTreesClassifier(2, random_state=0).fit(X[:n_samples], y[:n_samples])
        assert model.forest_.is_wide == is_wide
        assert model.forest_.n_leaves > n_samples / 2
        check_forest(model.forest_, 2, 1)
        assert (model.predict(X[:n_samples]) == y[:n_samples]).all()


def test_join_keeps_leaf_statistics_only_if_all_forests_have_them(forest):
    assert join([forest, forest]).has_leaf_stats
    assert join([forest, join([])]).has_leaf_stats
    for parts in ([forest, drop_leaf_stats(forest)], [drop_leaf_stats(forest), forest]):
        joined = join(parts)
        assert not joined.has_leaf_stats
        assert joined.leaf_weight.size == joined.leaf_size.size == 0
        check_forest(joined, N_CLASSES, N_FEATURES)


def test_fitted_arrays_are_read_only(forest):
    for array in forest:
        with pytest.raises(ValueError, match="read-only"):
            array[:1] = 0


@pytest.mark.parametrize(("first", "last"), [(0, 7), (0, 3), (2, 5), (6, 7)])
def test_take_trees_votes_like_the_trees_of_the_forest(data, forest, first, last):
    part = take_trees(forest, first, last)
    check_forest(part, N_CLASSES, N_FEATURES)
    weights = np.zeros(7)
    weights[first:last] = 1
    expected, _ = vote(forest, data[2], N_CLASSES, tree_weights=weights)
    assert vote(part, data[2], N_CLASSES)[0].tobytes() == expected.tobytes()


def test_join_reverts_take_trees(forest):
    parts = [take_trees(forest, *ends) for ends in ((0, 2), (2, 6), (6, 7))]
    for name, joined, original in zip(Forest._fields, join(parts), forest, strict=True):
        assert np.array_equal(joined, original), name


def test_leaf_index_numbers_leaves_in_the_order_of_their_nodes(data, forest):
    leaves = apply(forest, data[2])
    index = leaf_index(forest, leaves)
    for tree in range(7):
        first, last = forest.leaf_start[tree : tree + 2]
        assert index[tree].min() >= first
        assert index[tree].max() < last
    nodes = np.flatnonzero(forest.far_child < 0)
    assert np.array_equal(nodes[index], leaves)
    assert len(nodes) == forest.n_leaves


# --- validation -------------------------------------------------------------------------------


def change(forest, name, index, value):
    array = getattr(forest, name).copy()
    array[index] = value
    return forest._replace(**{name: array})


def error_of(forest):
    with pytest.raises(ValueError, match="forest") as caught:
        check_forest(forest, N_CLASSES, N_FEATURES)
    return str(caught.value)


def test_valid_forest_is_returned_as_a_read_only_copy(forest):
    writeable = Forest(*(array.copy() for array in forest))
    checked = check_forest(writeable, N_CLASSES, N_FEATURES)
    for name, array, original in zip(Forest._fields, checked, forest, strict=True):
        assert array.tobytes() == original.tobytes(), name
        assert array.dtype == original.dtype
        assert not array.flags.writeable
    writeable.feature_and_side[0] = 10**4
    assert checked.feature_and_side[0] == forest.feature_and_side[0]


@pytest.mark.parametrize(
    ("name", "index", "value"),
    [
        ("feature_and_side", 0, 2 * N_FEATURES),
        ("feature_and_side", 0, 2**16 - 1),
        ("feature_and_side", -1, 1),  # a leaf node with a next node
        ("feature_and_side", -1, 2),
        ("far_child", 0, 0),  # a cycle
        ("far_child", 1, 0),  # backwards
        ("far_child", 0, 10**4),
        ("far_child", 0, 2**15 - 1),
        ("far_child", 0, -(2**15)),
        ("far_child", 0, ~(10**4)),
        ("far_child", -1, 1),  # a leaf node without a leaf
        ("far_child", -1, ~(10**4)),
        ("leaf_weight", 0, np.nan),
        ("leaf_weight", 0, 0.0),
        ("leaf_weight", 0, -1.0),
        ("leaf_weight", 0, np.inf),
        ("leaf_size", 0, 0),
        ("leaf_size", 0, -5),
        ("threshold", 0, np.nan),
        ("threshold", 0, np.inf),
        ("threshold", 0, -np.inf),  # a leaf node, and the next node has no parent
        ("threshold", -1, 0.0),  # the last node has no next node
        ("threshold", -1, np.nan),
        ("impure_class", 0, -1),
        ("impure_class", 0, N_CLASSES),
        ("impure_weight", 0, np.nan),
        ("impure_weight", 0, -1.0),
        ("impure_weight", 0, np.inf),
        ("impure_entry_start", 0, 1),
        ("impure_entry_start", 1, 10**6),
        ("impure_entry_start", 1, 0),  # an impure leaf without classes
        ("impure_entry_start", -1, 10**6),
        ("node_start", 0, -1),
        ("node_start", 1, 0),  # a tree without nodes
        ("node_start", 1, 10**6),
        ("node_start", -1, 10**6),
        ("leaf_start", 0, -1),
        ("leaf_start", 1, 0),
        ("leaf_start", -1, 10**6),
        ("leaf_start", 1, 3),  # not where the leaves of the second tree begin
        ("impure_leaf_start", 0, -1),
        ("impure_leaf_start", 1, 0),
        ("impure_leaf_start", 1, 10**6),
        ("impure_leaf_start", -1, 10**6),
    ],
)
def test_one_invalid_value_raises(forest, name, index, value):
    assert getattr(forest, name)[index] != value
    error_of(change(forest, name, index, value))


def test_empty_last_tree_raises(forest):
    """Its root would be read beyond the last node."""
    starts = {
        name: np.append(getattr(forest, name), getattr(forest, name)[-1])
        for name in ("node_start", "leaf_start", "impure_leaf_start")
    }
    assert "node_start" in error_of(forest._replace(**starts))


def test_forest_without_trees_raises(forest):
    empty = forest._replace(
        **{
            name: array[:1] if name.endswith("_start") else array[:0]
            for name, array in forest._asdict().items()
        }
    )
    assert "no trees" in error_of(empty)


@pytest.mark.parametrize("name", Forest._fields)
def test_arrays_of_another_length_type_or_shape_raise(forest, name):
    array = getattr(forest, name)
    for other in (
        array[:-1],
        np.append(array, array[-1:]),
        array.astype(np.float64 if array.dtype != np.float64 else np.int64),
        array.astype(array.dtype.newbyteorder()),
        array[:, None],
        array.tolist(),
        None,
    ):
        error_of(forest._replace(**{name: other}))


def test_other_types_raise(forest):
    assert "tuple" in error_of(tuple(forest))
    assert "dict" in error_of(forest._asdict())


@pytest.mark.parametrize("n_more", [1, 60])
def test_nodes_with_two_parents_raise(n_more):
    """Expanding a few dozen of them as a tree would take all memory."""
    n_nodes = n_more + 3
    shared = Forest(
        node_start=np.array([0, n_nodes]),
        leaf_start=np.array([0, 1]),
        impure_leaf_start=np.array([0, 0]),
        feature_and_side=np.zeros(n_nodes, np.uint16),
        threshold=np.array([0] * (n_nodes - 1) + [-np.inf], np.float32),
        far_child=np.array([*range(2, n_nodes), n_nodes - 1, -1], np.int16),
        leaf_weight=np.ones(1, np.float32),
        leaf_size=np.ones(1, np.int32),
        impure_entry_start=np.zeros(1, np.int64),
        impure_class=np.zeros(0, np.int32),
        impure_weight=np.zeros(0, np.float32),
    )
    assert "nodes" in error_of(shared)


def test_impure_leaves_with_two_parents_raise(forest):
    impure = np.flatnonzero(~forest.far_child[: forest.node_start[1]] >= N_CLASSES)[:2]
    shared = change(forest, "far_child", impure[0], forest.far_child[impure[1]])
    assert "impure leaves" in error_of(shared)


def test_impure_leaves_may_be_in_any_order(data, forest):
    tree = take_trees(forest, 3, 4)
    n_impure = len(tree.impure_entry_start) - 1
    assert n_impure > 2
    entries = [slice(*tree.impure_entry_start[i : i + 2]) for i in range(n_impure)][::-1]
    code = ~tree.far_child
    reversed_code = np.where(code >= N_CLASSES, 2 * N_CLASSES + n_impure - 1 - code, code)
    backwards = tree._replace(
        far_child=~reversed_code.astype(np.int16),
        impure_entry_start=np.cumsum([0, *(part.stop - part.start for part in entries)]),
        impure_class=np.concatenate([tree.impure_class[part] for part in entries]),
        impure_weight=np.concatenate([tree.impure_weight[part] for part in entries]),
    )
    backwards = check_forest(backwards, N_CLASSES, N_FEATURES)
    votes, _ = vote(backwards, data[2], N_CLASSES)
    assert votes.tobytes() == vote(tree, data[2], N_CLASSES)[0].tobytes()


def test_wide_arrays_are_valid_only_together(forest):
    wide = widen(forest)
    assert check_forest(wide, N_CLASSES, N_FEATURES).is_wide
    for name in ("feature_and_side", "far_child"):
        error_of(forest._replace(**{name: getattr(wide, name)}))
    error_of(change(wide, "feature_and_side", 0, 2**32 - 1))
    error_of(change(wide, "far_child", 0, 2**31 - 1))
    error_of(change(wide, "far_child", 0, -(2**31)))


def test_leaf_statistics_are_optional_only_together(forest):
    without = drop_leaf_stats(forest)
    assert not check_forest(without, N_CLASSES, N_FEATURES).has_leaf_stats
    for name in ("leaf_weight", "leaf_size"):
        error_of(forest._replace(**{name: getattr(without, name)}))


@settings(deadline=None, max_examples=150)
@given(draw=st.data())
def test_kernels_can_run_on_every_valid_forest(forest, draw):
    """Random changes either raise, or give a forest whose votes sum to one."""
    crafted = forest
    for _ in range(draw.draw(st.integers(1, 3))):
        name = draw.draw(st.sampled_from(Forest._fields))
        array = getattr(crafted, name)
        index = draw.draw(st.integers(0, len(array) - 1))
        step = draw.draw(st.one_of(st.integers(-3, 3), st.integers(-(2**31), 2**31 - 1)))
        limits = np.iinfo(array.dtype) if array.dtype.kind in "iu" else np.finfo(array.dtype)
        value = np.clip(max(float(array[index]), -1) + step, limits.min, limits.max)
        crafted = change(crafted, name, index, value)
    try:
        checked = check_forest(crafted, N_CLASSES, N_FEATURES)
    except ValueError:
        return
    X = sp.csr_matrix(np.float32(np.random.default_rng(0).poisson(1, size=(30, N_FEATURES))))
    votes, n_votes = vote(checked, csr_arrays(X), N_CLASSES)
    np.testing.assert_allclose(votes.sum(axis=1), n_votes)
    assert importances(checked, N_CLASSES, N_FEATURES, entropy=False).shape == (N_FEATURES,)
