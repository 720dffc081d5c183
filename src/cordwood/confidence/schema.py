"""Reference for out-of-scope samples in a model file."""

from typing import Any

import numpy as np

from cordwood._schema.base import Field, FileDecoder, FileEncoder, Sizes
from cordwood._schema.errors import Rejected
from cordwood.confidence.scope import WEIGHTS, ScopeReference

_KEYS = {"signals", "values", "scores"}
_OPTIONAL = ("frequencies", "vectors")  # arrays that not every model has


class ScopeField(Field):
    """A `ScopeReference`."""

    def encode(self, value: Any, encoder: FileEncoder, owner: Any) -> Any:
        """Store the reference."""
        if value is None:
            return None
        return {
            "signals": list(value.signals),
            "values": encoder.add_array(value.values),
            "scores": encoder.add_array(value.scores),
            **{
                name: encoder.add_array(array)
                for name in _OPTIONAL
                if (array := getattr(value, name)) is not None
            },
        }

    def decode(self, node: Any, decoder: FileDecoder, owner: Any) -> Any:
        """Read the reference."""
        if node is None:
            return None
        if not isinstance(node, dict) or set(node).difference(_OPTIONAL) != _KEYS:
            raise Rejected("has a reference for out-of-scope samples of the wrong structure")
        if not isinstance(node["signals"], list):
            raise Rejected("has a reference for out-of-scope samples without signals")
        return ScopeReference(
            signals=tuple(node["signals"]),
            values=decoder.get_array(node["values"]),
            scores=decoder.get_array(node["scores"]),
            **{name: decoder.get_array(node[name]) for name in _OPTIONAL if name in node},
        )

    def check(self, value: Any, sizes: Sizes) -> str | None:
        """Check types, shapes, and that numbers are finite and sorted."""
        if value is None:
            return None
        if not isinstance(value, ScopeReference):
            return "a ScopeReference"
        signals = value.signals
        is_known = isinstance(signals, tuple) and all(
            isinstance(each, str) and each in WEIGHTS for each in signals
        )
        if not is_known or not signals or len(set(signals)) < len(signals):
            return "a ScopeReference with distinct known signals"
        for array, n_dims in ((value.values, 2), (value.scores, 1)):
            is_float = isinstance(array, np.ndarray) and array.dtype == np.float32
            if not is_float or array.ndim != n_dims or not array.size:
                return "a ScopeReference of arrays of float32"
            if not np.isfinite(array).all() or (np.diff(array, axis=-1) < 0).any():
                return "a ScopeReference of sorted finite numbers"
        if value.values.shape[0] != len(signals):
            return "a ScopeReference with values for each signal"
        for optional, kind, n_dims in ((value.frequencies, "int32", 1), (value.vectors, "int8", 2)):
            is_array = isinstance(optional, np.ndarray) and optional.dtype == kind
            if optional is not None and not (is_array and optional.ndim == n_dims):
                return f"a ScopeReference with an array of {kind}"
        if value.frequencies is not None and (value.frequencies < 0).any():
            return "a ScopeReference with numbers of texts"
        has_vectors = value.vectors is not None and len(value.vectors) > 1
        if has_vectors != ("encoder_distance" in signals):
            return "a ScopeReference with vectors for the distance by an encoder"
        return None
