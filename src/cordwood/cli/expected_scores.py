"""Printing of the scores that a model is expected to have on new samples."""

from dataclasses import replace

from cordwood.classifier.text_classifier import TextClassifier
from cordwood.cli.console import Console
from cordwood.confidence.shift import DatasetShift
from cordwood.datasets.corpus import Corpus, FeatureMatrix
from cordwood.metrics.baselines import score_baselines
from cordwood.metrics.scores import SCORE_NAMES, Evaluation, Score, describe_share


def add_baselines(console: Console, model: TextClassifier, samples: Corpus | FeatureMatrix) -> None:
    """Add the scores of simple classifiers to the evaluation of a model of one label per sample."""
    if model.oof_ is None or model.evaluation_ is None or model.oof_.is_multilabel:
        return
    X = samples.texts if isinstance(samples, Corpus) else samples.X
    with console.progress("estimating the scores"):
        baselines = score_baselines(X, model.oof_)
    model.evaluation_ = replace(model.evaluation_, baselines=baselines)


def summarize_scores(evaluation: Evaluation) -> str:
    """Return the accuracy in words, and accuracy and macro F1, as all commands say it."""
    scores = f"accuracy {evaluation.accuracy}, macro F1 {evaluation.macro_f1}"
    return f"{evaluation.sentence} ({scores})"


def describe_shift(shift: DatasetShift, model: TextClassifier) -> str:
    """Describe how texts differ from the training texts, and which score may not hold for them."""
    if model.evaluation_ is None:
        return str(shift)
    accuracy, words = float(model.evaluation_.accuracy), model.evaluation_.sentence
    return f"{shift}; the accuracy of {accuracy:.3f} expected from training ({words}) may not hold"


def show_summary(console: Console, evaluation: Evaluation) -> None:
    """Print accuracy and macro F1, and how they were obtained."""
    console.field("scores", f"{summarize_scores(evaluation)}; {evaluation.method}")


def show_expected_scores(console: Console, evaluation: Evaluation, *, is_tuned: bool) -> None:
    """Print all scores beside those of the baselines, and the weakest classes."""
    columns = {"this model": evaluation.scores, **evaluation.baselines}
    console.print()
    console.print(f"Expected on new samples: {evaluation.sentence}.")
    if evaluation.baselines:
        best = max(evaluation.baselines, key=lambda name: evaluation.baselines[name]["accuracy"])
        accuracy = evaluation.baselines[best]["accuracy"]
        console.print(f"For comparison, {best}: {describe_share(accuracy)}.")
    console.print(
        f"In terms of statistics, with {evaluation.confidence_level:.0%} intervals (ECE: expected "
        "calibration error):"
    )
    console.table(
        ("", *columns),
        [
            (
                "ECE" if name == "calibration_error" else SCORE_NAMES[name],
                *(_format(scores[name]) for scores in columns.values()),
            )
            for name in evaluation.scores
        ],
    )
    console.print()
    console.table(
        ("weakest classes", "F1", "samples"),
        [(str(each.label), _format(each.f1), each.support) for each in evaluation.weakest_classes],
    )
    console.print()
    show_summary(console, evaluation)
    if is_tuned:
        console.field(
            "note", "slightly optimistic, because the decision was tuned on the same predictions"
        )


def _format(score: Score) -> str:
    """Format a score in few characters, so that three of them fit 80 columns.

    Examples
    --------
    >>> _format(Score(0.9124, 0.9051, 0.9188))
    '0.912 (0.905-0.919)'
    """
    return f"{score:.3f} ({score.low:.3f}-{score.high:.3f})"
