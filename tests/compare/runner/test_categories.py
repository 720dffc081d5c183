"""One category against the rest, from the plan to the comparison."""

import json
from pathlib import Path

import numpy as np
import pytest
from sklearn.metrics import f1_score, precision_score, recall_score

from cordwood import recipes
from cordwood.compare.config.plan import parse_plan
from cordwood.compare.runner.ledger import Ledger
from cordwood.compare.runner.run import run
from cordwood.compare.runner.trials import Trial, list_trials, trial_key
from cordwood.compare.stats.comparison import compare, learning_curves
from cordwood.datasets.corpus import Corpus
from cordwood.datasets.registry import NEGATIVE_LABEL, binarize_labels, load_dataset
from cordwood.exceptions import CordwoodError, DataError

LEDGERS = Path(__file__).parents[3] / "benchmarks" / "reproduction" / "ledgers"
WORDS = {"tin": "solder alloy can", "gold": "ingot alloy mint", "owl": "feather night mint"}
CATEGORIES = ("tin", "gold")
VECTORIZER = {"preset": "icml03", "weighting": "binary", "min_df": 1}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A data folder with a multilabel corpus that has an official split."""
    root = tmp_path_factory.mktemp("categories")
    rng = np.random.default_rng(0)
    with open(root / "stories.jsonl", "w", encoding="utf-8") as file:
        for number in range(240):
            labels = [name for name in WORDS if rng.random() < (0.15 if name == "tin" else 0.4)]
            own = [word for name in labels for word in WORDS[name].split()]
            words = rng.choice([*own, "the", "of", "story", *(own or ["news"])], size=6)
            split = "train" if number < 160 else "test"
            line = {"id": str(number), "text": " ".join(words), "labels": labels, "split": split}
            file.write(json.dumps(line) + "\n")
    return root


def make_plan(folder, learners, **tables):
    return parse_plan(
        {
            "evaluation": {"kind": "fixed", **tables.pop("evaluation", {})},
            "metric": "f1",
            "vectorizer": VECTORIZER,
            "datasets": [{"name": "stories", "categories": list(CATEGORIES)}],
            "learners": learners,
            **tables,
        },
        data_dir=folder,
    )


def run_plan(folder, tmp_path, learners, **tables):
    plan = make_plan(folder, learners, **tables)
    return run(plan, Ledger(tmp_path / "ledger.jsonl"), data_dir=folder)


def official_parts(folder, category):
    corpus = load_dataset("stories", data_dir=folder)
    for part in ("train", "test"):
        subset = corpus.subset(part)
        yield subset.texts, np.array([category in labels for labels in subset.labels])


def fit(folder, category, recipe, **params):
    (texts, y), (test_texts, y_test) = official_parts(folder, category)
    model = recipes.make(recipe, vectorizer_params=VECTORIZER, n_jobs=1, random_state=0, **params)
    return model.fit(texts, y), test_texts, y_test


def test_each_category_is_scored_by_its_binary_f1(folder, tmp_path):
    summary = run_plan(folder, tmp_path, [{"recipe": "adauboost"}])
    assert [record["trial"]["dataset"] for record in summary.records] == list(CATEGORIES)
    for record in summary.records:
        model, texts, y_test = fit(folder, record["trial"]["dataset"], "adauboost")
        y_pred = model.predict(texts)
        for name, score in (("f1", f1_score), ("precision", precision_score)):
            assert record["scores"][name] == pytest.approx(score(y_test, y_pred), rel=1e-12)
        assert record["scores"]["recall"] == pytest.approx(recall_score(y_test, y_pred))
        words = {rule.feature for rule in model[-1].rules_[0]}
        assert record["n_words"] == len(words)
    comparison = compare(summary.records, summary.planned)
    assert comparison.metrics == ("f1",)
    assert comparison.cells["f1", "tin", "adauboost"].mean == summary.records[0]["scores"]["f1"]
    assert comparison.n_words["tin", "adauboost"] == summary.records[0]["n_words"]


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


def test_tuning_on_test_samples_is_marked(folder, tmp_path):
    learner = {"recipe": "svm", "grid": {"C": [0.001, 0.1, 10.0]}}
    summary = run_plan(folder, tmp_path, [learner], tuning={"kind": "test"})
    for record in summary.records:
        scores = []
        for C in (0.001, 0.1, 10.0):
            model, texts, y_test = fit(folder, record["trial"]["dataset"], "svm", C=C)
            scores.append(f1_score(y_test, model.predict(texts)))
        assert record["tuned_by"] == "test"
        assert record["scores"]["f1"] == record["tuning_score"] == pytest.approx(max(scores))
        assert len(set(scores)) > 1


def test_tuned_threshold_is_applied_to_the_test_samples(folder, tmp_path):
    learner = {"recipe": "nb"}  # deterministic
    tuned = run_plan(folder, tmp_path, [learner], tuning={"threshold": True, "folds": 4})
    plain = run_plan(folder, tmp_path, [learner])
    assert {record["key"] for record in tuned.records}.isdisjoint(r["key"] for r in plain.records)
    for record, before in zip(tuned.records, plain.records, strict=True):
        model, texts, y_test = fit(folder, record["trial"]["dataset"], "nb")
        y_pred = model.predict_proba(texts)[:, 1] > record["threshold"]
        assert record["scores"]["f1"] == pytest.approx(f1_score(y_test, y_pred))
        assert "threshold" not in before
        assert record["tuned_by"] == "cv" and before["tuned_by"] is None
    assert any(record["threshold"] != 0.5 for record in tuned.records)


def test_round_scores_match_staged_predict(folder, tmp_path):
    learners = [
        {"recipe": "adauboost", "params": {"max_iter": 9}},
        {"recipe": "lpuboost", "params": {"keep_stages": True, "columns_per_iter": 1}},
        {"recipe": "nb"},
    ]
    summary = run_plan(folder, tmp_path, learners, evaluation={"rounds": [1, 2, 4, 300]})
    by_name = {(r["trial"]["dataset"], r["trial"]["learner"]): r for r in summary.records}
    assert "rounds" not in by_name["tin", "nb"]
    model, texts, y_test = fit(folder, "tin", "adauboost", max_iter=9)
    stages = list(model[-1].staged_predict(model[:-1].transform(texts)))
    rounds = by_name["tin", "adauboost"]["rounds"]
    assert rounds["n"] == [1, 2, 4, 9]
    expected = [f1_score(y_test, stages[n - 1]) for n in rounds["n"]]
    assert rounds["test"]["f1"] == pytest.approx(expected)
    for record in (by_name[name, "lpuboost"] for name in CATEGORIES):
        assert record["rounds"]["test"]["f1"][-1] == record["scores"]["f1"]
    curve = compare(summary.records, summary.planned).rounds["f1", "tin", "adauboost"]
    assert (curve.rounds, curve.test) == ((1, 2, 4, 9), tuple(rounds["test"]["f1"]))
    assert curve.train == tuple(rounds["train"]["f1"])


def test_training_samples_of_the_category_are_limited(folder, tmp_path):
    evaluation = {"max_positives": [2, 5, 1000], "repeats": 2}
    summary = run_plan(folder, tmp_path, [{"recipe": "nb"}], evaluation=evaluation)
    n_all = {name: int(next(official_parts(folder, name))[1].sum()) for name in CATEGORIES}
    for record in summary.records:
        trial = record["trial"]
        n_discarded = max(0, n_all[trial["dataset"]] - trial["max_positives"])
        assert (record["n_train"], record["n_test"]) == (160 - n_discarded, 80)
    curve = learning_curves(summary.records, summary.planned, metric="f1")["tin", "nb"]
    assert [(point.train_size, point.n) for point in curve.points] == [(2, 2), (5, 2), (1000, 2)]
    assert curve.by == "max_positives"
    cell = compare(summary.records, summary.planned).cells["f1", "tin", "nb"]
    assert cell.mean == curve.points[-1].mean and cell.complete


@pytest.mark.parametrize(
    ("tables", "message"),
    [
        (
            {"datasets": [{"name": "stories"}]},
            "metric = 'f1' needs a category, and data set 'stories' has none",
        ),
        (
            {"metric": "macro_f1", "tuning": {"threshold": True}},
            "tuning.threshold needs metric = 'f1'; the metric is 'macro_f1'",
        ),
        (
            {"tuning": {"threshold": True, "kind": "test"}},
            "tuning threshold needs kind = 'cv'; the kind is 'test'",
        ),
        (
            {"evaluation": {"max_positives": [5, 2]}},
            "evaluation max_positives must be strictly increasing positive integers",
        ),
        (
            {"evaluation": {"rounds": [0, 1]}},
            "evaluation rounds must be strictly increasing positive integers",
        ),
        (
            {"evaluation": {"max_positives": [5], "train_fractions": [0.5, 1.0]}},
            "evaluation train_fractions and max_positives exclude each other; remove one",
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
    assert records
    for record in records:
        assert trial_key(Trial(**record["trial"]), record["data"]) == record["key"]
        assert Trial(**record["trial"]).to_json() == record["trial"]
