"""Expected scores in model files."""

import json
from dataclasses import replace

import numpy as np
import pytest

from cordwood import TextClassifier, load, persist
from cordwood.exceptions import ModelFileError
from cordwood.metrics import Evaluation, Score
from cordwood.metrics.baselines import score_baselines
from cordwood.metrics.evaluation import evaluate_oof
from model_files import load_error, rewrite

TEXTS = [f"{word} film n{i % 9}" for i in range(12) for word in ("good", "bad", "odd")]
LABELS = np.array(["+", "-", "o"] * 12)


def fit(labels=LABELS, **params):
    return TextClassifier("nb", calibrate=False, oof=True, **params).fit(TEXTS, labels)


def assert_equal(found, expected):
    """Compare evaluations, with all limits of their scores."""
    assert isinstance(found, Evaluation)
    assert found.to_dict() == expected.to_dict()
    np.testing.assert_array_equal(found.confusion, expected.confusion)


@pytest.fixture(scope="module")
def model():
    return fit()


@pytest.fixture(scope="module")
def file(model, tmp_path_factory):
    return persist.save(model, tmp_path_factory.mktemp("model") / "model")


def test_fit_estimates_the_scores(model):
    assert_equal(model.evaluation_, evaluate_oof(model.oof_))


def test_scores_are_restored(model, file):
    assert_equal(load(file).evaluation_, model.evaluation_)


@pytest.mark.parametrize(
    "labels", [LABELS, np.array([7, -1, 3] * 12), np.array([False, True] * 18)]
)
def test_baselines_and_labels_are_restored(labels, tmp_path):
    model = fit(labels)
    oof = replace(model.oof_, groups=np.arange(len(TEXTS)) // 3)
    model.evaluation_ = replace(evaluate_oof(oof), baselines=score_baselines(TEXTS, oof))
    found = load(persist.save(model, tmp_path / "model")).evaluation_
    assert_equal(found, model.evaluation_)
    assert found.n_groups == 12
    assert len(found.baselines) == 2
    assert [type(each.label) for each in found.classes] == [type(labels[0].item())] * len(
        np.unique(labels)
    )


def test_model_without_scores_has_none(tmp_path):
    model = TextClassifier("svm").fit(TEXTS, LABELS)
    assert model.evaluation_ is None
    assert load(persist.save(model, tmp_path / "model")).evaluation_ is None


def change_scores(change):
    """Return a function that changes the scores in the tree of a model file."""

    def apply(tree):
        nodes = [tree]
        while nodes:
            node = nodes.pop()
            if isinstance(node, dict):
                if isinstance(node.get("evaluation_"), dict):
                    node["evaluation_"] = change(node["evaluation_"])
                nodes.extend(node.values())
            elif isinstance(node, list):
                nodes.extend(node)

    return apply


def change_score(name, *values):
    return lambda node: {**node, "scores": {**node["scores"], name: [*values]}}


def classes_of(*fields):
    """Scores of the classes, with other numbers."""
    return lambda node: {**node, "classes": [[i, *fields] for i in range(3)]}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda node: [], "wrong structure"),
        (lambda node: {**node, "more": 1}, "wrong structure"),
        (lambda node: {**node, "scores": []}, "wrong structure"),
        (lambda node: {**node, "scores": {}}, "in their ranges"),
        (change_score("samples_f1", 0.5, 0.5, 0.5), "in their ranges"),
        (change_score("beauty", 0.5, 0.5, 0.5), "in their ranges"),
        (change_score("accuracy", 0.5, 0.5), "three numbers"),
        (change_score("accuracy", 1, 0.5, 0.5), "three numbers"),
        (change_score("accuracy", 0.5, 0.5, "1"), "in their ranges"),
        (change_score("accuracy", 0.5, 0.5, None), "in their ranges"),
        (change_score("accuracy", 0.5, 0.5, 1.5), "in their ranges"),
        (change_score("accuracy", 0.5, -0.5, 0.5), "in their ranges"),
        (change_score("accuracy", 0.5, 0.6, 0.7), "in their ranges"),
        (change_score("accuracy", 0.5, 0.5, True), "in their ranges"),
        (change_score("log_loss", 0.5, 0.5, 1e9), "in their ranges"),
        (lambda node: {**node, "classes": node["classes"][:2] * 2}, "number of classes"),
        (lambda node: {**node, "classes": node["classes"][:2]}, "true and predicted class"),
        (lambda node: {**node, "classes": [node["classes"][0]] * 3}, "distinct classes"),
        (lambda node: {**node, "classes": [[0]] * 3}, "wrong structure"),
        (lambda node: {**node, "classes": [["+", *[0.5] * 6]] * 3}, "unknown classes"),
        (lambda node: {**node, "classes": [[3, *[0.5] * 6]] * 3}, "unknown classes"),
        (lambda node: {**node, "classes": [[-1, *[0.5] * 6]] * 3}, "unknown classes"),
        (classes_of(11, 0.5, 0.5, 0.5, 0.5, 0.5), "true and predicted class"),
        (classes_of("12", 0.5, 0.5, 0.5, 0.5, 0.5), "scores of each class"),
        (classes_of(12, 0.5, 0.5, 0.5, 2.0, 0.5), "scores of each class"),
        (classes_of(12, 2.0, 0.5, 0.5, 0.5, 0.5), "scores of each class"),
        (classes_of(12, 0.5, None, 0.5, 0.5, 0.5), "scores of each class"),
        (lambda node: {**node, "baselines": []}, "wrong structure"),
        (lambda node: {**node, "baselines": {"": node["scores"]}}, "short names"),
        (lambda node: {**node, "baselines": {"a" * 101: node["scores"]}}, "short names"),
        (
            lambda node: {**node, "baselines": {str(i): node["scores"] for i in range(17)}},
            "few baselines",
        ),
        (lambda node: {**node, "sources": {"nb": "guess"}}, "valid sources"),
        (lambda node: {**node, "sources": {"nb": []}}, "valid sources"),
        (lambda node: {**node, "sources": ["cv"]}, "valid sources"),
        (lambda node: {**node, "n_samples": 36.0}, "number of samples"),
        (lambda node: {**node, "n_samples": -36}, "number of samples"),
        (lambda node: {**node, "n_samples": 37}, "true and predicted class"),
        (lambda node: {**node, "n_groups": 37}, "number of groups"),
        (lambda node: {**node, "n_groups": True}, "number of groups"),
        (lambda node: {**node, "confidence_level": 1}, "confidence level"),
        (lambda node: {**node, "confusion": None}, "another kind of labels"),
    ],
)
def test_invalid_scores_are_rejected(file, tmp_path, change, message):
    assert message in load_error(rewrite(file, tmp_path / "model", tree=change_scores(change)))


def test_nan_is_rejected(file, tmp_path):
    change = change_score("accuracy", *json.loads("[NaN, 0.1, 0.2]"))
    load_error(rewrite(file, tmp_path / "model", tree=change_scores(change)))


def test_invalid_scores_are_not_saved(model, tmp_path):
    evaluation = model.evaluation_
    first = evaluation.classes[0]
    confusion = evaluation.confusion
    for change in (
        {"n_samples": 3},
        {"classes": (replace(first, label="?"), *evaluation.classes[1:])},
        {"scores": {**evaluation.scores, "accuracy": Score(2.0, 0.0, 1.0)}},
        {"baselines": {"x": None}},
        {"confusion": confusion + np.eye(3, dtype=np.int64)},
        {"confusion": confusion + np.array([[1, -1, 0], [0, 0, 0], [0, 0, 0]])},
        {"confusion": confusion.T[::-1].copy()[:2]},
        {"confusion": confusion.astype(np.float64)},
    ):
        changed = fit()
        changed.evaluation_ = replace(evaluation, **change)
        with pytest.raises(ModelFileError, match="whose evaluation_ must be|other class"):
            persist.save(changed, tmp_path / "model")
