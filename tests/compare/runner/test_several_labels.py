"""Comparisons on data with several labels per sample."""

from dataclasses import replace

import numpy as np
import pytest

from cordwood import TextClassifier, recipes
from cordwood.compare.config.plan import parse_plan
from cordwood.compare.config.schema import EvaluationConfig
from cordwood.compare.runner.cv_splits import Split, split, subsample_train
from cordwood.compare.runner.data_conflicts import find_conflicts
from cordwood.compare.runner.ledger import Ledger
from cordwood.compare.runner.procedure import list_trials
from cordwood.compare.runner.run import collect, run
from cordwood.compare.runner.run_trial import run_trial
from cordwood.compare.runner.tuning import Objective, tune_by_cv
from cordwood.compare.stats.comparison import METRICS, MULTILABEL_METRICS, compare
from cordwood.datasets.corpus import Corpus
from cordwood.exceptions import DataError
from cordwood.multilabel import MultiLabelClassifier
from ledger_files import read_predictions

WORDS = {"gas": "pipeline methane", "grain": "wheat corn", "oil": "crude opec", "tin": "tin ore"}
SHARES = [0.4, 0.35, 0.2, 0.05]


def make_corpus(n_samples=90, seed=0):
    rng = np.random.default_rng(seed)
    texts, labels = [], []
    for _ in range(n_samples):
        chosen = rng.choice([*WORDS], rng.integers(0, 3), replace=False, p=SHARES).tolist()
        words = [rng.choice(WORDS[label].split()) for label in chosen for _ in range(2)]
        words += rng.choice("said week today corn opec methane".split(), 4).tolist()
        texts.append(" ".join(words))
        labels.append(tuple(chosen))
    return Corpus(
        texts=texts,
        ids=[str(i) for i in range(n_samples)],
        labels=labels,
        groups=[str(i // 2) for i in range(n_samples)],
    )


CORPUS = make_corpus()
FOLD = split(CORPUS, EvaluationConfig(folds=3), seed=0)[0]


@pytest.fixture
def files(tmp_path):
    """The corpus as a CSV file with separated labels."""
    rows = zip(CORPUS.texts, CORPUS.labels, CORPUS.groups, strict=True)
    lines = [f"{text},{';'.join(labels)},{group}\n" for text, labels, group in rows]
    (tmp_path / "news.csv").write_text("text,label,group\n" + "".join(lines))
    return tmp_path


def make_plan(folder, *learners, **tables):
    return parse_plan(
        {
            "evaluation": {"folds": 3},
            "datasets": [{"path": "news.csv", "label_separator": ";"}],
            "learners": [{"recipe": each} if isinstance(each, str) else each for each in learners],
            **tables,
        },
        folder=folder,
    )


@pytest.mark.parametrize(
    ("recipe", "is_weighted"),
    [("svm", False), ("nb", False), ("quick", False), ("svm", True), ("rf", True)],
)
def test_scores_equal_those_of_train_and_evaluate(files, recipe, is_weighted):
    data = CORPUS
    if is_weighted:
        data = replace(data, weights=tuple(np.random.default_rng(0).random(len(data)).tolist()))
    trial = list_trials(make_plan(files, recipe))[0]
    result = run_trial(trial, data, FOLD, seed=5)
    model = TextClassifier(recipe, encoder=None, random_state=5).fit(data.select(FOLD.train))
    test = data.select(FOLD.test)
    expected = model.evaluate(test).scores
    names = {"subset_accuracy": "accuracy"}
    assert result.outcome["scores"] == {
        name: pytest.approx(expected[names.get(name, name)], rel=1e-12)
        for name in MULTILABEL_METRICS
    }
    found = model.classify(test)
    assert np.array_equal(result.predictions["indicators"], found.indicators)
    assert np.array_equal(result.predictions["proba"], found.proba.astype(np.float32))
    assert result.predictions["classes"].tolist() == found.classes.tolist()


@pytest.mark.parametrize("metric", ["micro_f1", "subset_accuracy"])
def test_tuning_equals_a_search_by_train_and_evaluate(metric):
    splits = split(CORPUS, EvaluationConfig(folds=3), seed=1)
    weighted = replace(CORPUS, weights=tuple(1.0 + np.arange(len(CORPUS)) % 3))
    grid = {"classifier__C": [0.01, 0.5, 30.0]}

    def make_pipeline(params):
        pipeline = recipes.make("svm", random_state=3, **params)
        multilabel = MultiLabelClassifier(pipeline[-1], random_state=3)
        pipeline.steps[-1] = ("classifier", multilabel)
        return pipeline

    tuned = tune_by_cv(make_pipeline, grid, weighted, splits, Objective(metric))
    means = []
    for C in grid["classifier__C"]:
        scores = []
        for training, test in splits:
            model = TextClassifier("svm", recipe_params={"C": C}, random_state=3)
            found = model.fit(weighted.select(training)).evaluate(weighted.select(test)).scores
            scores.append(found["accuracy" if metric == "subset_accuracy" else metric])
        means.append(np.mean(scores))
    assert tuned.score == pytest.approx(max(means), rel=1e-12)
    assert tuned.params == {"classifier__C": grid["classifier__C"][int(np.argmax(means))]}
    assert len(set(means)) > 1


def test_a_tuned_trial_is_cross_validated_whatever_the_kind(files):
    grid = {"recipe": "rf", "grid": {"max_depth": [2, None]}, "params": {"n_estimators": 10}}
    trial = list_trials(make_plan(files, grid, tuning={"kind": "auto", "folds": 2}))[0]
    outcome = run_trial(trial, CORPUS, FOLD, seed=0).outcome
    assert outcome["tuned_by"] == "cv"
    assert outcome["tuning_score"] > 0.5


def test_rare_labels_are_in_every_fold():
    corpus = make_corpus(400, seed=2)
    n_tin = sum("tin" in labels for labels in corpus.labels)
    for folds in (3, 5):
        parts = split(corpus, EvaluationConfig(folds=folds), seed=0)
        counts = [sum("tin" in corpus.labels[i] for i in test) for _, test in parts]
        assert sum(counts) == n_tin
        # All of them are stratified together: it is the rarest label of each of its samples.
        assert max(counts) - min(counts) <= 1
    holdout = split(corpus, EvaluationConfig(kind="holdout", test_size=0.25), seed=0)[0]
    assert sum("tin" in corpus.labels[i] for i in holdout.test) == pytest.approx(n_tin / 4, abs=1)
    half = subsample_train(corpus, Split(np.arange(400), np.arange(0)), 0.5, seed=0)
    assert sum("tin" in corpus.labels[i] for i in half.train) == pytest.approx(n_tin / 2, abs=1)


def test_groups_are_not_divided():
    for training, test in split(CORPUS, EvaluationConfig(kind="grouped", folds=3), seed=0):
        groups = np.asarray(CORPUS.groups)
        assert not set(groups[training]) & set(groups[test])


def test_an_interrupted_comparison_resumes(files):
    plan = make_plan(files, "svm", "nb")
    ledger = Ledger(files / "ledger.jsonl")

    class Stop(Exception):
        pass

    def stop(record):
        raise Stop

    with pytest.raises(Stop):
        run(plan, ledger, on_record=stop)
    summary = run(plan, ledger)
    assert (summary.n_trials, summary.n_done, summary.n_failed) == (6, 5, 0)
    assert run(plan, ledger).n_done == 0
    predictions = read_predictions(ledger, summary.records[0]["key"])
    assert predictions["indicators"].shape == predictions["proba"].shape
    comparison = compare(summary.records, summary.planned)
    assert comparison.metrics == MULTILABEL_METRICS
    cell = comparison.cells["samples_f1", "news", "svm"]
    assert cell.mean == pytest.approx(
        np.mean([r["scores"]["samples_f1"] for r in summary.records[::2]])
    )
    # Without the data, the same results are found.
    assert collect(plan, ledger).records == summary.records


def test_metrics_of_different_data_sets_are_those_in_common(files):
    datasets = [{"path": "news.csv", "label_separator": ";"}, {"name": "sklearn:iris"}]
    summary = run(make_plan(files, "nb", datasets=datasets), Ledger(files / "ledger.jsonl"))
    assert summary.n_failed == 0
    assert compare(summary.records, summary.planned).metrics == METRICS


def test_recipes_that_cannot_have_several_labels_are_named_before_trials_run(files):
    ledger = Ledger(files / "ledger.jsonl")
    plan = make_plan(files, "svm", {"recipe": "quick", "params": {"combiner": "mlr"}})
    with pytest.raises(DataError, match="learner 'quick' cannot run on data set 'news': several"):
        run(plan, ledger)
    assert not ledger.path.exists()
    # Also if only a candidate of a grid cannot.
    plan = make_plan(files, {"recipe": "quick", "grid": {"combiner": ["pool", "mlr"]}})
    assert list(find_conflicts(plan, plan.datasets[0], CORPUS)) == ["quick"]


def test_every_recipe_can_have_several_labels(files):
    names = [name for name in recipes.names() if recipes.find(name).savable]
    plan = make_plan(files, *names)
    assert find_conflicts(plan, plan.datasets[0], CORPUS) == {}


def test_recipes_without_weights_are_named_before_trials_run(files):
    data = replace(CORPUS, weights=(1.0,) * len(CORPUS))
    plan = make_plan(files, "svm", "lazy_rf", "stack_forests")
    conflicts = find_conflicts(plan, plan.datasets[0], data)
    assert conflicts == {
        "lazy_rf": "it has no sample weights",
        "stack_forests": "its members lazy_rf, lazy_et have no sample weights",
    }
    assert find_conflicts(plan, plan.datasets[0], CORPUS) == {}


def test_metrics_of_several_labels_need_such_data(files):
    tables = {"metric": "samples_f1", "datasets": [{"name": "sklearn:iris"}]}
    with pytest.raises(DataError, match="'sklearn:iris' has one; choose 'micro_f1'"):
        run(make_plan(files, "nb", **tables), Ledger(files / "ledger.jsonl"))
