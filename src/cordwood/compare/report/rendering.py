"""Render comparisons as Markdown, LaTeX, CSV and JSON.

`make_tables` lays out a comparison as tables of strings, which Markdown, LaTeX and the terminal
show in their own ways. CSV and JSON contain all numbers in full precision.
"""

import csv
import io
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from cordwood._base.wording import format_seconds
from cordwood.compare.stats.comparison import Cell, Comparison, CpuSeconds
from cordwood.reports.markdown_page import escape_markdown

_METRIC_NAMES = {
    "micro_f1": "micro-F1",
    "macro_f1": "macro-F1",
    "f1": "F1",
    "samples_f1": "sample-F1",
    "subset_accuracy": "subset accuracy",
    "ranking_precision": "ranking precision",
}
_TEST_NAMES = {
    "paired_t": "paired t-test",
    "corrected_t": "corrected resampled t-test",
    "wilcoxon": "Wilcoxon signed-rank test",
}
_MISSING = "–"
_LATEX_ESCAPES = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "±": r"$\pm$",
    "–": "--",
    **{special: f"{{{special}}}" for special in "[*"},  # arguments of the end of the row before
    **{special: f"\\{special}" for special in "&%$#_{}"},
}


@dataclass(frozen=True)
class TableCell:
    """A cell of a table, bold for the best learner of a data set and those tied with it."""

    text: str
    bold: bool = False


@dataclass(frozen=True)
class Table:
    """A table of strings."""

    title: str
    header: tuple[str, ...]
    rows: tuple[tuple[TableCell, ...], ...]
    n_summary_rows: int = 0  # rows at the end that summarize the others
    n_index_columns: int = 1  # columns at the start that contain names


def metric_name(metric: str) -> str:
    """Return the display name of a metric.

    >>> metric_name("micro_f1")
    'micro-F1'
    """
    return _METRIC_NAMES.get(metric, metric)


def describe_test(test: str, alpha: float) -> str:
    """Return the name of a significance test with its level."""
    return f"{_TEST_NAMES[test]} with Bonferroni's correction, significance level {100 * alpha:g} %"


def make_tables(comparison: Comparison) -> tuple[Table, ...]:
    """Lay out a comparison as tables: one of one data set, else one per metric and one of times."""
    if len(comparison.datasets) == 1:
        return (_make_dataset_table(comparison),)
    metric_tables = [_make_metric_table(comparison, metric) for metric in comparison.metrics]
    return (*metric_tables, _make_time_table(comparison))


def explain_tables(comparison: Comparison) -> str:
    """Explain numbers and markup of the tables of a comparison."""
    cells = comparison.cells.values()
    sentences = [
        "Scores are percentages: mean ± standard deviation over the folds.",
        "Bold: the best learner of a data set and those that do not differ from it significantly "
        f"({describe_test(comparison.test, comparison.alpha)}).",
    ]
    if any(cell.mark == "undecided" for cell in cells):
        n_folds = max(cell.n for cell in cells if cell.mark == "undecided")
        sentences.append(
            f"{n_folds} fold{'s are' if n_folds > 1 else ' is'} too few for this test to "
            "distinguish ties from differences, so only the best learner is marked."
        )
    if any(not cell.complete for cell in cells):
        sentences.append(
            "(3 of 5): number of finished folds; such a learner is excluded from bold, means and "
            "ranks."
        )
    sentences.append("Seconds are CPU time per fold, without tuning.")
    return " ".join(sentences)


def to_markdown(comparison: Comparison) -> str:
    """Render a comparison as Markdown tables with an explanation."""
    blocks = [
        f"{escape_markdown(table.title)}:\n\n{format_markdown_table(table)}"
        for table in make_tables(comparison)
    ]
    return "\n\n".join([*blocks, explain_tables(comparison)]) + "\n"


def format_markdown_table(table: Table) -> str:
    """Format a table as Markdown, without its title.

    >>> row = (TableCell("rf"), TableCell("9", bold=True))
    >>> print(format_markdown_table(Table("", ("learner", "score"), (row,))))
    | learner | score |
    |:--|--:|
    | rf | **9** |
    """
    lines = [
        "| " + " | ".join(map(escape_markdown, table.header)) + " |",
        "|:--" * table.n_index_columns + "|--:" * (len(table.header) - table.n_index_columns) + "|",
    ]
    for row in table.rows:
        texts = (escape_markdown(cell.text) for cell in row)
        formatted = (f"**{t}**" if cell.bold else t for t, cell in zip(texts, row, strict=True))
        lines.append("| " + " | ".join(formatted) + " |")
    return "\n".join(lines)


def to_latex(comparison: Comparison) -> str:
    r"""Render a comparison as LaTeX tables; the document needs ``\usepackage{booktabs}``."""
    note = explain_tables(comparison)
    return "\n".join(_format_latex_table(table, note) for table in make_tables(comparison))


def to_csv(comparison: Comparison) -> str:
    """Render a comparison as CSV, with one line per metric, data set and learner.

    >>> from cordwood.compare.stats.comparison import compare
    >>> trial = {"dataset": "d", "learner": "rf", "repeat": 0, "fold": 0, "train_fraction": 1.0}
    >>> record = {"key": "a", "trial": trial, "scores": {"micro_f1": 0.8}}
    >>> for line in to_csv(compare([record], metrics=["micro_f1"])).splitlines():
    ...     line.split(",")[:6]
    ['metric', 'dataset', 'learner', 'mean', 'sd', 'n']
    ['micro_f1', 'd', 'rf', '0.8', '', '1']
    """
    stream = io.StringIO()
    writer: Any = None
    for row in _flatten(comparison):
        if writer is None:
            writer = csv.DictWriter(stream, row, lineterminator="\n")
            writer.writeheader()
        writer.writerow(row)
    return stream.getvalue()


def to_json(comparison: Comparison) -> dict[str, Any]:
    """Convert a comparison to JSON-serializable lists, dicts, numbers and strings."""
    return {
        "metrics": list(comparison.metrics),
        "datasets": list(comparison.datasets),
        "learners": list(comparison.learners),
        "test": comparison.test,
        "alpha": comparison.alpha,
        "cells": list(_flatten(comparison)),
        "summaries": [
            {
                "metric": metric,
                "learner": learner,
                "mean": _nan_to_none(summary.mean),
                "rank": _nan_to_none(summary.rank),
                "datasets": list(summary.datasets),
            }
            for (metric, learner), summary in comparison.summaries.items()
        ],
    }


def _flatten(comparison: Comparison) -> Iterator[dict[str, Any]]:
    """Yield a flat record for each metric, data set and learner."""
    for (metric, dataset, learner), cell in comparison.cells.items():
        seconds = comparison.cpu_seconds[dataset, learner]
        yield {
            "metric": metric,
            "dataset": dataset,
            "learner": learner,
            "mean": _nan_to_none(cell.mean),
            "sd": _nan_to_none(cell.sd),
            "n": cell.n,
            "n_planned": cell.n_planned,
            "n_failed": cell.n_failed,
            "mark": cell.mark,
            "tune_seconds": _nan_to_none(seconds.tune),
            "fit_seconds": _nan_to_none(seconds.fit),
            "predict_seconds": _nan_to_none(seconds.predict),
        }


def _nan_to_none(number: float) -> float | None:
    return None if math.isnan(number) else number


def _make_dataset_table(comparison: Comparison) -> Table:
    (dataset,) = comparison.datasets
    header, columns = ["learner"], [[TableCell(learner) for learner in comparison.learners]]
    for metric in comparison.metrics:
        cells = [comparison.cells[metric, dataset, name] for name in comparison.learners]
        header.append(metric_name(metric))
        columns.append([format_score(cell) for cell in cells])
    seconds = [comparison.cpu_seconds[dataset, name] for name in comparison.learners]
    header += ["fit, seconds", "predict, seconds"]
    columns += [
        [TableCell(format_seconds(each.fit)) for each in seconds],
        [TableCell(format_seconds(each.predict)) for each in seconds],
    ]
    return Table(dataset, tuple(header), tuple(zip(*columns, strict=True)))


def _make_metric_table(comparison: Comparison, metric: str) -> Table:
    n_common = max(len(comparison.summaries[metric, name].datasets) for name in comparison.learners)
    common = f"{n_common} of {len(comparison.datasets)} data sets"
    summary_names = [TableCell(f"mean, {common}"), TableCell(f"average rank, {common}")]
    header, columns = ["data set"], [[*map(TableCell, comparison.datasets), *summary_names]]
    for learner in comparison.learners:
        cells = [comparison.cells[metric, dataset, learner] for dataset in comparison.datasets]
        summary = comparison.summaries[metric, learner]
        mean, rank = _format_number(100 * summary.mean), _format_number(summary.rank)
        header.append(learner)
        columns.append([*map(format_score, cells), TableCell(mean), TableCell(rank)])
    rows = tuple(zip(*columns, strict=True))
    return Table(metric_name(metric), tuple(header), rows, n_summary_rows=2)


def _make_time_table(comparison: Comparison) -> Table:
    rows = tuple(
        (
            TableCell(dataset),
            *(
                TableCell(_format_times(comparison.cpu_seconds[dataset, name]))
                for name in comparison.learners
            ),
        )
        for dataset in comparison.datasets
    )
    return Table("Seconds to fit / to predict", ("data set", *comparison.learners), rows)


def format_score(cell: Cell) -> TableCell:
    """Format mean and standard deviation, and the number of finished trials if some are missing."""
    text = _format_number(100 * cell.mean)
    if not math.isnan(cell.sd):
        text += f" ± {_format_number(100 * cell.sd)}"
    if not cell.complete:
        failed = f", {cell.n_failed} failed" if cell.n_failed else ""
        text += f" ({cell.n} of {cell.n_planned}{failed})"
    return TableCell(text, bold=cell.mark in ("best", "tied"))


def _format_number(number: float) -> str:
    return _MISSING if math.isnan(number) else f"{number:.2f}"


def _format_times(seconds: CpuSeconds) -> str:
    if math.isnan(seconds.fit):
        return _MISSING
    return f"{format_seconds(seconds.fit)} / {format_seconds(seconds.predict)}"


def _format_latex_table(table: Table, note: str) -> str:
    lines = [
        r"\begin{table}",
        rf"\caption{{{_escape_latex(table.title)}. {_escape_latex(note)}}}",
        rf"\begin{{tabular}}{{l{'r' * (len(table.header) - 1)}}}",
        r"\toprule",
        _format_latex_row(table.header, _escape_latex),
        r"\midrule",
    ]
    for i, row in enumerate(table.rows):
        if table.n_summary_rows and i == len(table.rows) - table.n_summary_rows:
            lines.append(r"\midrule")
        lines.append(_format_latex_row(row, _format_latex_cell))
    return "\n".join([*lines, r"\bottomrule", r"\end{tabular}", r"\end{table}"]) + "\n"


def _format_latex_row(items: Sequence[Any], format_item: Callable[[Any], str]) -> str:
    return " & ".join(map(format_item, items)) + r" \\"


def _format_latex_cell(cell: TableCell) -> str:
    text = _escape_latex(cell.text)
    return rf"\textbf{{{text}}}" if cell.bold else text


def _escape_latex(text: str) -> str:
    return "".join(_LATEX_ESCAPES.get(character, character) for character in " ".join(text.split()))
