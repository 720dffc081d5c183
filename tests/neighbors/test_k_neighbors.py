import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_iris
from sklearn.metrics import pairwise_distances
from sklearn.neighbors import KNeighborsClassifier

from cordwood.neighbors import NeighborsClassifier

X_IRIS, Y_IRIS = load_iris(return_X_y=True)


@pytest.mark.parametrize("weights", ["uniform", "distance"])
@pytest.mark.parametrize("metric", ["cosine", "euclidean"])
@pytest.mark.parametrize("container", [np.asarray, sp.csr_array])
def test_probabilities_match_scikit_learn(weights, metric, container):
    rng = np.random.default_rng(0)
    X = container(np.round(rng.exponential(size=(200, 30)) * (rng.random((200, 30)) < 0.4), 3))
    y = rng.choice(["a", "b", "c"], 150)
    ours, theirs = (
        estimator(7, metric=metric, weights=weights).fit(X[:150], y)
        for estimator in (NeighborsClassifier, KNeighborsClassifier)
    )
    proba, expected = ours.predict_proba(X[150:]), theirs.predict_proba(X[150:])
    np.testing.assert_allclose(proba, expected, atol=1e-5)
    assert ours.predict(X[150:]).tolist() == ours.classes_[proba.argmax(axis=1)].tolist()


def test_loo_probabilities_equal_refitting_without_the_sample():
    X, y = X_IRIS[::2], Y_IRIS[::2]
    model = NeighborsClassifier(5, metric="euclidean").fit(X, y)
    expected = [
        NeighborsClassifier(5, metric="euclidean")
        .fit(np.delete(X, i, axis=0), np.delete(y, i))
        .predict_proba(X[i : i + 1])[0]
        for i in range(len(X))
    ]
    np.testing.assert_allclose(model.loo_decision_function(), expected, atol=1e-12)


def test_loo_skip_ignores_the_nearest_samples():
    X, y = X_IRIS[::2], Y_IRIS[::2]
    model = NeighborsClassifier(5, metric="euclidean", loo_skip=3).fit(X, y)
    without = NeighborsClassifier(5, metric="euclidean").fit(X, y)
    expected = []
    for i, neighbors in enumerate(without.kneighbors(n_neighbors=3, return_distance=False)):
        removed = [i, *neighbors]
        rest = NeighborsClassifier(5, metric="euclidean")
        rest.fit(np.delete(X, removed, axis=0), np.delete(y, removed))
        expected.append(rest.predict_proba(X[i : i + 1])[0])
    np.testing.assert_allclose(model.loo_decision_function(), expected, atol=1e-12)
    # New samples have no relatives, and groups exclude those of a training sample.
    np.testing.assert_array_equal(model.predict_proba(X), without.predict_proba(X))
    groups = np.arange(len(X)) // 2
    np.testing.assert_array_equal(
        model.loo_decision_function(groups), without.loo_decision_function(groups)
    )


@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
def test_loo_max_samples_seeks_neighbors_among_fewer_samples(metric):
    model = NeighborsClassifier(5, metric=metric, loo_max_samples=60).fit(X_IRIS, Y_IRIS)
    without = NeighborsClassifier(5, metric=metric).fit(X_IRIS, Y_IRIS)
    kept = model._draw_candidates()
    assert len(np.unique(kept)) == 60
    few = NeighborsClassifier(5, metric=metric).fit(X_IRIS[kept], Y_IRIS[kept])
    expected = few.predict_proba(X_IRIS)
    expected[kept] = few.loo_decision_function()
    found = model.loo_decision_function()
    np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(model.loo_decision_function(indices=[7, 3]), found[[7, 3]])
    np.testing.assert_array_equal(model.predict_proba(X_IRIS), without.predict_proba(X_IRIS))
    groups = np.arange(150) // 3
    expected = few.predict_proba(X_IRIS)
    for i in range(150):
        rest = kept[groups[kept] != groups[i]]
        other = NeighborsClassifier(5, metric=metric).fit(X_IRIS[rest], Y_IRIS[rest])
        expected[i] = other.predict_proba(X_IRIS[i : i + 1])
    np.testing.assert_array_equal(model.loo_decision_function(groups), expected)


def test_loo_skip_is_proportional_to_the_samples_among_which_neighbors_are_sought():
    params = {"metric": "euclidean", "loo_max_samples": 60}
    model = NeighborsClassifier(5, loo_skip=5, **params).fit(X_IRIS, Y_IRIS)
    expected = NeighborsClassifier(5, **params).fit(X_IRIS, Y_IRIS)
    kept = model._draw_candidates()
    few = NeighborsClassifier(5, metric="euclidean", loo_skip=2).fit(X_IRIS[kept], Y_IRIS[kept])
    np.testing.assert_array_equal(
        model.loo_decision_function(indices=kept), few.loo_decision_function()
    )
    assert not np.array_equal(model.loo_decision_function(), expected.loo_decision_function())


def vote(distances, labels, weights, n_neighbors, rule):
    """Predict one query by brute force: weighted votes of the nearest samples."""
    distances = np.where(weights > 0, distances, np.inf)
    nearest = np.argsort(distances, kind="stable")[:n_neighbors]
    votes = np.zeros(3)
    for i in nearest[np.isfinite(distances[nearest])]:
        votes[labels[i]] += weights[i] * (1 if rule == "uniform" else 1 / distances[i])
    return votes / votes.sum()


@pytest.mark.parametrize("rule", ["uniform", "distance"])
@pytest.mark.parametrize("metric", ["cosine", "euclidean"])
def test_sample_weights_multiply_votes(rule, metric):
    rng = np.random.default_rng(0)
    X, y = rng.exponential(size=(90, 8)), rng.integers(3, size=60)
    weights = rng.exponential(size=60) * (rng.random(60) < 0.8)
    model = NeighborsClassifier(7, metric=metric, weights=rule).fit(X[:60], y, weights)
    distances = pairwise_distances(X, X[:60], metric=metric)
    expected = [vote(row, y, weights, 7, rule) for row in distances[60:]]
    np.testing.assert_allclose(model.predict_proba(X[60:]), expected, atol=1e-5)
    # A sample is left out as if its weight were zero, and so is a group.
    for groups in (np.arange(60), np.arange(60) // 3):
        expected = [
            vote(distances[i], y, weights * (groups != groups[i]), 7, rule) for i in range(60)
        ]
        np.testing.assert_allclose(model.loo_decision_function(groups), expected, atol=1e-5)


def test_weightless_samples_are_never_neighbors():
    weights = np.tile([1.0, 0.0, 2.0], 50)
    model = NeighborsClassifier(60, metric="euclidean").fit(X_IRIS, Y_IRIS, weights)
    assert set(model.kneighbors(X_IRIS)[1].ravel()) == set(np.flatnonzero(weights))
    assert set(model.kneighbors()[1].ravel()) == set(np.flatnonzero(weights))
    kept = weights > 0
    without = NeighborsClassifier(60, metric="euclidean")
    without.fit(X_IRIS[kept], Y_IRIS[kept], weights[kept])
    assert model.predict_proba(X_IRIS).tobytes() == without.predict_proba(X_IRIS).tobytes()


@pytest.mark.parametrize("factor", [1.0, 7.0, 1e305])
def test_equal_weights_change_nothing(factor):
    model = NeighborsClassifier(5).fit(X_IRIS, Y_IRIS)
    weighted = NeighborsClassifier(5).fit(X_IRIS, Y_IRIS, np.full(150, factor))
    assert weighted.predict_proba(X_IRIS).tobytes() == model.predict_proba(X_IRIS).tobytes()
    assert weighted.loo_decision_function().tobytes() == model.loo_decision_function().tobytes()


def test_class_frequencies_are_weighted():
    X = sp.csr_array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0], [0.0, 2.0]])
    model = NeighborsClassifier(5).fit(X, list("aabb"), [1.0, 2.0, 5.0, 0.0])
    np.testing.assert_allclose(model.predict_proba(sp.csr_array((1, 2))), [[3 / 8, 5 / 8]])
    # Without the only sample of positive weight, those of weight zero are all there is.
    model.fit(X, list("aabb"), [0.0, 0.0, 1.0, 0.0])
    np.testing.assert_allclose(
        model.loo_decision_function(), [[0, 1], [0, 1], [2 / 3, 1 / 3], [0, 1]]
    )


def test_loo_skip_of_all_samples_leaves_class_frequencies():
    model = NeighborsClassifier(5, loo_skip=10).fit(
        [[1.0, 2.0], [2.0, 1.0], [1.0, 1.0]], list("aab")
    )
    np.testing.assert_allclose(model.loo_decision_function(), [[0.5, 0.5], [0.5, 0.5], [1.0, 0.0]])


def test_duplicates_outvote_other_neighbors():
    X = np.array([[1.0, 2.0], [2.0, 4.0], [1.0, 2.1], [1.1, 2.0], [5.0, 1.0]])
    model = NeighborsClassifier(4).fit(X, ["a", "b", "c", "c", "c"])
    np.testing.assert_allclose(model.predict_proba([[3.0, 6.0]]), [[0.5, 0.5, 0.0]])


@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
@pytest.mark.parametrize("factor", [1e-6, 1e6])
@pytest.mark.parametrize("container", [np.asarray, sp.csr_array])
def test_probabilities_do_not_depend_on_the_scale(metric, factor, container):
    rng = np.random.default_rng(0)
    X = rng.exponential(size=(200, 10)) * (rng.random((200, 10)) < 0.7)
    X[150:160] = X[:10]  # queries with a duplicate
    y = rng.choice(["a", "b", "c"], 150)
    expected, scaled = (
        NeighborsClassifier(7, metric=metric)
        .fit(container(Z[:150]), y)
        .predict_proba(container(Z[150:]))
        for Z in (X, X * factor)
    )
    np.testing.assert_allclose(scaled, expected, atol=1e-5)
    assert (expected[:10].max(axis=1) == 1).all()


def test_query_without_neighbors_gets_class_frequencies():
    X = sp.csr_array(np.array([[1.0, 0, 0], [1.0, 1, 0], [0, 0, 1.0], [0, 0, 2.0], [0, 0, 3.0]]))
    model = NeighborsClassifier(5, weights="uniform").fit(X, ["a", "a", "b", "b", "b"])
    assert model.predict_proba(sp.csr_array([[1.0, 0.0, 0.0]])).tolist() == [[1.0, 0.0]]
    assert model.predict_proba(sp.csr_array((1, 3))).tolist() == [[0.4, 0.6]]


def test_n_neighbors_above_n_samples_uses_all_samples():
    X = [[1.0, 0.1], [0.9, 0.1], [0.1, 1.0]]
    model = NeighborsClassifier(300, weights="uniform").fit(X, ["a", "a", "b"])
    np.testing.assert_allclose(model.predict_proba([[0.0, 2.0]]), [[2 / 3, 1 / 3]])
    assert model.kneighbors()[1].shape == (3, 3)
    assert model.n_neighbors == 300


@pytest.mark.parametrize(
    "params",
    [
        {"weights": "inverse"},
        {"metric": "angle"},
        {"n_neighbors": 0},
        {"loo_skip": -1},
        {"n_jobs": 0},
    ],
)
def test_invalid_parameters_raise(params):
    (name,) = params
    with pytest.raises(ValueError, match=f"^{name} must be .*; got"):
        NeighborsClassifier(**params).fit(X_IRIS, Y_IRIS)


def test_loo_probabilities_of_indices_equal_those_of_all_samples():
    model = NeighborsClassifier(5).fit(X_IRIS, Y_IRIS)
    groups = np.arange(150) // 4
    expected = model.loo_decision_function(groups)
    indices = np.array([3, 149, 3])
    assert model.loo_decision_function(groups, indices).tobytes() == expected[indices].tobytes()
    assert model.loo_decision_function(indices=[]).shape == (0, 3)


@pytest.mark.parametrize(
    ("indices", "message"),
    [
        ([150], "indices must be between 0 and 149, .*; got 150"),
        ([-1], "indices must be .*; got -1"),
        (np.ones(150, bool), "Convert a boolean mask with np.flatnonzero"),
        ([[0]], r"array of int64 of shape \(1, 1\)"),
    ],
)
def test_invalid_loo_indices_raise(indices, message):
    model = NeighborsClassifier(5).fit(X_IRIS, Y_IRIS)
    with pytest.raises(ValueError, match=message):
        model.loo_decision_function(indices=indices)


def test_loo_with_a_single_group_raises():
    model = NeighborsClassifier(5).fit(X_IRIS, Y_IRIS)
    with pytest.raises(ValueError, match="at least two groups; all 150 training samples"):
        model.loo_decision_function(np.zeros(150))


def test_loaded_state_is_validated():
    model = NeighborsClassifier(5).fit(X_IRIS, Y_IRIS)
    copy = pickle.loads(pickle.dumps(model))
    assert copy.predict_proba(X_IRIS).tobytes() == model.predict_proba(X_IRIS).tobytes()
    model._indices = model._indices + np.int32(4)
    with pytest.raises(ValueError):
        pickle.loads(pickle.dumps(model))


@pytest.mark.parametrize("weights", [np.ones(149), np.full(150, np.nan), -np.ones(150)])
def test_loaded_weights_are_validated(weights):
    model = NeighborsClassifier(5).fit(X_IRIS, Y_IRIS)
    model._weights = weights
    with pytest.raises(ValueError, match="weight"):
        pickle.loads(pickle.dumps(model))
