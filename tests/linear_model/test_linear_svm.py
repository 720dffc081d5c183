import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from joblib import Parallel, delayed
from scipy.special import expit, softmax
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, make_classification
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import scale
from sklearn.svm import LinearSVC

from cordwood.linear_model._log_count_ratio import Evidence
from cordwood.linear_model.linear_svm import LinearSVMClassifier


def noisy(n_classes, n=600, seed=0):
    X, y = make_classification(
        n_samples=n,
        n_features=20,
        n_informative=8,
        n_classes=n_classes,
        flip_y=0.2,
        random_state=seed,
    )
    return train_test_split(X, y, random_state=seed)


def in_halves(X):
    """Store each value as two entries, half of it each."""
    return sp.csr_array(
        (np.repeat(X.data / 2, 2), np.repeat(X.indices, 2), 2 * X.indptr), shape=X.shape
    )


@pytest.mark.parametrize("loss", ["squared_hinge", "hinge"])
@pytest.mark.parametrize("class_weight", [None, "balanced", {0: 5.0, 1: 0.5}])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("wide", [False, True])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_coefficients_are_those_of_linear_svc(loss, class_weight, weighted, wide, n_classes):
    X, y = load_iris(return_X_y=True)
    X = scale(X)
    if n_classes == 2:
        X, y = X[y > 0], y[y > 0] - 1
    if wide:  # more columns than rows are solved in the dual
        X = sp.csr_array(np.hstack([X, np.random.default_rng(0).normal(size=(len(y), 200)) / 9]))
    sample_weight = np.linspace(0.1, 2, len(y)) if weighted else None
    options = dict(C=0.3, loss=loss, class_weight=class_weight, tol=1e-7, max_iter=100_000)
    ours = LinearSVMClassifier(**options, slope=1.0, random_state=7).fit(X, y, sample_weight)
    theirs = LinearSVC(dual="auto", **options, random_state=7).fit(X, y, sample_weight)
    close = {"rtol": 1e-4, "atol": 1e-5}
    np.testing.assert_allclose(ours.coef_, theirs.coef_, **close)
    np.testing.assert_allclose(ours.intercept_, theirs.intercept_, **close)
    np.testing.assert_allclose(ours.decision_function(X), theirs.decision_function(X), **close)


def test_machines_that_are_fitted_side_by_side_are_the_same_as_alone():
    X, y = make_classification(400, 500, n_informative=20, n_classes=5, flip_y=0.3, random_state=0)

    def fit(seed, n_jobs=None):
        model = LinearSVMClassifier(tol=0.1, slope=1.0, n_jobs=n_jobs, random_state=seed)
        return model.fit(X, y).coef_

    alone = [fit(seed) for seed in range(6)]
    threads = Parallel(n_jobs=3, require="sharedmem")(delayed(fit)(seed) for seed in range(6))
    assert all(map(np.array_equal, alone, threads))
    assert np.array_equal(fit(0, n_jobs=2), alone[0])
    assert not np.array_equal(alone[0], alone[1])


def test_two_classes_have_one_margin_and_its_logistic_function():
    X, y = load_breast_cancer(return_X_y=True)
    model = LinearSVMClassifier(random_state=0).fit(scale(X), y)
    margins = model.decision_function(scale(X))
    assert margins.shape == (len(y),)
    assert model.coef_.shape == (1, X.shape[1])
    assert model.intercept_.shape == (1,)
    np.testing.assert_allclose(model.predict_proba(scale(X))[:, 1], expit(model.slope_ * margins))
    assert np.array_equal(model.predict(scale(X)) == 1, margins > 0)


def test_many_classes_have_the_softmax_of_scaled_margins():
    X, y = load_iris(return_X_y=True)
    model = LinearSVMClassifier(random_state=0).fit(X, y)
    margins = model.decision_function(X)
    expected = softmax(model.slope_ * margins, axis=1)
    np.testing.assert_allclose(model.predict_proba(X), expected)
    assert np.array_equal(model.predict(X), margins.argmax(axis=1))


@pytest.mark.parametrize("n_classes", [2, 4])
def test_slope_is_near_the_best_for_unseen_documents(n_classes):
    X, X_test, y, y_test = noisy(n_classes, n=2000)
    model = LinearSVMClassifier(random_state=0).fit(X, y)
    fitted = log_loss(y_test, model.predict_proba(X_test))
    found = model.slope_
    losses = []
    for factor in np.geomspace(0.1, 10, 41):
        model.slope_ = found * factor
        losses.append(log_loss(y_test, model.predict_proba(X_test)))
    assert fitted < min(losses) + 0.005
    assert losses[0] > fitted + 0.02  # the test can tell slopes apart
    assert losses[-1] > fitted + 0.02


def test_slope_follows_margins_of_any_size():
    X, X_test, y, y_test = noisy(2, n=2000)
    losses = []
    for C in (1e-9, 1.0):
        model = LinearSVMClassifier(C=C, random_state=0).fit(X, y)
        losses.append(log_loss(y_test, model.predict_proba(X_test)))
        if C < 1:
            assert np.abs(model.decision_function(X_test)).max() < 1e-4
    assert losses[0] < np.log(2) - 0.05 and losses[1] < np.log(2) - 0.05


def test_separable_documents_do_not_make_certainties():
    X = np.r_[np.full((20, 1), -1.0), np.full((20, 1), 1.0)]
    model = LinearSVMClassifier(random_state=0).fit(X, [0] * 20 + [1] * 20)
    # One unseen document of each class: 41 of 42, at the margin of all documents alike.
    assert model.predict_proba([[1.0]])[0, 1] == pytest.approx(41 / 42, abs=0.005)


def test_labels_by_chance_give_probabilities_by_chance():
    rng = np.random.RandomState(0)
    X, y = rng.normal(size=(300, 100)), rng.randint(3, size=300)
    model = LinearSVMClassifier(random_state=0).fit(X, y)
    assert log_loss(y, model.predict_proba(rng.normal(size=(300, 100)))) < np.log(3) + 0.05


def test_sample_weight_shapes_the_slope():
    X, _, y, _ = noisy(2)
    right = LinearSVMClassifier(random_state=0).fit(X, y).predict(X) == y
    slopes = [
        LinearSVMClassifier(random_state=0).fit(X, y, np.where(right, a, b)).slope_
        for a, b in [(1.0, 0.2), (0.2, 1.0)]
    ]
    assert slopes[0] > 2 * slopes[1]


def test_documents_of_no_weight_do_not_count():
    X = np.r_[np.full((20, 1), -1.0), np.full((20, 1), 1.0), np.zeros((400, 1))]
    y, weights = [0] * 20 + [1] * 20 + [0, 1] * 200, [1.0] * 40 + [0.0] * 400
    model = LinearSVMClassifier(random_state=0).fit(X, y, weights)
    assert model.predict_proba([[1.0]])[0, 1] == pytest.approx(41 / 42, abs=0.005)


def test_folds_are_shuffled():
    # In file order every third document is of the same kind, and each fold would lack one kind.
    X = np.tile(np.eye(3), (20, 1)) * np.repeat([[-1.0], [1.0]], 30, axis=0)
    model = LinearSVMClassifier(random_state=0).fit(X, np.repeat([0, 1], 30))
    assert model.predict_proba([[0.0, 1.0, 0.0]])[0, 1] > 0.95


def test_two_of_many_classes_have_mirrored_margins():
    X, y = load_iris(return_X_y=True)
    X, y = X[49:], y[49:]  # one document of the first class, which only two folds can learn
    model = LinearSVMClassifier(random_state=0).fit(X, y)
    parts = list(model._held_out(X, y, np.ones(len(y)), np.random.RandomState(0)))
    widths = sorted(part.margins.shape[1] for part in parts)
    assert widths == [2, 3, 3]
    mirrored = next(part.margins for part in parts if part.margins.shape[1] == 2)
    assert np.array_equal(mirrored[:, 0], -mirrored[:, 1])
    assert sum(len(part.columns) for part in parts) == len(y) - 1


@settings(deadline=None, max_examples=60)
@given(
    counts=st.lists(st.integers(1, 4), min_size=2, max_size=6),
    seed=st.integers(0, 2**31 - 1),
)
def test_tiny_classes_never_fail(counts, seed):
    rng = np.random.RandomState(seed)
    y = np.repeat(np.arange(len(counts)), counts)
    X = rng.normal(size=(len(y), 3))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = LinearSVMClassifier(
            random_state=0, max_iter=200, class_weight={0: 2.0, len(counts) - 1: 3.0}
        ).fit(X, y)
    probabilities = model.predict_proba(X)
    assert 0 < model.slope_ < np.inf
    np.testing.assert_allclose(probabilities.sum(axis=1), 1)
    assert np.array_equal(model.predict(X), model.classes_[probabilities.argmax(axis=1)])


def test_slope_is_one_where_nothing_can_be_held_out():
    model = LinearSVMClassifier(random_state=0).fit([[0.0], [1.0]], ["a", "b"])
    assert model.slope_ == 1.0


def test_slope_is_one_where_all_margins_are_zero():
    model = LinearSVMClassifier(random_state=0).fit(np.zeros((6, 2)), [0, 1] * 3)
    assert model.slope_ == 1.0
    np.testing.assert_allclose(model.predict_proba(np.zeros((1, 2))), 0.5)


def test_equal_probabilities_and_labels_agree_to_the_last_bit():
    model = LinearSVMClassifier(random_state=0).fit(np.eye(3), [0, 1, 2])
    model.coef_, model.intercept_ = np.zeros((3, 3)), np.array([0.0, 1e-18, 2e-18])
    assert model.predict(np.eye(3)).tolist() == model.predict_proba(np.eye(3)).argmax(1).tolist()


def test_wide_indices_are_taken_and_left_as_they_are():
    X, y = load_digits(return_X_y=True)
    narrow = sp.csr_array(X[:300])
    wide = narrow.copy()
    wide.indices, wide.indptr = wide.indices.astype(np.int64), wide.indptr.astype(np.int64)
    models = [LinearSVMClassifier(random_state=0).fit(Z, y[:300]) for Z in (narrow, wide)]
    assert np.array_equal(models[0].coef_, models[1].coef_)
    assert wide.indices.dtype == np.int64


def test_more_columns_than_liblinear_can_number_are_refused():
    X = sp.csr_array(([1.0, 1.0], ([0, 1], [0, 2**31])), shape=(2, 2**31 + 1))
    with pytest.raises(ValueError, match="X has 2147483649 columns and 2 values"):
        LinearSVMClassifier().fit(X, [0, 1])


def test_one_class_is_refused_by_name():
    with pytest.raises(ValueError, match="one class, 'spam'; a classifier needs at least two"):
        LinearSVMClassifier().fit([[0.0], [1.0]], ["spam", "spam"])


def test_no_convergence_is_said_once():
    X, y = load_breast_cancer(return_X_y=True)
    with pytest.warns(ConvergenceWarning) as caught:
        LinearSVMClassifier(max_iter=2, loss="hinge", random_state=0).fit(X, y)
    assert len(caught) == 1


def test_a_slope_that_is_given_is_taken_and_changes_no_answer():
    X, y = load_iris(return_X_y=True)
    fitted, chosen = (LinearSVMClassifier(random_state=0, slope=s).fit(X, y) for s in (None, 2.5))
    assert chosen.slope_ == 2.5
    assert np.array_equal(chosen.coef_, fitted.coef_)
    assert np.array_equal(chosen.predict(X), fitted.predict(X))
    assert np.allclose(chosen.predict_proba(X), softmax(2.5 * fitted.decision_function(X), axis=1))


@pytest.mark.parametrize("slope", [0, -1.0, np.inf, np.nan, "steep"])
def test_a_slope_that_is_none_is_refused(slope):
    with pytest.raises(
        ValueError, match="slope, if it is not None, must be a positive number; got"
    ):
        LinearSVMClassifier(slope=slope).fit([[0.0], [1.0]], [0, 1])


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"C": 0}, "C must be a positive number; got 0"),
        ({"tol": -1.0}, "tol must be a positive number"),
        ({"max_iter": 0}, "max_iter must be an integer >= 1"),
        ({"loss": "squared"}, "loss must be one of 'squared_hinge', 'hinge'"),
        ({"n_jobs": 0}, "n_jobs must be None or a non-zero integer"),
        ({"evidence": 1.5}, "evidence must be a number in \\[0, 1\\]; got 1.5"),
        ({"class_weight": "even"}, "class_weight, if it is no mapping, must be one of None, 'bal"),
        ({"class_weight": {2: 1.0}}, "a label of class_weight must be one of 0, 1; got 2"),
        ({"class_weight": {1: 0.0}}, "class_weight of 1 must be a positive number"),
    ],
)
def test_parameters_that_make_no_sense_are_named(params, message):
    with pytest.raises(ValueError, match=message):
        LinearSVMClassifier(**params).fit([[0.0], [1.0]], [0, 1])


def test_rows_that_all_weigh_nothing_are_refused():
    with pytest.raises(ValueError, match="Sample weights must contain at least one non-zero"):
        LinearSVMClassifier().fit([[0.0], [1.0]], [0, 1], [0.0, 0.0])


@pytest.mark.parametrize("wide", [False, True])
def test_a_class_whose_rows_weigh_nothing_is_never_the_answer(wide):
    X, y = load_iris(return_X_y=True)
    X = np.hstack([X, np.zeros((len(y), 200))]) if wide else X
    model = LinearSVMClassifier(slope=1.0, random_state=0).fit(X, y, (y != 1).astype(float))
    assert set(model.predict(X)) == {0, 2}


def test_rows_are_left_as_they_are_and_parts_of_a_value_are_added_up():
    X = sp.random_array((40, 90), density=0.2, rng=np.random.default_rng(0), format="csr")
    y = np.arange(40) % 3
    parts = in_halves(X)
    before = parts.copy()
    whole, halves = (
        LinearSVMClassifier(tol=1e-8, slope=1.0, random_state=0).fit(Z, y).coef_ for Z in (X, parts)
    )
    np.testing.assert_allclose(halves, whole, atol=1e-7)
    assert np.array_equal(parts.data, before.data)
    assert np.array_equal(parts.indices, before.indices)


def by_evidence(X, is_class, share, weights):
    """Scale features by their evidence, documents on average as long as before."""
    dense = X.toarray()
    present = weights[:, None] * (dense != 0)
    inside, outside = present[is_class].sum(axis=0) + 1, present[~is_class].sum(axis=0) + 1
    ratio = np.log((inside / inside.sum()) / (outside / outside.sum()))
    scaled = dense * np.sqrt(1 - share + share * ratio**2 / np.mean(ratio**2))
    length = weights @ np.square(dense).sum(axis=1), weights @ np.square(scaled).sum(axis=1)
    return scaled * np.sqrt(length[0] / length[1])


@pytest.mark.parametrize("n_features", [200, 20])
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("share", [0.3, 1.0])
def test_evidence_makes_the_machine_of_features_scaled_by_it(
    n_features, n_classes, weighted, share
):
    rng = np.random.default_rng(0)
    X = sp.random_array((80, n_features), density=0.2, rng=rng, format="csr")
    X.data[::7] = 0.0  # a zero that is stored is no presence
    y = rng.integers(0, n_classes, 80)
    weights = rng.uniform(0.5, 2.0, 80) if weighted else np.ones(80)
    options = dict(tol=1e-7, max_iter=100_000, random_state=0)
    model = LinearSVMClassifier(evidence=share, slope=1.0, **options).fit(X, y, weights)
    margins = model.decision_function(X).reshape(80, -1)
    for column, label in enumerate([1] if n_classes == 2 else range(n_classes)):
        scaled = by_evidence(X, y == label, share, weights)
        theirs = LinearSVC(dual="auto", **options).fit(scaled, y == label, weights)
        np.testing.assert_allclose(margins[:, column], theirs.decision_function(scaled), atol=1e-5)


def test_evidence_does_not_depend_on_how_rows_are_stored():
    X = sp.random_array((40, 90), density=0.2, rng=np.random.default_rng(0), format="csr")
    y = np.arange(40) % 3
    parts = in_halves(X)
    options = dict(evidence=0.5, tol=1e-8, slope=1.0, random_state=0)
    whole, halves, dense = (
        LinearSVMClassifier(**options).fit(Z, y).coef_ for Z in (X, parts, X.toarray())
    )
    np.testing.assert_allclose(halves, whole, atol=1e-7)
    assert np.array_equal(dense, whole)


@pytest.mark.parametrize("wide", [False, True])
def test_features_that_all_documents_have_are_no_evidence(wide):
    X, y = load_iris(return_X_y=True)
    X = np.hstack([X, np.full((len(y), 200), 0.1)]) if wide else X
    plain, weighed = (
        LinearSVMClassifier(evidence=share, slope=1.0, random_state=0).fit(X, y)
        for share in (0.0, 1.0)
    )
    np.testing.assert_allclose(weighed.coef_, plain.coef_, atol=1e-3)


def test_evidence_of_rows_without_features_is_none():
    X = sp.csr_array((4, 3))
    model = LinearSVMClassifier(evidence=1.0, random_state=0).fit(X, [0, 1, 1, 1])
    assert not model.coef_.any()
    assert list(model.predict(X)) == [1] * 4


def test_evidence_does_not_depend_on_the_size_of_values():
    X = sp.random_array((40, 90), density=0.2, rng=np.random.default_rng(0), format="csr")
    is_class = np.arange(40) % 2 == 0
    scales = [
        Evidence(X * factor, np.ones(40), 0.5).weigh(is_class) for factor in (1.0, 1e200, 1e-200)
    ]
    np.testing.assert_allclose(scales[1], scales[0])
    np.testing.assert_allclose(scales[2], scales[0])
