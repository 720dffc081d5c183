"""The kernels of lazy forests; the distribution of predictions is tested with the estimator."""

import numpy as np
import pytest
import scipy.sparse as sp

from cordwood._base.csr import csr_arrays
from cordwood._kernels.intrinsics import read_only
from cordwood.ensemble.tree_engine.lazy_trees import (
    LazyTreeParams,
    allocate_lazy_workspace,
    label_rows,
)

KINDS = {
    "gini": {"entropy": False, "random_split": False},
    "entropy": {"entropy": True, "random_split": False},
    "random splits": {"entropy": False, "random_split": True},
}


def run_vote(kernels, kind):
    rng = np.random.default_rng(0)
    X = rng.poisson(0.4, size=(60, 40)) * rng.choice([1, 1, 1, -2], size=(60, 40))
    arrays = csr_arrays(sp.csr_matrix(X.astype(np.float32)))
    train = label_rows(arrays, rng.integers(0, 3, 60).astype(np.uint32))
    logs = np.arange(31) * np.log2(np.maximum(np.arange(31), 1))
    params = LazyTreeParams(
        n_trees=3,
        bootstrap=not KINDS[kind]["random_split"],
        max_features=read_only(np.maximum(1, np.sqrt(np.arange(41)).astype(np.int64))),
        log_factorial=read_only(np.cumsum(np.log(np.maximum(np.arange(41), 1)))),
        x_log_x=read_only(logs),
        **KINDS[kind],
    )
    neighbors = np.array([rng.permutation(60)[:30] for _ in range(12)], np.int32)
    neighbors[0, 20:] = -1
    neighbors[1] = -1
    votes = np.zeros((12, 3))
    workspace = allocate_lazy_workspace(train, 3, 30)
    queries = read_only(arrays.indptr[:13]), arrays.indices, arrays.data
    # The bound of a list that contains the whole node is NaN, which prunes nothing.
    with np.errstate(invalid="ignore"):
        kernels.lazy_grow.vote_queries(
            train, params, workspace, *queries, read_only(neighbors), np.int64(5), votes
        )
    assert not votes[1].any()  # no neighbors
    np.testing.assert_allclose(votes[2:].sum(axis=1), 1)
    return votes


@pytest.mark.parametrize("kind", KINDS)
def test_plain_and_compiled_votes_are_identical(plain, compiled, kind):
    assert run_vote(plain, kind).tobytes() == run_vote(compiled, kind).tobytes()


@pytest.mark.parametrize("kind", ["gini", "entropy"])
def test_pruning_does_not_change_the_votes(plain, compiled, monkeypatch, kind):
    pruned = []
    below_bound = plain.lazy_grow.below_bound
    monkeypatch.setattr(
        plain.lazy_grow, "below_bound", lambda *a: pruned.append(below_bound(*a)) and False
    )
    assert run_vote(plain, kind).tobytes() == run_vote(compiled, kind).tobytes()
    assert any(pruned)


@pytest.mark.parametrize("n", [1, 2, 17, 40, 41, 300])
def test_sort_descending_sorts_samples_with_their_values(kernels, n):
    rng = np.random.default_rng(n)
    value = rng.integers(-4, 5, n + 6).astype(np.float32)
    sample = np.arange(n + 6, dtype=np.uint16)
    before = value.copy()
    kernels.local_index.sort_descending(sample, value, np.uint32(3), np.uint32(n + 3))
    assert value[3 : n + 3].tolist() == sorted(before[3 : n + 3].tolist(), reverse=True)
    assert value.tolist() == before[sample].tolist()
    assert sample[:3].tolist() == [0, 1, 2]
    assert sorted(sample) == list(range(n + 6))


def test_strata_are_lengths_of_lists(kernels):
    strata = [kernels.local_index.stratum_of(np.uint32(n)) for n in (1, 2, 3, 4, 5, 99)]
    assert strata == [2, 1, 1, 0, 0, 0]


def test_fingerprints_depend_on_seed_columns_values_and_order(kernels):
    fingerprint = kernels.lazy_grow.fingerprint
    indices, data = np.array([1, 5, 9], np.int32), np.array([1, 2, 3], np.float32)
    found = {
        fingerprint(i, d, 0, n, np.uint64(seed))
        for i in (indices, indices[::-1].copy(), indices + np.int32(1))
        for d in (data, data[::-1].copy(), -data)
        for n in (2, 3)
        for seed in (0, 1)
    }
    assert len(found) == 36
    assert fingerprint(indices, data, 0, 3, np.uint64(4)) == fingerprint(
        np.array([7, 1, 5, 9], np.int32), np.array([8, 1, 2, 3], np.float32), 1, 4, np.uint64(4)
    )
