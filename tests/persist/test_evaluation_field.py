"""Expected scores in model files."""

import json
from dataclasses import replace

import numpy as np
import pytest

import cordwood
from cordwood import persist
from cordwood.exceptions import ModelFileError
from cordwood.metrics import ScoreInterval, oof_evaluation
from model_files import load_error, rewrite

TEXTS = [f"{word} film n{i % 9}" for i in range(12) for word in ("good", "bad", "odd")]
LABELS = np.array(["+", "-", "o"] * 12)


@pytest.fixture(scope="module")
def model():
    return cordwood.train(TEXTS, LABELS, recipe="nb", oof=True)


@pytest.fixture(scope="module")
def file(model, tmp_path_factory):
    return persist.save(model, tmp_path_factory.mktemp("model") / "model")


def test_train_estimates_the_scores(model):
    assert model.evaluation_ == oof_evaluation(model)


def test_scores_are_restored(model, file):
    assert persist.load(file).evaluation_ == model.evaluation_


@pytest.mark.parametrize(
    "labels", [LABELS, np.array([7, -1, 3] * 12), np.array([False, True] * 18)]
)
def test_baselines_and_labels_are_restored(labels, tmp_path):
    model = cordwood.train(TEXTS, labels, recipe="nb", oof=True)
    groups = np.arange(len(TEXTS)) // 3
    model.evaluation_ = oof_evaluation(replace(model.oof_, groups=groups), TEXTS)
    found = persist.load(persist.save(model, tmp_path / "model")).evaluation_
    assert found == model.evaluation_
    assert found.to_dict() == model.evaluation_.to_dict()
    assert found.n_groups == 12
    assert len(found.baselines) == 2
    assert [type(each.label) for each in found.classes] == [type(labels[0].item())] * len(
        np.unique(labels)
    )


def test_model_without_scores_has_none(tmp_path):
    model = cordwood.train(TEXTS, LABELS, recipe="svm")
    assert not hasattr(model, "evaluation_")
    assert not hasattr(persist.load(persist.save(model, tmp_path / "model")), "evaluation_")


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


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda node: None, "wrong structure"),
        (lambda node: [], "wrong structure"),
        (lambda node: {**node, "more": 1}, "wrong structure"),
        (lambda node: {**node, "scores": node["scores"][:3]}, "invalid number"),
        (lambda node: {**node, "scores": {}}, "invalid number"),
        (lambda node: {**node, "scores": [[0.5, 0.5]] * 4}, "three numbers"),
        (lambda node: {**node, "scores": [[0.5, 0.5, "1"]] * 4}, "in their ranges"),
        (lambda node: {**node, "scores": [[0.5, 0.5, 1.5]] * 4}, "in their ranges"),
        (lambda node: {**node, "scores": [[0.5, -0.5, 0.5]] * 4}, "in their ranges"),
        (lambda node: {**node, "scores": [[0.5, 0.5, True]] * 4}, "in their ranges"),
        (lambda node: {**node, "classes": node["classes"][:2]}, "number of classes"),
        (lambda node: {**node, "classes": node["classes"][:2] * 2}, "number of classes"),
        (lambda node: {**node, "classes": [node["classes"][0]] * 3}, "other classes"),
        (lambda node: {**node, "classes": [[0]] * 3}, "wrong structure"),
        (lambda node: {**node, "classes": [["+", 12, 0.5, 0.5, 0.5]] * 3}, "unknown classes"),
        (lambda node: {**node, "classes": [[3, 12, 0.5, 0.5, 0.5]] * 3}, "unknown classes"),
        (lambda node: {**node, "classes": [[-1, 12, 0.5, 0.5, 0.5]] * 3}, "unknown classes"),
        (
            lambda node: {**node, "classes": [[i, 11, 0.5, 0.5, 0.5] for i in range(3)]},
            "as many samples",
        ),
        (
            lambda node: {**node, "classes": [[i, "12", 0.5, 0.5, 0.5] for i in range(3)]},
            "as many samples",
        ),
        (
            lambda node: {**node, "classes": [[i, 12, 0.5, 2.0, 0.5] for i in range(3)]},
            "F1 of each class",
        ),
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
        (lambda node: {**node, "n_groups": 37}, "number of groups"),
        (lambda node: {**node, "n_groups": True}, "number of groups"),
        (lambda node: {**node, "confidence_level": 1}, "confidence level"),
    ],
)
def test_invalid_scores_are_rejected(file, tmp_path, change, message):
    assert message in load_error(rewrite(file, tmp_path / "model", tree=change_scores(change)))


def test_nan_is_rejected(file, tmp_path):
    def change(node):
        return {**node, "scores": json.loads("[[NaN, 0.1, 0.2]]") * 4}

    load_error(rewrite(file, tmp_path / "model", tree=change_scores(change)))


def test_invalid_scores_are_not_saved(model, tmp_path):
    evaluation = model.evaluation_
    first = evaluation.classes[0]
    for change in (
        {"n_samples": 3},
        {"classes": (replace(first, label="?"), *evaluation.classes[1:])},
        {"scores": replace(evaluation.scores, accuracy=ScoreInterval(2.0, 0.0, 1.0))},
        {"baselines": {"x": None}},
    ):
        changed = cordwood.train(TEXTS, LABELS, recipe="nb", oof=True)
        changed.evaluation_ = replace(evaluation, **change)
        with pytest.raises(ModelFileError, match="Pipeline whose evaluation_ must be|other class"):
            persist.save(changed, tmp_path / "model")
