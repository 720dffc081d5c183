"""Model files of `TextClassifier`: loading, with the schema that persist does not know."""

import os
from collections.abc import Iterable
from typing import Any

from cordwood import persist
from cordwood.classifier.schema import SCHEMAS
from cordwood.persist import ModelCard

persist.REGISTRY.add(SCHEMAS)


def load(path: str | os.PathLike[str], *, trusted: Iterable[type | str] = ()) -> Any:
    """Load a model file.

    Loading runs no code from the file, and the content is validated: a file of unknown origin
    cannot crash the process, read or write foreign memory, or take unlimited time or memory. It
    may still contain a model that makes wrong predictions.

    Parameters
    ----------
    path : str or path-like
        File written by `TextClassifier.save` or `cordwood.save`.
    trusted : iterable of type or str, default=()
        Classes that are accepted in addition to those of the recipes, or their full names, which
        are imported. Only name classes if you trust the file: their attributes are not validated.

    Returns
    -------
    TextClassifier or other estimator
        Fitted model with `n_jobs=None`. If it was saved with ``precision="full"``, its predictions
        are bit-identical to those of the saved model for the same versions of the packages.

    Raises
    ------
    ModelFileError
        If the file is not a model file, is damaged, contains something that a model may not
        contain, or was written by a newer version of cordwood.

    Warns
    -----
    UserWarning
        If the file was written with another minor version of scikit-learn.
    """
    return load_with_card(path, trusted=trusted)[0]


def load_with_card(
    path: str | os.PathLike[str], *, trusted: Iterable[type | str] = ()
) -> tuple[Any, ModelCard]:
    """Load a model file together with its metadata, reading the file once."""
    return persist.load_with_card(path, trusted=trusted)
