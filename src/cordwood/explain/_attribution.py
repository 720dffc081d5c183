"""Attributions of one classifier: contributions of the features of one sample to its scores."""

from collections.abc import Callable
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from cordwood.explain._path_integrals import (
    Floats,
    log_softmax_weights,
    logsumexp,
    normalization_weights,
    rescale_multipliers,
    softmax,
    softmax_weights,
)

# How scores become probabilities: by the softmax function, by division by their sum, or not at all.
Link: TypeAlias = Literal["softmax", "normalize", "identity"]


class NeighborTerms(NamedTuple):
    """Contributions of the nearest training samples to the probabilities.

    Parameters
    ----------
    samples : int array of shape (n_neighbors,)
        Indices of the training samples.
    class_codes : int array of shape (n_neighbors,)
    similarity : float64 array of shape (n_neighbors,)
        Cosine, or minus the Euclidean distance.
    values : float64 array of shape (n_neighbors, n_classes)
        Contributions to the probabilities.
    shared : list of lists of int
        Terms that each of them shares with the sample, as positions in the sample's row, the most
        similar first.
    """

    samples: NDArray[np.integer[Any]]
    class_codes: NDArray[np.integer[Any]]
    similarity: Floats
    values: Floats
    shared: list[list[int]]


class Attribution(NamedTuple):
    """Additive contributions of features to the scores of a classifier.

    Parameters
    ----------
    columns : int array of shape (n_terms,)
        Features with contributions. If `of_words`, words of the text instead.
    values : float64 array of shape (n_terms, n_classes)
        Contributions to the scores.
    start : float64 array of shape (n_classes,)
        Scores of the empty text.
    end : float64 array of shape (n_classes,)
        Scores of the text: the sum of `start` and all contributions.
    link : {"softmax", "normalize", "identity"}
        How scores become probabilities.
    of_words : bool, default=False
        Whether contributions are of words of the text.
    neighbors : NeighborTerms, default=None
        Nearest training samples, if the classifier uses them.
    """

    columns: NDArray[np.integer[Any]]
    values: Floats
    start: Floats
    end: Floats
    link: Link
    of_words: bool = False
    neighbors: NeighborTerms | None = None


class Attributor(NamedTuple):
    """Method that attributes the predictions of a fitted classifier.

    Parameters
    ----------
    attribute : callable
        Maps a canonical CSR matrix of one sample to an `Attribution`.
    method : str
        One line for users.
    is_exact : bool
        Whether the contributions are exact Shapley values of the scores of the classifier.
    """

    attribute: Callable[[sp.csr_matrix], Attribution]
    method: str
    is_exact: bool


class LinearMap(NamedTuple):
    """Map of contributions to the scores of a classifier to contributions to another quantity.

    Contributions are multiplied by `factors`, one for each score, and then by the transpose of
    `weights`. The quantity changes from `start` to `end`.
    """

    factors: Floats
    weights: Floats
    start: Floats
    end: Floats

    def apply(self, values: Floats) -> Floats:
        """Return the contributions to the quantity, of shape (n_terms, n_outputs)."""
        return np.asarray((values * self.factors) @ self.weights.T)

    def then(self, other: "LinearMap") -> "LinearMap":
        """Return the composition of this map, followed by another."""
        weights = (other.weights * other.factors) @ self.weights
        return LinearMap(self.factors, weights, other.start, other.end)


def identity_map(start: Floats, end: Floats) -> LinearMap:
    """Return the map of scores to themselves."""
    return LinearMap(np.ones(len(start)), np.eye(len(start)), start, end)


def to_probability(attribution: Attribution) -> LinearMap:
    """Return the map to contributions to the probabilities."""
    start, end = attribution.start, attribution.end
    factors = np.ones(len(start))
    if attribution.link == "identity":
        return identity_map(start, end)
    if attribution.link == "normalize":
        weights = normalization_weights(start, end)
        return LinearMap(factors, weights, start / start.sum(), end / end.sum())
    return LinearMap(factors, softmax_weights(start, end), softmax(start), softmax(end))


def to_log_probability(attribution: Attribution, floor: float) -> LinearMap:
    """Return the map to contributions to the logarithms of probabilities of at least `floor`."""
    start, end = attribution.start, attribution.end
    if attribution.link == "softmax":
        logs = LinearMap(
            np.ones(len(start)),
            log_softmax_weights(start, end),
            start - logsumexp(start),
            end - logsumexp(end),
        )
        floored = np.maximum(logs.start, np.log(floor)), np.maximum(logs.end, np.log(floor))
        derivative = (logs.end > np.log(floor)).astype(np.float64)
    else:
        logs = to_probability(attribution)
        floored = np.log(np.maximum(logs.start, floor)), np.log(np.maximum(logs.end, floor))
        derivative = (logs.end > floor) / np.maximum(logs.end, floor)
    multiplier = rescale_multipliers(logs.start, logs.end, floored, derivative)
    return logs.then(LinearMap(multiplier, np.eye(len(start)), *floored))
