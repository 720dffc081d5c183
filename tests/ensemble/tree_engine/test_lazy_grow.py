"""Paths in plain Python and compiled; what they answer is tested with the estimator."""

import hashlib
import os
import subprocess
import sys

import numpy as np
import pytest
import scipy.sparse as sp

from cordwood._intrinsics import read_only
from cordwood.ensemble._tree_engine.lazy_grow import fingerprint, vote
from cordwood.ensemble._tree_engine.lazy_trees import PathRules, allocate, collect
from cordwood.ensemble._tree_engine.local_index import sort, stratum_of

SCRIPT = "import test_lazy_grow; print(test_lazy_grow.digest({kind!r}))"
JUDGE_ALL = "from cordwood.ensemble._tree_engine import lazy_grow; lazy_grow.falls_short = lambda *about: False; "


def digest(kind):
    """Hash the answers of small forests, to be compared between two processes."""
    entropy, random_cut = kind
    rng = np.random.default_rng(0)
    X = rng.poisson(0.4, size=(60, 40)) * rng.choice([1, 1, 1, -2], size=(60, 40))
    X = sp.csr_matrix(X.astype(np.float32))
    rows = collect(X, rng.integers(0, 3, 60).astype(np.uint32))
    logs = np.arange(31) * np.log2(np.maximum(np.arange(31), 1))
    rules = PathRules(
        n_trees=3,
        bootstrap=not random_cut,
        random_cut=random_cut,
        entropy=entropy,
        quota=np.maximum(1, np.sqrt(np.arange(41)).astype(np.int64)),
        log_factorial=np.cumsum(np.log(np.maximum(np.arange(41), 1))),
        x_log_x=logs,
    )
    neighbors = np.array([rng.permutation(60)[:30] for _ in range(12)], np.int32)
    neighbors[0, 20:] = -1
    neighbors[1] = -1
    votes = np.zeros((12, 3))
    frozen = rules._make(read_only(x) if isinstance(x, np.ndarray) else x for x in rules)
    queries = map(read_only, (X.indptr[:13].astype(np.int64), X.indices, X.data, neighbors))
    vote(rows, frozen, allocate(rows, 3, 30), *queries, np.int64(5), votes)
    assert not votes[1].any()
    np.testing.assert_allclose(votes[2:].sum(axis=1), 1)
    return hashlib.sha256(votes.tobytes()).hexdigest()


def run_plain(script):
    """Run a script without compilation; gives what it prints."""
    plain = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", script],
        cwd=os.path.dirname(os.path.abspath(__file__)),
        env={**os.environ, "NUMBA_DISABLE_JIT": "1"},
        check=True,
        capture_output=True,
        text=True,
    )
    return plain.stdout.strip()


@pytest.mark.parametrize("kind", [(False, False), (True, False), (False, True)])
def test_plain_and_compiled_answers_agree_to_the_last_bit(kind):
    assert run_plain(SCRIPT.format(kind=kind)) == digest(kind)


@pytest.mark.parametrize("kind", [(False, False), (True, False)])
def test_words_that_fall_short_would_not_have_changed_the_answers(kind):
    assert run_plain(JUDGE_ALL + SCRIPT.format(kind=kind)) == digest(kind)


@pytest.mark.parametrize("n", [1, 2, 17, 40, 41, 300])
def test_a_list_is_sorted_by_value_the_greatest_first(n):
    rng = np.random.default_rng(n)
    value = rng.integers(-4, 5, n + 6).astype(np.float32)
    doc = np.arange(n + 6, dtype=np.uint16)
    before = value.copy()
    sort(doc, value, np.uint32(3), np.uint32(n + 3))
    assert value[3 : n + 3].tolist() == sorted(before[3 : n + 3].tolist(), reverse=True)
    assert value.tolist() == before[doc].tolist()
    assert doc[:3].tolist() == [0, 1, 2]
    assert sorted(doc) == list(range(n + 6))


def test_words_fall_into_strata_by_how_many_documents_hold_them():
    assert [stratum_of(np.uint32(n)) for n in (1, 2, 3, 4, 5, 99)] == [2, 1, 1, 0, 0, 0]


def test_fingerprints_tell_seeds_columns_values_and_orders_apart():
    indices, data = np.array([1, 5, 9], np.int32), np.array([1, 2, 3], np.float32)
    seen = {
        fingerprint(i, d, 0, n, np.uint64(seed))
        for i in (indices, indices[::-1].copy(), indices + np.int32(1))
        for d in (data, data[::-1].copy(), -data)
        for n in (2, 3)
        for seed in (0, 1)
    }
    assert len(seen) == 36
    assert fingerprint(indices, data, 0, 3, np.uint64(4)) == fingerprint(
        np.array([7, 1, 5, 9], np.int32), np.array([8, 1, 2, 3], np.float32), 1, 4, np.uint64(4)
    )
