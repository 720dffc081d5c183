"""Figures of a comparison: ranks, times and learning curves."""

import math
from collections.abc import Mapping, Sequence

from cordwood._base.wording import format_seconds, join_names
from cordwood.compare.report.comparison_scores import describe_ties, finite
from cordwood.compare.report.comparison_summary import (
    ComparisonSummary,
    DatasetCurves,
    RankSummary,
    TimePoint,
)
from cordwood.reports.blocks import MISSING, Chart, text_table
from cordwood.reports.charts import (
    LinePoint,
    TimedScore,
    critical_difference_chart,
    line_chart,
    time_chart,
)


def draw_ranks(summary: ComparisonSummary, metric: str) -> Chart | None:
    """Draw the critical difference diagram, if there are enough learners and data sets."""
    found = summary.ranks[metric]
    if found is None:
        return None
    title = f"Critical difference diagram, {summary.metrics[metric]}"
    return Chart(
        title=title,
        svg=critical_difference_chart(
            found.ranks, found.critical_difference, found.groups, title=title
        ),
        sentence=_describe_ranks(found, summary.alpha),
        data=text_table(
            title,
            ["learner", "average rank"],
            sorted(found.ranks.items(), key=lambda item: item[1]),
        ),
    )


def _describe_ranks(found: RankSummary, alpha: float) -> str:
    ranks, n = found.ranks, found.n_datasets
    order = sorted(ranks, key=ranks.__getitem__)
    p_value = found.friedman_p_value
    sentences = []
    if not math.isnan(p_value):
        decision = "rejects" if p_value < alpha else "does not reject"
        p_text = f"{p_value:.3f}" if p_value >= 0.001 else "below 0.001"
        sentences.append(
            f"The Friedman test on {n} data sets {decision} the hypothesis that all "
            f"{len(ranks)} learners have equal ranks (p = {p_text})."
        )
    sentences.append(
        f"Two learners differ significantly if their average ranks differ by at least the critical "
        f"difference of {found.critical_difference:.2f} (Nemenyi test, level {100 * alpha:g} %); "
        "thick bars join learners that do not."
    )
    group = next((g for g in found.groups if order[0] in g), [order[0]])
    others = [name for name in group if name != order[0]]
    if others:
        sentences.append(
            f"{order[0]} has the best average rank, {ranks[order[0]]:.2f}; "
            f"{describe_ties(others)} from it."
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


def draw_times(summary: ComparisonSummary, metric: str) -> Chart | None:
    """Draw scores against times, if a learner is complete."""
    points, name = summary.times[metric], summary.metrics[metric]
    if not points:
        return None
    title = f"{name} against CPU time"
    svg = time_chart(
        {
            learner: TimedScore(p.seconds, 100 * p.score, p.is_best, 100 * finite(p.error))
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
                (format_seconds(p.seconds), p.seconds),
                100 * p.score,
                MISSING.text if math.isnan(p.error) else 100 * p.error,
                "yes" if p.is_best else "no",
            ]
            for learner, p in points.items()
        ],
    )
    return Chart(title=title, svg=svg, sentence=_describe_times(points), data=data)


def _describe_times(points: Mapping[str, TimePoint]) -> str:
    front = sorted(
        (name for name, p in points.items() if p.is_best), key=lambda n: points[n].seconds
    )
    sentence = (
        f"For {join_names(front)}, no other learner is both faster and better; they are the "
        "Pareto front."
        if len(front) > 1
        else f"{front[0]} is both the fastest and the best."
    )
    if len(front) > 1:
        first, last = front[0], front[-1]
        ratio = points[last].seconds / points[first].seconds
        gain = 100 * (points[last].score - points[first].score)
        sentence += (
            f" {last} takes {ratio:,.1f} times as long as {first} and is better by {gain:.2f} "
            "percentage points."
        )
    return sentence + (
        " Times are means over the folds; over several data sets, their geometric mean."
    )


def draw_curves(summary: ComparisonSummary, metric: str) -> dict[str, Chart]:
    """Draw the learning curves on each data set that has results."""
    return {
        dataset: _draw_learning_curves(dataset, summary.metrics[metric], found)
        for dataset, found in summary.curves.get(metric, {}).items()
    }


def _draw_learning_curves(dataset: str, name: str, found: DatasetCurves) -> Chart:
    is_count = found.by == "max_positives"
    factor = 1 if is_count else 100
    series: dict[str, list[LinePoint]] = {}
    rows = []
    for learner, points in found.learners.items():
        series[learner] = []
        for p in points:
            error = 100 * finite(p.sd) / math.sqrt(p.n)
            mean = 100 * p.mean
            series[learner].append(
                LinePoint(factor * p.train_size, mean, mean - error, mean + error)
            )
            rows.append([learner, (f"{factor * p.train_size:g}", p.train_size), mean, error])
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
