"""Tuned decisions and class weights in `train`, `predict` and the cost matrix in CSV."""

import numpy as np
import pytest
from cordwood.api import predict, train
from cordwood.decisions import TunedDecisionClassifier
from cordwood.decisions.cost_file import read_cost_matrix

from cordwood.exceptions import CordwoodError, DataError
from cordwood.persist import load, save

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


def test_predictions_follow_the_tuned_decision_and_have_its_confidence(tmp_path):
    model = train(TEXTS, LABELS, recipe="nb", optimize="f1")
    assert isinstance(model[-1], TunedDecisionClassifier)
    assert model[-1].positive_class_ == "spam"
    found = predict(model, TEXTS)
    assert found.labels.tolist() == model.predict(TEXTS).tolist()
    threshold = model[-1].best_threshold_
    assert np.array_equal(found.labels == "spam", found.probabilities[:, 1] > threshold)
    spam = (found.labels == "spam").astype(int)
    assert np.array_equal(found.confidence, found.probabilities[np.arange(120), spam])
    loaded = load(save(model, tmp_path / "model.cordwood", precision="full"))
    assert predict(loaded, TEXTS).labels.tolist() == found.labels.tolist()


def test_a_stack_is_tuned_on_its_own_out_of_fold_predictions():
    model = train(TEXTS, LABELS, encoder=None, optimize="macro_f1")
    assert 0.5 < model[-1].best_score_ <= 1
    assert set(predict(model, TEXTS).labels) == {"ham", "spam"}


def test_costs_and_the_positive_class_are_passed_on():
    few_spam = train(TEXTS, LABELS, recipe="nb", optimize="cost", cost_matrix=[[0, 50], [1, 0]])
    much_spam = train(TEXTS, LABELS, recipe="nb", optimize="cost", cost_matrix=[[0, 1], [50, 0]])
    n_spam = [(predict(model, TEXTS).labels == "spam").sum() for model in (few_spam, much_spam)]
    assert n_spam[0] < sum(SPAM) < n_spam[1]
    other = train(TEXTS, LABELS, recipe="nb", optimize="precision=0.6", pos_label="ham")
    assert other[-1].positive_class_ == "ham"
    assert other[-1].min_precision == 0.6


def test_balanced_class_weights():
    plain = train(TEXTS, LABELS, recipe="svm", random_state=0)
    balanced = train(TEXTS, LABELS, recipe="svm", random_state=0, class_weight="balanced")
    assert balanced[-1].class_weight == "balanced"
    explicit = train(
        TEXTS, LABELS, recipe="svm", random_state=0, classifier__class_weight="balanced"
    )
    expected = predict(explicit, TEXTS).probabilities
    assert np.array_equal(predict(balanced, TEXTS).probabilities, expected)
    assert predict(balanced, TEXTS).probabilities[:, 1].mean() > (
        predict(plain, TEXTS).probabilities[:, 1].mean()
    )


def test_balanced_class_weights_of_a_stack_count_in_its_final_estimator():
    params = {"recipe": "quick", "members": ["svm", "rf"], "encoder": None}
    plain = train(TEXTS, LABELS, **params)
    balanced = train(TEXTS, LABELS, **params, class_weight="balanced")
    means = [predict(model, TEXTS).probabilities[:, 1].mean() for model in (plain, balanced)]
    assert means[1] > means[0]


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"optimize": "recall"}, "optimize must be f1"),
        ({"optimize": "precision"}, "precision=0.95"),
        ({"optimize": "precision=high"}, "must be a number"),
        ({"optimize": "cost"}, "require each other"),
        ({"cost_matrix": [[0, 1], [1, 0]]}, "cost_matrix requires optimize"),
        ({"pos_label": "spam"}, "pos_label requires optimize"),
        ({"optimize": "f1", "oof": True}, "exclude each other"),
        ({"class_weight": "equal"}, "must be 'balanced'"),
        ({"class_weight": "balanced", "recipe": "lazy_rf"}, "not supported by recipe 'lazy_rf'"),
        (
            {"class_weight": "balanced", "recipe": "stack_forests"},
            "members lazy_rf, lazy_et of recipe 'stack_forests'",
        ),
    ],
)
def test_invalid_parameters(params, message):
    with pytest.raises(CordwoodError, match=message):
        train(TEXTS, LABELS, **{"recipe": "svm", "encoder": None, **params})


@pytest.mark.parametrize("name", ["class_weight", "pos_label", "optimize"])
def test_several_labels_are_always_tuned_for_f1(name):
    lists = [[label] for label in LABELS]
    values = {"class_weight": "balanced", "optimize": "macro_f1", "pos_label": "spam"}
    extra = {"optimize": "f1"} if name == "pos_label" else {}
    with pytest.raises(CordwoodError, match="requires one label per sample"):
        train(TEXTS, lists, recipe="svm", **extra, **{name: values[name]})
    assert train(TEXTS, lists, recipe="nb", optimize="f1")[-1].threshold == "f1"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "is empty"),
        ("true,a,b\na,0,1\n", "no row for the class 'b'"),
        ("true,a\na,0\nb,1\n", "no column for the class 'b'"),
        ("true,a,b,c\na,0,1,2\nb,1,0,2\n", "column 'c' is not a class"),
        ("true,a,b\na,0,1\na,0,1\nb,1,0\n", "row 'a' occurs more than once"),
        ("true,a,b\na,0\nb,1,0\n", "row 2: expected 2 costs; got 1"),
        ("true,a,b\na,0,much\nb,1,0\n", "row 2: the cost in column 'b' must be a number"),
        ("true,a,b\na,0,inf\nb,1,0\n", "row 2: the cost in column 'b' must be a number"),
    ],
)
def test_invalid_cost_files(content, message, tmp_path):
    file = tmp_path / "costs.csv"
    file.write_text(content)
    with pytest.raises(DataError, match=message):
        read_cost_matrix(file, ["a", "b"])


def test_a_missing_cost_file_is_an_error(tmp_path):
    with pytest.raises(DataError, match="cannot read the cost matrix"):
        read_cost_matrix(tmp_path / "none.csv", ["a", "b"])
