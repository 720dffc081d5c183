"""Encoders whose files are part of a model file.

The files may come from anyone: everything that the weights and the tokenizer can do is bounded, and
the encoder is tried before it is accepted.
"""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from cordwood._base import strict_json
from cordwood.encoders.catalog import open_encoder
from cordwood.encoders.encoder import Encoder
from cordwood.encoders.model_folder import FILES, TOKENIZER, WEIGHTS, FolderInMemory
from cordwood.encoders.transformer import TransformerEncoder
from cordwood.encoders.universal_sentence import DIGESTS, UniversalSentenceEncoder
from cordwood.exceptions import CordwoodError

# Kinds of steps without regular expressions, which may take exponential time, and without compiled
# tables.
_STEPS = {
    "normalizer": (
        *("BertNormalizer", "Lowercase", "NFC", "NFD", "NFKC", "NFKD", "Sequence", "Strip"),
        "StripAccents",
    ),
    "pre_tokenizer": (
        *("BertPreTokenizer", "ByteLevel", "Digits", "Metaspace", "Punctuation", "Sequence"),
        *("Whitespace", "WhitespaceSplit"),
    ),
    "post_processor": (
        *("BertProcessing", "ByteLevel", "RobertaProcessing", "Sequence", "TemplateProcessing"),
    ),
}
_MODELS = ("BPE", "WordPiece")
_MAX_WORD_CHARACTERS = 1_000
_MAX_SETTINGS_SIZE = 100_000
_MAX_STEPS_SIZE = 10_000
_MAX_SETTING_LENGTH = 100

# Attention scores of a text, such as those of 512 tokens and 64 heads.
_MAX_SCORES = 2**24

# With larger weights, sums of products could overflow.
_MAX_WEIGHT = 1e4


def read_files(encoder: Encoder) -> dict[str, bytes]:
    """Read the files of an encoder for a model file, if `open_bundled` would accept them."""
    files = encoder.read_files()
    if files is None:
        raise CordwoodError(
            f"encoder {encoder.name!r} does not consist of files and cannot be part of a model "
            "file; install it where the model is used, or choose another encoder"
        )
    open_bundled(files, encoder.max_tokens, encoder.name)
    return files


def open_bundled(files: Mapping[str, bytes], max_tokens: int, name: str) -> Encoder:
    """Open an encoder whose files, by path in its folder, are part of a model file."""
    if files.keys() == DIGESTS.keys():
        return UniversalSentenceEncoder(max_tokens, files)
    for path, content in files.items():
        file = path.rpartition("/")[2]
        if file not in FILES or path.count("/") > 1:
            raise CordwoodError(f"the bundled encoder has an unexpected file {path[:100]!r}")
        if file not in (WEIGHTS, TOKENIZER) and len(content) > _MAX_SETTINGS_SIZE:
            raise CordwoodError(f"the file {path} of the bundled encoder is too large")
    try:
        return _open(FolderInMemory(files, Path("bundled encoder")), max_tokens, name)
    except CordwoodError:
        raise
    except BaseException as error:
        # Numpy raises exceptions about shapes that do not match; a panic of the library tokenizers,
        # which is written in Rust, is not even an Exception.
        if isinstance(error, Exception) or type(error).__name__ == "PanicException":
            raise CordwoodError(f"the bundled encoder fails: {str(error)[:200]}") from None
        raise


def _open(folder: FolderInMemory, max_tokens: int, name: str) -> Encoder:
    """Check the files, open the encoder, and encode an empty, a short and a long text."""
    for path in folder.read_files():
        if path.endswith(TOKENIZER):
            _check_tokenizer(folder.read_json(path))
        if path.endswith(WEIGHTS):
            _check_weights(folder, path)
    encoder = open_encoder(folder, max_tokens, name=name)
    # What the library has built is what was checked, even if it reads the file in another way.
    _check_tokenizer(strict_json.parse(encoder.tokenizer.to_str()))
    if isinstance(encoder, TransformerEncoder) and encoder.n_scores > _MAX_SCORES:
        raise CordwoodError("the bundled encoder encodes too long texts; lower max_tokens")
    vectors = encoder.encode(["", "a", "word " * (2 * min(max_tokens, 10_000))])
    if vectors.shape[1:] != (encoder.dimension,) or not np.isfinite(vectors).all():
        raise CordwoodError("the vectors of the bundled encoder are not valid")
    return encoder


def _check_tokenizer(tokenizer: Any) -> None:
    """Raise unless the tokenizer consists of steps whose time is proportional to the text."""
    try:
        model = tokenizer["model"]
        steps = {part: [*_list_steps(tokenizer.get(part))] for part in _STEPS}
        kinds = {part: [str(step["type"]) for step in steps[part]] for part in _STEPS}
        settings = [value for key, value in model.items() if key not in ("vocab", "merges")]
        word_length = int(model.get("max_input_chars_per_word", 0))
        ids = [*model["vocab"].values(), *(each["id"] for each in tokenizer["added_tokens"] or ())]
        is_valid = all(type(each) is int for each in ids) and max(ids) < len({*ids})
    except (AttributeError, KeyError, TypeError, ValueError):
        raise CordwoodError("the tokenizer of the bundled encoder is invalid") from None
    if not is_valid or len(json.dumps(steps)) > _MAX_STEPS_SIZE:
        raise CordwoodError("the tokenizer of the bundled encoder is invalid")
    # A prefix of words is copied for each word.
    if model.get("dropout") or max(len(str(each)) for each in settings) > _MAX_SETTING_LENGTH:
        raise CordwoodError("the tokenizer of the bundled encoder has invalid settings")
    if model.get("type") not in _MODELS or not 0 <= word_length <= _MAX_WORD_CHARACTERS:
        raise CordwoodError(
            f"a bundled encoder must have a tokenizer of type {' or '.join(_MODELS)}"
        )
    for part, found in kinds.items():
        for kind in found:
            if kind not in _STEPS[part]:
                raise CordwoodError(
                    f"a bundled encoder cannot have a tokenizer with the {part} {kind[:50]}"
                )
        # ByteLevel doubles the length of a text: many of them would take exponential time.
        if len(set(found)) < len(found):
            raise CordwoodError(
                f"a bundled encoder cannot have a tokenizer with a {part} of two steps of a kind"
            )


def _list_steps(step: Any) -> Iterator[dict[str, Any]]:
    """Yield a step of a tokenizer, and the steps in it."""
    if step is None:
        return
    yield step
    for key in ("normalizers", "pretokenizers", "processors"):
        yield from step.get(key, ())


def _check_weights(folder: FolderInMemory, path: str) -> None:
    for key, array in folder.read_tensors(path).items():
        if array.size and not np.abs(array.astype(np.float64)).max() <= _MAX_WEIGHT:
            raise CordwoodError(
                f"the array {key[:100]!r} of the bundled encoder has values that are not finite or "
                f"greater than {_MAX_WEIGHT:g}"
            )
