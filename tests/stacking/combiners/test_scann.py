import tracemalloc

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from cordwood.stacking.combiners import SCANN
from cordwood.stacking.combiners import scann as module


def reference(X, y, X_test, n_classes, weights=None):
    """Correspondence analysis by a dense singular value decomposition, as Merz (1999) describes."""
    weights = np.ones(len(y)) if weights is None else weights

    def indicate(codes):
        return np.eye(n_classes)[codes].reshape(len(codes), -1)

    decisions = X.reshape(len(X), -1, n_classes).argmax(axis=2)
    table = np.hstack([indicate(decisions), indicate(y)])
    n_votes = table.shape[1] // n_classes
    P = weights[:, None] * table
    P /= P.sum()
    r, c = P.sum(axis=1), P.sum(axis=0)
    seen = c > 0
    A = (P - np.outer(r, c))[:, seen] / np.sqrt(np.outer(r, c[seen]))
    _, S, Vt = np.linalg.svd(A, full_matrices=False)
    kept = S > 1e-6
    G = np.zeros((len(c), kept.sum()))
    G[seen] = (Vt[kept] * S[kept, None]).T / np.sqrt(c[seen, None])
    scores = np.empty((len(X_test), n_classes))
    queries = indicate(X_test.reshape(len(X_test), -1, n_classes).argmax(axis=2))
    for code in range(n_classes):
        candidates = indicate(np.full(len(X_test), code))
        profiles = np.hstack([queries, candidates]) / n_votes
        embedding = profiles @ G / S[kept]
        gaps = embedding - G[(n_votes - 1) * n_classes + code]
        scores[:, code] = 1 / (1 + np.linalg.norm(gaps, axis=1))
    return S[kept], scores / scores.sum(axis=1, keepdims=True)


@given(
    st.integers(0, 2**32 - 1), st.integers(1, 5), st.integers(2, 4), st.sampled_from([12, 40, 200])
)
@settings(deadline=None, max_examples=40)
def test_matches_dense_singular_value_decomposition(seed, n_members, n_classes, n_samples):
    rng = np.random.default_rng(seed)
    members = rng.dirichlet(np.ones(n_classes), size=(n_samples + 20, n_members))
    y = np.arange(n_samples) % n_classes
    members[np.arange(n_samples), :, y] += rng.uniform(0, 1, n_members)
    X = (members / members.sum(axis=2, keepdims=True)).reshape(len(members), -1)
    weights = rng.uniform(0.1, 2, n_samples)
    model = SCANN().fit(X[:n_samples], y, sample_weight=weights)
    values, expected = reference(X[:n_samples], y, X[n_samples:], n_classes, weights)
    np.testing.assert_allclose(model.singular_values_, values, atol=1e-6)
    np.testing.assert_allclose(model.predict_proba(X[n_samples:]), expected, atol=1e-6)


def test_null_dimensions_are_dropped(simulate):
    X, y = simulate(n=600, n_members=3, n_classes=4)
    model = SCANN().fit(X, y)
    # The columns of each base estimator, and those of the classes, sum to a constant.
    assert len(model.singular_values_) == 4 * 4 - 4
    assert (np.diff(model.singular_values_) <= 0).all()
    twice = np.hstack([X, X])
    assert len(SCANN().fit(twice, y).singular_values_) == 4 * 4 - 4
    # The authors divide by the singular values that are dropped here, which are zero.
    assert np.abs(SCANN().fit(twice, y).decisions_).max() < 10


def test_unseen_votes_are_ignored():
    X = np.tile(np.eye(3)[[0, 0, 1, 1, 2, 2]], 3)
    X[:, :3] = np.eye(3)[
        [0, 0, 1, 1, 0, 0]
    ]  # the first base estimator never predicts the last class
    y = np.array([0, 0, 1, 1, 2, 2])
    model = SCANN().fit(X, y)
    assert not model.decisions_[2].any()
    query = np.tile(np.eye(3)[[0, 1, 2]], 3)
    probabilities = model.predict_proba(query)
    assert np.isfinite(probabilities).all()
    assert probabilities.argmax(axis=1).tolist() == [0, 1, 2]


def test_systematic_errors_are_corrected():
    y = np.arange(300) % 3
    wrong = np.eye(3)[(y + 1) % 3]
    assert SCANN().fit(np.tile(wrong, 2), y).score(np.tile(wrong, 2), y) == 1.0


def test_tied_votes_are_split():
    y = np.array([0, 1, 2] * 10)
    X = np.tile(np.eye(3)[y], 3)
    model = SCANN().fit(X, y)
    tied = [0.5, 0.5, 0.0]
    first, second = [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]
    probabilities = model.predict_proba([tied + first + first, tied + second + second])
    np.testing.assert_allclose(probabilities[0, [1, 0, 2]], probabilities[1])
    assert probabilities.argmax(axis=1).tolist() == [0, 1]


def test_batches_do_not_change_probabilities(simulate, monkeypatch):
    X, y = simulate()
    whole = SCANN().fit(X, y).predict_proba(X)
    monkeypatch.setattr(module, "_BATCH_SIZE", 37)
    np.testing.assert_allclose(SCANN().fit(X, y).predict_proba(X), whole, atol=1e-9)


def test_memory_does_not_depend_on_the_number_of_samples(simulate):
    X, y = simulate(n=6000, n_members=4, n_classes=5)

    def peak(n_copies):
        samples, codes = np.tile(X, (n_copies, 1)), np.tile(y, n_copies).astype(np.intp)
        model = SCANN()
        model.classes_ = np.arange(5)
        weights = np.ones(len(codes))
        tracemalloc.start()
        model._fit(samples, codes, weights)
        size = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return size, samples.nbytes

    small, _ = peak(1)
    large, n_bytes = peak(10)
    # Only input validation grows: one sum for each base estimator and sample.
    assert large - small < n_bytes / 2
    assert large < n_bytes
