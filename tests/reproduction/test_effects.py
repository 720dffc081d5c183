import numpy as np

from cordwood.compare.config.plan import parse_plan
from reproduction.effects import check_design, estimate_effects
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


def plan(*learners):
    others = [{"recipe": "svm"}, {"recipe": "boosted_rf"}, {"estimator": "sklearn.svm:SVC"}]
    mapping = {"datasets": [{"name": "docstrings"}], "learners": [*others, *learners]}
    return parse_plan(mapping)


def records(scores):
    """Return one record for each learner and fold, of two data sets."""
    return [
        {
            "trial": {"dataset": dataset, "learner": name, "repeat": 0, "fold": fold},
            "scores": {"micro_f1": value + shift},
        }
        for dataset, shift in (("a", 0.0), ("b", 0.1))
        for name, values in scores.items()
        for fold, value in enumerate(values)
    ]


def test_scores_are_assigned_to_the_cells_of_the_design():
    rng = np.random.default_rng(0)
    names = ["neither", "first", "second", "both", "svm"]
    scores = {name: rng.random(5) for name in names}
    found = estimate_effects(FACTORS, plan(*CELLS).learners, records(scores), "micro_f1")
    responses = np.empty((2, 2, 5))
    for (i, j), name in zip(((0, 0), (1, 0), (0, 1), (1, 1)), names[:4], strict=True):
        responses[i, j] = scores[name]
    expected = factorial_effects(responses, FACTORS)
    assert found["a"] == expected
    assert [round(e.explained_fraction, 12) for e in found["b"].effects] == [
        round(e.explained_fraction, 12) for e in expected.effects
    ]


def test_split_without_all_combinations_is_left_out():
    scores = {name: [0.1, 0.2] for name in ("neither", "first", "second")} | {"both": [0.5]}
    found = estimate_effects(FACTORS, plan(*CELLS).learners, records(scores), "micro_f1")
    assert found["a"].n_replications == 1


def test_complete_design_has_no_errors():
    assert list(check_design(FACTORS, plan(*CELLS).learners)) == []


def test_combination_without_a_learner_is_reported():
    incomplete = plan(*(cell for cell in CELLS if cell["name"] != "first"))
    assert list(check_design(FACTORS, incomplete.learners)) == [
        "exactly one learner must have oob_error = true, oob_updates = false in params; found no "
        "learner"
    ]


def test_two_learners_of_one_combination_are_reported():
    duplicate = learner("again", oob_error=True, oob_updates=True)
    (error,) = check_design(FACTORS, plan(*CELLS, duplicate).learners)
    assert error.endswith("found 'both' and 'again'")


def test_unknown_parameter_leaves_all_combinations_empty():
    assert len(list(check_design(["depth"], plan(*CELLS).learners))) == 2
