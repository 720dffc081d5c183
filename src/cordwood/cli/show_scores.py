"""Printing of an evaluation: F1 scores, scores of the classes, and the confusion matrix."""

from collections.abc import Sequence

from cordwood._base.wording import count
from cordwood.cli.console import Console
from cordwood.metrics.scoring import ClassScores, Evaluation, MultiLabelEvaluation

MAX_CLASSES = 20
MAX_PAIRS = 10


def show_scores(console: Console, evaluation: Evaluation | MultiLabelEvaluation) -> None:
    """Print the scores of an evaluation and, with one label per sample, the confusion matrix."""
    if isinstance(evaluation, MultiLabelEvaluation):
        _show_multilabel_scores(console, evaluation)
        return
    n_correct = int(evaluation.confusion.trace())
    n_samples = evaluation.n_samples
    console.field("micro F1", f"{evaluation.micro_f1:.3f} ({n_correct:,} of {n_samples:,} correct)")
    classes = count(len(evaluation.classes), "class", "classes")
    console.field("macro F1", f"{evaluation.macro_f1:.3f} (mean of {classes})")
    if evaluation.unseen_labels:
        console.field("unseen", _unseen_message(evaluation.unseen_labels))
    console.print()
    _show_classes(console, "class", evaluation.classes)
    console.print()
    _show_confusion(console, evaluation)


def _show_multilabel_scores(console: Console, evaluation: MultiLabelEvaluation) -> None:
    samples = count(evaluation.n_samples, "sample")
    labels = count(len(evaluation.classes), "label")
    console.field("micro F1", f"{evaluation.micro_f1:.3f} (of all labels of {samples})")
    console.field("macro F1", f"{evaluation.macro_f1:.3f} (mean of {labels})")
    console.field("sample F1", f"{evaluation.samples_f1:.3f} (mean of {samples})")
    console.field("exact", f"{evaluation.subset_accuracy:.3f} (share of samples without error)")
    console.field(
        "ranking", f"{evaluation.ranking_precision:.3f} (label ranking average precision)"
    )
    if evaluation.unseen_labels:
        console.field("unseen", _unseen_message(evaluation.unseen_labels))
    console.print()
    _show_classes(console, "label", evaluation.classes)


def _show_classes(console: Console, name: str, classes: Sequence[ClassScores]) -> None:
    console.table(
        (name, "precision", "recall", "F1", "samples"),
        [
            (str(scores.label), scores.precision, scores.recall, scores.f1, scores.support)
            for scores in classes
        ],
    )


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
