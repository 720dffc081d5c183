"""Printing of an evaluation: scores, those of the classes, and the confusion matrix."""

from collections.abc import Mapping

from cordwood._base.wording import count
from cordwood.cli.console import Console
from cordwood.metrics.scores import SCORE_NAMES, Evaluation

MAX_CLASSES = 20
MAX_PAIRS = 10


def show_scores(console: Console, evaluation: Evaluation) -> None:
    """Print the scores of an evaluation and, with one label per sample, the confusion matrix."""
    remarks = _make_remarks(evaluation)
    console.print()
    console.print(f"On these samples: {evaluation.sentence}.")
    console.table(
        ("score", f"value ({evaluation.confidence_level:.0%} interval)", "meaning"),
        [
            (SCORE_NAMES[name], str(score), remarks[name])
            for name, score in evaluation.scores.items()
        ],
    )
    if evaluation.unseen_labels:
        console.print()
        console.field("unseen", _unseen_message(evaluation.unseen_labels))
    console.print()
    console.table(
        ("label" if evaluation.is_multilabel else "class", "precision", "recall", "F1", "samples"),
        [
            (str(each.label), each.precision, each.recall, str(each.f1), each.support)
            for each in evaluation.classes
        ],
    )
    if evaluation.confusion is not None:
        console.print()
        _show_confusion(console, evaluation)


def _make_remarks(evaluation: Evaluation) -> dict[str, str]:
    samples = count(evaluation.n_samples, "sample")
    if evaluation.confusion is None:
        classes = count(len(evaluation.classes), "label")
        correct = "share of samples without error"
    else:
        classes = count(len(evaluation.classes), "class", "classes")
        correct = f"{int(evaluation.confusion.trace()):,} of {evaluation.n_samples:,} correct"
    return {
        "accuracy": correct,
        "micro_f1": f"of all labels of {samples}",
        "macro_f1": f"mean of {classes}",
        "samples_f1": f"mean of {samples}",
        "ranking_precision": "label ranking average precision",
        "log_loss": "of the probability of the true label; 0 is best",
        "calibration_error": "mean difference of probabilities and frequencies; 0 is best",
    }


def _unseen_message(unseen_labels: Mapping[object, int]) -> str:
    samples = count(sum(unseen_labels.values()), "sample")
    shown = ", ".join(f"{label} ({n:,})" for label, n in list(unseen_labels.items())[:MAX_PAIRS])
    more = f" and {len(unseen_labels) - MAX_PAIRS} more" if len(unseen_labels) > MAX_PAIRS else ""
    return f"{samples} with labels not in the training set, counted as errors: {shown}{more}"


def _show_confusion(console: Console, evaluation: Evaluation) -> None:
    assert evaluation.confusion is not None
    numbers = [str(position) for position in range(1, len(evaluation.classes) + 1)]
    columns = ("", "true class", *numbers)
    rows = [
        (number, str(each.label), *counts)
        for number, each, counts in zip(
            numbers, evaluation.classes, evaluation.confusion.tolist(), strict=True
        )
    ]
    if len(numbers) <= MAX_CLASSES and console.fits(columns, rows):
        console.print("Confusion matrix: true classes in rows, predicted classes in columns.")
        console.table(columns, rows)
        return
    console.print("Most frequent errors (--json prints the whole confusion matrix):")
    pairs = evaluation.confused_pairs(MAX_PAIRS)
    console.table(("true class", "predicted", "samples"), pairs)
