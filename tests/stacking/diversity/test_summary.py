import dataclasses

import numpy as np
import pytest

from cordwood.exceptions import CordwoodError
from cordwood.stacking import diversity

Y = np.array(list("abcabcabca"))
ANSWERS = {
    "rf": np.array(list("abcabcabbb")),
    "nb": np.array(list("abcaaaabca")),
    "knn": np.array(list("bbbabcabbb")),
}


def test_means_over_pairs_are_means_of_two_members_at_a_time():
    found = diversity.measure_ensemble(ANSWERS, Y)
    pairs = [("rf", "nb"), ("rf", "knn"), ("nb", "knn")]
    for name in ("disagreement", "normalized_disagreement", "double_fault", "q_statistic",
                 "correlation"):  # fmt: skip
        measure = getattr(diversity, name)
        each = [measure([ANSWERS[a], ANSWERS[b]], Y)[0, 1] for a, b in pairs]
        assert getattr(found, name) == pytest.approx(np.mean(each)), name
    each = [diversity.kappa([ANSWERS[a], ANSWERS[b]])[0, 1] for a, b in pairs]
    assert found.kappa == pytest.approx(np.mean(each))


def test_accuracies_and_the_oracle_are_of_all_members():
    found = diversity.measure_ensemble(ANSWERS, Y)
    assert (found.n_members, found.n_rows) == (3, 10)
    assert found.mean_accuracy == pytest.approx((0.8 + 0.8 + 0.6) / 3)
    assert found.best_accuracy == 0.8
    assert found.oracle_accuracy == 1.0
    assert found.combination_potential == pytest.approx(1 / 0.8)


def test_a_third_member_counts_in_the_oracle_though_no_pair_has_it_all():
    right = np.eye(3, dtype=bool)
    found = diversity.measure_ensemble(right, [True] * 3)
    assert found.oracle_accuracy == 1
    assert found.combination_potential == pytest.approx(3)
    assert diversity.oracle_accuracy(right, [True] * 3)[0, 1] == pytest.approx(2 / 3)


def test_members_that_are_always_wrong_have_no_potential_to_speak_of():
    found = diversity.measure_ensemble([list("aa"), list("ba")], list("cc"))
    undefined = {k for k, v in dataclasses.asdict(found).items() if np.isnan(v)}
    assert undefined == {
        "combination_potential",
        "normalized_disagreement",
        "q_statistic",
        "correlation",
    }
    assert (found.oracle_accuracy, found.double_fault, found.kappa) == (0, 1, 0)


def test_a_mean_with_an_undefined_pair_is_undefined():
    matrix = np.array([[1, np.nan, 0.5], [np.nan, 1, 0.5], [0.5, 0.5, 1]])
    assert np.isnan(diversity.mean_over_pairs(matrix))


def test_the_diagonal_is_no_pair():
    assert diversity.mean_over_pairs([[9.0, 0.25], [0.25, 9.0]]) == 0.25


def test_means_need_a_square_and_a_pair():
    with pytest.raises(CordwoodError, match=r"matrix is of shape \(2, 3\)"):
        diversity.mean_over_pairs(np.ones((2, 3)))
    with pytest.raises(CordwoodError, match="but one member"):
        diversity.mean_over_pairs([[1.0]])
    with pytest.raises(CordwoodError, match="but one member"):
        diversity.measure_ensemble({"rf": ANSWERS["rf"]}, Y)
