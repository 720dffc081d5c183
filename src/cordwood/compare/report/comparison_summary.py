"""Summary of a comparison of learners: the records of its report."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from scipy import stats

from cordwood.compare.report.rendering import metric_name
from cordwood.compare.stats.comparison import Cell, Comparison, CpuSeconds, Curves
from cordwood.compare.stats.curves import CurvePoint
from cordwood.compare.stats.ranks import nemenyi
from cordwood.stacking.diversity import pareto_front

_MIN_SECONDS = 1e-3  # keeps times below the resolution of the clock on a logarithmic axis


@dataclass(frozen=True)
class MeanScore:
    """Mean score and average rank of a learner over data sets; NaN without any."""

    mean: float
    rank: float
    n_datasets: int


@dataclass(frozen=True, kw_only=True)
class RankSummary:
    """Average ranks with tests."""

    ranks: Mapping[str, float]
    critical_difference: float
    groups: Sequence[Sequence[str]]  # learners that are not significantly different
    n_datasets: int
    friedman_p_value: float  # NaN if all learners have equal scores on all data sets


@dataclass(frozen=True)
class TimePoint:
    """Time and score of a learner over data sets."""

    seconds: float  # geometric mean
    score: float
    error: float  # standard error of the score; NaN with one fold
    is_best: bool  # on the Pareto front


@dataclass(frozen=True)
class DatasetCurves:
    """Learning curves on a data set: the points of each learner."""

    by: str
    learners: Mapping[str, Sequence[CurvePoint]]


@dataclass(frozen=True, kw_only=True)
class ComparisonSummary:
    """Content of the report of a comparison; numbers that are not known are NaN."""

    kind: str = field(default="comparison", init=False)
    name: str
    notes: Sequence[str]  # sentences for the overview
    metrics: Mapping[str, str]  # display names
    datasets: Sequence[str]
    learners: Sequence[str]
    test: str
    alpha: float
    scores: Mapping[str, Mapping[str, Mapping[str, Cell]]]  # by metric, data set and learner
    seconds: Mapping[str, Mapping[str, CpuSeconds]]  # by data set and learner
    means: Mapping[str, Mapping[str, MeanScore]]  # by metric and learner
    ranks: Mapping[str, RankSummary | None]  # None with too few learners or data sets
    times: Mapping[str, Mapping[str, TimePoint]]  # by metric and learner
    curves: Mapping[str, Mapping[str, DatasetCurves]]  # by metric and data set


def summarize_comparison(
    comparison: Comparison,
    curves: Mapping[str, Curves],
    *,
    name: str = "",
    notes: Sequence[str] = (),
) -> ComparisonSummary:
    """Summarize a comparison and its learning curves by metric."""
    metrics, datasets, learners = comparison.metrics, comparison.datasets, comparison.learners
    return ComparisonSummary(
        name=name,
        notes=notes,
        metrics={metric: metric_name(metric) for metric in metrics},
        datasets=datasets,
        learners=learners,
        test=comparison.test,
        alpha=comparison.alpha,
        scores={
            metric: {
                dataset: {each: comparison.cells[metric, dataset, each] for each in learners}
                for dataset in datasets
            }
            for metric in metrics
        },
        seconds={
            dataset: {each: comparison.cpu_seconds[dataset, each] for each in learners}
            for dataset in datasets
        },
        means={
            metric: {each: _average(comparison, metric, each) for each in learners}
            for metric in metrics
        },
        ranks={metric: _rank(comparison, metric) for metric in metrics},
        times={metric: _summarize_times(comparison, metric) for metric in metrics},
        curves={metric: _summarize_curves(found) for metric, found in curves.items()},
    )


def _average(comparison: Comparison, metric: str, learner: str) -> MeanScore:
    found = comparison.summaries[metric, learner]
    return MeanScore(found.mean, found.rank, len(found.datasets))


def _rank(comparison: Comparison, metric: str) -> RankSummary | None:
    learners = [n for n in comparison.learners if comparison.summaries[metric, n].datasets]
    if len(learners) < 3:
        return None
    scores = comparison.scores(metric)[:, [comparison.learners.index(name) for name in learners]]
    scores = scores[~np.isnan(scores).any(axis=1)]
    if len(scores) < 2:
        return None
    result = nemenyi(scores, comparison.alpha)
    return RankSummary(
        ranks=dict(zip(learners, result.ranks.tolist(), strict=True)),
        critical_difference=float(result.critical_difference),
        groups=[[learners[i] for i in group] for group in result.groups()],
        n_datasets=result.n_datasets,
        friedman_p_value=float(stats.friedmanchisquare(*scores.T).pvalue),
    )


def _summarize_times(comparison: Comparison, metric: str) -> dict[str, TimePoint]:
    """Return the points of the learners that are complete on a data set and have times."""
    points = {}
    for name in comparison.learners:
        summary = comparison.summaries[metric, name]
        times = [comparison.cpu_seconds[dataset, name] for dataset in summary.datasets]
        seconds = np.array([max(time.fit + time.predict, _MIN_SECONDS) for time in times])
        if len(seconds) and not np.isnan(seconds).any():
            points[name] = (float(np.exp(np.log(seconds).mean())), summary.mean)
    front = set(pareto_front(list(points.values()), ["min", "max"]).tolist()) if points else set()
    return {
        name: TimePoint(seconds, score, _standard_error(comparison, metric, name), i in front)
        for i, (name, (seconds, score)) in enumerate(points.items())
    }


def _standard_error(comparison: Comparison, metric: str, learner: str) -> float:
    """Return the standard error of the mean over data sets of means over folds."""
    datasets = comparison.summaries[metric, learner].datasets
    cells = [comparison.cells[metric, dataset, learner] for dataset in datasets]
    return math.sqrt(sum(cell.sd**2 / cell.n for cell in cells)) / len(cells)


def _summarize_curves(curves: Curves) -> dict[str, DatasetCurves]:
    """Return learning curves by data set; empty if there is only one training set size."""
    if all(len(curve.points) < 2 for curve in curves.values()):
        return {}
    found: dict[str, dict[str, Sequence[CurvePoint]]] = {}
    by = ""
    for (dataset, learner), curve in curves.items():
        by = curve.by
        if points := [point for point in curve.points if point.n]:
            found.setdefault(dataset, {})[learner] = points
    return {dataset: DatasetCurves(by, learners) for dataset, learners in found.items()}
