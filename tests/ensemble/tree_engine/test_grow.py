"""The growing kernel: plain Python against compiled code, and lists kept against lists rebuilt."""

import numpy as np
import pytest
import scipy.sparse as sp

from cordwood._base.csr import csc_arrays
from cordwood.ensemble.tree_engine.binning import bin_matrix
from cordwood.ensemble.tree_engine.grower import TreeParams, allocate_grow_workspace

N_CLASSES = 3
TREE_FIELDS = (
    "node_feature_and_side",
    "node_threshold",
    "node_far_child",
    "leaf_weight",
    "leaf_size",
    "impure_entry_start",
    "impure_class",
    "impure_weight",
)


def make_params(binned, **changes):
    params = {
        "entropy": False,
        "random_split": False,
        "max_features": 6,
        "max_depth": 2**31 - 1,
        "min_samples_split": 2,
        "min_samples_leaf": 1,
        "min_weight_fraction_leaf": 0.0,
    } | changes
    logs = np.arange(binned.n_samples + 1.0 if params["entropy"] else 0.0)
    logs[1:] *= np.log2(logs[1:])
    return TreeParams(**params, x_log_x=logs)


def make_data(kind, n_samples=140, n_features=40, seed=0):
    """Counts, some of them frequent, or real numbers; a few samples occur twice."""
    rng = np.random.default_rng(seed)
    rates = 2.0 / np.arange(1, n_features + 1)
    X = rng.poisson(rates, size=(n_samples, n_features)).astype(np.float32)
    if kind == "real":
        X *= rng.normal(size=X.shape)
    X[-6:] = X[:6]
    y = (X[:, 0] + X[:, 3] + rng.poisson(1, n_samples)).astype(np.int64) % N_CLASSES
    return sp.csc_matrix(X.astype(np.float32)), y.astype(np.uint32)


def make_weights(kind, n_samples):
    """Return weights and their unit."""
    rng = np.random.default_rng(7)
    if kind == "bootstrap":
        return rng.poisson(1, n_samples).astype(float), 1.0
    weights = rng.gamma(1, 1, n_samples)
    return weights, weights.max() / 254.5


def grow(kernels, binned, params, y, weights, unit, seed=42):
    workspace = allocate_grow_workspace(binned, N_CLASSES)
    sizes = kernels.grow.grow_tree(binned, params, workspace, y, weights, unit, seed)
    n_nodes, n_leaves, n_impure = (int(n) for n in sizes)
    n_entries = int(workspace.impure_entry_start[n_impure])
    lengths = (*[n_nodes] * 3, *[n_leaves] * 2, n_impure + 1, n_entries, n_entries)
    return {
        name: getattr(workspace, name)[:length].copy()
        for name, length in zip(TREE_FIELDS, lengths, strict=True)
    }


@pytest.mark.parametrize("kind", ["counts", "real"])
@pytest.mark.parametrize("weights", ["bootstrap", "real"])
@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"entropy": True},
        {"random_split": True},
        {"entropy": True, "random_split": True},
        {"max_features": 1},
        {"max_features": 40, "min_samples_leaf": 4},
        {"max_depth": 3, "min_weight_fraction_leaf": 0.05, "min_samples_split": 9},
    ],
    ids=str,
)
def test_plain_and_compiled_trees_are_identical(plain, compiled, kind, weights, changes):
    X, y = make_data(kind)
    binned = bin_matrix(csc_arrays(X))
    assert 0 < binned.n_dense < binned.n_nonempty
    params = make_params(binned, **changes)
    weights, unit = make_weights(weights, X.shape[0])
    slow, fast = (grow(k, binned, params, y, weights, unit) for k in (plain, compiled))
    assert len(slow["node_feature_and_side"]) > 5
    for name in TREE_FIELDS:
        assert fast[name].tobytes() == slow[name].tobytes(), name


def test_workspaces_can_be_reused(compiled):
    X, y = make_data("counts")
    binned = bin_matrix(csc_arrays(X))
    params = make_params(binned)
    weights, unit = make_weights("bootstrap", X.shape[0])
    fresh = grow(compiled, binned, params, y, weights, unit)
    workspace = allocate_grow_workspace(binned, N_CLASSES)
    for array in workspace:
        array[...] = 1
    workspace.side_weights[...] = 0  # the only array that must be zero between calls
    compiled.grow.grow_tree(binned, params, workspace, y[::-1].copy(), np.ones(len(y)), 1.0, 3)
    compiled.grow.grow_tree(binned, params, workspace, y, weights, unit, 42)
    for name, array in fresh.items():
        assert getattr(workspace, name)[: len(array)].tobytes() == array.tobytes(), name


def node_samples(tree, X):
    """Return the depth and the set of samples of every node."""
    dense = X.toarray()
    found = set()

    def visit(node, samples, depth):
        found.add((depth, frozenset(samples.tolist())))
        if node < 0 or tree["node_feature_and_side"][node] < 0:
            return
        feature, next_is_right = divmod(int(tree["node_feature_and_side"][node]), 2)
        above = dense[samples, feature] > tree["node_threshold"][node]
        is_next = above if next_is_right else ~above
        visit(node + 1, samples[is_next], depth + 1)
        visit(int(tree["node_far_child"][node]), samples[~is_next], depth + 1)

    visit(0, np.arange(len(dense)), 0)
    return found


@pytest.mark.parametrize("entropy", [False, True])
@pytest.mark.parametrize("kind", ["counts", "real"])
def test_rebuilding_posting_lists_does_not_change_the_tree(plain, monkeypatch, kind, entropy):
    """All features are scored and no two sets of samples weigh the same, so nothing is random.

    Features that split a node in the same way are ties, so samples are compared, not features.
    """
    X, y = make_data(kind, n_samples=260, n_features=60)
    binned = bin_matrix(csc_arrays(X))
    X = X[:, binned.column]  # so that the features of nodes are columns of X
    weights, unit = make_weights("real", X.shape[0])
    params = make_params(binned, max_features=binned.n_features, entropy=entropy)
    built = []
    build = plain.grow.build_postings
    monkeypatch.setattr(
        plain.grow, "build_postings", lambda *a: built.append(a[3] - a[2]) or build(*a)
    )
    nodes, n_built = [], []
    for ratio in (1, 3, 10**9):
        monkeypatch.setattr(plain.grow, "_REBUILD_RATIO", ratio)
        built.clear()
        nodes.append(node_samples(grow(plain, binned, params, y, weights, unit), X))
        n_built.append(len(built))
    assert n_built[0] > n_built[1] >= n_built[2]  # lists are rebuilt more or less often
    assert len(nodes[0]) > 50
    assert nodes[0] == nodes[1] == nodes[2]
