import warnings

import joblib
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.datasets import load_digits, load_iris
from sklearn.ensemble import RandomForestClassifier as SklearnForest
from sklearn.ensemble import StackingClassifier
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.feature_selection import SelectKBest, f_classif
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.metrics import accuracy_score
from sklearn.model_selection import GridSearchCV, KFold, StratifiedKFold, cross_val_predict
from sklearn.naive_bayes import MultinomialNB
from sklearn.pipeline import Pipeline, make_pipeline

from cordwood.ensemble.boosted_forest import BoostedForestClassifier
from cordwood.ensemble.forests import ExtraTreesClassifier, RandomForestClassifier
from cordwood.ensemble.lazy_forest import LazyForestClassifier
from cordwood.stacking.oob_stacking import OOBStackingClassifier

PIXELS, DIGITS = load_digits(return_X_y=True)
X, Y = PIXELS[:300], DIGITS[:300]


def bayes():
    return MultinomialNB()


def forest(n=20, **params):
    return RandomForestClassifier(n, random_state=0, **params)


def stack(members, final=None, **params):
    params = {"check_leakage": False, "random_state": 0, **params}
    return OOBStackingClassifier(members, final, **params)


def linear():
    return LogisticRegression(max_iter=200, tol=1e-2)


def test_rows_come_from_where_a_member_has_them():
    members = [
        ("forest", forest()),
        ("theirs", SklearnForest(30, random_state=0)),
        ("trees", ExtraTreesClassifier(10, random_state=0)),
        ("boosted", BoostedForestClassifier(6, cross_fit=3, random_state=0)),
        ("one_chain", BoostedForestClassifier(5, random_state=0)),
        ("lazy", LazyForestClassifier(30, 10, random_state=0)),
        ("bayes", bayes()),
    ]
    model = stack(members, bayes()).fit(X, Y)
    sources = ["oob", "oob", "cv", "oob", "cv", "loo", "cv"]
    assert list(model.oof_source_.values()) == sources
    blocks = dict(zip(model.oof_source_, np.split(model.meta_features_, 7, axis=1), strict=True))
    for name in ("forest", "theirs", "boosted"):
        own = model.named_estimators_[name].oob_decision_function_
        known = ~np.isnan(own).any(axis=1)
        assert np.array_equal(blocks[name][known], own[known])
    assert np.array_equal(blocks["lazy"], model.named_estimators_["lazy"].loo_decision_function())
    # Nobody's parameters were touched.
    assert members[0][1].oob_score is False


def test_cross_validated_rows_are_those_of_scikit_learn():
    folds = list(StratifiedKFold(4, shuffle=True, random_state=3).split(X, Y))
    model = stack([("bayes", bayes())], linear(), cv=folds).fit(X, Y)
    expected = cross_val_predict(bayes(), X, Y, cv=folds, method="predict_proba")
    assert np.array_equal(model.meta_features_, expected)


def test_without_bags_it_is_the_stack_of_scikit_learn():
    members = [("bayes", bayes()), ("linear", linear())]
    folds = list(KFold(3).split(X))
    ours = stack(members, linear(), cv=folds).fit(X, Y)
    theirs = StackingClassifier(members, linear(), cv=folds).fit(X, Y)
    new = PIXELS[300:500]
    assert np.allclose(ours.predict_proba(new), theirs.predict_proba(new), atol=1e-12)
    assert np.array_equal(ours.predict(new), theirs.predict(new))
    assert np.allclose(ours.transform(new), theirs.transform(new), atol=1e-12)


def test_it_is_no_worse_than_its_best_member():
    noisy = np.where(np.random.default_rng(0).random(PIXELS.shape) < 0.3, 0, PIXELS)
    members = [("bayes", bayes()), ("boosted", BoostedForestClassifier(20, random_state=0))]
    members += [("forest", forest(100)), ("lazy", LazyForestClassifier(50, 30, random_state=0))]
    model = stack(members).fit(noisy[:1200], DIGITS[:1200])
    alone = [member.score(noisy[1200:], DIGITS[1200:]) for member in model.estimators_]
    assert model.score(noisy[1200:], DIGITS[1200:]) > max(alone) - 0.01


@pytest.mark.parametrize("final", [None, linear()], ids=["forest", "linear"])
def test_random_labels_stay_random(final):
    rng = np.random.default_rng(1)
    rows, labels = rng.poisson(0.5, size=(600, 40)), rng.integers(3, size=600)
    members = [
        ("boosted", BoostedForestClassifier(10, cross_fit=2, random_state=0)),
        ("forest", forest(50)),
        ("lazy", LazyForestClassifier(40, 20, random_state=0)),
        ("bayes", bayes()),
    ]
    model = stack(members, final).fit(rows, labels)
    # The combiner must not find the labels in the rows it learns from, either.
    right = cross_val_predict(linear(), model.meta_features_, labels, cv=5) == labels
    assert abs(right.mean() - 1 / 3) < 4 * np.sqrt(2 / 9 / 600)
    new = rng.poisson(0.5, size=(600, 40))
    assert abs(model.score(new, rng.integers(3, size=600)) - 1 / 3) < 4 * np.sqrt(2 / 9 / 600)


def doubled(n=200):
    rng = np.random.default_rng(2)
    rows, labels = rng.poisson(0.7, size=(n, 30)), rng.integers(3, size=n)
    return np.vstack([rows, rows]), np.tile(labels, 2), np.tile(np.arange(n), 2)


LEAKING = [("forest", forest(50)), ("lazy", LazyForestClassifier(20, 20, random_state=0))]


def test_copies_without_groups_are_noticed():
    rows, labels, _ = doubled()
    with pytest.warns(UserWarning, match=r"'forest' \(by .*'lazy' \(by .* copies of rows"):
        model = stack(LEAKING, bayes(), check_leakage=True).fit(rows, labels)
    assert model.oof_optimism_["forest"] > 0.3 and model.oof_optimism_["lazy"] > 0.3


def test_copies_in_one_group_do_not_leak():
    rows, labels, groups = doubled()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        chains = ("chains", BoostedForestClassifier(20, cross_fit=4, random_state=0))
        members = [*LEAKING, chains]
        model = stack(members, bayes(), check_leakage=True).fit(rows, labels, groups=groups)
    assert model.oof_source_ == {"forest": "cv", "lazy": "loo", "chains": "oob"}
    for block in np.split(model.meta_features_, 3, axis=1):
        right = block.argmax(axis=1) == labels
        assert abs(right[:200].mean() - 1 / 3) < 4 * np.sqrt(2 / 9 / 200)


def test_honest_members_are_not_suspected():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = stack([("forest", forest()), ("bayes", bayes())], check_leakage=True)
        model.fit(PIXELS, DIGITS)
    assert list(model.oof_optimism_) == ["forest", "bayes"]
    assert max(model.oof_optimism_.values()) < 0.1


class WatchedForest(RandomForestClassifier):
    """Tells how many trees it was grown with, each time."""

    sizes: list[int] = []

    def fit(self, X, y, sample_weight=None):
        self.sizes.append(self.n_estimators)
        return super().fit(X, y, sample_weight)


def test_the_guard_against_leaks_grows_few_trees_and_the_members_all_of_theirs(monkeypatch):
    monkeypatch.setattr(WatchedForest, "sizes", [])
    members = [
        ("large", make_pipeline(WatchedForest(70, random_state=0))),
        ("small", WatchedForest(20, random_state=0)),
    ]
    model = stack(members, bayes(), check_leakage=True, cv=2).fit(X, Y)
    assert {"large", "small"} == set(model.oof_optimism_)
    assert set(WatchedForest.sizes) == {20, 50, 70}
    assert model.named_estimators_["large"].n_estimators == 70
    assert model.named_estimators_["small"].n_estimators == 20


def test_rows_in_all_bags_get_the_classes_shares_and_are_counted():
    weights = np.where(Y < 5, 1.0, 3.0)
    model = stack([("forest", forest(2)), ("bayes", bayes())], bayes())
    model.fit(X, Y, sample_weight=weights)
    unknown = np.isnan(model.named_estimators_["forest"].oob_decision_function_).any(axis=1)
    assert model.n_imputed_ == {"forest": unknown.sum(), "bayes": 0}
    assert 50 < unknown.sum() < 250
    shares = np.bincount(Y, weights=weights) / weights.sum()
    assert np.allclose(model.meta_features_[unknown, :10], shares)


def test_classes_smaller_than_the_folds_are_no_fault():
    labels = Y.copy()
    labels[0], labels[1:3] = 77, 88
    model = stack([("bayes", bayes()), ("forest", forest())]).fit(X, labels)
    assert model.meta_features_[0, list(model.classes_).index(77)] == 0
    assert np.isfinite(model.meta_features_).all()
    assert model.predict_proba(X).shape == (300, 12)


def test_a_fold_with_one_class_left_is_answered():
    labels = np.array([0] * 30 + [1])
    model = stack([("linear", linear())], bayes()).fit(X[:31], labels)
    assert model.meta_features_[30].tolist() == [1.0, 0.0]


def test_single_rows_of_all_classes_are_refused():
    with pytest.raises(ValueError, match="every class has a single row"):
        stack([("bayes", bayes())]).fit(X[:4], [0, 1, 2, 3])


FITS = []


class Counting(TransformerMixin, BaseEstimator):
    """Tells in `FITS` how often it is fitted."""

    def __init__(self, factor=1):
        self.factor = factor

    def fit(self, X, y=None):
        FITS.append(X.shape[0])
        return self

    def transform(self, X):
        return X * self.factor


def test_shared_steps_are_fitted_once():
    FITS.clear()
    members = [
        ("a", make_pipeline(Counting(), bayes())),
        ("b", make_pipeline(Counting(), forest())),
        ("c", make_pipeline(Counting(2), bayes())),
    ]
    model = stack(members, bayes()).fit(X, Y)
    assert FITS == [300, 300]
    a, b, c = model.estimators_
    assert a.steps[0][1] is b.steps[0][1] and a.steps[0][1] is not c.steps[0][1]
    whole = [member.predict_proba(PIXELS[300:320]) for member in (a, b, c)]
    assert np.array_equal(model.transform(PIXELS[300:320]), np.hstack(whole))


def test_steps_that_need_labels_are_fitted_in_each_fold():
    # Of many random features some go with the labels by chance, and picking these must not help.
    rng = np.random.default_rng(4)
    rows, labels = rng.normal(size=(200, 3000)), rng.integers(2, size=200)
    member = make_pipeline(SelectKBest(f_classif, k=10), linear())
    model = stack([("picked", member)], linear()).fit(rows, labels)
    right = (model.meta_features_.argmax(axis=1) == labels).mean()
    assert abs(right - 0.5) < 4 * np.sqrt(0.25 / 200)


def texts():
    rng = np.random.default_rng(5)
    words = np.array(["wheat", "corn", "gold", "tin", "ship", "port"])
    labels = rng.integers(3, size=240)
    picks = [rng.choice(np.r_[words, words[2 * c : 2 * c + 2].repeat(6)], 5) for c in labels]
    return [" ".join(pick) for pick in picks], np.array(["grain", "metal", "sea"])[labels]


def test_members_read_texts_through_their_own_steps():
    documents, labels = texts()
    members = [
        ("forest", make_pipeline(CountVectorizer(), forest())),
        ("bayes", make_pipeline(CountVectorizer(binary=True), bayes())),
        ("lazy", make_pipeline(CountVectorizer(), LazyForestClassifier(20, 10, random_state=0))),
    ]
    model = stack(members).fit(documents[:160], labels[:160])
    assert model.oof_source_ == {"forest": "oob", "bayes": "cv", "lazy": "loo"}
    assert model.score(documents[160:], labels[160:]) > 0.8
    series = pd.Series(documents[160:])
    assert np.array_equal(model.predict(series), model.predict(documents[160:]))


def test_threads_do_not_change_a_bit():
    members = [("forest", forest()), ("bayes", bayes()), ("linear", linear())]
    one, three = (stack(members, n_jobs=n).fit(X, Y) for n in (1, 3))
    assert np.array_equal(one.meta_features_, three.meta_features_)
    assert np.array_equal(one.predict_proba(PIXELS), three.predict_proba(PIXELS))


def test_sparse_and_dense_rows_give_the_same():
    members = [("forest", forest()), ("bayes", bayes())]
    dense = stack(members, passthrough=True).fit(X, Y)
    sparse = stack(members, passthrough=True).fit(sp.csr_matrix(X), Y)
    assert np.array_equal(dense.predict_proba(X), sparse.predict_proba(sp.csc_matrix(X)))


def test_what_is_passed_through_is_seen_by_the_combiner():
    model = stack([("bayes", bayes())], linear(), passthrough=True).fit(X, Y)
    assert model.final_estimator_.n_features_in_ == 10 + 64
    documents, labels = texts()
    with pytest.raises(ValueError, match="passthrough hands the rows"):
        stack([("a", make_pipeline(CountVectorizer(), bayes()))], passthrough=True).fit(
            documents, labels
        )


def test_fitted_members_are_taken_as_they_are():
    members = [("forest", forest().fit(X, Y)), ("bayes", bayes().fit(X, Y))]
    model = stack(members, linear(), cv="prefit").fit(PIXELS[300:600], DIGITS[300:600])
    assert model.estimators_[0] is members[0][1]
    assert model.oof_source_ == {"forest": "prefit", "bayes": "prefit"}
    expected = np.hstack([member.predict_proba(PIXELS[300:600]) for _, member in members])
    assert np.array_equal(model.meta_features_, expected)
    with pytest.raises(ValueError, match=r"'forest' knows classes that y has no rows of: 0, 1, 2"):
        stack(members, linear(), cv="prefit").fit(X[Y > 4], Y[Y > 4])


def test_members_without_probabilities_take_part():
    members = [("ridge", RidgeClassifier()), ("bayes", bayes())]
    many = stack(members, linear()).fit(X, Y)
    two = stack(members, linear()).fit(X[Y < 2], Y[Y < 2])
    for model, n_classes in ((many, 10), (two, 2)):
        ridge = model.meta_features_[:, :n_classes]
        assert np.allclose(ridge.sum(axis=1), 1)
        assert (ridge.argmax(axis=1) == (Y if n_classes == 10 else Y[Y < 2])).mean() > 0.85


def test_members_are_set_dropped_and_searched_by_name():
    model = stack([("forest", forest()), ("bayes", bayes())], linear())
    assert model.get_params()["forest__n_estimators"] == 20
    model.set_params(bayes="drop", forest__n_estimators=7).fit(X, Y)
    assert list(model.named_estimators_) == ["forest"]
    assert model.estimators_[0].n_estimators == 7
    search = GridSearchCV(clone(model), {"forest__max_depth": [1, None]}, cv=2).fit(X, Y)
    assert search.best_params_ == {"forest__max_depth": None}


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"estimators": []}, "estimators must be a list of members"),
        ({"estimators": [("a", "drop")]}, "all estimators are dropped"),
        ({"estimators": [("a", CountVectorizer())]}, "'a' is CountVectorizer.*no classifier"),
        ({"estimators": [("a", bayes()), ("a", bayes())]}, "Names provided are not unique"),
        ({"cv": 1}, "cv"),
        ({"use_oob": "bayes"}, "use_oob must be True, False or a list .* got 'bayes'"),
        ({"use_oob": 5}, "use_oob must be True, False or a list .* got '5'"),
        ({"use_oob": ["tree"]}, "members' names, which are bayes; got 'tree'"),
        ({"cv": "five"}, "cv must be a number of folds, folds or 'prefit'; got 'five'"),
    ],
)
def test_wrong_parameters_are_named(params, message):
    model = stack([("bayes", bayes())]).set_params(**params)
    with pytest.raises(ValueError, match=message):
        model.fit(X, Y)


def test_pipelines_with_nothing_before_the_classifier_are_members_too():
    model = stack([("a", Pipeline([("skip", "passthrough"), ("bayes", bayes())]))], linear())
    assert model.fit(X, Y).score(X, Y) > 0.9


def test_without_own_rows_all_members_are_cross_validated():
    members = [("forest", forest(50)), ("lazy", LazyForestClassifier(30, 20, random_state=0))]
    folds = list(StratifiedKFold(4, shuffle=True, random_state=1).split(X, Y))
    model = stack(members, bayes(), cv=folds, use_oob=False).fit(X, Y)
    assert model.oof_source_ == {"forest": "cv", "lazy": "cv"}
    expected = [
        cross_val_predict(member, X, Y, cv=folds, method="predict_proba") for _, member in members
    ]
    np.testing.assert_array_equal(model.meta_features_, np.hstack(expected))


def test_rows_of_a_single_chain_are_used_if_it_is_named():
    members = [("boosted", BoostedForestClassifier(20, random_state=0))]
    model = stack(members, bayes(), use_oob=["boosted"]).fit(X, Y)
    assert model.oof_source_ == {"boosted": "oob"}
    own = model.named_estimators_["boosted"].oob_decision_function_
    assert np.array_equal(model.meta_features_, own)


def test_rows_of_a_single_chain_are_not_used_with_groups_even_if_it_is_named():
    members = [("boosted", BoostedForestClassifier(5, random_state=0))]
    model = stack(members, bayes(), use_oob=["boosted"]).fit(X, Y, groups=np.arange(len(Y)) // 2)
    assert model.oof_source_ == {"boosted": "cv"}


def test_own_rows_can_be_those_of_some_members():
    members = [("forest", forest(50)), ("more", forest(20)), ("bayes", bayes())]
    mixed, own, refitted = (
        stack(members, bayes(), use_oob=trusted).fit(X, Y)
        for trusted in (["more", "bayes"], True, False)
    )
    assert mixed.oof_source_ == {"forest": "cv", "more": "oob", "bayes": "cv"}
    k = len(mixed.classes_)
    np.testing.assert_array_equal(mixed.meta_features_[:, :k], refitted.meta_features_[:, :k])
    np.testing.assert_array_equal(mixed.meta_features_[:, k:], own.meta_features_[:, k:])
    assert not np.array_equal(own.meta_features_[:, :k], refitted.meta_features_[:, :k])


class CountingBayes(MultinomialNB):
    """Naive Bayes that counts how often any of its kind was fitted."""

    n_fits = 0

    def fit(self, X, y, sample_weight=None):
        CountingBayes.n_fits += 1
        return super().fit(X, y, sample_weight)


def test_what_members_came_to_can_be_kept(tmp_path):
    members = [("counting", CountingBayes()), ("forest", forest())]
    plain = stack(members, bayes()).fit(X, Y)
    n_fits, CountingBayes.n_fits = CountingBayes.n_fits, 0
    assert n_fits == 6  # five folds, and all rows
    first = stack(members, linear(), memory=str(tmp_path)).fit(X, Y)
    again = stack([*members, ("more", bayes())], bayes(), memory=str(tmp_path)).fit(X, Y)
    assert CountingBayes.n_fits == 6
    again.set_params(more="drop").fit(X, Y)
    assert CountingBayes.n_fits == 6
    assert first.meta_features_.tobytes() == plain.meta_features_.tobytes()
    assert again.predict_proba(PIXELS).tobytes() == plain.predict_proba(PIXELS).tobytes()
    again.fit(X[1:], Y[1:])
    assert CountingBayes.n_fits == 12


def test_views_are_kept_with_members(tmp_path):
    texts = [f"{'goal team' if n % 2 else 'bread soup'} {n % 7}" for n in range(40)]
    labels = np.arange(40) % 2
    FITS.clear()
    for final in (bayes(), linear()):
        member = make_pipeline(CountVectorizer(), Counting(), bayes())
        model = stack([("words", member)], final, memory=str(tmp_path)).fit(texts, labels)
        assert model.predict(texts).tolist() == labels.tolist()
    assert len(FITS) == 1


class Notebook:
    """A memory that hands out the very objects that it keeps, as no file does."""

    def __init__(self):
        self.kept = {}

    def __deepcopy__(self, memo):
        return self

    def cache(self, function):
        def call(*arguments):
            name = function.__name__, joblib.hash(arguments)
            if name not in self.kept:
                self.kept[name] = function(*arguments)
            return self.kept[name]

        return call


def test_rows_that_are_kept_are_not_written_to():
    members = [("forest", forest(3))]
    memory = Notebook()
    first, again = (stack(members, bayes(), memory=memory).fit(X, Y) for _ in range(2))
    assert first.n_imputed_["forest"] == again.n_imputed_["forest"] > 0
    assert first.meta_features_.tobytes() == again.meta_features_.tobytes()


def test_a_score_of_its_own_is_left_to_a_member():
    X, y = load_iris(return_X_y=True)
    forest = SklearnForest(60, oob_score=accuracy_score, random_state=0)
    model = OOBStackingClassifier([("forest", forest)]).fit(X, y)
    assert model.named_estimators_["forest"].oob_score is accuracy_score
    assert model.oof_source_ == {"forest": "oob"}
