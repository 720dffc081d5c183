import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_iris
from sklearn.neighbors import KNeighborsClassifier

from cordwood.neighbors.k_neighbors import NeighborsClassifier

IRIS, KINDS = load_iris(return_X_y=True)


@pytest.mark.parametrize("weights", ["uniform", "distance"])
@pytest.mark.parametrize("metric", ["cosine", "euclidean"])
@pytest.mark.parametrize("container", [np.asarray, sp.csr_array])
def test_neighbours_vote_as_scikit_learns_do(weights, metric, container):
    rng = np.random.default_rng(0)
    X = container(np.round(rng.exponential(size=(200, 30)) * (rng.random((200, 30)) < 0.4), 3))
    y = rng.choice(["a", "b", "c"], 150)
    ours, theirs = (
        kind(7, metric=metric, weights=weights).fit(X[:150], y)
        for kind in (NeighborsClassifier, KNeighborsClassifier)
    )
    found, expected = ours.predict_proba(X[150:]), theirs.predict_proba(X[150:])
    np.testing.assert_allclose(found, expected, atol=1e-5)
    assert ours.predict(X[150:]).tolist() == ours.classes_[found.argmax(axis=1)].tolist()


def test_a_training_row_is_answered_without_itself():
    X, y = IRIS[::2], KINDS[::2]
    model = NeighborsClassifier(5, metric="euclidean").fit(X, y)
    left_out = [
        NeighborsClassifier(5, metric="euclidean")
        .fit(np.delete(X, row, axis=0), np.delete(y, row))
        .predict_proba(X[row : row + 1])[0]
        for row in range(len(X))
    ]
    np.testing.assert_allclose(model.loo_decision_function(), left_out, atol=1e-12)


def test_copies_outvote_all_others():
    X = np.array([[1.0, 2.0], [2.0, 4.0], [1.0, 2.1], [1.1, 2.0], [5.0, 1.0]])
    model = NeighborsClassifier(4).fit(X, ["a", "b", "c", "c", "c"])
    np.testing.assert_allclose(model.predict_proba([[3.0, 6.0]]), [[0.5, 0.5, 0.0]])


def test_only_rows_with_something_in_common_are_neighbours():
    X = sp.csr_array(np.array([[1.0, 0, 0], [1.0, 1, 0], [0, 0, 1.0], [0, 0, 2.0], [0, 0, 3.0]]))
    model = NeighborsClassifier(5, weights="uniform").fit(X, ["a", "a", "b", "b", "b"])
    assert model.predict_proba(sp.csr_array([[1.0, 0.0, 0.0]])).tolist() == [[1.0, 0.0]]
    assert model.predict_proba(sp.csr_array((1, 3))).tolist() == [[0.4, 0.6]]


def test_more_neighbours_than_rows_are_all_rows():
    X = [[1.0, 0.1], [0.9, 0.1], [0.1, 1.0]]
    model = NeighborsClassifier(300, weights="uniform").fit(X, ["a", "a", "b"])
    np.testing.assert_allclose(model.predict_proba([[0.0, 2.0]]), [[2 / 3, 1 / 3]])
    assert model.kneighbors()[1].shape == (3, 3)
    assert model.n_neighbors == 300


@pytest.mark.parametrize("params", [{"weights": "inverse"}, {"metric": "angle"}])
def test_a_wrong_parameter_is_named(params):
    (name,) = params
    with pytest.raises(ValueError, match=f"^{name} must be one of"):
        NeighborsClassifier(**params).fit(IRIS, KINDS)
