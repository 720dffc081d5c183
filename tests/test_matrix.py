"""Every way to train works with everything one does with a model, and all of them agree.

A cell that cannot work raises one sentence, which `matrix.LIMITS` states.
"""

import pickle
import re
import warnings
from pathlib import Path

import numpy as np
import pytest
from sklearn.base import clone

import cordwood
from cordwood import (
    BatchPredictor,
    CordwoodError,
    Corpus,
    FeatureMatrix,
    TextClassifier,
    audit_dataset,
)
from cordwood.compare.config.plan import parse_plan
from cordwood.compare.runner.cv_splits import Split
from cordwood.compare.runner.procedure import list_trials
from cordwood.compare.runner.run_trial import run_trial
from cordwood.metrics import estimate_learning_curve
from matrix import CALLS, LABELS, LIMITS, WAYS

_fitted = {}


def get_model(way):
    if way not in _fitted:
        params = WAYS[way]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # duplicates among few short texts
            _fitted[way] = TextClassifier(**params.params).fit(params.X, params.y)
    return _fitted[way]


def to_dataset(way):
    """Return the training set as a Corpus or FeatureMatrix."""
    X, y = WAYS[way].X, WAYS[way].y
    labels = tuple(map(tuple, y)) if WAYS[way].is_multilabel else tuple(y)
    ids = tuple(map(str, range(len(y))))
    if isinstance(X, np.ndarray):
        return FeatureMatrix(X=X, ids=ids, labels=labels)
    columns = X if isinstance(X, dict) else {}
    texts = X["body"] if columns else X
    return Corpus(texts=tuple(texts), ids=ids, labels=labels, columns=columns)


def head(X, n=12):
    return {name: values[:n] for name, values in X.items()} if isinstance(X, dict) else X[:n]


def decide(model, proba):
    """Return labels for probabilities, from the records only."""
    decided = model.decision_.apply(proba)
    return decided if decided.ndim == 2 else model.classes_[decided]


def use_predict(way, model, tmp_path):
    proba = model.predict_proba(WAYS[way].X)
    predicted = model.predict(WAYS[way].X)
    if WAYS[way].is_multilabel:
        found = np.array([[label in each for label in model.classes_] for each in predicted])
        np.testing.assert_array_equal(found, decide(model, proba))
    else:
        np.testing.assert_array_equal(predicted, decide(model, proba))


def use_probabilities(way, model, tmp_path):
    proba = model.predict_proba(head(WAYS[way].X))
    assert proba.shape == (12, len(model.classes_))
    np.testing.assert_allclose(proba, model.predict_proba(WAYS[way].X)[:12], atol=1e-6)
    if not WAYS[way].is_multilabel:
        np.testing.assert_allclose(proba.sum(axis=1), 1)


def use_sets(way, model, tmp_path):
    found = model.classify(WAYS[way].X, coverage=0.9)
    assert found.sets.shape == found.proba.shape
    # Out-of-fold scores of training samples are no better than those of their own predictions.
    codes = {label: code for code, label in enumerate(model.classes_.tolist())}
    true = [codes[label] for label in WAYS[way].y]
    assert found.sets[np.arange(len(true)), true].mean() > 0.85


def use_undecided(way, model, tmp_path):
    found = model.classify(WAYS[way].X, max_error=0.3)
    rule = model.make_rule(max_error=0.3)
    np.testing.assert_array_equal(found.is_decided, found.confidence >= rule.min_confidence)
    # The threshold is of the labels that the model decides for.
    oof = model.oof_
    predicted = model.decision_.apply(oof.proba)
    confidence = oof.proba[np.arange(len(oof)), predicted]
    is_decided = confidence >= rule.min_confidence
    assert (predicted != oof.y)[is_decided].mean() == pytest.approx(rule.threshold.error)


def use_min_confidence(way, model, tmp_path):
    found = model.classify(WAYS[way].X, min_confidence=0.7)
    np.testing.assert_array_equal(found.is_decided, found.confidence >= 0.7)


def use_unknown(way, model, tmp_path):
    found = model.classify(WAYS[way].X, unknown=0.05)
    assert found.is_in_scope.mean() > 0.8


def use_shift(way, model, tmp_path):
    assert model.detect_shift(WAYS[way].X) is None
    found = model.detect_shift(["violin concert tonight"] * 20)
    assert {"violin", "concert", "tonight"} <= {each.term for each in found.terms}


def use_evaluate(way, model, tmp_path):
    evaluation = model.evaluate(WAYS[way].X, WAYS[way].y)
    predicted = model.predict(WAYS[way].X)
    correct = [
        set(a) == set(b) if isinstance(b, list) else a == b
        for a, b in zip(predicted, WAYS[way].y, strict=True)
    ]
    assert evaluation.accuracy == pytest.approx(np.mean(correct))
    assert evaluation.accuracy == pytest.approx(model.score(WAYS[way].X, WAYS[way].y))
    assert evaluation.accuracy.low <= evaluation.accuracy <= evaluation.accuracy.high


def use_explain(way, model, tmp_path):
    few = head(WAYS[way].X, 3)
    explanations = model.explain(few)
    proba, predicted = model.predict_proba(few), model.predict(few)
    for explanation, expected, label in zip(explanations, proba, predicted, strict=True):
        np.testing.assert_allclose(explanation.proba, expected, atol=1e-4)
        assert explanation.prediction == label
        total = explanation.baseline + sum(each.contributions for each in explanation.members)
        np.testing.assert_allclose(total, explanation.values, atol=1e-6)
    # A decision does not change how a model is explained.
    plain = TextClassifier(**{**WAYS[way].params, "decision": None})
    if WAYS[way].params.get("decision") is not None:
        other = plain.fit(WAYS[way].X, WAYS[way].y).explain(few)
        assert [each.is_exact for each in other[0].members] == [
            each.is_exact for each in explanations[0].members
        ]


def use_explain_classes(way, model, tmp_path):
    found = model.explain_classes(min_texts=1)
    assert any(found.words_for(label) for label in model.classes_)
    found = model.explain_classes(head(WAYS[way].X, 30), min_texts=1)
    assert len(found.positive) == len(model.classes_)


def accuracy_of(report):
    return report.to_dict()["scores"]["scores"]["accuracy"]["value"]


def use_report(way, model, tmp_path):
    report = model.report(tmp_path / "model.html")
    assert "<html" in (tmp_path / "model.html").read_text(encoding="utf-8")
    if model.evaluation_ is not None:
        assert accuracy_of(report) == pytest.approx(model.evaluation_.accuracy)


def use_report_with_data(way, model, tmp_path):
    report = model.report(None, WAYS[way].X, WAYS[way].y)
    if model.evaluation_ is not None:
        assert accuracy_of(report) == pytest.approx(model.evaluation_.accuracy)
    of_test = model.report(None, head(WAYS[way].X, 40), WAYS[way].y[:40])
    expected = model.evaluate(head(WAYS[way].X, 40), WAYS[way].y[:40]).accuracy
    assert accuracy_of(of_test) == pytest.approx(expected)


def use_save(way, model, tmp_path):
    model.save(tmp_path / "model.cordwood", precision="full")
    loaded = cordwood.load(tmp_path / "model.cordwood")
    assert isinstance(loaded, TextClassifier)
    np.testing.assert_array_equal(
        loaded.predict_proba(WAYS[way].X), model.predict_proba(WAYS[way].X)
    )
    np.testing.assert_array_equal(loaded.predict(WAYS[way].X), model.predict(WAYS[way].X))
    assert str(loaded.evaluation_) == str(model.evaluation_)
    if not isinstance(WAYS[way].X, np.ndarray):
        [a], [b] = (each.explain(head(WAYS[way].X, 1)) for each in (loaded, model))
        np.testing.assert_allclose(a.values, b.values, atol=1e-9)
    if model.oof_ is not None and not WAYS[way].is_multilabel:
        before, after = (
            each.classify(WAYS[way].X, coverage=0.9, unknown=0.05) for each in (model, loaded)
        )
        assert (before.sets == after.sets).mean() > 0.99
        np.testing.assert_array_equal(before.is_in_scope, after.is_in_scope)


def use_batches(way, model, tmp_path):
    model.save(tmp_path / "model.cordwood", precision="full")
    predictor = pickle.loads(
        pickle.dumps(BatchPredictor(tmp_path / "model.cordwood", all_probabilities=True))
    )
    X = WAYS[way].X
    batch = {"text": X} if isinstance(X, list) else X
    found = predictor(batch)
    expected = [[*each] if WAYS[way].is_multilabel else each for each in model.predict(X).tolist()]
    assert found["label"].tolist() == expected
    proba = np.column_stack([found[f"probability:{label}"] for label in model.classes_])
    np.testing.assert_array_equal(proba, model.predict_proba(X))


def use_clone(way, model, tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        again = clone(model).set_params(n_jobs=2).fit(WAYS[way].X, WAYS[way].y)
    np.testing.assert_array_equal(
        again.predict_proba(WAYS[way].X), model.predict_proba(WAYS[way].X)
    )


def use_pickle(way, model, tmp_path):
    copy = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(copy.predict_proba(WAYS[way].X), model.predict_proba(WAYS[way].X))
    assert str(copy.evaluation_) == str(model.evaluation_)


def use_oof(way, model, tmp_path):
    if (way, "out of fold") in LIMITS:
        assert model.oof_ is None
        return
    assert model.oof_.proba.shape == (len(LABELS), len(model.classes_))
    assert not np.isnan(model.oof_.proba).any()


def use_expected_scores(way, model, tmp_path):
    if (way, "expected scores") in LIMITS:
        assert model.evaluation_ is None
        return
    decided = model.decision_.apply(model.oof_.proba)
    correct = (decided == model.oof_.y).reshape(len(LABELS), -1).all(axis=1)
    assert model.evaluation_.accuracy == pytest.approx(correct.mean())


def use_audit(way, model, tmp_path):
    audit = audit_dataset(to_dataset(way), model=model)
    assert audit.accuracy == pytest.approx(model.evaluation_.accuracy)


def use_curve(way, model, tmp_path):
    params = WAYS[way].params
    if "class_descriptions" not in params:  # which need the encoder
        params = {**params, "encoder": None}
    curve = estimate_learning_curve(
        TextClassifier(**params), WAYS[way].X, WAYS[way].y, n_repeats=1, shares=(0.5, 0.75, 1.0)
    )
    assert len(curve.sizes) == 3


def use_compare(way, model, tmp_path):
    params = {"calibrate": True} if way == "calibrated rf" else {}
    params |= WAYS[way].params.get("recipe_params", {})
    names = ("encoder", "decision", "class_weight", "class_descriptions", "columns")
    params |= {name: WAYS[way].params[name] for name in names if WAYS[way].params.get(name)}
    data = to_dataset(way)
    is_numeric = isinstance(data, FeatureMatrix)
    # The file of the plan is not read: the trial gets the data.
    file = tmp_path / ("data.svmlight" if is_numeric else "data.csv")
    file.touch()
    dataset = {"path": file.name, "kind": "numeric" if is_numeric else "text"}
    # TOML has no records.
    params |= {"decision": "f1"} if "decision" in params else {}
    learner = {"recipe": WAYS[way].params.get("estimator", "quick"), "params": params}
    plan = parse_plan({"datasets": [dataset], "learners": [learner]}, folder=tmp_path)
    everything = np.arange(len(LABELS))
    result = run_trial(list_trials(plan)[0], data, Split(everything, everything), seed=0)
    proba = model.predict_proba(WAYS[way].X)
    np.testing.assert_array_equal(result.predictions["proba"], proba.astype(np.float32))


USES = {
    "predict": use_predict,
    "probabilities": use_probabilities,
    "prediction sets": use_sets,
    "undecided samples": use_undecided,
    "least confidence": use_min_confidence,
    "unknown samples": use_unknown,
    "shift": use_shift,
    "evaluate": use_evaluate,
    "explain": use_explain,
    "words of classes": use_explain_classes,
    "report": use_report,
    "report of data": use_report_with_data,
    "save and load": use_save,
    "batches": use_batches,
    "clone": use_clone,
    "pickle": use_pickle,
    "out of fold": use_oof,
    "expected scores": use_expected_scores,
    "audit": use_audit,
    "learning curve": use_curve,
    "compare": use_compare,
}


@pytest.fixture(autouse=True)
def user_dirs(monkeypatch, tmp_path):
    monkeypatch.setenv("CORDWOOD_CACHE_DIR", str(tmp_path / "user-cache"))


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("way", WAYS)
def test_cell(way, use, tmp_path):
    model = get_model(way)
    sentence = LIMITS.get((way, use))
    if not sentence:
        USES[use](way, model, tmp_path)
        return
    with pytest.raises((CordwoodError, ValueError), match=re.escape(sentence)) as error:
        USES[use](way, model, tmp_path)
    assert "\n" not in str(error.value)


def test_limits_name_existing_cells():
    assert {way for way, _ in LIMITS} <= set(WAYS)
    assert {use for _, use in LIMITS} <= set(USES) == set(CALLS)


def test_documentation_states_the_limits():
    page = Path(__file__).parents[1] / "docs" / "limits.md"
    rows = [line.split(" | ") for line in page.read_text(encoding="utf-8").splitlines()]
    stated = {
        (way, row[0].removeprefix("| ").partition(":")[0]): row[2]
        for row in rows
        if len(row) == 3
        for way in row[1].split("; ")
    }
    assert {cell: sentence for cell, sentence in LIMITS.items() if cell not in stated} == {}
    assert all(sentence in stated[cell] for cell, sentence in LIMITS.items())
    assert len(stated) == len(LIMITS) + 2  # the header and the line below it
