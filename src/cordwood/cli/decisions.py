"""Options of `cordwood predict` for prediction sets, undecided samples and unknown samples."""

from typing import Any

import typer

from cordwood.cli.commands import Predict
from cordwood.cli.console import Console
from cordwood.confidence.decision_rule import DecisionRule, make_decision_rule
from cordwood.exceptions import CordwoodError
from cordwood.metrics.predictions import SET_SEPARATOR, MultiLabelPredictions, Predictions


def make_rule(args: Predict, model: Any) -> DecisionRule:
    """Make the rule that the options define; raise a usage error if they are not valid."""
    try:
        return make_decision_rule(
            model,
            coverage=args.coverage,
            class_conditional=args.class_conditional,
            min_confidence=args.min_confidence,
            max_error=args.max_error,
            unknown=args.unknown,
        )
    except CordwoodError as error:
        raise type(error)(_to_option_names(str(error))) from error
    except ValueError as error:
        raise typer.BadParameter(_to_option_names(str(error))) from error


def set_columns(rule: DecisionRule) -> list[str]:
    """Return the names of the columns of a prediction set, if there is one."""
    return [] if rule.calibration is None else ["set", "is_single"]


def set_cells(
    predictions: Predictions | MultiLabelPredictions, *, is_json: bool
) -> list[tuple[Any, ...]]:
    """Return the values of these columns for each sample: in JSON lists, in CSV strings."""
    if isinstance(predictions, MultiLabelPredictions) or predictions.sets is None:
        return [()] * len(predictions)
    found = [[str(label) for label in labels] for labels in predictions.label_sets()]
    return [
        (labels if is_json else SET_SEPARATOR.join(labels), len(labels) == 1) for labels in found
    ]


def show_rule(console: Console, rule: DecisionRule, model: Any) -> None:
    """Print what was chosen by the out-of-fold predictions."""
    if rule.calibration is not None and rule.coverage is not None:
        pooled = rule.calibration.pooled_classes(rule.coverage)
        if len(pooled):
            labels = ", ".join(str(label) for label in model.classes_[pooled])
            console.field("note", f"classes too small for a coverage of their own: {labels}")
    if rule.threshold is not None:
        chosen = rule.threshold
        console.field(
            "decided",
            f"from a probability of {chosen.confidence:.3f}, for an error of at most "
            f"{chosen.max_error:.1%} with {1 - chosen.delta:.0%} confidence: out of fold, "
            f"{chosen.decided:.1%} of the training samples, with an error of {chosen.error:.1%}",
        )


def _to_option_names(message: str) -> str:
    for name in ("class_conditional", "min_confidence", "max_error", "coverage", "unknown"):
        message = message.replace(name, f"--{name.replace('_', '-')}")
    return message
