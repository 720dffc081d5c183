"""Reference for out-of-scope samples in a model file."""

from typing import Any

import numpy as np

from cordwood._schema.base import Field, FileDecoder, FileEncoder, Sizes
from cordwood._schema.errors import Rejected
from cordwood.confidence.scope import ScopeReference

_SIGNALS = ("entropy", "distance", "unknown_terms")
_KEYS = {"signals", "values", "scores"}


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
            "frequencies": (
                None if value.frequencies is None else encoder.add_array(value.frequencies)
            ),
        }

    def decode(self, node: Any, decoder: FileDecoder, owner: Any) -> Any:
        """Read the reference."""
        if node is None:
            return None
        if not isinstance(node, dict) or set(node) - {"frequencies"} != _KEYS:
            raise Rejected("has a reference for out-of-scope samples of the wrong structure")
        if not isinstance(node["signals"], list):
            raise Rejected("has a reference for out-of-scope samples without signals")
        frequencies = node.get("frequencies")
        return ScopeReference(
            signals=tuple(node["signals"]),
            values=decoder.get_array(node["values"]),
            scores=decoder.get_array(node["scores"]),
            frequencies=None if frequencies is None else decoder.get_array(frequencies),
        )

    def check(self, value: Any, sizes: Sizes) -> str | None:
        """Check types, shapes, and that numbers are finite and sorted."""
        if value is None:
            return None
        if not isinstance(value, ScopeReference):
            return "a ScopeReference"
        signals = value.signals
        is_known = isinstance(signals, tuple) and all(
            isinstance(each, str) and each in _SIGNALS for each in signals
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
        counts = value.frequencies
        if counts is not None and not (
            isinstance(counts, np.ndarray)
            and counts.dtype == np.int32
            and counts.ndim == 1
            and (counts >= 0).all()
        ):
            return "a ScopeReference with numbers of texts"
        return None
