import pytest

from cordwood.compare.runner.leaderboard import Leader, Standing


def trial(dataset="d", learner="rf", share=1.0):
    return {"dataset": dataset, "learner": learner, "train_fraction": share}


def record(score, **fields):
    return {"trial": trial(**fields), "scores": {"micro_f1": 0.0, "macro_f1": score}}


def make_standing():
    trials = [trial(dataset, name) for dataset in "de" for name in ("rf", "nb") for _ in range(3)]
    return Standing([*trials, trial(share=0.5)], "macro_f1")


def test_units_are_counted_for_each_data_set():
    standing = make_standing()
    assert standing.planned == {"d": 7, "e": 6}
    standing.add(record(0.5))
    standing.add({"trial": trial("e"), "error": "no"})
    assert standing.done == {"d": 1, "e": 1}


def test_the_leader_has_the_best_mean_by_the_metric():
    standing = make_standing()
    assert standing.leader("d") is None
    for score in (0.9, 0.5):
        standing.add(record(score, learner="rf"))
    standing.add(record(0.75, learner="nb"))
    assert standing.leader("d") == Leader("nb", 0.75, 1)
    standing.add(record(0.5, learner="nb"))
    assert standing.leader("d") == Leader("rf", pytest.approx(0.7), 2)
    assert standing.leader("e") is None


def test_failures_and_smaller_shares_make_no_leader():
    standing = make_standing()
    standing.add({"trial": trial(), "error": "no"})
    standing.add(record(0.99, share=0.5))
    assert standing.leader("d") is None
    assert standing.done["d"] == 2


def test_the_first_of_equals_leads():
    standing = make_standing()
    for learner in ("nb", "rf"):
        standing.add(record(0.5, learner=learner))
    assert standing.leader("d").learner == "nb"
