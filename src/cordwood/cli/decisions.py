"""Options of decisions: what `train` optimizes, and what `predict` leaves undecided."""

import math
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import typer

from cordwood.classifier.decision import Decision
from cordwood.classifier.text_classifier import TextClassifier
from cordwood.cli.commands import Predict, Train
from cordwood.cli.console import Console
from cordwood.cli.cost_file import read_cost_matrix
from cordwood.cli.first_checks import check_decision
from cordwood.cli.options import parse_settings
from cordwood.confidence.rule import ConfidenceRule
from cordwood.exceptions import CordwoodError
from cordwood.metrics.predictions import SET_SEPARATOR, Predictions

DECISION_SETTINGS = ("threshold", "min_labels")
"""Names of --set that are fields of a decision."""


def make_decision(args: Train, classes: Iterable[str]) -> Decision | None:
    """Return the decision of the options, and of names of --set; None without them."""
    check_decision(args)
    settings = parse_settings(args.set)
    fixed = {name: settings[name] for name in DECISION_SETTINGS if name in settings}
    if args.optimize is None:
        return Decision(**fixed) if fixed else None
    name, _, value = args.optimize.partition("=")
    return Decision(
        name,
        **fixed,
        precision=float(value) if value else None,
        cost_matrix=None if args.cost is None else read_cost_matrix(args.cost, classes),
        pos_label=args.positive,
    )


@contextmanager
def decision_errors() -> Iterator[None]:
    """Name the options in errors of a decision or classes that do not apply to the data."""
    try:
        yield
    except CordwoodError as error:
        message = re.sub(r"optimize='(\w+)'", r"--optimize \1", str(error))
        for param, option in (("pos_label", "--positive"), ("class_descriptions", "--classes")):
            message = message.replace(param, option)
        raise type(error)(message) from error


def make_rule(args: Predict, model: TextClassifier) -> ConfidenceRule:
    """Make the rule that the options define; raise a usage error if they are not valid."""
    try:
        return model.make_rule(
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


def set_columns(rule: ConfidenceRule) -> list[str]:
    """Return the names of the columns of a prediction set, if there is one."""
    return [] if rule.calibration is None else ["set", "is_single"]


def set_cells(predictions: Predictions, *, is_json: bool) -> list[tuple[Any, ...]]:
    """Return the values of these columns for each sample: in JSON lists, in CSV strings."""
    if predictions.sets is None:
        return [()] * len(predictions)
    found = [[str(label) for label in labels] for labels in predictions.label_sets()]
    return [
        (labels if is_json else SET_SEPARATOR.join(labels), len(labels) == 1) for labels in found
    ]


def show_rule(console: Console, rule: ConfidenceRule, model: TextClassifier) -> None:
    """Print what was chosen by the out-of-fold predictions."""
    if rule.calibration is not None and rule.coverage is not None:
        n_samples, needed = len(rule.calibration.y), rule.coverage / (1 - rule.coverage)
        if not np.isfinite(rule.calibration.thresholds(rule.coverage)).all():
            console.field(
                "note",
                f"a coverage of {rule.coverage:g} needs at least {math.ceil(needed - 1e-9):,} "
                f"training samples, and there are {n_samples:,}: each set has all labels",
            )
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
