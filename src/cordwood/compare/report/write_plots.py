"""The gallery: all pictures that a comparison has the results for, in one folder."""

import re
from collections.abc import Collection, Iterator, Mapping
from itertools import chain, count
from pathlib import Path
from typing import NamedTuple

from matplotlib.figure import Figure

from cordwood.compare.report._figure import save
from cordwood.compare.report.plots import (
    draw_critical_difference,
    draw_learning_curves,
    draw_round_curves,
    draw_time_against_effectiveness,
)
from cordwood.compare.report.rendering import metric_name
from cordwood.compare.stats.comparison import Comparison, Curves
from cordwood.compare.stats.curves import RoundCurve
from cordwood.compare.stats.ranks import nemenyi
from cordwood.exceptions import CordwoodError


class Gallery(NamedTuple):
    """What was drawn and what was not.

    Parameters
    ----------
    written : tuple of Path
        The files.
    left_out : tuple of str
        For each kind of picture that was not drawn, its name and the reason.
    """

    written: tuple[Path, ...]
    left_out: tuple[str, ...]


def write_gallery(
    comparison: Comparison, curves: Mapping[str, Curves], folder: str | Path
) -> Gallery:
    """Draw all that can be drawn of a comparison.

    Parameters
    ----------
    comparison : Comparison
    curves : mapping of str to mapping
        The learning curves by each metric of the comparison.
    folder : path
        Where the pictures go; it is made if need be. Files of the same names are replaced.

    Returns
    -------
    Gallery
    """
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    written: list[Path] = []
    left_out: dict[str, None] = {}
    for metric in comparison.metrics:
        for draw in (_draw_times, _draw_ranks, _draw_curves, _draw_rounds):
            try:
                for name, figure in draw(comparison, metric, curves[metric]):
                    path = _free_path(folder, f"{name}_{metric}", written)
                    save(figure, path)
                    written.append(path)
            except CordwoodError as error:
                left_out[str(error)] = None
    return Gallery(tuple(written), tuple(left_out))


def _draw_times(
    comparison: Comparison, metric: str, curves: Curves
) -> Iterator[tuple[str, Figure]]:
    if not any(comparison.summaries[metric, name].datasets for name in comparison.learners):
        raise CordwoodError("time against effectiveness: no data set is complete")
    yield "time", draw_time_against_effectiveness(comparison, metric=metric)


def _draw_ranks(
    comparison: Comparison, metric: str, curves: Curves
) -> Iterator[tuple[str, Figure]]:
    learners = [n for n in comparison.learners if comparison.summaries[metric, n].datasets]
    n_sets = len(comparison.summaries[metric, learners[0]].datasets) if learners else 0
    if n_sets < 2 or len(learners) < 3:
        raise CordwoodError(
            "critical difference: it takes two data sets that are complete for the same three "
            f"learners, and here are {n_sets} for {len(learners)}"
        )
    columns = [comparison.learners.index(name) for name in learners]
    result = nemenyi(comparison.scores(metric)[:, columns], comparison.alpha)
    title = f"Average ranks by {metric_name(metric)} on {n_sets} data sets"
    yield "critical_difference", draw_critical_difference(result, learners, title=title)


def _draw_curves(
    comparison: Comparison, metric: str, curves: Curves
) -> Iterator[tuple[str, Figure]]:
    if all(len(curve.points) < 2 for curve in curves.values()):
        raise CordwoodError("learning curves: the plan has neither shares nor positives")
    if not any(point.n for curve in curves.values() for point in curve.points):
        raise CordwoodError("learning curves: no unit is done")
    for dataset in comparison.datasets:
        own = {name: curves[dataset, name] for name in comparison.learners}
        if any(point.n for curve in own.values() for point in curve.points):
            name = f"learning_curves_{dataset}"
            yield name, draw_learning_curves(own, title=dataset, metric=metric)


def _draw_rounds(
    comparison: Comparison, metric: str, curves: Curves
) -> Iterator[tuple[str, Figure]]:
    for dataset in comparison.datasets:
        if own := _rounds_of(comparison, metric, dataset):
            yield f"rounds_{dataset}", draw_round_curves(own, title=dataset, metric=metric)


def _rounds_of(comparison: Comparison, metric: str, dataset: str) -> dict[str, RoundCurve]:
    places = {name: (metric, dataset, name) for name in comparison.learners}
    return {
        name: comparison.rounds[place]
        for name, place in places.items()
        if place in comparison.rounds
    }


def _free_path(folder: Path, name: str, taken: Collection[Path]) -> Path:
    """Name a file in letters that every file system takes, and as no other picture is named."""
    stem = re.sub(r"[^\w.-]", "_", name)
    names = chain([stem], (f"{stem}_{n}" for n in count(2)))
    return next(path for path in (folder / f"{name}.svg" for name in names) if path not in taken)
