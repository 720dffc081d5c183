"""Random numbers for kernels, from a state array of one 64-bit integer.

The generator is SplitMix64 (Steele, Lea and Flood, OOPSLA 2014): one addition and two
multiplications per number, and every 64-bit seed is equally good. A tree's seed alone determines
all of its random choices, so results do not depend on the number of threads.
"""

import math

import numpy as np

from cordwood._kernels.jit import Float, Float64Array, Int, RngState, helper

MAX_SEED = 2**63 - 1

_STEP = np.uint64(0x9E3779B97F4A7C15)
_MIX_1 = np.uint64(0xBF58476D1CE4E5B9)
_MIX_2 = np.uint64(0x94D049BB133111EB)
_S30, _S27, _S31, _S11 = np.uint64(30), np.uint64(27), np.uint64(31), np.uint64(11)
_UNIT = 2.0**-53


@helper
def uniform(state: RngState) -> Float:
    """Draw a float from [0, 1)."""
    z = state[0] + _STEP
    state[0] = z
    z = (z ^ (z >> _S30)) * _MIX_1
    z = (z ^ (z >> _S27)) * _MIX_2
    z = z ^ (z >> _S31)
    return np.float64(z >> _S11) * _UNIT


@helper
def randbelow(state: RngState, n: Int) -> Int:
    """Draw an integer from 0 to n - 1."""
    return np.int64(uniform(state) * n)


@helper
def hypergeometric(
    state: RngState,
    log_factorial: Float64Array,
    n_good: Int,
    n_all: Int,
    n_drawn: Int,
) -> Int:
    """Draw the number of good items among `n_drawn` items, without replacement from `n_all`."""
    # Inverts the distribution function from the mode outwards, which takes one random number and
    # about as many steps as the standard deviation. `log_factorial` is a table for small integers.
    n_bad = n_all - n_good
    if n_bad == 0 or n_drawn >= n_all:
        return min(n_good, n_drawn)
    least, most = max(0, n_drawn - n_bad), min(n_good, n_drawn)
    mode = np.int64((n_drawn + 1.0) * (n_good + 1.0) / (n_all + 2.0))
    mode = min(max(mode, least), most)
    p_mode = np.exp(
        log_factorial_of(log_factorial, n_good)
        - log_factorial_of(log_factorial, mode)
        - log_factorial_of(log_factorial, n_good - mode)
        + log_factorial_of(log_factorial, n_bad)
        - log_factorial_of(log_factorial, n_drawn - mode)
        - log_factorial_of(log_factorial, n_bad - n_drawn + mode)
        + log_factorial_of(log_factorial, n_drawn)
        + log_factorial_of(log_factorial, n_all - n_drawn)
        - log_factorial_of(log_factorial, n_all)
    )
    remaining = uniform(state) - p_mode
    below, above = mode, mode
    p_below, p_above = p_mode, p_mode
    while remaining >= 0.0 and (below > least or above < most):
        if above < most:
            p_above *= (n_good - above) * (n_drawn - above)
            above += 1
            p_above /= np.float64(above) * (n_bad - n_drawn + above)
            remaining -= p_above
            if remaining < 0.0:
                return above
        if below > least:
            p_below *= np.float64(below) * (n_bad - n_drawn + below)
            below -= 1
            p_below /= np.float64(n_good - below) * (n_drawn - below)
            remaining -= p_below
            if remaining < 0.0:
                return below
    return mode


@helper
def log_factorial_of(table: Float64Array, n: Int) -> Float:
    """Return the logarithm of n!, from a table of the logarithms up to some integer if it can."""
    return table[n] if n < len(table) else math.lgamma(n + 1.0)
