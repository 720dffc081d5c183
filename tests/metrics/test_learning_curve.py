"""Learning curves and their extrapolation."""

import json

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy.optimize import nnls
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.datasets import make_classification
from sklearn.naive_bayes import GaussianNB

from cordwood import Corpus, Decision, TextClassifier
from cordwood.metrics import estimate_learning_curve
from cordwood.metrics._power_law import EXPONENTS, PRIOR_SD, fit_power_laws
from cordwood.metrics.learning_curve import _order_nested
from cordwood.stacking.oob_stacking import OOBStackingClassifier


class NoisyClassifier(ClassifierMixin, BaseEstimator):
    """Knows the label (the only feature), and errs with the probability of a power law."""

    def __init__(self, limit=0.1, factor=1.0, exponent=0.5):
        self.limit, self.factor, self.exponent = limit, factor, exponent

    def fit(self, X, y):
        self.classes_, self.n_ = np.unique(y), len(y)
        return self

    def predict_proba(self, X):
        error = self.limit + self.factor * self.n_**-self.exponent
        # Sample i errs in fits of all sizes, or only of small ones.
        errs = (X[:, 1] < error)[:, None]
        return np.where(errs ^ (X[:, :1] == self.classes_), 0.8, 0.2)


def make_noisy_samples(n_samples, seed):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n_samples)
    return np.column_stack([y, rng.uniform(size=n_samples)]), y


def test_power_law_matches_grid_search_with_scipy():
    rng = np.random.default_rng(0)
    sizes = np.array([50.0, 100, 200, 400, 800])
    losses = 0.1 + 2 * sizes**-0.6 + 0.02 * rng.normal(size=(20, 5))
    variances = np.array([4.0, 3, 2, 1, 1]) * 1e-4
    prior_means = np.log(rng.uniform(0.3, 0.9, 20))
    laws = fit_power_laws(sizes, losses, variances, prior_means)
    for i, loss in enumerate(losses):
        candidates = []
        for exponent in EXPONENTS:
            basis = np.column_stack([np.ones(5), sizes**-exponent])
            weights = 1 / np.sqrt(variances)
            solution, residual = nnls(basis * weights[:, None], loss * weights)
            penalty = ((np.log(exponent) - prior_means[i]) / PRIOR_SD) ** 2
            candidates.append((residual**2 + penalty, *solution, exponent))
        expected = min(candidates)
        np.testing.assert_allclose([laws.a[i], laws.b[i], laws.c[i]], expected[1:], atol=1e-6)


def test_curve_that_does_not_fall_is_flat():
    sizes = np.array([10.0, 20, 40])
    laws = fit_power_laws(sizes, np.array([[0.1, 0.2, 0.3]]), np.ones(3), np.zeros(1))
    assert laws.b == 0
    np.testing.assert_allclose(laws.predict(1000), 0.2)


def test_forecast_covers_the_truth():
    model = NoisyClassifier()
    truth = 1 - (0.1 + 1600**-0.5)
    covered = []
    for seed in range(40):
        X, y = make_noisy_samples(800, seed)
        forecast = estimate_learning_curve(model, X, y, random_state=seed).forecast(1600)
        covered.append(forecast.low <= truth <= forecast.high)
    assert np.mean(covered) >= 0.85


def test_forecast_recovers_the_law_of_many_samples():
    X, y = make_noisy_samples(20_000, 0)
    curve = estimate_learning_curve(NoisyClassifier(0.05, 2.0, 0.4), X, y)
    assert curve.forecast(40_000) == pytest.approx(0.95 - 2 * 40_000**-0.4, abs=0.01)
    gain = curve.gain(40_000)
    assert gain.low < 2 * (20_000**-0.4 - 40_000**-0.4) < gain.high


@pytest.mark.parametrize("scoring", ["accuracy", "macro_f1", "log_loss"])
def test_more_samples_never_hurt(scoring):
    X, y = make_classification(300, 10, n_informative=5, n_classes=3, random_state=0)
    curve = estimate_learning_curve(GaussianNB(), X, y, scoring=scoring)
    sign = -1 if scoring == "log_loss" else 1
    forecasts = [sign * curve.forecast(n) for n in (100, 300, 600, 10_000)]
    assert forecasts == sorted(forecasts)
    assert sign * curve.gain(600) >= 0
    assert curve.gain(300) == 0


def test_points_are_scores_of_nested_subsets():
    X, y = make_classification(300, 10, n_informative=5, random_state=0)
    calls = []

    class Recorder(GaussianNB):
        def fit(self, X, y, sample_weight=None):
            calls.append({row.tobytes() for row in X})
            return super().fit(X, y)

    done = []
    curve = estimate_learning_curve(
        Recorder(), X, y, n_repeats=2, progress=lambda *counts: done.append(counts)
    )
    assert curve.sizes == (24, 43, 76, 134, 240)
    assert curve.scores.shape == (2, 5)
    assert [len(each) for each in calls] == [*curve.sizes, *curve.sizes]
    assert calls[0] < calls[1] < calls[2] < calls[3] < calls[4]
    assert done == [(i, 10) for i in range(10)]


def test_prefixes_are_stratified():
    codes = np.repeat([0, 1, 2], [600, 300, 100])
    order = _order_nested(np.arange(1000), codes, None, 0)
    for size in (10, 100, 500):
        np.testing.assert_allclose(
            np.bincount(codes[order[:size]], minlength=3) / size, [0.6, 0.3, 0.1], atol=2 / size
        )
    assert sorted(order) == list(range(1000))


def test_groups_stay_together():
    groups = np.repeat(np.arange(50), 4)
    order = _order_nested(np.arange(200), np.zeros(200, int), groups, 0)
    assert all(len(set(block)) == 1 for block in groups[order].reshape(50, 4))
    # Equal samples with random labels: only leakage predicts them.
    rng = np.random.default_rng(0)
    X, y = np.repeat(rng.normal(size=(50, 5)), 4, axis=0), np.repeat(rng.integers(0, 2, 50), 4)
    curve = estimate_learning_curve(GaussianNB(), X, y, groups=groups)
    assert curve.scores.mean() < 0.65


def test_subsets_with_few_groups_do_not_warn():
    X, y = make_classification(240, 5, random_state=0)
    stack = OOBStackingClassifier([("nb", GaussianNB())], random_state=0)
    curve = estimate_learning_curve(stack, X, y, groups=np.arange(240) // 8, n_repeats=1)
    assert curve.sizes[0] < 5 * 8  # fewer groups than folds
    assert np.isfinite(curve.scores).all()


def test_subset_of_one_class_predicts_it():
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], [190, 10])
    groups = np.r_[np.arange(190), np.repeat(190, 5), np.repeat(191, 5)]
    curve = estimate_learning_curve(
        GaussianNB(), rng.normal(size=(200, 2)), y, groups=groups, n_repeats=5
    )
    assert np.isfinite(curve.scores).all()


def test_same_seed_same_result():
    X, y = make_classification(200, 10, random_state=0)
    a, b = (estimate_learning_curve(GaussianNB(), X, y, random_state=3).to_dict() for _ in "ab")
    assert json.dumps(a) == json.dumps(b)


def test_invalid_arguments_raise():
    X, y = make_classification(30, 10, random_state=0)
    with pytest.raises(ValueError, match="training part of 24 samples is too small"):
        estimate_learning_curve(GaussianNB(), X, y)
    with pytest.raises(ValueError, match="scoring must be one of accuracy, macro_f1, log_loss"):
        estimate_learning_curve(GaussianNB(), X, y, scoring="f1")
    with pytest.raises(ValueError, match="n_repeats must be from 1 to 5; got 6"):
        estimate_learning_curve(GaussianNB(), X, y, n_repeats=6)


TABLE = {
    "text": [f"{'good' if i % 2 else 'bad'} {'film' if i % 3 else 'book'} {i}" for i in range(60)],
    "price": [i % 2 + i % 5 for i in range(60)],
}
LABELS = np.array(["-", "+"] * 30)


def make_table_corpus(table):
    return Corpus(texts=table["text"], ids=[*map(str, range(60))], columns=table)


@pytest.mark.parametrize("convert", [pd.DataFrame, pl.DataFrame, pa.table, make_table_corpus])
def test_every_kind_of_table_has_the_same_curve(convert):
    columns = {"text": ["text"], "numeric": ["price"]}
    model = TextClassifier("nb", columns=columns)
    expected = estimate_learning_curve(model, TABLE, LABELS, n_repeats=1)
    found = estimate_learning_curve(model, convert(TABLE), LABELS, n_repeats=1)
    assert found.scores.tolist() == expected.scores.tolist()


def test_records_of_a_text_classifier_do_not_change_its_curve(monkeypatch):
    plain = TextClassifier("et", oof=False, recipe_params={"n_estimators": 5})
    full = TextClassifier(
        "et", oof=True, decision=Decision("f1"), recipe_params={"n_estimators": 5}
    )
    expected = estimate_learning_curve(plain, TABLE["text"], LABELS, n_repeats=1)
    monkeypatch.setattr("cordwood.classifier.text_classifier.fit_with_oof", None)
    found = estimate_learning_curve(full, TABLE["text"], LABELS, n_repeats=1)
    assert found.scores.tolist() == expected.scores.tolist()


def test_groups_that_the_recipe_does_not_use_divide_the_samples():
    groups = np.repeat(np.arange(30), 2)
    model = TextClassifier("svm", oof=True)
    assert estimate_learning_curve(model, TABLE["text"], LABELS, groups=groups, n_repeats=1)
