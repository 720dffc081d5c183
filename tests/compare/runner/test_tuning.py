from dataclasses import replace

import numpy as np
import pytest
from sklearn.metrics import accuracy_score, f1_score
from sklearn.model_selection import GridSearchCV, LeaveOneOut, cross_val_predict
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import Pipeline

from cordwood import recipes
from cordwood.compare.config.schema import Evaluation
from cordwood.compare.runner.cv_splits import split
from cordwood.compare.runner.tuning import (
    Aim,
    choose_by_folds,
    choose_by_own_votes,
    resolve_kind,
    sample_rows,
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


def make(recipe, **options):
    return lambda params: recipes.make(recipe, random_state=3, n_jobs=1, **options, **params)


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
def test_agrees_with_the_grid_search_of_scikit_learn(corpus, recipe, grid, metric, scoring):
    build = make(recipe, vectorizer_params={"preset": "social"})
    divisions = split(corpus, Evaluation(folds=4), seed=0)
    search = GridSearchCV(build({}), grid, scoring=scoring, cv=divisions, refit=False)
    search.fit(corpus.texts, corpus.labels)
    choice = choose_by_folds(build, grid, corpus, divisions, Aim(metric))
    assert choice.score == pytest.approx(search.best_score_, rel=1e-12)
    assert choice.params == search.best_params_
    # Candidates must differ for this to mean anything.
    assert len(set(search.cv_results_["mean_test_score"])) > 1


def test_numbers_with_and_without_scaling():
    iris = load_dataset("sklearn:iris")
    divisions = split(iris, Evaluation(folds=3), seed=0)
    grid = {"classifier__C": [0.001, 1.0]}
    for scale in (True, False):
        build = make("svm", input="numeric", scale=scale)
        search = GridSearchCV(build({}), grid, cv=divisions).fit(iris.X, iris.labels)
        choice = choose_by_folds(build, grid, iris, divisions, Aim("micro_f1"))
        assert (choice.params, choice.score) == (search.best_params_, search.best_score_)


@pytest.mark.parametrize("recipe", ["rf", "sk_rf"])
def test_out_of_bag_score_is_the_learners_own(corpus, recipe):
    build = make(recipe, vectorizer_params={"preset": "social"}, n_estimators=60)
    grid = {"classifier__max_depth": [1, 3, None]}
    scores = []
    for depth in grid["classifier__max_depth"]:
        model = build({"classifier__oob_score": True, "classifier__max_depth": depth})
        scores.append(model.fit(corpus.texts, np.array(corpus.labels))[-1].oob_score_)
    choice = choose_by_own_votes("oob", build, grid, corpus, Aim("micro_f1"))
    assert choice.kind == "oob"
    assert choice.score == pytest.approx(max(scores), rel=1e-12)
    assert choice.params == {"classifier__max_depth": [1, 3, None][int(np.argmax(scores))]}
    assert len(set(scores)) > 1


@pytest.mark.filterwarnings("ignore:Some inputs do not have OOB scores")
@pytest.mark.parametrize("recipe", ["rf", "sk_rf"])
def test_rows_that_no_tree_has_left_out_do_not_count(corpus, recipe):
    build = make(recipe, vectorizer_params={"preset": "social"}, n_estimators=2)
    model = build({"classifier__oob_score": True})
    votes = model.fit(corpus.texts, np.array(corpus.labels))[-1].oob_decision_function_
    known = np.nan_to_num(votes).sum(axis=1) > 0
    assert 0 < known.sum() < len(corpus)
    right = model.classes_[votes[known].argmax(axis=1)] == np.array(corpus.labels)[known]
    grid = {"classifier__max_depth": [None]}
    choice = choose_by_own_votes("oob", build, grid, corpus, Aim("micro_f1"))
    assert choice.score == pytest.approx(right.mean(), rel=1e-12)


class LazyNeighbors(KNeighborsClassifier):
    """Votes of each row's neighbours, itself left out."""

    def loo_decision_function(self, groups=None, rows=slice(None)):
        neighbours = self.kneighbors(return_distance=False)
        votes = np.eye(len(self.classes_))[self._y[neighbours]].mean(axis=1)
        votes[self.silent] = np.nan
        return votes[rows]

    silent = np.array([], dtype=int)


def lazy(params):
    return Pipeline([("classifier", LazyNeighbors())]).set_params(**params)


@pytest.mark.parametrize("metric", ["micro_f1", "macro_f1"])
def test_leave_one_out_score_is_that_of_leaving_rows_out_one_by_one(metric):
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
    choice = choose_by_own_votes("loo", lazy, {"classifier__n_neighbors": ks}, iris, Aim(metric))
    assert choice.kind == "loo"
    assert choice.score == pytest.approx(max(scores), rel=1e-12)
    assert choice.params == {"classifier__n_neighbors": ks[int(np.argmax(scores))]}
    assert len(set(scores)) > 1


def test_rows_without_leave_one_out_votes_do_not_count(monkeypatch):
    iris = load_dataset("sklearn:iris")
    votes = lazy({})[-1].fit(iris.X, iris.labels).loo_decision_function()
    right = np.unique(iris.labels)[votes.argmax(axis=1)] == np.array(iris.labels)
    monkeypatch.setattr(LazyNeighbors, "silent", np.flatnonzero(~right))
    grid = {"classifier__n_neighbors": [5]}
    assert choose_by_own_votes("loo", lazy, grid, iris, Aim("micro_f1")).score == 1.0
    # A candidate that has no vote for any row is the worst, and no error.
    monkeypatch.setattr(LazyNeighbors, "silent", slice(None))
    assert choose_by_own_votes("loo", lazy, grid, iris, Aim("micro_f1")).score == 0.0


def test_a_sample_has_its_share_of_each_class_and_its_own_seed(corpus):
    labels = np.array(corpus.labels)
    sample = sample_rows(corpus, 40, seed=0)
    assert len(set(sample.tolist())) == 40 and (np.diff(sample) > 0).all()
    for label in "xyz":
        assert abs((labels[sample] == label).sum() - (labels == label).mean() * 40) < 1
    assert set(sample) < set(sample_rows(corpus, 41, seed=0))
    assert sample_rows(corpus, 40, seed=0).tolist() == sample.tolist()
    assert sample_rows(corpus, 40, seed=1).tolist() != sample.tolist()
    assert sample_rows(corpus, 150, seed=0) is sample_rows(corpus, None, seed=0) is None


def test_only_the_rows_of_a_sample_are_scored_and_all_are_learnt_from():
    iris = load_dataset("sklearn:iris")
    labels = np.array(iris.labels)
    asked = sample_rows(iris, 60, seed=0)
    ks = [1, 30, 90, 120]
    scores = []
    for k in ks:
        # Each row of the sample by all the other rows, also those that are not in it.
        left_out = [(np.delete(np.arange(150), row), [row]) for row in asked]
        right = [
            KNeighborsClassifier(k).fit(iris.X[rest], labels[rest]).predict(iris.X[row])
            == labels[row]
            for rest, row in left_out
        ]
        scores.append(np.mean(right))
    grid = {"classifier__n_neighbors": ks}
    choice = choose_by_own_votes("loo", lazy, grid, iris, Aim("micro_f1"), asked)
    assert choice.score == pytest.approx(max(scores), rel=1e-12)
    assert choice.params == {"classifier__n_neighbors": ks[int(np.argmax(scores))]}
    assert len(set(scores)) > 1


@pytest.mark.parametrize(
    ("build", "grid", "found"),
    [
        (make("rf"), {"classifier__max_depth": [1, 2]}, {"oob": "oob", "auto": "oob"}),
        (make("et", bootstrap=True), {"classifier__max_depth": [1]}, {"oob": "oob", "auto": "oob"}),
        (make("et"), {"classifier__max_depth": [1]}, {}),
        (make("et"), {"classifier__bootstrap": [True]}, {"oob": "oob", "auto": "oob"}),
        (make("rf"), {"classifier__bootstrap": [True, False]}, {}),
        (make("svm"), {"classifier__C": [1.0]}, {}),
        (lazy, {"classifier__n_neighbors": [1, 2]}, {"loo": "loo", "auto": "loo"}),
    ],
)
def test_own_votes_where_all_candidates_have_them_and_folds_elsewhere(build, grid, found):
    for kind in ("cv", "oob", "loo", "auto"):
        assert resolve_kind(kind, build, grid) == found.get(kind, "cv"), kind


def test_the_rest_of_its_group_is_left_out_with_a_row():
    iris = load_dataset("sklearn:iris").select(np.arange(0, 150, 2))
    twice = iris.select(np.repeat(np.arange(len(iris)), 2))
    twice = replace(twice, groups=tuple(map(str, np.repeat(np.arange(len(iris)), 2))))
    build, grid = make("knn", input="numeric", scale=False), {"classifier__n_neighbors": [2]}
    alone = choose_by_own_votes("loo", build, grid, iris, Aim("micro_f1"))
    grouped = choose_by_own_votes("loo", build, grid, twice, Aim("micro_f1"), grouped=True)
    known = choose_by_own_votes("loo", build, grid, twice, Aim("micro_f1"))
    assert known.score == 1.0 > grouped.score  # its copy answers for it
    build, grid = make("knn", input="numeric", scale=False), {"classifier__n_neighbors": [4]}
    assert choose_by_own_votes("loo", build, grid, twice, Aim("micro_f1"), grouped=True).score == (
        pytest.approx(alone.score)
    )


def test_groups_are_told_by_what_knows_them_unless_the_plan_says_otherwise():
    grid = {"classifier__max_depth": [1, 2]}
    assert resolve_kind("auto", make("rf"), grid, grouped=True) == "cv"
    assert resolve_kind("oob", make("rf"), grid, grouped=True) == "oob"
    neighbors = {"classifier__n_neighbors": [1, 2]}
    assert resolve_kind("auto", lazy, neighbors, grouped=True) == "loo"


@pytest.mark.parametrize("threshold", [False, True])
def test_f1_of_a_category_is_that_of_all_folds_together(corpus, threshold):
    rows = binarize_labels(corpus, "z")
    build = make("nb", vectorizer_params={"preset": "social"})
    divisions = split(rows, Evaluation(folds=4), seed=0)
    alphas = [0.01, 1.0, 100.0]
    truth = np.array(rows.labels) == "z"
    scores = []
    for alpha in alphas:
        votes = cross_val_predict(
            build({"classifier__alpha": alpha}),
            rows.texts,
            rows.labels,
            cv=divisions,
            method="predict_proba",
        )[:, 1]
        tried = np.unique(votes) - 1e-9 if threshold else [0.5]
        scores.append(max(f1_score(truth, votes > t, zero_division=0.0) for t in tried))
    aim = Aim("f1", "z", threshold)
    choice = choose_by_folds(build, {"classifier__alpha": alphas}, rows, divisions, aim)
    assert choice.score == pytest.approx(max(scores), rel=1e-12)
    assert choice.params == {"classifier__alpha": alphas[int(np.argmax(scores))]}
    assert (choice.threshold is not None) == threshold
    assert len(set(scores)) > 1
