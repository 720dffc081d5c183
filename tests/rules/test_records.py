import numpy as np
import pytest

from cordwood.rules._documents import find_present
from cordwood.rules._records import WordRules, add_votes, check_rules, make_constant

RULES = WordRules(
    np.array([1, 1, 0], np.int32),
    np.array([1.0, 0.5, -2.0]),
    np.array([-1.0, 0.25, 3.0]),
    np.array([0.5, 2.0, 1.0]),
)


def test_votes_are_those_of_a_loop():
    X = np.array([[0, 0], [0, 1], [1, 0], [1, 1]])
    machines = [RULES, make_constant(-1.0), RULES.take(slice(1))]
    expected = [
        [
            sum(w * (c1 if row[word] else c0) for word, c1, c0, w in zip(*rules, strict=True))
            for rules in machines
        ]
        for row in X
    ]
    assert np.allclose(add_votes(machines, find_present(X)), expected)


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ({"word": np.array([0, 1, 2], np.int32)}, "word"),
        ({"word": np.array([0, -1, 1], np.int32)}, "word"),
        ({"word": np.array([0, 1, 1])}, "word"),
        ({"present": np.array([1.0, np.nan, 0.0])}, "present"),
        ({"absent": np.ones(2)}, "absent"),
        ({"weight": np.ones((3, 1))}, "weight"),
        ({"weight": [1.0, 1.0, 1.0]}, "weight"),
    ],
)
def test_rules_of_a_stranger_are_checked(wrong, told):
    assert check_rules(RULES, 2) is RULES
    with pytest.raises(ValueError, match=told):
        check_rules(RULES._replace(**wrong), 2)


def test_other_things_are_no_rules():
    with pytest.raises(ValueError, match="tuple"):
        check_rules(tuple(RULES), 2)
