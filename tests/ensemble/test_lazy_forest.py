import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from scipy import stats
from sklearn import ensemble
from sklearn.base import clone
from sklearn.datasets import load_iris

from cordwood.ensemble import forests
from cordwood.ensemble.lazy_forest import LazyForestClassifier
from synthetic_data import make_counts

ALPHA = 1e-4
KINDS = ("rf", "et")
each_kind = pytest.mark.parametrize("base", KINDS)


COUNTS = {"rate": 2.5, "exponent": 0.8}
X, Y = make_counts(400, 120, 4, seed=0, **COUNTS)
X = sp.csr_matrix(X)
TRAIN, TEST = slice(0, 320), slice(320, 400)


# --- distribution of the predictions -------------------------------------------------------------


def predict_with_whole_forest(Forest, model, query, seed, **params):
    """Predict like the authors' code: fit a whole forest on the neighbors and their features."""
    ids = model.kneighbors(query, return_distance=False)[0]
    local = sp.vstack([X[TRAIN][ids], query]).tocsr()
    local = local[:, np.unique(local.indices)]
    forest = Forest(random_state=seed, **params).fit(local[:-1], Y[TRAIN][ids])
    votes = np.zeros(4)
    votes[forest.classes_] = forest.predict_proba(local[-1])[0]
    return votes


@each_kind
@pytest.mark.parametrize(("criterion", "max_features"), [("gini", "sqrt"), ("entropy", 0.3)])
@pytest.mark.parametrize(
    ("peer", "n_forests"), [(ensemble, 40), (forests, 200)], ids=["scikit-learn", "engine"]
)
def test_path_predictions_have_the_distribution_of_whole_forests(
    base, criterion, max_features, peer, n_forests
):
    """Welch's t test of the means over seeds, for each class and each of two queries.

    With 40 forests of each kind, its power is 0.9 for means that differ by (z(1 - 1e-4 / 2) +
    z(0.9)) * sqrt(2 / 40) = 1.16 standard deviations of a forest's prediction;
    with 200, by 0.52. With 30 trees these are up to nine and four points of probability.
    """
    params = {"n_estimators": 30, "criterion": criterion, "max_features": max_features}
    Forest = getattr(peer, "RandomForestClassifier" if base == "rf" else "ExtraTreesClassifier")
    model = LazyForestClassifier(45, base=base, random_state=0, **params).fit(X[TRAIN], Y[TRAIN])
    queries = X[TEST][:2]
    ours = []
    for seed in range(n_forests):
        model.seed_ = seed * 7919
        ours.append(model.predict_proba(queries))
    for query, sample in zip(queries, np.transpose(ours, (1, 2, 0)), strict=True):
        theirs = [
            predict_with_whole_forest(Forest, model, query, seed, **params)
            for seed in range(n_forests)
        ]
        assert (sample.mean(axis=1) > 0.03).sum() > 2  # not a clear-cut prediction
        for one, other in zip(sample, np.transpose(theirs), strict=True):
            if one.std() + other.std() > 0:
                assert stats.ttest_ind(one, other, equal_var=False).pvalue > ALPHA
            else:
                np.testing.assert_allclose(one, other, atol=1e-12)


@each_kind
def test_path_predictions_on_dense_data_match_whole_forests(base):
    rng = np.random.default_rng(1)
    data = rng.normal(size=(300, 6)).astype(np.float32)
    data[rng.random(data.shape) < 0.3] = 0
    labels = (data[:, 0] + data[:, 1] + rng.normal(size=300) > 0).astype(int)
    Forest = ensemble.RandomForestClassifier if base == "rf" else ensemble.ExtraTreesClassifier
    model = LazyForestClassifier(300, 25, base=base, random_state=0).fit(data, labels)
    assert model.metric_ == "euclidean"
    queries = rng.normal(size=(12, 6)).astype(np.float32)
    ours, theirs = [], []
    for seed in range(30):
        model.seed_ = seed * 7919
        ours.append(model.predict_proba(queries)[:, 0])
        forest = Forest(25, random_state=seed).fit(data, labels)
        theirs.append(forest.predict_proba(queries)[:, 0])
    assert (stats.ttest_ind(ours, theirs, equal_var=False).pvalue > ALPHA).all()


# --- reproducibility -----------------------------------------------------------------------------


@each_kind
def test_prediction_is_independent_of_batch_order_and_n_jobs(base):
    model = LazyForestClassifier(50, 20, base=base, random_state=3).fit(X[TRAIN], Y[TRAIN])
    queries = X[TEST]
    votes = model.predict_proba(queries)
    order = np.random.default_rng(0).permutation(80)
    assert model.predict_proba(queries[order]).tobytes() == votes[order].tobytes()
    for row in (0, 33, 79):
        assert model.predict_proba(queries[row]).tobytes() == votes[row].tobytes()
    model.set_params(n_jobs=3)
    assert model.predict_proba(queries).tobytes() == votes.tobytes()
    assert model.predict_proba(queries.toarray()).tobytes() == votes.tobytes()


def test_random_state_determines_predictions():
    predictions = [
        LazyForestClassifier(50, 5, random_state=seed)
        .fit(X[TRAIN], Y[TRAIN])
        .predict_proba(X[TEST])
        for seed in (0, 0, 1)
    ]
    assert predictions[0].tobytes() == predictions[1].tobytes()
    assert predictions[0].tobytes() != predictions[2].tobytes()


def test_set_params_after_fit_equals_refitting():
    fitted = LazyForestClassifier(300, 40, random_state=2).fit(X[TRAIN], Y[TRAIN])
    for params in (
        {"n_neighbors": 30},
        {"n_estimators": 3},
        {"base": "et"},
        {"max_features": 5, "criterion": "entropy"},
    ):
        fitted.set_params(**params)
        refitted = clone(fitted).fit(X[TRAIN], Y[TRAIN])
        expected = refitted.predict_proba(X[TEST])
        assert fitted.predict_proba(X[TEST]).tobytes() == expected.tobytes()


def test_accuracy_on_counts_and_iris():
    model = LazyForestClassifier(60, 60, random_state=0).fit(X[TRAIN], Y[TRAIN])
    assert model.score(X[TEST], Y[TEST]) > 0.6
    iris = load_iris(return_X_y=True)
    model = LazyForestClassifier(40, 30, metric="euclidean", random_state=0).fit(*iris)
    assert model.score(*iris) > 0.95


# --- edge cases ----------------------------------------------------------------------------------


@each_kind
def test_classes_without_neighbors_have_probability_zero(base):
    data = np.array([[1, 2, 0, 0], [2, 1, 0, 0], [0, 0, 1, 2], [0, 0, 2, 1], [0, 0, 2, 2]])
    model = LazyForestClassifier(9, 30, base=base, random_state=0)
    model.fit(data, ["a", "a", "b", "c", "c"])
    assert model.predict_proba([[3, 3, 0, 0]]).tolist() == [[1, 0, 0]]
    votes = model.predict_proba([[0, 0, 1, 2]])
    assert votes[0, 0] == 0
    assert votes[0, 1] > 0
    assert votes.sum() == pytest.approx(1)


def test_query_without_neighbors_gets_class_frequencies():
    data = np.array([[1, 2, 0], [2, 1, 0], [1, 1, 0], [0, 1, 0]])
    model = LazyForestClassifier(2, 5).fit(data, [1, 1, 1, 0])
    assert model.predict_proba([[0, 0, 3], [0, 0, 0]]).tolist() == [[0.25, 0.75]] * 2


def test_fewer_samples_than_n_neighbors_and_all_zero_samples():
    data = np.array([[1, 0, 0], [0, 0, 0], [1, 2, 0]])
    model = LazyForestClassifier(500, 10, random_state=0).fit(data, [0, 1, 1])
    distances, ids = model.kneighbors([[1, 1, 0]])
    assert ids.tolist() == [[2, 0, -1]] or ids.tolist() == [[2, -1, -1]]
    assert np.isinf(distances[ids < 0]).all()
    assert model.predict_proba(data).shape == (3, 2)


# --- leave-one-out -------------------------------------------------------------------------------


@each_kind
def test_loo_equals_a_model_fitted_without_the_sample(base):
    model = LazyForestClassifier(40, 10, base=base, metric="cosine", random_state=5)
    votes = model.fit(X, Y).loo_decision_function()
    for row in (0, 17, 399):
        rest = np.arange(400) != row
        other = clone(model).fit(X[rest], Y[rest])
        assert other.predict_proba(X[row]).tobytes() == votes[row].tobytes()


def test_n_estimators_loo_affects_only_loo():
    few = LazyForestClassifier(15, 30, n_estimators_loo=10, random_state=0).fit(X, Y)
    third = LazyForestClassifier(15, 10, random_state=0).fit(X, Y)
    whole = LazyForestClassifier(15, 30, random_state=0).fit(X, Y)
    np.testing.assert_array_equal(few.loo_decision_function(), third.loo_decision_function())
    np.testing.assert_array_equal(few.predict_proba(X), whole.predict_proba(X))
    few.set_params(n_estimators_loo=99)  # at most n_estimators
    np.testing.assert_array_equal(few.loo_decision_function(), whole.loo_decision_function())


def test_loo_smoothing_adds_votes_by_the_classes_of_the_neighbors():
    plain = LazyForestClassifier(15, 10, random_state=0).fit(X, Y)
    smooth = LazyForestClassifier(15, 10, loo_smoothing=0.5, random_state=0).fit(X, Y)
    n_classes = len(plain.classes_)
    neighbors = plain.kneighbors(return_distance=False)
    expected = 10 * plain.loo_decision_function()
    for row, ids in enumerate(neighbors):
        classes = np.searchsorted(plain.classes_, Y[ids[ids >= 0]])
        if len(classes):
            expected[row] += (
                0.5 * n_classes * np.bincount(classes, minlength=n_classes) / len(classes)
            )
    known = neighbors[:, 0] >= 0
    proba = smooth.loo_decision_function()
    np.testing.assert_allclose(proba[known], expected[known] / (10 + 0.5 * n_classes), rtol=1e-12)
    np.testing.assert_allclose(proba.sum(axis=1), 1, rtol=1e-12)
    chosen = smooth.loo_decision_function(indices=[3, 50])
    np.testing.assert_array_equal(chosen, proba[[3, 50]])
    np.testing.assert_array_equal(smooth.predict_proba(X), plain.predict_proba(X))


def test_smoothed_loo_of_few_trees_is_closer_to_that_of_many():
    rng = np.random.default_rng(0)
    labels = rng.integers(20, size=600)
    samples = rng.poisson(0.2 + 0.8 * np.eye(20)[labels].repeat(3, axis=1))
    model = LazyForestClassifier(50, 200, random_state=0).fit(samples, labels)
    target = model.loo_decision_function()
    few = model.set_params(n_estimators_loo=25).loo_decision_function()
    smooth = model.set_params(loo_smoothing=0.3).loo_decision_function()
    assert ((smooth - target) ** 2).sum() < 0.9 * ((few - target) ** 2).sum()


def test_loo_with_groups_equals_a_model_fitted_without_the_group():
    groups = np.array(["a", "b", "c", "d"])[np.arange(400) % 4]
    model = LazyForestClassifier(40, 10, metric="cosine", random_state=5)
    votes = model.fit(X, Y).loo_decision_function(groups)
    for row in (1, 2, 30):
        rest = groups != groups[row]
        other = clone(model).fit(X[rest], Y[rest])
        assert other.predict_proba(X[row]).tobytes() == votes[row].tobytes()


def test_loo_without_neighbors_gets_class_frequencies_of_the_others():
    data = np.array([[1, 1, 0], [1, 2, 0], [2, 1, 0], [0, 0, 5]])
    votes = LazyForestClassifier(3, 5).fit(data, [0, 0, 1, 1]).loo_decision_function()
    np.testing.assert_allclose(votes[3], [2 / 3, 1 / 3])


@each_kind
def test_loo_accuracy_on_random_labels_is_chance(base):
    rng = np.random.default_rng(9)
    data, _ = make_counts(900, 100, 3, seed=2, **COUNTS)
    data = sp.csr_matrix(data)
    labels = rng.integers(0, 3, 900)
    model = LazyForestClassifier(40, 15, base=base, random_state=0).fit(data, labels)
    n_right = (model.loo_decision_function().argmax(axis=1) == labels).sum()
    assert stats.binomtest(int(n_right), 900, 1 / 3).pvalue > ALPHA
    known = labels[model.kneighbors(data, 1, return_distance=False)[:, 0]]
    assert (known == labels).mean() > 0.95  # the labels could be memorized


def test_loo_with_a_single_group_raises():
    model = LazyForestClassifier(3, 5).fit([[1, 1], [1, 2]], [0, 1])
    with pytest.raises(ValueError, match="at least two groups; all 2 training samples are in one"):
        model.loo_decision_function(["x", "x"])
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        model.loo_decision_function([0, 1, 2])


@each_kind
@pytest.mark.parametrize("grouped", [False, True])
def test_loo_of_some_samples_equals_loo_of_all(base, grouped):
    groups = np.arange(400) // 3 if grouped else None
    model = LazyForestClassifier(40, 10, base=base, random_state=5).fit(X, Y)
    whole = model.loo_decision_function(groups)
    rows = np.random.default_rng(0).permutation(400)[:70]
    some = model.loo_decision_function(groups, rows)
    assert some.tobytes() == whole[rows].tobytes()
    assert model.loo_decision_function(groups, indices=[7, 7]).tobytes() == whole[[7, 7]].tobytes()
    assert model.loo_decision_function(groups, indices=[]).shape == (0, 4)


def test_loo_of_one_sample_without_neighbors():
    data = np.array([[1, 1, 0], [1, 2, 0], [2, 1, 0], [0, 0, 5]])
    model = LazyForestClassifier(3, 5).fit(data, [0, 0, 1, 1])
    np.testing.assert_allclose(model.loo_decision_function(indices=[3]), [[2 / 3, 1 / 3]])


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([0, 4], "indices must be between 0 and 3, .*; got 4"),
        ([-1], "indices must be .*; got -1"),
        (np.array([2**63], np.uint64), "indices must be .*; got 9223372036854775808"),
        ([0.0, 1.0], "array of float64 of shape \\(2,\\)"),
        ([True, False, True, True], "Convert a boolean mask with np.flatnonzero"),
        (["0"], "indices must be a 1-d array of integers"),
        (2, "indices must be a 1-d array of integers"),
        ([[0, 1]], "of shape \\(1, 2\\)"),
    ],
)
def test_loo_of_invalid_positions_raises(rows, message):
    model = LazyForestClassifier(3, 5).fit([[1, 1], [1, 2], [2, 1], [2, 2]], [0, 0, 1, 1])
    with pytest.raises(ValueError, match=message):
        model.loo_decision_function(indices=rows)


# --- neighbors, persistence, errors --------------------------------------------------------------


def test_kneighbors_of_training_samples_exclude_the_sample():
    model = LazyForestClassifier(10, 5).fit(X, Y)
    distances, ids = model.kneighbors()
    assert ids.shape == distances.shape == (400, 10)
    assert (ids != np.arange(400)[:, None]).all()
    with_self, _ = model.kneighbors(X, 11)[::-1]
    for row in range(400):
        others = with_self[row][with_self[row] != row]
        assert others[:9].tolist() == ids[row][:9].tolist()


@each_kind
def test_pickle_stores_only_the_training_samples(base):
    model = LazyForestClassifier(50, 5, base=base, random_state=0).fit(X[TRAIN], Y[TRAIN])
    data = pickle.dumps(model)
    copy = pickle.loads(data)
    assert copy.predict_proba(X[TEST]).tobytes() == model.predict_proba(X[TEST]).tobytes()
    assert len(data) < 1.2 * (8 * X[TRAIN].nnz + 12 * 320) + 2000


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("_indices", np.full(X.nnz, 120, np.int32), "indices"),
        ("_codes", np.full(400, 4, np.uint32), "codes"),
        ("metric_", "angle", "metric_ must be one of"),
    ],
)
def test_invalid_state_raises(name, value, message):
    state = LazyForestClassifier(5, 5).fit(X, Y).__getstate__()
    with pytest.raises(ValueError, match=message):
        LazyForestClassifier().__setstate__({**state, name: value})


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"n_neighbors": 0}, "n_neighbors must be an integer >= 1; got 0"),
        ({"n_estimators": 2.5}, "n_estimators must be an integer >= 1; got 2.5"),
        ({"loo_smoothing": -1}, "loo_smoothing must be "),
        ({"n_estimators_loo": 0}, "n_estimators_loo must be None or an integer >= 1; got 0"),
        ({"base": "oak"}, "base must be one of 'rf', 'et'; got 'oak'"),
        ({"criterion": "mse"}, "criterion must be one of"),
        (
            {"metric": "l1"},
            "metric must be one of 'auto', 'tfidf_cosine', 'cosine', 'euclidean'; got 'l1'",
        ),
        ({"max_features": "all"}, "max_features must be one of 'sqrt', 'log2', None or an integer"),
        ({"max_features": 1.5}, r"max_features must be .* or a float in \(0, 1\]; got 1.5"),
        ({"random_state": "x"}, "random_state must be None, an integer .*; got 'x'"),
        ({"n_jobs": 0}, "n_jobs must be None or a non-zero integer; got 0"),
    ],
)
def test_invalid_parameter_raises(params, message):
    with pytest.raises(ValueError, match=message):
        LazyForestClassifier(**params).fit(X, Y)


def test_negative_counts_raise():
    model = LazyForestClassifier(5, 5).fit(X, Y)
    with pytest.raises(
        ValueError, match='metric="tfidf_cosine" requires counts, but X contains the value -1'
    ):
        model.predict(-X)


@pytest.mark.parametrize("max_features", ["sqrt", "log2", 3, 0.2, None])
def test_max_features_matches_scikit_learn(max_features):
    model = LazyForestClassifier(5, 5, max_features=max_features).fit(X, Y)
    for number in (3, 17, 64, 120):
        forest = ensemble.RandomForestClassifier(1, max_features=max_features)
        tree = forest.fit(X[:, :number], Y)[0]
        assert model._tree_params(5, 120, is_loo=False).max_features[number] == tree.max_features_
