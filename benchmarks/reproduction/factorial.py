"""Effects of the factors of a 2^k factorial design.

References
----------
R. Jain, "The Art of Computer Systems Performance Analysis" (1991), chapters 17 and 18.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats

T = TypeVar("T")


@dataclass(frozen=True)
class Effect:
    """Main effect of a factor, or interaction of several.

    Parameters
    ----------
    factors : tuple of str
        One name for a main effect, several for an interaction.
    effect : float
        Half of the change of the response when the factor goes from its low to its high level.
    explained_fraction : float
        Fraction of the total variation that this effect explains, from 0 to 1.
    low, high : float
        Confidence interval of `effect`; the effect is significant if it excludes 0.
    """

    factors: tuple[str, ...]
    effect: float
    explained_fraction: float
    low: float
    high: float


@dataclass(frozen=True)
class FactorialEffects:
    """Effects of a 2^k design with r replications.

    Parameters
    ----------
    mean : float
        Grand mean of the responses.
    effects : tuple of Effect
        Main effects first, then interactions of two factors, and so on.
    error_fraction : float
        Fraction of the variation that is due to differences between replications.
    n_replications : int
        Number of complete replications.
    """

    mean: float
    effects: tuple[Effect, ...]
    error_fraction: float
    n_replications: int


def factorial_effects(
    responses: ArrayLike, factors: Sequence[str] | None = None, *, level: float = 0.95
) -> FactorialEffects:
    """Estimate the effect of each factor and interaction, and the variation that it explains.

    Parameters
    ----------
    responses : array-like of shape (2, ..., 2, n_replications)
        One axis for each factor, where 0 is the low and 1 the high level; the last axis holds the
        replications, such as folds. A replication with a missing response (NaN) is left out, which
        keeps the design balanced.
    factors : sequence of str, optional
        Names of the factors, one per axis; A, B, C ... by default.
    level : float, default=0.95
        Confidence level of the intervals, between 0 and 1.

    Returns
    -------
    FactorialEffects
        With one replication there is no estimate of the error, and the intervals are NaN. If all
        responses are equal, effects and fractions are 0. Without a complete replication, all values
        are NaN.

    Examples
    --------
    >>> result = factorial_effects([[[15], [25]], [[45], [75]]], ["memory", "cache"])
    >>> result.mean, [(e.factors, e.effect, round(e.explained_fraction, 2)) for e in result.effects]
    (40.0, [(('memory',), 20.0, 0.76), (('cache',), 10.0, 0.19), (('memory', 'cache'), 5.0, 0.05)])
    """
    y = np.asarray(responses, dtype=np.float64)
    k = y.ndim - 1
    if k < 1 or y.shape[:-1] != (2,) * k:
        raise ValueError(f"responses must have shape (2, ..., 2, n_replications); got {y.shape}")
    names = tuple(factors) if factors is not None else tuple(chr(65 + axis) for axis in range(k))
    if len(names) != k:
        raise ValueError(
            f"factors must have {k} names, one per axis of responses; got {len(names)}"
        )
    if not 0 < level < 1:
        raise ValueError(f"level must be in (0, 1); got {level}")
    y = y[..., ~np.isnan(y).any(axis=tuple(range(k)))]
    n_cells, r = 2**k, y.shape[-1]
    if r == 0:
        unknown = tuple(Effect(subset, *(math.nan,) * 4) for subset in _subsets(names))
        return FactorialEffects(math.nan, unknown, math.nan, 0)
    cells = y.mean(axis=-1)
    variation = error = 0.0
    if np.ptp(y):  # otherwise rounding of the mean would look like variation
        variation = float(((y - y.mean()) ** 2).sum())
        error = float(((y - cells[..., None]) ** 2).sum())
    half_width = _half_width(error, n_cells, r, level)
    effects = []
    for axes, subset in zip(_subsets(range(k)), _subsets(names), strict=True):
        q = _coefficient(cells, axes) if variation else 0.0
        explained = n_cells * r * q**2 / variation if variation else 0.0
        effects.append(Effect(subset, q, explained, q - half_width, q + half_width))
    return FactorialEffects(
        float(y.mean()), tuple(effects), error / variation if variation else 0.0, r
    )


def _subsets(items: Iterable[T]) -> list[tuple[T, ...]]:
    """List all non-empty subsets by increasing size."""
    pool = tuple(items)
    return [subset for size in range(1, len(pool) + 1) for subset in combinations(pool, size)]


def _coefficient(cells: NDArray[np.float64], axes: tuple[int, ...]) -> float:
    """Return the mean of the cells, signed by the product of the levels of these factors."""
    signs = np.ones(cells.shape)
    for axis in axes:
        low = [slice(None)] * cells.ndim
        low[axis] = slice(0, 1)
        signs[tuple(low)] *= -1
    return float((signs * cells).mean())


def _half_width(error: float, n_cells: int, r: int, level: float) -> float:
    """Return half the width of the confidence intervals, which is the same for all effects."""
    freedom = n_cells * (r - 1)
    if not freedom:
        return math.nan
    spread = math.sqrt(error / freedom / (n_cells * r))
    return float(stats.t.ppf((1 + level) / 2, freedom)) * spread
