"""Layers that several networks have."""

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from cordwood.encoders.matmul import PackedMatrix, matmul

Floats: TypeAlias = NDArray[np.float32]


@dataclass(frozen=True)
class Linear:
    """Weights of x -> x @ weight + bias."""

    weight: PackedMatrix
    bias: Floats

    def __call__(self, X: Floats) -> Floats:
        """Apply the layer to rows."""
        Y = matmul(X, self.weight)
        Y += self.bias
        return Y


@dataclass(frozen=True)
class LayerNorm:
    """Weights of a layer normalization."""

    scale: Floats
    shift: Floats
    epsilon: float

    def __call__(self, X: Floats) -> Floats:
        """Normalize rows in place."""
        X -= X.mean(axis=1, keepdims=True)
        variance = np.einsum("ij,ij->i", X, X) / np.float32(X.shape[1])
        X *= (1 / np.sqrt(variance + np.float32(self.epsilon)))[:, None]
        X *= self.scale
        X += self.shift
        return X
