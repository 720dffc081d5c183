import time

import numpy as np
import pytest
from sklearn.datasets import make_classification
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score, f1_score, log_loss
from sklearn.model_selection import PredefinedSplit, cross_val_predict
from sklearn.naive_bayes import GaussianNB

from cordwood import OOBStackingClassifier, RandomForestClassifier, load, save

MEMBERS = [
    ("forest", RandomForestClassifier(20, random_state=0)),
    ("chance", DummyClassifier(strategy="uniform", random_state=0)),
    ("bayes", GaussianNB(var_smoothing=0.1)),
]


class SlowBayes(GaussianNB):
    def fit(self, X, y, sample_weight=None):
        time.sleep(0.02)
        return super().fit(X, y, sample_weight)


@pytest.fixture(scope="module")
def samples():
    return make_classification(150, 8, n_informative=5, n_classes=3, random_state=0, class_sep=0.7)


def make_stack(members=MEMBERS, **params):
    return OOBStackingClassifier(members, check_leakage=False, random_state=0, **params)


def test_scores_are_those_of_the_meta_features(samples):
    X, y = samples
    stack = make_stack().fit(X, y)
    blocks = np.split(stack.meta_features_, len(MEMBERS), axis=1)
    predicted = dict(zip(stack.named_estimators_, (b.argmax(axis=1) for b in blocks), strict=True))
    for name, codes in predicted.items():
        assert stack.oof_scores_[name] == pytest.approx(
            {
                "accuracy": accuracy_score(y, codes),
                "macro_f1": f1_score(y, codes, average="macro"),
            }
        )
    forest, chance = (predicted[name] == y for name in ("forest", "chance"))
    assert stack.oof_disagreement_[0, 1] == pytest.approx((forest != chance).mean())
    np.testing.assert_array_equal(stack.oof_disagreement_, stack.oof_disagreement_.T)


def test_pruned_members_have_scores_and_times(samples):
    stack = make_stack(prune_tol=0.05).fit(*samples)
    assert "chance" in stack.pruned_
    assert list(stack.oof_scores_) == list(stack.fit_times_) == [name for name, _ in MEMBERS]
    n_kept = len(stack.estimators_)
    assert stack.oof_disagreement_.shape == (n_kept, n_kept)


def test_ablation_matches_cross_val_predict_without_a_member(samples):
    X, y = samples
    final_estimator = LogisticRegression()
    stack = make_stack(final_estimator=final_estimator).fit(X, y)
    folds = stack._final_training_set.folds % 2

    def score(columns):
        proba = cross_val_predict(
            final_estimator,
            stack.meta_features_[:, columns],
            y,
            cv=PredefinedSplit(folds),
            method="predict_proba",
        )
        return accuracy_score(y, proba.argmax(axis=1)), log_loss(y, proba)

    everything = score(np.arange(9))
    for i, name in enumerate(stack.named_estimators_):
        without = score(np.delete(np.arange(9), slice(3 * i, 3 * i + 3)))
        assert stack.ablation_[name]["accuracy"] == pytest.approx(without[0] - everything[0])
        assert stack.ablation_[name]["log_loss"] == pytest.approx(without[1] - everything[1])
    assert stack.ablation_["forest"]["log_loss"] > stack.ablation_["chance"]["log_loss"]


def test_ablation_does_not_depend_on_whether_out_of_fold_predictions_were_computed(samples):
    first, second = (make_stack().fit(*samples) for _ in range(2))
    assert first.oof_proba_.shape == (150, 3)
    assert first.ablation_ == second.ablation_


@pytest.mark.parametrize("params", [{"passthrough": True}, {"members": MEMBERS[:1]}])
def test_ablation_is_empty_without_other_members(samples, params):
    assert make_stack(**params).fit(*samples).ablation_ == {}


def test_fit_times_include_the_fits_in_folds(samples):
    members = [("slow", SlowBayes()), ("bayes", GaussianNB())]
    stack = make_stack(members, cv=4).fit(*samples)
    assert stack.fit_times_["slow"] >= 5 * 0.02
    assert stack.fit_times_["bayes"] > 0


def test_prefit_members_have_no_fit_times(samples):
    X, y = samples
    stack = make_stack([("bayes", GaussianNB().fit(X, y))], cv="prefit").fit(X, y)
    assert stack.fit_times_ == {}


@pytest.mark.parametrize("is_computed", [True, False])
def test_model_file_contains_the_scores(samples, tmp_path, is_computed):
    stack = make_stack(MEMBERS[:1] + MEMBERS[2:]).fit(*samples)
    if is_computed:
        assert stack.ablation_
    save(stack, tmp_path / "stack.cordwood", trusted=[GaussianNB])
    loaded = load(tmp_path / "stack.cordwood", trusted=[GaussianNB])
    for name in ("oof_scores_", "fit_times_", "oof_source_", "pruned_", "estimator_weights_"):
        assert getattr(loaded, name) == getattr(stack, name)
    np.testing.assert_array_equal(loaded.oof_disagreement_, stack.oof_disagreement_)
    if is_computed:
        assert loaded.ablation_ == stack.ablation_
    else:
        with pytest.raises(AttributeError, match="ablation_ was not computed before"):
            _ = loaded.ablation_
