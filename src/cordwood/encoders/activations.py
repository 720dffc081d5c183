"""Kernel of the activation function of transformers."""

import numpy as np

from cordwood._kernels.jit import Float32Array, kernel

# erf(z) = z * P(z**2) / Q(z**2) for |z| <= 4, fitted by least squares; the error is at most 4e-7
# in single precision. Beyond 4, erf differs from 1 by less than 2e-8.
_LIMIT = np.float32(4)
_P = tuple(
    np.float32(c / 16**k)
    for k, c in enumerate(
        (1.12837899, 3.13344619, 13.67309023, 16.3232374, 18.83916315, 2.07192959)
    )
)
_Q = tuple(
    np.float32(c / 16**k)
    for k, c in enumerate((1.0, 8.11024572, 29.77401747, 63.11027185, 79.40080966, 39.28163624))
)
_P0, _P1, _P2, _P3, _P4, _P5 = _P
_Q0, _Q1, _Q2, _Q3, _Q4, _Q5 = _Q
_HALF = np.float32(0.5)
_ONE = np.float32(1)
_SQRT_HALF = np.float32(np.sqrt(0.5))


@kernel
def add_bias_and_gelu(X: Float32Array, bias: Float32Array) -> None:
    """Replace each element x of `X` by gelu(x + bias), where gelu(x) = x (1 + erf(x / √2)) / 2."""
    for i in range(X.shape[0]):
        for j in range(X.shape[1]):
            x = X[i, j] + bias[j]
            z = min(max(x * _SQRT_HALF, -_LIMIT), _LIMIT)
            s = z * z
            p = _P0 + s * (_P1 + s * (_P2 + s * (_P3 + s * (_P4 + s * _P5))))
            q = _Q0 + s * (_Q1 + s * (_Q2 + s * (_Q3 + s * (_Q4 + s * _Q5))))
            X[i, j] = _HALF * x * (_ONE + z * p / q)
