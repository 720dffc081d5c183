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


def take(measure, answers, y):
    return measure(answers, y) if "y" in inspect.signature(measure).parameters else measure(answers)


def pair(both, first, second, neither):
    """Answers and truth of two members with so many rows of each kind."""
    kinds = np.repeat([(1, 1), (1, 0), (0, 1), (0, 0)], [both, first, second, neither], axis=0)
    return kinds.T.astype(bool), np.ones(len(kinds), dtype=bool)


counts = st.tuples(*[st.integers(0, 12)] * 4).filter(any)
answered = st.tuples(st.integers(2, 4), st.integers(1, 30), st.integers(0, 2**32 - 1)).map(
    lambda drawn: np.random.default_rng(drawn[2]).integers(0, 3, (drawn[0] + 1, drawn[1]))
)


def test_every_measure_of_a_pair_worked_by_hand():
    # Of 10 rows 4 are right for both, 3 for the first, 1 for the second, 2 for neither.
    answers, y = pair(4, 3, 1, 2)
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
        matrix = take(measure, answers, y)
        assert matrix.shape == (2, 2)
        assert matrix[0, 1] == matrix[1, 0] == pytest.approx(value), measure.__name__


def test_the_diagonal_compares_a_member_with_itself():
    answers, y = pair(4, 3, 1, 2)
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
        assert np.diag(take(measure, answers, y)).tolist() == values, measure.__name__


@given(answered)
@settings(deadline=None, max_examples=60)
def test_identities_between_measures(table):
    answers, y = table[:-1], table[-1]
    right = (answers == y).astype(int)
    both = right @ right.T / y.size
    neither = (1 - right) @ (1 - right).T / y.size
    accuracies = [accuracy_score(y, own) for own in answers]
    assert diversity.disagreement(answers, y) == pytest.approx(1 - both - neither)
    assert diversity.double_fault(answers, y) == pytest.approx(neither)
    assert diversity.oracle_accuracy(answers, y) == pytest.approx(1 - neither)
    assert np.diag(diversity.oracle_accuracy(answers, y)) == pytest.approx(np.array(accuracies))
    better = np.maximum.outer(accuracies, accuracies)
    with np.errstate(invalid="ignore"):
        ratio = (1 - neither) / better
    potential = diversity.combination_potential(answers, y)
    assert potential == pytest.approx(ratio, nan_ok=True)
    assert not (potential < 1).any() and not (potential > 2).any()


@given(answered)
@settings(deadline=None, max_examples=60)
def test_correlation_is_numpys_of_being_right(table):
    answers, y = table[:-1], table[-1]
    assume(y.size > 1)
    with np.errstate(invalid="ignore"):
        expected = np.corrcoef(answers == y)
    assert diversity.correlation(answers, y) == pytest.approx(expected, nan_ok=True)


@given(answered)
@settings(deadline=None, max_examples=25)
def test_kappa_is_scikit_learns(table):
    found = diversity.kappa(table)
    for i, first in enumerate(table):
        for j, second in enumerate(table):
            if np.unique([first, second]).size == 1:
                assert np.isnan(found[i, j])
            else:
                assert found[i, j] == pytest.approx(cohen_kappa_score(first, second))


@given(counts)
@settings(deadline=None, max_examples=150)
def test_q_and_correlation_have_one_sign_and_q_the_greater_size(of):
    answers, y = pair(*of)
    q = diversity.q_statistic(answers, y)[0, 1]
    phi = diversity.correlation(answers, y)[0, 1]
    assert np.isnan(q) == np.isnan(phi)
    assume(not np.isnan(q))
    assert np.sign(q) == np.sign(phi)
    assert abs(phi) <= abs(q) + 1e-12 <= 1 + 2e-12


@given(counts)
@settings(deadline=None, max_examples=150)
def test_normalized_disagreement_lies_between_the_bounds_as_they_are_defined(of):
    answers, y = pair(*of)
    r, s = answers.mean(axis=1)
    least, most = abs(r - s), min(r + s, 2 - r - s)
    found = diversity.normalized_disagreement(answers, y)[0, 1]
    if most - least < 1e-9:
        assert np.isnan(found)
    else:
        observed = diversity.disagreement(answers, y)[0, 1]
        assert found == pytest.approx((observed - least) / (most - least))
        assert 0 <= found <= 1


@given(counts)
@settings(deadline=None, max_examples=150)
def test_the_closed_form_is_the_general_one_unless_both_err_more_often_than_not(of):
    both, first, second, neither = of
    answers, y = pair(*of)
    general = diversity.normalized_disagreement(answers, y)[0, 1]
    closed = diversity.normalized_disagreement(answers, y, form="closed")[0, 1]
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


def test_two_bad_members_that_never_err_together_less_are_fully_diverse_in_the_general_form_only():
    # Each is right in 2 of 10 rows and never together: they cannot disagree more.
    answers, y = pair(0, 2, 2, 6)
    assert diversity.normalized_disagreement(answers, y)[0, 1] == 1
    assert diversity.normalized_disagreement(answers, y, form="closed")[0, 1] == 2 / 8


@pytest.mark.parametrize(
    ("of", "undefined"),
    [
        pytest.param(
            (5, 3, 0, 0),
            {"correlation", "normalized_disagreement", "q_statistic"},
            id="the first is perfect",
        ),
        pytest.param(
            (0, 5, 0, 3),
            {"correlation", "normalized_disagreement", "q_statistic"},
            id="the second is always wrong",
        ),
        pytest.param(
            (8, 0, 0, 0),
            {"correlation", "kappa", "normalized_disagreement", "q_statistic"},
            id="both are perfect",
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
            id="both are always wrong",
        ),
        pytest.param((0, 4, 4, 0), set(), id="never right together, never wrong together"),
    ],
)
def test_what_is_undefined_is_nan_and_nothing_else_is(of, undefined):
    answers, y = pair(*of)
    found = {m.__name__ for m in MEASURES if np.isnan(take(m, answers, y)[0, 1])}
    assert found == undefined


def test_opposites_are_as_diverse_as_can_be():
    answers, y = pair(0, 4, 4, 0)
    assert diversity.q_statistic(answers, y)[0, 1] == -1
    assert diversity.correlation(answers, y)[0, 1] == -1
    assert diversity.kappa(answers)[0, 1] == -1
    assert diversity.normalized_disagreement(answers, y)[0, 1] == 1
    assert diversity.combination_potential(answers, y)[0, 1] == 2


@pytest.mark.parametrize("measure", MEASURES, ids=lambda measure: measure.__name__)
def test_all_ways_to_give_answers_are_one(measure):
    rng = np.random.default_rng(0)
    table = np.array(["ham", "spam", "eggs"])[rng.integers(0, 3, (4, 40))]
    expected = take(measure, table[:3], table[3])
    frame = pd.DataFrame(dict(zip("abc", table[:3], strict=True)), index=range(100, 140))
    for answers, y in [
        (frame, pd.Series(table[3])),
        (frame.astype("category"), pd.Categorical(table[3])),
        (frame.astype("string"), table[3].tolist()),
        (dict(zip("abc", table[:3].tolist(), strict=True)), table[3].astype(object)),
        ([own.tolist() for own in table[:3]], tuple(table[3].tolist())),
        (list(table[:3]), table[3]),
    ]:
        assert np.array_equal(take(measure, answers, y), expected, equal_nan=True)


@given(answered)
@settings(deadline=None, max_examples=20)
def test_names_and_order_of_rows_and_labels_do_not_matter(table):
    rows = np.random.default_rng(0).permutation(table.shape[1])
    names = np.array(["z", "y", "x"])
    for measure in MEASURES:
        expected = take(measure, table[:-1], table[-1])
        shuffled = take(measure, table[:-1, rows], table[-1, rows])
        named = take(measure, names[table[:-1]], names[table[-1]])
        turned = take(measure, table[-2::-1], table[-1])
        assert np.array_equal(shuffled, expected, equal_nan=True)
        assert np.array_equal(named, expected, equal_nan=True)
        assert np.array_equal(turned[::-1, ::-1], expected, equal_nan=True)


def test_labels_of_other_number_types_are_equal():
    assert diversity.double_fault([[1.0, 0.0], [True, True]], [1, 0]).tolist() == [[0, 0], [0, 0.5]]


def test_counts_beyond_32_bits_are_exact():
    answers, y = pair(60_000, 40_000, 30_000, 70_000)
    phi = (60 * 70 - 40 * 30) / math.sqrt(100 * 100 * 90 * 110)
    assert diversity.correlation(answers, y)[0, 1] == pytest.approx(phi, rel=1e-12)


@pytest.mark.parametrize(
    ("answers", "y", "sentence"),
    [
        ([], [1, 0], "answers has no members"),
        (pd.DataFrame([[1, 0]], columns=["rf", "rf"]), [1], r"answers\['rf'\] is there twice"),
        ([[1, 0, 1]], [1, 0], r"answers\[0\] has 3 labels and y has 2"),
        ({"rf": [1, 0], "nb": [1]}, [1, 0], r"answers\['nb'\] has 1 labels and answers\['rf'\]"),
        ([1, 0], [1, 0], r"answers\[0\] is of shape \(\).*`predict`"),
        (np.ones((2, 3, 4)), [1, 0, 1], r"answers\[0\] is of shape \(3, 4\)"),
        ([[1, 0]], [[1, 0]], r"y is of shape \(1, 2\)"),
        ([[]], [], r"answers\[0\] has no rows"),
        ([["a", "b"]], [0, 1], r"answers\[0\] has text, such as 'a', where y has numbers.* 0;"),
        ([["a", None]], ["a", "b"], r"answers\[0\] has None in row 1"),
        ([["a", math.nan]], ["a", "b"], r"answers\[0\] has nan in row 1"),
        ([["a", "b"]], ["a", 1], "y has 1 in row 1; give text in all rows, or numbers"),
        ([np.array([1, math.nan])], [1, 0], r"answers\[0\] has nan in row 1"),
        ([pd.array(["a", pd.NA])], ["a", "b"], r"answers\[0\] has (nan|<NA>) in row 1"),
        ([np.array(["2020"], "M8[Y]")], [1], r"answers\[0\] has .*2020.* in row 0"),
    ],
)
def test_wrong_input_is_said_in_a_sentence(answers, y, sentence):
    with pytest.raises(CordwoodError, match=sentence):
        diversity.disagreement(answers, y)


def test_an_unknown_form_is_refused():
    with pytest.raises(CordwoodError, match="form must be one of general, closed, not 'open'"):
        diversity.normalized_disagreement([[1], [1]], [1], form="open")
