import numpy as np
import pytest

from cordwood.compare.config.plan import parse_plan
from cordwood.exceptions import CordwoodError
from reproduction.effects import find_effects, find_gaps
from reproduction.factorial import factorial_effects

FACTORS = ("oob_error", "oob_updates")


def learner(name, **params):
    return {"recipe": "boosted_rf", "name": name, "params": params}


CELLS = [
    learner("neither", oob_error=False, oob_updates=False),
    learner("first", oob_error=True, oob_updates=False),
    learner("second", oob_error=False, oob_updates=True),
    learner("both", oob_error=True, oob_updates=True),
]


def plan(*learners, factors=FACTORS):
    return parse_plan(
        {
            "datasets": [{"name": "docstrings"}],
            "learners": [{"recipe": "svm"}, {"recipe": "boosted_rf"}, *learners],
            "factors": list(factors),
        }
    )


def records(scores):
    """One record for each learner and fold, of two data sets."""
    return [
        {
            "trial": {"dataset": dataset, "learner": name, "repeat": 0, "fold": fold},
            "scores": {"micro_f1": value + shift},
        }
        for dataset, shift in (("a", 0.0), ("b", 0.1))
        for name, values in scores.items()
        for fold, value in enumerate(values)
    ]


def test_scores_are_put_where_their_switches_are():
    rng = np.random.default_rng(0)
    names = ["neither", "first", "second", "both", "svm"]
    scores = {name: rng.random(5) for name in names}
    found = find_effects(FACTORS, plan(*CELLS).learners, records(scores), "micro_f1")
    responses = np.empty((2, 2, 5))
    for (i, j), name in zip(((0, 0), (1, 0), (0, 1), (1, 1)), names[:4], strict=True):
        responses[i, j] = scores[name]
    expected = factorial_effects(responses, FACTORS)
    assert found["a"] == expected
    assert [round(e.explained_fraction, 12) for e in found["b"].effects] == [
        round(e.explained_fraction, 12) for e in expected.effects
    ]


def test_a_part_without_all_combinations_is_left_out():
    scores = {name: [0.1, 0.2] for name in ("neither", "first", "second")} | {"both": [0.5]}
    found = find_effects(FACTORS, plan(*CELLS).learners, records(scores), "micro_f1")
    assert found["a"].n_replications == 1


def test_plans_without_factors_have_the_fingerprint_they_had():
    content = plan(*CELLS).model_copy(update={"factors": ()}).model_dump(mode="json")
    assert "factors" not in content
    assert "factors" in plan(*CELLS).model_dump(mode="json")


def test_a_combination_without_a_learner_is_named():
    with pytest.raises(
        CordwoodError,
        match="no learner has oob_error = true, oob_updates = false in params; one must",
    ):
        plan(*(cell for cell in CELLS if cell["name"] != "first"))


def test_two_learners_of_one_combination_are_named():
    twice = learner("again", oob_error=True, oob_updates=True)
    with pytest.raises(CordwoodError, match="'both' and 'again' have oob_error = true"):
        plan(*CELLS, twice)


def test_a_parameter_that_nobody_has_leaves_all_combinations_empty():
    assert len(list(find_gaps(["depth"], plan(*CELLS).learners))) == 2
