"""Model files given on the command line: loading, and errors of damaged or malicious ones."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from cordwood import persist
from cordwood.exceptions import CordwoodError, ModelFileError
from cordwood.persist import ModelCard


def load_model(path: Path) -> tuple[Any, ModelCard]:
    """Load a classifier and its metadata.

    Parameters
    ----------
    path : Path
        Model file.

    Returns
    -------
    model : estimator
        Fitted classifier.
    card : ModelCard
        Metadata of the model file, with valid columns.
    """
    model, card = persist.load_with_card(path)
    for name, column in card.columns.items():
        names = column if isinstance(column, list) else [column]
        if not names or not all(isinstance(entry, str) for entry in names):
            raise ModelFileError(f"{path} is damaged: its {name} column is {column!r}; train again")
    if not hasattr(model, "predict_proba") or not hasattr(model, "classes_"):
        raise ModelFileError(
            f"{path} has a model of type {type(model).__name__}, which is not a classifier with "
            "probabilities; train one with cordwood"
        )
    return model, card


@contextmanager
def model_errors(path: Path) -> Iterator[None]:
    """Convert errors of a model to errors about its file.

    A file may pass the checks of `persist.load` and contain a state with which a prediction fails
    in any way. The commands use this only for models that they have loaded.

    Parameters
    ----------
    path : Path
        Model file, for the message.
    """
    try:
        yield
    except (CordwoodError, OSError, MemoryError):
        raise
    except Exception as error:
        raise ModelFileError(
            f"the model in {path} cannot predict ({type(error).__name__}: {error}); the file is "
            "damaged, or was written by another version of cordwood or scikit-learn: train again"
        ) from error
