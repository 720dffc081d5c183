"""Model files: a fitted model in one file, whose loading runs no code.

A model file is an uncompressed zip archive of

- ``schema.json``, the object tree as serialized by skops,
- ``<number>.npy``, one file per array,
- ``cordwood.json``, the model card: protocol, versions, classes, fingerprint of the training data.

skops decides which scikit-learn classes may be constructed. Before skops sees a file, this module
checks further rules (protocol 1):

- Archive members are not compressed, which excludes decompression bombs.
- The tree contains only the node types in `_NODES`: containers, numbers, arrays and objects, but no
  functions, methods or constructor calls.
- Repeated objects are stored in full and each array belongs to one object, so that the tree is no
  larger than the file.
- The size of an array equals that in its header, and its dtype contains no Python objects.
- Classes whose compiled code does not check the bounds of its own state are rejected:
  scikit-learn's trees and kernel SVMs, numpy's random generators.

`save` applies the same checks to the bytes it writes: a file that `load` would reject is never
written.
"""

import io
import json
import math
import os
import warnings
from collections.abc import Callable, Collection, Mapping
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from platform import python_version
from typing import Any, TypeVar
from zipfile import ZIP_STORED, ZipFile, ZipInfo

import numpy as np
import skops.io
from sklearn.base import BaseEstimator
from sklearn.exceptions import InconsistentVersionWarning
from sklearn.utils.validation import check_is_fitted
from skops.io.exceptions import UntrustedTypesFoundException

from cordwood import _atomic as atomic
from cordwood.exceptions import ModelFileError

PROTOCOL = 1

# Classes of cordwood that a model may contain. Their methods must not read or write out of bounds
# for any state that an attacker may write into a file; they may raise.
TYPES = (
    "cordwood.stacking.combiners.variational_gaussian.VariationalGaussian",
    "cordwood.stacking.combiners.logarithmic_pool.LogarithmicPool",
    "cordwood.stacking.combiners.multi_response.MultiResponseRegression",
    "cordwood.stacking.combiners.scann.SCANN",
    "cordwood.stacking.combiners.decision_templates.DecisionTemplates",
    "cordwood.stacking.combiners.voting.Voting",
    "cordwood.ensemble.adaboost_m2.AdaBoostM2Classifier",
    "cordwood.naive_bayes.NaiveBayesClassifier",
    "cordwood.ensemble.boosted_forest.BoostedForestClassifier",
    "cordwood.ensemble.forests.ExtraTreesClassifier",
    "cordwood.ensemble.forests.RandomForestClassifier",
    "cordwood.ensemble.lazy_forest.LazyForestClassifier",
    "cordwood.linear_model.linear_svm.LinearSVMClassifier",
    "cordwood.neighbors.k_neighbors.NeighborsClassifier",
    "cordwood.stacking.oob_stacking.OOBStackingClassifier",
    "cordwood.rules.estimators.AdaUBoostClassifier",
    "cordwood.rules.estimators.LPUBoostClassifier",
    "cordwood.rules._records.RuleSet",
    "cordwood.text.vectorizer.TextVectorizer",
    "cordwood._empty_features.EmptyFeatureRemover",
    "cordwood.ensemble._tree_engine.forest.Forest",
)

_CARD = "cordwood.json"
_SCHEMA = "schema.json"
_PACKAGES = ("cordwood", "numpy", "scipy", "scikit-learn", "skops")

_SCALARS = {
    f"numpy.{kind.__name__}"
    for kind in np.sctypeDict.values()
    if issubclass(kind, np.integer | np.floating | np.str_)
}
# Allowed types of each node type; None: whatever skops trusts, and TYPES.
_NODES: Mapping[str, Collection[str] | None] = {
    "DictNode": {"builtins.dict"},
    "JsonNode": {"builtins.str"},
    "ListNode": {"builtins.list"},
    "NdArrayNode": {"numpy.ndarray", "numpy.bool", "numpy.bool_", *_SCALARS},
    "ObjectNode": None,
    "SetNode": {"builtins.set"},
    "TupleNode": {"builtins.tuple", *TYPES},
    # Types of dictionary keys. Not bool: skops loads the key False as True.
    "TypeNode": {"builtins.float", "builtins.int", "builtins.str", *_SCALARS},
}
# Trusted by skops, but libsvm does not check the number of support vectors in their state.
_UNSAFE_ESTIMATORS = {
    f"sklearn.svm._classes.{name}" for name in ("NuSVC", "NuSVR", "OneClassSVM", "SVC", "SVR")
}

_T = TypeVar("_T")


@dataclass(frozen=True, kw_only=True)
class ModelCard:
    """Metadata of a model file.

    Parameters
    ----------
    protocol : int
        Version of the file format.
    versions : dict of str to str
        Versions of Python and of the packages that wrote the file.
    created : str
        Time of writing in UTC, in ISO 8601 format.
    classes : tuple of str, default=()
        Labels as text, in the order of `classes_` of the model; empty if it has none.
    fingerprint : str, optional
        Hash of the training data, as returned by `Corpus.fingerprint`.
    recipe : str, optional
        Name of the recipe.
    columns : dict, default={}
        Columns of the training file, such as ``{"text": ["title", "body"]}``.
    """

    protocol: int
    versions: dict[str, str]
    created: str
    classes: tuple[str, ...] = ()
    fingerprint: str | None = None
    recipe: str | None = None
    columns: dict[str, Any] = field(default_factory=dict)


def save(
    model: Any,
    path: str | os.PathLike[str],
    *,
    fingerprint: str | None = None,
    recipe: str | None = None,
    columns: Mapping[str, Any] | None = None,
) -> Path:
    """Write a fitted model to a file.

    The file is replaced atomically: an error leaves an existing file unchanged.

    Parameters
    ----------
    model : estimator
        Fitted estimator or pipeline of cordwood and scikit-learn. Functions, sparse matrices,
        random generators, and scikit-learn's trees and kernel SVMs are not supported, because a
        file that may contain them is not safe to load.
    path : str or path-like
        File to create or replace.
    fingerprint : str, optional
        Hash of the training data, as returned by `Corpus.fingerprint`.
    recipe : str, optional
        Name of the recipe.
    columns : mapping, optional
        Columns of the training file, as JSON-serializable values.

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
    if not isinstance(model, BaseEstimator):
        raise ModelFileError(
            f"cannot write {path}: model must be a fitted estimator; got {type(model).__name__}"
        )
    check_is_fitted(model, msg="this %(name)s is not fitted; fit it before saving it")
    card = ModelCard(
        protocol=PROTOCOL,
        versions={"python": python_version(), **{name: version(name) for name in _PACKAGES}},
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        classes=tuple(str(label) for label in getattr(model, "classes_", ())),
        fingerprint=fingerprint,
        recipe=recipe,
        columns=dict(columns or {}),
    )
    try:
        card_text = json.dumps(asdict(card), indent=2)
    except (TypeError, ValueError) as error:
        raise ModelFileError(
            f"cannot write {path}: columns must be JSON-serializable ({_brief(error)})"
        ) from error
    try:
        data = _pack(model, card_text)
        _parse_card(data)
        _build(data)
    except _RejectedFile as reason:
        raise ModelFileError(f"cannot write {path}: the model {reason}") from None
    except MemoryError:
        raise
    except Exception as error:
        # skops calls code of the estimator, which may raise anything.
        raise ModelFileError(
            f"cannot write {path}: the model cannot be serialized ({_brief(error)})"
        ) from error
    with atomic.write(target, "wb") as file:
        file.write(data)
    return target


def load(path: str | os.PathLike[str]) -> Any:
    """Load a model file.

    Loading runs no code from the file.

    Parameters
    ----------
    path : str or path-like
        File written by `save`.

    Returns
    -------
    estimator
        Fitted model. Its predictions are bit-identical to those of the saved model if the package
        versions are the same.

    Raises
    ------
    ModelFileError
        If the file is not a model file, is damaged, contains a type that a model may not contain,
        or was written by a newer version of cordwood.

    Warns
    -----
    UserWarning
        If the file was written with another minor version of scikit-learn.

    See Also
    --------
    save : Write a model file.
    load_with_card : Load a model and its metadata.
    """
    card, model = _open(path, _read)
    _check_sklearn_version(card, path)
    return model


def load_with_card(path: str | os.PathLike[str]) -> tuple[Any, ModelCard]:
    """Load a model file together with its metadata, reading the file once.

    Parameters
    ----------
    path : str or path-like
        File written by `save`.

    Returns
    -------
    model : estimator
        Fitted model, as returned by `load`.
    card : ModelCard
        Versions, classes and origin of the model, as stated in the file.

    Raises
    ------
    ModelFileError
        If the file is not a model file, is damaged, contains a type that a model may not contain,
        or was written by a newer version of cordwood.

    Warns
    -----
    UserWarning
        If the file was written with another minor version of scikit-learn.
    """
    card, model = _open(path, _read)
    _check_sklearn_version(card, path)
    return model, card


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
    """
    return _open(path, _parse_card)


def _check_sklearn_version(card: ModelCard, path: str | os.PathLike[str]) -> None:
    """Warn the caller of the calling function if scikit-learn has another minor version."""
    saved, installed = _shorten(card.versions.get("scikit-learn", "?")), version("scikit-learn")
    if saved.split(".")[:2] != installed.split(".")[:2]:
        warnings.warn(
            f"{path} was saved with scikit-learn {saved}, but {installed} is installed; its "
            "predictions may differ: retrain the model, or install that version",
            stacklevel=3,
        )


class _RejectedFile(Exception):
    """A file is rejected; the message is the predicate of a sentence about the file."""


def _open(path: str | os.PathLike[str], read: Callable[[bytes], _T]) -> _T:
    """Apply `read` to the content of a file and convert any error to a `ModelFileError`.

    The file is read once, so that the bytes that are checked are those that are loaded.
    """
    file = Path(path)
    if not file.is_file():
        reason = "is not a file" if file.exists() else "does not exist"
        raise ModelFileError(f"{path} {reason}; give a model file written by cordwood")
    try:
        return read(file.read_bytes())
    except _RejectedFile as reason:
        raise ModelFileError(f"cannot load {path}: it {reason}") from None
    except OSError as error:
        raise ModelFileError(f"cannot read {path}: {error.strerror or error}") from error
    except MemoryError:
        raise
    except Exception as error:
        # A damaged file may raise anything in zipfile, json, numpy, skops or an estimator.
        raise ModelFileError(
            f"{path} is damaged or truncated ({_brief(error)}); copy or save it again"
        ) from error


def _pack(model: Any, card_text: str) -> bytes:
    buffer = io.BytesIO(skops.io.dumps(model, compression=ZIP_STORED))
    with ZipFile(buffer, "a", compression=ZIP_STORED) as archive:
        archive.writestr(_CARD, card_text)
    return buffer.getvalue()


def _parse_card(data: bytes) -> ModelCard:
    if not data.startswith(b"PK\x03\x04"):
        hint = ", but seems to be a pickle, which may run code" if data[:1] == b"\x80" else ""
        raise _RejectedFile(f"is not a cordwood model file{hint}")
    with ZipFile(io.BytesIO(data)) as archive:
        if _CARD not in archive.namelist():
            raise _RejectedFile(f"is not a cordwood model file: it contains no {_CARD}")
        # Holds for all protocols; further checks depend on the protocol.
        _check_sizes([archive.getinfo(_CARD)], data)
        fields = json.loads(archive.read(_CARD))
    protocol = fields["protocol"]
    if type(protocol) is not int or protocol < 1:
        raise _RejectedFile(f"has no valid protocol number: {_shorten(protocol)}")
    if protocol > PROTOCOL:
        raise _RejectedFile(
            f"has protocol {protocol}, but cordwood {version('cordwood')} supports protocols up to "
            f"{PROTOCOL}; upgrade cordwood"
        )
    card = ModelCard(**{**fields, "classes": tuple(fields["classes"])})
    texts = (*card.versions, *card.versions.values(), card.created, *card.classes)
    optional = [text for text in (card.fingerprint, card.recipe) if text is not None]
    if not all(isinstance(text, str) for text in (*texts, *optional)):
        raise _RejectedFile("has a model card with a value of the wrong type")
    if not isinstance(card.columns, dict):
        raise _RejectedFile("has a model card whose columns are not a mapping")
    return card


def _read(data: bytes) -> tuple[ModelCard, Any]:
    card = _parse_card(data)
    return card, _READERS[card.protocol](data)


def _build(data: bytes) -> Any:
    """Check the content of a file of protocol 1, then construct the model with skops."""
    with ZipFile(io.BytesIO(data)) as archive:
        names = archive.namelist()
        if len(set(names)) < len(names):
            raise _RejectedFile("has two archive members of the same name")
        _check_sizes(archive.infolist(), data)
        audit = _Audit()
        audit.visit(json.loads(archive.read(_SCHEMA)))
        _reject_types(audit.rejected)
        unexpected = set(names) - audit.arrays - {_CARD, _SCHEMA}
        if unexpected:
            raise _RejectedFile(f"has an unexpected archive member: {_shorten(min(unexpected))}")
        for name in audit.arrays:
            _check_array(archive, name)
    try:
        with warnings.catch_warnings():
            # `load` warns once for the whole file.
            warnings.simplefilter("ignore", InconsistentVersionWarning)
            model = skops.io.loads(data, trusted=list(TYPES))
    except UntrustedTypesFoundException:
        _reject_types(set(skops.io.get_untrusted_types(data=data)) - set(TYPES))
        raise
    if not isinstance(model, BaseEstimator):
        raise _RejectedFile(f"contains no estimator, but an object of type {type(model).__name__}")
    check_is_fitted(model)
    return model


# Readers of released protocols are kept.
_READERS: Mapping[int, Callable[[bytes], Any]] = {1: _build}


def _check_sizes(members: list[ZipInfo], data: bytes) -> None:
    if any(member.compress_type != ZIP_STORED for member in members):
        raise _RejectedFile("has compressed archive members, which a model file may not have")
    if sum(member.file_size for member in members) > len(data):
        raise _RejectedFile("has archive members that are larger than the file")


def _check_array(archive: ZipFile, name: str) -> None:
    with archive.open(name) as member:
        read_header = _HEADERS[np.lib.format.read_magic(member)]
        shape, _, dtype = read_header(member)
        n_bytes = math.prod(shape) * dtype.itemsize
        if dtype.hasobject or not dtype.itemsize:
            raise _RejectedFile(
                f"has an array of dtype {_shorten(dtype)}, which a model may not have"
            )
        if member.tell() + n_bytes != archive.getinfo(name).file_size:
            raise _RejectedFile("has an array whose size differs from its header")


_HEADERS = {
    (1, 0): np.lib.format.read_array_header_1_0,
    (2, 0): np.lib.format.read_array_header_2_0,
}


class _Audit:
    """Traversal of the node tree of skops that checks each node and constructs nothing."""

    def __init__(self) -> None:
        self.rejected: set[str] = set()
        self.arrays: set[str] = set()
        self._sizes: dict[Any, int] = {}

    def visit(self, node: Any) -> int:
        """Check a node and its descendants and return their number."""
        name, loader = f"{node['__module__']}.{node['__class__']}", node["__loader__"]
        types = _NODES.get(loader, ())
        if name in _UNSAFE_ESTIMATORS or (types is not None and name not in types):
            self.rejected.add(name)
            return 1
        # skops replaces a node by the first one of the same id. Unless all of them have the same
        # size, a small file may expand to an exponentially large or cyclic tree.
        identity = node["__id__"]
        if type(identity) is not int or identity < 1:
            raise _RejectedFile("has an object without a valid id")
        expected = self._sizes.get(identity)
        self._sizes.setdefault(identity, 0)
        size = 1 + sum(self.visit(child) for child in self._children(loader, node))
        if expected not in (None, size):
            raise _RejectedFile("has an object that contains itself")
        self._sizes[identity] = size
        return size

    def _children(self, loader: str, node: Any) -> list[Any]:
        if loader == "DictNode":
            if len(node["content"]) != len(node["key_types"]["content"]):
                raise _RejectedFile(
                    "has a dictionary with keys that are equal as strings, such as 1 and '1'"
                )
            return [node["key_types"], *node["content"].values()]
        if loader in ("ListNode", "SetNode", "TupleNode"):
            return list(node["content"])
        if loader == "ObjectNode":
            return [content] if (content := node.get("content")) is not None else []
        if loader == "NdArrayNode" and node["type"] == "json":
            return [*node["content"], node["shape"]]
        if loader == "NdArrayNode":
            if node["file"] != f"{node['__id__']}.npy":
                raise _RejectedFile("has an array that is shared between objects")
            self.arrays.add(node["file"])
        return []


def _reject_types(names: Collection[str]) -> None:
    if names:
        shown = ", ".join(_shorten(name) for name in sorted(names)[:3])
        more = f" and {len(names) - 3} more types" if len(names) > 3 else ""
        raise _RejectedFile(f"contains {shown}{more}, which a model file may not contain")


def _shorten(found: object) -> str:
    """Escape and truncate untrusted text for an error message."""
    text = ascii(str(found))[1:-1]
    return text if len(text) <= 80 else f"{text[:77]}..."


def _brief(error: Exception) -> str:
    return f"{type(error).__name__}: {_shorten(error)}"
