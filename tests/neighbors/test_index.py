import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.neighbors import NearestNeighbors

from cordwood.neighbors.index import build_index, choose_metric, query_index

rng = np.random.default_rng(0)
COUNTS = rng.poisson(1.5 / np.arange(1, 81), size=(700, 80)).astype(np.float32)
NUMBERS = rng.normal(size=(700, 9)).astype(np.float32)
NUMBERS[rng.random(NUMBERS.shape) < 0.3] = 0


def to_csr(X):
    return sp.csr_matrix(np.asarray(X, np.float32))


def tfidf(X, training_set):
    """Compute tf-idf weights by definition, in double precision."""
    X, training_set = np.asarray(X, float), np.asarray(training_set)
    idf = np.log(len(training_set) / np.maximum((training_set > 0).sum(axis=0), 1))
    return np.where(X > 0, (1 + np.log(np.maximum(X, 1))) * idf, 0)


def assert_nearest(neighbors, distances, expected, k):
    """Compare with a full distance matrix; rounding may swap neighbors of nearly equal distance."""
    nearest = np.sort(expected, axis=1)[:, :k]
    np.testing.assert_allclose(distances, nearest, atol=3e-7)
    np.testing.assert_allclose(
        np.take_along_axis(expected, neighbors, axis=1), distances, atol=3e-7
    )
    assert all(len(set(row)) == k for row in neighbors.tolist())


@pytest.mark.parametrize("k", [1, 5, 30, 44])
def test_tfidf_cosine_matches_scikit_learn_on_tfidf_weights(k):
    train, test = COUNTS[:600], COUNTS[600:]
    neighbors, distances = query_index(build_index(to_csr(train), "tfidf_cosine"), to_csr(test), k)
    model = NearestNeighbors(n_neighbors=600, metric="cosine", algorithm="brute")
    found, order = model.fit(tfidf(train, train)).kneighbors(tfidf(test, train))
    expected = np.empty_like(found)
    np.put_along_axis(expected, order, found, axis=1)
    assert_nearest(neighbors, distances, expected, k)


@pytest.mark.parametrize("metric", ["cosine", "euclidean"])
@pytest.mark.parametrize("data", [COUNTS, NUMBERS], ids=["counts", "numbers"])
def test_neighbors_match_scikit_learn(metric, data):
    train, test = data[:600], data[600:]
    neighbors, distances = query_index(build_index(to_csr(train), metric), to_csr(test), 30)
    model = NearestNeighbors(n_neighbors=600, metric=metric, algorithm="brute").fit(train)
    found, order = model.kneighbors(test)
    expected = np.empty_like(found)
    np.put_along_axis(expected, order, found, axis=1)
    scale = max(1.0, float(expected.max()))
    assert_nearest(neighbors, distances / scale, expected / scale, 30)


@settings(max_examples=40, deadline=None)
@given(
    arrays(np.float32, (12, 4), elements=st.integers(-3, 3).map(float)),
    st.integers(1, 12),
    st.sampled_from(["cosine", "euclidean"]),
)
def test_neighbors_match_definition_on_small_data(X, k, metric):
    neighbors, distances = query_index(build_index(to_csr(X), metric), to_csr(X), k)
    wide = X.astype(float)
    if metric == "cosine":
        norms = np.linalg.norm(wide, axis=1)
        unit = wide / np.where(norms > 0, norms, 1)[:, None]
        expected = np.where(unit @ unit.T > 1e-6, 1 - unit @ unit.T, np.inf)
    else:
        expected = np.linalg.norm(wide[:, None] - wide, axis=2)
    nearest = np.sort(expected, axis=1)[:, :k]
    exists = np.isfinite(nearest)
    assert np.array_equal(neighbors >= 0, exists)
    assert np.isinf(distances[~exists]).all()
    np.testing.assert_allclose(distances[exists], nearest[exists], atol=1e-3)


def test_ties_are_broken_by_sample_index():
    X = to_csr(np.tile(COUNTS[:3], (50, 1)))
    for metric in ("cosine", "euclidean"):
        neighbors, _ = query_index(build_index(X, metric), X[:3], 40)
        for i in range(3):
            assert neighbors[i].tolist() == list(range(i, 120, 3))


def test_only_samples_of_the_query_group_are_excluded():
    X, groups = to_csr(COUNTS), np.arange(700) // 4
    index = build_index(X, "tfidf_cosine")
    neighbors, distances = query_index(index, X, 30, query_groups=groups, groups=groups)
    all_neighbors, all_distances = query_index(index, X, 40)
    for i in range(700):
        allowed = groups[all_neighbors[i]] != groups[i]
        assert neighbors[i].tolist() == all_neighbors[i][allowed][:30].tolist()
        assert distances[i].tolist() == all_distances[i][allowed][:30].tolist()
    without_self, _ = query_index(index, X, 30, query_groups=np.arange(700))
    assert (without_self != np.arange(700)[:, None]).all()


def test_samples_without_shared_features_are_not_neighbors():
    X = to_csr([[1, 0, 0, 0], [2, 1, 0, 0], [0, 0, 3, 0], [0, 0, 0, 1]])
    neighbors, distances = query_index(
        build_index(X, "cosine"), to_csr([[0, 1, 0, 0], [0, 0, 0, 0]]), 4
    )
    assert neighbors.tolist() == [[1, -1, -1, -1], [-1] * 4]
    assert distances[0, 0] == pytest.approx(1 - 1 / 5**0.5)
    assert np.isinf(distances[neighbors < 0]).all()


def test_feature_present_in_all_samples_has_zero_idf():
    X = to_csr([[1, 1, 0], [1, 0, 1], [4, 1, 0]])
    neighbors, _ = query_index(build_index(X, "tfidf_cosine"), to_csr([[9, 0, 0], [1, 1, 0]]), 3)
    assert neighbors.tolist() == [[-1, -1, -1], [0, 2, -1]]


def test_unrepresentative_subsample_does_not_change_result():
    """The subsample is every 16th sample: let all near samples be in it, or none."""
    for near in (np.arange(0, 700, 16)[:40], np.arange(5, 700, 16)[:40], np.arange(40)):
        X = np.ones((700, 2), np.float32)
        X[:, 0] += np.arange(700) / 7
        X[near, 0] = 0.001 * (1 + np.arange(len(near)))
        index = build_index(to_csr(X), "cosine")
        for k in (3, 40, 43):
            neighbors, _ = query_index(index, to_csr([[0, 1]]), k)
            assert neighbors[0, :40].tolist() == near.tolist()[:k]


@pytest.mark.parametrize("metric", ["tfidf_cosine", "euclidean"])
def test_neighbors_do_not_depend_on_other_queries(metric):
    X = to_csr(COUNTS)
    index = build_index(X, metric)
    neighbors, distances = query_index(index, X, 20)
    order = rng.permutation(700)
    shuffled = query_index(index, X[order], 20)
    assert shuffled[0].tobytes() == neighbors[order].tobytes()
    assert shuffled[1].tobytes() == distances[order].tobytes()
    for i in range(0, 700, 50):
        alone = query_index(index, X[i], 20)
        assert alone[0].tobytes() == neighbors[i].tobytes()
        assert alone[1].tobytes() == distances[i].tobytes()


def test_choose_metric():
    assert choose_metric(to_csr(COUNTS)) == "tfidf_cosine"
    assert choose_metric(to_csr(COUNTS * 0.5)) == "cosine"
    assert choose_metric(to_csr(COUNTS * 1.5)) == "cosine"
    assert choose_metric(to_csr(NUMBERS)) == "euclidean"
    assert choose_metric(to_csr(-COUNTS)) == "euclidean"
    assert choose_metric(to_csr(np.zeros((2, 3)))) == "tfidf_cosine"


def test_tfidf_cosine_requires_counts():
    X = to_csr(COUNTS)
    with pytest.raises(
        ValueError, match='metric="tfidf_cosine" requires counts, but X contains the value 0.25'
    ):
        build_index(X * np.float32(0.25), "tfidf_cosine")
    with pytest.raises(
        ValueError, match='metric="tfidf_cosine" requires counts, but X contains the value -1'
    ):
        query_index(build_index(X, "tfidf_cosine"), to_csr(-np.ones((1, 80))), 3)


@pytest.mark.parametrize("factor", [1e-36, 1e-30, 1e-20, 1.0, 1e18, 1e20, 1e30, 1e36])
def test_euclidean_neighbors_do_not_depend_on_the_scale(factor):
    """The scale is limited by the range of single precision of the values, not of the squares."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 6)).astype(np.float32)
    X = (np.float64(factor) * X).astype(np.float32)
    distance = np.sqrt(np.square(X[:, None].astype(np.float64) - X).sum(axis=2))
    samples = sp.csr_matrix(X)
    neighbors, distances = query_index(build_index(samples, "euclidean"), samples, 8)
    expected = np.sort(distance, axis=1)[:, :8]
    np.testing.assert_allclose(distances / factor, expected / factor, rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(
        np.take_along_axis(distance, neighbors, axis=1) / factor, expected / factor, rtol=1e-6
    )


def test_a_distant_query_has_neighbors():
    samples = sp.csr_matrix(np.array([[1.0, 0.0], [0.0, 2.0], [3e36, 0.0]], np.float32))
    query = sp.csr_matrix(np.array([[1e38, 0.0]], np.float32))
    neighbors, distances = query_index(build_index(samples, "euclidean"), query, 3)
    assert neighbors[0, 0] == 2
    np.testing.assert_allclose(distances, [[9.7e37, 1e38, 1e38]], rtol=1e-6)
