"""Binarization of samples, merging of duplicates, and assignment to calibration folds."""

from hashlib import blake2b
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from cordwood.rules._records import BinaryProblem, Float64Array


class UniqueSamples(NamedTuple):
    """Unique binarized samples, in a pseudo-random order that depends on the samples alone.

    Parameters
    ----------
    present : sparse matrix of shape (n_samples, n_features)
        Ones where a feature is present in a sample, in CSC format.
    labels : bool array of shape (n_samples, n_labels)
        Label indicators.
    weight : float64 array of shape (n_samples,)
        Sum of the weights of the duplicates.
    """

    present: sp.csc_matrix
    labels: NDArray[np.bool_]
    weight: Float64Array

    def take(self, mask: NDArray[np.bool_]) -> "UniqueSamples":
        """Return the samples in a mask."""
        present = sp.csc_matrix(sp.csr_matrix(self.present)[mask])
        return UniqueSamples(present, self.labels[mask], self.weight[mask])


def binarize(X: Any) -> sp.csr_matrix:
    """Return float64 ones where `X` is positive, with sorted indices.

    Examples
    --------
    >>> binarize(np.array([[2.0, 0.0, -1.0]])).toarray()
    array([[1., 0., 0.]])
    """
    present = sp.csr_matrix(sp.csr_matrix(X) > 0, dtype=np.float64)
    present.sum_duplicates()
    return present


def merge_duplicates(
    present: sp.csr_matrix, labels: NDArray[np.bool_], weights: Float64Array
) -> UniqueSamples:
    """Merge samples with the same features and labels; drop samples of weight zero.

    The result depends neither on the order of the samples nor on whether duplicates are given as
    weights, so that the fitted model does not depend on them either.

    Parameters
    ----------
    present : sparse matrix of shape (n_samples, n_features)
        Samples from `binarize`.
    labels : bool array of shape (n_samples, n_labels)
        Label indicators.
    weights : float64 array of shape (n_samples,)
        Sample weights.
    """
    weighted = np.flatnonzero(weights > 0)
    features = memoryview(present.indices.astype("<i8").tobytes())
    ends = (8 * present.indptr.astype(np.int64)).tolist()
    digests = b"".join(
        blake2b(features[ends[i] : ends[i + 1]], digest_size=16).digest() for i in weighted.tolist()
    )
    # Features before labels: the order within a class must not depend on the names of the labels.
    keys = np.hstack(
        [np.frombuffer(digests, np.uint8).reshape(-1, 16), np.packbits(labels[weighted], axis=1)]
    )
    _, first, unique = np.unique(keys, axis=0, return_index=True, return_inverse=True)
    kept = weighted[first]
    weight = np.bincount(unique.reshape(-1), weights[weighted]).astype(np.float64)
    return UniqueSamples(sp.csc_matrix(present[kept]), labels[kept], weight)


def one_vs_rest(samples: UniqueSamples, is_positive: NDArray[np.bool_]) -> BinaryProblem:
    """Return the binary problem of the samples in a mask against all others."""
    by_feature = samples.present.T
    order = np.concatenate([np.flatnonzero(is_positive), np.flatnonzero(~is_positive)])
    n_positive = int(is_positive.sum())
    positive, negative = (
        sp.csr_matrix(by_feature[:, part]) for part in np.split(order, [n_positive])
    )
    return BinaryProblem(positive, negative, samples.weight[order])


def assign_folds(samples: UniqueSamples, n_folds: int) -> NDArray[np.int64]:
    """Assign samples to folds, stratified by their rarest label.

    Returns
    -------
    ndarray of shape (n_samples,)
        Fold of each sample.
    """
    n_samples, n_labels = samples.labels.shape
    counts = np.where(samples.labels, samples.labels.sum(axis=0), n_samples + 1)
    stratum = np.where(samples.labels.any(axis=1), counts.argmin(axis=1), n_labels)
    order = np.argsort(stratum, kind="stable")
    # One sequence over all strata, otherwise the first folds would get all remainders.
    folds = np.empty(n_samples, np.int64)
    folds[order] = np.arange(n_samples) % n_folds
    return folds
