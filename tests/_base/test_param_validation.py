import numpy as np
import pytest

from cordwood import ensemble
from cordwood._base.param_validation import (
    POSITIVE,
    Constraint,
    ParamValidationMixin,
    check_choice,
    check_jobs,
    check_number,
    check_state,
    class_weights,
    integer,
    options,
    real,
    unsupported,
)

NAN, INF = float("nan"), float("inf")


@pytest.mark.parametrize("choices", [("a", "b"), {"a": 1, "b": 2}])
def test_check_choice(choices):
    check_choice("rule", "a", choices)
    for invalid in ("c", ["a"], None):  # A list cannot be looked up in a dict.
        with pytest.raises(ValueError) as caught:
            check_choice("rule", invalid, choices)
        assert str(caught.value) == f"rule must be one of 'a', 'b'; got {invalid!r}"


@pytest.mark.parametrize("value", [2, 3, np.int64(2), np.uint8(200)])
def test_check_number_accepts(value):
    check_number("depth", value, 2)


@pytest.mark.parametrize("value", [1, -3, True, 2.0, "2", None, np.float64(3), np.True_])
def test_check_number_raises(value):
    with pytest.raises(ValueError, match="^depth must be an integer >= 2; got "):
        check_number("depth", value, 2)


@pytest.mark.parametrize("value", [0, -1.0, NAN, INF, True, "1", None])
def test_positive_numbers(value):
    for valid in (1, 1e-300, np.float32(2)):
        POSITIVE.check("C", valid)
    with pytest.raises(ValueError, match="^C must be a positive number; got "):
        POSITIVE.check("C", value)


@pytest.mark.parametrize("value", [None, 1, -1, np.int32(4)])
def test_check_jobs_accepts(value):
    check_jobs(value)


@pytest.mark.parametrize("value", [0, 1.0, "all"])
def test_check_jobs_raises(value):
    with pytest.raises(ValueError, match="^n_jobs must be None or a non-zero integer; got "):
        check_jobs(value)


def test_check_state_returns_a_generator():
    generator = np.random.RandomState(3)
    assert check_state(generator) is generator
    assert check_state(3).randint(2**31) == generator.randint(2**31)
    for invalid in (-1, 2**32, "x", np.random.default_rng(0)):
        with pytest.raises(ValueError, match="^random_state must be None, an integer from 0"):
            check_state(invalid)


@pytest.mark.parametrize(
    ("constraint", "valid", "invalid"),
    [
        (options("a", None), ["a", None, np.str_("a")], ["b", 0, np.array(["a"]), ["a"]]),
        (options("a") | integer(3), ["a", 3], [2, "b", None]),
        (real("[]", 0, 1), [0, 1, 0.5], [-1e-9, 1.1, INF, "0"]),
        (real("()", 0, 1), [0.5], [0, 1]),
        (unsupported(0.0, "not supported"), [0.0, 0], [0.1, None, False, "0"]),
        (unsupported(None, "not supported"), [None], [0, False, [1]]),
        (class_weights("balanced"), [None, "balanced", {}, {"a": 0}], ["even", 3, {"a": -1}]),
        (class_weights("balanced"), [{0: 1.5}], [{0: NAN}, {0: INF}, {0: "1"}, [1.0]]),
    ],
)
def test_constraints(constraint, valid, invalid):
    for value in valid:
        constraint.check("parameter", value)
    for value in invalid:
        with pytest.raises(ValueError, match=r"^parameter must be .*; got "):
            constraint.check("parameter", value)


def test_table_names_the_first_invalid_parameter():
    class Estimator(ParamValidationMixin):
        _parameter_constraints = {"a": integer(1), "b": Constraint("even", lambda b: b % 2 == 0)}
        a, b = 1, 3

    with pytest.raises(ValueError, match="^b must be even; got 3$"):
        Estimator()._validate_params()


@pytest.mark.parametrize("name", ensemble.__all__)
def test_every_parameter_has_a_constraint_that_its_default_satisfies(name):
    estimator = getattr(ensemble, name)()
    assert estimator._parameter_constraints.keys() == estimator.get_params(deep=False).keys()
    estimator._validate_params()
