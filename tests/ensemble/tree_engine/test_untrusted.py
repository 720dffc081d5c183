"""Files may come from strangers: only what is a forest gets past the check."""

import numpy as np
import pytest
import scipy.sparse as sp
from cordwood.ensemble._tree_engine.records import Forest
from cordwood.ensemble._tree_engine.untrusted import check_forest
from hypothesis import given, settings
from hypothesis import strategies as st

from cordwood.ensemble._tree_engine.grower import drop_census, vote
from cordwood.ensemble._tree_engine.importances import importances
from cordwood.ensemble.forests import RandomForestClassifier

N_CLASSES, N_FEATURES = 4, 20


@pytest.fixture(scope="module")
def forest(words):
    X, codes = words(120, N_FEATURES, N_CLASSES, 1)
    model = RandomForestClassifier(3, min_samples_leaf=3, random_state=0).fit(X, codes)
    assert len(model.forest_.mixed_start) > 3
    return model.forest_


def change(forest, name, place, value):
    array = getattr(forest, name).copy()
    array[place] = value
    return forest._replace(**{name: array})


def refusal(forest):
    with pytest.raises(ValueError, match="forest") as caught:
        check_forest(forest, N_CLASSES, N_FEATURES)
    return str(caught.value)


def test_a_grown_forest_passes_and_comes_back_as_it_was(forest):
    writeable = Forest(*(array.copy() for array in forest))
    checked = check_forest(writeable, N_CLASSES, N_FEATURES)
    for name, array, original in zip(Forest._fields, checked, forest, strict=True):
        assert array.tobytes() == original.tobytes(), name
        assert array.dtype == original.dtype
        assert not array.flags.writeable
    # What was checked is a copy, which nobody else can change.
    writeable.split[0] = 10**4
    assert checked.split[0] == forest.split[0]


@pytest.mark.parametrize(
    ("name", "place", "value"),
    [
        ("split", 0, 2 * N_FEATURES),
        ("split", 0, 2**16 - 1),
        ("split", -1, 1),  # a leaf that leads on
        ("split", -1, 2),
        ("other", 0, 0),  # in circles
        ("other", 1, 0),  # back
        ("other", 0, 10**4),
        ("other", 0, 2**15 - 1),
        ("other", 0, -(2**15)),
        ("other", 0, ~(10**4)),
        ("other", -1, 1),  # a leaf that is none
        ("other", -1, ~(10**4)),
        ("leaf_weight", 0, np.nan),
        ("leaf_weight", 0, 0.0),
        ("leaf_weight", 0, -1.0),
        ("leaf_weight", 0, np.inf),
        ("leaf_size", 0, 0),
        ("leaf_size", 0, -5),
        ("threshold", 0, np.nan),
        ("threshold", 0, np.inf),
        ("threshold", 0, -np.inf),  # a leaf, and nothing leads to the next node
        ("threshold", -1, 0.0),  # the last node has no next one
        ("threshold", -1, np.nan),
        ("mixed_class", 0, -1),
        ("mixed_class", 0, N_CLASSES),
        ("mixed_weight", 0, np.nan),
        ("mixed_weight", 0, -1.0),
        ("mixed_weight", 0, np.inf),
        ("mixed_start", 0, 1),
        ("mixed_start", 1, 10**6),
        ("mixed_start", 1, 0),  # a mixed leaf of no class
        ("mixed_start", -1, 10**6),
        ("node_start", 0, -1),
        ("node_start", 1, 0),  # a tree without nodes
        ("node_start", 1, 10**6),
        ("node_start", -1, 10**6),
        ("leaf_start", 0, -1),
        ("leaf_start", 1, 0),
        ("leaf_start", -1, 10**6),
        ("leaf_start", 1, 3),  # not where the leaves of the second tree begin
        ("mixed_first", 0, -1),
        ("mixed_first", 1, 0),
        ("mixed_first", 1, 10**6),
        ("mixed_first", -1, 10**6),
    ],
)
def test_one_wrong_number_is_refused(forest, name, place, value):
    assert getattr(forest, name)[place] != value
    refusal(change(forest, name, place, value))


def test_a_tree_without_nodes_at_the_end_is_refused(forest):
    """Its root would be read behind the last node."""
    starts = {
        name: np.append(getattr(forest, name), getattr(forest, name)[-1])
        for name in ("node_start", "leaf_start", "mixed_first")
    }
    assert "node_start" in refusal(forest._replace(**starts))


def test_a_forest_without_trees_is_refused(forest):
    empty = forest._replace(
        **{
            name: array[:1] if name.endswith(("_start", "_first")) else array[:0]
            for name, array in forest._asdict().items()
        }
    )
    assert "no trees" in refusal(empty)


@pytest.mark.parametrize("name", Forest._fields)
def test_arrays_of_another_length_type_or_shape_are_refused(forest, name):
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
        refusal(forest._replace(**{name: other}))


def test_what_is_no_forest_is_refused(forest):
    assert "tuple" in refusal(tuple(forest))
    assert "dict" in refusal(forest._asdict())


@pytest.mark.parametrize("n_more", [1, 60])
def test_nodes_that_share_a_child_are_refused(forest, n_more):
    """Laid out as a tree, a few dozen of them would fill any memory."""
    n_nodes = n_more + 3
    both = Forest(
        node_start=np.array([0, n_nodes]),
        leaf_start=np.array([0, 1]),
        mixed_first=np.array([0, 0]),
        split=np.zeros(n_nodes, np.uint16),
        threshold=np.array([0] * (n_nodes - 1) + [-np.inf], np.float32),
        other=np.array([*range(2, n_nodes), n_nodes - 1, -1], np.int16),
        leaf_weight=np.ones(1, np.float32),
        leaf_size=np.ones(1, np.int32),
        mixed_start=np.zeros(1, np.int64),
        mixed_class=np.zeros(0, np.int32),
        mixed_weight=np.zeros(0, np.float32),
    )
    assert "nodes" in refusal(both)


def test_mixed_leaves_that_are_shared_are_refused(forest):
    mixed = np.flatnonzero(~forest.other[: forest.node_start[1]] >= N_CLASSES)[:2]
    shared = change(forest, "other", mixed[0], forest.other[mixed[1]])
    assert "mixed leaves" in refusal(shared)


def test_a_wide_forest_passes_and_half_a_one_does_not(forest):
    wide = forest._replace(
        split=forest.split.astype(np.uint32), other=forest.other.astype(np.int32)
    )
    assert check_forest(wide, N_CLASSES, N_FEATURES).is_wide
    for name in ("split", "other"):
        refusal(forest._replace(**{name: getattr(wide, name)}))
    refusal(change(wide, "split", 0, 2**32 - 1))
    refusal(change(wide, "other", 0, 2**31 - 1))
    refusal(change(wide, "other", 0, -(2**31)))


def test_a_forest_may_go_without_a_census_but_not_without_half_of_it(forest):
    without = drop_census(forest)
    assert not check_forest(without, N_CLASSES, N_FEATURES).has_census
    for name in ("leaf_weight", "leaf_size"):
        refusal(forest._replace(**{name: getattr(without, name)}))


@settings(deadline=None, max_examples=150)
@given(data=st.data())
def test_whatever_passes_can_be_walked(forest, data):
    """Numbers changed at random are refused, or lead to votes that sum to one."""
    crafted = forest
    for _ in range(data.draw(st.integers(1, 3))):
        name = data.draw(st.sampled_from(Forest._fields))
        array = getattr(crafted, name)
        place = data.draw(st.integers(0, len(array) - 1))
        step = data.draw(st.one_of(st.integers(-3, 3), st.integers(-(2**31), 2**31 - 1)))
        limits = np.iinfo(array.dtype) if array.dtype.kind in "iu" else np.finfo(array.dtype)
        value = np.clip(max(float(array[place]), -1) + step, limits.min, limits.max)
        crafted = change(crafted, name, place, value)
    try:
        checked = check_forest(crafted, N_CLASSES, N_FEATURES)
    except ValueError:
        return
    rows = sp.csr_matrix(np.float32(np.random.default_rng(0).poisson(1, size=(30, N_FEATURES))))
    votes, n_votes = vote(checked, rows, N_CLASSES)
    np.testing.assert_allclose(votes.sum(axis=1), n_votes)
    assert importances(checked, N_CLASSES, N_FEATURES, entropy=False).shape == (N_FEATURES,)
