import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.datasets import make_multilabel_classification
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score
from sklearn.model_selection import cross_val_score
from sklearn.multiclass import OneVsRestClassifier
from sklearn.preprocessing import StandardScaler

from cordwood import LinearSVMClassifier, RandomForestClassifier, recipes
from cordwood.multilabel import MultiLabelClassifier
from cordwood.persist import load, save

X, Y = make_multilabel_classification(
    300, n_features=30, n_classes=5, n_labels=2, allow_unlabeled=True, random_state=0
)
TRAIN, TEST = slice(200), slice(200, None)

RECIPES = ["svm", "nbsvm", "nb", "knn", "rf", "lazy_rf", "adaboost", "logistic", "quick"]


# Small models of the recipes that take long.
SMALL = {"lazy_rf": {"n_estimators": 20}, "adaboost": {"max_iter": 20, "calibration_folds": 2}}


def make(name="quick", **params):
    small = SMALL.get(name, {})
    inner = recipes.make(name, input="numeric", scale=False, random_state=0, **small)
    return MultiLabelClassifier(inner, random_state=0, **params)


@pytest.fixture(scope="module")
def quick():
    return make().fit(X[TRAIN], Y[TRAIN])


@pytest.mark.parametrize("name", RECIPES)
def test_every_kind_of_recipe_beats_the_most_frequent_labels(name, tmp_path):
    model = make(name).fit(sp.csr_matrix(X[TRAIN]), Y[TRAIN])
    proba = model.predict_proba(sp.csr_matrix(X[TEST]))
    predicted = model.predict(sp.csr_matrix(X[TEST]))
    assert proba.shape == predicted.shape == (100, 5)
    assert ((proba >= 0) & (proba <= 1)).all()
    constant = np.tile(Y[TRAIN].mean(axis=0) > 0.3, (100, 1))
    baseline = f1_score(Y[TEST], constant, average="micro")
    assert f1_score(Y[TEST], predicted, average="micro") > baseline
    loaded = load(save(model, tmp_path / "model.cordwood", precision="full"))
    assert np.array_equal(loaded.predict_proba(sp.csr_matrix(X[TEST])), proba)
    assert np.array_equal(loaded.predict(sp.csr_matrix(X[TEST])), predicted)


def test_a_stack_uses_out_of_bag_and_leave_one_out_predictions(quick):
    assert quick.oof_source_ == {"svm": "cv", "knn": "loo", "rf": "oob"}
    assert list(quick.estimator_weights_) == ["svm", "knn", "rf"]
    assert quick.oof_proba_.shape == (200, 5)


def test_use_oob_of_a_stack_is_respected():
    stack = recipes.make("quick", input="numeric", members=["rf", "knn"], use_oob=False)
    model = MultiLabelClassifier(stack, random_state=0).fit(X[TRAIN], Y[TRAIN])
    assert model.oof_source_ == {"rf": "cv", "knn": "cv"}


def test_same_seed_same_model_for_any_number_of_threads(quick):
    threaded = make(n_jobs=2).fit(X[TRAIN], Y[TRAIN])
    assert np.array_equal(threaded.predict_proba(X[TEST]), quick.predict_proba(X[TEST]))
    assert np.array_equal(threaded.thresholds_, quick.thresholds_)


def test_out_of_fold_probabilities_are_not_those_of_the_training_set(quick):
    """A random label is predicted on the training set by a forest, but not out of fold."""
    noise = np.random.default_rng(0).integers(0, 2, (200, 2))
    forest = RandomForestClassifier(50, random_state=0)
    model = MultiLabelClassifier(forest, random_state=0).fit(X[TRAIN], noise)
    accuracy = ((model.oof_proba_ > 0.5) == noise).mean()
    assert 0.4 < accuracy < 0.6


def test_sparse_and_dense_indicators_are_equivalent(quick):
    other = make().fit(X[TRAIN], sp.csr_matrix(Y[TRAIN]))
    assert np.array_equal(other.predict_proba(X[TEST]), quick.predict_proba(X[TEST]))


def test_one_label_and_labels_without_or_with_all_samples():
    indicators = np.column_stack([Y[TRAIN, 0], np.zeros(200), np.ones(200)]).astype(int)
    for columns in (slice(0, 1), slice(None)):
        model = make().fit(X[TRAIN], indicators[:, columns])
        predicted = model.predict(X[TEST])
        assert predicted.shape == (100, indicators[:, columns].shape[1])
        assert f1_score(Y[TEST, 0], predicted[:, 0]) > 0.5
    assert not predicted[:, 1].any()
    assert predicted[:, 2].all()


def test_the_same_labels_for_all_samples():
    model = make().fit(X[TRAIN], np.tile([1, 0], (200, 1)))
    assert np.array_equal(model.predict(X[TEST]), np.tile([1, 0], (100, 1)))


def test_min_labels():
    rare = make("svm", threshold=0.999, min_labels=2).fit(X[TRAIN], Y[TRAIN])
    proba = rare.predict_proba(X[TEST])
    predicted = rare.predict(X[TEST])
    assert (predicted.sum(axis=1) >= 2).all()
    second = np.sort(proba, axis=1)[:, -2:-1]
    assert np.array_equal(
        predicted[(proba < 0.999).all(axis=1)] == 1, (proba >= second)[(proba < 0.999).all(axis=1)]
    )
    assert make("svm").fit(X[TRAIN], Y[TRAIN]).min_labels_ == 0  # some samples have no label
    has_label = Y.any(axis=1)
    assert make("svm").fit(X[has_label], Y[has_label]).min_labels_ == 1


def test_fixed_threshold_is_applied_to_every_label(quick):
    model = make("svm", threshold=0.3).fit(X[TRAIN], Y[TRAIN])
    expected = model.predict_proba(X[TEST]) >= 0.3
    assert np.array_equal(model.predict(X[TEST]), expected.astype(int))


def test_it_works_in_the_tools_of_scikit_learn(quick):
    model = make("svm")
    assert clone(model).get_params()["threshold"] == "f1"
    scores = cross_val_score(model, X, Y, cv=3, scoring="f1_micro")
    assert scores.mean() > 0.6
    # `score` is the subset accuracy.
    assert quick.score(X[TEST], Y[TEST]) == (quick.predict(X[TEST]) == Y[TEST]).all(axis=1).mean()


def test_labels_are_as_accurate_as_with_one_vs_rest():
    own = MultiLabelClassifier(LinearSVMClassifier(), random_state=0).fit(X[TRAIN], Y[TRAIN])
    reference = OneVsRestClassifier(LogisticRegression(max_iter=1000)).fit(X[TRAIN], Y[TRAIN])
    scores = [
        f1_score(Y[TEST], model.predict(X[TEST]), average="macro") for model in (own, reference)
    ]
    assert scores[0] > scores[1] - 0.02


def test_names_of_labels(quick):
    named = make("svm", classes=["a", "b", "c", "d", "e"]).fit(X[TRAIN], Y[TRAIN])
    assert named.classes_.tolist() == ["a", "b", "c", "d", "e"]
    assert quick.classes_.tolist() == [0, 1, 2, 3, 4]


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"classes": ["a", "b"]}, "one name for each of the 5 columns"),
        ({"classes": ["a", "b", "c", "e", "d"]}, "sorted"),
        ({"threshold": "recall"}, "threshold"),
        ({"threshold": 1.5}, "threshold"),
        ({"cv": 1}, "cv"),
        ({"min_labels": -1}, "min_labels"),
    ],
)
def test_invalid_parameters(params, message):
    with pytest.raises(ValueError, match=message):
        make("svm", **params).fit(X[TRAIN], Y[TRAIN])


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (Y[:200, 0], "it has one label per sample"),
        ([["a"], ["b", "c"]] * 100, "MultiLabelBinarizer"),
        (2 * Y[:200], "zeros and ones"),
        (Y[:150], "200 samples, but y has 150 rows"),
    ],
)
def test_invalid_labels(y, message):
    with pytest.raises(ValueError, match=message):
        make("svm").fit(X[TRAIN], y)


def test_stacks_with_other_final_estimators_are_rejected():
    stack = recipes.make("quick", input="numeric", combiner="rf")
    with pytest.raises(ValueError, match="final_estimator"):
        MultiLabelClassifier(stack).fit(X[TRAIN], Y[TRAIN])


def test_estimators_that_are_not_classifiers_are_rejected():
    with pytest.raises(ValueError, match="must be a classifier"):
        MultiLabelClassifier(StandardScaler()).fit(X[TRAIN], Y[TRAIN])


def test_prediction_requires_fit():
    with pytest.raises(NotFittedError):
        make("svm").predict(X)


@pytest.mark.parametrize("name", ["svm", "rf", "adaboost"])
def test_samples_of_weight_zero_have_no_influence(name):
    """Their labels may be anything."""
    weights = np.ones(200)
    weights[::4] = 0
    other = Y[TRAIN].copy()
    other[::4] = 1 - other[::4]
    # Folds are stratified by all labels, so that only the members are compared.
    members = [
        make(name, cv=2).fit(X[TRAIN], y, sample_weight=weights).estimators_[0]
        for y in (Y[TRAIN], other)
    ]
    first, second = (each.predict_proba(X[TEST]) for each in members)
    assert np.allclose(first, second, atol=0.1 if name == "rf" else 0.02)
    plain = make(name, cv=2).fit(X[TRAIN], other).estimators_[0].predict_proba(X[TEST])
    assert np.abs(first - plain).mean() > 3 * np.abs(first - second).mean()


def test_weights_count_in_calibration_and_thresholds():
    """With constant features, probabilities are the weighted shares of the labels."""
    rng = np.random.default_rng(0)
    labels = rng.random((300, 2)) < [0.5, 0.2]
    weights = np.where(labels[:, 0], 3.0, 1.0)
    model = MultiLabelClassifier(LogisticRegression(), random_state=0)
    model.fit(np.ones((300, 1)), labels.astype(int), sample_weight=weights)
    expected = np.average(labels, axis=0, weights=weights)
    assert model.predict_proba(np.ones((1, 1)))[0] == pytest.approx(expected, abs=0.03)


def test_members_without_weights_are_named():
    with pytest.raises(ValueError, match="sample_weight is not supported by 'classifier'"):
        make("lazy_rf").fit(X[TRAIN], Y[TRAIN], sample_weight=np.ones(200))


@pytest.mark.parametrize("name", ["svm", "knn", "rf", "boosted_rf"])
def test_groups_are_not_divided(name):
    """Each sample has a copy, and labels are noise that only a copy reveals."""
    rng = np.random.default_rng(0)
    points, noise = rng.random((50, 30)), rng.integers(0, 2, (50, 2))
    data, labels, groups = (np.repeat(each, 2, axis=0) for each in (points, noise, np.arange(50)))
    small = {"boosted_rf": {"n_estimators": 2, "trees_per_round": 5}, "knn": {"n_neighbors": 1}}
    inner = recipes.make(name, input="numeric", scale=False, random_state=0, **small.get(name, {}))
    model = MultiLabelClassifier(inner, random_state=0).fit(data, labels, groups=groups)
    with_groups = ((model.oof_proba_ > 0.5) == labels).mean()
    assert with_groups < 0.65
    if name != "svm":
        model.fit(data, labels)
        assert ((model.oof_proba_ > 0.5) == labels).mean() > with_groups + 0.2


def test_groups_must_be_several_and_of_the_right_length():
    model = make("svm")
    with pytest.raises(ValueError, match="at least two groups"):
        model.fit(X[TRAIN], Y[TRAIN], groups=np.zeros(200))
    with pytest.raises(ValueError, match="groups has 3 entries"):
        model.fit(X[TRAIN], Y[TRAIN], groups=[1, 2, 3])
