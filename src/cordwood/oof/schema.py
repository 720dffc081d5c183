"""Out-of-fold predictions in a model file: few bytes per sample.

Of each sample, the most probable class is stored as a code, and the probabilities of the true class
and of all others above a threshold as numbers of half precision, or of single precision if the
decision of the model needs it. The remaining classes share what is left between them, and the most
probable class has the rest to one. Numbers are rounded down, so that the most probable class
remains the same.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from cordwood._schema.base import Field, FileDecoder, FileEncoder, Sizes
from cordwood._schema.errors import Rejected
from cordwood.oof.records import OOFPredictions

# Smaller probabilities are replaced by their mean.
_MIN_PROBA = 1e-3

# Larger predictions would take more memory than some models; they are not stored.
MAX_OOF_SIZE = 2**24

_MAX_NAME_LENGTH = 10_000
SOURCES = ("oob", "loo", "cv", "prefit")
_ARRAYS = {
    "y": "int64",
    "top": "int64",
    "counts": "int64",
    "codes": "int64",
    "values": "float16|float32",
    "rest": "float16|float32",
}


class OOFField(Field):
    """Out-of-fold predictions; groups are not stored."""

    def encode(self, value: Any, encoder: FileEncoder, owner: Any) -> Any:
        """Store the predictions, unless they are too many, or of several labels per sample."""
        if value is None or value.is_multilabel or value.proba.size > MAX_OOF_SIZE:
            return None
        encoder.spend(16 * value.proba.size)
        arrays = compress_proba(value.proba, value.y)
        # A decision other than for the most probable class may depend on what is rounded.
        if (decision := owner.decision_).matrix is not None:
            restored = expand_proba(arrays, len(value.classes))
            if not np.array_equal(decision.apply(restored), decision.apply(value.proba)):
                arrays = compress_proba(value.proba, value.y, np.float32)
        node = {name: encoder.add_array(array) for name, array in arrays.items()}
        return {**node, "sources": dict(value.sources)}

    def decode(self, node: Any, decoder: FileDecoder, owner: Any) -> Any:
        """Read the predictions."""
        if node is None:
            return None
        if not isinstance(node, dict) or set(node) != {*_ARRAYS, "sources"}:
            raise Rejected("has out-of-fold predictions of the wrong structure")
        arrays = {name: decoder.get_array(node[name]) for name in _ARRAYS}
        for name, dtype in _ARRAYS.items():
            if arrays[name].ndim != 1 or arrays[name].dtype.name not in dtype.split("|"):
                raise Rejected("has out-of-fold predictions of the wrong type")
        classes = owner.classes_
        size = len(arrays["y"]) * len(classes)
        if not 0 < size <= MAX_OOF_SIZE:
            raise Rejected("has out-of-fold predictions of an invalid size")
        decoder.spend(16 * size)
        return OOFPredictions(
            proba=expand_proba(arrays, len(classes)),
            y=arrays["y"].astype(np.intp),
            classes=classes,
            sources=node["sources"],
        )

    def check(self, value: Any, sizes: Sizes) -> str | None:
        """Check types, shapes and ranges."""
        if value is None or (isinstance(value, OOFPredictions) and value.is_multilabel):
            return None
        if not isinstance(value, OOFPredictions):
            return "an OOFPredictions"
        if not are_valid_sources(value.sources):
            return "an OOFPredictions with valid sources"
        if value.proba.shape != (len(value.y), len(value.classes)) or not value.proba.size:
            return "an OOFPredictions with one row per sample and one column per class"
        if value.y.dtype.kind != "i" or value.y.min() < 0 or value.y.max() >= len(value.classes):
            return "an OOFPredictions with valid class codes"
        sums = value.proba.sum(axis=1)
        if not (value.proba.min() >= 0 and np.abs(sums - 1).max() < 1e-3):
            return "an OOFPredictions whose probabilities sum to one"
        return None


def are_valid_sources(sources: Any) -> bool:
    """Return whether an untrusted value maps names to sources of out-of-fold predictions."""
    if not isinstance(sources, dict):
        return False
    has_names = all(isinstance(name, str) and len(name) <= _MAX_NAME_LENGTH for name in sources)
    return has_names and all(
        isinstance(source, str) and source in SOURCES for source in sources.values()
    )


def compress_proba(
    proba: NDArray[np.float64], y: NDArray[np.intp], dtype: type[np.floating[Any]] = np.float16
) -> dict[str, NDArray[np.generic]]:
    """Return arrays from which `expand_proba` restores the probabilities approximately.

    `top` is the most probable class of each sample; `counts`, how many other classes are stored;
    `codes` and `values`, these classes and their probabilities; `rest`, the mean of the others.
    """
    samples = np.arange(len(proba))
    top = proba.argmax(axis=1)
    is_stored = proba >= _MIN_PROBA
    is_stored[samples, y] = True
    is_stored[samples, top] = False
    is_rest = ~is_stored
    is_rest[samples, top] = False
    n_rest = is_rest.sum(axis=1)
    rest = np.where(is_rest, proba, 0.0).sum(axis=1) / np.maximum(n_rest, 1)
    return {
        "y": np.asarray(y, np.int64),
        "top": np.asarray(top, np.int64),
        "counts": is_stored.sum(axis=1, dtype=np.int64),
        "codes": np.asarray(np.nonzero(is_stored)[1], np.int64),
        "values": _round_down(proba[is_stored], dtype),
        "rest": _round_down(rest, dtype),
    }


def expand_proba(arrays: dict[str, NDArray[Any]], n_classes: int) -> NDArray[np.float64]:
    """Restore the probabilities from arrays of an untrusted file."""
    y, top, counts, codes, values, rest = (arrays[name] for name in _ARRAYS)
    n_samples = len(y)
    if not len(top) == len(counts) == len(rest) == n_samples or len(codes) != len(values):
        raise Rejected("has out-of-fold predictions of different lengths")
    if counts.min() < 0 or counts.max() >= n_classes or counts.sum() != len(codes):
        raise Rejected("has out-of-fold predictions with an invalid number of classes")
    for each in (y, top, codes):
        if len(each) and not 0 <= each.min() <= each.max() < n_classes:
            raise Rejected("has out-of-fold predictions of unknown classes")
    samples = np.arange(n_samples)
    proba = np.repeat(rest.astype(np.float64)[:, None], n_classes, axis=1)
    proba[np.repeat(samples, counts), codes] = values
    proba[samples, top] = 0.0
    sums = proba.sum(axis=1)
    if not (proba.min() >= 0 and sums.max() <= 1):
        raise Rejected("has out-of-fold predictions that are not probabilities")
    proba[samples, top] = 1 - sums
    return proba


def _round_down(values: NDArray[np.float64], dtype: type[np.floating[Any]]) -> NDArray[Any]:
    """Return the largest numbers of a type that are not above the given ones."""
    rounded = values.astype(dtype)
    return np.where(rounded > values, np.nextafter(rounded, dtype(0)), rounded)
