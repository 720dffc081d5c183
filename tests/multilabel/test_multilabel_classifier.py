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
        (Y[:200, 0], "binary target of one label per sample"),
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
