import numpy as np
import pytest
from sklearn.metrics import cohen_kappa_score

from cordwood.labelling.agreement import cohen_kappa, krippendorff_alpha


@pytest.mark.parametrize("seed", range(20))
def test_kappa_is_that_of_scikit_learn(seed):
    rng = np.random.default_rng(seed)
    first = rng.integers(4, size=30)
    second = np.where(rng.random(30) < 0.6, first, rng.integers(5, size=30))
    found = cohen_kappa(first.tolist(), second.tolist())
    assert found == pytest.approx(cohen_kappa_score(first, second))


def test_kappa_is_undefined_where_chance_agrees_always():
    assert cohen_kappa(["a", "a"], ["a", "a"]) is None
    assert cohen_kappa([], []) is None


def test_alpha_of_the_worked_example_of_krippendorff():
    # Computing Krippendorff's alpha-reliability (2011), section C: 12 units, 4 observers with
    # missing values; alpha is 0.743.
    observers = [
        "1 2 3 3 2 1 4 1 2 . . .",
        "1 2 3 3 2 2 4 1 2 5 . 3",
        ". 3 3 3 2 3 4 2 2 5 1 .",
        "1 2 3 3 2 4 4 1 2 5 1 .",
    ]
    columns = zip(*(line.split() for line in observers), strict=True)
    units = [[label for label in unit if label != "."] for unit in columns]
    assert krippendorff_alpha(units) == pytest.approx(0.743, abs=5e-4)


def test_alpha_of_equal_labels():
    assert krippendorff_alpha([["a", "a"], ["b", "b", "b"]]) == 1.0
    assert krippendorff_alpha([["a", "a"], ["a", "a"]]) is None
    assert krippendorff_alpha([["a"], []]) is None
