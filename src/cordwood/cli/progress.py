"""Progress of a comparison: bars on a terminal, otherwise one line per trial."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from cordwood._base.wording import count
from cordwood.cli.console import Console, ProgressBars
from cordwood.compare.config.plan import Plan
from cordwood.compare.runner.leaderboard import Leaderboard
from cordwood.compare.runner.ledger import Ledger
from cordwood.compare.runner.run import collect


class ProgressDisplay:
    """Callbacks of `cordwood.compare.runner.run.run` that show the progress."""

    def __init__(self, console: Console, bars: ProgressBars | None, standing: Leaderboard) -> None:
        self._console = console
        self._bars = bars
        self._standing = standing
        # The bar that is added first is the top one.
        self.progress(standing.done.total(), standing.planned.total())
        for dataset in standing.done:
            self._show(dataset)

    def progress(self, done: int, total: int | None) -> None:
        """Update the bar of the whole plan."""
        if self._bars is not None:
            self._bars.update("all trials", done, total)

    def record(self, record: Mapping[str, Any]) -> None:
        """Show the result of a trial."""
        self._console.log(describe(record))
        self._standing.add(record)
        self._show(record["trial"]["dataset"])

    def _show(self, dataset: str) -> None:
        if self._bars is None:
            return
        standing, leader = self._standing, self._standing.leader(dataset)
        remark = ""
        if leader is not None:
            remark = f"best: {leader.learner} {100 * leader.mean:.2f}"
        self._bars.update(dataset, standing.done[dataset], standing.planned[dataset], remark)


@contextmanager
def show_progress(
    console: Console, plan: Plan, ledger: Ledger, *, retry_errors: bool
) -> Iterator[ProgressDisplay]:
    """Show the progress of a comparison; failed trials that are run again do not count as done."""
    summary = collect(plan, ledger)
    standing = Leaderboard([trial for _, trial in summary.planned], plan.metric)
    for record in summary.records:
        if not (retry_errors and "error" in record):
            standing.add(record)
    with console.bars() as bars:
        yield ProgressDisplay(console, bars, standing)


def describe(record: Mapping[str, Any]) -> str:
    """Describe the result of a trial in one line."""
    name = _name(record["trial"])
    if "error" in record:
        return f"{name}: failed: {record['error']}"
    scores = record["scores"]
    seconds = record["fit_wall_seconds"] + record["predict_wall_seconds"]
    parts = [
        f"{label} {100 * scores[key]:.2f}"
        for key, label in (("f1", "F1"), ("micro_f1", "micro-F1"), ("macro_f1", "macro-F1"))
        if key in scores
    ]
    return f"{name}: {', '.join([*parts, f'{seconds:.1f} s'])}"


def _name(trial: Mapping[str, Any]) -> str:
    """Name a trial by everything that distinguishes it from the others of the plan."""
    parts = [trial["dataset"], trial["learner"]]
    if trial["repeat"]:
        parts.append(f"repeat {trial['repeat'] + 1}")
    parts.append(f"fold {trial['fold'] + 1}")
    if trial["train_fraction"] < 1:
        parts.append(f"{100 * trial['train_fraction']:g} % of the training set")
    if trial.get("max_positives"):
        parts.append(count(trial["max_positives"], "positive"))
    return ", ".join(parts)
