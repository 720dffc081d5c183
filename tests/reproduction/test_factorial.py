import math

import numpy as np
import pytest

from reproduction.factorial import factorial_effects

# Jain (1991), example 18.1: memory (A) and cache (B), three replications.
JAIN = np.array([[[15, 18, 12], [25, 28, 19]], [[45, 48, 51], [75, 75, 81]]])


def test_matches_example_of_jain_with_replications():
    result = factorial_effects(JAIN, level=0.90)
    assert result.mean == 41
    assert [effect.factors for effect in result.effects] == [("A",), ("B",), ("A", "B")]
    assert [effect.effect for effect in result.effects] == pytest.approx([21.5, 9.5, 5.0])
    # Sums of squares 5547, 1083, 300 and 102 of 7032.
    fractions = [*(effect.explained_fraction for effect in result.effects), result.error_fraction]
    assert fractions == pytest.approx([5547 / 7032, 1083 / 7032, 300 / 7032, 102 / 7032])
    # The intervals agree with statsmodels 0.14, ols("y ~ A * B").conf_int(0.10).
    bounds = [bound for effect in result.effects for bound in (effect.low, effect.high)]
    assert bounds == pytest.approx(
        [19.583222, 23.416778, 7.583222, 11.416778, 3.083222, 6.916778], abs=1e-6
    )


def test_matches_example_of_jain_without_replications():
    # Example 17.1, where 76, 19 and 5 percent are printed.
    result = factorial_effects([[[15], [25]], [[45], [75]]])
    assert [effect.effect for effect in result.effects] == [20, 10, 5]
    assert [round(100 * effect.explained_fraction) for effect in result.effects] == [76, 19, 5]
    assert result.error_fraction == 0
    assert all(math.isnan(effect.low) and math.isnan(effect.high) for effect in result.effects)


def test_effects_equal_least_squares_coefficients():
    y = np.random.default_rng(0).normal(size=(2, 2, 2, 4))
    result = factorial_effects(y, ["a", "b", "c"])
    level = 2 * np.indices(y.shape)[:3].reshape(3, -1) - 1
    columns = {(name,): level[axis] for axis, name in enumerate("abc")}
    columns |= {("a", "b"): level[0] * level[1], ("a", "c"): level[0] * level[2]}
    columns |= {("b", "c"): level[1] * level[2], ("a", "b", "c"): level.prod(axis=0)}
    design = np.column_stack([np.ones(y.size), *columns.values()])
    expected, *_ = np.linalg.lstsq(design, y.ravel(), rcond=None)
    found = {effect.factors: effect.effect for effect in result.effects}
    assert found == pytest.approx(dict(zip(columns, expected[1:], strict=True)))
    assert sum(
        e.explained_fraction for e in result.effects
    ) + result.error_fraction == pytest.approx(1.0)


def test_incomplete_replication_is_left_out():
    holed = np.concatenate([JAIN, np.full((2, 2, 1), 99.0)], axis=2)
    holed[0, 1, 3] = math.nan
    assert factorial_effects(holed) == factorial_effects(JAIN)


def test_equal_responses_have_no_effects():
    result = factorial_effects(np.full((2, 2, 3), 0.1))
    assert [(e.effect, e.explained_fraction, e.low, e.high) for e in result.effects] == [
        (0, 0, 0, 0)
    ] * 3
    assert result.error_fraction == 0


def test_without_a_complete_replication_all_is_nan():
    result = factorial_effects([[math.nan], [1.0]])
    assert result.n_replications == 0
    assert math.isnan(result.mean)
    assert math.isnan(result.effects[0].effect)


@pytest.mark.parametrize(
    ("responses", "options", "message"),
    [
        (np.zeros((3, 2, 1)), {}, "shape"),
        (np.zeros(4), {}, "shape"),
        (np.zeros((2, 2, 1)), {"factors": ["a"]}, "must have 2 names"),
        (np.zeros((2, 1)), {"level": 90}, "level"),
    ],
)
def test_invalid_designs_raise(responses, options, message):
    with pytest.raises(ValueError, match=message):
        factorial_effects(responses, **options)
