import pytest

from cordwood.compare.runner.leaderboard import Leader, Leaderboard


def trial(dataset="d", learner="rf", train_fraction=1.0):
    return {"dataset": dataset, "learner": learner, "train_fraction": train_fraction}


def record(score, **fields):
    return {"trial": trial(**fields), "scores": {"micro_f1": 0.0, "macro_f1": score}}


def make_leaderboard():
    trials = [trial(dataset, name) for dataset in "de" for name in ("rf", "nb") for _ in range(3)]
    return Leaderboard([*trials, trial(train_fraction=0.5)], "macro_f1")


def test_counts_trials_by_data_set():
    leaderboard = make_leaderboard()
    assert leaderboard.planned == {"d": 7, "e": 6}
    leaderboard.add(record(0.5))
    leaderboard.add({"trial": trial("e"), "error": "no"})
    assert leaderboard.done == {"d": 1, "e": 1}


def test_leader_has_the_best_mean_of_the_metric():
    leaderboard = make_leaderboard()
    assert leaderboard.leader("d") is None
    for score in (0.9, 0.5):
        leaderboard.add(record(score, learner="rf"))
    leaderboard.add(record(0.75, learner="nb"))
    assert leaderboard.leader("d") == Leader("nb", 0.75, 1)
    leaderboard.add(record(0.5, learner="nb"))
    assert leaderboard.leader("d") == Leader("rf", pytest.approx(0.7), 2)
    assert leaderboard.leader("e") is None


def test_failures_and_smaller_training_fractions_are_not_ranked():
    leaderboard = make_leaderboard()
    leaderboard.add({"trial": trial(), "error": "no"})
    leaderboard.add(record(0.99, train_fraction=0.5))
    assert leaderboard.leader("d") is None
    assert leaderboard.done["d"] == 2


def test_first_of_equal_learners_leads():
    leaderboard = make_leaderboard()
    for learner in ("nb", "rf"):
        leaderboard.add(record(0.5, learner=learner))
    assert leaderboard.leader("d").learner == "nb"
