"""How a comparison goes: bars and who is ahead on a terminal, a line for each unit in a log."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from cordwood.cli.console import Bars, Console, count
from cordwood.compare.config.plan import Plan
from cordwood.compare.runner.leaderboard import Leaderboard
from cordwood.compare.runner.ledger import Ledger
from cordwood.compare.runner.run import collect


class Watch:
    """Tells of units as they are done; its methods are callbacks of `cordwood.compare.runner.run.run`.

    Parameters
    ----------
    console : Console
        Where to tell it.
    bars : Bars or None
        On a terminal, the bars.
    standing : Leaderboard
        What was done before.
    """

    def __init__(self, console: Console, bars: Bars | None, standing: Leaderboard) -> None:
        self._console = console
        self._bars = bars
        self._standing = standing
        # First, and so above the others.
        self.progress(standing.done.total(), standing.planned.total())
        for dataset in standing.done:
            self._show(dataset)

    def progress(self, done: int, total: int | None) -> None:
        """Move the bar of the whole plan."""
        if self._bars is not None:
            self._bars.show("all units", done, total)

    def record(self, record: Mapping[str, Any]) -> None:
        """Tell what a unit came to."""
        self._console.note(describe(record))
        self._standing.add(record)
        self._show(record["trial"]["dataset"])

    def _show(self, dataset: str) -> None:
        if self._bars is None:
            return
        standing, leader = self._standing, self._standing.leader(dataset)
        remark = ""
        if leader is not None:
            remark = f"best: {leader.learner} {100 * leader.mean:.2f}"
        self._bars.show(dataset, standing.done[dataset], standing.planned[dataset], remark)


@contextmanager
def watch(console: Console, plan: Plan, ledger: Ledger, *, retry_errors: bool) -> Iterator[Watch]:
    """Show how a comparison goes while the block runs.

    Parameters
    ----------
    console : Console
    plan : Plan
    ledger : Ledger
        Whose records count as done.
    retry_errors : bool
        Whether those that failed do not.
    """
    summary = collect(plan, ledger)
    standing = Leaderboard([trial for _, trial in summary.planned], plan.metric)
    for record in summary.records:
        if not (retry_errors and "error" in record):
            standing.add(record)
    with console.bars() as bars:
        yield Watch(console, bars, standing)


def describe(record: Mapping[str, Any]) -> str:
    """Say in one line what a unit came to."""
    what = _name(record["trial"])
    if "error" in record:
        return f"{what}: failed: {record['error']}"
    scores = record["scores"]
    seconds = record["fit_wall_seconds"] + record["predict_wall_seconds"]
    told = "".join(
        f"{name} {100 * scores[key]:.2f}, "
        for key, name in (("f1", "F1"), ("micro_f1", "micro-F1"), ("macro_f1", "macro-F1"))
        if key in scores
    )
    return f"{what}: {told}{seconds:.1f} s"


def _name(trial: Mapping[str, Any]) -> str:
    """Name a unit by all in which those of a learner on a data set may differ."""
    parts = [trial["dataset"], trial["learner"]]
    if trial["repeat"]:
        parts.append(f"repeat {trial['repeat'] + 1}")
    parts.append(f"fold {trial['fold'] + 1}")
    if trial["train_fraction"] < 1:
        parts.append(f"{100 * trial['train_fraction']:g} % of the rows")
    if trial.get("max_positives"):
        parts.append(count(trial["max_positives"], "positive"))
    return ", ".join(parts)
