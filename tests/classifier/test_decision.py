"""Decisions: each objective against an oracle on out-of-fold probabilities; class weights."""

from dataclasses import FrozenInstanceError
from itertools import product

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score, precision_score, recall_score
from sklearn.model_selection import StratifiedKFold, TunedThresholdClassifierCV, cross_val_predict
from sklearn.neighbors import KNeighborsClassifier

import cordwood
from cordwood import (
    Decision,
    LazyForestClassifier,
    NeighborsClassifier,
    OOBStackingClassifier,
    RandomForestClassifier,
    TextClassifier,
)
from cordwood.classifier import TunedDecision
from cordwood.classifier.decision import tune_decision
from cordwood.exceptions import CordwoodError
from cordwood.metrics.thresholds import choose_label_thresholds, find_f1_threshold
from cordwood.oof import OOFPredictions

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
FOLDS = StratifiedKFold(10, shuffle=True, random_state=0)  # those of the model
COSTS = np.array([[0.0, 1.0, 5.0], [2.0, 0.0, 1.0], [20.0, 10.0, 0.0]])


def make_oof(seed, n_classes=2, n_samples=120):
    rng = np.random.default_rng(seed)
    shares = [0.75, 0.25] if n_classes == 2 else [0.7, 0.2, 0.1]
    codes = rng.choice(n_classes, n_samples, p=shares)
    logits = rng.normal(size=(n_samples, n_classes)) + np.log(shares)
    logits[np.arange(n_samples), codes] += 1.0
    proba = np.exp(logits)
    return OOFPredictions(
        proba=proba / proba.sum(axis=1, keepdims=True),
        y=codes,
        classes=np.array(["a", "b", "c"][:n_classes]),
        sources={"classifier": "cv"},
    )


def draw_weights(seed, n_samples=120):
    """Equal weights for even seeds, else random ones."""
    if seed % 2 == 0:
        return None
    return np.random.default_rng(seed).integers(0, 4, n_samples) / 2


@pytest.mark.parametrize("seed", range(6))
def test_f1_equals_an_exhaustive_search(seed):
    oof, weights = make_oof(seed), draw_weights(seed)
    tuned = tune_decision(Decision("f1"), oof, weights)
    proba = oof.proba[:, 1]

    def f1(predicted):
        return f1_score(oof.y, predicted, sample_weight=weights)

    assert tuned.positive == "b"  # the class with fewer samples
    assert tuned.score == pytest.approx(max(f1(proba >= each) for each in proba))
    assert tuned.score == pytest.approx(f1(tuned.apply(oof.proba)))
    assert np.array_equal(tuned.apply(oof.proba), proba > tuned.threshold)


@pytest.mark.parametrize("seed", range(6))
def test_precision_equals_an_exhaustive_search(seed):
    oof, weights = make_oof(seed), draw_weights(seed)
    tuned = tune_decision(Decision("precision", precision=0.6, pos_label="b"), oof, weights)
    share = np.average(oof.y, weights=weights)
    each = np.ones(len(oof)) if weights is None else weights

    def is_sufficient(predicted):
        n_correct, n_predicted = each @ (oof.y * predicted), each @ predicted
        return (n_correct + 2 * share) / (n_predicted + 2) >= 0.6

    proba = oof.proba[:, 1]
    recalls = [
        recall_score(oof.y, proba >= threshold, sample_weight=weights)
        for threshold in proba
        if is_sufficient(proba >= threshold)
    ]
    assert tuned.score == pytest.approx(max(recalls))
    decided = tuned.apply(oof.proba)
    assert is_sufficient(decided)
    assert recall_score(oof.y, decided, sample_weight=weights) == pytest.approx(tuned.score)


@pytest.mark.parametrize("seed", range(4))
def test_macro_f1_is_nearly_that_of_an_exhaustive_search(seed):
    oof, weights = make_oof(seed, 3), draw_weights(seed)
    tuned = tune_decision(Decision("macro_f1"), oof, weights)

    def macro_f1(decided):
        return f1_score(oof.y, decided, average="macro", sample_weight=weights)

    assert tuned.score == pytest.approx(macro_f1(tuned.apply(oof.proba)))
    assert tuned.score >= macro_f1(oof.proba.argmax(axis=1))
    grid = np.exp(np.linspace(-3, 3, 21))
    best = max(macro_f1((oof.proba * [1.0, a, b]).argmax(axis=1)) for a, b in product(grid, grid))
    assert tuned.score > best - 0.015


@pytest.mark.parametrize("seed", range(4))
def test_cost_is_the_least_expected_one(seed):
    oof, weights = make_oof(seed, 3), draw_weights(seed)
    tuned = tune_decision(Decision("cost", cost_matrix=COSTS), oof, weights)
    expected = [min(range(3), key=lambda k: (p * COSTS[:, k]).sum()) for p in oof.proba]
    assert tuned.apply(oof.proba).tolist() == expected
    assert tuned.score == pytest.approx(np.average(COSTS[oof.y, expected], weights=weights))


def test_a_fixed_threshold_needs_no_tuning():
    oof = make_oof(0)
    tuned = tune_decision(Decision(threshold=0.2, pos_label="b"), oof, None)
    assert np.array_equal(tuned.apply(oof.proba), oof.proba[:, 1] > 0.2)
    assert tuned.score is None
    assert tuned.describe() == "b from a probability of 0.200 on"
    other = tune_decision(Decision(threshold=0.2, pos_label="a"), oof, None)
    assert np.array_equal(other.apply(oof.proba) == 0, oof.proba[:, 0] >= 0.2)


def test_without_a_decision_the_most_probable_class_is_predicted():
    for decision in (None, Decision()):
        tuned = tune_decision(decision, make_oof(0, 3), None)
        assert tuned == TunedDecision()
        assert tuned.describe() == "the most probable class"
    proba = make_oof(1, 3).proba
    assert np.array_equal(TunedDecision().apply(proba), proba.argmax(axis=1))


def make_label_oof(seed):
    rng = np.random.default_rng(seed)
    Y = rng.random((200, 4)) < [0.4, 0.2, 0.1, 0.05]
    Y[0] = True
    scores = rng.normal(size=Y.shape) + 1.5 * Y - 1
    proba = 1 / (1 + np.exp(-scores))
    classes = np.array([*"abcd"])
    return OOFPredictions(proba=proba, y=Y.astype(int), classes=classes, sources={"svm": "cv"})


@pytest.mark.parametrize("optimize", [None, "f1", "macro_f1"])
def test_several_labels_have_thresholds_of_highest_f1(optimize):
    oof = make_label_oof(0)
    tuned = tune_decision(Decision(optimize), oof, None)
    expected = choose_label_thresholds(oof.proba, oof.y == 1)
    assert np.array_equal(tuned.thresholds, expected)
    assert np.array_equal(tuned.apply(oof.proba), oof.proba >= expected)
    assert tuned.describe().startswith("labels from probabilities of ")


@pytest.mark.parametrize("min_labels", [0, 1, 2, 9])
def test_at_least_so_many_labels_are_predicted(min_labels):
    oof = make_label_oof(1)
    tuned = tune_decision(Decision(threshold=0.8, min_labels=min_labels), oof, None)
    for proba, decided in zip(oof.proba, tuned.apply(oof.proba), strict=True):
        expected = set(np.flatnonzero(proba >= 0.8))
        if len(expected) < min_labels:
            expected |= set(np.argsort(-proba)[:min_labels])
        assert set(np.flatnonzero(decided)) == expected
    assert tuned.min_labels == min(min_labels, 4)


def test_min_labels_is_one_if_every_sample_has_a_label():
    oof = make_label_oof(2)
    assert not oof.y.any(axis=1).all()
    assert tune_decision(None, oof, None).min_labels == 0
    oof.y[:, 0] = 1
    assert tune_decision(None, oof, None).min_labels == 1


def test_records_are_immutable_and_comparable():
    costs = COSTS.copy()
    decision = Decision("cost", cost_matrix=costs)
    costs[:] = 0
    assert decision == Decision("cost", cost_matrix=COSTS.tolist())
    assert hash(decision) == hash(Decision("cost", cost_matrix=COSTS))
    assert decision != Decision("cost", cost_matrix=costs)
    for record, field in ((decision, "optimize"), (TunedDecision(), "threshold")):
        with pytest.raises(FrozenInstanceError):
            setattr(record, field, None)
    with pytest.raises(TypeError):
        decision.cost_matrix[0][0] = 1.0


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"optimize": "recall"}, "optimize must be one of f1, macro_f1, precision, cost; got 'r"),
        ({"optimize": "precision"}, "optimize='precision' and precision require each other"),
        ({"precision": 0.9}, "optimize='precision' and precision require each other"),
        ({"optimize": "precision", "precision": "high"}, "precision must be between 0 and 1; got"),
        ({"optimize": "precision", "precision": 1.5}, "precision must be between 0 and 1; got 1.5"),
        ({"optimize": "cost"}, "optimize='cost' and cost_matrix require each other"),
        ({"optimize": "f1", "cost_matrix": COSTS}, "and cost_matrix require each other"),
        ({"optimize": "f1", "threshold": 0.5}, "threshold and optimize are alternatives"),
        ({"threshold": 1.0}, "threshold must be between 0 and 1; got 1.0"),
        ({"min_labels": -1}, "min_labels must be an integer of at least 0; got -1"),
        ({"min_labels": 1.5}, "min_labels must be an integer of at least 0; got 1.5"),
    ],
)
def test_invalid_decisions_raise_at_once(params, message):
    with pytest.raises(CordwoodError, match=message) as raised:
        Decision(**params)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(
    ("decision", "labels", "message"),
    [
        ("f1", y3, "optimize='f1' requires two classes; got 3, so use 'macro_f1' or 'cost'"),
        (Decision("precision", precision=0.9), y3, "optimize='precision' requires two classes"),
        (Decision(threshold=0.3), y3, "threshold requires two classes"),
        (
            Decision("cost", cost_matrix=[[0, 1]]),
            y,
            "a matrix of 2 x 2 finite numbers, .*shape .1, 2",
        ),
        (Decision("cost", cost_matrix=[[0, np.inf], [1, 0]]), y, "2 x 2 finite numbers"),
        (Decision("f1", pos_label="x"), y, "pos_label 'x' is not a class; classes: 0, 1"),
        (Decision(pos_label=1), y, "pos_label requires optimize or threshold; omit it"),
        (Decision("f1", min_labels=1), y, "min_labels requires several labels per sample; omit it"),
        ("recall", y, "decision must be 'f1', 'macro_f1', a cordwood.Decision or None; got 'rec"),
        ("cost", y, "decision must be 'f1', 'macro_f1', a cordwood.Decision or None; got 'cost'"),
    ],
)
def test_decisions_that_do_not_fit_the_labels_raise(decision, labels, message):
    with pytest.raises(CordwoodError, match=message) as raised:
        TextClassifier(LOGISTIC, decision=decision).fit(X, labels)
    assert "\n" not in str(raised.value)


def test_a_precision_that_cannot_be_reached_is_an_error():
    codes = np.random.default_rng(1).integers(0, 2, 200)
    codes[:20] = 0
    model = TextClassifier(LOGISTIC, decision=Decision("precision", precision=0.99))
    with pytest.raises(ValueError, match="no threshold has an out-of-fold precision of 0.99"):
        model.fit(np.zeros((200, 2)), codes)


def test_the_threshold_is_at_least_as_good_as_that_of_scikit_learn():
    """Both choose a threshold on the same out-of-fold probabilities."""
    proba = cross_val_predict(LOGISTIC, X, y, cv=FOLDS, method="predict_proba")[:, 1]
    threshold, best = find_f1_threshold(proba, y == 1, np.ones(len(y)))
    reference = TunedThresholdClassifierCV(LOGISTIC, scoring="f1", cv=FOLDS).fit(X, y)
    assert best >= f1_score(y, proba >= reference.best_threshold_)
    own = TextClassifier(LOGISTIC, decision="f1").fit(X, y)
    assert own.decision_.score == pytest.approx(best)
    assert own.decision_.threshold == pytest.approx(threshold)
    assert own.decision_.threshold == pytest.approx(reference.best_threshold_, abs=0.1)
    assert np.array_equal(own.predict(X), (own.predict_proba(X)[:, 1] > threshold).astype(int))


def test_it_works_inside_tuned_threshold_classifier():
    own = TextClassifier(LOGISTIC, decision="f1")
    wrapped = TunedThresholdClassifierCV(own, scoring="f1", cv=3).fit(X[TRAIN], y[TRAIN])
    assert 0 < wrapped.best_threshold_ < 1


@pytest.mark.parametrize("decision", ["f1", "macro_f1"])
def test_f1_of_new_samples_increases(decision):
    forest = RandomForestClassifier(100, random_state=0)
    average = "binary" if decision == "f1" else "macro"
    plain = TextClassifier(forest).fit(X[TRAIN], y[TRAIN])
    tuned = TextClassifier(forest, decision=decision).fit(X[TRAIN], y[TRAIN])
    scores = [f1_score(y[TEST], each.predict(X[TEST]), average=average) for each in (plain, tuned)]
    assert scores[1] > scores[0]
    # A decision does not change probabilities.
    assert np.array_equal(plain.predict_proba(X[TEST]), tuned.predict_proba(X[TEST]))


def test_out_of_fold_predictions_of_forests_and_stacks_are_used():
    forest = RandomForestClassifier(50, random_state=0)
    tuned = TextClassifier(forest, decision="f1").fit(X[TRAIN], y[TRAIN])
    oob = tuned.estimator_[-1].oob_decision_function_[:, 1]
    assert tuned.decision_.score == find_f1_threshold(oob, y[TRAIN] == 1, np.ones(450))[1]
    stack = OOBStackingClassifier([("forest", forest), ("logistic", LOGISTIC)], random_state=0)
    tuned = TextClassifier(stack, decision="f1").fit(X[TRAIN], y[TRAIN])
    oof = tuned.estimator_[-1].oof_proba_[:, 1]
    assert tuned.decision_.score == find_f1_threshold(oof, y[TRAIN] == 1, np.ones(450))[1]


@pytest.mark.parametrize("optimize", ["f1", "macro_f1", "cost"])
def test_weights_count_in_fits_and_in_the_score(optimize):
    """The folds and fits are those of scikit-learn with the same weights."""
    weights = np.random.default_rng(0).integers(1, 4, 450).astype(float)
    costs = np.array([[0.0, 1.0], [5.0, 0.0]])
    decision = Decision(optimize, cost_matrix=costs if optimize == "cost" else None)
    tuned = TextClassifier(LOGISTIC, decision=decision)
    tuned.fit(X[TRAIN], y[TRAIN], sample_weight=weights)
    proba = np.empty((450, 2))
    for train, test in FOLDS.split(X[TRAIN], y[TRAIN]):
        model = clone(LOGISTIC).fit(X[train], y[train], sample_weight=weights[train])
        proba[test] = model.predict_proba(X[test])
    assert np.allclose(tuned.oof_.proba, proba)
    predicted = tuned.decision_.apply(proba)
    if optimize == "cost":
        expected = np.average(costs[y[TRAIN], predicted], weights=weights)
    else:
        average = "binary" if optimize == "f1" else "macro"
        expected = f1_score(y[TRAIN], predicted, average=average, sample_weight=weights)
    assert tuned.decision_.score == pytest.approx(expected)
    whole = clone(LOGISTIC).fit(X[TRAIN], y[TRAIN], sample_weight=weights)
    assert np.allclose(tuned.predict_proba(X[TEST]), whole.predict_proba(X[TEST]))


def test_an_estimator_without_weights_is_named():
    model = TextClassifier(LazyForestClassifier(), decision="f1")
    with pytest.raises(CordwoodError, match="LazyForestClassifier cannot use sample weights"):
        model.fit(X, y, sample_weight=np.ones(len(y)))


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
    model = TextClassifier(estimator, decision="macro_f1")
    assert model.fit(data, labels, groups=groups).decision_.score < 0.75
    if estimator is not LOGISTIC:
        assert model.fit(data, labels).decision_.score > 0.9


def test_costs_are_minimized():
    decision = Decision("cost", cost_matrix=COSTS)
    tuned = TextClassifier(LOGISTIC, decision=decision).fit(X3[TRAIN], y3[TRAIN])
    proba = tuned.predict_proba(X3[TEST])
    expected = [min(range(3), key=lambda k: (p * COSTS[:, k]).sum()) for p in proba]
    assert tuned.predict(X3[TEST]).tolist() == expected
    plain = COSTS[y3[TEST], proba.argmax(axis=1)].mean()
    assert COSTS[y3[TEST], tuned.predict(X3[TEST])].mean() < plain


def test_precision_of_new_samples_is_near_the_target():
    X, y = make_classification(1200, weights=[0.8], class_sep=1.2, random_state=0)
    recalls = []
    for precision in (0.5, 0.75, 0.9):
        tuned = TextClassifier(LOGISTIC, decision=Decision("precision", precision=precision))
        predicted = tuned.fit(X[:600], y[:600]).predict(X[600:])
        assert precision_score(y[600:], predicted) > precision - 0.05
        recalls.append(recall_score(y[600:], predicted))
    assert recalls == sorted(recalls, reverse=True)
    assert recalls[0] > recalls[2]


def test_the_positive_class_is_the_rarer_one_unless_given():
    names = np.where(y == 1, "ham", "spam")  # the rarer class is the first one
    tuned = TextClassifier(LOGISTIC, decision="f1").fit(X, names)
    expected = TextClassifier(LOGISTIC, decision="f1").fit(X, y)
    assert tuned.decision_.positive == "ham"
    assert tuned.decision_.threshold == pytest.approx(expected.decision_.threshold, abs=1e-3)
    assert np.array_equal(tuned.predict(X) == "ham", expected.predict(X) == 1)
    other = TextClassifier(LOGISTIC, decision=Decision("f1", pos_label="spam")).fit(X, names)
    assert other.decision_.score > tuned.decision_.score


RNG = np.random.default_rng(0)
SPAM = RNG.random(120) < 0.2
TEXTS = [
    " ".join(
        RNG.choice(["offer", "free", "win"] if spam else ["meeting", "report", "lunch"], 2).tolist()
        + RNG.choice(["offer", "report", "today", "please", "team", "now"], 5).tolist()
    )
    for spam in SPAM
]
LABELS = np.where(SPAM, "spam", "ham").tolist()


def test_predictions_follow_the_decision_and_have_its_confidence(tmp_path):
    model = TextClassifier("nb", decision="f1").fit(TEXTS, LABELS)
    assert model.decision_.positive == "spam"
    found = model.classify(TEXTS)
    assert np.array_equal(found.labels == "spam", found.proba[:, 1] > model.decision_.threshold)
    spam = (found.labels == "spam").astype(int)
    assert np.array_equal(found.confidence, found.proba[np.arange(120), spam])
    assert [each.prediction for each in model.explain(TEXTS)] == found.labels.tolist()
    model.save(tmp_path / "model.cordwood", precision="full")
    loaded = cordwood.load(tmp_path / "model.cordwood")
    assert loaded.decision_.describe() == model.decision_.describe()
    assert loaded.predict(TEXTS).tolist() == found.labels.tolist()


@pytest.mark.parametrize(
    "decision",
    [
        Decision("f1", pos_label="ham"),
        Decision("macro_f1"),
        Decision("precision", precision=0.5),
        Decision("cost", cost_matrix=[[0.0, 1.0], [5.0, 0.0]]),
        Decision(threshold=0.3),
    ],
)
def test_model_files(decision, tmp_path):
    model = TextClassifier("nb", decision=decision).fit(TEXTS, LABELS)
    model.save(tmp_path / "model.cordwood", precision="full")
    loaded = cordwood.load(tmp_path / "model.cordwood")
    assert loaded.decision == decision
    assert np.array_equal(loaded.predict(TEXTS), model.predict(TEXTS))
    assert np.array_equal(loaded.decision_.matrix, model.decision_.matrix)
    assert loaded.decision_.score == model.decision_.score


def test_expected_scores_are_those_of_the_decision():
    model = TextClassifier(decision="macro_f1").fit(TEXTS, LABELS)
    decided = model.decision_.apply(model.oof_.proba)
    assert model.evaluation_.accuracy == pytest.approx(np.mean(decided == model.oof_.y))
    assert model.evaluation_.macro_f1 == pytest.approx(model.decision_.score)


def test_costs_change_how_often_a_class_is_predicted():
    n_spam = [
        (TextClassifier("nb", decision=Decision("cost", cost_matrix=costs))
         .fit(TEXTS, LABELS).predict(TEXTS) == "spam").sum()
        for costs in ([[0, 50], [1, 0]], [[0, 1], [50, 0]])
    ]  # fmt: skip
    assert n_spam[0] < sum(SPAM) < n_spam[1]


def test_balanced_class_weights():
    plain = TextClassifier("svm").fit(TEXTS, LABELS)
    balanced = TextClassifier("svm", class_weight="balanced").fit(TEXTS, LABELS)
    counts = np.array([LABELS.count(label) for label in LABELS])
    explicit = TextClassifier("svm").fit(TEXTS, LABELS, sample_weight=120 / (2 * counts))
    assert np.array_equal(balanced.predict_proba(TEXTS), explicit.predict_proba(TEXTS))
    means = [each.predict_proba(TEXTS)[:, 1].mean() for each in (plain, balanced)]
    assert means[1] > means[0]
    # Weights of samples are multiplied.
    weights = np.arange(120) % 3 + 1.0
    both = TextClassifier("svm", class_weight="balanced").fit(TEXTS, LABELS, weights)
    product = TextClassifier("svm").fit(TEXTS, LABELS, sample_weight=weights * 120 / (2 * counts))
    assert np.array_equal(both.predict_proba(TEXTS), product.predict_proba(TEXTS))


def test_balanced_class_weights_of_a_stack_leave_out_members_without_weights(caplog):
    members = {"recipe_params": {"members": ["svm", "lazy_rf", "rf"]}}
    plain = TextClassifier(**members).fit(TEXTS, LABELS)
    balanced = TextClassifier(**members, class_weight="balanced").fit(TEXTS, LABELS)
    assert [each.name for each in balanced.members_] == ["svm", "rf"]
    assert "is fitted without lazy_rf, which cannot use sample weights" in caplog.text
    means = [each.predict_proba(TEXTS)[:, 1].mean() for each in (plain, balanced)]
    assert means[1] > means[0]


def test_balanced_class_weights_of_a_stack():
    plain = TextClassifier().fit(TEXTS, LABELS)
    balanced = TextClassifier(class_weight="balanced").fit(TEXTS, LABELS)
    assert [each.name for each in balanced.members_] == [each.name for each in plain.members_]
    means = [each.predict_proba(TEXTS)[:, 1].mean() for each in (plain, balanced)]
    assert means[1] > means[0]


def test_members_of_a_stack_without_weights_are_left_out(caplog):
    members = [("knn", KNeighborsClassifier()), ("logistic", LOGISTIC)]
    stack = OOBStackingClassifier(members, random_state=0)
    model = TextClassifier(stack, class_weight="balanced").fit(X[TRAIN], y[TRAIN])
    assert [each.name for each in model.members_] == ["logistic"]
    assert "is fitted without knn, which cannot use sample weights" in caplog.text
    assert [name for name, _ in stack.estimators] == ["knn", "logistic"]
    only = OOBStackingClassifier(members[:1])
    with pytest.raises(CordwoodError, match="cannot use sample weights or class_weight; choose"):
        TextClassifier(only, class_weight="balanced").fit(X[TRAIN], y[TRAIN])


def test_recipes_without_weights_raise():
    with pytest.raises(CordwoodError, match="recipe 'lazy_rf' cannot use sample weights"):
        TextClassifier("lazy_rf", class_weight="balanced").fit(TEXTS, LABELS)


def test_weights_that_balance_the_classes_do_not_change_the_score_of_a_decision():
    model = TextClassifier("svm", class_weight="balanced", decision="f1").fit(TEXTS, LABELS)
    decided = model.decision_.apply(model.oof_.proba)
    positive = model.classes_.tolist().index(model.decision_.positive)
    expected = f1_score(model.oof_.y == positive, decided == positive)
    assert model.decision_.score == pytest.approx(expected)
