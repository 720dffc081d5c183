"""One tree in plain Python and compiled; lists that are kept and lists that are made anew."""

import numpy as np
import pytest
import scipy.sparse as sp
from cordwood.ensemble._tree_engine.records import Rules
from cordwood.ensemble._tree_engine.workspace import allocate

from cordwood.ensemble._tree_engine.binning import encode

N_CLASSES = 3
GROWN = (
    "node_split",
    "node_threshold",
    "node_other",
    "leaf_weight",
    "leaf_size",
    "mixed_start",
    "mixed_class",
    "mixed_weight",
)


def rules(table, **changes):
    settings = {
        "entropy": False,
        "random_cut": False,
        "max_features": 6,
        "max_depth": 2**31 - 1,
        "min_samples_split": 2,
        "min_samples_leaf": 1,
        "min_weight_share": 0.0,
    } | changes
    logs = np.arange(table.n_docs + 1.0 if settings["entropy"] else 0.0)
    logs[1:] *= np.log2(logs[1:])
    return Rules(**settings, x_log_x=logs)


def data(kind, n_docs=140, n_features=40, seed=0):
    """Counts of words, some of them frequent, or real numbers; a few rows occur twice."""
    rng = np.random.default_rng(seed)
    rates = 2.0 / np.arange(1, n_features + 1)
    X = rng.poisson(rates, size=(n_docs, n_features)).astype(np.float32)
    if kind == "real":
        X *= rng.normal(size=X.shape)
    X[-6:] = X[:6]
    codes = (X[:, 0] + X[:, 3] + rng.poisson(1, n_docs)).astype(np.int64) % N_CLASSES
    return sp.csc_matrix(X.astype(np.float32)), codes.astype(np.uint32)


def weigh(kind, n_docs):
    rng = np.random.default_rng(7)
    if kind == "bag":
        return rng.poisson(1, n_docs).astype(float), 1.0
    weights = rng.gamma(1, 1, n_docs)
    return weights, weights.max() / 254.5


def grow(kernels, table, how, codes, weights, unit, seed=42):
    scratch = allocate(table, N_CLASSES)
    made = kernels.grow.grow(table, how, scratch, codes, weights, unit, seed)
    n_nodes, n_leaves, n_mixed = (int(n) for n in made)
    n_entries = int(scratch.mixed_start[n_mixed])
    lengths = (*[n_nodes] * 3, *[n_leaves] * 2, n_mixed + 1, n_entries, n_entries)
    return {
        name: getattr(scratch, name)[:length].copy()
        for name, length in zip(GROWN, lengths, strict=True)
    }


@pytest.mark.parametrize("kind", ["words", "real"])
@pytest.mark.parametrize("weights", ["bag", "real"])
@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"entropy": True},
        {"random_cut": True},
        {"entropy": True, "random_cut": True},
        {"max_features": 1},
        {"max_features": 40, "min_samples_leaf": 4},
        {"max_depth": 3, "min_weight_share": 0.05, "min_samples_split": 9},
    ],
    ids=str,
)
def test_plain_and_compiled_trees_agree_to_the_last_bit(plain, compiled, kind, weights, changes):
    X, codes = data(kind)
    table = encode(X)
    assert 0 < table.n_dense < table.n_used
    how = rules(table, **changes)
    weights, unit = weigh(weights, X.shape[0])
    slow, fast = (grow(k, table, how, codes, weights, unit) for k in (plain, compiled))
    assert len(slow["node_split"]) > 5
    for name in GROWN:
        if how.entropy and slow[name].dtype.kind == "f":
            # The logarithms of numpy and of the compiler differ in their last bits.
            np.testing.assert_allclose(fast[name], slow[name], rtol=1e-6, err_msg=name)
        else:
            assert fast[name].tobytes() == slow[name].tobytes(), name


def test_scratch_that_was_used_before_changes_nothing(compiled):
    X, codes = data("words")
    table = encode(X)
    how = rules(table)
    weights, unit = weigh("bag", X.shape[0])
    fresh = grow(compiled, table, how, codes, weights, unit)
    scratch = allocate(table, N_CLASSES)
    for array in scratch:
        array[...] = 1
    scratch.side[...] = 0  # the one array that is left clean
    compiled.grow.grow(table, how, scratch, codes[::-1].copy(), np.ones(len(codes)), 1.0, 3)
    compiled.grow.grow(table, how, scratch, codes, weights, unit, 42)
    for name, array in fresh.items():
        assert getattr(scratch, name)[: len(array)].tobytes() == array.tobytes(), name


def parts_of(tree, X):
    """The sets of documents of all nodes, each with its depth."""
    rows = X.toarray()
    found = set()

    def visit(node, docs, depth):
        found.add((depth, frozenset(docs.tolist())))
        if node < 0 or tree["node_split"][node] < 0:
            return
        feature, next_is_right = divmod(int(tree["node_split"][node]), 2)
        above = rows[docs, feature] > tree["node_threshold"][node]
        following = above if next_is_right else ~above
        visit(node + 1, docs[following], depth + 1)
        visit(int(tree["node_other"][node]), docs[~following], depth + 1)

    visit(0, np.arange(len(rows)), 0)
    return found


@pytest.mark.parametrize("entropy", [False, True])
@pytest.mark.parametrize("kind", ["words", "real"])
def test_lists_kept_and_lists_made_anew_lead_to_the_same_tree(plain, monkeypatch, kind, entropy):
    """All features are judged and no two sets of documents weigh the same, so nothing is random.

    Two words that part a node alike are a tie, so that the parts are compared, not the words.
    """
    X, codes = data(kind, n_docs=260, n_features=60)
    table = encode(X)
    table = table._replace(column=np.arange(table.n_features, dtype=np.int32))
    # In the order of the table's features, so that a node's feature is a column here.
    X = X[:, encode(X).column]
    weights, unit = weigh("real", X.shape[0])
    how = rules(table, max_features=table.n_features, entropy=entropy)
    built = []
    build = plain.grow.build
    monkeypatch.setattr(plain.grow, "build", lambda *a: built.append(a[3] - a[2]) or build(*a))
    parts, n_built = [], []
    for shrunk in (1, 3, 10**9):
        monkeypatch.setattr(plain.grow, "_SHRUNK", shrunk)
        built.clear()
        parts.append(parts_of(grow(plain, table, how, codes, weights, unit), X))
        n_built.append(len(built))
    assert n_built[0] > n_built[1] >= n_built[2]  # the paths differ, the tree does not
    assert len(parts[0]) > 50
    assert parts[0] == parts[1] == parts[2]
