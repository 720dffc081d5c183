"""Printing of an evaluation: F1 scores, scores of the classes, and the confusion matrix."""

from cordwood.api import Evaluation
from cordwood.cli.console import Console, count

MAX_CLASSES = 20
MAX_PAIRS = 10


def show_scores(console: Console, evaluation: Evaluation) -> None:
    """Print the scores and the confusion matrix of an evaluation."""
    n_correct = int(evaluation.confusion.trace())
    n_samples = evaluation.n_samples
    console.field("micro F1", f"{evaluation.micro_f1:.3f} ({n_correct:,} of {n_samples:,} correct)")
    classes = count(len(evaluation.classes), "class", "classes")
    console.field("macro F1", f"{evaluation.macro_f1:.3f} (mean of {classes})")
    if evaluation.unseen_labels:
        console.field("unseen", _unseen_message(evaluation.unseen_labels))
    console.print()
    console.table(
        ("class", "precision", "recall", "F1", "samples"),
        [
            (str(scores.label), scores.precision, scores.recall, scores.f1, scores.support)
            for scores in evaluation.classes
        ],
    )
    console.print()
    _show_confusion(console, evaluation)


def _unseen_message(unseen_labels: dict[object, int]) -> str:
    samples = count(sum(unseen_labels.values()), "sample")
    shown = ", ".join(f"{label} ({n:,})" for label, n in list(unseen_labels.items())[:MAX_PAIRS])
    more = f" and {len(unseen_labels) - MAX_PAIRS} more" if len(unseen_labels) > MAX_PAIRS else ""
    return f"{samples} with labels not in the training set, counted as errors: {shown}{more}"


def _show_confusion(console: Console, evaluation: Evaluation) -> None:
    numbers = [str(position) for position in range(1, len(evaluation.labels) + 1)]
    columns = ("", "true class", *numbers)
    rows = [
        (number, str(label), *counts)
        for number, label, counts in zip(
            numbers, evaluation.labels, evaluation.confusion.tolist(), strict=True
        )
    ]
    if len(numbers) <= MAX_CLASSES and console.fits(columns, rows):
        console.print("Confusion matrix: true classes in rows, predicted classes in columns.")
        console.table(columns, rows)
        return
    console.print("Most frequent errors (--json prints the whole confusion matrix):")
    pairs = evaluation.confused_pairs(MAX_PAIRS)
    console.table(("true class", "predicted", "samples"), pairs)
