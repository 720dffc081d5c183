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
from sklearn.utils.estimator_checks import parametrize_with_checks

from cordwood.datasets.registry import load_dataset
from cordwood.rules.estimators import AdaUBoostClassifier, LPUBoostClassifier
from cordwood.text.vectorizer import TextVectorizer

MODELS = [AdaUBoostClassifier(max_iter=40), LPUBoostClassifier()]
both = pytest.mark.parametrize("model", MODELS, ids=["ada", "lp"])


def make_topics(n_docs=240, n_words=60, sizes=(0.6, 0.3, 0.1), seed=0):
    """Documents of uneven topics, each of which favours words of its own."""
    rng = np.random.default_rng(seed)
    y = rng.choice(len(sizes), size=n_docs, p=sizes)
    y[: len(sizes)] = np.arange(len(sizes))
    rates = np.full((len(sizes), n_words), 0.08)
    for topic in range(len(sizes)):
        rates[topic, topic * 8 : topic * 8 + 8] = 0.45
    return sp.csr_matrix(rng.random((n_docs, n_words)) < rates[y], dtype=np.float32), y


X, TOPICS = make_topics()
RARE = TOPICS == 2


@parametrize_with_checks(MODELS)
def test_scikit_learn_accepts(estimator, check):
    check(estimator)


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
def test_names_of_labels_do_not_say_which_class_is_dear(model):
    small, large = "a", "z"
    first = clone(model).fit(X, np.where(RARE, small, large))
    second = clone(model).fit(X, np.where(RARE, large, small))
    assert np.array_equal(first.predict(X) == small, second.predict(X) == large)
    np.testing.assert_array_equal(first.decision_function(X), -second.decision_function(X))


@both
def test_a_mapping_says_which_class_is_dear(model):
    found = [
        clone(model).set_params(beta=beta).fit(X, RARE).predict(X).sum()
        for beta in ({False: 30.0}, {True: 30.0})
    ]
    assert found[0] < found[1]
    number, mapping = (
        clone(model).set_params(beta=beta).fit(X, RARE).decision_function(X)
        for beta in (3.0, {True: 3.0})
    )
    np.testing.assert_array_equal(number, mapping)
    ratio = clone(model).set_params(beta={True: 6.0, False: 2.0}).fit(X, RARE)
    np.testing.assert_array_equal(ratio.decision_function(X), number)


@both
def test_balanced_is_the_quotient_of_sizes(model):
    quotient = float((~RARE).sum() / RARE.sum())
    ours, theirs = (
        clone(model).set_params(beta=beta).fit(X, RARE).decision_function(X)
        for beta in ("balanced", quotient)
    )
    np.testing.assert_allclose(ours, theirs, atol=1e-9)


@both
def test_order_of_rows_copies_and_jobs_make_no_difference(model):
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
def test_several_labels_are_learnt_one_by_one(model):
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
def test_labels_of_none_and_of_all_documents_are_constant(model):
    Y = np.column_stack([np.zeros_like(RARE), np.ones_like(RARE), RARE]).astype(int)
    fitted = clone(model).fit(X, Y)
    assert (fitted.predict(X)[:, :2] == [0, 1]).all()
    never, always = fitted.predict_proba(X)[0, :2]
    assert 0 < never < 0.01
    assert 0.99 < always < 1
    assert fitted.describe(0).splitlines()[2].split()[0] == "(always)"


@both
@pytest.mark.parametrize("n_plus", [1, 2, 3])
def test_one_two_or_three_positive_documents_are_enough(model, n_plus):
    y = np.zeros(X.shape[0], int)
    y[np.flatnonzero(RARE)[:n_plus]] = 1
    marked = X.tolil()
    marked[:, 59] = y[:, None]
    fitted = clone(model).fit(marked.tocsr(), y)
    assert np.array_equal(fitted.predict(marked.tocsr()), y)
    assert (fitted.predict_proba(marked.tocsr())[:, 1] < 1).all()


@both
def test_documents_without_words_are_answered(model):
    bare = sp.vstack([X, sp.csr_matrix((5, X.shape[1]), dtype=np.float32)]).tocsr()
    labels = np.append(RARE, np.zeros(5, bool))
    fitted = clone(model).fit(bare, labels)
    assert not fitted.predict(bare[-5:]).any()


@both
def test_probabilities_are_better_than_the_share_of_the_class(model):
    test, labels = make_topics(n_docs=1500, seed=1)
    fitted = clone(model).fit(X, RARE)
    probabilities = fitted.predict_proba(test)[:, 1]
    share = np.full(len(labels), RARE.mean())
    assert log_loss(labels == 2, probabilities) < log_loss(labels == 2, share)
    raw = clone(model).set_params(calibration_folds=None).fit(X, RARE)
    np.testing.assert_array_equal(raw.slopes_, 1.0)
    assert log_loss(labels == 2, probabilities) < log_loss(labels == 2, raw.predict_proba(test))


def test_stages_lead_to_the_model():
    for model in (AdaUBoostClassifier(max_iter=7), LPUBoostClassifier(keep_stages=True)):
        for labels in (RARE, TOPICS):
            model.fit(X, labels)
            stages = list(model.staged_decision_function(X))
            assert len(stages) == model.n_iter_.max()
            np.testing.assert_allclose(stages[-1], model.decision_function(X), atol=1e-6)
            *_, last = model.staged_predict(X)
            assert (last == model.predict(X)).mean() > 0.99


def test_stages_that_were_not_kept_are_asked_for_in_vain():
    model = LPUBoostClassifier().fit(X, RARE)
    with pytest.raises(ValueError, match="keep_stages=True"):
        next(model.staged_predict(X))


@both
def test_rules_can_be_read_and_add_up_to_the_decision(model):
    names = [f"word{number}" for number in range(X.shape[1])]
    frame = pd.DataFrame(X.toarray(), columns=names)
    fitted = clone(model).fit(frame, np.where(RARE, "rare", "usual"))
    (rules,) = fitted.rules_
    expected = [
        sum(rule.weight * (rule.present if row[rule.word] else rule.absent) for rule in rules)
        for _, row in frame.head(20).iterrows()
    ]
    np.testing.assert_allclose(fitted.decision_function(frame.head(20)), expected)
    for_rare, for_usual = (fitted.describe(label).splitlines() for label in ("rare", "usual"))
    assert for_rare[0] == f"rare: {len(rules)} rule{'s' if len(rules) > 1 else ''}"
    assert len(for_rare) == len(for_usual) == len(rules) + 2
    present = [float(line[2].split()[1]) for line in (for_rare[2:], for_usual[2:]) if len(line) > 2]
    assert not present or present[0] == -present[1]
    plain = clone(model).fit(X, RARE)
    assert isinstance(plain.rules_[0][0].word, int)
    assert "word" in plain.describe(True, feature_names=names).splitlines()[2]


def test_what_lp_tells_of_itself():
    model = LPUBoostClassifier(weak_learner="disc.lp", tol=1e-6).fit(X, TOPICS)
    assert model.converged_.tolist() == [True] * 3
    assert model.margin_.shape == model.duality_gap_.shape == model.n_iter_.shape == (3,)
    assert (model.duality_gap_ < 1e-5).all()
    for rules in model.rules_:
        assert sum(rule.weight for rule in rules) == pytest.approx(1)
        assert max(abs(rule.present) for rule in rules) <= 1


def test_too_few_rounds_are_told():
    with pytest.warns(ConvergenceWarning, match="max_iter=1 rounds"):
        model = LPUBoostClassifier(max_iter=1, columns_per_iter=1).fit(X, RARE)
    assert not model.converged_[0]
    assert model.duality_gap_[0] > model.tol


@pytest.mark.parametrize(
    ("parameters", "told"),
    [
        ({"beta": 0.5}, "beta must be a number of at least 1; got 0.5"),
        ({"beta": "even"}, "beta must be one of 'balanced'"),
        ({"beta": {"no": 2.0}}, "beta has a cost for 'no'"),
        ({"beta": {True: -1.0}}, "beta must map True to a number above zero"),
        ({"weak_learner": "real"}, "weak_learner must be one of 'real.mh'"),
        ({"max_iter": 0}, "max_iter must be an integer >= 1"),
        ({"tol": -1.0}, "tol must be a number of at least 0"),
        ({"calibration_folds": 1}, "calibration_folds must be an integer >= 2"),
    ],
)
@both
def test_wrong_parameters_are_named(model, parameters, told):
    with pytest.raises(ValueError, match=told):
        clone(model).set_params(**parameters).fit(X, RARE)


@pytest.mark.parametrize(
    ("parameters", "told"),
    [
        ({"nu": 0}, "nu must be a positive number"),
        ({"nu": 40.0}, "nu=40 leaves no feasible costs"),
        ({"min_cost": 0.5}, "min_cost, if it is not zero, must be a number of at least 1"),
        ({"bound_scaling": "literal"}, "bound_scaling must be one of"),
        ({"columns_per_iter": 0}, "columns_per_iter must be"),
        ({"keep_stages": "yes"}, "keep_stages must be"),
    ],
)
def test_wrong_parameters_of_lp_are_named(parameters, told):
    with pytest.raises(ValueError, match=told):
        LPUBoostClassifier(**parameters).fit(X, RARE)


def test_wrong_parameters_of_ada_are_named():
    with pytest.raises(ValueError, match="update must be one of"):
        AdaUBoostClassifier(update="slow").fit(X, RARE)


@both
def test_wrong_input_is_told(model):
    with pytest.raises(ValueError, match="one class, 'x'"):
        clone(model).fit(X, ["x"] * X.shape[0])
    with pytest.raises(ValueError, match="sample_weight is zero|at least one non-zero"):
        clone(model).fit(X, RARE, sample_weight=np.zeros(X.shape[0]))
    with pytest.raises(ValueError, match="MultiLabelBinarizer"):
        clone(model).fit(X, np.column_stack([TOPICS, TOPICS]))
    with pytest.raises(NotFittedError):
        clone(model).describe("x")
    fitted = clone(model).fit(X, RARE)
    with pytest.raises(ValueError, match="'x' is not among the classes of this model: False, True"):
        fitted.describe("x")
    with pytest.raises(ValueError, match="feature_names has 2 names for 60 columns"):
        fitted.describe(True, feature_names=["a", "b"])


@both
def test_rules_of_a_stranger_are_refused(model):
    fitted = clone(model).fit(X, RARE)
    copy = pickle.loads(pickle.dumps(fitted))
    assert copy.predict_proba(X).tobytes() == fitted.predict_proba(X).tobytes()
    rules = fitted._machines[0]
    fitted._machines = [rules._replace(word=rules.word + np.int32(10_000))]
    with pytest.raises(ValueError, match="not among the 60 columns"):
        pickle.loads(pickle.dumps(fitted))


@pytest.fixture(scope="module")
def reuters():
    root = Path(__file__).resolve().parents[2]
    folder = Path(os.environ.get("CORDWOOD_DATA") or root.parent / "shared" / "datasets")
    if not (folder / "reuters21578.jsonl.gz").is_file():
        pytest.skip("Reuters-21578 is not here; name its folder in CORDWOOD_DATA")
    rows = load_dataset("reuters21578", data_dir=folder)
    parts = [
        rows.select(np.flatnonzero(np.array(rows.split) == part)) for part in ("train", "test")
    ]
    words = TextVectorizer(preset="icml03")
    matrices = words.fit_transform(parts[0].texts), words.transform(parts[1].texts)
    return matrices, [part.labels for part in parts], words.get_feature_names_out()


@pytest.mark.parametrize(
    ("category", "least", "words"),
    [("platinum", 1.0, {"platinum"}), ("naphtha", 0.8, {"naphtha"}), ("cotton", 0.9, {"cotton"})],
)
def test_a_word_is_enough_for_a_small_category(reuters, category, least, words):
    (train, test), labels, names = reuters
    y, y_test = (np.array([category in topics for topics in part]) for part in labels)
    model = LPUBoostClassifier(calibration_folds=None).fit(train, y)
    assert f1_score(y_test, model.predict(test)) >= least
    heaviest = max(model.rules_[0], key=lambda rule: rule.weight)
    assert names[heaviest.word] in words


def test_only_the_literal_reading_gives_up_a_small_category(reuters):
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
