import numpy as np
import pytest

from cordwood.rules._samples import binarize
from cordwood.rules.records import RuleSet, check_rules, make_constant_rule, sum_votes

RULES = RuleSet(
    np.array([1, 1, 0], np.int32),
    np.array([1.0, 0.5, -2.0]),
    np.array([-1.0, 0.25, 3.0]),
    np.array([0.5, 2.0, 1.0]),
)


def test_votes_match_naive_loop():
    X = np.array([[0, 0], [0, 1], [1, 0], [1, 1]])
    rule_sets = [RULES, make_constant_rule(-1.0), RULES.take(slice(1))]
    expected = [
        [
            sum(w * (c1 if row[j] else c0) for j, c1, c0, w in zip(*rules, strict=True))
            for rules in rule_sets
        ]
        for row in X
    ]
    assert np.allclose(sum_votes(rule_sets, binarize(X)), expected)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"feature": np.array([0, 1, 2], np.int32)}, "feature"),
        ({"feature": np.array([0, -1, 1], np.int32)}, "feature"),
        ({"feature": np.array([0, 1, 1])}, "feature"),
        ({"present": np.array([1.0, np.nan, 0.0])}, "present"),
        ({"absent": np.ones(2)}, "absent"),
        ({"weight": np.ones((3, 1))}, "weight"),
        ({"weight": [1.0, 1.0, 1.0]}, "weight"),
    ],
)
def test_invalid_rules_are_rejected(changes, message):
    assert check_rules(RULES, 2) is RULES
    with pytest.raises(ValueError, match=message):
        check_rules(RULES._replace(**changes), 2)


def test_other_types_are_rejected():
    with pytest.raises(ValueError, match="tuple"):
        check_rules(tuple(RULES), 2)
