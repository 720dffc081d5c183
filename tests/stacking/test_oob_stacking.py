import warnings

import joblib
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.datasets import load_digits, load_iris
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import RandomForestClassifier as SklearnForest
from sklearn.ensemble import StackingClassifier
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.feature_selection import SelectKBest, f_classif
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.metrics import accuracy_score
from sklearn.model_selection import (
    GridSearchCV,
    KFold,
    LeaveOneGroupOut,
    StratifiedGroupKFold,
    StratifiedKFold,
    cross_val_predict,
)
from sklearn.naive_bayes import MultinomialNB
from sklearn.pipeline import Pipeline, make_pipeline

from cordwood.ensemble.boosted_forest import BoostedForestClassifier
from cordwood.ensemble.forests import ExtraTreesClassifier, RandomForestClassifier
from cordwood.ensemble.lazy_forest import LazyForestClassifier
from cordwood.oof import folds as oof_folds
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


def test_oof_source_of_each_kind_of_estimator():
    members = [
        ("forest", forest()),
        ("sklearn", SklearnForest(30, random_state=0)),
        ("trees", ExtraTreesClassifier(10, random_state=0)),
        ("boosted", BoostedForestClassifier(6, cross_fit=3, random_state=0)),
        ("one_run", BoostedForestClassifier(5, random_state=0)),
        ("lazy", LazyForestClassifier(30, 10, random_state=0)),
        ("bayes", bayes()),
    ]
    model = stack(members, bayes()).fit(X, Y)
    sources = ["oob", "oob", "cv", "oob", "cv", "loo", "cv"]
    assert list(model.oof_source_.values()) == sources
    blocks = dict(zip(model.oof_source_, np.split(model.meta_features_, 7, axis=1), strict=True))
    for name in ("forest", "sklearn", "boosted"):
        own = model.named_estimators_[name].oob_decision_function_
        known = ~np.isnan(own).any(axis=1)
        assert np.array_equal(blocks[name][known], own[known])
    assert np.array_equal(blocks["lazy"], model.named_estimators_["lazy"].loo_decision_function())
    # The estimators given by the user are not modified.
    assert members[0][1].oob_score is False


@pytest.mark.parametrize(("limits", "n_folds"), [((300, 400), 10), ((299, 300), 5), ((1, 299), 3)])
def test_cv_auto_chooses_the_folds_by_the_number_of_samples(limits, n_folds, monkeypatch):
    monkeypatch.setattr(oof_folds, "_TEN_FOLDS_OF_STACKS", limits[0])
    monkeypatch.setattr(oof_folds, "_FIVE_FOLDS_OF_STACKS", limits[1])
    model = stack([("bayes", bayes())], linear(), cv="auto").fit(X, Y)
    expected = stack([("bayes", bayes())], linear(), cv=n_folds).fit(X, Y)
    assert np.array_equal(model.meta_features_, expected.meta_features_)


def test_cv_auto_with_groups_and_leakage_check():
    groups = np.arange(300) // 3
    model = stack([("bayes", bayes())], linear(), cv="auto", check_leakage=True)
    model.fit(X, Y, groups=groups)
    expected = stack([("bayes", bayes())], linear(), cv=10).fit(X, Y, groups=groups)
    assert np.array_equal(model.meta_features_, expected.meta_features_)
    assert set(model.oof_optimism_) == {"bayes"}


def test_cross_validated_meta_features_match_cross_val_predict():
    folds = list(StratifiedKFold(4, shuffle=True, random_state=3).split(X, Y))
    model = stack([("bayes", bayes())], linear(), cv=folds).fit(X, Y)
    expected = cross_val_predict(bayes(), X, Y, cv=folds, method="predict_proba")
    assert np.array_equal(model.meta_features_, expected)


def test_matches_sklearn_stacking_classifier_without_oob():
    members = [("bayes", bayes()), ("linear", linear())]
    folds = list(KFold(3).split(X))
    ours = stack(members, linear(), cv=folds).fit(X, Y)
    theirs = StackingClassifier(members, linear(), cv=folds).fit(X, Y)
    new = PIXELS[300:500]
    assert np.allclose(ours.predict_proba(new), theirs.predict_proba(new), atol=1e-12)
    assert np.array_equal(ours.predict(new), theirs.predict(new))
    assert np.allclose(ours.transform(new), theirs.transform(new), atol=1e-12)


def test_not_worse_than_best_base_estimator():
    noisy = np.where(np.random.default_rng(0).random(PIXELS.shape) < 0.3, 0, PIXELS)
    members = [("bayes", bayes()), ("boosted", BoostedForestClassifier(20, random_state=0))]
    members += [("forest", forest(100)), ("lazy", LazyForestClassifier(50, 30, random_state=0))]
    model = stack(members).fit(noisy[:1200], DIGITS[:1200])
    alone = [member.score(noisy[1200:], DIGITS[1200:]) for member in model.estimators_]
    assert model.score(noisy[1200:], DIGITS[1200:]) > max(alone) - 0.01


@pytest.mark.parametrize("final", [None, linear()], ids=["default", "linear"])
def test_random_labels_are_predicted_at_chance_level(final):
    rng = np.random.default_rng(1)
    samples, labels = rng.poisson(0.5, size=(600, 40)), rng.integers(3, size=600)
    members = [
        ("boosted", BoostedForestClassifier(10, cross_fit=2, random_state=0)),
        ("forest", forest(50)),
        ("lazy", LazyForestClassifier(40, 20, random_state=0)),
        ("bayes", bayes()),
    ]
    model = stack(members, final).fit(samples, labels)
    # The meta-features must not leak the labels either.
    right = cross_val_predict(linear(), model.meta_features_, labels, cv=5) == labels
    assert abs(right.mean() - 1 / 3) < 4 * np.sqrt(2 / 9 / 600)
    new = rng.poisson(0.5, size=(600, 40))
    assert abs(model.score(new, rng.integers(3, size=600)) - 1 / 3) < 4 * np.sqrt(2 / 9 / 600)


def doubled(n=200):
    rng = np.random.default_rng(2)
    samples, labels = rng.poisson(0.7, size=(n, 30)), rng.integers(3, size=n)
    return np.vstack([samples, samples]), np.tile(labels, 2), np.tile(np.arange(n), 2)


LEAKING = [("forest", forest(50)), ("lazy", LazyForestClassifier(20, 20, random_state=0))]


def test_duplicates_without_groups_warn_of_leakage():
    samples, labels, _ = doubled()
    with pytest.warns(UserWarning, match="'forest' by .* and 'lazy' by .* pass groups to fit"):
        model = stack(LEAKING, bayes(), check_leakage=True).fit(samples, labels)
    assert model.oof_optimism_["forest"] > 0.3 and model.oof_optimism_["lazy"] > 0.3


def test_duplicates_in_one_group_do_not_leak():
    samples, labels, groups = doubled()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        boosted = ("boosted", BoostedForestClassifier(20, cross_fit=4, random_state=0))
        members = [*LEAKING, boosted]
        model = stack(members, bayes(), check_leakage=True).fit(samples, labels, groups=groups)
    assert model.oof_source_ == {"forest": "cv", "lazy": "loo", "boosted": "oob"}
    for block in np.split(model.meta_features_, 3, axis=1):
        right = block.argmax(axis=1) == labels
        assert abs(right[:200].mean() - 1 / 3) < 4 * np.sqrt(2 / 9 / 200)


def make_groups(*sizes):
    """Groups of the given sizes, in random order."""
    return np.random.default_rng(0).permutation(np.repeat(np.arange(len(sizes)), sizes))


@pytest.mark.parametrize("cv", [2, "auto", StratifiedGroupKFold(2)])
def test_group_of_most_samples_warns(cv):
    groups = make_groups(151, 50, 50, 49)
    with pytest.warns(UserWarning, match="The largest of 4 groups holds 151 of 300 .* other 149"):
        stack([("bayes", bayes())], linear(), cv=cv).fit(X, Y, groups=groups)


@pytest.mark.parametrize(("cv", "n_groups"), [(5, 4), (3, 2), ("auto", 2)])
def test_fewer_groups_than_folds_warn(cv, n_groups):
    groups = np.arange(300) % n_groups
    with pytest.warns(UserWarning, match=f"{n_groups} groups for .* set cv={n_groups}") as caught:
        stack([("bayes", bayes())], linear(), cv=cv).fit(X, Y, groups=groups)
    assert [each.filename for each in caught] == [__file__]


@pytest.mark.parametrize("cv", [2, 4, "auto", LeaveOneGroupOut(), StratifiedGroupKFold(3)])
def test_groups_of_half_of_the_samples_do_not_warn(cv):
    groups = make_groups(150, 50, 50, 50)
    stack([("bayes", bayes())], linear(), cv=cv).fit(X, Y, groups=groups)


def test_groups_of_fitted_estimators_do_not_warn():
    fitted = [("bayes", bayes().fit(X, Y))]
    stack(fitted, linear(), cv="prefit").fit(X, Y, groups=make_groups(200, 100))


def test_leakage_check_does_not_repeat_warnings_of_groups():
    """The subsample has fewer groups than all samples."""
    groups = make_groups(*[60] * 5)
    model = stack([("bayes", bayes())], linear(), cv=5, check_leakage=True)
    assert set(model.fit(X, Y, groups=groups).oof_optimism_) == {"bayes"}


def near_duplicates(n=300, n_versions=3):
    """Noise labels; each sample is contained in versions that differ in one or two features."""
    rng = np.random.default_rng(2)
    samples = np.tile(rng.poisson(0.7, size=(n, 30)), (n_versions, 1))
    samples[np.arange(len(samples)), rng.integers(30, size=len(samples))] += 1
    labels, groups = rng.integers(3, size=n), np.arange(n)
    return samples, np.tile(labels, n_versions), np.tile(groups, n_versions)


def test_optimism_is_zero_for_grouped_near_duplicates():
    samples, labels, groups = near_duplicates()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = stack(LEAKING, bayes(), check_leakage=True).fit(samples, labels, groups=groups)
    # Standard error of the difference: 200 and 100 independent groups.
    error = np.sqrt(2 / 9 / 200 + 2 / 9 / 100)
    assert max(map(abs, model.oof_optimism_.values())) < 3 * error


def test_near_duplicates_without_groups_warn_of_leakage():
    samples, labels, _ = near_duplicates()
    with pytest.warns(UserWarning, match="'forest' by .* and 'lazy' by .* pass groups to fit"):
        model = stack(LEAKING, bayes(), check_leakage=True).fit(samples, labels)
    assert model.oof_optimism_["forest"] > 0.3 and model.oof_optimism_["lazy"] > 0.3


def test_no_warning_without_leakage():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = stack([("forest", forest()), ("bayes", bayes())], check_leakage=True)
        model.fit(PIXELS, DIGITS)
    assert list(model.oof_optimism_) == ["forest", "bayes"]
    assert max(model.oof_optimism_.values()) < 0.1


class WatchedForest(RandomForestClassifier):
    """Records `n_estimators` of each fit."""

    sizes: list[int] = []

    def fit(self, X, y, sample_weight=None):
        self.sizes.append(self.n_estimators)
        return super().fit(X, y, sample_weight)


def test_first_leakage_check_of_large_training_sets_limits_n_estimators(monkeypatch):
    monkeypatch.setattr(WatchedForest, "sizes", [])
    members = [
        ("large", make_pipeline(WatchedForest(70, random_state=0))),
        ("small", WatchedForest(20, random_state=0)),
    ]
    samples, labels, _ = doubled(800)
    labels = np.random.default_rng(0).integers(3, size=1600)  # Duplicates do not help.
    model = stack(members, bayes(), check_leakage=True, cv=2).fit(samples, labels)
    assert {"large", "small"} == set(model.oof_optimism_)
    assert set(WatchedForest.sizes) == {20, 50, 70}
    assert model.named_estimators_["large"][-1].n_estimators == 70
    assert model.named_estimators_["small"].n_estimators == 20


def test_samples_without_oob_prediction_get_the_class_prior():
    weights = np.where(Y < 5, 1.0, 3.0)
    model = stack([("forest", forest(2)), ("bayes", bayes())], bayes())
    model.fit(X, Y, sample_weight=weights)
    unknown = np.isnan(model.named_estimators_["forest"].oob_decision_function_).any(axis=1)
    assert model.n_imputed_ == {"forest": unknown.sum(), "bayes": 0}
    assert 50 < unknown.sum() < 250
    shares = np.bincount(Y, weights=weights) / weights.sum()
    assert np.allclose(model.meta_features_[unknown, :10], shares)


def test_classes_with_fewer_samples_than_folds():
    labels = Y.copy()
    labels[0], labels[1:3] = 77, 88
    model = stack([("bayes", bayes()), ("forest", forest())]).fit(X, labels)
    assert model.meta_features_[0, list(model.classes_).index(77)] == 0
    assert np.isfinite(model.meta_features_).all()
    assert model.predict_proba(X).shape == (300, 12)


def test_fold_with_a_single_training_class():
    labels = np.array([0] * 30 + [1])
    model = stack([("linear", linear())], bayes()).fit(X[:31], labels)
    assert model.meta_features_[30].tolist() == [1.0, 0.0]


def test_one_sample_per_class_raises():
    with pytest.raises(ValueError, match="class with at least two samples; every class"):
        stack([("bayes", bayes())]).fit(X[:4], [0, 1, 2, 3])


FITS = []


class Counting(TransformerMixin, BaseEstimator):
    """Records each fit in `FITS`."""

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


def test_supervised_transformers_are_fitted_in_each_fold():
    # Some of many random features correlate with the labels by chance.
    rng = np.random.default_rng(4)
    samples, labels = rng.normal(size=(200, 3000)), rng.integers(2, size=200)
    member = make_pipeline(SelectKBest(f_classif, k=10), linear())
    model = stack([("picked", member)], linear()).fit(samples, labels)
    right = (model.meta_features_.argmax(axis=1) == labels).mean()
    assert abs(right - 0.5) < 4 * np.sqrt(0.25 / 200)


def texts():
    rng = np.random.default_rng(5)
    words = np.array(["wheat", "corn", "gold", "tin", "ship", "port"])
    labels = rng.integers(3, size=240)
    picks = [rng.choice(np.r_[words, words[2 * c : 2 * c + 2].repeat(6)], 5) for c in labels]
    return [" ".join(pick) for pick in picks], np.array(["grain", "metal", "sea"])[labels]


def test_pipelines_on_texts():
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


def test_n_jobs_does_not_change_results():
    members = [("forest", forest()), ("bayes", bayes()), ("linear", linear())]
    one, three = (stack(members, n_jobs=n).fit(X, Y) for n in (1, 3))
    assert np.array_equal(one.meta_features_, three.meta_features_)
    assert np.array_equal(one.predict_proba(PIXELS), three.predict_proba(PIXELS))


def test_sparse_and_dense_passthrough_agree():
    members = [("forest", forest()), ("bayes", bayes())]
    dense = stack(members, passthrough=True).fit(X, Y)
    sparse = stack(members, passthrough=True).fit(sp.csr_matrix(X), Y)
    assert isinstance(dense.final_estimator_, LogisticRegression)
    np.testing.assert_allclose(
        dense.predict_proba(X), sparse.predict_proba(sp.csc_matrix(X)), atol=1e-3
    )


def test_passthrough_adds_features():
    model = stack([("bayes", bayes())], linear(), passthrough=True).fit(X, Y)
    assert model.final_estimator_.n_features_in_ == 10 + 64
    documents, labels = texts()
    with pytest.raises(ValueError, match="passthrough=True requires a two-dimensional numeric X"):
        stack([("a", make_pipeline(CountVectorizer(), bayes()))], passthrough=True).fit(
            documents, labels
        )


def test_prefit_estimators_are_not_fitted_again():
    members = [("forest", forest().fit(X, Y)), ("bayes", bayes().fit(X, Y))]
    model = stack(members, linear(), cv="prefit").fit(PIXELS[300:600], DIGITS[300:600])
    assert model.estimators_[0] is members[0][1]
    assert model.oof_source_ == {"forest": "prefit", "bayes": "prefit"}
    expected = np.hstack([member.predict_proba(PIXELS[300:600]) for _, member in members])
    assert np.array_equal(model.meta_features_, expected)
    with pytest.raises(
        ValueError, match=r"'forest' was fitted with classes that y does not contain: 0, 1, 2"
    ):
        stack(members, linear(), cv="prefit").fit(X[Y > 4], Y[Y > 4])


def test_estimators_without_predict_proba():
    members = [("ridge", RidgeClassifier()), ("bayes", bayes())]
    many = stack(members, linear()).fit(X, Y)
    two = stack(members, linear()).fit(X[Y < 2], Y[Y < 2])
    for model, n_classes in ((many, 10), (two, 2)):
        ridge = model.meta_features_[:, :n_classes]
        assert np.allclose(ridge.sum(axis=1), 1)
        assert (ridge.argmax(axis=1) == (Y if n_classes == 10 else Y[Y < 2])).mean() > 0.85


def test_set_params_drop_and_grid_search_by_name():
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
        ({"estimators": []}, "estimators must be a non-empty list of"),
        ({"estimators": [("a", "drop")]}, "All estimators are dropped"),
        (
            {"estimators": [("a", CountVectorizer())]},
            "Estimator 'a' must be a classifier; got CountVectorizer",
        ),
        ({"estimators": [("a", bayes()), ("a", bayes())]}, "Names provided are not unique"),
        ({"cv": 1}, "cv"),
        ({"anchor": "forrest"}, "anchor has 'forrest', which is no name of an estimator"),
        ({"anchor": 5}, "anchor must be the name of an estimator, a list of names or None"),
        ({"use_oob": "bayes"}, "use_oob must be True, False, 'auto' or a list .* got 'bayes'"),
        ({"use_oob": 5}, "use_oob must be True, False, 'auto' or a list .* got '5'"),
        ({"use_oob": ["tree"]}, "list of names of estimators, which are bayes; got 'tree'"),
        ({"passthrough": 1}, "passthrough must be True or False; got 1"),
        ({"check_leakage": "no"}, "check_leakage must be True or False; got 'no'"),
        ({"final_estimator": CountVectorizer()}, "final_estimator must be a classifier; got Count"),
        ({"n_jobs": 0}, "n_jobs must be .*; got 0"),
        ({"cv": "five"}, "cv must be an integer, 'auto', 'prefit', .*; got 'five'"),
    ],
)
def test_invalid_parameters_raise(params, message):
    model = stack([("bayes", bayes())]).set_params(**params)
    with pytest.raises(ValueError, match=message):
        model.fit(X, Y)


def test_pipeline_with_passthrough_step_only():
    model = stack([("a", Pipeline([("skip", "passthrough"), ("bayes", bayes())]))], linear())
    assert model.fit(X, Y).score(X, Y) > 0.9


def test_few_samples_shrink_to_the_anchor():
    members = [("forest", forest()), ("bayes", bayes())]

    def gap(n):
        """Return by how much an anchor increases the share of its weight."""
        shares = []
        for anchor in ("bayes", None):
            weights = stack(members, anchor=anchor).fit(PIXELS[:n], DIGITS[:n]).estimator_weights_
            shares.append(weights["bayes"] / sum(weights.values()))
        return shares[0] - shares[1]

    assert gap(40) > 0.2
    assert abs(gap(1500)) < 0.05


def test_another_final_estimator_has_no_anchors():
    members = [("forest", forest()), ("bayes", bayes())]
    anchored, free = (stack(members, linear(), anchor=each).fit(X, Y) for each in ("bayes", None))
    np.testing.assert_array_equal(anchored.predict_proba(X), free.predict_proba(X))


def test_anchors_are_not_pruned_with_few_samples():
    members = [("forest", forest()), ("chance", DummyClassifier(strategy="uniform"))]
    model = stack(members, anchor=["chance"], prune_tol=0.05).fit(X[:200], Y[:200])
    assert model.pruned_ == []
    assert set(model.ablation_) == {"forest", "chance"}
    free = stack(members, prune_tol=0.05).fit(X[:200], Y[:200])
    many = stack(members, anchor="chance", prune_tol=0.05).fit(PIXELS[:1000], DIGITS[:1000])
    assert free.pruned_ == many.pruned_ == ["chance"]


def test_few_samples_per_class_are_cross_validated_with_auto():
    members = [("forest", forest()), ("bayes", bayes())]
    digits, labels = load_digits(n_class=2, return_X_y=True)
    for n, source in ((99, "cv"), (100, "oob")):
        model = stack(members, use_oob="auto").fit(digits[:n], labels[:n])
        assert model.oof_source_ == {"forest": source, "bayes": "cv"}


def test_use_oob_false_cross_validates_all_estimators():
    members = [("forest", forest(50)), ("lazy", LazyForestClassifier(30, 20, random_state=0))]
    folds = list(StratifiedKFold(4, shuffle=True, random_state=1).split(X, Y))
    model = stack(members, bayes(), cv=folds, use_oob=False).fit(X, Y)
    assert model.oof_source_ == {"forest": "cv", "lazy": "cv"}
    expected = [
        cross_val_predict(member, X, Y, cv=folds, method="predict_proba") for _, member in members
    ]
    np.testing.assert_array_equal(model.meta_features_, np.hstack(expected))


def test_biased_oob_predictions_are_used_if_named():
    members = [("boosted", BoostedForestClassifier(20, random_state=0))]
    model = stack(members, bayes(), use_oob=["boosted"]).fit(X, Y)
    assert model.oof_source_ == {"boosted": "oob"}
    own = model.named_estimators_["boosted"].oob_decision_function_
    assert np.array_equal(model.meta_features_, own)


def test_biased_oob_predictions_are_never_used_with_groups():
    members = [("boosted", BoostedForestClassifier(5, random_state=0))]
    model = stack(members, bayes(), use_oob=["boosted"]).fit(X, Y, groups=np.arange(len(Y)) // 2)
    assert model.oof_source_ == {"boosted": "cv"}


def test_use_oob_for_some_estimators():
    members = [("forest", forest(50)), ("more", forest(20)), ("bayes", bayes())]
    mixed, own, refitted = (
        stack(members, bayes(), use_oob=names).fit(X, Y)
        for names in (["more", "bayes"], True, False)
    )
    assert mixed.oof_source_ == {"forest": "cv", "more": "oob", "bayes": "cv"}
    k = len(mixed.classes_)
    np.testing.assert_array_equal(mixed.meta_features_[:, :k], refitted.meta_features_[:, :k])
    np.testing.assert_array_equal(mixed.meta_features_[:, k:], own.meta_features_[:, k:])
    assert not np.array_equal(own.meta_features_[:, :k], refitted.meta_features_[:, :k])


class CountingBayes(MultinomialNB):
    """Naive Bayes that counts the fits of all instances."""

    n_fits = 0

    def fit(self, X, y, sample_weight=None):
        CountingBayes.n_fits += 1
        return super().fit(X, y, sample_weight)


def test_memory_caches_base_estimators(tmp_path):
    members = [("counting", CountingBayes()), ("forest", forest())]
    plain = stack(members, bayes()).fit(X, Y)
    n_fits, CountingBayes.n_fits = CountingBayes.n_fits, 0
    assert n_fits == 6  # five folds and all samples
    first = stack(members, linear(), memory=str(tmp_path)).fit(X, Y)
    again = stack([*members, ("more", bayes())], bayes(), memory=str(tmp_path)).fit(X, Y)
    assert CountingBayes.n_fits == 6
    again.set_params(more="drop").fit(X, Y)
    assert CountingBayes.n_fits == 6
    assert first.meta_features_.tobytes() == plain.meta_features_.tobytes()
    assert again.predict_proba(PIXELS).tobytes() == plain.predict_proba(PIXELS).tobytes()
    again.fit(X[1:], Y[1:])
    assert CountingBayes.n_fits == 12


def test_memory_caches_shared_steps(tmp_path):
    texts = [f"{'goal team' if n % 2 else 'bread soup'} {n % 7}" for n in range(40)]
    labels = np.arange(40) % 2
    FITS.clear()
    for final in (bayes(), linear()):
        member = make_pipeline(CountVectorizer(), Counting(), bayes())
        model = stack([("counts", member)], final, memory=str(tmp_path)).fit(texts, labels)
        assert model.predict(texts).tolist() == labels.tolist()
    assert len(FITS) == 1


class InProcessMemory:
    """A cache that returns the cached objects themselves, unlike `joblib.Memory`."""

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


def test_cached_probabilities_are_not_modified():
    members = [("forest", forest(3))]
    memory = InProcessMemory()
    first, again = (stack(members, bayes(), memory=memory).fit(X, Y) for _ in range(2))
    assert first.n_imputed_["forest"] == again.n_imputed_["forest"] > 0
    assert first.meta_features_.tobytes() == again.meta_features_.tobytes()


def test_oob_score_callable_is_kept():
    X, y = load_iris(return_X_y=True)
    forest = SklearnForest(60, oob_score=accuracy_score, random_state=0)
    model = OOBStackingClassifier([("forest", forest)]).fit(X, y)
    assert model.named_estimators_["forest"].oob_score is accuracy_score
    assert model.oof_source_ == {"forest": "oob"}
