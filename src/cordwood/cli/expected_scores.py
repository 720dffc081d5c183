"""Printing of the scores that a model is expected to have on new samples."""

from typing import Any

from cordwood.cli.console import Console
from cordwood.datasets.corpus import Corpus, FeatureMatrix
from cordwood.metrics.evaluation import OOFEvaluation, ScoreInterval, oof_evaluation

_LABELS = {
    "accuracy": "accuracy",
    "macro_f1": "macro F1",
    "log_loss": "log loss",
    "calibration_error": "ECE",
}


def estimate_scores(console: Console, model: Any, samples: Corpus | FeatureMatrix) -> OOFEvaluation:
    """Estimate the scores from the out-of-fold predictions of the model, and of baselines."""
    X = samples.texts if isinstance(samples, Corpus) else samples.X
    with console.progress("estimating the scores"):
        return oof_evaluation(model, X)


def show_expected_scores(console: Console, evaluation: OOFEvaluation) -> None:
    """Print the scores beside those of the baselines, and the weakest classes."""
    columns = {"this model": evaluation.scores, **evaluation.baselines}
    console.print()
    console.print(
        f"Expected on new samples, with {evaluation.confidence_level:.0%} intervals "
        "(ECE: expected calibration error):"
    )
    console.table(
        ("", *columns),
        [
            (label, *(_format(getattr(scores, name)) for scores in columns.values()))
            for name, label in _LABELS.items()
        ],
    )
    console.print()
    console.table(
        ("weakest classes", "F1", "samples"),
        [(str(each.label), _format(each.f1), each.support) for each in evaluation.weakest_classes],
    )
    console.print()
    console.field("scores", evaluation.method)


def _format(interval: ScoreInterval) -> str:
    """Format a score in few characters.

    Examples
    --------
    >>> _format(ScoreInterval(0.9124, 0.9051, 0.9188))
    '0.912 (0.905-0.919)'
    """
    return f"{interval.value:.3f} ({interval.low:.3f}-{interval.high:.3f})"
