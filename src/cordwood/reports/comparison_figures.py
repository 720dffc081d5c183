"""Blocks of a comparison: figures of ranks, times, learning curves and boosting rounds."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from cordwood.compare.report.rendering import format_seconds
from cordwood.reports.blocks import Block, Chart, Charts, text_table
from cordwood.reports.charts import (
    LinePoint,
    TimedScore,
    critical_difference_chart,
    line_chart,
    time_chart,
)
from cordwood.reports.comparison_scores import differ
from cordwood.reports.wording import join_names

_MAX_NAMES = 4
_MISSING = "–"


def rank_blocks(summary: Mapping[str, Any]) -> list[Block]:
    """Return one critical difference diagram per metric."""
    blocks: list[Block] = []
    for metric, name in summary["metrics"].items():
        found = summary["ranks"][metric]
        if found is None:
            continue
        ranks, groups = found["ranks"], found["groups"]
        title = f"Critical difference diagram, {name}"
        svg = critical_difference_chart(ranks, found["critical_difference"], groups, title=title)
        data = text_table(
            title,
            ["learner", "average rank"],
            [[learner, ranks[learner]] for learner in sorted(ranks, key=ranks.__getitem__)],
        )
        blocks.append(
            Chart(title=title, svg=svg, sentence=_describe_ranks(summary, found), data=data)
        )
    return blocks


def _describe_ranks(summary: Mapping[str, Any], found: Mapping[str, Any]) -> str:
    ranks, alpha = found["ranks"], f"{100 * summary['alpha']:g} %"
    order = sorted(ranks, key=ranks.__getitem__)
    n = found["n_datasets"]
    p_value = found["friedman_p_value"]
    sentences = []
    if p_value is not None:
        decision = "rejects" if p_value < summary["alpha"] else "does not reject"
        sentences.append(
            f"The Friedman test on {n} data sets {decision} the hypothesis that all "
            f"{len(ranks)} learners have equal ranks (p = {_p_value(p_value)})."
        )
    sentences.append(
        f"Two learners differ significantly if their average ranks differ by at least the critical "
        f"difference of {found['critical_difference']:.2f} (Nemenyi test, level {alpha}); thick "
        "bars join learners that do not."
    )
    group = next((g for g in found["groups"] if order[0] in g), [order[0]])
    others = [name for name in group if name != order[0]]
    if others:
        sentences.append(
            f"{order[0]} has the best average rank, {ranks[order[0]]:.2f}; "
            f"{join_names(others, _MAX_NAMES)} {differ(others, 'not ')} from it."
        )
    else:
        sentences.append(
            f"{order[0]} has the best average rank, {ranks[order[0]]:.2f}, and differs "
            "significantly from all others."
        )
    if n < 10:
        sentences.append(
            f"With {n} data sets the test has little power: missing significance is no evidence of "
            "equality."
        )
    return " ".join(sentences)


def time_blocks(summary: Mapping[str, Any]) -> list[Block]:
    """Return one figure of scores against times per metric."""
    charts = []
    for metric, name in summary["metrics"].items():
        points = summary["times"][metric]
        if len(points) < 2:
            continue
        title = f"{name} against CPU time"
        svg = time_chart(
            {
                learner: TimedScore(
                    p["seconds"], 100 * p["score"], p["is_best"], 100 * (p["error"] or 0.0)
                )
                for learner, p in points.items()
            },
            title=title,
            x_label="CPU seconds to fit and predict one fold, without tuning",
            y_label=f"{name}, %",
        )
        data = text_table(
            title,
            ["learner", "CPU seconds", f"{name}, %", "standard error", "on the Pareto front"],
            [
                [
                    learner,
                    (format_seconds(p["seconds"]), p["seconds"]),
                    100 * p["score"],
                    _MISSING if p["error"] is None else 100 * p["error"],
                    "yes" if p["is_best"] else "no",
                ]
                for learner, p in points.items()
            ],
        )
        charts.append(Chart(title=title, svg=svg, sentence=_describe_times(points), data=data))
    return [Charts(charts)] if charts else []


def _describe_times(points: Mapping[str, Mapping[str, Any]]) -> str:
    front = sorted(
        (name for name, p in points.items() if p["is_best"]), key=lambda n: points[n]["seconds"]
    )
    sentence = (
        f"For {join_names(front)}, no other learner is both faster and better; they are the "
        "Pareto front."
        if len(front) > 1
        else f"{front[0]} is both the fastest and the best."
    )
    if len(front) > 1:
        first, last = front[0], front[-1]
        ratio = points[last]["seconds"] / points[first]["seconds"]
        gain = 100 * (points[last]["score"] - points[first]["score"])
        sentence += (
            f" {last} takes {ratio:,.1f} times as long as {first} and is better by {gain:.2f} "
            "percentage points."
        )
    return sentence + (
        " Times are means over the folds; over several data sets, their geometric mean."
    )


def comparison_curve_blocks(summary: Mapping[str, Any]) -> list[Block]:
    """Return one figure of learning curves per metric and data set."""
    blocks: list[Block] = []
    for metric, name in summary["metrics"].items():
        charts = [
            _curve_chart(dataset, name, found)
            for dataset, found in summary["curves"].get(metric, {}).items()
        ]
        if charts:
            blocks.append(Charts(charts))
    return blocks


def _curve_chart(dataset: str, name: str, found: Mapping[str, Any]) -> Chart:
    is_count = found["by"] == "max_positives"
    factor = 1 if is_count else 100
    series: dict[str, list[LinePoint]] = {}
    rows = []
    for learner, points in found["learners"].items():
        series[learner] = []
        for p in points:
            error = 100 * (p["sd"] or 0.0) / math.sqrt(p["n"])
            mean = 100 * p["mean"]
            series[learner].append(
                LinePoint(factor * p["train_size"], mean, mean - error, mean + error)
            )
            rows.append([learner, (f"{factor * p['train_size']:g}", p["train_size"]), mean, error])
    label = "training samples of the category" if is_count else "share of the training samples, %"
    title = f"{dataset}: {name}"
    svg = line_chart(
        series,
        title=title,
        x_label=label,
        y_label=f"{name}, %",
        log_x=is_count,
        legend=[("error s7", -1, "mean ± standard error over the folds")],
    )
    return Chart(
        title=title,
        svg=svg,
        sentence=_describe_curves(series, is_count),
        data=text_table(title, ["learner", label, "mean, %", "standard error"], rows),
    )


def _describe_curves(series: Mapping[str, Sequence[LinePoint]], is_count: bool) -> str:
    ends = {name: line[-1] for name, line in series.items()}
    best = max(ends, key=lambda name: ends[name].y)
    first = max(series, key=lambda name: series[name][0].y)
    sentence = f"With all training samples, {best} has the highest score ({ends[best].y:.2f} %)"
    smallest = series[first][0]
    size = f"{smallest.x:g} samples" if is_count else f"{smallest.x:g} % of them"
    same = "it has the highest as well" if first == best else f"{first} has the highest"
    sentence += f"; with {size}, {same} ({smallest.y:.2f} %)."
    line = series[best]
    if len(line) > 1:
        gain = line[-1].y - line[-2].y
        sentence += (
            f" The last step, from {line[-2].x:g} to {line[-1].x:g}"
            f"{'' if is_count else ' %'}, changed the score of {best} by {gain:+.2f} percentage "
            "points."
        )
    return sentence


def round_blocks(summary: Mapping[str, Any]) -> list[Block]:
    """Return one figure of scores against boosting rounds per metric and data set."""
    blocks: list[Block] = []
    for metric, by_dataset in summary["rounds"].items():
        name = summary["metrics"][metric]
        charts = []
        for dataset, by_learner in by_dataset.items():
            test, train = (
                {
                    learner: [
                        LinePoint(n, 100 * y, 100 * y, 100 * y)
                        for n, y in zip(curve["rounds"], curve[part], strict=True)
                    ]
                    for learner, curve in by_learner.items()
                }
                for part in ("test", "train")
            )
            title = f"{dataset}: {name}"
            svg = line_chart(
                test,
                title=title,
                x_label="boosting rounds (logarithmic)",
                y_label=f"{name}, %",
                log_x=True,
                markers=False,
                dashed=train,
                legend=[("line s7", -1, "test samples"), ("thin s7", -1, "training samples")],
            )
            ends = "; ".join(
                f"{learner} reaches {line[-1].y:.2f} % after {line[-1].x:,.0f} rounds"
                for learner, line in test.items()
            )
            charts.append(
                Chart(
                    title=title,
                    svg=svg,
                    sentence=f"Means over the folds; {ends}. A gap between the lines of a learner "
                    "is overfitting.",
                )
            )
        blocks.append(Charts(charts))
    return blocks


def _p_value(value: float) -> str:
    return f"{value:.3f}" if value >= 0.001 else "below 0.001"
