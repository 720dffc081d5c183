from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import f1_score

from category_data import CATEGORIES, fit, make_plan, official_parts, run_plan, write_stories
from cordwood import recipes
from cordwood.compare.config.plan import load_plan
from cordwood.compare.config.schema import EvaluationConfig
from cordwood.compare.runner.build_pipeline import build_pipeline
from cordwood.compare.runner.cv_splits import Split, split
from cordwood.compare.runner.ledger import Ledger
from cordwood.compare.runner.run import collect
from cordwood.compare.runner.trial_scores import category_scores
from cordwood.compare.runner.trials import Trial
from cordwood.compare.stats.comparison import compare, learning_curves
from cordwood.compare.stats.result_index import build_index
from cordwood.datasets.corpus import Corpus
from cordwood.exceptions import CordwoodError
from reproduction.rare_classes import (
    DEFAULT_THRESHOLD,
    RareClasses,
    find_best_threshold,
    limit_category,
)
from reproduction.rounds import average_n_words, average_rounds

REPRODUCTION = Path(__file__).parents[2] / "benchmarks" / "reproduction"
PROCEDURE = f"{REPRODUCTION / 'rare_classes.py'}:RareClasses"
PROBAS = (0.0, 0.1, 0.25, 0.5, 0.75, 1.0)
SAMPLES = st.lists(st.tuples(st.booleans(), st.sampled_from(PROBAS)), min_size=1, max_size=12)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return write_stories(tmp_path_factory.mktemp("categories"))


def run_rare(folder, tmp_path, learners, **tables):
    return run_plan(folder, tmp_path, learners, procedure=PROCEDURE, **tables)


@pytest.mark.parametrize("path", sorted(REPRODUCTION.glob("plans/*.toml")), ids=lambda p: p.stem)
def test_every_record_of_a_ledger_belongs_to_its_plan(path):
    ledger = REPRODUCTION / "ledgers" / f"{path.stem}.jsonl"
    if not ledger.exists():
        pytest.skip("a source distribution has no ledgers")
    summary = collect(load_plan(path, lookup_only=True), Ledger(ledger))
    n_renamed = 5 if path.stem == "sigir17-spambase" else 0  # of a learner that was removed
    assert summary.records
    assert summary.n_foreign == n_renamed


def test_tuning_on_test_samples_is_marked(folder, tmp_path):
    learner = {"recipe": "svm", "grid": {"C": [0.001, 0.1, 10.0]}}
    summary = run_rare(folder, tmp_path, [learner], options={"tune_on_test": True})
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
    tuned = run_rare(folder, tmp_path, [learner], tuning={"folds": 4}, options={"threshold": True})
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
    summary = run_rare(folder, tmp_path, learners, options={"rounds": [1, 2, 4, 300]})
    by_name = {(r["trial"]["dataset"], r["trial"]["learner"]): r for r in summary.records}
    assert "rounds" not in by_name["tin", "nb"]
    model, texts, y_test = fit(folder, "tin", "adauboost", max_iter=9)
    n_words = len({rule.feature for rule in model[-1].rules_[0]})
    assert by_name["tin", "adauboost"]["n_words"] == n_words
    stages = list(model[-1].staged_predict(model[:-1].transform(texts)))
    rounds = by_name["tin", "adauboost"]["rounds"]
    assert rounds["n"] == [1, 2, 4, 9]
    expected = [f1_score(y_test, stages[n - 1]) for n in rounds["n"]]
    assert rounds["test"]["f1"] == pytest.approx(expected)
    for record in (by_name[name, "lpuboost"] for name in CATEGORIES):
        assert record["rounds"]["test"]["f1"][-1] == record["scores"]["f1"]
    index = build_index(summary.records, summary.planned)
    assert average_n_words(index)["tin", "adauboost"] == n_words
    curve = average_rounds(index, "f1")["tin", "adauboost"]
    assert (curve.rounds, curve.test) == ((1, 2, 4, 9), tuple(rounds["test"]["f1"]))
    assert curve.train == tuple(rounds["train"]["f1"])


def test_training_samples_of_the_category_are_limited(folder, tmp_path):
    summary = run_rare(
        folder,
        tmp_path,
        [{"recipe": "nb"}],
        evaluation={"repeats": 2},
        options={"max_positives": [2, 5, 1000]},
        n_jobs=2,  # processes that import the procedure themselves
    )
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


@settings(deadline=None, max_examples=100)
@given(SAMPLES, st.randoms(use_true_random=False))
def test_weighted_threshold_equals_that_of_repeated_samples(samples, random):
    y_true = np.array([is_category for is_category, _ in samples])
    proba = np.array([value for _, value in samples])
    counts = np.array([random.randint(1, 3) for _ in samples])
    repeated = find_best_threshold(np.repeat(y_true, counts), np.repeat(proba, counts))
    assert find_best_threshold(y_true, proba, counts.astype(float)) == repeated


@settings(deadline=None, max_examples=200)
@given(SAMPLES)
def test_threshold_maximizes_f1_and_prefers_the_default(samples):
    y_true = np.array([is_category for is_category, _ in samples])
    proba = np.array([value for _, value in samples])
    found = find_best_threshold(y_true, proba)
    # Every threshold that separates two of the probabilities is equivalent to one of these.
    candidates = [*((a + b) / 2 for a in PROBAS for b in PROBAS), DEFAULT_THRESHOLD]
    scores = {t: category_scores(y_true, proba > t).f1 for t in candidates}
    best = max(scores.values())
    if best == 0:
        assert found == DEFAULT_THRESHOLD
        return
    assert category_scores(y_true, proba > found).f1 == pytest.approx(best, rel=1e-12)
    default_f1 = category_scores(y_true, proba > DEFAULT_THRESHOLD).f1
    assert (found == DEFAULT_THRESHOLD) or default_f1 < best


def test_equal_probabilities_are_not_separated():
    y_true, proba = np.array([True, False, False]), np.array([0.3, 0.3, 0.1])
    found = find_best_threshold(y_true, proba)
    assert found == pytest.approx(0.2)
    assert (proba > found).tolist() == [True, True, False]


def test_limit_category_keeps_all_samples_of_other_classes():
    labels = tuple("a" if index % 4 == 0 else "b" for index in range(60))
    data = Corpus(texts=("",) * 60, ids=tuple(map(str, range(60))), labels=labels)
    full = Split(np.arange(40), np.arange(40, 60))
    kept = {
        (n, repeat): limit_category(data, full, "a", n, repeat, seed=1)
        for n in (2, 5, 10, 99)
        for repeat in (0, 1)
    }
    for (n, _), part in kept.items():
        assert sum(labels[index] == "a" for index in part.train) == min(n, 10)
        assert sum(labels[index] == "b" for index in part.train) == 30
        assert part.train.tolist() == sorted(part.train) and part.test is full.test
    assert set(kept[2, 0].train) < set(kept[5, 0].train) < set(kept[10, 0].train)
    assert kept[5, 0].train.tolist() != kept[5, 1].train.tolist()
    assert kept[5, 0].train.tolist() != limit_category(data, full, "a", 5, 0, seed=2).train.tolist()


@pytest.fixture(scope="module")
def corpus():
    rng = np.random.default_rng(3)
    labels = rng.choice(["x", "z"], 120, p=[0.7, 0.3])
    own = {"x": "red green blue", "z": "blue gray black"}
    texts = [" ".join(rng.choice([*own[label].split(), "the", "of"], 4)) for label in labels]
    ids = tuple(map(str, range(120)))
    return Corpus(texts=tuple(texts), ids=ids, labels=tuple(labels.tolist()))


def tune(data, recipe, grid=None):
    """Tune the threshold of the category "z" in four folds."""
    trial = Trial(
        dataset="d",
        learner=recipe,
        repeat=0,
        fold=0,
        train_fraction=1.0,
        recipe=recipe,
        params={},
        grid=grid or {},
        vectorizer={"preset": "social"},
        evaluation={"kind": "stratified", "folds": 5},
        tuning={"kind": "cv", "folds": 4, "threshold": True, "metric": "f1"},
        seed=0,
        category="z",
    )
    return RareClasses().tune(trial, partial(build_pipeline, trial, data, 0), data, data)


def cross_val_proba(data, recipe, **params):
    """Return the pooled probabilities of the same folds."""
    y, texts = np.asarray(data.labels), np.asarray(data.texts, object)
    weights = np.ones(len(y)) if data.weights is None else np.asarray(data.weights)
    vectorizer_params, proba = {"preset": "social"}, np.empty(len(y))
    for train, test in split(data, EvaluationConfig(folds=4), seed=0):
        model = recipes.make(recipe, vectorizer_params=vectorizer_params, random_state=0, **params)
        model.fit(texts[train], y[train], classifier__sample_weight=weights[train])
        proba[test] = model.predict_proba(texts[test])[:, model.classes_.tolist().index("z")]
    return proba


@pytest.mark.parametrize("is_weighted", [False, True])
def test_threshold_and_parameters_are_tuned_by_pooled_f1(corpus, is_weighted):
    weights = np.random.default_rng(0).choice([0.2, 1.0, 5.0], len(corpus)) if is_weighted else None
    data = replace(corpus, weights=None if weights is None else tuple(weights.tolist()))
    truth = np.array(data.labels) == "z"
    Cs, scores = [0.001, 0.1, 10.0], []
    for C in Cs:
        proba = cross_val_proba(data, "svm", C=C)
        scores.append(max(f1_score(truth, proba >= t, sample_weight=weights) for t in proba))
    tuned = tune(data, "svm", {"classifier__C": Cs})
    assert tuned.score == pytest.approx(max(scores), rel=1e-12)
    assert tuned.params == {"classifier__C": Cs[int(np.argmax(scores))]}
    predicted = cross_val_proba(data, "svm", C=tuned.params["classifier__C"])
    above = predicted > tuned.extra["threshold"]
    assert f1_score(truth, above, sample_weight=weights) == pytest.approx(tuned.score)


@pytest.mark.parametrize("recipe", ["lpuboost", "svm", "nb"])
def test_only_sample_of_a_category_keeps_the_default_threshold(corpus, recipe):
    single = replace(corpus, labels=tuple("z" if i == 7 else "x" for i in range(len(corpus))))
    tuned = tune(single, recipe)
    assert (tuned.score, tuned.extra) == (0.0, {"threshold": DEFAULT_THRESHOLD})


@pytest.mark.parametrize(
    ("tables", "message"),
    [
        (
            {"metric": "macro_f1", "options": {"threshold": True}},
            "options.threshold needs metric = 'f1' and tuning.kind = 'cv'",
        ),
        (
            {"options": {"threshold": True, "tune_on_test": True}},
            "options.threshold and tune_on_test exclude each other; remove one",
        ),
        (
            {"options": {"max_positives": [5, 2]}},
            "options.max_positives must be strictly increasing positive integers",
        ),
        (
            {"options": {"rounds": [0, 1]}},
            "options.rounds must be strictly increasing positive integers",
        ),
        (
            {"evaluation": {"train_fractions": [0.5, 1.0]}, "options": {"max_positives": [5]}},
            "train_fractions and options.max_positives exclude each other; remove one",
        ),
        (
            {"evaluation": {"repeats": 2}, "options": {"rounds": [1]}},
            "evaluation repeats has no effect with kind = 'fixed'; leave it out",
        ),
        (
            {"options": {"round": [1]}},
            "options: there is no key 'round'; keys are: max_positives, rounds, threshold, "
            "tune_on_test",
        ),
    ],
)
def test_invalid_options_raise(folder, tables, message):
    with pytest.raises(CordwoodError) as caught:
        make_plan(folder, [{"recipe": "nb"}], procedure=PROCEDURE, **tables)
    assert str(caught.value) == message
