"""What each switch of a designed experiment does: effects of a 2^k factorial design.

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
    """What one factor does, or several together.

    Parameters
    ----------
    factors : tuple of str
        One name for a main effect, several for an interaction.
    effect : float
        Half of the change of the response when the factor goes from its low to its high level.
    share : float
        Share of the total variation that this effect explains, from 0 to 1.
    low, high : float
        Confidence interval of `effect`; an interval without zero in it is a significant effect.
    """

    factors: tuple[str, ...]
    effect: float
    share: float
    low: float
    high: float


@dataclass(frozen=True)
class FactorialEffects:
    """A 2^k design with r replications, taken apart.

    Parameters
    ----------
    mean : float
        Grand mean of the responses.
    effects : tuple of Effect
        Main effects first, then interactions of two factors, and so on.
    error_share : float
        Share of the variation that the replications do not repeat.
    n_replications : int
        Number of complete replications.
    """

    mean: float
    effects: tuple[Effect, ...]
    error_share: float
    n_replications: int


def factorial_effects(
    responses: ArrayLike, factors: Sequence[str] | None = None, *, level: float = 0.95
) -> FactorialEffects:
    """Estimate the effect of each factor and interaction, and its share of the variation.

    Parameters
    ----------
    responses : array-like of shape (2, ..., 2, n_replications)
        One axis for each factor, in which 0 is the low and 1 the high level; the last axis holds
        the replications, such as folds. A replication that lacks any response (NaN) is left out
        whole, which keeps the design balanced.
    factors : sequence of str, optional
        Names of the factors, axis by axis; A, B, C ... by default.
    level : float
        Confidence of the intervals, between 0 and 1.

    Returns
    -------
    FactorialEffects
        With one replication there is no error to judge by, and the intervals are NaN. Responses
        that are all equal have effects and shares of 0. Without a complete replication all
        figures are NaN.

    Examples
    --------
    >>> result = factorial_effects([[[15], [25]], [[45], [75]]], ["memory", "cache"])
    >>> result.mean, [(e.factors, e.effect, round(e.share, 2)) for e in result.effects]
    (40.0, [(('memory',), 20.0, 0.76), (('cache',), 10.0, 0.19), (('memory', 'cache'), 5.0, 0.05)])
    """
    y = np.asarray(responses, dtype=np.float64)
    k = y.ndim - 1
    if k < 1 or y.shape[:-1] != (2,) * k:
        raise ValueError(f"responses must be of shape (2, ..., 2, n_replications), not {y.shape}")
    names = tuple(factors) if factors is not None else tuple(chr(65 + axis) for axis in range(k))
    if len(names) != k:
        raise ValueError(f"factors has {len(names)} names for {k} axes of responses")
    if not 0 < level < 1:
        raise ValueError(f"level must be between 0 and 1, not {level}")
    y = y[..., ~np.isnan(y).any(axis=tuple(range(k)))]
    n_cells, r = 2**k, y.shape[-1]
    if r == 0:
        unknown = tuple(Effect(names_of, *(math.nan,) * 4) for names_of in _subsets(names))
        return FactorialEffects(math.nan, unknown, math.nan, 0)
    cells = y.mean(axis=-1)
    variation = error = 0.0
    if np.ptp(y):  # equal responses would vary by the rounding of their mean
        variation = float(((y - y.mean()) ** 2).sum())
        error = float(((y - cells[..., None]) ** 2).sum())
    half_width = _half_width(error, n_cells, r, level)
    effects = []
    for axes, names_of in zip(_subsets(range(k)), _subsets(names), strict=True):
        q = _coefficient(cells, axes) if variation else 0.0
        share = n_cells * r * q**2 / variation if variation else 0.0
        effects.append(Effect(names_of, q, share, q - half_width, q + half_width))
    return FactorialEffects(
        float(y.mean()), tuple(effects), error / variation if variation else 0.0, r
    )


def _subsets(items: Iterable[T]) -> list[tuple[T, ...]]:
    """List all subsets but the empty one, the small ones first."""
    pool = tuple(items)
    return [subset for size in range(1, len(pool) + 1) for subset in combinations(pool, size)]


def _coefficient(cells: NDArray[np.float64], axes: tuple[int, ...]) -> float:
    """Mean of the cells, each with the sign that it has for these factors together."""
    signs = np.ones(cells.shape)
    for axis in axes:
        low = [slice(None)] * cells.ndim
        low[axis] = slice(0, 1)
        signs[tuple(low)] *= -1
    return float((signs * cells).mean())


def _half_width(error: float, n_cells: int, r: int, level: float) -> float:
    """Half of each effect's confidence interval: it is the same for all of them."""
    freedom = n_cells * (r - 1)
    if not freedom:
        return math.nan
    spread = math.sqrt(error / freedom / (n_cells * r))
    return float(stats.t.ppf((1 + level) / 2, freedom)) * spread
