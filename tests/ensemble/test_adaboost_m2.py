"""AdaBoost.M2 against a reference implementation, the bound of its paper, and AdaBoost."""

import itertools
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_breast_cancer, load_digits, load_wine
from sklearn.ensemble import AdaBoostClassifier
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.estimator_checks import parametrize_with_checks

from cordwood.ensemble.adaboost_m2 import AdaBoostM2Classifier
from cordwood.ensemble.tree_engine.bootstrap import draw_weighted_counts
from cordwood.ensemble.tree_engine.importances import expand_tree

DRAWN = "a sample that occurs twice is drawn twice as often"
ROUNDED = "pairs of splits of so few samples are tied, and rounding breaks the ties"


def make_dense(n_samples=90, n_features=4, n_classes=3, seed=0):
    """Return normal features without ties, and labels that depend on the first with noise."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_samples, n_features)).astype(np.float32)
    y = (X[:, 0] + 0.5 * rng.normal(size=n_samples) > np.arange(n_classes - 1)[:, None]).sum(axis=0)
    y[:n_classes] = np.arange(n_classes)
    return X, y


def apply_tree(nodes, X):
    """Return the node of the leaf of each sample."""
    reached = np.zeros(len(X), int)
    while (inner := nodes.left[reached] >= 0).any():
        rows, node = np.flatnonzero(inner), reached[inner]
        left = X[rows, nodes.feature[node]] <= nodes.threshold[node]
        reached[rows] = np.where(left, nodes.left[node], nodes.right[node])
    return reached


class Reference:
    """Figure 2 of the paper, with explicit loops over pairs; labels are class codes."""

    def __init__(self, y, n_classes, weights=None):
        self.y, self.labels = y, range(n_classes)
        weights = np.ones(len(y)) if weights is None else weights
        self.D = {
            (i, k): weights[i] / weights.sum() / (n_classes - 1)
            for i in range(len(y))
            for k in self.labels
            if k != y[i]
        }

    def sample_weights(self):
        weights = np.zeros(len(self.y))
        for (i, _), weight in self.D.items():
            weights[i] += weight
        return weights

    def loss(self, h):
        """Return the pseudo-loss of a hypothesis of shape (n_samples, n_classes)."""
        return 0.5 * sum(w * (1 - h[i, self.y[i]] + h[i, k]) for (i, k), w in self.D.items())

    def best(self, leaves):
        """Try every set of plausible labels in every leaf.

        Among equals take the least, except where that is none: then all labels are plausible.
        """
        h = np.ones((len(self.y), len(self.labels)))
        for leaf in np.unique(leaves):
            here = (leaves == leaf)[:, None]
            trials = [
                (round(self.loss(np.where(here, labels, h)), 12), sum(labels), labels)
                for labels in itertools.product([0.0, 1.0], repeat=len(self.labels))
            ]
            labels = min(trials)[2]
            h = np.where(here, labels if any(labels) else 1.0, h)
        return h

    def update(self, h, learning_rate=1.0):
        loss = self.loss(h)
        beta = (loss / (1 - loss)) ** learning_rate
        for i, k in self.D:
            self.D[i, k] *= beta ** (0.5 * (1 + h[i, self.y[i]] - h[i, k]))
        total = sum(self.D.values())
        self.D = {pair: weight / total for pair, weight in self.D.items()}
        return loss, np.log(1 / beta)


# --- reference implementation --------------------------------------------------------------------


@pytest.mark.parametrize("learning_rate", [1.0, 0.3])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("n_classes", [2, 3, 5])
def test_stumps_match_reference_implementation(n_classes, weighted, learning_rate):
    X, y = make_dense(n_classes=n_classes, seed=n_classes)
    weights = np.random.default_rng(1).gamma(2, size=len(y)) if weighted else None
    model = AdaBoostM2Classifier(
        6, learning_rate=learning_rate, bootstrap=False, random_state=0
    ).fit(X, y, sample_weight=weights)
    reference, scores = Reference(y, n_classes, weights), np.zeros((len(y), n_classes))
    stages = model.staged_predict_proba(X)
    for error, weight, stage in zip(
        model.estimator_errors_, model.estimator_weights_, stages, strict=True
    ):
        stump = DecisionTreeClassifier(max_depth=1).fit(X, y, reference.sample_weights())
        h = reference.best(stump.apply(X))
        assert (error, weight) == pytest.approx(reference.update(h, learning_rate), rel=1e-10)
        scores += weight * h
        np.testing.assert_allclose(stage, scores / scores.sum(axis=1, keepdims=True), rtol=1e-10)
    np.testing.assert_array_equal(model.predict_proba(X), stage)
    np.testing.assert_array_equal(model.predict(X), scores.argmax(axis=1))


@pytest.mark.parametrize("max_depth", [1, 3, None])
def test_bootstrap_matches_reference_implementation(max_depth):
    X, y = make_dense(n_classes=4)
    model = AdaBoostM2Classifier(8, max_depth=max_depth, random_state=0).fit(X, y)
    assert model.n_estimators_ == 8
    reference, scores = Reference(y, 4), np.zeros((len(y), 4))
    for number, (bag_seed, _) in enumerate(model._draw_seeds()):
        (counts,) = draw_weighted_counts([bag_seed], reference.sample_weights(), len(y))
        nodes = expand_tree(model.forest_, number, 4)
        leaves = apply_tree(nodes, X)
        for leaf in np.unique(leaves):
            here = leaves == leaf
            drawn = np.bincount(y[here], counts[here], minlength=4)
            np.testing.assert_array_equal(nodes.class_weights[leaf], drawn)
        h = reference.best(leaves)
        loss, weight = reference.update(h)
        assert model.estimator_errors_[number] == pytest.approx(loss, rel=1e-10)
        assert model.estimator_weights_[number] == pytest.approx(weight, rel=1e-10)
        scores += weight * h
    proba = scores / scores.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(model.predict_proba(X), proba, rtol=1e-10)


def test_two_classes_equal_adaboost():
    X, y = load_breast_cancer(return_X_y=True)
    X = X.astype(np.float32)
    weights = np.random.default_rng(0).gamma(2, size=len(y))
    ours = AdaBoostM2Classifier(30, bootstrap=False, random_state=0).fit(X, y, weights)
    theirs = AdaBoostClassifier(DecisionTreeClassifier(max_depth=1), n_estimators=30)
    theirs.fit(X, y, weights)
    np.testing.assert_allclose(ours.estimator_errors_, theirs.estimator_errors_, rtol=1e-8)
    np.testing.assert_allclose(ours.estimator_weights_, theirs.estimator_weights_, rtol=1e-8)
    np.testing.assert_array_equal(ours.predict(X), theirs.predict(X))


@given(
    seed=st.integers(0, 10_000),
    n_classes=st.integers(2, 7),
    max_depth=st.sampled_from([1, 2, None]),
    bootstrap=st.booleans(),
)
@settings(max_examples=40, deadline=None)
def test_training_error_is_within_the_bound_of_theorem_2(seed, n_classes, max_depth, bootstrap):
    X, y = make_dense(60, 3, n_classes, seed)
    X = np.round(X)  # creates duplicates of different classes
    weights = np.random.default_rng(seed).gamma(1, size=len(y))
    model = AdaBoostM2Classifier(
        12, max_depth=max_depth, bootstrap=bootstrap, random_state=seed
    ).fit(X, y, weights)
    assert (model.estimator_errors_ <= 0.5).all()
    errors = np.maximum(
        model.estimator_errors_, 1e-10
    )  # the lower bound that estimator weights use
    bounds = (n_classes - 1) * np.cumprod(2 * np.sqrt(errors * (1 - errors)))
    for bound, proba in zip(bounds, model.staged_predict_proba(X), strict=True):
        wrong = model.classes_[proba.argmax(axis=1)] != y
        assert weights[wrong].sum() / weights.sum() <= bound + 1e-9


# --- stopping ------------------------------------------------------------------------------------


def test_full_trees_without_bootstrap_stop_after_the_first():
    X, y = make_dense()
    model = AdaBoostM2Classifier(max_depth=None, bootstrap=False, random_state=0).fit(X, y)
    assert (model.stop_reason_, model.n_estimators_) == ("no_error", 1)
    assert np.isfinite(model.estimator_weights_).all()
    assert model.score(X, y) == 1.0


def test_duplicates_of_different_classes_do_not_stop_boosting():
    X, y = make_dense()
    X, y = np.vstack([X, X[:4]]), np.concatenate([y, (y[:4] + 1) % 3])
    model = AdaBoostM2Classifier(30, max_depth=None, bootstrap=False, random_state=0).fit(X, y)
    assert model.n_estimators_ > 1
    assert model.score(X[4:90], y[4:90]) == 1.0
    assert model.predict_proba(X[:4])[np.arange(4), (y[:4] + 2) % 3].max() < 1 / 3


def test_first_tree_at_chance_is_kept_with_a_warning():
    with pytest.warns(UserWarning, match="first tree is not better than chance"):
        model = AdaBoostM2Classifier().fit(np.ones((6, 2)), list("aabbcc"))
    assert (model.stop_reason_, model.n_estimators_) == ("chance", 1)
    np.testing.assert_allclose(model.predict_proba(np.ones((1, 2))), 1 / 3)
    assert model.feature_importances_.tolist() == [0, 0]


def test_later_tree_at_chance_is_discarded():
    model = AdaBoostM2Classifier(random_state=0).fit(np.ones((5, 2)), list("aabbb"))
    assert model.stop_reason_ == "chance"
    assert model.estimator_errors_.tolist() == pytest.approx([0.4])
    assert model.predict(np.ones((1, 2))) == ["b"]


def test_single_class():
    model = AdaBoostM2Classifier().fit([[1.0], [2.0]], ["a", "a"])
    assert (model.stop_reason_, model.n_estimators_) == ("no_error", 1)
    assert model.predict_proba([[3.0]]).tolist() == [[1.0]]


def test_stop_reason_n_estimators():
    X, y = make_dense()
    model = AdaBoostM2Classifier(17, random_state=0).fit(X, y)
    assert (model.stop_reason_, model.n_estimators_) == ("n_estimators", 17)
    assert model.estimator_errors_.shape == model.estimator_weights_.shape == (17,)


# --- weights ----------------------------------------------------------------------------------


@pytest.mark.parametrize("bootstrap", [False, True])
def test_samples_and_classes_of_weight_zero_are_ignored(bootstrap):
    X, y = make_dense(n_classes=4)
    weights = np.where((y == 2) | (np.arange(len(y)) % 5 == 0), 0.0, 1.5)
    model = AdaBoostM2Classifier(9, bootstrap=bootstrap, random_state=0)
    partly = model.fit(X, y, weights).predict_proba(X)
    assert (partly[:, 2] == 0).all()
    without = model.fit(X[weights > 0], y[weights > 0]).predict_proba(X)
    np.testing.assert_allclose(partly[:, [0, 1, 3]], without, rtol=1e-9)


def test_integer_weights_equal_repeated_samples():
    X, y = make_dense()
    counts = np.random.default_rng(0).integers(1, 4, len(y))
    model = AdaBoostM2Classifier(15, bootstrap=False, random_state=0)
    weighted = model.fit(X, y, counts).predict_proba(X)
    copied = model.fit(np.repeat(X, counts, axis=0), np.repeat(y, counts)).predict_proba(X)
    np.testing.assert_allclose(weighted, copied, rtol=1e-8)


@pytest.mark.parametrize("bootstrap", [False, True])
def test_class_weight_equals_sample_weight(bootstrap):
    X, y = make_dense()
    factors = {0: 0.5, 1: 4.0, 2: 1.0}
    model = AdaBoostM2Classifier(9, bootstrap=bootstrap, random_state=0)
    by_sample = model.fit(X, y, [factors[label] for label in y]).predict_proba(X)
    by_class = model.set_params(class_weight=factors).fit(X, y).predict_proba(X)
    np.testing.assert_array_equal(by_class, by_sample)
    shares = len(y) / (3 * np.bincount(y))
    balanced = model.set_params(class_weight="balanced").fit(X, y).predict_proba(X)
    by_share = model.set_params(class_weight=None).fit(X, y, shares[y]).predict_proba(X)
    np.testing.assert_array_equal(balanced, by_share)


@pytest.mark.parametrize("bootstrap", [False, True])
def test_weights_stay_finite_with_ninety_classes(bootstrap):
    rng = np.random.default_rng(0)
    y = np.minimum(rng.zipf(1.3, 400) - 1, 89)
    y[:90] = np.arange(90)  # many classes of a single sample
    X = rng.poisson(0.1, (400, 60))
    X[np.arange(400), y % 60] += 1
    model = AdaBoostM2Classifier(400, max_depth=4, bootstrap=bootstrap, random_state=0).fit(
        X, y, rng.choice([1e-20, 1.0, 1e9], 400)
    )
    assert model.n_estimators_ == 400
    assert (model.estimator_errors_ > 0).all() and (model.estimator_errors_ < 0.5).all()
    proba = model.predict_proba(X)
    np.testing.assert_allclose(proba.sum(axis=1), 1)


# --- predictions ---------------------------------------------------------------------------------


def test_accuracy_on_random_labels_is_chance():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(3000, 10)), rng.integers(0, 4, 3000)
    for max_depth in (1, None):
        model = AdaBoostM2Classifier(30, max_depth=max_depth, random_state=0).fit(X[:600], y[:600])
        # Four standard deviations of the accuracy of random guesses.
        assert abs(model.score(X[600:], y[600:]) - 0.25) < 4 * np.sqrt(0.25 * 0.75 / 2400)


def split_in_half(load):
    X, y = load(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(y))
    return *np.array_split(X[order], 2), *np.array_split(y[order], 2)


@pytest.mark.parametrize("bootstrap", [False, True])
@pytest.mark.parametrize("load", [load_digits, load_wine])
def test_stumps_beat_a_single_one_and_match_scikit_learn(load, bootstrap):
    X, X_test, y, y_test = split_in_half(load)
    stump = DecisionTreeClassifier(max_depth=1).fit(X, y)
    theirs = AdaBoostClassifier(stump, n_estimators=100, random_state=0).fit(X, y)
    ours = AdaBoostM2Classifier(100, bootstrap=bootstrap, random_state=0).fit(X, y)
    assert ours.score(X_test, y_test) > stump.score(X_test, y_test) + 0.2
    assert ours.score(X_test, y_test) > theirs.score(X_test, y_test) - 0.05


def test_full_trees_beat_a_single_one():
    X, X_test, y, y_test = split_in_half(load_digits)
    tree = DecisionTreeClassifier(random_state=0).fit(X, y)
    model = AdaBoostM2Classifier(50, max_depth=None, random_state=0).fit(X, y)
    assert model.n_estimators_ == 50
    assert model.score(X_test, y_test) > tree.score(X_test, y_test) + 0.1


def test_importances_are_weighted_by_estimator_weights():
    X, y = make_dense()
    model = AdaBoostM2Classifier(7, random_state=0).fit(X, y)
    features = model.forest_.feature_and_side[np.isfinite(model.forest_.threshold)] >> 1
    expected = np.bincount(features, model.estimator_weights_, minlength=4)
    np.testing.assert_allclose(model.feature_importances_, expected / expected.sum())


def test_block_size_and_n_jobs_do_not_change_predictions(monkeypatch):
    X, y = make_dense(700)
    model = AdaBoostM2Classifier(5, max_depth=3, random_state=0).fit(X, y)
    expected = model.predict_proba(X)
    monkeypatch.setattr("cordwood.ensemble.adaboost_m2._BLOCK_SIZE", 300)
    assert model.predict_proba(X).tobytes() == expected.tobytes()
    assert model.set_params(n_jobs=2).predict_proba(X).tobytes() == expected.tobytes()


def test_pickles():
    X, y = make_dense(n_classes=9)
    model = AdaBoostM2Classifier(3, random_state=0).fit(X, y)
    copy = pickle.loads(pickle.dumps(model))
    assert copy.predict_proba(X).tobytes() == model.predict_proba(X).tobytes()


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("learning_rate", 0.0, r"learning_rate must be a number in \(0, 1\]; got 0.0"),
        ("learning_rate", 1.5, r"learning_rate must be a number in \(0, 1\]; got 1.5"),
        ("learning_rate", "slow", r"learning_rate must be a number in \(0, 1\]; got 'slow'"),
        ("class_weight", "balanced_subsample", "class_weight must be one of None, 'balanced'"),
        ("max_depth", 0, "max_depth must be None or an integer >= 1; got 0"),
        ("n_estimators", 0, "n_estimators must be an integer >= 1; got 0"),
        ("bootstrap", "no", "bootstrap must be True or False; got 'no'"),
    ],
)
def test_invalid_parameter_raises(name, value, message):
    with pytest.raises(ValueError, match=message):
        AdaBoostM2Classifier(**{name: value}).fit(*make_dense())


@parametrize_with_checks(
    [
        AdaBoostM2Classifier(5, max_depth=None, random_state=0),
        AdaBoostM2Classifier(5, bootstrap=False, random_state=0),
    ],
    expected_failed_checks=lambda estimator: dict.fromkeys(
        [
            "check_sample_weight_equivalence_on_dense_data",
            "check_sample_weight_equivalence_on_sparse_data",
        ],
        DRAWN if estimator.bootstrap else ROUNDED,
    ),
)
def test_scikit_learn_accepts(estimator, check):
    check(estimator)
