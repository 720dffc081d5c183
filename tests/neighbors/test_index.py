import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.neighbors import NearestNeighbors

from cordwood.neighbors.index import build, choose_metric, query

rng = np.random.default_rng(0)
COUNTS = rng.poisson(1.5 / np.arange(1, 81), size=(700, 80)).astype(np.float32)
NUMBERS = rng.normal(size=(700, 9)).astype(np.float32)
NUMBERS[rng.random(NUMBERS.shape) < 0.3] = 0


def rows(X):
    return sp.csr_matrix(np.asarray(X, np.float32))


def weigh_words(X, like):
    """Weigh rows by the definition, in double precision."""
    X, like = np.asarray(X, float), np.asarray(like)
    idf = np.log(len(like) / np.maximum((like > 0).sum(axis=0), 1))
    return np.where(X > 0, (1 + np.log(np.maximum(X, 1))) * idf, 0)


def check(ids, distances, expected, k):
    """Compare with all distances: the nearest, in order, up to what rounding may exchange."""
    nearest = np.sort(expected, axis=1)[:, :k]
    np.testing.assert_allclose(distances, nearest, atol=3e-7)
    np.testing.assert_allclose(np.take_along_axis(expected, ids, axis=1), distances, atol=3e-7)
    assert all(len(set(row)) == k for row in ids.tolist())


@pytest.mark.parametrize("k", [1, 5, 30, 44])
def test_words_are_compared_by_the_cosine_of_their_weights(k):
    train, test = COUNTS[:600], COUNTS[600:]
    ids, distances = query(build(rows(train), "words"), rows(test), k)
    model = NearestNeighbors(n_neighbors=600, metric="cosine", algorithm="brute")
    found, order = model.fit(weigh_words(train, train)).kneighbors(weigh_words(test, train))
    expected = np.empty_like(found)
    np.put_along_axis(expected, order, found, axis=1)
    check(ids, distances, expected, k)


@pytest.mark.parametrize("metric", ["cosine", "euclidean"])
@pytest.mark.parametrize("data", [COUNTS, NUMBERS], ids=["counts", "numbers"])
def test_values_as_they_are_are_compared_as_scikit_learn_does(metric, data):
    train, test = data[:600], data[600:]
    ids, distances = query(build(rows(train), metric), rows(test), 30)
    model = NearestNeighbors(n_neighbors=600, metric=metric, algorithm="brute").fit(train)
    found, order = model.kneighbors(test)
    expected = np.empty_like(found)
    np.put_along_axis(expected, order, found, axis=1)
    scale = max(1.0, float(expected.max()))
    check(ids, distances / scale, expected / scale, 30)


@settings(max_examples=40, deadline=None)
@given(
    arrays(np.float32, (12, 4), elements=st.integers(-3, 3).map(float)),
    st.integers(1, 12),
    st.sampled_from(["cosine", "euclidean"]),
)
def test_few_rows_by_definition(X, k, metric):
    ids, distances = query(build(rows(X), metric), rows(X), k)
    wide = X.astype(float)
    if metric == "cosine":
        norms = np.linalg.norm(wide, axis=1)
        unit = wide / np.where(norms > 0, norms, 1)[:, None]
        expected = np.where(unit @ unit.T > 1e-6, 1 - unit @ unit.T, np.inf)
    else:
        expected = np.linalg.norm(wide[:, None] - wide, axis=2)
    nearest = np.sort(expected, axis=1)[:, :k]
    some = np.isfinite(nearest)
    assert np.array_equal(ids >= 0, some)
    assert np.isinf(distances[~some]).all()
    np.testing.assert_allclose(distances[some], nearest[some], atol=1e-3)


def test_among_equals_the_lower_rows_are_nearer():
    X = rows(np.tile(COUNTS[:3], (50, 1)))
    for metric in ("cosine", "euclidean"):
        ids, _ = query(build(X, metric), X[:3], 40)
        for row in range(3):
            assert ids[row].tolist() == list(range(row, 120, 3))


def test_rows_of_the_own_group_are_left_out_and_no_others():
    X, group = rows(COUNTS), np.arange(700) // 4
    index = build(X, "words")
    ids, distances = query(index, X, 30, own=group, group=group)
    everything, everywhere = query(index, X, 40)
    for row in range(700):
        allowed = group[everything[row]] != group[row]
        assert ids[row].tolist() == everything[row][allowed][:30].tolist()
        assert distances[row].tolist() == everywhere[row][allowed][:30].tolist()
    without_self, _ = query(index, X, 30, own=np.arange(700))
    assert (without_self != np.arange(700)[:, None]).all()


def test_a_row_without_a_word_in_common_is_no_neighbour():
    X = rows([[1, 0, 0, 0], [2, 1, 0, 0], [0, 0, 3, 0], [0, 0, 0, 1]])
    ids, distances = query(build(X, "cosine"), rows([[0, 1, 0, 0], [0, 0, 0, 0]]), 4)
    assert ids.tolist() == [[1, -1, -1, -1], [-1] * 4]
    assert distances[0, 0] == pytest.approx(1 - 1 / 5**0.5)
    assert np.isinf(distances[ids < 0]).all()


def test_a_word_that_all_rows_have_weighs_nothing():
    X = rows([[1, 1, 0], [1, 0, 1], [4, 1, 0]])
    ids, _ = query(build(X, "words"), rows([[9, 0, 0], [1, 1, 0]]), 3)
    assert ids.tolist() == [[-1, -1, -1], [0, 2, -1]]


def test_a_sample_that_misleads_changes_nothing():
    """Rows are sampled at regular places: let all the near ones, or none, be there."""
    for near in (np.arange(0, 700, 16)[:40], np.arange(5, 700, 16)[:40], np.arange(40)):
        X = np.ones((700, 2), np.float32)
        X[:, 0] += np.arange(700) / 7
        X[near, 0] = 0.001 * (1 + np.arange(len(near)))
        index = build(rows(X), "cosine")
        for k in (3, 40, 43):
            ids, _ = query(index, rows([[0, 1]]), k)
            assert ids[0, :40].tolist() == near.tolist()[:k]


@pytest.mark.parametrize("metric", ["words", "euclidean"])
def test_neighbours_do_not_depend_on_what_is_asked_beside(metric):
    X = rows(COUNTS)
    index = build(X, metric)
    ids, distances = query(index, X, 20)
    order = rng.permutation(700)
    shuffled = query(index, X[order], 20)
    assert shuffled[0].tobytes() == ids[order].tobytes()
    assert shuffled[1].tobytes() == distances[order].tobytes()
    for row in range(0, 700, 50):
        alone = query(index, X[row], 20)
        assert alone[0].tobytes() == ids[row].tobytes()
        assert alone[1].tobytes() == distances[row].tobytes()


def test_the_metric_is_chosen_by_values():
    assert choose_metric(rows(COUNTS)) == "words"
    assert choose_metric(rows(COUNTS * 0.5)) == "cosine"
    assert choose_metric(rows(COUNTS * 1.5)) == "cosine"
    assert choose_metric(rows(NUMBERS)) == "euclidean"
    assert choose_metric(rows(-COUNTS)) == "euclidean"
    assert choose_metric(rows(np.zeros((2, 3)))) == "words"


def test_words_must_be_counts():
    X = rows(COUNTS)
    with pytest.raises(
        ValueError, match='metric="words" takes counts, of at least 1, and X has the value 0.25'
    ):
        build(X * np.float32(0.25), "words")
    with pytest.raises(
        ValueError, match='metric="words" takes counts, of at least 1, and X has the value -1'
    ):
        query(build(X, "words"), rows(-np.ones((1, 80))), 3)
