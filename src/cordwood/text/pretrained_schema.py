"""Schemas of vectorizers that use an encoder or a lexicon.

A file names an encoder and its fingerprint; the encoder is installed, or its files are part of the
model file. A file can neither choose where vectors are cached nor download anything.
"""

import re
from collections.abc import Mapping
from os import PathLike, fspath
from typing import Any

import numpy as np

from cordwood._schema.base import Field, FileDecoder, FileEncoder, Sizes
from cordwood._schema.budget import JSON_COST
from cordwood._schema.errors import Rejected, shorten
from cordwood._schema.fields import Plain, integer
from cordwood._schema.interface import Interface, InterfaceOf
from cordwood._schema.schema import Schema
from cordwood.encoders import bundle
from cordwood.exceptions import CordwoodError
from cordwood.text.embedding import EmbeddingVectorizer
from cordwood.text.lexicon import MAX_SCORE, VADER, LexiconVectorizer

_DIGEST = re.compile(r"[0-9a-f]{32,128}")
_MAX_NAME = 1000
_MAX_DIMENSION = 100_000
_MAX_TOKENS = 1_000_000
_MAX_WORDS = 10_000_000
_MAX_FILES = 20
# Of weights: bytes, arrays, and copies in single precision, or double precision for a short time.
_BYTES_PER_BYTE = 8
_TEMPORARY_PER_BYTE = 20


def _is_name(value: Any) -> bool:
    """Return whether a value may name an encoder; opening a network path could contact a server."""
    is_text = isinstance(value, str) and 0 < len(value) <= _MAX_NAME and value.isprintable()
    return is_text and not value.startswith(("//", "\\\\", "/\\", "\\/"))


def _digest() -> Plain:
    return Plain(
        "a hexadecimal digest",
        lambda value: isinstance(value, str) and _DIGEST.fullmatch(value) is not None,
    )


def _name_encoder(encoder: Any) -> Any:
    if isinstance(encoder, PathLike):
        return fspath(encoder)
    if not isinstance(encoder, str):
        raise Rejected(
            "has an EmbeddingVectorizer whose encoder is an object; a file can only name an encoder"
        )
    return encoder


def _check_embedding_params(model: Any, is_trusted: bool) -> None:
    model._validate_params()
    if not _is_name(model.encoder) or model.max_tokens > _MAX_TOKENS:
        raise Rejected("has an EmbeddingVectorizer with invalid parameters")


class _EncoderFiles(Field):
    """Files of an encoder, which a model file contains on request."""

    optional = True

    def is_stored(self, name: str, owner: Any, encoder: FileEncoder) -> bool:
        """Return whether the caller of `save` or the file of a loaded model requests it."""
        return encoder.bundles_encoder or name in vars(owner)

    def encode(self, value: Any, encoder: FileEncoder, owner: Any) -> Any:
        try:
            files = bundle.read_files(owner.encoder_)
        except CordwoodError as error:
            raise Rejected(f"cannot be stored with its encoder: {error}") from None
        node = {}
        for path, content in files.items():
            _charge(encoder, path, len(content))
            node[path] = encoder.add_array(np.frombuffer(content, np.uint8))
        return node

    def decode(self, node: Any, decoder: FileDecoder, owner: Any) -> Any:
        if not isinstance(node, dict) or not 0 < len(node) <= _MAX_FILES:
            raise Rejected("has an encoder of the wrong structure")
        files = {}
        for path, number in node.items():
            content = decoder.get_array(number)
            _charge(decoder, path, content.size)
            if content.dtype != np.uint8 or content.ndim != 1:
                raise Rejected("has an encoder with a file that is not a sequence of bytes")
            files[path] = content.tobytes()
        return files

    def check(self, value: Any, sizes: Sizes) -> str | None:
        """Check the type; `_check_encoder` checks the rest."""
        return None if isinstance(value, dict) else "a mapping of paths to bytes"


def _charge(converter: FileEncoder | FileDecoder, path: str, size: int) -> None:
    cost = JSON_COST if path.endswith(".json") else _BYTES_PER_BYTE
    converter.spend(cost * size, temporary=_TEMPORARY_PER_BYTE * size)


def _check_encoder(model: Any, interface_of: InterfaceOf) -> None:
    if "encoder_files_" not in vars(model):
        return
    try:
        encoder = bundle.open_bundled(model.encoder_files_, model.max_tokens, model.encoder_name_)
    except CordwoodError as error:
        raise Rejected(f"has an encoder that is not valid: {shorten(error, 200)}") from None
    if encoder.fingerprint != model.fingerprint_ or encoder.dimension != model.n_features_out_:
        raise Rejected("has an encoder that differs from the one of its vectorizer")
    model._encoder = encoder


class _Scores(Field):
    """Scores of words; None for a lexicon that is installed."""

    def encode(self, value: Any, encoder: FileEncoder, owner: Any) -> Any:
        if value is None:
            return None
        words = sorted(value)
        scores = np.array([value[word] for word in words])
        return {"words": encoder.add_strings(words), "scores": encoder.add_array(scores)}

    def decode(self, node: Any, decoder: FileDecoder, owner: Any) -> Any:
        if node is None:
            return None
        if not isinstance(node, dict):
            raise Rejected("has a lexicon of the wrong structure")
        words = decoder.get_strings(node.get("words"))
        scores = decoder.get_array(node.get("scores"))
        if scores.dtype != np.float64 or scores.shape != (len(words),):
            raise Rejected("has a lexicon without one score for each word")
        return dict(zip(words, scores.tolist(), strict=True))

    def check(self, value: Any, sizes: Sizes) -> str | None:
        if value is None:
            return None
        if not isinstance(value, Mapping) or not 0 < len(value) <= _MAX_WORDS:
            return "a mapping of words to scores"
        if not all(isinstance(word, str) and word for word in value):
            return "a mapping of words to scores"
        limit = MAX_SCORE * (1 + 1e-9)
        if not all(isinstance(score, float) and abs(score) <= limit for score in value.values()):
            return f"scores between -{MAX_SCORE:g} and {MAX_SCORE:g}"
        return None


def _check_lexicon(model: Any, interface_of: InterfaceOf) -> None:
    if (model.scores_ is None) != (model.lexicon == VADER):
        raise Rejected("has a LexiconVectorizer whose scores do not match its lexicon")


def _finish_lexicon(model: Any) -> None:
    if model.scores_ is not None:
        model.lexicon = dict(model.scores_)


SCHEMAS = (
    Schema(
        cls=EmbeddingVectorizer,
        fitted={
            "encoder_name_": Plain("the name of an encoder", _is_name),
            "fingerprint_": _digest(),
            "n_features_out_": integer(1, _MAX_DIMENSION),
            "n_truncated_": integer(0, 2**62),
            "encoder_files_": _EncoderFiles(),
        },
        storable={
            "encoder": _name_encoder,
            "cache": lambda cache: True,
            "allow_download": lambda allow_download: False,
        },
        check=_check_encoder,
        check_params=_check_embedding_params,
        interface=lambda model, interface_of: Interface(
            takes_text=True, n_outputs=int(model.n_features_out_), norm=1.0
        ),
    ),
    Schema(
        cls=LexiconVectorizer,
        fitted={"scores_": _Scores(), "fingerprint_": _digest()},
        # The scores of any other lexicon are a fitted attribute.
        storable={"lexicon": lambda lexicon: lexicon if lexicon == VADER else ""},
        check=_check_lexicon,
        check_params=lambda model, is_trusted: None,
        finish=_finish_lexicon,
        interface=lambda model, interface_of: Interface(takes_text=True, n_outputs=4, norm=2.0),
    ),
)
