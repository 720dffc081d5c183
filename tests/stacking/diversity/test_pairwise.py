import inspect
import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from sklearn.metrics import accuracy_score, cohen_kappa_score

from cordwood.exceptions import CordwoodError
from cordwood.stacking import diversity

MEASURES = [
    diversity.combination_potential,
    diversity.correlation,
    diversity.disagreement,
    diversity.double_fault,
    diversity.kappa,
    diversity.normalized_disagreement,
    diversity.oracle_accuracy,
    diversity.q_statistic,
]


def compute(measure, predictions, y):
    has_y = "y" in inspect.signature(measure).parameters
    return measure(predictions, y) if has_y else measure(predictions)


def pair(both, first, second, neither):
    """Return correctness of two members, with the given counts, and labels that are all True."""
    kinds = np.repeat([(1, 1), (1, 0), (0, 1), (0, 0)], [both, first, second, neither], axis=0)
    return kinds.T.astype(bool), np.ones(len(kinds), dtype=bool)


counts = st.tuples(*[st.integers(0, 12)] * 4).filter(any)
label_tables = st.tuples(st.integers(2, 4), st.integers(1, 30), st.integers(0, 2**32 - 1)).map(
    lambda drawn: np.random.default_rng(drawn[2]).integers(0, 3, (drawn[0] + 1, drawn[1]))
)


def test_measures_match_hand_computed_values():
    # Of 10 samples, 4 are correct for both, 3 for the first, 1 for the second, 2 for neither.
    predictions, y = pair(4, 3, 1, 2)
    expected = {
        diversity.disagreement: 4 / 10,
        diversity.normalized_disagreement: (0.4 - 0.2) / (0.8 - 0.2),
        diversity.double_fault: 2 / 10,
        diversity.q_statistic: (4 * 2 - 3 * 1) / (4 * 2 + 3 * 1),
        diversity.correlation: (4 * 2 - 3 * 1) / math.sqrt(7 * 3 * 5 * 5),
        diversity.kappa: (0.6 - (0.7 * 0.5 + 0.3 * 0.5)) / (1 - 0.5),
        diversity.oracle_accuracy: 8 / 10,
        diversity.combination_potential: 8 / 7,
    }
    for measure, value in expected.items():
        matrix = compute(measure, predictions, y)
        assert matrix.shape == (2, 2)
        assert matrix[0, 1] == matrix[1, 0] == pytest.approx(value), measure.__name__


def test_diagonal_compares_a_member_with_itself():
    predictions, y = pair(4, 3, 1, 2)
    expected = {
        diversity.disagreement: [0, 0],
        diversity.normalized_disagreement: [0, 0],
        diversity.double_fault: [0.3, 0.5],
        diversity.q_statistic: [1, 1],
        diversity.correlation: [1, 1],
        diversity.kappa: [1, 1],
        diversity.oracle_accuracy: [0.7, 0.5],
        diversity.combination_potential: [1, 1],
    }
    for measure, values in expected.items():
        assert np.diag(compute(measure, predictions, y)).tolist() == values, measure.__name__


@given(label_tables)
@settings(deadline=None, max_examples=60)
def test_identities_between_measures(table):
    predictions, y = table[:-1], table[-1]
    correct = (predictions == y).astype(int)
    both = correct @ correct.T / y.size
    neither = (1 - correct) @ (1 - correct).T / y.size
    accuracies = [accuracy_score(y, own) for own in predictions]
    assert diversity.disagreement(predictions, y) == pytest.approx(1 - both - neither)
    assert diversity.double_fault(predictions, y) == pytest.approx(neither)
    assert diversity.oracle_accuracy(predictions, y) == pytest.approx(1 - neither)
    assert np.diag(diversity.oracle_accuracy(predictions, y)) == pytest.approx(np.array(accuracies))
    better = np.maximum.outer(accuracies, accuracies)
    with np.errstate(invalid="ignore"):
        ratio = (1 - neither) / better
    potential = diversity.combination_potential(predictions, y)
    assert potential == pytest.approx(ratio, nan_ok=True)
    assert not (potential < 1).any() and not (potential > 2).any()


@given(label_tables)
@settings(deadline=None, max_examples=60)
def test_correlation_matches_numpy(table):
    predictions, y = table[:-1], table[-1]
    assume(y.size > 1)
    with np.errstate(invalid="ignore"):
        expected = np.corrcoef(predictions == y)
    assert diversity.correlation(predictions, y) == pytest.approx(expected, nan_ok=True)


@given(label_tables)
@settings(deadline=None, max_examples=25)
def test_kappa_matches_sklearn(table):
    found = diversity.kappa(table)
    for i, first in enumerate(table):
        for j, second in enumerate(table):
            if np.unique([first, second]).size == 1:
                assert np.isnan(found[i, j])
            else:
                assert found[i, j] == pytest.approx(cohen_kappa_score(first, second))


@given(counts)
@settings(deadline=None, max_examples=150)
def test_q_has_the_sign_of_the_correlation_and_is_larger(of):
    predictions, y = pair(*of)
    q = diversity.q_statistic(predictions, y)[0, 1]
    phi = diversity.correlation(predictions, y)[0, 1]
    assert np.isnan(q) == np.isnan(phi)
    assume(not np.isnan(q))
    assert np.sign(q) == np.sign(phi)
    assert abs(phi) <= abs(q) + 1e-12 <= 1 + 2e-12


@given(counts)
@settings(deadline=None, max_examples=150)
def test_normalized_disagreement_matches_its_definition(of):
    predictions, y = pair(*of)
    r, s = predictions.mean(axis=1)
    least, most = abs(r - s), min(r + s, 2 - r - s)
    found = diversity.normalized_disagreement(predictions, y)[0, 1]
    if most - least < 1e-9:
        assert np.isnan(found)
    else:
        observed = diversity.disagreement(predictions, y)[0, 1]
        assert found == pytest.approx((observed - least) / (most - least))
        assert 0 <= found <= 1


@given(counts)
@settings(deadline=None, max_examples=150)
def test_closed_form_equals_general_form_unless_both_err_more_often(of):
    both, first, second, neither = of
    predictions, y = pair(*of)
    general = diversity.normalized_disagreement(predictions, y)[0, 1]
    closed = diversity.normalized_disagreement(predictions, y, form="closed")[0, 1]
    better_errs = min(first, second) + neither
    if better_errs:
        assert closed == pytest.approx(min(first, second) / better_errs)
    else:
        assert np.isnan(closed)
    if neither <= both:
        assert closed == pytest.approx(general, nan_ok=True)
    else:
        assert closed < 1
        assert np.isnan(general) or closed <= general


def test_inaccurate_members_reach_the_maximum_in_the_general_form_only():
    # Each is correct on 2 of 10 samples, never on the same: they cannot disagree more.
    predictions, y = pair(0, 2, 2, 6)
    assert diversity.normalized_disagreement(predictions, y)[0, 1] == 1
    assert diversity.normalized_disagreement(predictions, y, form="closed")[0, 1] == 2 / 8


@pytest.mark.parametrize(
    ("of", "undefined"),
    [
        pytest.param(
            (5, 3, 0, 0),
            {"correlation", "normalized_disagreement", "q_statistic"},
            id="first perfect",
        ),
        pytest.param(
            (0, 5, 0, 3),
            {"correlation", "normalized_disagreement", "q_statistic"},
            id="second always wrong",
        ),
        pytest.param(
            (8, 0, 0, 0),
            {"correlation", "kappa", "normalized_disagreement", "q_statistic"},
            id="both perfect",
        ),
        pytest.param(
            (0, 0, 0, 8),
            {
                "combination_potential",
                "correlation",
                "kappa",
                "normalized_disagreement",
                "q_statistic",
            },
            id="both always wrong",
        ),
        pytest.param((0, 4, 4, 0), set(), id="opposite"),
    ],
)
def test_only_undefined_measures_are_nan(of, undefined):
    predictions, y = pair(*of)
    found = {m.__name__ for m in MEASURES if np.isnan(compute(m, predictions, y)[0, 1])}
    assert found == undefined


def test_opposite_members_reach_the_extremes():
    predictions, y = pair(0, 4, 4, 0)
    assert diversity.q_statistic(predictions, y)[0, 1] == -1
    assert diversity.correlation(predictions, y)[0, 1] == -1
    assert diversity.kappa(predictions)[0, 1] == -1
    assert diversity.normalized_disagreement(predictions, y)[0, 1] == 1
    assert diversity.combination_potential(predictions, y)[0, 1] == 2


@pytest.mark.parametrize("measure", MEASURES, ids=lambda measure: measure.__name__)
def test_all_containers_of_predictions_are_equivalent(measure):
    rng = np.random.default_rng(0)
    table = np.array(["ham", "spam", "eggs"])[rng.integers(0, 3, (4, 40))]
    expected = compute(measure, table[:3], table[3])
    frame = pd.DataFrame(dict(zip("abc", table[:3], strict=True)), index=range(100, 140))
    for predictions, y in [
        (frame, pd.Series(table[3])),
        (frame.astype("category"), pd.Categorical(table[3])),
        (frame.astype("string"), table[3].tolist()),
        (dict(zip("abc", table[:3].tolist(), strict=True)), table[3].astype(object)),
        ([own.tolist() for own in table[:3]], tuple(table[3].tolist())),
        (list(table[:3]), table[3]),
    ]:
        assert np.array_equal(compute(measure, predictions, y), expected, equal_nan=True)


@given(label_tables)
@settings(deadline=None, max_examples=20)
def test_invariant_to_sample_order_and_label_names(table):
    rows = np.random.default_rng(0).permutation(table.shape[1])
    names = np.array(["z", "y", "x"])
    for measure in MEASURES:
        expected = compute(measure, table[:-1], table[-1])
        shuffled = compute(measure, table[:-1, rows], table[-1, rows])
        named = compute(measure, names[table[:-1]], names[table[-1]])
        turned = compute(measure, table[-2::-1], table[-1])
        assert np.array_equal(shuffled, expected, equal_nan=True)
        assert np.array_equal(named, expected, equal_nan=True)
        assert np.array_equal(turned[::-1, ::-1], expected, equal_nan=True)


def test_numeric_types_of_labels_are_comparable():
    assert diversity.double_fault([[1.0, 0.0], [True, True]], [1, 0]).tolist() == [[0, 0], [0, 0.5]]


def test_counts_beyond_32_bits_are_exact():
    predictions, y = pair(60_000, 40_000, 30_000, 70_000)
    phi = (60 * 70 - 40 * 30) / math.sqrt(100 * 100 * 90 * 110)
    assert diversity.correlation(predictions, y)[0, 1] == pytest.approx(phi, rel=1e-12)


@pytest.mark.parametrize(
    ("predictions", "y", "message"),
    [
        ([], [1, 0], "predictions must contain at least one member"),
        (pd.DataFrame([[1, 0]], columns=["rf", "rf"]), [1], r"predictions\['rf'\] is duplicated"),
        ([[1, 0, 1]], [1, 0], r"predictions\[0\] and y must have the same length; got 3 and 2"),
        (
            {"rf": [1, 0], "nb": [1]},
            [1, 0],
            r"predictions\['nb'\] and predictions\['rf'\] must .* got 1 and 2",
        ),
        ([1, 0], [1, 0], r"predictions\[0\] must be .*`predict`; got shape \(\)"),
        (np.ones((2, 3, 4)), [1, 0, 1], r"predictions\[0\] must be .*; got shape \(3, 4\)"),
        ([[1, 0]], [[1, 0]], r"y must be one-dimensional, .*; got shape \(1, 2\)"),
        ([[]], [], r"predictions\[0\] must contain at least one label"),
        (
            [["a", "b"]],
            [0, 1],
            r"predictions\[0\] and y must .* got strings, e.g. 'a', and numbers, e.g. 0",
        ),
        ([["a", None]], ["a", "b"], r"predictions\[0\] must .*; got None at position 1"),
        ([["a", math.nan]], ["a", "b"], r"predictions\[0\] must .*; got nan at position 1"),
        (
            [["a", "b"]],
            ["a", 1],
            "y must contain only strings or only numbers; got 1 at position 1",
        ),
        ([np.array([1, math.nan])], [1, 0], r"predictions\[0\] must .*; got nan at position 1"),
        (
            [pd.array(["a", pd.NA])],
            ["a", "b"],
            r"predictions\[0\] must .*; got (nan|<NA>) at position 1",
        ),
        ([np.array(["2020"], "M8[Y]")], [1], r"predictions\[0\] must .*2020.* at position 0"),
    ],
)
def test_invalid_predictions_raise(predictions, y, message):
    with pytest.raises(CordwoodError, match=message):
        diversity.disagreement(predictions, y)


def test_invalid_form_raises():
    with pytest.raises(CordwoodError, match="form must be 'general' or 'closed'; got 'open'"):
        diversity.normalized_disagreement([[1], [1]], [1], form="open")


def test_mean_over_pairs_is_the_mean_of_each_pair():
    labels = np.array(list("abcabcabca"))
    predictions = [list("abcabcabbb"), list("abcaaaabca"), list("bbbabcabbb")]
    for measure in MEASURES:
        each = [
            compute(measure, [predictions[i], predictions[j]], labels)[0, 1]
            for i, j in [(0, 1), (0, 2), (1, 2)]
        ]
        mean = diversity.mean_over_pairs(compute(measure, predictions, labels))
        assert mean == pytest.approx(np.mean(each)), measure.__name__


def test_mean_over_pairs_with_an_undefined_pair_is_nan():
    matrix = np.array([[1, np.nan, 0.5], [np.nan, 1, 0.5], [0.5, 0.5, 1]])
    assert np.isnan(diversity.mean_over_pairs(matrix))


def test_mean_over_pairs_ignores_the_diagonal():
    assert diversity.mean_over_pairs([[9.0, 0.25], [0.25, 9.0]]) == 0.25


def test_mean_over_pairs_with_invalid_matrix_raises():
    with pytest.raises(CordwoodError, match=r"matrix must be square; got shape \(2, 3\)"):
        diversity.mean_over_pairs(np.ones((2, 3)))
    with pytest.raises(CordwoodError, match="at least two members; got one"):
        diversity.mean_over_pairs([[1.0]])
