import numpy as np
import pytest

from cordwood._param_validation import (
    check_choice,
    check_jobs,
    check_number,
    check_share,
    check_state,
)


@pytest.mark.parametrize("choices", [("a", "b"), {"a": 1, "b": 2}])
def test_a_choice_is_among_the_choices_or_told_which_there_are(choices):
    check_choice("rule", "a", choices)
    # A list is not even a name that a mapping could be asked for.
    for wrong in ("c", ["a"], None):
        with pytest.raises(ValueError) as caught:
            check_choice("rule", wrong, choices)
        assert str(caught.value) == f"rule must be one of 'a', 'b'; got {wrong!r}"


@pytest.mark.parametrize("value", [2, 3, np.int64(2), np.uint8(200)])
def test_whole_numbers_that_are_large_enough_pass(value):
    check_number("depth", value, 2)


@pytest.mark.parametrize("value", [1, -3, True, 2.0, "2", None, np.float64(3)])
def test_other_numbers_are_refused(value):
    with pytest.raises(ValueError, match="^depth must be a whole number of at least 2; got "):
        check_number("depth", value, 2)


@pytest.mark.parametrize("value", [1e-9, 0.5, 1.0, np.float32(0.25)])
def test_shares_pass(value):
    check_share("rows", value)


@pytest.mark.parametrize("value", [0.0, -0.1, 1.0001, float("nan"), True, "0.5", None])
def test_what_is_no_share_is_refused(value):
    with pytest.raises(ValueError, match=r"^rows must be a whole number or a share in \(0, 1\]; g"):
        check_share("rows", value)


@pytest.mark.parametrize("value", [None, 1, -1, np.int32(4)])
def test_jobs_pass(value):
    check_jobs(value)


@pytest.mark.parametrize("value", [0, 1.0, "all"])
def test_jobs_that_joblib_would_not_take_are_refused(value):
    with pytest.raises(ValueError, match="^n_jobs must be None or a whole number other than zero"):
        check_jobs(value)


def test_a_state_is_a_generator_or_the_seed_of_one():
    generator = np.random.RandomState(3)
    assert check_state(generator) is generator
    assert check_state(3).randint(2**31) == generator.randint(2**31)
    for wrong in (-1, 2**32, "x", np.random.default_rng(0)):
        with pytest.raises(ValueError, match="^random_state must be None, a whole number from 0"):
            check_state(wrong)
