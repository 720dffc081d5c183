"""Validation of class labels."""

from collections.abc import Sequence
from typing import Any

from cordwood.exceptions import DataError


def check_n_classes(labels: Sequence[Any], source: str) -> None:
    """Raise if there are fewer than two classes among the labels.

    Parameters
    ----------
    labels : sequence
        Hashable labels, one per sample.
    source : str
        Name of the data in the message, such as a file name.

    Examples
    --------
    >>> check_n_classes(["spam", "spam"], "mail.csv")
    Traceback (most recent call last):
    cordwood.exceptions.DataError: all 2 samples of mail.csv have the label 'spam'; \
a classifier needs at least two classes
    """
    classes = set(labels)
    if not classes:
        raise DataError(f"{source} has no samples; a classifier needs at least two classes")
    if len(classes) == 1:
        raise DataError(
            f"all {len(labels)} samples of {source} have the label {classes.pop()!r}; a classifier "
            "needs at least two classes"
        )


def check_no_missing(labels: Sequence[Any], source: str) -> None:
    """Raise if a label is None or NaN.

    Parameters
    ----------
    labels : sequence
        Labels, one per sample.
    source : str
        Name of the data in the message.

    Examples
    --------
    >>> check_no_missing(["spam", None], "labels")
    Traceback (most recent call last):
    cordwood.exceptions.DataError: labels[1] is None; remove unlabelled samples
    """
    for position, label in enumerate(labels):
        # NaN, NaT and pandas.NA are the only scalars that do not equal themselves.
        if label is None or _is_missing(label):
            raise DataError(f"{source}[{position}] is {label!r}; remove unlabelled samples")


def _is_missing(label: Any) -> bool:
    try:
        return bool(label != label)
    except (TypeError, ValueError):  # pandas.NA has no truth value; arrays have several
        return type(label).__name__ == "NAType"
