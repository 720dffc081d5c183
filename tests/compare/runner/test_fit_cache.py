import copy
from types import SimpleNamespace

from cordwood._base import resources
from cordwood.compare.config.plan import parse_plan
from cordwood.compare.runner.fit_cache import FitCache
from cordwood.compare.runner.ledger import Ledger
from cordwood.compare.runner.run import run
from ledger_files import read_predictions


def test_cache_hits_report_the_time_of_the_first_call(monkeypatch):
    clock = SimpleNamespace(wall=0.0, cpu=0.0)
    monkeypatch.setattr(resources.time, "perf_counter", lambda: clock.wall)
    monkeypatch.setattr(resources.time, "process_time", lambda: clock.cpu)

    def work(seconds):
        clock.wall += 2 * seconds
        clock.cpu += seconds
        return seconds

    fits = FitCache()
    fits.use_training_set("fold 1")
    with fits.track_saved_time() as saved:
        assert fits.cache(work)(3) == 3
    assert (saved.cpu, saved.wall) == (0, 0)
    with fits.track_saved_time() as saved:
        assert fits.cache(work)(3) == copy.deepcopy(fits).cache(work)(3) == 3
    assert (saved.cpu, saved.wall) == (6, 12)
    fits.use_training_set("fold 1")
    with fits.track_saved_time() as saved:
        fits.cache(work)(3)
    assert (saved.cpu, saved.wall) == (3, 6)
    fits.use_training_set("fold 2")
    with fits.track_saved_time() as saved:
        fits.cache(work)(3)
    assert (saved.cpu, saved.wall) == (0, 0)
    assert clock.cpu == 6  # two calls of the function


def test_functions_are_cached_separately():
    fits = FitCache()
    assert fits.cache(float)(1) == 1.0
    assert fits.cache(str)(1) == "1"


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


def test_stacks_that_share_base_estimators_give_the_same_results_as_alone(tmp_path):
    learners = [
        {"params": {"combiner": "mean"}},
        {"params": {"combiner": "least_squares"}},
        {"params": {"members": ["rf", "nb"], "combiner": "least_squares"}},
    ]
    shared, ledger = compare(tmp_path, "shared", learners)
    for number, learner in enumerate(learners):
        alone, own = compare(tmp_path, f"alone {number}", [learner])
        cached = [r for r in shared if r["trial"]["learner"] == f"{number}"]
        assert [r["scores"] for r in cached] == [r["scores"] for r in alone]
        for ours, theirs in zip(cached, alone, strict=True):
            assert ours["key"] == theirs["key"]
            proba = [read_predictions(each, ours["key"])["proba"] for each in (ledger, own)]
            assert proba[0].tobytes() == proba[1].tobytes()
            # The time of cached fits is included.
            assert ours["fit_cpu_seconds"] > 0.25 * theirs["fit_cpu_seconds"]
