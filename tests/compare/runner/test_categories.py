"""One category against all other rows, from the plan to the table."""

import json
from pathlib import Path

import numpy as np
import pytest
from sklearn.metrics import f1_score, precision_score, recall_score

from cordwood import recipes
from cordwood.compare.config.plan import parse_plan
from cordwood.compare.runner.ledger import Ledger
from cordwood.compare.runner.run import run
from cordwood.compare.runner.trials import Unit, expand, key
from cordwood.compare.stats.comparison import compare, learning_curves
from cordwood.datasets.corpus import Corpus
from cordwood.datasets.registry import OTHERS, load_dataset, set_against_rest
from cordwood.exceptions import CordwoodError, DataError

ROOT = Path(__file__).parents[2]
WORDS = {"tin": "solder alloy can", "gold": "ingot alloy mint", "owl": "feather night mint"}
CATEGORIES = ("tin", "gold")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A data folder with documents of no, one or several labels, in two official parts."""
    root = tmp_path_factory.mktemp("categories")
    rng = np.random.default_rng(0)
    with open(root / "stories.jsonl", "w", encoding="utf-8") as file:
        for row in range(240):
            labels = [name for name in WORDS if rng.random() < (0.15 if name == "tin" else 0.4)]
            own = [word for name in labels for word in WORDS[name].split()]
            words = rng.choice([*own, "the", "of", "story", *(own or ["news"])], size=6)
            split = "train" if row < 160 else "test"
            line = {"id": str(row), "text": " ".join(words), "labels": labels, "split": split}
            file.write(json.dumps(line) + "\n")
    return root


def make_plan(folder, learners, **tables):
    return parse_plan(
        {
            "protocol": "icml03",
            "metric": "f1",
            "text": {"min_df": 1},
            "datasets": [{"name": "stories", "categories": list(CATEGORIES)}],
            "learners": learners,
            **tables,
        },
        data_dir=folder,
    )


def carry_out(folder, tmp_path, learners, **tables):
    plan = make_plan(folder, learners, **tables)
    return run(plan, Ledger(tmp_path / "ledger.jsonl"), data_dir=folder)


def parts(folder, category):
    rows = load_dataset("stories", data_dir=folder)
    for part in ("train", "test"):
        own = rows.subset(part)
        yield own.texts, np.array([category in labels for labels in own.labels])


def fit(folder, category, recipe, **params):
    (texts, y), (asked, truth) = parts(folder, category)
    text = {"preset": "icml03", "weighting": "binary", "min_df": 1}
    model = recipes.make(recipe, vectorizer_params=text, n_jobs=1, random_state=0, **params).fit(
        texts, y
    )
    return model, asked, truth


def test_each_category_is_a_data_set_that_is_scored_by_its_own_f1(folder, tmp_path):
    summary = carry_out(folder, tmp_path, [{"recipe": "adauboost"}])
    assert [record["unit"]["dataset"] for record in summary.records] == list(CATEGORIES)
    for record in summary.records:
        model, asked, truth = fit(folder, record["unit"]["dataset"], "adauboost")
        found = model.predict(asked)
        for name, score in (("f1", f1_score), ("precision", precision_score)):
            assert record["scores"][name] == pytest.approx(score(truth, found), rel=1e-12)
        assert record["scores"]["recall"] == pytest.approx(recall_score(truth, found))
        words = {rule.feature for rule in model[-1].rules_[0]}
        assert record["n_words"] == len(words)
    comparison = compare(summary.records, summary.planned)
    assert comparison.metrics == ("f1",)
    assert comparison.cells["f1", "tin", "adauboost"].mean == summary.records[0]["scores"]["f1"]
    assert comparison.n_words["tin", "adauboost"] == summary.records[0]["n_words"]


def test_labels_are_set_against_the_rest():
    single = Corpus(texts=("", "", ""), ids=tuple("123"), labels=("a", "b", "c"))
    assert set_against_rest(single, "b").labels == (OTHERS, "b", OTHERS)
    with pytest.raises(DataError, match="no row has the label 'd'; there are: a, b, c"):
        set_against_rest(single, "d")
    alike = Corpus(texts=("", ""), ids=tuple("12"), labels=("a", "a"))
    with pytest.raises(DataError, match="every row has the label 'a'"):
        set_against_rest(alike, "a")


def test_a_label_that_no_row_has_is_named_before_anything_runs(folder, tmp_path):
    datasets = [{"name": "stories", "categories": ["tin", "god"]}]
    with pytest.raises(DataError, match="no row has the label 'god'; there are: gold"):
        carry_out(folder, tmp_path, [{"recipe": "nb"}], datasets=datasets)
    assert not (tmp_path / "ledger.jsonl").exists()


def test_the_best_on_the_test_rows_is_named_as_such(folder, tmp_path):
    learner = {"recipe": "svm", "grid": {"C": [0.001, 0.1, 10.0]}}
    summary = carry_out(folder, tmp_path, [learner], tuning={"kind": "test"})
    for record in summary.records:
        scores = []
        for C in (0.001, 0.1, 10.0):
            model, asked, truth = fit(folder, record["unit"]["dataset"], "svm", C=C)
            scores.append(f1_score(truth, model.predict(asked)))
        assert record["tuned_by"] == "test"
        assert record["scores"]["f1"] == record["tuning_score"] == pytest.approx(max(scores))
        assert len(set(scores)) > 1


def test_a_threshold_is_found_in_the_folds_and_used_on_the_test_rows(folder, tmp_path):
    learner = {"recipe": "nb"}  # which gives the same for every seed
    tuned = carry_out(folder, tmp_path, [learner], tuning={"threshold": True, "folds": 4})
    plain = carry_out(folder, tmp_path, [learner])
    assert {record["key"] for record in tuned.records}.isdisjoint(r["key"] for r in plain.records)
    for record, before in zip(tuned.records, plain.records, strict=True):
        model, asked, truth = fit(folder, record["unit"]["dataset"], "nb")
        found = model.predict_proba(asked)[:, 1] > record["threshold"]
        assert record["scores"]["f1"] == pytest.approx(f1_score(truth, found))
        assert "threshold" not in before
        assert record["tuned_by"] == "cv" and before["tuned_by"] is None
    assert any(record["threshold"] != 0.5 for record in tuned.records)


def test_scores_by_rounds_are_those_of_the_stages(folder, tmp_path):
    learners = [
        {"recipe": "adauboost", "params": {"max_iter": 9}},
        {"recipe": "lpuboost", "params": {"keep_stages": True, "n_columns": 1}},
        {"recipe": "nb"},
    ]
    summary = carry_out(folder, tmp_path, learners, evaluation={"rounds": [1, 2, 4, 300]})
    by_place = {(r["unit"]["dataset"], r["unit"]["learner"]): r for r in summary.records}
    assert "rounds" not in by_place["tin", "nb"]
    model, asked, truth = fit(folder, "tin", "adauboost", max_iter=9)
    stages = list(model[-1].staged_predict(model[:-1].transform(asked)))
    told = by_place["tin", "adauboost"]["rounds"]
    assert told["n"] == [1, 2, 4, 9]
    expected = [f1_score(truth, stages[n - 1]) for n in told["n"]]
    assert told["test"]["f1"] == pytest.approx(expected)
    for record in (by_place[name, "lpuboost"] for name in CATEGORIES):
        assert record["rounds"]["test"]["f1"][-1] == record["scores"]["f1"]
    curve = compare(summary.records, summary.planned).rounds["f1", "tin", "adauboost"]
    assert (curve.rounds, curve.test) == ((1, 2, 4, 9), tuple(told["test"]["f1"]))
    assert curve.train == tuple(told["train"]["f1"])


def test_rows_of_the_category_are_discarded(folder, tmp_path):
    evaluation = {"positives": [2, 5, 1000], "repeats": 2}
    summary = carry_out(folder, tmp_path, [{"recipe": "nb"}], evaluation=evaluation)
    n_all = {name: int(next(parts(folder, name))[1].sum()) for name in CATEGORIES}
    for record in summary.records:
        unit = record["unit"]
        n_discarded = max(0, n_all[unit["dataset"]] - unit["positives"])
        assert (record["n_train"], record["n_test"]) == (160 - n_discarded, 80)
    curve = learning_curves(summary.records, summary.planned, metric="f1")["tin", "nb"]
    assert [(point.amount, point.n) for point in curve.points] == [(2, 2), (5, 2), (1000, 2)]
    assert curve.by == "positives"
    cell = compare(summary.records, summary.planned).cells["f1", "tin", "nb"]
    assert cell.mean == curve.points[-1].mean and cell.complete


@pytest.mark.parametrize(
    ("tables", "sentence"),
    [
        (
            {"datasets": [{"name": "stories"}]},
            "metric 'f1' is about one category, and data set 'stories' names none",
        ),
        (
            {"metric": "macro_f1", "tuning": {"threshold": True}},
            "tuning.threshold serves metric 'f1' only, and the metric is 'macro_f1'",
        ),
        (
            {"tuning": {"threshold": True, "kind": "test"}},
            "tuning threshold is chosen by kind 'cv' only, not by 'test'",
        ),
        (
            {"evaluation": {"positives": [5, 2]}},
            "evaluation positives must be numbers from 1 in rising order, each once",
        ),
        (
            {"evaluation": {"rounds": [0, 1]}},
            "evaluation rounds must be numbers from 1 in rising order, each once",
        ),
        (
            {"evaluation": {"positives": [5], "shares": [0.5, 1.0]}},
            "evaluation shares and positives both say what is learnt from; leave one out",
        ),
        (
            {"evaluation": {"repeats": 2}},
            "evaluation repeats has no meaning for kind 'fixed', which is always the same",
        ),
        (
            {"datasets": [{"name": "stories", "categories": "tin"}]},
            "datasets number 1 has categories = 'tin', but must list labels of the data",
        ),
        (
            {"datasets": [{"name": "stores", "categories": ["tin"]}]},
            "data set 1: there is no data set 'stores'; did you mean 'stories'?",
        ),
        (
            {"datasets": [{"path": "x.csv", "source": "stories", "category": "tin"}]},
            "data set 1 has both a source and a path; leave one out",
        ),
    ],
)
def test_a_wrong_plan_is_told_why(folder, tables, sentence):
    with pytest.raises(CordwoodError) as caught:
        make_plan(folder, [{"recipe": "nb"}], **tables)
    assert str(caught.value) == sentence


def test_a_category_may_have_a_name_of_its_own(folder):
    table = {"name": "metal", "source": "stories", "category": "tin"}
    plan = make_plan(folder, [{"recipe": "nb"}], datasets=[table])
    assert plan.datasets[0].load(data_dir=folder).labels.count("tin") > 0
    assert expand(plan)[0].category == "tin"


@pytest.mark.parametrize(
    "ledger", sorted(ROOT.glob("benchmarks/ledgers/*.jsonl")), ids=lambda path: path.stem
)
def test_units_of_the_ledgers_that_are_kept_have_the_keys_that_they_had(ledger):
    records = Ledger(ledger).records()
    assert records
    for record in records:
        assert key(Unit.from_json(record["unit"]), record["data"]) == record["key"]
        assert Unit.from_json(record["unit"]).to_json() == record["unit"]
