"""Write all plots of a comparison to a folder."""

import re
from collections.abc import Collection, Iterator, Mapping
from itertools import chain, count
from pathlib import Path
from typing import NamedTuple

from matplotlib.figure import Figure

from cordwood.compare.report._figure import save
from cordwood.compare.report.plots import (
    plot_critical_difference,
    plot_learning_curves,
    plot_round_curves,
    plot_time_vs_score,
)
from cordwood.compare.report.rendering import metric_name
from cordwood.compare.stats.comparison import Comparison, Curves
from cordwood.compare.stats.curves import RoundCurve
from cordwood.compare.stats.ranks import nemenyi
from cordwood.exceptions import CordwoodError


class PlotFiles(NamedTuple):
    """Result of `write_plots`.

    Parameters
    ----------
    written : tuple of Path
        The files.
    skipped : tuple of str
        For each kind of plot that was not written, its name and the reason.
    """

    written: tuple[Path, ...]
    skipped: tuple[str, ...]


def write_plots(
    comparison: Comparison, curves: Mapping[str, Curves], folder: str | Path
) -> PlotFiles:
    """Write every plot that a comparison has results for, as SVG.

    Parameters
    ----------
    comparison : Comparison
        The comparison.
    curves : mapping of str to mapping
        Learning curves by metric, for each metric of the comparison.
    folder : path
        Target folder, created if necessary. Existing files of the same names are replaced.

    Returns
    -------
    PlotFiles
    """
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    written: list[Path] = []
    skipped: dict[str, None] = {}
    for metric in comparison.metrics:
        for plot in (_plot_times, _plot_ranks, _plot_curves, _plot_rounds):
            try:
                for name, figure in plot(comparison, metric, curves[metric]):
                    path = _unused_path(folder, f"{name}_{metric}", written)
                    save(figure, path)
                    written.append(path)
            except CordwoodError as error:
                skipped[str(error)] = None
    return PlotFiles(tuple(written), tuple(skipped))


def _plot_times(
    comparison: Comparison, metric: str, curves: Curves
) -> Iterator[tuple[str, Figure]]:
    if not any(comparison.summaries[metric, name].datasets for name in comparison.learners):
        raise CordwoodError("time against score: no data set is complete")
    yield "time", plot_time_vs_score(comparison, metric=metric)


def _plot_ranks(
    comparison: Comparison, metric: str, curves: Curves
) -> Iterator[tuple[str, Figure]]:
    learners = [n for n in comparison.learners if comparison.summaries[metric, n].datasets]
    n_datasets = len(comparison.summaries[metric, learners[0]].datasets) if learners else 0
    if n_datasets < 2 or len(learners) < 3:
        raise CordwoodError(
            "critical difference: needs at least 3 learners that have completed at least 2 common "
            f"data sets; got {len(learners)} learners and {n_datasets} data sets"
        )
    columns = [comparison.learners.index(name) for name in learners]
    result = nemenyi(comparison.scores(metric)[:, columns], comparison.alpha)
    title = f"Average ranks by {metric_name(metric)} on {n_datasets} data sets"
    yield "critical_difference", plot_critical_difference(result, learners, title=title)


def _plot_curves(
    comparison: Comparison, metric: str, curves: Curves
) -> Iterator[tuple[str, Figure]]:
    if all(len(curve.points) < 2 for curve in curves.values()):
        raise CordwoodError(
            "learning curves: the plan sets neither train_fractions nor max_positives"
        )
    if not any(point.n for curve in curves.values() for point in curve.points):
        raise CordwoodError("learning curves: no trial has finished")
    for dataset in comparison.datasets:
        by_learner = {name: curves[dataset, name] for name in comparison.learners}
        if any(point.n for curve in by_learner.values() for point in curve.points):
            figure = plot_learning_curves(by_learner, title=dataset, metric=metric)
            yield f"learning_curves_{dataset}", figure


def _plot_rounds(
    comparison: Comparison, metric: str, curves: Curves
) -> Iterator[tuple[str, Figure]]:
    for dataset in comparison.datasets:
        if by_learner := _select_rounds(comparison, metric, dataset):
            figure = plot_round_curves(by_learner, title=dataset, metric=metric)
            yield f"rounds_{dataset}", figure


def _select_rounds(comparison: Comparison, metric: str, dataset: str) -> dict[str, RoundCurve]:
    keys = {name: (metric, dataset, name) for name in comparison.learners}
    return {name: comparison.rounds[key] for name, key in keys.items() if key in comparison.rounds}


def _unused_path(folder: Path, name: str, used: Collection[Path]) -> Path:
    """Return a path with portable characters that no other plot uses."""
    stem = re.sub(r"[^\w.-]", "_", name)
    names = chain([stem], (f"{stem}_{n}" for n in count(2)))
    return next(path for path in (folder / f"{name}.svg" for name in names) if path not in used)
