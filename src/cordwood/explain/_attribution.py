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
    """Contributions of the nearest training samples to the probabilities."""

    samples: NDArray[np.integer[Any]]  # indices in the training set
    class_codes: NDArray[np.integer[Any]]
    similarity: Floats  # cosine, or minus the Euclidean distance
    values: Floats  # (n_neighbors, n_classes)
    shared: list[list[int]]  # positions in the sample's row, the most similar term first


class Attribution(NamedTuple):
    """Additive contributions of features to the scores of a classifier."""

    columns: NDArray[np.integer[Any]]  # features; words of the text if of_words
    values: Floats  # (n_terms, n_classes)
    start: Floats  # scores of the empty text
    end: Floats  # scores of the text: start plus all contributions
    link: Link
    of_words: bool = False
    neighbors: NeighborTerms | None = None


class Attributor(NamedTuple):
    """Method that attributes the predictions of a fitted classifier."""

    attribute: Callable[[sp.csr_matrix], Attribution]  # of a canonical matrix of one sample
    method: str  # one line for users
    is_exact: bool  # whether contributions are Shapley values of the scores of the classifier


class LinearMap(NamedTuple):
    """Map of contributions to the scores of a classifier to contributions to another quantity."""

    weights: Floats  # (n_outputs, n_scores)
    start: Floats  # the quantity for the empty text, and for the text
    end: Floats

    def apply(self, values: Floats) -> Floats:
        """Return the contributions to the quantity, of shape (n_terms, n_outputs)."""
        return np.asarray(values @ self.weights.T)

    def then(self, other: "LinearMap") -> "LinearMap":
        """Return the composition of this map, followed by another."""
        return LinearMap(other.weights @ self.weights, other.start, other.end)


def identity_map(start: Floats, end: Floats) -> LinearMap:
    """Return the map of scores to themselves."""
    return LinearMap(np.eye(len(start)), start, end)


def softmax_map(start: Floats, end: Floats) -> LinearMap:
    """Return the map of scores to their softmax function."""
    return LinearMap(softmax_weights(start, end), softmax(start), softmax(end))


def to_probability(attribution: Attribution) -> LinearMap:
    """Return the map to contributions to the probabilities."""
    start, end = attribution.start, attribution.end
    if attribution.link == "identity":
        return identity_map(start, end)
    if attribution.link == "normalize":
        weights = normalization_weights(start, end)
        return LinearMap(weights, start / start.sum(), end / end.sum())
    return softmax_map(start, end)


def to_log_probability(attribution: Attribution, floor: float) -> LinearMap:
    """Return the map to contributions to the logarithms of probabilities of at least `floor`."""
    start, end = attribution.start, attribution.end
    if attribution.link == "softmax":
        logs = LinearMap(
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
    return logs.then(LinearMap(np.diag(multiplier), *floored))
