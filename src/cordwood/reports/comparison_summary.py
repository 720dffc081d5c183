"""Summary of a comparison of learners: from a `Comparison` to plain values."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from scipy import stats

from cordwood.compare.report.rendering import metric_name
from cordwood.compare.stats.comparison import Comparison, Curves
from cordwood.compare.stats.ranks import nemenyi
from cordwood.stacking.diversity import pareto_front

_MIN_SECONDS = 1e-3  # keeps times below the resolution of the clock on a logarithmic axis


def summarize_comparison(
    comparison: Comparison, curves: Mapping[str, Curves], *, name: str, notes: Sequence[str]
) -> dict[str, Any]:
    """Summarize a comparison.

    Parameters
    ----------
    comparison : Comparison
        The comparison.
    curves : mapping of str to mapping
        Learning curves by metric; may be empty.
    name : str
        Name of the comparison.
    notes : sequence of str
        Sentences for the overview.

    Returns
    -------
    dict
        Numbers, texts, lists and dicts; unknown values are None.
    """
    return {
        "kind": "comparison",
        "name": name,
        "notes": list(notes),
        "metrics": {metric: metric_name(metric) for metric in comparison.metrics},
        "datasets": list(comparison.datasets),
        "learners": list(comparison.learners),
        "test": comparison.test,
        "alpha": comparison.alpha,
        "scores": {
            metric: {
                dataset: {
                    learner: _cell_to_dict(comparison, metric, dataset, learner)
                    for learner in comparison.learners
                }
                for dataset in comparison.datasets
            }
            for metric in comparison.metrics
        },
        "seconds": {
            dataset: {
                learner: {
                    step: _to_none(getattr(comparison.cpu_seconds[dataset, learner], step))
                    for step in ("tune", "fit", "predict")
                }
                for learner in comparison.learners
            }
            for dataset in comparison.datasets
        },
        "means": {
            metric: {
                learner: {
                    "mean": _to_none(comparison.summaries[metric, learner].mean),
                    "rank": _to_none(comparison.summaries[metric, learner].rank),
                    "n_datasets": len(comparison.summaries[metric, learner].datasets),
                }
                for learner in comparison.learners
            }
            for metric in comparison.metrics
        },
        "ranks": {metric: _rank(comparison, metric) for metric in comparison.metrics},
        "times": {metric: _summarize_times(comparison, metric) for metric in comparison.metrics},
        "curves": {metric: _summarize_curves(found) for metric, found in curves.items()},
        "rounds": _summarize_rounds(comparison),
    }


def _cell_to_dict(
    comparison: Comparison, metric: str, dataset: str, learner: str
) -> dict[str, Any]:
    cell = comparison.cells[metric, dataset, learner]
    return {
        "mean": _to_none(cell.mean),
        "sd": _to_none(cell.sd),
        "n": cell.n,
        "n_planned": cell.n_planned,
        "n_failed": cell.n_failed,
        "mark": cell.mark,
        "published": cell.published,
    }


def _rank(comparison: Comparison, metric: str) -> dict[str, Any] | None:
    """Return average ranks with tests, if there are enough learners and data sets."""
    learners = [n for n in comparison.learners if comparison.summaries[metric, n].datasets]
    if len(learners) < 3:
        return None
    scores = comparison.scores(metric)[:, [comparison.learners.index(name) for name in learners]]
    scores = scores[~np.isnan(scores).any(axis=1)]
    if len(scores) < 2:
        return None
    result = nemenyi(scores, comparison.alpha)
    friedman = float(stats.friedmanchisquare(*scores.T).pvalue)
    return {
        "ranks": dict(zip(learners, result.ranks.tolist(), strict=True)),
        "critical_difference": float(result.critical_difference),
        "groups": [[learners[i] for i in group] for group in result.groups()],
        "n_datasets": result.n_datasets,
        # Undefined if all learners have equal scores on all data sets.
        "friedman_p_value": _to_none(friedman),
    }


def _summarize_times(comparison: Comparison, metric: str) -> dict[str, dict[str, Any]]:
    """Return seconds, score and standard error of complete learners, and which are on the front."""
    points = {}
    for name in comparison.learners:
        summary = comparison.summaries[metric, name]
        times = [comparison.cpu_seconds[dataset, name] for dataset in summary.datasets]
        seconds = np.array([max(time.fit + time.predict, _MIN_SECONDS) for time in times])
        if len(seconds) and not np.isnan(seconds).any():
            points[name] = (float(np.exp(np.log(seconds).mean())), summary.mean)
    front = set(pareto_front(list(points.values()), ["min", "max"]).tolist()) if points else set()
    return {
        name: {
            "seconds": seconds,
            "score": score,
            "error": _standard_error(comparison, metric, name),
            "is_best": i in front,
        }
        for i, (name, (seconds, score)) in enumerate(points.items())
    }


def _standard_error(comparison: Comparison, metric: str, learner: str) -> float | None:
    """Return the standard error of the mean over data sets of means over folds."""
    datasets = comparison.summaries[metric, learner].datasets
    cells = [comparison.cells[metric, dataset, learner] for dataset in datasets]
    return _to_none(math.sqrt(sum(cell.sd**2 / cell.n for cell in cells)) / len(cells))


def _summarize_curves(curves: Curves) -> dict[str, Any]:
    """Return learning curves by data set; empty if there is only one training set size."""
    if all(len(curve.points) < 2 for curve in curves.values()):
        return {}
    found: dict[str, Any] = {}
    for (dataset, learner), curve in curves.items():
        points = [
            {"train_size": p.train_size, "mean": p.mean, "sd": _to_none(p.sd), "n": p.n}
            for p in curve.points
            if p.n
        ]
        if points:
            entry = found.setdefault(dataset, {"by": curve.by, "learners": {}})
            entry["learners"][learner] = points
    return found


def _summarize_rounds(comparison: Comparison) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for (metric, dataset, learner), curve in comparison.rounds.items():
        found.setdefault(metric, {}).setdefault(dataset, {})[learner] = {
            "rounds": list(curve.rounds),
            "train": list(curve.train),
            "test": list(curve.test),
        }
    return found


def _to_none(number: float) -> float | None:
    return None if math.isnan(number) else float(number)
