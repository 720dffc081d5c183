"""Encoders by name: which are installed, and how to load one."""

from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from cordwood._user_dirs import user_data_dir
from cordwood.encoders import universal_sentence
from cordwood.encoders.encoder import Encoder
from cordwood.encoders.folder_encoder import FolderEncoder
from cordwood.encoders.hub import fetch_from_hub
from cordwood.encoders.model_folder import INSTALL_TOKENIZERS, ModelFolder
from cordwood.encoders.object_encoder import ObjectEncoder
from cordwood.encoders.static import StaticEncoder, is_static
from cordwood.encoders.transformer import TransformerEncoder
from cordwood.encoders.universal_sentence import UniversalSentenceEncoder
from cordwood.encoders.wheel_sources import INSTALLABLE
from cordwood.exceptions import CordwoodError

# Encoders of texts in an unknown language: the first of them that is installed.
_DEFAULTS = ("use", "minilm", "mpnet", "potion")

# Files whose change means that an encoder has to be loaded again.
_WATCHED = ("config.json", "model.safetensors", "tokenizer.json")


@dataclass(frozen=True, kw_only=True)
class EncoderInfo:
    """An encoder that can be used by name."""

    name: str
    description: str
    languages: str
    # Command that installs the encoder, or the packages that it needs; None if it can be used.
    install: str | None


def load_encoder(
    encoder: Any = "auto", *, max_tokens: int = 256, allow_download: bool = False
) -> Encoder:
    """Load an encoder.

    Parameters
    ----------
    encoder : str, path-like or object, default="auto"
        - "auto": the first of "use", "minilm", "mpnet" and "potion" that is installed.
        - The name of an installed encoder, as listed by `list_encoders`.
        - A folder with a sentence-transformers or model2vec model.
        - The name of a model on the Hugging Face hub, such as
          "sentence-transformers/all-mpnet-base-v2". Without `allow_download`, it must already be
          in the local cache of the library huggingface_hub.
        - An object with a method ``encode(list of str)`` that returns an array of vectors.
    max_tokens : int, default=256
        Number of tokens at which texts are truncated. Objects ignore it.
    allow_download : bool, default=False
        Whether a model may be downloaded from the Hugging Face hub.

    Returns
    -------
    encoder : Encoder

    Raises
    ------
    CordwoodError
        If there is no such encoder, or if it cannot be used.

    Examples
    --------
    >>> import numpy as np
    >>> from cordwood.encoders import load_encoder
    >>> class Lengths:
    ...     def encode(self, texts):
    ...         return np.array([[len(text), 1.0] for text in texts])
    >>> load_encoder(Lengths()).encode(["a text"]).round(3)
    array([[0.986, 0.164]], dtype=float32)
    """
    if isinstance(encoder, Encoder):
        return encoder
    if not isinstance(encoder, str | Path):
        return ObjectEncoder(encoder)
    if encoder == "auto":
        encoder = _choose_default()
    if encoder == universal_sentence.NAME:
        return _load_use(max_tokens)
    installed = installed_folders().get(str(encoder))
    if installed is not None:
        return _load_folder(installed, max_tokens, name=str(encoder))
    path = Path(encoder).expanduser()
    if encoder != "" and path.is_dir():  # an empty path is the current directory
        return _load_folder(path.resolve(), max_tokens, name=str(path.resolve()))
    if str(encoder).count("/") == 1 and not str(encoder).startswith((".", "~", "/")):
        folder = fetch_from_hub(str(encoder), allow_download=allow_download)
        return _load_folder(folder, max_tokens, name=str(encoder))
    raise CordwoodError(_not_found(str(encoder)))


def find_encoder(name: str, fingerprint: str, max_tokens: int) -> Encoder:
    """Load the encoder with which a model was fitted: of this name, or else of this fingerprint."""
    problem = None
    try:
        encoder = load_encoder(name, max_tokens=max_tokens)
        if encoder.fingerprint == fingerprint:
            return encoder
    except CordwoodError as error:
        problem = error
    for other, folder in installed_folders().items():
        with suppress(CordwoodError):  # of no interest, unless it is the one that is needed
            candidate = _load_folder(folder, max_tokens, name=other)
            if candidate.fingerprint == fingerprint:
                return candidate
    if problem is not None:
        raise CordwoodError(
            f"the model was fitted with encoder {name!r}, which cannot be loaded: {problem}"
        )
    raise CordwoodError(
        f"the model was fitted with another version of encoder {name!r} than the installed one "
        f"(fingerprint {fingerprint[:12]} instead of {str(encoder.fingerprint)[:12]}); install the "
        "former version or fit the model again"
    )


def list_encoders() -> list[EncoderInfo]:
    """List the encoders that can be used by name, those that are not installed included.

    Examples
    --------
    >>> from cordwood.encoders import list_encoders
    >>> [info.name for info in list_encoders()]
    ['use', 'minilm', 'mpnet', 'potion']
    """
    use_missing = None if universal_sentence.is_installed() else universal_sentence.INSTALL
    found = [
        EncoderInfo(
            name=universal_sentence.NAME,
            description="Universal Sentence Encoder, multilingual, version 3",
            languages=UniversalSentenceEncoder.languages,
            install=use_missing,
        )
    ]
    folders = installed_folders()
    packages_missing = None if _can_read_folders() else INSTALL_TOKENIZERS
    found += [
        EncoderInfo(
            name=name,
            description=known.description,
            languages=known.languages,
            install=packages_missing if name in folders else f"cordwood encoders install {name}",
        )
        for name, known in INSTALLABLE.items()
    ]
    found += [
        EncoderInfo(
            name=name,
            description=str(folder),
            languages=TransformerEncoder.languages,
            install=packages_missing,
        )
        for name, folder in folders.items()
        if name not in INSTALLABLE
    ]
    return found


def encoders_dir() -> Path:
    """Return the folder of installed encoders."""
    return user_data_dir() / "encoders"


def installed_folders() -> dict[str, Path]:
    """Return the folders of installed encoders by name."""
    try:
        configs = sorted(encoders_dir().glob("*/config.json"))
    except RuntimeError:  # no home directory
        return {}
    return {config.parent.name: config.parent for config in configs}


def _can_read_folders() -> bool:
    """Return whether the packages for encoders in folders are installed."""
    return all(find_spec(package) is not None for package in ("safetensors", "tokenizers"))


def _choose_default() -> str:
    usable = [info.name for info in list_encoders() if info.install is None]
    for name in _DEFAULTS:
        if name in usable:
            return name
    raise CordwoodError(
        f"no encoder is installed; install the default one with {universal_sentence.INSTALL}"
    )


@lru_cache(maxsize=2)
def _load_use(max_tokens: int) -> Encoder:
    return UniversalSentenceEncoder(max_tokens)


def _load_folder(path: Path, max_tokens: int, *, name: str) -> Encoder:
    files = [path / file for file in _WATCHED if (path / file).is_file()]
    stamps = tuple((file.name, file.stat().st_size, file.stat().st_mtime_ns) for file in files)
    return _load_unchanged(path, max_tokens, name, stamps)


# Weights may be large: estimators of one process share them.
@lru_cache(maxsize=2)
def _load_unchanged(path: Path, max_tokens: int, name: str, stamps: Any) -> Encoder:
    return open_encoder(ModelFolder(path), max_tokens, name=name)


def open_encoder(folder: ModelFolder, max_tokens: int, *, name: str) -> FolderEncoder:
    """Return the encoder whose files are given, by the kind of its model."""
    kind = StaticEncoder if is_static(folder) else TransformerEncoder
    return kind(folder, max_tokens, name=name)


def _not_found(name: str) -> str:
    known = [info.name for info in list_encoders() if info.install is None]
    for info in list_encoders():
        if info.name == name and info.install is not None:
            return f"encoder {name!r} is not installed; install it with: {info.install}"
    installed = ", ".join(known) or "none"
    return (
        f"encoder {name!r} is neither an installed encoder ({installed}) nor an existing folder; "
        "`cordwood encoders` lists what can be installed"
    )
