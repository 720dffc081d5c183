"""Which samples to label next: those that cover uncertain regions, and some at random."""

from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray
from sklearn.preprocessing import normalize

from cordwood._base.param_validation import integer, real

# Candidates are a random sample: all samples would need a matrix of all pairs.
MAX_CANDIDATES = 1000
# Labelled samples that candidates are compared with, at most, and how many of them at once.
_MAX_LABELLED = 10_000
_BLOCK = 1000
# Chosen from the same candidates, so that larger requests have new ones.
_MAX_CHOSEN = 100
# Of a certain sample, so that the choice is diverse where the model is certain of everything.
_MIN_WEIGHT = 1e-6


class Choice(NamedTuple):
    """A sample to label, and why."""

    index: int  # type: ignore[assignment]  # replaces the method of tuples
    reason: Literal["uncertain", "random", "diverse"]


def choose_diverse(
    vectors: Any, n: int, *, seed: int, exclude: Sequence[int] | NDArray[np.intp] = ()
) -> NDArray[np.intp]:
    """Choose samples that represent all others, without labels.

    Greedy maximization of the mean similarity of a sample to the most similar chosen one, so that
    the first samples of a longer choice are a good choice, too.

    Parameters
    ----------
    vectors : array or sparse matrix of shape (n_samples, n_features)
        Compared by cosine.
    n : int
        Number of samples to choose; fewer if there are not as many.
    seed : int
        Seed of the sample of candidates.
    exclude : sequence of int, default=()
        Samples not to choose, which represent others already.

    Returns
    -------
    array of int
        Indices of the chosen samples, without duplicates, in the order of the choice.
    """
    integer(0).check("n", n)
    taken = np.zeros(vectors.shape[0], bool)
    taken[np.asarray(exclude, np.intp)] = True
    return _cover(vectors, taken, n, None, np.random.default_rng(seed))


def choose_next(
    proba: ArrayLike | None,
    vectors: Any,
    labelled: ArrayLike,
    *,
    n: int = 1,
    seed: int,
    random_share: float = 0.2,
    is_multilabel: bool = False,
) -> list[Choice]:
    """Choose the samples to label next.

    Samples are chosen that resemble many samples of which the model is uncertain, and that neither
    resemble each other nor the labelled ones [1]_. A sample counts by one minus the difference of
    the probabilities of its two most probable classes; with several labels, by how uncertain its
    least certain label is. The fewer samples are labelled, the wider the regions that one covers.

    Parameters
    ----------
    proba : array of shape (n_samples, n_classes) or None
        Probabilities predicted by the current model, or None if there is no model yet.
    vectors : array or sparse matrix of shape (n_samples, n_features)
        Compared by cosine.
    labelled : array of bool of shape (n_samples,)
        Samples not to choose.
    n : int, default=1
        Number of samples to choose; fewer if there are not as many.
    seed : int
        The choice depends on the seed and the number of labelled samples, so that the same seed may
        be used again after a sample is labelled.
    random_share : float, default=0.2
        Share of samples that are drawn from all unlabelled ones with equal probability. Only these
        are fit for estimates, such as that of the accuracy: the others are harder than average.
    is_multilabel : bool, default=False
        Whether a sample may have several labels, so that `proba` has one probability per label.

    Returns
    -------
    list of Choice
        Indices and reasons: "random", and "uncertain", or "diverse" without a model or with one
        class.

    References
    ----------
    .. [1] Bae, W., Oliveira, G. L. and Sutherland, D. J. (2025). Uncertainty herding: one active
           learning method for all label budgets. ICLR 2025.
    """
    integer(0).check("n", n)
    real("[]", 0, 1).check("random_share", random_share)
    taken = np.array(labelled, bool)
    n_samples = vectors.shape[0]
    if taken.shape != (n_samples,):
        raise ValueError(f"labelled must have one value for each of the {n_samples} samples")
    weights = None if proba is None else uncertainty(proba, is_multilabel=is_multilabel)
    if weights is not None and weights.shape != (n_samples,):
        raise ValueError(f"proba must have one row for each of the {n_samples} samples")
    rng = np.random.default_rng([seed, int(np.count_nonzero(taken))])
    unlabelled = np.flatnonzero(~taken)
    n = min(n, len(unlabelled))
    # One of five with n=5, and with n=1 in one of five calls.
    n_random = min(n, int(n * random_share + rng.random()))
    # Drawn before the others are removed, so that each unlabelled sample is as probable.
    drawn = rng.choice(unlabelled, n_random, replace=False)
    taken[drawn] = True
    reason: Literal["uncertain", "diverse"] = "diverse" if weights is None else "uncertain"
    choices = [Choice(int(i), "random") for i in drawn]
    choices += [Choice(int(i), reason) for i in _cover(vectors, taken, n - n_random, weights, rng)]
    return [choices[i] for i in rng.permutation(n)]


def uncertainty(proba: ArrayLike, *, is_multilabel: bool = False) -> NDArray[np.float64] | None:
    """Return one minus the margin of each sample, or None if there is nothing to confuse."""
    p = np.asarray(proba, np.float64)
    if not np.isfinite(p).all():
        raise ValueError("proba must be finite; predict the probabilities again")
    if is_multilabel:
        return np.asarray(1 - np.abs(2 * p - 1).min(axis=1))
    if p.shape[1] < 2:
        return None
    top = np.partition(p, -2, axis=1)
    return np.asarray(1 - (top[:, -1] - top[:, -2]))


def _cover(
    vectors: Any,
    taken: NDArray[np.bool_],
    n: int,
    weights: NDArray[np.float64] | None,
    rng: np.random.Generator,
) -> NDArray[np.intp]:
    """Choose `n` samples that are not taken, each similar to what those before it are not."""
    taken = taken.copy()
    chosen: list[NDArray[np.intp]] = []
    n = min(n, int(np.count_nonzero(~taken)))
    while n > 0:
        candidates = rng.permutation(np.flatnonzero(~taken))[:MAX_CANDIDATES]
        known = rng.permutation(np.flatnonzero(taken))[:_MAX_LABELLED]
        block = vectors[candidates]
        n_block = min(n, _MAX_CHOSEN, len(candidates))
        # The width of the kernel is the mean distance to the nearest labelled sample; without any,
        # to the nearest of as many random samples as are to be chosen.
        nearest = _nearest(vectors, block, known if len(known) else candidates[:n_block])
        width = max(float(1 - nearest.mean()), 1e-6)
        kernel = np.exp((_cosines(block, block) - 1) / width)
        covered = np.exp((nearest - 1) / width) if len(known) else np.zeros(len(candidates))
        importance = np.ones(len(candidates)) if weights is None else weights[candidates]
        positions = _maximize(kernel, covered, np.maximum(importance, _MIN_WEIGHT), n_block)
        taken[candidates[positions]] = True
        chosen.append(candidates[positions])
        n -= n_block
    return np.concatenate(chosen) if chosen else np.empty(0, np.intp)


def _maximize(
    kernel: NDArray[np.float32], covered: NDArray[Any], weights: NDArray[np.float64], n: int
) -> NDArray[np.intp]:
    """Maximize greedily the weighted sum of the similarities to the most similar chosen one."""
    covered, weights = covered.astype(np.float32), weights.astype(np.float32)
    chosen = np.empty(n, np.intp)
    for i in range(n):
        gains = np.maximum(kernel - covered, 0) @ weights
        gains[chosen[:i]] = -1
        chosen[i] = gains.argmax()
        covered = np.maximum(covered, kernel[chosen[i]])
    return chosen


def _nearest(vectors: Any, block: Any, known: NDArray[np.intp]) -> NDArray[np.float32]:
    """Return the cosine of each sample in the block to the most similar known one."""
    nearest = np.full(block.shape[0], -1, np.float32)
    for start in range(0, len(known), _BLOCK):
        cosines = _cosines(block, vectors[known[start : start + _BLOCK]])
        np.maximum(nearest, cosines.max(axis=1), out=nearest)
    return nearest


def _cosines(a: Any, b: Any) -> NDArray[np.float32]:
    """Return the cosines of all pairs, at most 1."""
    product = normalize(a.astype(np.float32)) @ normalize(b.astype(np.float32)).T
    dense: NDArray[np.float32] = np.asarray(product.todense() if sp.issparse(a) else product)
    return np.minimum(dense, np.float32(1))
