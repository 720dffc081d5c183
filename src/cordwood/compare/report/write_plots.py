"""Write all figures of a comparison to a folder."""

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from itertools import chain, count
from pathlib import Path
from typing import NamedTuple

from cordwood._base import atomic
from cordwood._base.wording import count as count_noun
from cordwood.compare.report.comparison_figures import (
    draw_curves,
    draw_ranks,
    draw_times,
)
from cordwood.compare.report.comparison_summary import summarize_comparison
from cordwood.compare.stats.comparison import Comparison, Curves
from cordwood.reports.blocks import Chart
from cordwood.reports.html_page import render_svg


class PlotFiles(NamedTuple):
    """The files that were written, and for each kind of figure without a file the reason."""

    written: tuple[Path, ...]
    skipped: tuple[str, ...]


def write_plots(
    comparison: Comparison, curves: Mapping[str, Curves], folder: str | Path
) -> PlotFiles:
    """Write every figure that a comparison has results for as SVG, with curves by metric.

    The folder is created if necessary, and existing files of the same names are replaced.
    """
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    summary = summarize_comparison(comparison, curves)
    written: list[Path] = []
    skipped: dict[str, None] = {}
    for metric in comparison.metrics:
        datasets = _name_datasets(comparison, metric)
        figures = {
            "time": _extend_title(draw_times(summary, metric), datasets),
            "critical_difference": _extend_title(draw_ranks(summary, metric), datasets),
            **{f"learning_curves_{name}": c for name, c in draw_curves(summary, metric).items()},
        }
        for name, chart in figures.items():
            if chart is not None:
                path = _unused_path(folder, f"{name}_{metric}", written)
                write_svg(chart, path)
                written.append(path)
        skipped |= dict.fromkeys(_explain_missing(comparison, metric, curves[metric], figures))
    return PlotFiles(tuple(written), tuple(skipped))


def write_svg(chart: Chart, path: Path) -> None:
    """Write a figure atomically; equal figures give equal files."""
    with atomic.write(path, errors="backslashreplace", newline="\n") as file:
        file.write(render_svg(chart))


def _name_datasets(comparison: Comparison, metric: str) -> str:
    """Name the data sets of means and ranks."""
    found = max(
        (comparison.summaries[metric, name].datasets for name in comparison.learners), key=len
    )
    return found[0] if len(found) == 1 else count_noun(len(found), "data set")


def _extend_title(chart: Chart | None, text: str) -> Chart | None:
    return None if chart is None else replace(chart, title=f"{chart.title}, {text}")


def _explain_missing(
    comparison: Comparison, metric: str, curves: Curves, figures: Mapping[str, Chart | None]
) -> Iterator[str]:
    summaries = [comparison.summaries[metric, name] for name in comparison.learners]
    if figures["time"] is None:
        yield "time against score: no data set is complete"
    if figures["critical_difference"] is None:
        n_datasets = [len(each.datasets) for each in summaries if each.datasets]
        yield (
            "critical difference: needs at least 3 learners that have completed at least 2 common "
            f"data sets; got {len(n_datasets)} learners and {max(n_datasets, default=0)} data sets"
        )
    if all(len(curve.points) < 2 for curve in curves.values()):
        yield "learning curves: the plan sets no train_fractions"
    elif not any(name.startswith("learning_curves_") for name in figures):
        yield "learning curves: no trial has finished"


def _unused_path(folder: Path, name: str, used: Collection[Path]) -> Path:
    """Return a path with portable characters that no other figure uses."""
    stem = re.sub(r"[^\w.-]", "_", name)
    names = chain([stem], (f"{stem}_{n}" for n in count(2)))
    return next(path for path in (folder / f"{name}.svg" for name in names) if path not in used)
