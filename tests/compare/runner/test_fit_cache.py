import copy
import time

from cordwood.compare.config.plan import parse_plan
from cordwood.compare.runner.fit_cache import Members
from cordwood.compare.runner.ledger import Ledger
from cordwood.compare.runner.run import run


def busy(seconds):
    end = time.process_time() + seconds
    while time.process_time() < end:
        pass
    return seconds


def test_nothing_is_done_twice_for_the_same_rows_and_its_seconds_are_told():
    members = Members()
    call = members.cache(busy)
    members.turn_to("fold 1")
    with members.saving() as saved:
        call(0.02)
    assert saved.cpu == saved.wall == 0
    with members.saving() as saved:
        assert call(0.02) == 0.02
        copy.deepcopy(members).cache(busy)(0.02)
    assert 0.04 <= saved.cpu < 1
    members.turn_to("fold 1")
    with members.saving() as saved:
        call(0.02)
    assert saved.cpu >= 0.02
    members.turn_to("fold 2")
    with members.saving() as saved:
        call(0.02)
    assert saved.cpu == 0


def test_functions_are_told_apart():
    members = Members()
    assert members.cache(busy)(0) == 0
    assert members.cache(str)(0) == "0"


def compare(tmp_path, name, learners):
    plan = parse_plan(
        {
            "datasets": [{"name": "sklearn:iris"}],
            "evaluation": {"folds": 2},
            "learners": [
                {"recipe": "quick", "name": f"{number}", **learner}
                for number, learner in enumerate(learners)
            ],
        }
    )
    ledger = Ledger(tmp_path / f"{name}.jsonl")
    return run(plan, ledger).records, ledger


def test_stacks_share_members_and_come_to_what_they_come_to_alone(tmp_path):
    learners = [
        {"params": {"combiner": "mean"}},
        {"params": {"combiner": "least_squares"}},
        {"params": {"members": ["rf", "nb"], "combiner": "least_squares"}},
    ]
    together, ledger = compare(tmp_path, "together", learners)
    for number, learner in enumerate(learners):
        alone, own = compare(tmp_path, f"alone {number}", [learner])
        of_learner = [r for r in together if r["trial"]["learner"] == f"{number}"]
        assert [r["scores"] for r in of_learner] == [r["scores"] for r in alone]
        for ours, theirs in zip(of_learner, alone, strict=True):
            assert ours["key"] == theirs["key"]
            votes = [book.read_predictions(ours["key"])["votes"] for book in (ledger, own)]
            assert votes[0].tobytes() == votes[1].tobytes()
            # As if members had been fitted anew: a quarter of their time is not what it takes.
            assert ours["fit_cpu_seconds"] > 0.25 * theirs["fit_cpu_seconds"]
