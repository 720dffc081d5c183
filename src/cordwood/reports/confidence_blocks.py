"""Blocks of a report: reliability of probabilities, abstention, learning curve."""

from collections.abc import Sequence
from dataclasses import replace

from cordwood.metrics.learning_curve import LearningCurveEstimate
from cordwood.reports.blocks import Block, Chart, Charts, text_table
from cordwood.reports.charts import (
    LinePoint,
    ReliabilityBin,
    line_chart,
    reliability_chart,
)
from cordwood.reports.model_records import Abstention, ModelSummary
from cordwood.reports.model_scores import to_estimate

_SCORE_NAMES = {"accuracy": "accuracy", "macro_f1": "macro F1", "log_loss": "log loss"}


def confidence_blocks(summary: ModelSummary) -> list[Block]:
    """Return the reliability diagram and the accuracy of confident predictions."""
    if summary.scores is None or summary.abstention is None:
        return []
    error = summary.scores.scores.calibration_error.value
    charts = [_reliability(summary.reliability, error), _abstention_chart(summary.abstention)]
    blocks: list[Block] = [Charts(charts)]
    if summary.abstention.thresholds:
        table = text_table(
            "Thresholds that bound the error",
            ["errors at most", "decide from probability", "decided", "left to people"],
            [
                [
                    (f"{100 * row.max_error:.0f} %", row.max_error),
                    (f"{row.confidence:.3f}", row.confidence),
                    (f"{100 * row.decided:.1f} %", row.decided),
                    (f"{100 * (1 - row.decided):.1f} %", 1 - row.decided),
                ]
                for row in summary.abstention.thresholds
            ],
        )
        note = (
            "With a probability of 90 %, the error rate of the decided new samples is below the "
            "bound (learn then test). The option --max-error of cordwood predict applies it."
        )
        blocks.append(replace(table, note=note))
    if summary.prediction_sets:
        table = text_table(
            "Prediction sets",
            ["contains the true class", "classes on average", "single class", "largest set"],
            [
                [
                    (f"{100 * row.coverage:.0f} %", row.coverage),
                    (f"{row.mean_size:.2f}", row.mean_size),
                    (f"{100 * row.share_single:.1f} %", row.share_single),
                    row.max_size,
                ]
                for row in summary.prediction_sets
            ],
        )
        note = (
            "A conformal prediction set contains the true class of a new sample with at least this "
            "probability. The option --coverage of cordwood predict writes them."
        )
        blocks.append(replace(table, note=note))
    return blocks


def _reliability(bins: Sequence[ReliabilityBin], error: float) -> Chart:
    title = "Reliability: are probabilities right?"
    gap = sum(b.n * (b.confidence - b.accuracy) for b in bins) / sum(b.n for b in bins)
    direction = (
        "on average neither too high nor too low"
        if abs(gap) < 0.01
        else f"on average {abs(100 * gap):.1f} percentage points too {'high' if gap > 0 else 'low'}"
    )
    sentence = (
        f"Probabilities of the predicted class are {direction}; the mean gap over bins is "
        f"{100 * error:.1f} percentage points. Points on the dotted line are perfectly calibrated."
    )
    data = text_table(
        title,
        ["probability, %", "correct, %", "95 % interval", "samples"],
        [
            [
                100 * b.confidence,
                100 * b.accuracy,
                f"{100 * b.low:.1f} to {100 * b.high:.1f}",
                b.n,
            ]
            for b in bins
        ],
    )
    return Chart(
        title=title, svg=reliability_chart(bins, title=title), sentence=sentence, data=data
    )


def _abstention_chart(abstention: Abstention) -> Chart:
    curve = abstention.curve
    title = "Accuracy if the least certain predictions are left undecided"
    points = [LinePoint(100 * p.coverage, *[100 * p.accuracy] * 3) for p in curve]
    svg = line_chart(
        {"accuracy": points},
        title=title,
        x_label="decided samples, %",
        y_label="correct among them, %",
        x_range=(0, 100),
        y_range=(min(p.y for p in points) - 1, 100),
        markers=False,
    )
    half = min(curve, key=lambda p: abs(p.coverage - 0.5))
    sentence = (
        f"On the {100 * half.coverage:.0f} % of the samples with the highest probabilities, "
        f"{100 * half.accuracy:.1f} % of the predictions are correct; on all, "
        f"{100 * curve[-1].accuracy:.1f} %."
    )
    data = text_table(
        title,
        ["decided, %", "correct, %"],
        [[p.x, p.y] for p in points[:: max(1, len(points) // 10)]],
    )
    return Chart(title=title, svg=svg, sentence=sentence, data=data)


def curve_blocks(curve: LearningCurveEstimate | None) -> list[Block]:
    """Return the learning curve with its forecast."""
    if curve is None:
        return []
    is_share = curve.scoring != "log_loss"
    factor, unit = (100, " %") if is_share else (1, "")
    name = _SCORE_NAMES[curve.scoring]
    n, twice = curve.n_samples, 2 * curve.n_samples
    now, doubled, gain = (
        to_estimate(score).scale(factor)
        for score in (curve.forecast(n), curve.forecast(twice), curve.gain(twice))
    )
    measured = []
    rows = []
    for i, size in enumerate(curve.sizes):
        scores = (factor * curve.scores[:, i]).tolist()
        mean = sum(scores) / len(scores)
        measured.append(LinePoint(size, mean, min(scores), max(scores)))
        rows.append([size, mean, min(scores), max(scores)])
    forecast = [
        LinePoint(n, now.value, now.low, now.high),
        LinePoint(twice, doubled.value, doubled.low, doubled.high),
    ]
    title = f"Learning curve: {name}"
    svg = line_chart(
        {"measured": measured, "forecast": forecast},
        title=title,
        x_label="training samples (logarithmic)",
        y_label=f"{name}{', %' if is_share else ''}",
        log_x=True,
        legend=[
            ("error s0", -1, "range of the repeats"),
            ("error s1", -1, f"{100 * curve.confidence_level:.0f} % interval"),
        ],
    )
    points = " percentage points" if is_share else ""
    sentence = (
        f"Twice as many labelled samples ({twice:,}) would change the {name} by "
        f"{gain.value:+.1f}{points} ({gain.low:+.1f} to {gain.high:+.1f}), to "
        f"{doubled.value:.1f}{unit} ({doubled.low:.1f} to {doubled.high:.1f}). "
        f"Method: {curve.method}."
    )
    data = text_table(title, ["training samples", f"mean {name}", "lowest", "highest"], rows)
    return [Chart(title=title, svg=svg, sentence=sentence, data=data)]
