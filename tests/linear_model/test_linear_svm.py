import subprocess
import sys
import tracemalloc
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from joblib import Parallel, delayed
from scipy.special import expit, softmax
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, make_classification
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import scale
from sklearn.svm import LinearSVC
from sklearn.utils import compute_class_weight

from cordwood.linear_model import LinearSVMClassifier
from cordwood.linear_model._log_count_ratio import LogCountRatio


def make_noisy(n_classes, n=600, seed=0):
    X, y = make_classification(
        n_samples=n,
        n_features=20,
        n_informative=8,
        n_classes=n_classes,
        flip_y=0.2,
        random_state=seed,
    )
    return train_test_split(X, y, random_state=seed)


def split_entries(X):
    """Store each value as two duplicate entries, half of it each."""
    return sp.csr_array(
        (np.repeat(X.data / 2, 2), np.repeat(X.indices, 2), 2 * X.indptr), shape=X.shape
    )


@pytest.mark.parametrize("loss", ["squared_hinge", "hinge"])
@pytest.mark.parametrize("class_weight", [None, "balanced", {0: 5.0, 1: 0.5}])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("wide", [False, True])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_coefficients_equal_linear_svc(loss, class_weight, weighted, wide, n_classes):
    X, y = load_iris(return_X_y=True)
    X = scale(X)
    if n_classes == 2:
        X, y = X[y > 0], y[y > 0] - 1
    if wide:  # more features than samples: solved in the dual
        X = sp.csr_array(np.hstack([X, np.random.default_rng(0).normal(size=(len(y), 200)) / 9]))
    sample_weight = np.linspace(0.1, 2, len(y)) if weighted else None
    options = dict(C=0.3, loss=loss, class_weight=class_weight, tol=1e-7, max_iter=100_000)
    ours = LinearSVMClassifier(**options, temperature=1.0, random_state=7).fit(X, y, sample_weight)
    theirs = LinearSVC(dual="auto", **options, random_state=7).fit(X, y, sample_weight)
    close = {"rtol": 1e-4, "atol": 1e-5}
    np.testing.assert_allclose(ours.coef_, theirs.coef_, **close)
    np.testing.assert_allclose(ours.intercept_, theirs.intercept_, **close)
    np.testing.assert_allclose(ours.decision_function(X), theirs.decision_function(X), **close)


def test_results_do_not_depend_on_threads():
    X, y = make_classification(400, 500, n_informative=20, n_classes=5, flip_y=0.3, random_state=0)

    def fit(seed, n_jobs=None):
        model = LinearSVMClassifier(tol=0.1, temperature=1.0, n_jobs=n_jobs, random_state=seed)
        return model.fit(X, y).coef_

    alone = [fit(seed) for seed in range(6)]
    threads = Parallel(n_jobs=3, require="sharedmem")(delayed(fit)(seed) for seed in range(6))
    assert all(map(np.array_equal, alone, threads))
    assert np.array_equal(fit(0, n_jobs=2), alone[0])
    assert not np.array_equal(alone[0], alone[1])


def test_binary_probabilities_are_logistic_function_of_scaled_margin():
    X, y = load_breast_cancer(return_X_y=True)
    model = LinearSVMClassifier(random_state=0).fit(scale(X), y)
    margins = model.decision_function(scale(X))
    assert margins.shape == (len(y),)
    assert model.coef_.shape == (1, X.shape[1])
    assert model.intercept_.shape == (1,)
    np.testing.assert_allclose(
        model.predict_proba(scale(X))[:, 1], expit(margins / model.temperature_)
    )
    assert np.array_equal(model.predict(scale(X)) == 1, margins > 0)


def test_multiclass_probabilities_are_softmax_of_scaled_margins():
    X, y = load_iris(return_X_y=True)
    model = LinearSVMClassifier(random_state=0).fit(X, y)
    margins = model.decision_function(X)
    expected = softmax(margins / model.temperature_, axis=1)
    np.testing.assert_allclose(model.predict_proba(X), expected)
    assert np.array_equal(model.predict(X), margins.argmax(axis=1))


@pytest.mark.parametrize("n_classes", [2, 4])
def test_temperature_nearly_minimizes_test_log_loss(n_classes):
    X, X_test, y, y_test = make_noisy(n_classes, n=2000)
    model = LinearSVMClassifier(random_state=0).fit(X, y)
    fitted = log_loss(y_test, model.predict_proba(X_test))
    fitted_temperature = model.temperature_
    losses = []
    for factor in np.geomspace(0.1, 10, 41):
        model.temperature_ = fitted_temperature * factor
        losses.append(log_loss(y_test, model.predict_proba(X_test)))
    assert fitted < min(losses) + 0.005
    assert losses[0] > fitted + 0.02  # the log loss depends on the temperature
    assert losses[-1] > fitted + 0.02


def test_temperature_adapts_to_scale_of_margins():
    X, X_test, y, y_test = make_noisy(2, n=2000)
    losses = []
    for C in (1e-9, 1.0):
        model = LinearSVMClassifier(C=C, random_state=0).fit(X, y)
        losses.append(log_loss(y_test, model.predict_proba(X_test)))
        if C < 1:
            assert np.abs(model.decision_function(X_test)).max() < 1e-4
    assert losses[0] < np.log(2) - 0.05 and losses[1] < np.log(2) - 0.05


def test_separable_classes_have_smoothed_probabilities():
    X = np.r_[np.full((20, 1), -1.0), np.full((20, 1), 1.0)]
    model = LinearSVMClassifier(random_state=0).fit(X, [0] * 20 + [1] * 20)
    # Platt's target: (n + 1) / (n + 2) for n = 40; all samples have the same absolute margin.
    assert model.predict_proba([[1.0]])[0, 1] == pytest.approx(41 / 42, abs=0.005)


def test_random_labels_yield_near_uniform_probabilities():
    rng = np.random.RandomState(0)
    X, y = rng.normal(size=(300, 100)), rng.randint(3, size=300)
    model = LinearSVMClassifier(random_state=0).fit(X, y)
    assert log_loss(y, model.predict_proba(rng.normal(size=(300, 100)))) < np.log(3) + 0.05


def test_sample_weight_affects_temperature():
    X, _, y, _ = make_noisy(2)
    right = LinearSVMClassifier(random_state=0).fit(X, y).predict(X) == y
    temperatures = [
        LinearSVMClassifier(random_state=0).fit(X, y, np.where(right, a, b)).temperature_
        for a, b in [(1.0, 0.2), (0.2, 1.0)]
    ]
    assert temperatures[1] > 2 * temperatures[0]


def test_zero_weight_samples_are_ignored():
    X = np.r_[np.full((20, 1), -1.0), np.full((20, 1), 1.0), np.zeros((400, 1))]
    y, weights = [0] * 20 + [1] * 20 + [0, 1] * 200, [1.0] * 40 + [0.0] * 400
    model = LinearSVMClassifier(random_state=0).fit(X, y, weights)
    assert model.predict_proba([[1.0]])[0, 1] == pytest.approx(41 / 42, abs=0.005)


def test_calibration_folds_are_shuffled():
    # Without shuffling, each fold would contain all samples of one of the three features.
    X = np.tile(np.eye(3), (20, 1)) * np.repeat([[-1.0], [1.0]], 30, axis=0)
    model = LinearSVMClassifier(random_state=0).fit(X, np.repeat([0, 1], 30))
    assert model.predict_proba([[0.0, 1.0, 0.0]])[0, 1] > 0.95


def make_sparse_counts(n_samples=400, n_features=1500, seed=0):
    """Draw sparse counts, of which three features depend on the class, with 15 % label noise."""
    rng = np.random.default_rng(seed)
    X = rng.poisson(0.01, size=(n_samples, n_features)).astype(float)
    y = rng.integers(0, 2, n_samples)
    X[np.arange(n_samples), 3 * y + rng.integers(0, 3, n_samples)] += 1
    return sp.csr_array(X), np.where(rng.random(n_samples) < 0.15, 1 - y, y)


@pytest.mark.parametrize("container", [sp.csr_array, lambda X: X.toarray()])
@pytest.mark.parametrize("nb_scaling", [0.0, 0.5])
@pytest.mark.parametrize("shuffle", [False, True])
def test_duplicates_and_integer_weights_have_the_same_temperature(container, nb_scaling, shuffle):
    X, y = make_sparse_counts()
    model = LinearSVMClassifier(nb_scaling=nb_scaling, tol=1e-6, random_state=0)
    expected = model.fit(container(X), y, np.full(len(y), 3.0)).temperature_
    order = np.tile(np.arange(len(y)), 3)
    if shuffle:  # other folds: the temperature is nearly the same
        order = np.random.default_rng(1).permutation(order)
    repeated = model.fit(container(X[order]), y[order]).temperature_
    assert repeated == pytest.approx(expected, rel=0.1 if shuffle else 1e-3)


def test_duplicates_do_not_make_probabilities_overconfident():
    X, y = make_sparse_counts(800)
    X_test, y_test, order = X[400:], y[400:], np.tile(np.arange(400), 3)
    model = LinearSVMClassifier(random_state=0).fit(X[order], y[order])
    proba = model.predict_proba(X_test)
    accuracy = (proba.argmax(axis=1) == y_test).mean()
    assert proba.max(axis=1).mean() == pytest.approx(accuracy, abs=0.05)


@pytest.mark.parametrize("different_labels", [False, True])
def test_held_out_samples_have_no_duplicates_in_the_training_folds(different_labels, monkeypatch):
    X, y = make_sparse_counts(90)
    twice = np.tile(np.arange(90), 2)
    labels = y[twice]
    if different_labels:
        labels[90:] = 1 - labels[90:]
    model = LinearSVMClassifier(random_state=0).fit(X[twice], labels)
    folds = []
    fit_coefficients = LinearSVMClassifier._fit_coefficients

    def record(self, X, y, weights, rng):
        folds.append((X, weights.copy()))
        return fit_coefficients(self, X, y, weights, rng)

    monkeypatch.setattr(LinearSVMClassifier, "_fit_coefficients", record)
    held_out = list(
        model._held_out_margins(X[twice], labels, np.ones(180), np.random.RandomState(0))
    )
    n_copies = 2 if different_labels else 1
    assert [len(fold.columns) for fold in held_out] == [30 * n_copies] * 3
    for train, weights in folds:
        assert len(np.unique(train.toarray(), axis=0)) == 60
        assert train.shape[0] == 60 * n_copies
        assert set(weights) == {2.0 / n_copies}


@pytest.mark.parametrize(("n_samples", "n_folds"), [(4200, 3), (6000, 2), (9600, 1)])
def test_folds_are_left_out_once_enough_samples_are_held_out(n_samples, n_folds):
    X, y = make_classification(n_samples, n_features=5, random_state=0)
    model = LinearSVMClassifier(temperature=1.0, random_state=0).fit(X, y)
    folds = list(model._held_out_margins(X, y, np.ones(n_samples), np.random.RandomState(0)))
    assert len(folds) == n_folds


def test_fold_with_two_of_three_classes_has_negated_margins():
    X, y = load_iris(return_X_y=True)
    X, y = X[49:], y[49:]  # one sample of the first class, which two training folds contain
    model = LinearSVMClassifier(random_state=0).fit(X, y)
    folds = list(model._held_out_margins(X, y, np.ones(len(y)), np.random.RandomState(0)))
    widths = sorted(fold.margins.shape[1] for fold in folds)
    assert widths == [2, 3, 3]
    negated = next(fold.margins for fold in folds if fold.margins.shape[1] == 2)
    assert np.array_equal(negated[:, 0], -negated[:, 1])
    n_distinct = len(np.unique(X, axis=0))  # one pair of flowers is equal
    assert sum(len(fold.columns) for fold in folds) == n_distinct - 1 == len(y) - 2


@settings(deadline=None, max_examples=60)
@given(
    counts=st.lists(st.integers(1, 4), min_size=2, max_size=6),
    seed=st.integers(0, 2**31 - 1),
)
def test_fit_succeeds_with_few_samples_per_class(counts, seed):
    rng = np.random.RandomState(seed)
    y = np.repeat(np.arange(len(counts)), counts)
    X = rng.normal(size=(len(y), 3))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = LinearSVMClassifier(
            random_state=0, max_iter=200, class_weight={0: 2.0, len(counts) - 1: 3.0}
        ).fit(X, y)
    probabilities = model.predict_proba(X)
    assert 0 < model.temperature_ < np.inf
    np.testing.assert_allclose(probabilities.sum(axis=1), 1)
    assert np.array_equal(model.predict(X), model.classes_[probabilities.argmax(axis=1)])


def test_temperature_is_one_without_held_out_samples():
    model = LinearSVMClassifier(random_state=0).fit([[0.0], [1.0]], ["a", "b"])
    assert model.temperature_ == 1.0


def test_temperature_is_one_if_all_margins_are_zero():
    model = LinearSVMClassifier(random_state=0).fit(np.zeros((6, 2)), [0, 1] * 3)
    assert model.temperature_ == 1.0
    np.testing.assert_allclose(model.predict_proba(np.zeros((1, 2))), 0.5)


def test_predict_equals_argmax_of_probabilities_despite_rounding():
    model = LinearSVMClassifier(random_state=0).fit(np.eye(3), [0, 1, 2])
    model.coef_, model.intercept_ = np.zeros((3, 3)), np.array([0.0, 1e-18, 2e-18])
    assert model.predict(np.eye(3)).tolist() == model.predict_proba(np.eye(3)).argmax(1).tolist()


def test_int64_indices_are_accepted_and_not_modified():
    X, y = load_digits(return_X_y=True)
    narrow = sp.csr_array(X[:300])
    wide = narrow.copy()
    wide.indices, wide.indptr = wide.indices.astype(np.int64), wide.indptr.astype(np.int64)
    models = [LinearSVMClassifier(random_state=0).fit(Z, y[:300]) for Z in (narrow, wide)]
    assert np.array_equal(models[0].coef_, models[1].coef_)
    assert wide.indices.dtype == np.int64


def test_too_many_features_raise():
    X = sp.csr_array(([1.0, 1.0], ([0, 1], [0, 2**31])), shape=(2, 2**31 + 1))
    with pytest.raises(ValueError, match="X has 2147483649 features, for which coef_"):
        LinearSVMClassifier().fit(X, [0, 1])


def test_single_class_raises():
    with pytest.raises(ValueError, match="at least two classes; got one class, 'spam'"):
        LinearSVMClassifier().fit([[0.0], [1.0]], ["spam", "spam"])


def test_missing_label_raises():
    with pytest.raises(ValueError, match=r"y\[1\] is None; every sample needs a label"):
        LinearSVMClassifier().fit([[0.0], [1.0], [2.0]], ["spam", None, "ham"])


def test_convergence_warning_is_issued_once():
    X, y = load_breast_cancer(return_X_y=True)
    with pytest.warns(ConvergenceWarning, match="max_iter=2 iterations. Increase") as caught:
        LinearSVMClassifier(max_iter=2, loss="hinge", random_state=0).fit(X, y)
    assert len(caught) == 1


def test_fixed_temperature_is_used_and_does_not_change_predictions():
    X, y = load_iris(return_X_y=True)
    fitted, fixed = (
        LinearSVMClassifier(random_state=0, temperature=t).fit(X, y) for t in (None, 0.4)
    )
    assert fixed.temperature_ == 0.4
    assert np.array_equal(fixed.coef_, fitted.coef_)
    assert np.array_equal(fixed.predict(X), fitted.predict(X))
    assert np.allclose(fixed.predict_proba(X), softmax(fitted.decision_function(X) / 0.4, axis=1))


@pytest.mark.parametrize("temperature", [0, -1.0, np.inf, np.nan, True, "high"])
def test_invalid_temperature_raises(temperature):
    with pytest.raises(ValueError, match="temperature must be .*; got"):
        LinearSVMClassifier(temperature=temperature).fit([[0.0], [1.0]], [0, 1])


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"C": 0}, "^C must be .*; got 0"),
        ({"tol": -1.0}, "^tol must be .*; got -1"),
        ({"max_iter": 0}, "^max_iter must be .*; got 0"),
        ({"loss": "squared"}, "^loss must be one of 'squared_hinge', 'hinge'"),
        ({"n_jobs": 0}, "^n_jobs must be .*; got 0"),
        ({"nb_scaling": 1.5}, "^nb_scaling must be .*; got 1.5"),
        ({"nb_scaling": "automatic"}, "^nb_scaling must be 'auto' or .*; got 'automatic'"),
        ({"random_state": "x"}, "^random_state must be .*; got 'x'"),
        ({"class_weight": "even"}, "^class_weight must be .*'balanced'.*; got 'even'"),
        ({"class_weight": {2: 1.0}}, "^class_weight has the label 2, which is not in y"),
        ({"class_weight": {1: 0.0}}, "^class_weight of 1 must be .*; got 0.0"),
    ],
)
def test_invalid_parameters_raise(params, message):
    with pytest.raises(ValueError, match=message):
        LinearSVMClassifier(**params).fit([[0.0], [1.0]], [0, 1])


def test_all_zero_sample_weights_raise():
    with pytest.raises(ValueError, match="Sample weights must contain at least one non-zero"):
        LinearSVMClassifier().fit([[0.0], [1.0]], [0, 1], [0.0, 0.0])


@pytest.mark.parametrize("wide", [False, True])
def test_zero_weight_class_is_never_predicted(wide):
    X, y = load_iris(return_X_y=True)
    X = np.hstack([X, np.zeros((len(y), 200))]) if wide else X
    model = LinearSVMClassifier(temperature=1.0, random_state=0).fit(X, y, (y != 1).astype(float))
    assert set(model.predict(X)) == {0, 2}


def test_duplicate_entries_are_summed_and_input_is_not_modified():
    X = sp.random_array((40, 90), density=0.2, rng=np.random.default_rng(0), format="csr")
    y = np.arange(40) % 3
    parts = split_entries(X)
    before = parts.copy()
    whole, halves = (
        LinearSVMClassifier(tol=1e-8, temperature=1.0, random_state=0).fit(Z, y).coef_
        for Z in (X, parts)
    )
    np.testing.assert_allclose(halves, whole, atol=1e-7)
    assert np.array_equal(parts.data, before.data)
    assert np.array_equal(parts.indices, before.indices)


def scale_by_log_count_ratio(X, is_class, nb_scaling, weights):
    """Scale features by definition; the mean squared norm of the samples stays the same."""
    dense = X.toarray()
    present = weights[:, None] * (dense != 0)
    inside, outside = present[is_class].sum(axis=0) + 1, present[~is_class].sum(axis=0) + 1
    ratio = np.log((inside / inside.sum()) / (outside / outside.sum()))
    scaled = dense * np.sqrt(1 - nb_scaling + nb_scaling * ratio**2 / np.mean(ratio**2))
    length = weights @ np.square(dense).sum(axis=1), weights @ np.square(scaled).sum(axis=1)
    return scaled * np.sqrt(length[0] / length[1])


@pytest.mark.parametrize("n_features", [200, 20])
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("nb_scaling", [0.3, 1.0])
def test_nb_scaling_equals_linear_svc_on_scaled_features(
    n_features, n_classes, weighted, nb_scaling
):
    rng = np.random.default_rng(0)
    X = sp.random_array((80, n_features), density=0.2, rng=rng, format="csr")
    X.data[::7] = 0.0  # stored zeros do not count as occurrences
    y = rng.integers(0, n_classes, 80)
    weights = rng.uniform(0.5, 2.0, 80) if weighted else np.ones(80)
    options = dict(tol=1e-7, max_iter=100_000, random_state=0)
    model = LinearSVMClassifier(nb_scaling=nb_scaling, temperature=1.0, **options).fit(
        X, y, weights
    )
    margins = model.decision_function(X).reshape(80, -1)
    for column, label in enumerate([1] if n_classes == 2 else range(n_classes)):
        scaled = scale_by_log_count_ratio(X, y == label, nb_scaling, weights)
        theirs = LinearSVC(dual="auto", **options).fit(scaled, y == label, weights)
        np.testing.assert_allclose(margins[:, column], theirs.decision_function(scaled), atol=1e-5)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_automatic_nb_scaling_follows_occurrences_of_each_class(n_classes):
    rng = np.random.default_rng(0)
    X = sp.random_array((300, 4000), density=0.05, rng=rng, format="csr")
    y = rng.choice(n_classes, 300, p=[0.3, 0.7] if n_classes == 2 else [0.1, 0.3, 0.6])
    params = dict(tol=1e-7, max_iter=100_000, temperature=1.0, random_state=0)
    model = LinearSVMClassifier(nb_scaling="auto", **params).fit(X, y)
    for row, label in enumerate([1] if n_classes == 2 else range(n_classes)):
        n_occurrences = min(X[y == label].nnz, X[y != label].nnz)
        strength = 0.5 * n_occurrences**2 / (n_occurrences**2 + 20_000**2)
        assert 0.01 < strength < 0.45
        fixed = LinearSVMClassifier(nb_scaling=strength, **params).fit(X, y == label)
        np.testing.assert_allclose(model.coef_[row], fixed.coef_[0], atol=1e-5)


def test_automatic_nb_scaling_counts_weights_as_duplicates():
    X, y = make_sparse_counts()
    params = dict(nb_scaling="auto", tol=1e-7, max_iter=100_000, temperature=1.0, random_state=0)
    weighted = LinearSVMClassifier(**params).fit(X, y, np.full(len(y), 3.0))
    order = np.tile(np.arange(len(y)), 3)
    repeated = LinearSVMClassifier(**params).fit(X[order], y[order])
    np.testing.assert_allclose(weighted.coef_, repeated.coef_, atol=1e-5)


def test_nb_scaling_does_not_depend_on_storage_format():
    X = sp.random_array((40, 90), density=0.2, rng=np.random.default_rng(0), format="csr")
    y = np.arange(40) % 3
    parts = split_entries(X)
    options = dict(nb_scaling=0.5, tol=1e-8, temperature=1.0, random_state=0)
    whole, halves, dense = (
        LinearSVMClassifier(**options).fit(Z, y).coef_ for Z in (X, parts, X.toarray())
    )
    np.testing.assert_allclose(halves, whole, atol=1e-7)
    assert np.array_equal(dense, whole)


@pytest.mark.parametrize("wide", [False, True])
def test_nb_scaling_of_features_present_in_all_samples_is_uniform(wide):
    X, y = load_iris(return_X_y=True)
    X = np.hstack([X, np.full((len(y), 200), 0.1)]) if wide else X
    plain, scaled = (
        LinearSVMClassifier(nb_scaling=nb_scaling, temperature=1.0, random_state=0).fit(X, y)
        for nb_scaling in (0.0, 1.0)
    )
    np.testing.assert_allclose(scaled.coef_, plain.coef_, atol=1e-3)


def test_nb_scaling_of_all_zero_samples():
    X = sp.csr_array((4, 3))
    model = LinearSVMClassifier(nb_scaling=1.0, random_state=0).fit(X, [0, 1, 1, 1])
    assert not model.coef_.any()
    assert list(model.predict(X)) == [1] * 4


def test_log_count_ratios_do_not_depend_on_magnitude_of_values():
    X = sp.random_array((40, 90), density=0.2, rng=np.random.default_rng(0), format="csr")
    is_class = np.arange(40) % 2 == 0
    scales = [
        LogCountRatio(X * factor, np.ones(40), 0.5).scale(is_class)
        for factor in (1.0, 1e200, 1e-200)
    ]
    np.testing.assert_allclose(scales[1], scales[0])
    np.testing.assert_allclose(scales[2], scales[0])


# --- extreme values ---------------------------------------------------------------------------

EXTREME = """
import sys, warnings
import numpy as np
from cordwood import LinearSVMClassifier
warnings.simplefilter("ignore")  # ConvergenceWarning
rng = np.random.default_rng(0)
y = np.arange(90) % 3
ones = np.ones(len(y))
first = ones.copy()
first[0] = 1e300
for n_features in (20, 200):  # primal and dual solver
    X = rng.poisson(0.3 + 2.0 * (np.arange(n_features) % 5 == y[:, None])).astype(float)
    single = X.copy()
    single[0, 0] = 1e100
    for samples, weights, C in (
        (1e100 * X, ones, 1.0),
        (1e-100 * X, ones, 1.0),
        (single, ones, 1.0),
        (X, 1e100 * ones, 1.0),
        (X, 1e300 * ones, 1e300),
        (X, 1e-300 * ones, 1e-300),
        (X, first, 1.0),
    ):
        for nb_scaling in (0.0, 0.5):
            model = LinearSVMClassifier(C=C, nb_scaling=nb_scaling, random_state=0, max_iter=500)
            proba = model.fit(samples, y, weights).predict_proba(samples)
            assert np.isfinite(proba).all() and np.isfinite(model.coef_).all()
"""


def test_fit_ends_with_extreme_values_and_weights():
    # In a child process, because LIBLINEAR cannot be interrupted in its own.
    subprocess.run([sys.executable, "-c", EXTREME], check=True, timeout=600)


@pytest.mark.parametrize("factor", [1e15, 1e30, 1e100])
def test_large_values_are_as_separable_as_small_ones(factor):
    X, y = load_iris(return_X_y=True)
    X, y = X[y < 2], y[y < 2]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        assert LinearSVMClassifier(random_state=0).fit(factor * X, y).score(factor * X, y) == 1.0


def test_values_whose_squares_overflow_raise():
    with pytest.raises(
        ValueError, match="X has a value of magnitude 1e\\+200, but at most 1e\\+150"
    ):
        LinearSVMClassifier().fit([[0.0, 1.0], [1e200, 0.0]], [0, 1])


@pytest.mark.filterwarnings("ignore:The number of unique classes")
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_many_classes_warn():
    X, y = np.eye(1001), np.arange(1001)
    with pytest.warns(UserWarning, match="y has 1001 classes, so 1001 binary classifiers"):
        LinearSVMClassifier(temperature=1.0, max_iter=2, tol=1.0, loss="hinge").fit(X, y)


def test_balanced_weights_ignore_classes_without_weight():
    X, y = load_iris(return_X_y=True)
    weights = np.where(y == 2, 0, 1 + y)
    model = LinearSVMClassifier(class_weight="balanced", temperature=1.0, random_state=0)
    factors = model.fit(X, y, weights)._compute_class_weight(np.arange(3), y, weights)
    repeated = np.repeat(y, weights)
    expected = compute_class_weight("balanced", classes=np.arange(2), y=repeated)
    np.testing.assert_allclose(factors, [*expected, 0.0])
    # With the weights as factors of two classes, the third class changes nothing.
    given = LinearSVMClassifier(
        class_weight=dict(enumerate(expected)), temperature=1.0, random_state=0
    )
    np.testing.assert_array_equal(model.coef_, given.fit(X, y, weights).coef_)


def test_sparse_samples_of_single_precision_are_not_converted():
    # Values of single precision that are converted would take 40 bytes for each stored entry.
    X = sp.random(4000, 20_000, 0.005, format="csr", dtype=np.float32, random_state=0)
    y = np.random.default_rng(0).integers(4, size=4000)
    single = LinearSVMClassifier(nb_scaling=0.5, temperature=1.0, random_state=0)
    double = clone(single).fit(X.astype(np.float64), y)
    tracemalloc.start()
    try:
        single.fit(X, y)
        peak = tracemalloc.get_traced_memory()[1] - double.coef_.nbytes
    finally:
        tracemalloc.stop()
    assert peak < 25 * X.nnz
    np.testing.assert_array_equal(single.coef_, double.coef_)
    np.testing.assert_array_equal(single.predict_proba(X), double.predict_proba(X))


def test_log_count_ratios_do_not_depend_on_the_blocks_of_their_sums(monkeypatch):
    X = sp.random(300, 40, 0.3, format="csr", random_state=1)
    weights = np.random.default_rng(1).random(300)
    is_positive = np.arange(300) % 3 == 0
    expected = LogCountRatio(X, weights, 0.5).scale(is_positive)
    monkeypatch.setattr("cordwood.linear_model._log_count_ratio._BLOCK_SIZE", 7)
    np.testing.assert_array_equal(LogCountRatio(X, weights, 0.5).scale(is_positive), expected)
