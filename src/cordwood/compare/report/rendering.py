"""Comparisons in the dress of Markdown, LaTeX, CSV and JSON.

`grids` lays a comparison out as plain tables of strings; Markdown and LaTeX, and the terminal,
differ only in how they draw them. CSV and JSON hold every figure in full.
"""

import csv
import io
import math
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from cordwood.compare.stats.comparison import Cell, Comparison, Cost

_NAMES = {"micro_f1": "micro-F1", "macro_f1": "macro-F1", "f1": "F1"}
_TESTS = {
    "paired_t": "paired t-test",
    "corrected_t": "corrected resampled t-test",
    "wilcoxon": "Wilcoxon's signed-rank test",
}
_NOTHING = "–"
_LATEX = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "±": r"$\pm$",
    "–": "--",
    **{special: f"\\{special}" for special in "&%$#_{}"},
}


@dataclass(frozen=True)
class Entry:
    """A string in a grid.

    Parameters
    ----------
    text : str
        What it says.
    strong : bool
        Whether it is the best of its data set, or tied with the best.
    """

    text: str
    strong: bool = False


@dataclass(frozen=True)
class Grid:
    """A table of strings, to be drawn.

    Parameters
    ----------
    title : str
        What the table shows.
    header : tuple of str
        Names of the columns.
    rows : tuple of tuples of Entry
        As wide as the header.
    n_summary : int
        How many of the last rows sum up those above them.
    n_names : int
        How many of the first columns name the rows, rather than tell of them.
    """

    title: str
    header: tuple[str, ...]
    rows: tuple[tuple[Entry, ...], ...]
    n_summary: int = 0
    n_names: int = 1


def metric_name(metric: str) -> str:
    """Name a metric as people do.

    Examples
    --------
    >>> metric_name("micro_f1")
    'micro-F1'
    """
    return _NAMES.get(metric, metric)


def grids(comparison: Comparison) -> tuple[Grid, ...]:
    """Lay a comparison out.

    Parameters
    ----------
    comparison : Comparison

    Returns
    -------
    tuple of Grid
        For one data set a single grid, with a row for each learner; for more a grid for each
        metric, with a row for each data set, and one of seconds.
    """
    if len(comparison.datasets) == 1:
        return (_one_set_grid(comparison),)
    metric_grids = [_metric_grid(comparison, metric) for metric in comparison.metrics]
    return (*metric_grids, _seconds_grid(comparison))


def describe(comparison: Comparison) -> str:
    """Say in a few sentences how the grids of a comparison are to be read."""
    sentences = [
        "Scores are percentages: mean ± standard deviation over the test parts.",
        "Bold: the best of a data set, and what does not differ from it significantly "
        f"({_TESTS[comparison.test]} with Bonferroni's correction, "
        f"{100 * comparison.alpha:g} % level).",
    ]
    if any(not cell.complete for cell in comparison.cells.values()):
        sentences.append(
            "(3 of 5): so many parts are done, and the learner takes no part in bold, means and "
            "ranks there."
        )
    if any(cell.published is not None for cell in comparison.cells.values()):
        sentences.append("Columns named paper have the published figures.")
    sentences.append("Seconds are processor time for one part, without tuning.")
    return " ".join(sentences)


def to_markdown(comparison: Comparison) -> str:
    """Write a comparison as Markdown tables, with a note on how to read them.

    Parameters
    ----------
    comparison : Comparison

    Returns
    -------
    str
        Ends with a line break.
    """
    blocks = [
        f"{escape_markdown(grid.title)}:\n\n{draw_markdown(grid)}" for grid in grids(comparison)
    ]
    return "\n\n".join([*blocks, describe(comparison)]) + "\n"


def draw_markdown(grid: Grid) -> str:
    """Write a grid as a Markdown table, without its title.

    Examples
    --------
    >>> print(draw_markdown(Grid("", ("learner", "score"), ((Entry("rf"), Entry("9", True)),))))
    | learner | score |
    |:--|--:|
    | rf | **9** |
    """
    lines = [
        "| " + " | ".join(map(escape_markdown, grid.header)) + " |",
        "|:--" * grid.n_names + "|--:" * (len(grid.header) - grid.n_names) + "|",
    ]
    for row in grid.rows:
        texts = (escape_markdown(entry.text) for entry in row)
        drawn = (f"**{t}**" if e.strong else t for t, e in zip(texts, row, strict=True))
        lines.append("| " + " | ".join(drawn) + " |")
    return "\n".join(lines)


def to_latex(comparison: Comparison) -> str:
    r"""Write a comparison as LaTeX tables; the document needs ``\usepackage{booktabs}``.

    Parameters
    ----------
    comparison : Comparison

    Returns
    -------
    str
        Ends with a line break.
    """
    return "\n".join(_draw_latex(grid, describe(comparison)) for grid in grids(comparison))


def to_csv(comparison: Comparison) -> str:
    """Write a comparison as CSV, a line for each metric, data set and learner.

    Parameters
    ----------
    comparison : Comparison

    Returns
    -------
    str
        Scores lie between 0 and 1, in full precision; what is not known is empty.

    Examples
    --------
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
    for row in _rows(comparison):
        if writer is None:
            writer = csv.DictWriter(stream, row, lineterminator="\n")
            writer.writeheader()
        writer.writerow(row)
    return stream.getvalue()


def to_json(comparison: Comparison) -> dict[str, Any]:
    """Give a comparison as plain lists, numbers and strings, ready for JSON.

    Parameters
    ----------
    comparison : Comparison

    Returns
    -------
    dict
        None stands for what is not known.
    """
    return {
        "metrics": list(comparison.metrics),
        "datasets": list(comparison.datasets),
        "learners": list(comparison.learners),
        "test": comparison.test,
        "alpha": comparison.alpha,
        "cells": list(_rows(comparison)),
        "summaries": [
            {
                "metric": metric,
                "learner": learner,
                "mean": _known(summary.mean),
                "rank": _known(summary.rank),
                "datasets": list(summary.datasets),
            }
            for (metric, learner), summary in comparison.summaries.items()
        ],
    }


def _rows(comparison: Comparison) -> Iterator[dict[str, Any]]:
    for (metric, dataset, learner), cell in comparison.cells.items():
        cost = comparison.costs[dataset, learner]
        yield {
            "metric": metric,
            "dataset": dataset,
            "learner": learner,
            "mean": _known(cell.mean),
            "sd": _known(cell.sd),
            "n": cell.n,
            "n_planned": cell.n_planned,
            "n_failed": cell.n_failed,
            "mark": cell.mark,
            "published": cell.published,
            "tune_seconds": _known(cost.tune),
            "fit_seconds": _known(cost.fit),
            "predict_seconds": _known(cost.predict),
        }


def _known(number: float) -> float | None:
    return None if math.isnan(number) else number


def _one_set_grid(comparison: Comparison) -> Grid:
    (dataset,) = comparison.datasets
    header, columns = ["learner"], [[Entry(learner) for learner in comparison.learners]]
    for metric in comparison.metrics:
        cells = [comparison.cells[metric, dataset, name] for name in comparison.learners]
        header.append(metric_name(metric))
        columns.append([draw_score(cell) for cell in cells])
        if any(cell.published is not None for cell in cells):
            header.append("paper")
            columns.append([_paper(cell) for cell in cells])
    costs = [comparison.costs[dataset, name] for name in comparison.learners]
    header += ["fit, seconds", "predict, seconds"]
    columns += [
        [Entry(format_seconds(c.fit)) for c in costs],
        [Entry(format_seconds(c.predict)) for c in costs],
    ]
    return Grid(dataset, tuple(header), tuple(zip(*columns, strict=True)))


def _metric_grid(comparison: Comparison, metric: str) -> Grid:
    header, columns = ["data set"], [[*map(Entry, comparison.datasets), Entry(""), Entry("")]]
    n_sets = max(len(comparison.summaries[metric, name].datasets) for name in comparison.learners)
    of_sets = f"{n_sets} of {len(comparison.datasets)} data sets"
    columns[0][-2:] = [Entry(f"mean, {of_sets}"), Entry(f"average rank, {of_sets}")]
    for learner in comparison.learners:
        cells = [comparison.cells[metric, dataset, learner] for dataset in comparison.datasets]
        summary = comparison.summaries[metric, learner]
        mean = _format(100 * summary.mean)
        header.append(learner)
        columns.append([*map(draw_score, cells), Entry(mean), Entry(_format(summary.rank))])
        if any(cell.published is not None for cell in cells):
            header.append(f"{learner}, paper")
            columns.append([*map(_paper, cells), Entry(""), Entry("")])
    title = metric_name(metric)
    return Grid(title, tuple(header), tuple(zip(*columns, strict=True)), n_summary=2)


def _seconds_grid(comparison: Comparison) -> Grid:
    rows = tuple(
        (
            Entry(dataset),
            *(Entry(_both(comparison.costs[dataset, name])) for name in comparison.learners),
        )
        for dataset in comparison.datasets
    )
    return Grid("Seconds to fit / to predict", ("data set", *comparison.learners), rows)


def draw_score(cell: Cell) -> Entry:
    """Write a cell's mean and standard deviation, and how much of it is done."""
    text = _format(100 * cell.mean)
    if not math.isnan(cell.sd):
        text += f" ± {_format(100 * cell.sd)}"
    if not cell.complete:
        failed = f", {cell.n_failed} failed" if cell.n_failed else ""
        text += f" ({cell.n} of {cell.n_planned}{failed})"
    return Entry(text, strong=bool(cell.mark))


def _paper(cell: Cell) -> Entry:
    return Entry("" if cell.published is None else _format(100 * cell.published))


def _format(number: float) -> str:
    return _NOTHING if math.isnan(number) else f"{number:.2f}"


def _both(cost: Cost) -> str:
    if math.isnan(cost.fit):
        return _NOTHING
    return f"{format_seconds(cost.fit)} / {format_seconds(cost.predict)}"


def format_seconds(seconds: float) -> str:
    """Write seconds in two digits that matter, and never as a power of ten.

    Examples
    --------
    >>> [format_seconds(seconds) for seconds in (123.4, 1.234, 0.001)]
    ['123', '1.2', '<0.01']
    """
    if math.isnan(seconds):
        return _NOTHING
    if seconds >= 10:
        return f"{seconds:.0f}"
    if seconds < 0.01:
        return "<0.01"
    return f"{seconds:.1f}" if seconds >= 1 else f"{seconds:.2f}"


def escape_markdown(text: str) -> str:
    """Write text such that Markdown takes it for text, on one line."""
    return re.sub(r"([\\|*`<\[])", r"\\\1", " ".join(text.split()))


def _draw_latex(grid: Grid, note: str) -> str:
    lines = [
        r"\begin{table}",
        rf"\caption{{{_escape_latex(grid.title)}. {_escape_latex(note)}}}",
        rf"\begin{{tabular}}{{l{'r' * (len(grid.header) - 1)}}}",
        r"\toprule",
        _latex_row(grid.header, _escape_latex),
        r"\midrule",
    ]
    for position, row in enumerate(grid.rows):
        if grid.n_summary and position == len(grid.rows) - grid.n_summary:
            lines.append(r"\midrule")
        lines.append(_latex_row(row, _latex_entry))
    return "\n".join([*lines, r"\bottomrule", r"\end{tabular}", r"\end{table}"]) + "\n"


def _latex_row(items: Sequence[Any], draw: Callable[[Any], str]) -> str:
    return " & ".join(map(draw, items)) + r" \\"


def _latex_entry(entry: Entry) -> str:
    text = _escape_latex(entry.text)
    return rf"\textbf{{{text}}}" if entry.strong else text


def _escape_latex(text: str) -> str:
    return "".join(_LATEX.get(character, character) for character in " ".join(text.split()))
