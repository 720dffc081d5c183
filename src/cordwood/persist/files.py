"""Write and load model files."""

from __future__ import annotations

import hashlib
import json
import os
import warnings
from collections.abc import Callable, Iterable
from importlib.metadata import version
from pathlib import Path
from typing import IO, Any, TypeVar, cast

from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from cordwood._base import atomic, strict_json
from cordwood._schema.budget import Budget, memory_limit
from cordwood._schema.errors import Rejected, shorten
from cordwood._schema.interface import InterfaceOf
from cordwood.exceptions import ModelFileError
from cordwood.persist._archive import (
    ARRAYS,
    CARD,
    TREE,
    ArchiveWriter,
    Damaged,
    read_card,
    read_content,
)
from cordwood.persist._arrays import ArrayReader, ArrayWriter
from cordwood.persist._objects import ModelDecoder, ModelEncoder, Trusted, resolve_trusted
from cordwood.persist._trial import try_model
from cordwood.persist.model_card import (
    ModelCard,
    TrainingRecord,
    check_classes,
    format_card,
    make_card,
    parse_card,
)
from cordwood.persist.registry import Interfaces

_T = TypeVar("_T")


def save(
    model: Any,
    path: str | os.PathLike[str],
    *,
    precision: str = "compact",
    bundle_encoder: bool = False,
    trusted: Iterable[type | str] = (),
    provenance: TrainingRecord | None = None,
) -> Path:
    """Write a fitted model to a file.

    The file contains what predictions need, the constructor parameters, and the out-of-fold
    predictions and expected scores of a `TextClassifier`, but nothing that only training uses, such
    as meta-features. It is replaced atomically: an error leaves an existing file unchanged.

    Parameters
    ----------
    model : estimator
        Fitted estimator or pipeline of the classes that the recipes use, see docs/model-files.md.
    path : str or path-like
        File to create or replace.
    precision : {"compact", "full"}, default="compact"
        "compact" rounds the coefficients of linear models, which changes probabilities by less
        than 0.001; "full" keeps every bit.
    bundle_encoder : bool, default=False
        Whether the file contains the sentence encoders of the model, which cannot be objects. By
        default, it contains their names and fingerprints, and they must be installed where the
        model is loaded.
    trusted : iterable of type or str, default=()
        Further classes that the model may contain, or their full names. Their attributes must be
        numbers, strings, lists, tuples, dicts, sets, arrays, sparse matrices or estimators. `load`
        needs the same list.
    provenance : TrainingRecord, optional
        How the model was trained, for the model card.

    Returns
    -------
    Path
        `path`.

    Raises
    ------
    ModelFileError
        If `load` would reject the file. Nothing is written.

    See Also
    --------
    load : Load a model file.
    read_model_card : Read the metadata of a model file.

    Notes
    -----
    Parameters that a file cannot contain are replaced by their defaults: `n_jobs`, `verbose` and
    `memory`, a `random_state` that is not an integer, a `cv` that is not a number, and a callable
    `oob_score`.

    Examples
    --------
    >>> import tempfile
    >>> from cordwood import LinearSVMClassifier
    >>> model = LinearSVMClassifier().fit([[0.0], [1.0]], ["no", "yes"])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = save(model, Path(folder, "model.cordwood"))
    ...     read_model_card(file).classes, load(file).predict([[2.0]])
    (('no', 'yes'), array(['yes'], dtype='<U3'))
    """
    target = Path(path)
    if target.is_dir() or not target.parent.is_dir():
        reason = (
            "it is a directory" if target.is_dir() else f"directory {target.parent} does not exist"
        )
        raise ModelFileError(f"cannot write {path}: {reason}")
    if precision not in ("compact", "full"):
        raise ModelFileError(f"precision must be 'compact' or 'full'; got {precision!r}")
    if not isinstance(model, BaseEstimator):
        raise ModelFileError(
            f"cannot write {path}: model must be a fitted estimator; got {type(model).__name__}"
        )
    classes = resolve_trusted(trusted)
    check_is_fitted(model, msg="this %(name)s is not fitted; fit it before saving it")
    try:
        card = format_card(make_card(model, precision, provenance or TrainingRecord()))
    except Rejected as reason:
        raise ModelFileError(f"cannot write {path}: {reason}") from None
    try:
        with atomic.write(target, "wb") as file:
            _write(
                file,
                model,
                card,
                classes,
                is_compact=precision == "compact",
                bundles_encoder=bundle_encoder,
            )
    except Rejected as problem:
        raise ModelFileError(f"cannot write {path}: the model {problem}") from None
    except (MemoryError, OSError):
        raise
    except Exception as error:
        # The checks may call code of any estimator.
        raise ModelFileError(
            f"cannot write {path}: the model is not valid ({_describe(error)})"
        ) from error
    return target


def load(path: str | os.PathLike[str], *, trusted: Iterable[type | str] = ()) -> Any:
    """Load a model file.

    Loading runs no code from the file, and the content is validated: a file of unknown origin
    cannot crash the process, read or write foreign memory, or take unlimited time or memory. It
    may still contain a model that makes wrong predictions.

    Parameters
    ----------
    path : str or path-like
        File written by `save`.
    trusted : iterable of type or str, default=()
        Classes that are accepted in addition to those of the recipes, or their full names, which
        are imported. Only name classes if you trust the file: their attributes are not validated.

    Returns
    -------
    estimator
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

    See Also
    --------
    save : Write a model file.
    read_model_card : Read the metadata of a model file.

    Examples
    --------
    >>> import tempfile
    >>> import cordwood
    >>> model = cordwood.TextClassifier("nb").fit(["good film", "bad film"] * 5, ["+", "-"] * 5)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     model.save(f"{folder}/films.cordwood")
    ...     loaded = cordwood.load(f"{folder}/films.cordwood")
    >>> loaded.predict(["a good one"]).tolist()
    ['+']
    """
    return _load(path, trusted)[0]


def load_with_card(
    path: str | os.PathLike[str], *, trusted: Iterable[type | str] = (), digest: str | None = None
) -> tuple[Any, ModelCard]:
    """Load a model file together with its metadata, reading the file once; see `load`.

    If the SHA-256 `digest` is given, a file with another one is an error.
    """
    return _load(path, trusted, digest)


def compute_digest(path: str | os.PathLike[str]) -> str:
    """Return the SHA-256 digest of a model file, without loading it."""
    return _open(path, _hash)


def read_model_card(path: str | os.PathLike[str]) -> ModelCard:
    """Read the metadata of a model file without loading the model.

    Parameters
    ----------
    path : str or path-like
        File written by `save`.

    Returns
    -------
    ModelCard
        Versions, classes and origin of the model, as stated in the file.

    Raises
    ------
    ModelFileError
        If the file is not a model file, its card is damaged, or it was written by a newer version
        of cordwood.

    Examples
    --------
    >>> import tempfile
    >>> from cordwood import TextClassifier
    >>> from cordwood.persist import read_model_card
    >>> model = TextClassifier("nb").fit(["good film", "bad film"] * 5, ["+", "-"] * 5)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     model.save(f"{folder}/films.cordwood")
    ...     card = read_model_card(f"{folder}/films.cordwood")
    >>> card.recipe, card.classes, card.precision
    (None, ('+', '-'), 'compact')
    """
    return _open(path, lambda file: parse_card(read_card(file)))


def _write(
    file: IO[bytes],
    model: Any,
    card: bytes,
    trusted: Trusted,
    *,
    is_compact: bool,
    bundles_encoder: bool,
) -> None:
    """Write all members, one array at a time."""
    budget = Budget()
    _check_input(model, Interfaces().of)
    with ArchiveWriter(file, budget) as archive:
        with archive.open(ARRAYS) as member:
            arrays = ArrayWriter(member, budget)
            encoder = ModelEncoder(
                arrays, is_compact=is_compact, bundles_encoder=bundles_encoder, trusted=trusted
            )
            tree = {"model": encoder.encode(model), "arrays": arrays.table}
        archive.write(TREE, json.dumps(tree, separators=(",", ":")).encode())
        archive.write(CARD, card)
        archive.write_digests()
    budget.check(memory_limit(file.tell()))


def _check_input(model: Any, interface_of: InterfaceOf) -> None:
    """Raise Rejected if a model takes columns of several kinds that nothing converts."""
    if interface_of(model).input_kinds is not None:
        raise Rejected(
            "takes columns of several kinds; make its first step a TableConverter, as "
            "recipes.make(columns=...) does"
        )


def _load(
    path: str | os.PathLike[str], trusted: Iterable[type | str], digest: str | None = None
) -> tuple[Any, ModelCard]:
    classes = resolve_trusted(trusted)
    card, model = _open(path, lambda file: _read(file, classes, digest))
    saved, installed = shorten(card.versions.get("scikit-learn", "?")), version("scikit-learn")
    if saved.split(".")[:2] != installed.split(".")[:2]:
        warnings.warn(
            f"{path} was saved with scikit-learn {saved}, but {installed} is installed; its "
            "predictions may differ: retrain the model, or install that version",
            stacklevel=3,  # the caller of `load`
        )
    return model, card


def _hash(file: IO[bytes]) -> str:
    return hashlib.file_digest(cast(Any, file), "sha256").hexdigest()


def _read(file: IO[bytes], trusted: Trusted, digest: str | None) -> tuple[ModelCard, Any]:
    """Verify the digests, then parse and build the model."""
    # Of the file that is open: a file that replaces it from now on has another content.
    if digest is not None and _hash(file) != digest:
        raise Rejected(
            f"was replaced by another model: its SHA-256 digest is not {digest}; give the file "
            "that has it, or start again with the new one"
        )
    file.seek(0)
    content = read_content(file)
    card = parse_card(content.card)
    try:
        tree = strict_json.parse(content.tree)
        if not isinstance(tree, dict) or set(tree) != {"model", "arrays"}:
            raise Rejected("has an object tree of the wrong structure")
        arrays = ArrayReader(tree["arrays"], content.arrays, content.budget)
        decoder = ModelDecoder(arrays, trusted=trusted)
        model = decoder.decode(tree["model"])
        if not isinstance(model, BaseEstimator):
            raise Rejected(f"contains no estimator, but an object of type {type(model).__name__}")
        check_is_fitted(model)
        check_classes(card, model)
        _check_input(model, decoder.interface_of)
        if not trusted:
            try_model(model, decoder.interface_of(model), decoder.parts)
    except (Rejected, MemoryError):
        raise
    except Exception as error:
        # The digests match, so that the file was written like this.
        raise Rejected(f"is not a valid model ({_describe(error)})") from error
    return card, model


def _open(path: str | os.PathLike[str], read: Callable[[IO[bytes]], _T]) -> _T:
    """Apply `read` to a file and convert any error to a `ModelFileError`."""
    if not Path(path).is_file():
        reason = "is not a file" if Path(path).exists() else "does not exist"
        raise ModelFileError(f"{path} {reason}; give a model file written by cordwood")
    try:
        with open(path, "rb") as file:
            return read(file)
    except Rejected as reason:
        raise ModelFileError(f"cannot load {path}: it {reason}") from None
    except OSError as error:
        raise ModelFileError(f"cannot read {path}: {error.strerror or error}") from error
    except MemoryError:
        raise
    except Exception as error:
        # A damaged file may raise anything in zipfile, zlib or json.
        detail = shorten(error) if isinstance(error, Damaged) else _describe(error)
        raise ModelFileError(
            f"{path} is damaged or truncated ({detail}); copy or save it again"
        ) from error


def _describe(error: BaseException) -> str:
    return f"{type(error).__name__}: {shorten(error)}"
