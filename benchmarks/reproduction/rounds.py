"""Boosting rounds and words of rules, which the procedure of ICML 2003 adds to the records."""

from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import Any, NamedTuple

from cordwood.compare.report.rendering import metric_name
from cordwood.compare.stats.result_index import ResultIndex
from cordwood.reports.blocks import Chart
from cordwood.reports.charts import LinePoint, line_chart


class RoundCurve(NamedTuple):
    """Scores of a learner by number of boosting rounds, as means over the folds."""

    rounds: tuple[int, ...]
    train: tuple[float, ...]
    test: tuple[float, ...]


def average_rounds(index: ResultIndex, metric: str) -> dict[tuple[str, str], RoundCurve]:
    """Average over the folds, by data set and learner, for the rounds that all of them have."""
    curves = {}
    for names, folds in _list_values(index, "rounds").items():
        common = sorted(set.intersection(*(set(rounds["n"]) for rounds in folds)))
        train, test = (
            tuple(
                fmean(rounds[part][metric][rounds["n"].index(n)] for rounds in folds)
                for n in common
            )
            for part in ("train", "test")
        )
        curves[names] = RoundCurve(tuple(common), train, test)
    return curves


def average_n_words(index: ResultIndex) -> dict[tuple[str, str], float]:
    """Return the mean number of distinct words of rules, by data set and learner."""
    return {names: fmean(counts) for names, counts in _list_values(index, "n_words").items()}


def draw_rounds(dataset: str, metric: str, curves: Mapping[str, RoundCurve]) -> Chart:
    """Draw the scores of learners against boosting rounds."""
    test = {learner: _to_line(each.rounds, each.test) for learner, each in curves.items()}
    title = f"{dataset}: {metric_name(metric)}"
    svg = line_chart(
        test,
        title=title,
        x_label="boosting rounds (logarithmic)",
        y_label=f"{metric_name(metric)}, %",
        log_x=True,
        markers=False,
        dashed={learner: _to_line(each.rounds, each.train) for learner, each in curves.items()},
        legend=[("line s7", -1, "test samples"), ("thin s7", -1, "training samples")],
    )
    return Chart(title=title, svg=svg)


def _list_values(index: ResultIndex, field: str) -> dict[tuple[str, str], list[Any]]:
    """Return the values of a field with the largest training set, by data set and learner."""
    train_size = max(key.train_size for key in index.trials)
    values: dict[tuple[str, str], list[Any]] = {}
    for key, record in index.records.items():
        if key.train_size == train_size and field in record:
            values.setdefault((key.dataset, key.learner), []).append(record[field])
    return values


def _to_line(rounds: Sequence[int], scores: Sequence[float]) -> list[LinePoint]:
    return [LinePoint(n, *[100 * score] * 3) for n, score in zip(rounds, scores, strict=True)]
