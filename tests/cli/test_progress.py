import pytest

from cordwood.cli.console import Console
from cordwood.cli.progress import describe, watch
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
    """Bars that remember how they stood."""

    def __init__(self):
        self.bars = {}

    def show(self, name, done, total, remark=""):
        self.bars[name] = (done, total, remark)


def follow(ledger, monkeypatch):
    recorder = Recorder()
    monkeypatch.setattr(Console, "bars", lambda _: Context(recorder))
    with watch(Console(), PLAN, ledger, retry_errors=False) as watcher:
        before = dict(recorder.bars)
        summary = run(PLAN, ledger, progress=watcher.progress, on_record=watcher.record)
    return before, recorder.bars, summary


class Context:
    def __init__(self, value):
        self.value = value

    def __enter__(self):
        return self.value

    def __exit__(self, *_):
        pass


def test_bars_tell_what_is_done_and_who_is_ahead(tmp_path, monkeypatch):
    ledger = Ledger(tmp_path / "results.jsonl")
    before, after, summary = follow(ledger, monkeypatch)
    assert before == {"all units": (0, 12, "")}
    assert after["all units"] == (12, 12, "")
    for dataset in ("sklearn:iris", "sklearn:wine"):
        means = {}
        for record in summary.records:
            if record["trial"]["dataset"] == dataset:
                means.setdefault(record["trial"]["learner"], []).append(
                    record["scores"]["micro_f1"] / 3
                )
        best = max(means, key=lambda name: sum(means[name]))
        assert after[dataset] == (6, 6, f"best: {best} {100 * sum(means[best]):.2f}")


def test_what_was_done_before_counts(tmp_path, monkeypatch):
    ledger = Ledger(tmp_path / "results.jsonl")
    _, first, _ = follow(ledger, monkeypatch)
    before, _, summary = follow(ledger, monkeypatch)
    assert summary.n_done == 0
    assert before == first
    assert next(iter(before)) == "all units"


@pytest.mark.parametrize(("retry", "done"), [(False, 6), (True, 5)])
def test_failures_that_are_tried_again_are_not_done(tmp_path, monkeypatch, retry, done):
    ledger = Ledger(tmp_path / "results.jsonl")
    _, _, summary = follow(ledger, monkeypatch)
    ledger.append({**summary.records[0], "error": "no"})
    recorder = Recorder()
    monkeypatch.setattr(Console, "bars", lambda _: Context(recorder))
    with watch(Console(), PLAN, ledger, retry_errors=retry):
        assert recorder.bars["sklearn:iris"][:2] == (done, 6)


UNIT = {"dataset": "tin", "learner": "svm", "repeat": 0, "fold": 0, "train_fraction": 1.0}


@pytest.mark.parametrize(
    ("differs", "name"),
    [
        ({}, "tin, svm, fold 1"),
        ({"repeat": 1, "fold": 2}, "tin, svm, repeat 2, fold 3"),
        ({"train_fraction": 0.125}, "tin, svm, fold 1, 12.5 % of the rows"),
        ({"max_positives": 3}, "tin, svm, fold 1, 3 positives"),
    ],
)
def test_units_that_differ_have_lines_that_differ(differs, name):
    trial = {**UNIT, **differs}
    assert describe({"trial": trial, "error": "no"}) == f"{name}: failed: no"
    scores = {"f1": 0.5, "micro_f1": 0.75}
    done = {"trial": trial, "scores": scores, "fit_wall_seconds": 1.0, "predict_wall_seconds": 0.5}
    assert describe(done) == f"{name}: F1 50.00, micro-F1 75.00, 1.5 s"
