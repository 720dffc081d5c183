"""Blocks of a comparison: tables of scores with ties, and figures with error bars."""

import math
from collections.abc import Mapping, Sequence

from cordwood._base.wording import count, format_seconds, join_names
from cordwood.compare.report.comparison_summary import ComparisonSummary
from cordwood.compare.report.rendering import describe_test, format_score
from cordwood.compare.stats.comparison import Cell
from cordwood.reports.blocks import (
    MISSING,
    Block,
    Chart,
    Charts,
    DataTable,
    Entry,
    Prose,
    Steps,
    TableColumn,
    text_table,
)
from cordwood.reports.charts import Estimate, interval_chart

_MAX_NAMES = 4


def score_blocks(summary: ComparisonSummary) -> list[Block]:
    """Return one table per metric, and the result of the tests on each data set."""
    blocks: list[Block] = []
    for metric, name in summary.metrics.items():
        blocks.append(_score_table(summary, metric, name))
        if len(summary.datasets) > 1:
            blocks.append(
                Steps([describe_dataset(summary, metric, each) for each in summary.datasets])
            )
    return blocks


def _score_table(summary: ComparisonSummary, metric: str, name: str) -> DataTable:
    scores, means = summary.scores[metric], summary.means[metric]
    several = len(summary.datasets) > 1
    n_common = max(row.n_datasets for row in means.values())
    columns = [TableColumn("learner"), *(TableColumn(each, "number") for each in summary.datasets)]
    if n_common and several:
        columns.append(TableColumn("mean", "number"))
        columns.append(TableColumn("average rank", "number", "1 is the best"))
    elif not several:
        columns += [
            TableColumn("fit, CPU seconds", "number"),
            TableColumn("predict, CPU seconds", "number"),
        ]
    rows = []
    for learner in _order_learners(summary, metric):
        row = [Entry(learner)]
        row += [_score_entry(scores[dataset][learner]) for dataset in summary.datasets]
        if n_common and several:
            row += [_number(means[learner].mean, 100), _number(means[learner].rank)]
        elif not several:
            times = summary.seconds[summary.datasets[0]][learner]
            row += [_seconds(times.fit), _seconds(times.predict)]
        rows.append(row)
    return DataTable(
        caption=f"{name}, %: mean ± standard deviation over the folds",
        columns=columns,
        rows=rows,
        note=_explain_marks(summary),
    )


def _order_learners(summary: ComparisonSummary, metric: str) -> list[str]:
    """Return the learners from the best to the worst mean score, incomplete ones last."""
    means = summary.means[metric]
    return sorted(
        summary.learners,
        key=lambda name: -math.inf if math.isnan(means[name].mean) else means[name].mean,
        reverse=True,
    )


def _explain_marks(summary: ComparisonSummary) -> str:
    cells = [
        cell
        for by_dataset in summary.scores.values()
        for by_learner in by_dataset.values()
        for cell in by_learner.values()
    ]
    sentences = [
        "Bold: the best learner of a data set, and those tied with it, which do not differ from it "
        f"significantly ({describe_test(summary.test, summary.alpha)})."
    ]
    if any(cell.mark == "undecided" for cell in cells):
        sentences.append(
            "Undecided: not significantly different, but there are too few folds for the test to "
            "find a difference."
        )
    if any(cell.n < cell.n_planned for cell in cells):
        sentences.append(
            "(3 of 5): number of finished folds; such a learner is excluded from ties, means and "
            "ranks."
        )
    n_common = max(
        row.n_datasets for by_learner in summary.means.values() for row in by_learner.values()
    )
    n_datasets = len(summary.datasets)
    if not n_common:
        sentences.append(
            "There are no means and ranks, because no data set is complete for all learners."
        )
    elif n_datasets > 1:
        sentences.append(
            f"Means and ranks are over {n_common} of {n_datasets} data sets; rank 1 is the best."
        )
    return " ".join(sentences)


def describe_dataset(summary: ComparisonSummary, metric: str, dataset: str) -> str:
    """Return the result of the significance tests on one data set as a sentence."""
    cells = summary.scores[metric][dataset]
    name = summary.metrics[metric]
    by_mark: dict[str, list[str]] = {"best": [], "tied": [], "undecided": [], "": []}
    for learner, cell in cells.items():
        if cell.mark or cell.n == cell.n_planned:
            by_mark[cell.mark].append(learner)
    if not by_mark["best"]:
        return f"{dataset}: no learner has finished all folds."
    (best,) = by_mark["best"]
    parts = [f"{dataset}: {best} has the highest {name} ({100 * cells[best].mean:.2f} %)"]
    if by_mark["tied"]:
        parts.append(f"{describe_ties(by_mark['tied'])} from it")
    if by_mark["undecided"]:
        n = cells[best].n
        parts.append(
            f"{count(n, 'fold')} {'is' if n == 1 else 'are'} too few to distinguish "
            f"{join_names(by_mark['undecided'], _MAX_NAMES)} from it"
        )
    if by_mark[""]:
        worse = by_mark[""]
        which = join_names(worse) if len(worse) <= _MAX_NAMES else f"the other {len(worse)}"
        parts.append(f"{which} {'is' if len(worse) == 1 else 'are'} significantly worse")
    elif not by_mark["undecided"] and len(cells) > 1:
        parts.append("no learner is significantly worse")
    n_missing = sum(cell.n < cell.n_planned for cell in cells.values())
    if n_missing:
        parts.append(f"{count(n_missing, 'learner')} with missing folds not compared")
    return "; ".join(parts) + "."


def describe_ties(names: Sequence[str]) -> str:
    """Return that learners do not differ significantly, as the beginning of a sentence."""
    auxiliary = "does" if len(names) == 1 else "do"
    return f"{join_names(names, _MAX_NAMES)} {auxiliary} not differ significantly"


def interval_blocks(summary: ComparisonSummary) -> list[Block]:
    """Return one figure of means with error bars per metric and data set."""
    blocks: list[Block] = []
    for metric, name in summary.metrics.items():
        charts = [
            chart
            for dataset in summary.datasets
            if (chart := _interval_chart(summary, metric, name, dataset)) is not None
        ]
        if charts:
            blocks.append(Charts(charts))
    if blocks:
        blocks.append(
            Prose(
                "Intervals are one standard error of the mean to each side. The folds of a "
                "cross-validation share training samples, so that the standard error is too "
                "small, and learners are compared by differences on the same folds: overlapping "
                "intervals do not imply a tie.",
                "note",
            )
        )
    return blocks


def _interval_chart(
    summary: ComparisonSummary, metric: str, name: str, dataset: str
) -> Chart | None:
    cells = {learner: cell for learner, cell in summary.scores[metric][dataset].items() if cell.n}
    if not cells:
        return None
    order = sorted(cells, key=lambda learner: -cells[learner].mean)
    rows = {}
    for learner in order:
        cell = cells[learner]
        error = 100 * finite(cell.sd) / math.sqrt(cell.n)
        mean = 100 * cell.mean
        rows[learner] = Estimate(mean, mean - error, mean + error)
    tied = [learner for learner in order if cells[learner].mark in ("best", "tied")]
    has_errors = any(row.high > row.low for row in rows.values())
    title = f"{dataset}: {name}"
    svg = interval_chart(
        rows,
        title=title,
        x_label=f"{name}, %",
        strong=tied,
        hollow=[learner for learner in order if learner not in tied],
        legend=[
            ("fill s0", 0, "best or tied"),
            ("hollow s0", 0, "worse or undecided"),
            *([("bar s0", -1, "± standard error")] if has_errors else []),
        ],
    )
    data = text_table(
        title,
        ["learner", "mean, %", "standard error", "folds"],
        [
            [learner, row.value, row.high - row.value, cells[learner].n]
            for learner, row in rows.items()
        ],
    )
    return Chart(title=title, svg=svg, sentence=_describe_intervals(rows, tied), data=data)


def _describe_intervals(rows: Mapping[str, Estimate], tied: Sequence[str]) -> str:
    """Return the spread of the learners as a sentence."""
    if not tied:
        return "No learner has finished all folds."
    sentence = (
        f"{len(tied)} of {count(len(rows), 'learner')} "
        f"{'is' if len(tied) == 1 else 'are'} the best or tied with the best."
    )
    others = [name for name in rows if name not in tied]
    if others:
        best, last = rows[tied[0]].value, list(rows.values())[-1].value
        lead = best - rows[others[0]].value
        sentence += (
            f" The best is ahead of {join_names(others[:1])}, the first of the others, by "
            f"{lead:.2f} percentage points, and of the last by {best - last:.2f}."
        )
    return sentence


def _score_entry(cell: Cell) -> Entry:
    if not cell.n:
        return MISSING
    formatted = format_score(cell)
    return Entry(formatted.text, sort=cell.mean, strong=formatted.bold, mark=cell.mark)


def _number(value: float, factor: float = 1.0) -> Entry:
    return MISSING if math.isnan(value) else Entry(f"{factor * value:.2f}", sort=value)


def _seconds(value: float) -> Entry:
    return MISSING if math.isnan(value) else Entry(format_seconds(value), sort=value)


def finite(value: float) -> float:
    """Return a standard deviation, or 0 if it is not known."""
    return 0.0 if math.isnan(value) else value
