"""Files of an encoder in a local folder: configuration, tokenizer and weights."""

import hashlib
import json
from collections.abc import Mapping
from functools import lru_cache
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cordwood.exceptions import CordwoodError

INSTALL_TOKENIZERS = 'pip install "cordwood[tokenizers]"'

# More than the average, even of technical texts in English.
_CHARACTERS_PER_TOKEN = 6

_DTYPES = {"F64": np.float64, "F32": np.float32, "F16": np.float16, "I8": np.int8}
_DTYPES |= {"I32": np.int32, "I64": np.int64}


class ModelFolder:
    """A folder with the files of an encoder. Only JSON and safetensors files are read.

    Parameters
    ----------
    path : Path
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        if not path.is_dir():
            raise CordwoodError(f"encoder folder {path} does not exist")

    def file(self, name: str) -> Path:
        """Return the path of a file that must exist."""
        path = self.path / name
        if not path.is_file():
            raise CordwoodError(f"encoder folder {self.path} has no file {name}")
        return path

    def read_json(self, name: str, default: Any = None) -> Any:
        """Parse a JSON file; `default`, unless it is None, replaces a file that does not exist."""
        if default is not None and not (self.path / name).is_file():
            return default
        path = self.file(name)
        try:
            return json.loads(path.read_text(encoding="utf-8"))
        except ValueError as error:
            raise CordwoodError(f"{path} is not valid JSON: {error}") from None

    def digest(self, name: str) -> str:
        """Return the SHA-256 digest of a file."""
        return file_digest(self.file(name))

    def read_tensors(self, name: str = "model.safetensors") -> dict[str, NDArray[Any]]:
        """Read the arrays of a safetensors file."""
        path = self.file(name)
        safetensors = import_extra("safetensors")
        try:
            stored = safetensors.deserialize(path.read_bytes())
        except Exception as error:  # of a type that differs between versions of safetensors
            raise CordwoodError(f"{path} is not a valid safetensors file: {error}") from None
        return {key: _to_array(path, key, tensor) for key, tensor in stored}

    def read_tokenizer(self, name: str = "tokenizer.json") -> Any:
        """Read a tokenizer of the library tokenizers, without truncation and padding."""
        path = self.file(name)
        try:
            tokenizer = import_extra("tokenizers").Tokenizer.from_file(str(path))
        except CordwoodError:
            raise
        except Exception as error:  # tokenizers raises the base class
            raise CordwoodError(f"{path} is not a valid tokenizer file: {error}") from None
        tokenizer.no_truncation()
        tokenizer.no_padding()
        return tokenizer


def tokenize(tokenizer: Any, text: str, **options: Any) -> Any:
    """Tokenize a text by a tokenizer that truncates texts.

    Of a long text, the beginning is tokenized first, which is enough if it has too many tokens. It
    ends at white space, so that its words have the same tokens as in the whole text.
    """
    limit = _CHARACTERS_PER_TOKEN * tokenizer.truncation["max_length"]
    if len(text) > limit:
        parts = text[:limit].rsplit(None, 1)
        if len(parts) == 2 and (encoding := tokenizer.encode(parts[0], **options)).overflowing:
            return encoding
    return tokenizer.encode(text, **options)


def import_extra(module: str) -> Any:
    """Import a package that is needed for local folders only."""
    try:
        return import_module(module)
    except ImportError:
        raise CordwoodError(
            f"encoders in local folders need the package {module}; install it with "
            f"{INSTALL_TOKENIZERS}"
        ) from None


def file_digest(path: Path) -> str:
    """Return the SHA-256 digest of a file; an unchanged file is read once per process."""
    status = path.stat()
    return _digest(path, status.st_size, status.st_mtime_ns)


@lru_cache(maxsize=64)
def _digest(path: Path, size: int, modified: int) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _to_array(path: Path, key: str, tensor: Mapping[str, Any]) -> NDArray[Any]:
    data, dtype = tensor["data"], tensor["dtype"]
    if dtype == "BF16":  # the upper half of a float32
        halves = np.frombuffer(data, np.uint16).astype(np.uint32)
        values: NDArray[Any] = (halves << 16).view(np.float32)
    elif dtype in _DTYPES:
        values = np.frombuffer(data, _DTYPES[dtype])
    else:
        raise CordwoodError(f"{path}: array {key!r} has the unsupported type {dtype}")
    return values.reshape(tensor["shape"])
