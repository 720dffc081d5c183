"""Advice in the report of a model, from its summary."""

from cordwood.reports.model_records import ModelSummary

_MAX_INTERVAL = 0.1
_SMALL_CLASS = 50
_LOW_F1 = 0.7
_MIN_PAIR_SHARE = 0.15
_MAX_CALIBRATION_ERROR = 0.05
_MIN_DECIDED = 0.3


def list_next_steps(summary: ModelSummary) -> list[str]:
    """List what would improve a model or its use, the most useful first."""
    if summary.scores is None:
        return []
    steps = []
    accuracy, curve, reasons = summary.scores.scores.accuracy, summary.curve, []
    if accuracy.high - accuracy.low > _MAX_INTERVAL:
        reasons.append(
            f"from {summary.scores.n_samples:,}, the accuracy is only known to be between "
            f"{100 * accuracy.low:.0f} and {100 * accuracy.high:.0f} %"
        )
    if curve is not None and curve.scoring != "log_loss":
        gain = curve.gain(2 * curve.n_samples)
        if (gain.low or 0) > 0:
            reasons.append(f"twice as many would add about {100 * gain:.1f} percentage points")
    if reasons:
        steps.append(f"Label more samples: {', and '.join(reasons)}.")
    suspects = summary.suspects
    if suspects is not None and suspects.n and summary.source != "training":
        steps.append(
            f"Check labels: {suspects.n:,} of {summary.scores.n_samples:,} may be wrong; the most "
            "suspicious ones are listed below. Wrong labels cost accuracy and make these scores "
            "too low."
        )
    weak = sorted(
        (row for row in summary.by_class if 0 < row.n_samples < _SMALL_CLASS and row.f1 < _LOW_F1),
        key=lambda row: row.n_samples,
    )
    if weak:
        shown = ", ".join(f"{row.label} ({row.n_samples:,})" for row in weak[:3])
        more = f" and {len(weak) - 3} more" if len(weak) > 3 else ""
        steps.append(
            f"Label more samples of the classes that are both small and weak: {shown}{more}."
        )
    pairs = summary.confusion.pairs if summary.confusion else []
    blurred = [pair for pair in pairs if pair.share >= _MIN_PAIR_SHARE and pair.n >= 5]
    if blurred:
        pair = blurred[0]
        steps.append(
            f"Sharpen the definition of {pair.true} against {pair.predicted}, or merge them: "
            f"{100 * pair.share:.0f} % of the samples of {pair.true} are predicted as "
            f"{pair.predicted}."
        )
    thresholds = summary.abstention.thresholds if summary.abstention else []
    useful = [row for row in thresholds if row.decided >= _MIN_DECIDED]
    if useful:
        row = useful[-1]
        steps.append(
            f"Let people decide the uncertain samples: if predictions with a probability below "
            f"{row.confidence:.2f} are left to them, {100 * row.decided:.0f} % are decided, "
            f"with at most {100 * row.max_error:.0f} % errors."
        )
    error = summary.scores.scores.calibration_error.value
    if error > _MAX_CALIBRATION_ERROR:
        steps.append(
            f"Do not read the probabilities literally: they are wrong by {100 * error:.0f} "
            "percentage points on average."
        )
    return steps
