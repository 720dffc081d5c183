"""How an evaluation looks: the two F1s, one line a class, and where the errors are."""

from cordwood.api import Evaluation
from cordwood.cli.console import Console, count

MOST_CLASSES = 20
MOST_PAIRS = 10


def show_scores(console: Console, evaluation: Evaluation) -> None:
    """Print the figures of an evaluation, the classes and the confusion table."""
    n_right = int(evaluation.confusion.trace())
    console.fact("micro F1", f"{evaluation.micro_f1:.3f}  ({n_right:,} of {evaluation.n:,} right)")
    classes = count(len(evaluation.classes), "class", "classes")
    console.fact("macro F1", f"{evaluation.macro_f1:.3f}  (mean over {classes})")
    if evaluation.unknown:
        console.fact("unknown", _unknown_sentence(evaluation.unknown))
    console.say()
    console.table(
        ("class", "precision", "recall", "F1", "rows"),
        [
            (str(scores.label), scores.precision, scores.recall, scores.f1, scores.support)
            for scores in evaluation.classes
        ],
    )
    console.say()
    _show_confusion(console, evaluation)


def _unknown_sentence(unknown: dict[object, int]) -> str:
    rows = count(sum(unknown.values()), "row")
    shown = ", ".join(f"{label} ({n:,})" for label, n in list(unknown.items())[:MOST_PAIRS])
    more = f" and {len(unknown) - MOST_PAIRS} more" if len(unknown) > MOST_PAIRS else ""
    return f"{rows} with labels that the model has never seen, counted as errors: {shown}{more}"


def _show_confusion(console: Console, evaluation: Evaluation) -> None:
    numbers = [str(position) for position in range(1, len(evaluation.labels) + 1)]
    columns = ("", "true class", *numbers)
    rows = [
        (number, str(label), *counts)
        for number, label, counts in zip(
            numbers, evaluation.labels, evaluation.confusion.tolist(), strict=True
        )
    ]
    if len(numbers) <= MOST_CLASSES and console.fits(columns, rows):
        console.say("Confusion: the row is the true class, the column the predicted one.")
        console.table(columns, rows)
        return
    pairs = evaluation.confused_pairs(MOST_PAIRS)
    console.say("The commonest errors (the whole table is in --json):")
    console.table(("true class", "predicted", "rows"), pairs)
