from dataclasses import replace

import numpy as np
import pytest
from sklearn.metrics import accuracy_score, f1_score
from sklearn.model_selection import GridSearchCV, KFold, LeaveOneOut, cross_val_predict
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import Pipeline

from cordwood import recipes
from cordwood.compare.config import external_estimator
from cordwood.compare.config.schema import EvaluationConfig
from cordwood.compare.runner.cv_splits import split
from cordwood.compare.runner.tuning import (
    Objective,
    resolve_tuning_kind,
    sample_for_loo,
    tune_by_cv,
    tune_by_oob_or_loo,
)
from cordwood.datasets.corpus import Corpus
from cordwood.datasets.registry import binarize_labels, load_dataset


@pytest.fixture(scope="module")
def corpus():
    rng = np.random.default_rng(0)
    texts, labels = [], []
    for _ in range(150):
        label = rng.choice(["x", "y", "z"], p=[0.6, 0.25, 0.15])
        own = {"x": "abcdef", "y": "cdefgh", "z": "efghij"}[label]
        texts.append(" ".join(2 * word for word in rng.choice(list(own), size=5)))
        labels.append(str(label))
    ids = tuple(map(str, range(150)))
    return Corpus(texts=tuple(texts), labels=tuple(labels), ids=ids)


SOCIAL = {"preset": "social"}


def make_factory(recipe, **options):
    """Return a factory of a recipe's pipelines, or of an estimator's by its import path."""
    make = external_estimator.make_pipeline if ":" in recipe else recipes.make
    return lambda params: make(recipe, random_state=3, n_jobs=1, **options, **params)


@pytest.mark.parametrize(
    ("metric", "scoring"), [("micro_f1", "accuracy"), ("macro_f1", "f1_macro")]
)
@pytest.mark.parametrize(
    ("recipe", "grid"),
    [
        ("svm", {"classifier__C": [0.01, 0.1, 1.0, 10.0]}),
        ("nb", {"vectorizer__min_df": [1, 20, 60], "classifier__alpha": [0.01, 1.0, 100.0]}),
    ],
)
def test_cv_matches_grid_search(corpus, recipe, grid, metric, scoring):
    make_pipeline = make_factory(recipe, vectorizer_params={"preset": "social"})
    splits = split(corpus, EvaluationConfig(folds=4), seed=0)
    search = GridSearchCV(make_pipeline({}), grid, scoring=scoring, cv=splits, refit=False)
    search.fit(corpus.texts, corpus.labels)
    tuned = tune_by_cv(make_pipeline, grid, corpus, splits, Objective(metric))
    assert tuned.score == pytest.approx(search.best_score_, rel=1e-12)
    assert tuned.params == search.best_params_
    # Else the test would be vacuous.
    assert len(set(search.cv_results_["mean_test_score"])) > 1


def test_cv_matches_grid_search_on_numeric_data():
    iris = load_dataset("sklearn:iris")
    splits = split(iris, EvaluationConfig(folds=3), seed=0)
    grid = {"classifier__C": [0.001, 1.0]}
    for scale in (True, False):
        make_pipeline = make_factory("svm", input="numeric", scale=scale)
        search = GridSearchCV(make_pipeline({}), grid, cv=splits).fit(iris.X, iris.labels)
        tuned = tune_by_cv(make_pipeline, grid, iris, splits, Objective("micro_f1"))
        assert (tuned.params, tuned.score) == (search.best_params_, search.best_score_)


@pytest.mark.parametrize("recipe", ["rf", "sklearn.ensemble:RandomForestClassifier"])
def test_oob_matches_oob_score(corpus, recipe):
    make_pipeline = make_factory(recipe, vectorizer_params=SOCIAL, classifier__n_estimators=60)
    grid = {"classifier__max_depth": [1, 3, None]}
    scores = []
    for depth in grid["classifier__max_depth"]:
        model = make_pipeline({"classifier__oob_score": True, "classifier__max_depth": depth})
        scores.append(model.fit(corpus.texts, np.array(corpus.labels))[-1].oob_score_)
    tuned = tune_by_oob_or_loo("oob", make_pipeline, grid, corpus, Objective("micro_f1"))
    assert tuned.kind == "oob"
    assert tuned.score == pytest.approx(max(scores), rel=1e-12)
    assert tuned.params == {"classifier__max_depth": [1, 3, None][int(np.argmax(scores))]}
    assert len(set(scores)) > 1


@pytest.mark.filterwarnings("ignore:Some inputs do not have OOB scores")
@pytest.mark.parametrize("recipe", ["rf", "sklearn.ensemble:RandomForestClassifier"])
def test_samples_without_oob_prediction_are_ignored(corpus, recipe):
    make_pipeline = make_factory(recipe, vectorizer_params=SOCIAL, classifier__n_estimators=2)
    model = make_pipeline({"classifier__oob_score": True})
    proba = model.fit(corpus.texts, np.array(corpus.labels))[-1].oob_decision_function_
    known = np.nan_to_num(proba).sum(axis=1) > 0
    assert 0 < known.sum() < len(corpus)
    right = model.classes_[proba[known].argmax(axis=1)] == np.array(corpus.labels)[known]
    grid = {"classifier__max_depth": [None]}
    tuned = tune_by_oob_or_loo("oob", make_pipeline, grid, corpus, Objective("micro_f1"))
    assert tuned.score == pytest.approx(right.mean(), rel=1e-12)


class LazyNeighbors(KNeighborsClassifier):
    """Mean vote of the nearest neighbors of each sample, itself excluded."""

    def loo_decision_function(self, groups=None, indices=slice(None)):
        neighbors = self.kneighbors(return_distance=False)
        proba = np.eye(len(self.classes_))[self._y[neighbors]].mean(axis=1)
        proba[self.without_prediction] = np.nan
        return proba[indices]

    without_prediction = np.array([], dtype=int)


def lazy(params):
    return Pipeline([("classifier", LazyNeighbors())]).set_params(**params)


@pytest.mark.parametrize("metric", ["micro_f1", "macro_f1"])
def test_loo_matches_cross_validation_with_leave_one_out(metric):
    iris = load_dataset("sklearn:iris").select(np.arange(0, 150, 2))
    labels = np.array(iris.labels)
    ks = [1, 5, 15, 40]
    scores = []
    for k in ks:
        left_out = cross_val_predict(KNeighborsClassifier(k), iris.X, labels, cv=LeaveOneOut())
        scores.append(
            accuracy_score(labels, left_out)
            if metric == "micro_f1"
            else f1_score(labels, left_out, average="macro")
        )
    tuned = tune_by_oob_or_loo(
        "loo", lazy, {"classifier__n_neighbors": ks}, iris, Objective(metric)
    )
    assert tuned.kind == "loo"
    assert tuned.score == pytest.approx(max(scores), rel=1e-12)
    assert tuned.params == {"classifier__n_neighbors": ks[int(np.argmax(scores))]}
    assert len(set(scores)) > 1


def test_samples_without_loo_prediction_are_ignored(monkeypatch):
    iris = load_dataset("sklearn:iris")
    proba = lazy({})[-1].fit(iris.X, iris.labels).loo_decision_function()
    right = np.unique(iris.labels)[proba.argmax(axis=1)] == np.array(iris.labels)
    monkeypatch.setattr(LazyNeighbors, "without_prediction", np.flatnonzero(~right))
    grid = {"classifier__n_neighbors": [5]}
    assert tune_by_oob_or_loo("loo", lazy, grid, iris, Objective("micro_f1")).score == 1.0
    # A candidate without any prediction has a score of 0.
    monkeypatch.setattr(LazyNeighbors, "without_prediction", slice(None))
    assert tune_by_oob_or_loo("loo", lazy, grid, iris, Objective("micro_f1")).score == 0.0


def test_loo_sample_is_stratified_nested_and_seeded(corpus):
    labels = np.array(corpus.labels)
    sample = sample_for_loo(corpus, 40, seed=0)
    assert len(set(sample.tolist())) == 40 and (np.diff(sample) > 0).all()
    for label in "xyz":
        assert abs((labels[sample] == label).sum() - (labels == label).mean() * 40) < 1
    assert set(sample) < set(sample_for_loo(corpus, 41, seed=0))
    assert sample_for_loo(corpus, 40, seed=0).tolist() == sample.tolist()
    assert sample_for_loo(corpus, 40, seed=1).tolist() != sample.tolist()
    assert sample_for_loo(corpus, 150, seed=0) is sample_for_loo(corpus, None, seed=0) is None


def test_loo_sample_is_scored_by_classifiers_fitted_on_all_samples():
    iris = load_dataset("sklearn:iris")
    labels = np.array(iris.labels)
    indices = sample_for_loo(iris, 60, seed=0)
    ks = [1, 30, 90, 120]
    scores = []
    for k in ks:
        # Each sample is predicted from all others, including those outside of the sample.
        left_out = [(np.delete(np.arange(150), i), [i]) for i in indices]
        right = [
            KNeighborsClassifier(k).fit(iris.X[rest], labels[rest]).predict(iris.X[i]) == labels[i]
            for rest, i in left_out
        ]
        scores.append(np.mean(right))
    grid = {"classifier__n_neighbors": ks}
    tuned = tune_by_oob_or_loo("loo", lazy, grid, iris, Objective("micro_f1"), indices)
    assert tuned.score == pytest.approx(max(scores), rel=1e-12)
    assert tuned.params == {"classifier__n_neighbors": ks[int(np.argmax(scores))]}
    assert len(set(scores)) > 1


@pytest.mark.parametrize(
    ("make_pipeline", "grid", "found"),
    [
        (make_factory("rf"), {"classifier__max_depth": [1, 2]}, {"oob": "oob", "auto": "oob"}),
        (
            make_factory("et", bootstrap=True),
            {"classifier__max_depth": [1]},
            {"oob": "oob", "auto": "oob"},
        ),
        (make_factory("et"), {"classifier__max_depth": [1]}, {}),
        (make_factory("et"), {"classifier__bootstrap": [True]}, {"oob": "oob", "auto": "oob"}),
        (make_factory("rf"), {"classifier__bootstrap": [True, False]}, {}),
        (make_factory("svm"), {"classifier__C": [1.0]}, {}),
        (lazy, {"classifier__n_neighbors": [1, 2]}, {"loo": "loo", "auto": "loo"}),
    ],
)
def test_oob_and_loo_need_the_support_of_all_candidates(make_pipeline, grid, found):
    for kind in ("cv", "oob", "loo", "auto"):
        assert resolve_tuning_kind(kind, make_pipeline, grid) == found.get(kind, "cv"), kind


def test_loo_excludes_the_whole_group():
    iris = load_dataset("sklearn:iris").select(np.arange(0, 150, 2))
    twice = iris.select(np.repeat(np.arange(len(iris)), 2))
    twice = replace(twice, groups=tuple(map(str, np.repeat(np.arange(len(iris)), 2))))
    make_pipeline, grid = (
        make_factory("knn", input="numeric", scale=False),
        {"classifier__n_neighbors": [2]},
    )
    alone = tune_by_oob_or_loo("loo", make_pipeline, grid, iris, Objective("micro_f1"))
    grouped = tune_by_oob_or_loo(
        "loo", make_pipeline, grid, twice, Objective("micro_f1"), grouped=True
    )
    known = tune_by_oob_or_loo("loo", make_pipeline, grid, twice, Objective("micro_f1"))
    assert known.score == 1.0 > grouped.score  # predicted from its duplicate
    make_pipeline, grid = (
        make_factory("knn", input="numeric", scale=False),
        {"classifier__n_neighbors": [4]},
    )
    assert tune_by_oob_or_loo(
        "loo", make_pipeline, grid, twice, Objective("micro_f1"), grouped=True
    ).score == (pytest.approx(alone.score))


def test_auto_does_not_use_oob_for_groups():
    grid = {"classifier__max_depth": [1, 2]}
    assert resolve_tuning_kind("auto", make_factory("rf"), grid, grouped=True) == "cv"
    assert resolve_tuning_kind("oob", make_factory("rf"), grid, grouped=True) == "oob"
    neighbors = {"classifier__n_neighbors": [1, 2]}
    assert resolve_tuning_kind("auto", lazy, neighbors, grouped=True) == "loo"


def test_f1_of_a_category_is_pooled_over_folds(corpus):
    data = binarize_labels(corpus, "z")
    make_pipeline = make_factory("nb", vectorizer_params={"preset": "social"})
    splits = split(data, EvaluationConfig(folds=4), seed=0)
    alphas = [0.01, 1.0, 100.0]
    truth = np.array(data.labels) == "z"
    scores = []
    for alpha in alphas:
        proba = cross_val_predict(
            make_pipeline({"classifier__alpha": alpha}),
            data.texts,
            data.labels,
            cv=splits,
            method="predict_proba",
        )[:, 1]
        scores.append(f1_score(truth, proba > 0.5, zero_division=0.0))
    objective = Objective("f1", "z")
    tuned = tune_by_cv(make_pipeline, {"classifier__alpha": alphas}, data, splits, objective)
    assert tuned.score == pytest.approx(max(scores), rel=1e-12)
    assert tuned.params == {"classifier__alpha": alphas[int(np.argmax(scores))]}
    assert len(set(scores)) > 1


@pytest.mark.parametrize("recipe", ["lpuboost", "adauboost", "svm", "nb"])
def test_fold_with_the_only_sample_of_a_category_finds_none(corpus, recipe):
    single = replace(corpus, labels=tuple("z" if i == 7 else "x" for i in range(len(corpus))))
    make_pipeline = make_factory(recipe, vectorizer_params=SOCIAL)
    splits = list(KFold(3).split(single.texts))
    assert tune_by_cv(make_pipeline, {}, single, splits, Objective("f1", "z")).score == 0.0


def weigh(data, seed=0):
    weights = np.random.default_rng(seed).choice([0.2, 1.0, 5.0], len(data))
    return replace(data, weights=tuple(weights.tolist())), weights


@pytest.mark.parametrize("metric", ["micro_f1", "macro_f1"])
def test_weights_count_in_fits_and_scores_of_cv(corpus, metric):
    data, weights = weigh(corpus)
    y = np.asarray(data.labels)
    make_pipeline = make_factory("svm", vectorizer_params=SOCIAL)
    splits = split(data, EvaluationConfig(folds=4), seed=0)
    grid = {"classifier__C": [0.001, 0.1, 100.0]}
    means = []
    for C in grid["classifier__C"]:
        scores = []
        for train, test in splits:
            model = make_pipeline({"classifier__C": C})
            texts = np.asarray(data.texts, object)
            model.fit(texts[train], y[train], classifier__sample_weight=weights[train])
            predicted, params = model.predict(texts[test]), {"sample_weight": weights[test]}
            scores.append(
                accuracy_score(y[test], predicted, **params)
                if metric == "micro_f1"
                else f1_score(y[test], predicted, average="macro", **params)
            )
        means.append(np.mean(scores))
    tuned = tune_by_cv(make_pipeline, grid, data, splits, Objective(metric))
    assert tuned.score == pytest.approx(max(means), rel=1e-12)
    assert tuned.score != tune_by_cv(make_pipeline, grid, corpus, splits, Objective(metric)).score


def test_weights_count_in_fits_and_scores_of_oob_predictions(corpus):
    data, weights = weigh(corpus)
    y = np.asarray(data.labels)
    make_pipeline = make_factory("rf", vectorizer_params=SOCIAL, classifier__n_estimators=20)
    tuned = tune_by_oob_or_loo(
        "oob", make_pipeline, {"classifier__max_depth": [3]}, data, Objective("micro_f1")
    )
    model = make_pipeline({"classifier__max_depth": 3}).set_params(classifier__oob_score=True)
    model.fit(data.texts, y, classifier__sample_weight=weights)
    proba = model[-1].oob_decision_function_
    known = ~np.isnan(proba).any(axis=1)
    predicted = model.classes_[proba[known].argmax(axis=1)]
    expected = accuracy_score(y[known], predicted, sample_weight=weights[known])
    assert tuned.score == pytest.approx(expected)


def test_weights_count_in_the_f1_of_a_category(corpus):
    data, weights = weigh(binarize_labels(corpus, "z"))
    splits = split(data, EvaluationConfig(folds=3), seed=0)
    make_pipeline = make_factory("svm", vectorizer_params=SOCIAL)
    objective = Objective("f1", "z")
    tuned = tune_by_cv(make_pipeline, {}, data, splits, objective)
    y, texts = np.asarray(data.labels), np.asarray(data.texts, object)
    proba = np.empty(len(y))
    for train, test in splits:
        model = make_pipeline({})
        model.fit(texts[train], y[train], classifier__sample_weight=weights[train])
        proba[test] = model.predict_proba(texts[test])[:, 1]
    assert model.classes_.tolist() == ["(others)", "z"]
    expected = f1_score(y == "z", proba > 0.5, sample_weight=weights)
    assert tuned.score == pytest.approx(expected)
