"""One category against the rest, from the plan to the comparison."""

from dataclasses import fields
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import f1_score, precision_score, recall_score

from category_data import CATEGORIES, fit, make_plan, run_plan, write_stories
from cordwood.compare.runner.ledger import Ledger
from cordwood.compare.runner.procedure import list_trials
from cordwood.compare.runner.trial_scores import category_scores
from cordwood.compare.runner.trials import Trial, trial_key
from cordwood.compare.stats.comparison import compare
from cordwood.datasets.corpus import Corpus
from cordwood.datasets.registry import NEGATIVE_LABEL, binarize_labels
from cordwood.exceptions import CordwoodError, DataError

LEDGERS = Path(__file__).parents[3] / "benchmarks" / "reproduction" / "ledgers"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return write_stories(tmp_path_factory.mktemp("categories"))


def test_each_category_is_scored_by_its_binary_f1(folder, tmp_path):
    summary = run_plan(folder, tmp_path, [{"recipe": "adauboost"}])
    assert [record["trial"]["dataset"] for record in summary.records] == list(CATEGORIES)
    for record in summary.records:
        model, texts, y_test = fit(folder, record["trial"]["dataset"], "adauboost")
        y_pred = model.predict(texts)
        for name, score in (("f1", f1_score), ("precision", precision_score)):
            assert record["scores"][name] == pytest.approx(score(y_test, y_pred), rel=1e-12)
        assert record["scores"]["recall"] == pytest.approx(recall_score(y_test, y_pred))
    comparison = compare(summary.records, summary.planned)
    assert comparison.metrics == ("f1",)
    assert comparison.cells["f1", "tin", "adauboost"].mean == summary.records[0]["scores"]["f1"]


@settings(deadline=None, max_examples=100)
@given(
    st.lists(st.tuples(st.booleans(), st.booleans(), st.integers(0, 3)), min_size=1, max_size=20),
    st.booleans(),
)
def test_category_scores_match_scikit_learn(samples, is_weighted):
    y_true, y_pred = np.array([sample[:2] for sample in samples]).T
    weights = np.array([weight + 0.5 for _, _, weight in samples]) if is_weighted else None
    expected = [
        score(y_true, y_pred, zero_division=0.0, sample_weight=weights)
        for score in (f1_score, precision_score, recall_score)
    ]
    assert list(category_scores(y_true, y_pred, weights)) == pytest.approx(expected, rel=1e-12)


def test_category_against_the_rest():
    single = Corpus(texts=("", "", ""), ids=tuple("123"), labels=("a", "b", "c"))
    assert binarize_labels(single, "b").labels == (NEGATIVE_LABEL, "b", NEGATIVE_LABEL)
    with pytest.raises(DataError, match="no sample has the label 'd'; labels are: a, b, c"):
        binarize_labels(single, "d")
    alike = Corpus(texts=("", ""), ids=tuple("12"), labels=("a", "a"))
    with pytest.raises(DataError, match="all 2 samples of the data set have the label 'a'"):
        binarize_labels(alike, "a")


def test_unknown_category_raises_before_any_trial(folder, tmp_path):
    datasets = [{"name": "stories", "categories": ["tin", "god"]}]
    with pytest.raises(DataError, match="no sample has the label 'god'; labels are: gold"):
        run_plan(folder, tmp_path, [{"recipe": "nb"}], datasets=datasets)
    assert not (tmp_path / "ledger.jsonl").exists()


@pytest.mark.parametrize(
    ("tables", "message"),
    [
        (
            {"datasets": [{"name": "stories"}]},
            "metric = 'f1' needs a category, and data set 'stories' has none",
        ),
        (
            {"evaluation": {"repeats": 2}},
            "evaluation repeats has no effect with kind = 'fixed'; leave it out",
        ),
        (
            {"datasets": [{"name": "stories", "categories": "tin"}]},
            "datasets number 1: categories must be a list of labels; got 'tin'",
        ),
        (
            {"datasets": [{"name": "stores", "categories": ["tin"]}]},
            "data set 1: there is no data set 'stores'; did you mean 'stories'?",
        ),
        (
            {"datasets": [{"path": "x.csv", "source": "stories", "category": "tin"}]},
            "data set 1 has both a source and a path; remove one",
        ),
    ],
)
def test_invalid_plan_raises(folder, tables, message):
    with pytest.raises(CordwoodError) as caught:
        make_plan(folder, [{"recipe": "nb"}], **tables)
    assert str(caught.value) == message


def test_category_data_set_can_be_renamed(folder):
    table = {"name": "metal", "source": "stories", "category": "tin"}
    plan = make_plan(folder, [{"recipe": "nb"}], datasets=[table])
    assert plan.datasets[0].load(data_dir=folder).labels.count("tin") > 0
    assert list_trials(plan)[0].category == "tin"


@pytest.mark.parametrize(
    "ledger",
    sorted(LEDGERS.glob("*.jsonl")),
    ids=lambda path: path.stem,
)
def test_keys_of_stored_ledgers_are_unchanged(ledger):
    records = Ledger(ledger).records()
    names = {field.name for field in fields(Trial)}
    assert records
    for record in records:
        stored = record["trial"]
        own = {name: value for name, value in stored.items() if name in names}
        extra = {name: value for name, value in stored.items() if name not in names}
        trial = Trial(**own, extra=extra)
        assert trial_key(trial, record["data"]) == record["key"]
        assert trial.to_json() == stored
