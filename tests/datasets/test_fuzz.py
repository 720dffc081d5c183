"""A slice of `benchmarks/fuzz_input.py`, which runs thousands of hostile files."""

import random
from collections import Counter

import pytest

from fuzz_input import check_command, check_readers, generate_case, run_cases


def test_readers_return_data_or_raise_an_error_about_the_input():
    outcomes, failures = run_cases(150, seed=1, check=check_readers)
    assert not failures
    assert min(outcomes["read"], outcomes["rejected"]) > 20


def test_commands_end_without_an_internal_error():
    outcomes, failures = run_cases(15, seed=1, check=check_command)
    assert not failures
    assert min(outcomes["trained"], outcomes["rejected"]) > 0


def test_failures_are_found():
    def fail(case, rng):
        raise KeyError("text")

    outcomes, failures = run_cases(2, seed=1, check=fail)
    assert outcomes == Counter(failed=2)
    assert all(failure.startswith("seed 1, number ") for failure in failures)


@pytest.mark.parametrize("seed", range(3))
def test_cases_depend_only_on_the_seed(seed):
    assert generate_case(random.Random(seed)) == generate_case(random.Random(seed))
