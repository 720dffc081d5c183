"""Model files: a fitted model in one file that cannot run code when it is opened.

A model file is a zip archive of skops's `schema.json` (the tree of objects) and `<number>.npy`
(the arrays), and of `cordwood.json` (the card: protocol, versions, classes, origin of the data).
skops decides which classes of scikit-learn may be built; this room is stricter than skops in all
else, and judges a file before skops sees it, by the rules of protocol 1:

- Members are stored, not compressed, so a small file cannot unfold into a large one.
- The tree holds the nodes of `_NODES` only: containers, numbers, arrays and objects. There are no
  functions, no methods and no constructor calls in it.
- An object seen again is written out again in full, and an array belongs to one object, so the
  tree is no larger than the file.
- An array has as many bytes as its header says, and no Python objects among them.
- Objects whose compiled code trusts its own state, and could be made to read outside its memory,
  are left out: scikit-learn's trees and kernel machines, numpy's random generators.

A file is judged and rebuilt before it is written, too: what cannot be read is never saved.
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

# Our own classes that a model may be made of. Whatever is named here must bear any state that a
# stranger writes into it: methods may fail on it, but may not read or write outside its arrays.
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
    "cordwood.ensemble._tree_engine.records.Forest",
)

_CARD = "cordwood.json"
_SCHEMA = "schema.json"
_PACKAGES = ("cordwood", "numpy", "scipy", "scikit-learn", "skops")

_SCALARS = {
    f"numpy.{kind.__name__}"
    for kind in np.sctypeDict.values()
    if issubclass(kind, np.integer | np.floating | np.str_)
}
# Which types each kind of node may have; None leaves it to skops, with TYPES.
_NODES: Mapping[str, Collection[str] | None] = {
    "DictNode": {"builtins.dict"},
    "JsonNode": {"builtins.str"},
    "ListNode": {"builtins.list"},
    "NdArrayNode": {"numpy.ndarray", "numpy.bool", "numpy.bool_", *_SCALARS},
    "ObjectNode": None,
    "SetNode": {"builtins.set"},
    "TupleNode": {"builtins.tuple", *TYPES},
    # The types of dictionary keys. Not bool: skops reads the key False back as True.
    "TypeNode": {"builtins.float", "builtins.int", "builtins.str", *_SCALARS},
}
# Classes that skops would trust, but which count on the numbers of support vectors they are told.
_CREDULOUS = {
    f"sklearn.svm._classes.{name}" for name in ("NuSVC", "NuSVR", "OneClassSVM", "SVC", "SVR")
}

_T = TypeVar("_T")


@dataclass(frozen=True, kw_only=True)
class Card:
    """What a model file says about its model.

    Parameters
    ----------
    protocol : int
        Version of the file format.
    versions : dict of str to str
        Versions of Python and of the packages that wrote the file.
    created : str
        Time of writing, UTC, as ISO 8601.
    classes : tuple of str
        Labels as text, in the order of the model's `classes_`; empty if it has none.
    fingerprint : str, optional
        Hash of the training data, as `Corpus.fingerprint` gives it.
    recipe : str, optional
        Name of the recipe that the model was made from.
    columns : dict
        Where the training file had what, such as ``{"text": ["title", "body"]}``.
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
    """Write a fitted model to a file, whole or not at all.

    Parameters
    ----------
    model : estimator
        A fitted estimator or pipeline of cordwood and scikit-learn. Functions, sparse matrices,
        random generators, and scikit-learn's trees and kernel machines cannot be saved: a file
        that may hold them is not safe to open.
    path : path
        The file to write or to replace.
    fingerprint : str, optional
        Hash of the training data, as `Corpus.fingerprint` gives it.
    recipe : str, optional
        Name of the recipe that the model was made from.
    columns : mapping, optional
        Where the training file had what, in terms of JSON.

    Returns
    -------
    Path
        The file written.

    Raises
    ------
    ModelFileError
        If `load` would refuse the file. Nothing is written then.

    Examples
    --------
    >>> import tempfile
    >>> from cordwood import LinearSVMClassifier
    >>> model = LinearSVMClassifier().fit([[0.0], [1.0]], ["no", "yes"])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = save(model, Path(folder, "model.cordwood"))
    ...     read_card(file).classes, load(file).predict([[2.0]])
    (('no', 'yes'), array(['yes'], dtype='<U3'))
    """
    target = Path(path)
    if target.is_dir() or not target.parent.is_dir():
        what = "it is a folder" if target.is_dir() else f"there is no folder {target.parent}"
        raise ModelFileError(f"{path} was not written: {what}")
    check_is_fitted(model, msg="this %(name)s is not fitted yet: fit it, then save it")
    card = Card(
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
            f"{path} was not written: columns must be what JSON can hold ({_brief(error)})"
        ) from error
    try:
        data = _pack(model, card_text)
        _parse_card(data)
        _build(data)
    except _Refusal as reason:
        raise ModelFileError(f"{path} was not written: the model {reason}") from None
    except MemoryError:
        raise
    except Exception as error:
        # What a stranger's estimator does when skops takes it apart is anyone's guess.
        raise ModelFileError(
            f"{path} was not written: the model cannot be kept in a file ({_brief(error)})"
        ) from error
    with atomic.write(target, "wb") as file:
        file.write(data)
    return target


def load(path: str | os.PathLike[str]) -> Any:
    """Open a model file.

    No code from the file is run, whoever wrote it.

    Parameters
    ----------
    path : path
        A file written by `save`.

    Returns
    -------
    estimator
        The fitted model; its predictions are those of the model saved, to the last bit, as long
        as the versions on its card are the same.

    Raises
    ------
    ModelFileError
        If the file is not a model file, is damaged, holds what no model needs, or is from a newer
        version of cordwood.

    Warns
    -----
    UserWarning
        If the file was written with another minor version of scikit-learn.
    """
    card, model = _open(path, _read)
    saved, here = _shorten(card.versions.get("scikit-learn", "?")), version("scikit-learn")
    if saved.split(".")[:2] != here.split(".")[:2]:
        warnings.warn(
            f"{path} was saved with scikit-learn {saved} and this is {here}: its predictions may "
            "differ; train it again, or install that version",
            stacklevel=2,
        )
    return model


def read_card(path: str | os.PathLike[str]) -> Card:
    """Read what a model file says about its model, without building the model.

    Parameters
    ----------
    path : path
        A file written by `save`.

    Returns
    -------
    Card
        Versions, classes and origin, as the writer of the file stated them.

    Raises
    ------
    ModelFileError
        As for `load`, as far as the card goes.
    """
    return _open(path, _parse_card)


class _Refusal(Exception):
    """Why a file is not opened, as the rest of a sentence about it."""


def _open(path: str | os.PathLike[str], read: Callable[[bytes], _T]) -> _T:
    """Read a file whole and make one sentence of whatever is wrong with it.

    What is judged must be what is built, so the file is read once and never again.
    """
    file = Path(path)
    if not file.is_file():
        what = "is not a file" if file.exists() else "does not exist"
        raise ModelFileError(f"{path} {what}; name a model file that cordwood has saved")
    try:
        return read(file.read_bytes())
    except _Refusal as reason:
        raise ModelFileError(f"{path} was not opened: it {reason}") from None
    except OSError as error:
        raise ModelFileError(f"{path} cannot be read: {error.strerror or error}") from error
    except MemoryError:
        raise
    except Exception as error:
        # Damage can surface anywhere in zipfile, json, numpy, skops or an estimator's own state.
        raise ModelFileError(
            f"{path} is damaged or cut short ({_brief(error)}); copy or save it again"
        ) from error


def _pack(model: Any, card_text: str) -> bytes:
    buffer = io.BytesIO(skops.io.dumps(model, compression=ZIP_STORED))
    with ZipFile(buffer, "a", compression=ZIP_STORED) as archive:
        archive.writestr(_CARD, card_text)
    return buffer.getvalue()


def _parse_card(data: bytes) -> Card:
    if not data.startswith(b"PK\x03\x04"):
        hint = ", it seems to be a pickle, which could run code" if data[:1] == b"\x80" else ""
        raise _Refusal(f"is not a cordwood model file{hint}")
    with ZipFile(io.BytesIO(data)) as archive:
        if _CARD not in archive.namelist():
            raise _Refusal(f"is not a cordwood model file: there is no {_CARD} in it")
        # True of all protocols, newer ones too: the rest may be judged when this one is known.
        _check_sizes([archive.getinfo(_CARD)], data)
        fields = json.loads(archive.read(_CARD))
    protocol = fields["protocol"]
    if type(protocol) is not int or protocol < 1:
        raise _Refusal(f"has no valid protocol number: {_shorten(protocol)}")
    if protocol > PROTOCOL:
        raise _Refusal(
            f"is of protocol {protocol}, and cordwood {version('cordwood')} reads protocols up to "
            f"{PROTOCOL}; update cordwood"
        )
    card = Card(**{**fields, "classes": tuple(fields["classes"])})
    texts = (*card.versions, *card.versions.values(), card.created, *card.classes)
    optional = [text for text in (card.fingerprint, card.recipe) if text is not None]
    if not all(isinstance(text, str) for text in (*texts, *optional)):
        raise _Refusal("has a card with something other than text in a field of text")
    if not isinstance(card.columns, dict):
        raise _Refusal("has a card whose columns are no mapping")
    return card


def _read(data: bytes) -> tuple[Card, Any]:
    card = _parse_card(data)
    return card, _READERS[card.protocol](data)


def _build(data: bytes) -> Any:
    """Judge the content of a file of protocol 1, then let skops build it."""
    with ZipFile(io.BytesIO(data)) as archive:
        names = archive.namelist()
        if len(set(names)) < len(names):
            raise _Refusal("has two members of the same name")
        _check_sizes(archive.infolist(), data)
        audit = _Audit()
        audit.visit(json.loads(archive.read(_SCHEMA)))
        _refuse(audit.refused)
        strange = set(names) - audit.arrays - {_CARD, _SCHEMA}
        if strange:
            raise _Refusal(f"has a member that no model needs: {_shorten(min(strange))}")
        for name in audit.arrays:
            _check_array(archive, name)
    try:
        with warnings.catch_warnings():
            # `load` says it once for the whole file.
            warnings.simplefilter("ignore", InconsistentVersionWarning)
            model = skops.io.loads(data, trusted=list(TYPES))
    except UntrustedTypesFoundException:
        _refuse(set(skops.io.get_untrusted_types(data=data)) - set(TYPES))
        raise
    if not isinstance(model, BaseEstimator):
        raise _Refusal(f"holds no estimator, but an object of type {type(model).__name__}")
    check_is_fitted(model)
    return model


# A protocol, once released, keeps its reader.
_READERS: Mapping[int, Callable[[bytes], Any]] = {1: _build}


def _check_sizes(members: list[ZipInfo], data: bytes) -> None:
    if any(member.compress_type != ZIP_STORED for member in members):
        raise _Refusal("has compressed members, and members of a model file are not compressed")
    if sum(member.file_size for member in members) > len(data):
        raise _Refusal("claims to hold more bytes than it has")


def _check_array(archive: ZipFile, name: str) -> None:
    with archive.open(name) as member:
        read_header = _HEADERS[np.lib.format.read_magic(member)]
        shape, _, dtype = read_header(member)
        n_bytes = math.prod(shape) * dtype.itemsize
        if dtype.hasobject or not dtype.itemsize:
            raise _Refusal(f"has an array of type {_shorten(dtype)}, which no model needs")
        if member.tell() + n_bytes != archive.getinfo(name).file_size:
            raise _Refusal("has an array that is not of the size it says")


_HEADERS = {
    (1, 0): np.lib.format.read_array_header_1_0,
    (2, 0): np.lib.format.read_array_header_2_0,
}


class _Audit:
    """A walk through skops's tree of nodes, which sees what skops will see and builds nothing."""

    def __init__(self) -> None:
        self.refused: set[str] = set()
        self.arrays: set[str] = set()
        self._sizes: dict[Any, int] = {}

    def visit(self, node: Any) -> int:
        """Judge a node and all below it, and count them."""
        name, loader = f"{node['__module__']}.{node['__class__']}", node["__loader__"]
        types = _NODES.get(loader, ())
        if name in _CREDULOUS or (types is not None and name not in types):
            self.refused.add(name)
            return 1
        # For skops all nodes of one id are the first of them. If one inside the first, or after it,
        # could be smaller, a short file might unfold into an endless tree.
        identity = node["__id__"]
        if type(identity) is not int or identity < 1:
            raise _Refusal("has an object without a number")
        expected = self._sizes.get(identity)
        self._sizes.setdefault(identity, 0)
        size = 1 + sum(self.visit(child) for child in self._children(loader, node))
        if expected not in (None, size):
            raise _Refusal("has a tree of objects that refers back to itself")
        self._sizes[identity] = size
        return size

    def _children(self, loader: str, node: Any) -> list[Any]:
        if loader == "DictNode":
            if len(node["content"]) != len(node["key_types"]["content"]):
                raise _Refusal(
                    "has a dictionary with keys that are equal as text, such as 1 and '1'"
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
                raise _Refusal("has an array that belongs to another object")
            self.arrays.add(node["file"])
        return []


def _refuse(names: Collection[str]) -> None:
    if names:
        shown = ", ".join(_shorten(name) for name in sorted(names)[:3])
        more = f" and {len(names) - 3} more types" if len(names) > 3 else ""
        raise _Refusal(f"holds {shown}{more}, which a model file may not hold")


def _shorten(found: object) -> str:
    """Show what a stranger wrote without letting it fill, or speak to, the terminal."""
    text = ascii(str(found))[1:-1]
    return text if len(text) <= 80 else f"{text[:77]}..."


def _brief(error: Exception) -> str:
    return f"{type(error).__name__}: {_shorten(error)}"
