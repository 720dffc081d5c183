import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from cordwood.stacking.combiners import DecisionTemplates
from cordwood.stacking.combiners.decision_templates import MEASURES

# A template and a sample of two base estimators and two classes, with the paper's formulas.
TEMPLATE, SAMPLE = [0.6, 0.4, 0.8, 0.2], [0.3, 0.7, 0.6, 0.4]
BY_HAND = {
    "S1": (0.3 + 0.4 + 0.6 + 0.2) / (0.6 + 0.7 + 0.8 + 0.4),
    "S2": 1 - (0.3 + 0.3 + 0.2 + 0.2) / 4,
    "S3": 1 - (0.6 + 0.6 + 0.4 + 0.4) / 4,
    "S4": 1 - 0.3,
    "I1": (0.3 + 0.4 + 0.6 + 0.2) / 2.0,
    "I2": 1 - (0.3 + 0.0 + 0.2 + 0.0) / 4,
    "I3": (0.4 + 0.7 + 0.6 + 0.8) / 4,
    "I4": 1 - 0.3,
    "I5": 0.4,
    "C": 0.6,
    "N": 1 - (0.09 + 0.09 + 0.04 + 0.04) / 4,
}
every_measure = pytest.mark.parametrize("name", MEASURES)

sets = hnp.arrays(np.float64, 6, elements=st.floats(0, 1))


def measure(name, template, sample):
    return MEASURES[name](np.array(template), np.atleast_2d(sample))[0]


def test_all_measures_are_tested():
    assert set(MEASURES) == set(BY_HAND)
    assert len(MEASURES) == 11


@every_measure
def test_measures_match_hand_computed_values(name):
    assert measure(name, TEMPLATE, SAMPLE) == pytest.approx(BY_HAND[name])


def test_s3_is_the_symmetric_difference():
    # The authors' code, 1 - mean(max(max(A, B), max(1 - A, B))), is at most 0.5 for equal sets.
    sure = np.array([1.0, 0.0, 1.0, 0.0])
    coded = 1 - np.maximum(np.maximum(sure, sure), np.maximum(1 - sure, sure)).mean()
    assert coded == 0.0
    assert measure("S3", sure, sure) == 1.0
    assert measure("S3", sure, 1 - sure) == 0.0


@every_measure
@given(sets, sets)
@settings(deadline=None, max_examples=50)
def test_measures_are_in_unit_interval_and_highest_for_equal_sets(name, A, B):
    assert -1e-12 <= measure(name, A, B) <= 1 + 1e-12
    if name in ("S1", "S2", "S4", "I1", "I2", "I4", "N"):
        assert measure(name, A, A) == pytest.approx(1)
    if name.startswith("S") or name in ("C", "N"):
        assert measure(name, A, B) == pytest.approx(measure(name, B, A))


@every_measure
def test_measures_of_crisp_sets(name):
    A, B, disjoint = [1.0, 1.0, 0.0, 0.0], [1.0, 1.0, 1.0, 0.0], [0.0, 0.0, 1.0, 1.0]
    if name.startswith("I"):
        assert measure(name, A, B) == 1  # A is a subset of B
        assert measure(name, B, A) < 1  # B is not a subset of A
    assert measure(name, A, A) == 1
    assert measure(name, A, disjoint) == (0.5 if name in ("I2", "I3") else 0)


def test_inclusion_is_of_the_template_in_the_sample(simulate):
    X, y = simulate(n=90)
    model = DecisionTemplates("I3").fit(X, y)
    expected = np.array([[np.maximum(1 - A, x).mean() for A in model.templates_] for x in X])
    probabilities = model.predict_proba(X)
    np.testing.assert_allclose(probabilities, expected / expected.sum(axis=1, keepdims=True))


@pytest.mark.parametrize("seed", range(5))
def test_s1_s2_i1_i2_predict_the_same_class(seed, simulate):
    # Kuncheva (2001) proves it for probabilities that sum to one.
    X, y = simulate(n=400, n_members=4, n_classes=5, skill=0.7, seed=seed)
    predictions = {
        DecisionTemplates(name).fit(X, y).predict(X).tobytes() for name in ("S1", "S2", "I1", "I2")
    }
    assert len(predictions) == 1
    assert DecisionTemplates("I3").fit(X, y).predict(X).tobytes() not in predictions


def test_templates_are_weighted_means(simulate):
    X, y = simulate(n=90)
    weights = np.linspace(0.1, 2, 90)
    model = DecisionTemplates().fit(X, y, sample_weight=weights)
    for code in range(3):
        in_class = y == code
        total = (weights[in_class, None] * X[in_class]).sum(axis=0)
        expected = total / weights[in_class].sum()
        np.testing.assert_allclose(model.templates_[code], expected)


def test_batches_do_not_change_probabilities(simulate):
    X, y = simulate(n=1000)
    model = DecisionTemplates("S3").fit(X, y)
    some = [0, 255, 256, 999]
    np.testing.assert_array_equal(model.predict_proba(X)[some], model.predict_proba(X[some]))


def test_samples_similar_to_no_template_get_the_prior():
    X = [[1.0, 0.0], [1.0, 0.0], [1.0, 0.0]]
    model = DecisionTemplates("S1").fit(X, ["a", "b", "b"])
    np.testing.assert_allclose(model.predict_proba([[0.0, 1.0]]), [[1 / 3, 2 / 3]])


def test_empty_sets_are_most_similar():
    assert measure("S1", [0.0, 0.0], [0.0, 0.0]) == 1
    assert measure("I1", [0.0, 0.0], [0.3, 0.7]) == 1
