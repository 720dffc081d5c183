import pytest

from cordwood.cli.console import Console
from cordwood.cli.progress import describe, show_progress
from cordwood.compare.config.plan import parse_plan
from cordwood.compare.runner.ledger import Ledger
from cordwood.compare.runner.run import run

PLAN = parse_plan(
    {
        "evaluation": {"folds": 3},
        "datasets": [{"name": "sklearn:iris"}, {"name": "sklearn:wine"}],
        "learners": [{"recipe": "nb"}, {"recipe": "knn"}],
    }
)


class Recorder:
    """Progress bars that record their last state."""

    def __init__(self):
        self.bars = {}

    def update(self, name, done, total, remark=""):
        self.bars[name] = (done, total, remark)


def follow(ledger, monkeypatch):
    recorder = Recorder()
    monkeypatch.setattr(Console, "bars", lambda _: Context(recorder))
    with show_progress(Console(), PLAN, ledger, retry_errors=False) as display:
        before = dict(recorder.bars)
        summary = run(PLAN, ledger, progress=display.progress, on_record=display.record)
    return before, recorder.bars, summary


class Context:
    def __init__(self, value):
        self.value = value

    def __enter__(self):
        return self.value

    def __exit__(self, *_):
        pass


def test_bars_show_progress_and_best_learner(tmp_path, monkeypatch):
    ledger = Ledger(tmp_path / "results.jsonl")
    before, after, summary = follow(ledger, monkeypatch)
    assert before == {"all trials": (0, 12, "")}
    assert after["all trials"] == (12, 12, "")
    for dataset in ("sklearn:iris", "sklearn:wine"):
        means = {}
        for record in summary.records:
            if record["trial"]["dataset"] == dataset:
                means.setdefault(record["trial"]["learner"], []).append(
                    record["scores"]["micro_f1"] / 3
                )
        best = max(means, key=lambda name: sum(means[name]))
        assert after[dataset] == (6, 6, f"best: {best} {100 * sum(means[best]):.2f}")


def test_trials_of_earlier_runs_count_as_done(tmp_path, monkeypatch):
    ledger = Ledger(tmp_path / "results.jsonl")
    _, first, _ = follow(ledger, monkeypatch)
    before, _, summary = follow(ledger, monkeypatch)
    assert summary.n_done == 0
    assert before == first
    assert next(iter(before)) == "all trials"


@pytest.mark.parametrize(("retry", "done"), [(False, 6), (True, 5)])
def test_failures_to_retry_do_not_count_as_done(tmp_path, monkeypatch, retry, done):
    ledger = Ledger(tmp_path / "results.jsonl")
    _, _, summary = follow(ledger, monkeypatch)
    ledger.append({**summary.records[0], "error": "no"})
    recorder = Recorder()
    monkeypatch.setattr(Console, "bars", lambda _: Context(recorder))
    with show_progress(Console(), PLAN, ledger, retry_errors=retry):
        assert recorder.bars["sklearn:iris"][:2] == (done, 6)


UNIT = {"dataset": "tin", "learner": "svm", "repeat": 0, "fold": 0, "train_fraction": 1.0}


@pytest.mark.parametrize(
    ("differs", "name"),
    [
        ({}, "tin, svm, fold 1"),
        ({"repeat": 1, "fold": 2}, "tin, svm, repeat 2, fold 3"),
        ({"train_fraction": 0.125}, "tin, svm, fold 1, 12.5 % of the training set"),
        ({"max_positives": 3}, "tin, svm, fold 1, 3 positives"),
    ],
)
def test_description_distinguishes_trials(differs, name):
    trial = {**UNIT, **differs}
    assert describe({"trial": trial, "error": "no"}) == f"{name}: failed: no"
    scores = {"f1": 0.5, "micro_f1": 0.75}
    done = {"trial": trial, "scores": scores, "fit_wall_seconds": 1.0, "predict_wall_seconds": 0.5}
    assert describe(done) == f"{name}: F1 50.00, micro-F1 75.00, 1.5 s"
