from itertools import product

import numpy as np
import pytest
from cordwood.decisions import TunedDecisionClassifier
from cordwood.decisions._search import (
    find_class_weights,
    find_f1_threshold,
    find_precision_threshold,
)
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score, precision_score, recall_score
from sklearn.model_selection import StratifiedKFold, TunedThresholdClassifierCV, cross_val_predict
from sklearn.utils.estimator_checks import parametrize_with_checks

from cordwood import NeighborsClassifier, OOBStackingClassifier, RandomForestClassifier
from cordwood.persist import load, save

X, y = make_classification(900, weights=[0.93], flip_y=0.05, random_state=0)
X3, y3 = make_classification(
    900,
    n_features=12,
    n_informative=6,
    n_classes=3,
    weights=[0.7, 0.2, 0.1],
    flip_y=0.1,
    random_state=0,
)
TRAIN, TEST = slice(450), slice(450, None)
LOGISTIC = LogisticRegression(max_iter=1000)


def noisy_probabilities(seed, n_samples=200, n_classes=3):
    rng = np.random.default_rng(seed)
    codes = rng.choice(n_classes, n_samples, p=[0.7, 0.2, 0.1][:n_classes])
    logits = rng.normal(size=(n_samples, n_classes)) + np.log([0.7, 0.2, 0.1][:n_classes])
    logits[np.arange(n_samples), codes] += 1.0
    proba = np.exp(logits)
    return proba / proba.sum(axis=1, keepdims=True), codes


def draw_weights(rng, n_samples, seed):
    """Return equal weights for even seeds, else random ones."""
    return np.ones(n_samples) if seed % 2 == 0 else rng.integers(0, 4, n_samples) / 2


@pytest.mark.parametrize("seed", range(5))
def test_f1_threshold_equals_an_exhaustive_search(seed):
    rng = np.random.default_rng(seed)
    is_positive = rng.random(150) < 0.2
    proba = (rng.random(150) + 0.4 * is_positive).round(2) / 1.5
    weights = draw_weights(rng, 150, seed)
    threshold, found = find_f1_threshold(proba, is_positive, weights)
    scores = [f1_score(is_positive, proba >= t, sample_weight=weights) for t in proba]
    assert found == pytest.approx(max(scores))
    assert found == pytest.approx(f1_score(is_positive, proba > threshold, sample_weight=weights))


@pytest.mark.parametrize("seed", range(5))
def test_precision_threshold_equals_an_exhaustive_search(seed):
    rng = np.random.default_rng(seed)
    is_positive = rng.random(150) < 0.3
    proba = (rng.random(150) + 0.5 * is_positive).round(2) / 1.5
    weights = draw_weights(rng, 150, seed)
    threshold, recall = find_precision_threshold(proba, is_positive, weights, 0.8)

    def smoothed_precision(predicted):
        n_more, share = 2, np.average(is_positive, weights=weights)
        n_correct, n_predicted = weights @ (is_positive & predicted), weights @ predicted
        return (n_correct + n_more * share) / (n_predicted + n_more)

    expected = max(
        recall_score(is_positive, proba >= t, sample_weight=weights)
        for t in proba
        if smoothed_precision(proba >= t) >= 0.8
    )
    assert recall == pytest.approx(expected)
    assert precision_score(is_positive, proba > threshold, sample_weight=weights) >= 0.8


@pytest.mark.parametrize("seed", range(3))
def test_class_weights_are_nearly_as_good_as_an_exhaustive_search(seed):
    proba, codes = noisy_probabilities(seed)
    sample_weight = draw_weights(np.random.default_rng(seed), len(codes), seed)
    weights, found = find_class_weights(proba, codes, sample_weight)

    def macro_f1(class_weights):
        predicted = (proba * class_weights).argmax(axis=1)
        return f1_score(codes, predicted, average="macro", sample_weight=sample_weight)

    assert found == pytest.approx(macro_f1(weights))
    grid = np.exp(np.linspace(-3, 3, 21))
    best = max(macro_f1([1.0, a, b]) for a, b in product(grid, grid))
    assert found > best - 0.015
    assert found >= macro_f1(np.ones(3))


def test_the_threshold_is_at_least_as_good_as_that_of_scikit_learn():
    """Both choose a threshold on the same out-of-fold probabilities."""
    seed = np.random.RandomState(0).randint(np.iinfo(np.int32).max)  # that of the folds
    folds = StratifiedKFold(5, shuffle=True, random_state=seed)
    proba = cross_val_predict(LOGISTIC, X, y, cv=folds, method="predict_proba")[:, 1]
    threshold, best = find_f1_threshold(proba, y == 1, np.ones(len(y)))
    reference = TunedThresholdClassifierCV(LOGISTIC, scoring="f1", cv=folds).fit(X, y)
    assert best >= f1_score(y, proba >= reference.best_threshold_)
    own = TunedDecisionClassifier(LOGISTIC, optimize="f1", random_state=0).fit(X, y)
    assert own.best_score_ == pytest.approx(best)
    assert own.best_threshold_ == pytest.approx(threshold)
    assert own.best_threshold_ == pytest.approx(reference.best_threshold_, abs=0.1)
    assert np.array_equal(own.predict(X), (own.predict_proba(X)[:, 1] > threshold).astype(int))


def test_it_works_inside_and_instead_of_tuned_threshold_classifier():
    own = TunedDecisionClassifier(LOGISTIC, optimize="f1", random_state=0)
    wrapped = TunedThresholdClassifierCV(own, scoring="f1", cv=3).fit(X[TRAIN], y[TRAIN])
    assert 0 < wrapped.best_threshold_ < 1
    assert clone(own).get_params()["optimize"] == "f1"


@pytest.mark.parametrize("optimize", ["f1", "macro_f1"])
def test_f1_of_new_samples_increases(optimize):
    forest = RandomForestClassifier(100, random_state=0)
    average = "binary" if optimize == "f1" else "macro"
    plain = f1_score(y[TEST], forest.fit(X[TRAIN], y[TRAIN]).predict(X[TEST]), average=average)
    tuned = TunedDecisionClassifier(forest, optimize=optimize).fit(X[TRAIN], y[TRAIN])
    assert f1_score(y[TEST], tuned.predict(X[TEST]), average=average) > plain


def test_out_of_fold_predictions_of_forests_and_stacks_are_used():
    forest = RandomForestClassifier(50, random_state=0)
    tuned = TunedDecisionClassifier(forest, optimize="f1").fit(X[TRAIN], y[TRAIN])
    oob = tuned.estimator_.oob_decision_function_[:, 1]
    assert tuned.best_score_ == find_f1_threshold(oob, y[TRAIN] == 1, np.ones(450))[1]
    stack = OOBStackingClassifier([("forest", forest), ("logistic", LOGISTIC)], random_state=0)
    tuned = TunedDecisionClassifier(stack, optimize="f1").fit(X[TRAIN], y[TRAIN])
    oof = tuned.estimator_.oof_proba_[:, 1]
    assert tuned.best_score_ == find_f1_threshold(oof, y[TRAIN] == 1, np.ones(450))[1]


@pytest.mark.parametrize("optimize", ["f1", "macro_f1", "cost"])
def test_weights_count_in_fits_and_in_the_score(optimize):
    """The folds and fits are those of scikit-learn with the same weights."""
    weights = np.random.default_rng(0).integers(1, 4, 450).astype(float)
    costs = np.array([[0.0, 1.0], [5.0, 0.0]])
    tuned = TunedDecisionClassifier(
        LOGISTIC,
        optimize=optimize,
        cost_matrix=costs if optimize == "cost" else None,
        random_state=0,
    ).fit(X[TRAIN], y[TRAIN], sample_weight=weights)
    seed = np.random.RandomState(0).randint(np.iinfo(np.int32).max)  # that of the folds
    folds = StratifiedKFold(5, shuffle=True, random_state=seed)
    proba = np.empty((450, 2))
    for train, test in folds.split(X[TRAIN], y[TRAIN]):
        model = clone(LOGISTIC).fit(X[train], y[train], sample_weight=weights[train])
        proba[test] = model.predict_proba(X[test])
    predicted = tuned.decide(proba)
    if optimize == "cost":
        expected = -np.average(costs[y[TRAIN], predicted], weights=weights)
    else:
        average = "binary" if optimize == "f1" else "macro"
        expected = f1_score(y[TRAIN], predicted, average=average, sample_weight=weights)
    assert tuned.best_score_ == pytest.approx(expected)
    whole = clone(LOGISTIC).fit(X[TRAIN], y[TRAIN], sample_weight=weights)
    assert np.allclose(tuned.predict_proba(X[TEST]), whole.predict_proba(X[TEST]))


def test_an_estimator_without_weights_is_named():
    tuned = TunedDecisionClassifier(NeighborsClassifier(), optimize="f1")
    with pytest.raises(ValueError, match="sample_weight is not supported by NeighborsClassifier"):
        tuned.fit(X, y, sample_weight=np.ones(len(y)))


@pytest.mark.parametrize(
    "estimator", [LOGISTIC, RandomForestClassifier(30, random_state=0), NeighborsClassifier(1)]
)
def test_groups_are_not_divided(estimator):
    """Each sample has a copy, and labels are noise that only a copy reveals."""
    rng = np.random.default_rng(0)
    points, noise = rng.normal(size=(60, 3)), rng.integers(0, 2, 60)
    data, labels, groups = (
        np.repeat(points, 2, axis=0),
        np.repeat(noise, 2),
        np.repeat(range(60), 2),
    )
    tuned = TunedDecisionClassifier(estimator, optimize="macro_f1", random_state=0)
    assert tuned.fit(data, labels, groups=groups).best_score_ < 0.75
    if estimator is not LOGISTIC:
        assert tuned.fit(data, labels).best_score_ > 0.9


def test_costs_are_minimized():
    costs = np.array([[0.0, 1.0, 5.0], [2.0, 0.0, 1.0], [20.0, 10.0, 0.0]])
    tuned = TunedDecisionClassifier(LOGISTIC, optimize="cost", cost_matrix=costs)
    tuned.fit(X3[TRAIN], y3[TRAIN])
    proba = tuned.predict_proba(X3[TEST])
    expected = [min(range(3), key=lambda k: (p * costs[:, k]).sum()) for p in proba]
    assert tuned.predict(X3[TEST]).tolist() == expected
    plain = costs[y3[TEST], proba.argmax(axis=1)].mean()
    assert costs[y3[TEST], tuned.predict(X3[TEST])].mean() < plain


def test_precision_of_new_samples_is_near_the_target():
    X, y = make_classification(1200, weights=[0.8], class_sep=1.2, random_state=0)
    tuned = TunedDecisionClassifier(LOGISTIC, optimize="precision", random_state=0)
    recalls = []
    for min_precision in (0.5, 0.75, 0.9):
        tuned.set_params(min_precision=min_precision).fit(X[:600], y[:600])
        predicted = tuned.predict(X[600:])
        assert precision_score(y[600:], predicted) > min_precision - 0.05
        recalls.append(recall_score(y[600:], predicted))
    assert recalls == sorted(recalls, reverse=True)
    assert recalls[0] > recalls[2]


def test_the_positive_class_is_the_rarer_one_unless_given():
    names = np.where(y == 1, "ham", "spam")  # the rarer class is the first one
    tuned = TunedDecisionClassifier(LOGISTIC, optimize="f1", random_state=0).fit(X, names)
    expected = TunedDecisionClassifier(LOGISTIC, optimize="f1", random_state=0).fit(X, y)
    assert tuned.best_threshold_ == pytest.approx(expected.best_threshold_, abs=1e-6)
    assert np.array_equal(tuned.predict(X) == "ham", expected.predict(X) == 1)
    other = TunedDecisionClassifier(LOGISTIC, optimize="f1", pos_label="spam").fit(X, names)
    assert other.best_score_ > tuned.best_score_


@pytest.mark.parametrize(
    ("params", "labels", "message"),
    [
        ({"optimize": "f1"}, y3, "requires two classes"),
        ({"optimize": "precision"}, y3, "requires two classes"),
        ({"optimize": "recall"}, y, "optimize"),
        ({"optimize": "cost"}, y, "requires cost_matrix"),
        ({"optimize": "cost", "cost_matrix": [[0, 1]]}, y, "2 x 2"),
        ({"optimize": "f1", "cost_matrix": [[0, 1], [1, 0]]}, y, "requires optimize='cost'"),
        ({"optimize": "f1", "pos_label": "x"}, y, "pos_label 'x' is not a class"),
        ({"min_precision": 1.5}, y, "min_precision"),
    ],
)
def test_invalid_parameters(params, labels, message):
    with pytest.raises(ValueError, match=message):
        TunedDecisionClassifier(LOGISTIC, **params).fit(X, labels)


def test_a_precision_that_cannot_be_reached_is_an_error():
    noise = np.random.default_rng(0).normal(size=(200, 2))
    codes = np.random.default_rng(1).integers(0, 2, 200)
    codes[:20] = 0
    tuned = TunedDecisionClassifier(LOGISTIC, optimize="precision", min_precision=0.99)
    with pytest.raises(ValueError, match="no threshold has an out-of-fold precision of 0.99"):
        tuned.fit(np.zeros_like(noise), codes)


def test_prediction_requires_fit():
    with pytest.raises(NotFittedError):
        TunedDecisionClassifier(LOGISTIC).predict(X)


@pytest.mark.parametrize("optimize", ["f1", "cost"])
def test_model_files(optimize, tmp_path):
    costs = [[0.0, 1.0], [5.0, 0.0]] if optimize == "cost" else None
    forest = RandomForestClassifier(10, random_state=0)
    tuned = TunedDecisionClassifier(forest, optimize=optimize, cost_matrix=costs).fit(X, y)
    loaded = load(save(tuned, tmp_path / "model.cordwood"))
    assert np.array_equal(loaded.predict(X), tuned.predict(X))
    assert np.array_equal(loaded.decision_matrix_, tuned.decision_matrix_)
    assert loaded.best_score_ == tuned.best_score_


NOT_THE_MOST_PROBABLE = {
    "check_classifiers_train": "the predicted class is not always the most probable one"
}
WEIGHT_CHECKS = (
    "check_sample_weight_equivalence_on_dense_data",
    "check_sample_weight_equivalence_on_sparse_data",
)


@parametrize_with_checks(
    [
        TunedDecisionClassifier(LOGISTIC, cv=2, random_state=0),
        TunedDecisionClassifier(RandomForestClassifier(5, random_state=0), random_state=0),
    ],
    expected_failed_checks=lambda each: {
        **dict.fromkeys(WEIGHT_CHECKS, "cv is a number of folds, not a list of folds"),
        **(NOT_THE_MOST_PROBABLE if each.estimator is LOGISTIC else {}),
    },
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)
