"""Tests of all combiners."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.utils.estimator_checks import parametrize_with_checks

from cordwood import persist
from cordwood.stacking.combiners import (
    SCANN,
    DecisionTemplates,
    LogarithmicPool,
    MultiResponseRegression,
    VariationalGaussian,
    Voting,
)
from cordwood.stacking.combiners.decision_templates import MEASURES

RULES = ["majority", "mean", "product", "max", "min", "median"]
COMBINERS = [
    MultiResponseRegression(),
    MultiResponseRegression("all"),
    MultiResponseRegression(nonnegative=False),
    MultiResponseRegression("all", nonnegative=False),
    *(DecisionTemplates(similarity) for similarity in MEASURES),
    LogarithmicPool(),
    SCANN(),
    VariationalGaussian(),
    VariationalGaussian("variational"),
    VariationalGaussian(class_weight="balanced"),
    *(Voting(rule) for rule in RULES),
]
every_combiner = pytest.mark.parametrize("combiner", COMBINERS, ids=str)


class _OnProbabilities:
    """Computes probabilities of two base estimators from arbitrary features.

    Combiners require probabilities, but scikit-learn's checks use arbitrary features. Each base
    estimator is a softmax of the distances to the class means in half of the features. Validation,
    fitting and prediction are those of the combiner.
    """

    def _fit(self, X, codes, weights):
        self._means = np.full((len(self.classes_), X.shape[1]), np.inf)
        for code in np.unique(codes):
            in_class = codes == code
            self._means[code] = np.average(X[in_class], axis=0, weights=weights[in_class])
        super()._fit(self._probas(X), codes, weights)

    def _class_scores(self, X):
        return super()._class_scores(self._probas(X))

    def _probas(self, X):
        probas = []
        for columns in (slice(0, None, 2), slice(-1, None, -2)):
            gaps = X[:, None, columns] - self._means[:, columns]
            logits = -np.square(gaps).mean(axis=2)
            probas.append(np.exp(logits - logits.max(axis=1, keepdims=True)))
        return np.hstack([proba / proba.sum(axis=1, keepdims=True) for proba in probas])


class CheckedMultiResponseRegression(_OnProbabilities, MultiResponseRegression):
    pass


class CheckedDecisionTemplates(_OnProbabilities, DecisionTemplates):
    pass


class CheckedLogarithmicPool(_OnProbabilities, LogarithmicPool):
    pass


class CheckedSCANN(_OnProbabilities, SCANN):
    pass


class CheckedVoting(_OnProbabilities, Voting):
    pass


@parametrize_with_checks(
    [
        VariationalGaussian(),
        VariationalGaussian("variational"),
        CheckedMultiResponseRegression(),
        CheckedMultiResponseRegression("all"),
        CheckedDecisionTemplates(),
        CheckedLogarithmicPool(),
        CheckedLogarithmicPool(class_alpha=None),
        CheckedSCANN(),
        CheckedVoting(),
    ]
)
def test_estimator_checks(estimator, check):
    check(estimator)


@every_combiner
@pytest.mark.parametrize("n_classes", [2, 3, 7])
def test_perfect_base_estimators_give_perfect_predictions(combiner, n_classes):
    codes = np.arange(40 * n_classes) % n_classes
    X = np.tile(np.eye(n_classes)[codes], 4)
    probabilities = clone(combiner).fit(X, codes).predict_proba(X)
    assert np.array_equal(probabilities.argmax(axis=1), codes)
    # The margin exceeds rounding errors.
    ranked = np.sort(probabilities, axis=1)
    assert (ranked[:, -1] > ranked[:, -2] + 1e-6).all()


@every_combiner
@pytest.mark.parametrize("n_classes", [2, 4])
def test_more_accurate_than_the_average_base_estimator(combiner, n_classes, simulate):
    X, y = simulate(n=2000, n_members=5, n_classes=n_classes)
    train, test = slice(0, 1000), slice(1000, None)
    accuracy = clone(combiner).fit(X[train], y[train]).score(X[test], y[test])
    members = X[test].reshape(1000, 5, n_classes).argmax(axis=2)
    average = (members == y[test, None]).mean()
    # Measures of a single feature are inaccurate if all features are noisy.
    pointwise = getattr(combiner, "similarity", None) in ("S4", "I4", "I5", "C")
    assert accuracy > average + (0.0 if pointwise else 0.03)


@every_combiner
@pytest.mark.parametrize("n_classes", [2, 3])
def test_random_labels_are_predicted_at_chance_level(combiner, n_classes, simulate):
    X, y = simulate(n=6000, n_classes=n_classes, skill=0.0)
    y = np.random.default_rng(1).permutation(y)
    accuracy = clone(combiner).fit(X[:3000], y[:3000]).score(X[3000:], y[3000:])
    deviation = np.sqrt(1 / n_classes * (1 - 1 / n_classes) / 3000)
    assert abs(accuracy - 1 / n_classes) < 4 * deviation


@every_combiner
def test_invariant_to_order_of_base_estimators(combiner, simulate):
    X, y = simulate(n_members=4)
    shuffled = X.reshape(len(X), 4, 3)[:, [2, 0, 3, 1]].reshape(len(X), -1)
    expected = clone(combiner).fit(X, y).predict_proba(X)
    found = clone(combiner).fit(shuffled, y).predict_proba(shuffled)
    np.testing.assert_allclose(found, expected, atol=1e-9)


@every_combiner
def test_invariant_to_order_of_classes(combiner, simulate):
    X, y = simulate(n_members=4)
    X = X.round(1)  # with ties
    X = (X.reshape(-1, 4, 3) / X.reshape(-1, 4, 3).sum(axis=2, keepdims=True)).reshape(len(X), -1)
    new_place = np.array([2, 0, 1])
    moved = np.empty_like(X).reshape(-1, 4, 3)
    moved[:, :, new_place] = X.reshape(-1, 4, 3)
    expected = clone(combiner).fit(X, y).predict_proba(X)
    model = clone(combiner).fit(moved.reshape(len(X), -1), new_place[y])
    found = model.predict_proba(moved.reshape(len(X), -1))
    np.testing.assert_allclose(found[:, new_place], expected, atol=1e-9)


@every_combiner
@pytest.mark.parametrize("names", [["b", "é", "ünder"], [-5, 0, 3], [-1.0, 2.0, 7.0]])
def test_invariant_to_label_names(combiner, names, simulate):
    X, y = simulate(n=100)
    names = np.array(names)
    plain, named = clone(combiner).fit(X, y), clone(combiner).fit(X, names[y])
    assert np.array_equal(named.classes_, names)
    assert np.array_equal(named.predict(X), names[plain.predict(X)])
    assert named.predict_proba(X).tobytes() == plain.predict_proba(X).tobytes()


@every_combiner
def test_integer_weights_equal_repeated_samples(combiner, simulate):
    X, y = simulate(n=120)
    weights = np.arange(120) % 4
    X_test, _ = simulate(n=50, seed=1)
    weighted = clone(combiner).fit(X, y, sample_weight=weights)
    repeated = clone(combiner).fit(np.repeat(X, weights, axis=0), np.repeat(y, weights))
    np.testing.assert_allclose(
        weighted.predict_proba(X_test), repeated.predict_proba(X_test), atol=1e-8
    )


@every_combiner
def test_class_without_weight_is_never_predicted(combiner, simulate):
    X, y = simulate(n=120)
    model = clone(combiner).fit(X, y, sample_weight=(y != 1).astype(float))
    probabilities = model.predict_proba(X)
    assert np.array_equal(model.classes_, [0, 1, 2])
    assert not probabilities[:, 1].any()
    np.testing.assert_allclose(probabilities.sum(axis=1), 1)


@every_combiner
def test_imputed_and_zero_probabilities(combiner, simulate):
    X, y = simulate(n=300)
    X[::10, :3] = [0.5, 0.3, 0.2]  # the first base estimator has no OOB prediction there
    X[5::10, 3:6] = 0.0
    model = clone(combiner).fit(X, y)
    samples = np.vstack([X, np.zeros(9), np.full(9, 1 / 3)])
    probabilities = model.predict_proba(samples)
    assert (probabilities >= 0).all()
    np.testing.assert_allclose(probabilities.sum(axis=1), 1)
    assert model.score(X, y) > 0.5


@every_combiner
def test_nan_raises(combiner, simulate):
    X, y = simulate(n=60)
    model = clone(combiner).fit(X, y)
    X[3, 4] = np.nan
    with pytest.raises(ValueError, match="X contains NaN"):
        model.predict_proba(X)
    with pytest.raises(ValueError, match="X contains NaN"):
        clone(combiner).fit(X, y)


@every_combiner
def test_save_and_load_keep_predictions(combiner, simulate, tmp_path):
    X, y = simulate(n=60, n_members=12)  # more features than samples of a class
    model = clone(combiner).fit(X, np.array(["a", "b", "c"])[y])
    loaded = persist.load(persist.save(model, tmp_path / "model", precision="full"))
    assert loaded.predict_proba(X).tobytes() == model.predict_proba(X).tobytes()
    assert np.array_equal(loaded.predict(X), model.predict(X))
    assert loaded.get_params() == model.get_params()


@every_combiner
def test_single_class(combiner):
    X = np.linspace(0, 1, 10)[:, None]
    model = clone(combiner).fit(X, ["only"] * 10)
    assert model.predict_proba(X).tolist() == [[1.0]] * 10


@pytest.mark.parametrize(
    "combiner", [MultiResponseRegression(), SCANN(), Voting()], ids=lambda c: type(c).__name__
)
def test_invalid_number_of_features_raises(combiner, simulate):
    X, y = simulate(n=60)
    with pytest.raises(
        ValueError, match="^X must have .*; got 8 columns, which is not a multiple of the 3 classes"
    ):
        clone(combiner).fit(X[:, :8], y)
    # Features of scikit-learn's StackingClassifier with two classes: one column per estimator.
    X, y = simulate(n=60, n_members=4, n_classes=2)
    with pytest.raises(
        ValueError, match=r"block of base estimator \d sums to 1\.\d+\. With two classes"
    ):
        clone(combiner).fit(X[:, 1::2], y)


@pytest.mark.parametrize(
    "combiner",
    [MultiResponseRegression(), DecisionTemplates(), SCANN(), Voting()],
    ids=lambda c: type(c).__name__,
)
@pytest.mark.parametrize("value", [-0.5, 1.5])
def test_values_outside_unit_interval_raise(combiner, value, simulate):
    X, y = simulate(n=60)
    model = clone(combiner).fit(X, y)
    X[7, 4] = value
    for call in (lambda: clone(combiner).fit(X, y), lambda: model.predict(X)):
        with pytest.raises(
            ValueError, match=f"^X must contain probabilities; got {value} in row 7, column 4"
        ):
            call()


@pytest.mark.parametrize(
    ("combiner", "message"),
    [
        (MultiResponseRegression("some"), "features must be .*'same_class', 'all'; got 'some'"),
        (MultiResponseRegression(nonnegative=1), "nonnegative must be True or False; got 1"),
        (DecisionTemplates("S5"), "similarity must be one of 'S1', .*'N'; got 'S5'"),
        (SCANN(tol=1), "tol must be a number .*; got 1"),
        (VariationalGaussian("exact"), "method must be one of .*; got 'exact'"),
        (VariationalGaussian(max_iter=0), "max_iter must be an integer >= 1; got 0"),
        (VariationalGaussian(tol=0), "tol must be a positive number; got 0"),
        (VariationalGaussian(prior_scatter=-1), "prior_scatter must be a positive number"),
        (VariationalGaussian(tol="small"), "tol must be a positive number; got 'small'"),
        (Voting(["mean"]), r"rule must be one of .*; got \['mean'\]"),
        (Voting("mode"), "rule must be one of 'majority', .*'median'; got 'mode'"),
    ],
)
def test_invalid_parameters_raise(combiner, message, simulate):
    with pytest.raises(ValueError, match=f"^{message}"):
        combiner.fit(*simulate(n=30))


def test_all_zero_weights_raise(simulate):
    X, y = simulate(n=30)
    with pytest.raises(ValueError, match="(?i)sample.weight.*(positive|non-zero)"):
        Voting().fit(X, y, sample_weight=np.zeros(30))
