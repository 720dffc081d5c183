import os
import pickle
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.metrics import f1_score, log_loss

from cordwood.datasets.registry import load_dataset
from cordwood.exceptions import ModelFileError
from cordwood.persist import save
from cordwood.rules import AdaUBoostClassifier, LPUBoostClassifier
from cordwood.text.vectorizer import TextVectorizer

MODELS = [AdaUBoostClassifier(max_iter=40), LPUBoostClassifier()]
both = pytest.mark.parametrize("model", MODELS, ids=["ada", "lp"])


def make_topics(n_samples=240, n_features=60, sizes=(0.6, 0.3, 0.1), seed=0):
    """Draw imbalanced classes, each with eight features that are frequent in it."""
    rng = np.random.default_rng(seed)
    y = rng.choice(len(sizes), size=n_samples, p=sizes)
    y[: len(sizes)] = np.arange(len(sizes))
    rates = np.full((len(sizes), n_features), 0.08)
    for topic in range(len(sizes)):
        rates[topic, topic * 8 : topic * 8 + 8] = 0.45
    return sp.csr_matrix(rng.random((n_samples, n_features)) < rates[y], dtype=np.float32), y


X, TOPICS = make_topics()
RARE = TOPICS == 2


@both
def test_decisions_probabilities_and_predictions_agree(model):
    for labels in (RARE, TOPICS):
        fitted = clone(model).fit(X, labels)
        decisions, probabilities = fitted.decision_function(X), fitted.predict_proba(X)
        np.testing.assert_allclose(probabilities.sum(axis=1), 1)
        if labels is RARE:
            assert decisions.shape == (X.shape[0],)
            assert np.array_equal(fitted.predict(X), decisions > 0)
            order = np.argsort(decisions)
            assert (np.diff(probabilities[order, 1]) >= 0).all()
        else:
            assert decisions.shape == (X.shape[0], 3)
            assert np.array_equal(fitted.predict(X), decisions.argmax(axis=1))
        assert np.array_equal(fitted.predict(X), fitted.classes_[probabilities.argmax(axis=1)])
        assert f1_score(labels, fitted.predict(X), average="macro") > 0.85


@both
def test_label_names_do_not_determine_costly_class(model):
    first = clone(model).fit(X, np.where(RARE, "a", "z"))
    second = clone(model).fit(X, np.where(RARE, "z", "a"))
    assert np.array_equal(first.predict(X) == "a", second.predict(X) == "z")
    np.testing.assert_array_equal(first.decision_function(X), -second.decision_function(X))
    np.testing.assert_allclose(first.predict_proba(X), second.predict_proba(X)[:, ::-1], atol=1e-12)


@both
def test_beta_as_dict_sets_cost_of_each_class(model):
    n_predicted = [
        clone(model).set_params(beta=beta).fit(X, RARE).predict(X).sum()
        for beta in ({False: 30.0}, {True: 30.0})
    ]
    assert n_predicted[0] < n_predicted[1]
    as_float, as_dict = (
        clone(model).set_params(beta=beta).fit(X, RARE).decision_function(X)
        for beta in (3.0, {True: 3.0})
    )
    np.testing.assert_array_equal(as_float, as_dict)
    ratio = clone(model).set_params(beta={True: 6.0, False: 2.0}).fit(X, RARE)
    np.testing.assert_array_equal(ratio.decision_function(X), as_float)


@both
def test_balanced_beta_is_ratio_of_class_sizes(model):
    ratio = float((~RARE).sum() / RARE.sum())
    balanced, expected = (
        clone(model).set_params(beta=beta).fit(X, RARE).decision_function(X)
        for beta in ("balanced", ratio)
    )
    np.testing.assert_allclose(balanced, expected, atol=1e-9)


@both
def test_result_does_not_depend_on_order_duplicates_or_n_jobs(model):
    expected = clone(model).fit(X, TOPICS).predict_proba(X)
    order = np.random.default_rng(3).permutation(X.shape[0])
    shuffled = clone(model).set_params(n_jobs=2).fit(X[order], TOPICS[order])
    assert shuffled.predict_proba(X).tobytes() == expected.tobytes()
    weights = np.random.default_rng(4).integers(0, 3, X.shape[0])
    copies = np.repeat(np.arange(X.shape[0]), weights)
    weighted = clone(model).fit(X, TOPICS, sample_weight=weights)
    copied = clone(model).fit(X[copies], TOPICS[copies])
    assert weighted.predict_proba(X).tobytes() == copied.predict_proba(X).tobytes()


@both
def test_multilabel_equals_independent_binary_problems(model):
    Y = np.column_stack([TOPICS == 0, RARE, RARE | (TOPICS == 1)]).astype(int)
    fitted = clone(model).fit(X, Y)
    assert fitted.predict(X).shape == Y.shape
    assert f1_score(Y, fitted.predict(X), average="macro") > 0.85
    assert np.array_equal(fitted.predict(X), fitted.decision_function(X) > 0)
    assert np.array_equal(fitted.predict_proba(X) > 0.5, fitted.predict(X) == 1)
    sparse = clone(model).fit(X, sp.csr_matrix(Y))
    np.testing.assert_array_equal(sparse.decision_function(X), fitted.decision_function(X))
    alone = clone(model).set_params(calibration_folds=None).fit(X, RARE)
    np.testing.assert_allclose(fitted.decision_function(X)[:, 1], alone.decision_function(X))


@both
def test_labels_of_no_sample_or_all_samples_are_constant(model):
    Y = np.column_stack([np.zeros_like(RARE), np.ones_like(RARE), RARE]).astype(int)
    fitted = clone(model).fit(X, Y)
    assert (fitted.predict(X)[:, :2] == [0, 1]).all()
    never, always = fitted.predict_proba(X)[0, :2]
    assert 0 < never < 0.01
    assert 0.99 < always < 1
    assert fitted.describe(0).splitlines()[2].split()[0] == "(always)"


@both
@pytest.mark.parametrize("n_positive", [1, 2, 3])
def test_very_rare_class_is_detected(model, n_positive):
    y = np.zeros(X.shape[0], int)
    y[np.flatnonzero(RARE)[:n_positive]] = 1
    marked = X.tolil()
    marked[:, 59] = y[:, None]
    fitted = clone(model).fit(marked.tocsr(), y)
    assert np.array_equal(fitted.predict(marked.tocsr()), y)
    assert (fitted.predict_proba(marked.tocsr())[:, 1] < 1).all()


@both
def test_all_zero_samples_are_predicted(model):
    X_padded = sp.vstack([X, sp.csr_matrix((5, X.shape[1]), dtype=np.float32)]).tocsr()
    labels = np.append(RARE, np.zeros(5, bool))
    fitted = clone(model).fit(X_padded, labels)
    assert not fitted.predict(X_padded[-5:]).any()


@both
def test_calibrated_probabilities_improve_log_loss(model):
    test, labels = make_topics(n_samples=1500, seed=1)
    fitted = clone(model).fit(X, RARE)
    probabilities = fitted.predict_proba(test)[:, 1]
    prior = np.full(len(labels), RARE.mean())
    assert log_loss(labels == 2, probabilities) < log_loss(labels == 2, prior)
    uncalibrated = clone(model).set_params(calibration_folds=None).fit(X, RARE)
    np.testing.assert_array_equal(uncalibrated.temperatures_, 1.0)
    uncalibrated_loss = log_loss(labels == 2, uncalibrated.predict_proba(test))
    assert log_loss(labels == 2, probabilities) < uncalibrated_loss


def compute_ece(y_true, proba, classes, n_bins=15):
    """Return the expected calibration error of the confidence."""
    confidence = proba.max(axis=1)
    is_correct = classes[proba.argmax(axis=1)] == y_true
    bins = np.minimum((confidence * n_bins).astype(int), n_bins - 1)
    return np.abs(np.bincount(bins, confidence - is_correct)).sum() / len(y_true)


@both
def test_probabilities_of_many_classes_are_calibrated(model):
    sizes = 0.85 ** np.arange(16)
    params = {"n_features": 130, "sizes": sizes / sizes.sum()}
    train, labels = make_topics(n_samples=600, **params)
    test, test_labels = make_topics(n_samples=2000, seed=1, **params)
    fitted = clone(model).fit(train, labels)
    proba = fitted.predict_proba(test)
    assert fitted.temperatures_.shape == (16, 2)
    assert compute_ece(test_labels, proba, fitted.classes_) < 0.1
    assert np.array_equal(fitted.predict(test), fitted.decision_function(test).argmax(axis=1))


@both
@pytest.mark.parametrize("n_classes", [2, 4])
def test_identical_samples_of_all_classes_have_uniform_probabilities(model, n_classes):
    y = np.arange(100) % n_classes
    fitted = clone(model).fit(np.ones((100, 1)), y)
    proba = fitted.predict_proba(np.ones((1, 1)))
    np.testing.assert_allclose(proba, 1 / n_classes, atol=0.01)


@both
def test_calibration_does_not_depend_on_rounding_errors_of_votes(model):
    """Every sample is in both classes, at equal costs, so that all votes cancel out."""
    samples = np.repeat(np.random.RandomState(0).rand(50, 3) < 0.5, 2, axis=0)
    y = np.tile([False, True], 50)
    fitted = clone(model).set_params(beta=1.0).fit(samples, y)
    np.testing.assert_array_equal(fitted.decision_function(samples), 0.0)
    np.testing.assert_allclose(fitted.temperatures_[:, 0], fitted.temperatures_[:, 1])
    assert (fitted.temperatures_ > 1e-6).all()


def test_last_stage_equals_the_model():
    for model in (AdaUBoostClassifier(max_iter=7), LPUBoostClassifier(keep_stages=True)):
        for labels in (RARE, TOPICS):
            model.fit(X, labels)
            stages = list(model.staged_decision_function(X))
            assert len(stages) == model.n_iter_.max()
            np.testing.assert_allclose(stages[-1], model.decision_function(X), atol=1e-6)
            *_, last = model.staged_predict(X)
            assert (last == model.predict(X)).mean() > 0.99


def test_staged_predict_requires_keep_stages():
    model = LPUBoostClassifier().fit(X, RARE)
    with pytest.raises(ValueError, match="keep_stages=True"):
        next(model.staged_predict(X))


@both
def test_rules_sum_to_the_decision_function(model):
    names = [f"word{index}" for index in range(X.shape[1])]
    frame = pd.DataFrame(X.toarray(), columns=names)
    fitted = clone(model).fit(frame, np.where(RARE, "rare", "usual"))
    (rules,) = fitted.rules_
    expected = [
        sum(rule.weight * (rule.present if row[rule.feature] else rule.absent) for rule in rules)
        for _, row in frame.head(20).iterrows()
    ]
    np.testing.assert_allclose(fitted.decision_function(frame.head(20)), expected)
    unnamed = clone(model).fit(X, RARE)
    assert isinstance(unnamed.rules_[0][0].feature, int)
    assert "word" in unnamed.describe(True, feature_names=names).splitlines()[2]


@both
@pytest.mark.parametrize("max_iter", [1, 40])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_describe_lists_all_rules_with_opposite_votes_for_the_other_class(model, max_iter):
    labels = np.where(RARE, "rare", "usual")
    fitted = clone(model).set_params(max_iter=max_iter).fit(X, labels)
    (rules,) = fitted.rules_  # of the second class, "usual"
    tables = [fitted.describe(label).splitlines() for label in ("rare", "usual")]
    for label, table in zip(("rare", "usual"), tables, strict=True):
        assert table[0] == f"{label}: {len(rules)} rule{'s' if len(rules) > 1 else ''}"
        assert table[1].split() == ["feature", "present", "absent", "weight"]
    rare, usual = ([line.split() for line in table[2:]] for table in tables)
    assert len(rare) == len(usual) == len(rules)
    for first, second in zip(rare, usual, strict=True):
        assert (first[0], first[3]) == (second[0], second[3])
        assert [float(vote) for vote in first[1:3]] == [-float(vote) for vote in second[1:3]]
    assert any(float(row[1]) for row in rare)


def test_lpuboost_diagnostics():
    model = LPUBoostClassifier(weak_learner="disc.lp", tol=1e-6).fit(X, TOPICS)
    assert model.converged_.tolist() == [True] * 3
    assert model.margin_.shape == model.duality_gap_.shape == model.n_iter_.shape == (3,)
    assert (model.duality_gap_ < 1e-5).all()
    for rules in model.rules_:
        assert sum(rule.weight for rule in rules) == pytest.approx(1)
        assert max(abs(rule.present) for rule in rules) <= 1


def test_convergence_warning_of_lpuboost():
    with pytest.warns(
        ConvergenceWarning,
        match="1 of 1 binary problems after max_iter=1 iterations. Increase max_iter or tol",
    ):
        model = LPUBoostClassifier(max_iter=1, columns_per_iter=1).fit(X, RARE)
    assert not model.converged_[0]
    assert model.duality_gap_[0] > model.tol


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"beta": 0.5}, "^beta must be .*; got 0.5"),
        ({"beta": "even"}, "^beta must be .*'balanced'.*; got 'even'"),
        ({"beta": {"no": 2.0}}, "^beta has the label 'no', which is not in y"),
        ({"beta": {True: -1.0}}, "^beta must be .*positive numbers; got {True: -1.0}"),
        ({"weak_learner": "real"}, "^weak_learner must be one of 'real.mh'"),
        ({"max_iter": 0}, "^max_iter must be .*; got 0"),
        ({"tol": -1.0}, "^tol must be .*; got -1.0"),
        ({"calibration_folds": 1}, "^calibration_folds must be .*; got 1"),
        ({"n_jobs": 0}, "^n_jobs must be .*; got 0"),
    ],
)
@both
def test_invalid_parameters_raise(model, params, message):
    with pytest.raises(ValueError, match=message):
        clone(model).set_params(**params).fit(X, RARE)


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"nu": 0}, "^nu must be .*; got 0"),
        ({"nu": 40.0}, "nu=40 leaves no feasible costs"),
        ({"min_cost": -0.1}, "^min_cost must be .*; got -0.1"),
        ({"min_cost": 50}, "^min_cost must be .*; got 50"),
        ({"bound_scaling": "literal"}, "^bound_scaling must be one of"),
        ({"columns_per_iter": 0}, "^columns_per_iter must be"),
        ({"keep_stages": "yes"}, "^keep_stages must be True or False; got 'yes'"),
        ({"keep_stages": 1}, "^keep_stages must be True or False; got 1"),
    ],
)
def test_invalid_parameters_of_lpuboost_raise(params, message):
    with pytest.raises(ValueError, match=message):
        LPUBoostClassifier(**params).fit(X, RARE)


def test_invalid_parameters_of_adauboost_raise():
    with pytest.raises(ValueError, match="update must be one of"):
        AdaUBoostClassifier(update="slow").fit(X, RARE)


@both
def test_invalid_input_raises(model):
    with pytest.raises(ValueError, match="one class, 'x'"):
        clone(model).fit(X, ["x"] * X.shape[0])
    with pytest.raises(ValueError, match=r"y\[1\] is None; every sample needs a label"):
        clone(model).fit(X, np.array(["x", None] * (X.shape[0] // 2), object))
    with pytest.raises(ValueError, match="sample_weight must be positive|at least one non-zero"):
        clone(model).fit(X, RARE, sample_weight=np.zeros(X.shape[0]))
    with pytest.raises(ValueError, match="MultiLabelBinarizer"):
        clone(model).fit(X, np.column_stack([TOPICS, TOPICS]))
    with pytest.raises(NotFittedError):
        clone(model).describe("x")
    fitted = clone(model).fit(X, RARE)
    with pytest.raises(ValueError, match="label must be one of the classes False, True; got 'x'"):
        fitted.describe("x")
    with pytest.raises(
        ValueError, match="feature_names must have 60 names, one per feature; got 2"
    ):
        fitted.describe(True, feature_names=["a", "b"])


@both
def test_saved_rules_are_validated(model, tmp_path):
    fitted = clone(model).fit(X, RARE)
    copy = pickle.loads(pickle.dumps(fitted))
    assert copy.predict_proba(X).tobytes() == fitted.predict_proba(X).tobytes()
    rules = fitted._rule_sets[0]
    fitted._rule_sets = [rules._replace(feature=rules.feature + np.int32(10_000))]
    with pytest.raises(ModelFileError, match="exceeds the 60 features"):
        save(fitted, tmp_path / "rules.cordwood")


@pytest.fixture(scope="module")
def reuters():
    root = Path(__file__).resolve().parents[2]
    folder = Path(os.environ.get("CORDWOOD_DATA") or root.parent / "shared" / "datasets")
    if not (folder / "reuters21578.jsonl.gz").is_file():
        pytest.skip("Reuters-21578 not found; set CORDWOOD_DATA to its directory")
    corpus = load_dataset("reuters21578", data_dir=folder)
    parts = [
        corpus.select(np.flatnonzero(np.array(corpus.split) == part)) for part in ("train", "test")
    ]
    vectorizer = TextVectorizer(preset="icml03")
    matrices = vectorizer.fit_transform(parts[0].texts), vectorizer.transform(parts[1].texts)
    return matrices, [part.labels for part in parts], vectorizer.get_feature_names_out()


@pytest.mark.parametrize(
    ("category", "min_f1"), [("platinum", 1.0), ("naphtha", 0.8), ("cotton", 0.9)]
)
def test_one_word_identifies_a_rare_category(reuters, category, min_f1):
    (train, test), labels, names = reuters
    y, y_test = (np.array([category in topics for topics in part]) for part in labels)
    model = LPUBoostClassifier(calibration_folds=None).fit(train, y)
    assert f1_score(y_test, model.predict(test)) >= min_f1
    heaviest = max(model.rules_[0], key=lambda rule: rule.weight)
    assert names[heaviest.feature] == category


def test_paper_bound_scaling_never_predicts_a_rare_category(reuters):
    (train, test), labels, _ = reuters
    y, y_test = (np.array(["lead" in topics for topics in part]) for part in labels)
    scores = {
        bound_scaling: f1_score(
            y_test,
            LPUBoostClassifier(bound_scaling=bound_scaling, calibration_folds=None)
            .fit(train, y)
            .predict(test),
        )
        for bound_scaling in ("paper", "geometric")
    }
    assert scores["paper"] == 0
    assert scores["geometric"] > 0.7
