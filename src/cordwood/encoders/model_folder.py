"""Files of an encoder, in a local folder or in memory: configuration, tokenizer and weights."""

import hashlib
import json
from collections.abc import Mapping
from functools import lru_cache
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cordwood._base import strict_json
from cordwood.exceptions import CordwoodError

CONFIG, WEIGHTS, TOKENIZER = "config.json", "model.safetensors", "tokenizer.json"
FILES = (
    CONFIG,
    WEIGHTS,
    TOKENIZER,
    "config_sentence_transformers.json",
    "modules.json",
    "sentence_bert_config.json",
    "tokenizer_config.json",
)
"""Names of the files that encoders read."""

INSTALL_TOKENIZERS = 'pip install "cordwood[tokenizers]"'

# More than the average, even of technical texts in English.
_CHARACTERS_PER_TOKEN = 6

_DTYPES = {"F64": np.float64, "F32": np.float32, "F16": np.float16, "I8": np.int8}
_DTYPES |= {"I32": np.int32, "I64": np.int64}


class ModelFolder:
    """A folder with the files of an encoder. Only JSON and safetensors files are read."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._check_exists()

    def subfolder(self, name: str) -> "ModelFolder":
        """Return a folder in this folder; "" returns this one."""
        return ModelFolder(self.path / name)

    def has(self, name: str) -> bool:
        """Return whether a file exists."""
        return (self.path / name).is_file()

    def read(self, name: str) -> bytes:
        """Read a file that must exist."""
        self.require(name)
        return (self.path / name).read_bytes()

    def digest(self, name: str) -> str:
        """Return the SHA-256 digest of a file."""
        self.require(name)
        return file_digest(self.path / name)

    def read_files(self) -> dict[str, bytes]:
        """Read all files of the encoder, including those in subfolders, by relative path."""
        paths = [*self.path.glob("*"), *self.path.glob("*/*")]
        found = sorted(path for path in paths if path.name in FILES and path.is_file())
        return {path.relative_to(self.path).as_posix(): path.read_bytes() for path in found}

    def read_json(self, name: str, default: Any = None) -> Any:
        """Parse a JSON file with an object, or with an array if `default` is a list.

        `default`, unless it is None, replaces a file that does not exist.
        """
        if default is not None and not self.has(name):
            return default
        content = self.read(name)
        try:
            parsed = strict_json.parse(content.decode("utf-8"))
        except ValueError as error:
            raise CordwoodError(f"{self.path / name} is not valid JSON: {error}") from None
        expected, kind = (list, "array") if isinstance(default, list) else (dict, "object")
        if not isinstance(parsed, expected):
            raise CordwoodError(f"{self.path / name} must contain a JSON {kind}")
        return parsed

    def read_tensors(self, name: str = WEIGHTS) -> dict[str, NDArray[Any]]:
        """Read the arrays of a safetensors file."""
        path = self.path / name
        content = self.read(name)
        safetensors = import_extra("safetensors")
        try:
            stored = safetensors.deserialize(content)
        except Exception as error:  # of a type that differs between versions of safetensors
            raise CordwoodError(f"{path} is not a valid safetensors file: {error}") from None
        return {key: _to_array(path, key, tensor) for key, tensor in stored}

    def read_tokenizer(self, name: str = TOKENIZER) -> Any:
        """Read a tokenizer of the library tokenizers, without truncation and padding."""
        # Written again, so that the library, whose parser is another one, reads the same values.
        content = json.dumps(self.read_json(name))
        tokenizers = import_extra("tokenizers")
        try:
            tokenizer = tokenizers.Tokenizer.from_str(content)
        except Exception as error:  # tokenizers raises the base class
            path = self.path / name
            raise CordwoodError(f"{path} is not a valid tokenizer file: {error}") from None
        tokenizer.no_truncation()
        tokenizer.no_padding()
        return tokenizer

    def _check_exists(self) -> None:
        if not self.path.is_dir():
            raise CordwoodError(f"encoder folder {self.path} does not exist")

    def require(self, name: str) -> None:
        """Raise CordwoodError if a file does not exist."""
        if self.has(name):
            return
        message = f"encoder folder {self.path} has no file {name}"
        if name == CONFIG:
            message += "; it must be a sentence-transformers or model2vec model"
        if name == WEIGHTS:
            message += "; weights in other formats, such as pytorch_model.bin, are not read"
        raise CordwoodError(message)


class FolderInMemory(ModelFolder):
    """The files of an encoder in memory."""

    def __init__(self, files: Mapping[str, bytes], path: Path) -> None:
        self._files = dict(files)
        super().__init__(path)

    def subfolder(self, name: str) -> "FolderInMemory":
        """Return a folder in this folder; "" returns this one."""
        prefix = f"{name.strip('/')}/" if name.strip("/") else ""
        files = {
            file.removeprefix(prefix): content
            for file, content in self._files.items()
            if file.startswith(prefix)
        }
        return FolderInMemory(files, self.path / name)

    def has(self, name: str) -> bool:
        """Return whether a file exists."""
        return name in self._files

    def read(self, name: str) -> bytes:
        """Read a file that must exist."""
        self.require(name)
        return self._files[name]

    def digest(self, name: str) -> str:
        """Return the SHA-256 digest of a file."""
        return hashlib.sha256(self.read(name)).hexdigest()

    def read_files(self) -> dict[str, bytes]:
        """Return all files by relative path."""
        return dict(self._files)

    def _check_exists(self) -> None:
        """Do nothing: there is no folder on disk."""


def tokenize(tokenizer: Any, text: str, **options: Any) -> Any:
    """Tokenize a text by a tokenizer that truncates texts."""
    # Of a long text, the beginning is tokenized first, which is enough if it has too many tokens.
    # It ends at white space, so that its words have the same tokens as in the whole text.
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
