"""Near-duplicate texts: clusters of texts that share most of their character 4-grams."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from cordwood._base.param_validation import real
from cordwood._kernels.intrinsics import read_only
from cordwood.audit._set_join import join_sets
from cordwood.audit.dataset_check import normalize_text
from cordwood.explain.explainer import check_texts

Progress = Callable[[int, int | None], None]

THRESHOLD = 0.8

# The sets of 4-grams of longer texts become similar because they contain all frequent 4-grams.
_MAX_CHARS = 2000

_N = 4
# 4-grams are hashed to this many buckets. A 4-gram of one text is in the bucket of another text's
# 4-gram with a probability of at most _MAX_CHARS / 2**22, which does not matter for a cosine.
_BUCKET_BITS = 22
_MULTIPLIERS = (0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9, 0xD6E8FEB86659FD93)
_MIX = np.uint64(0xFF51AFD7ED558CCD)

_CHUNK_SIZE = 1024
_BLOCK_SIZE = 1024


@dataclass(frozen=True, kw_only=True)
class NearDuplicates:
    """Clusters of texts that are equal or nearly equal.

    Parameters
    ----------
    cluster : ndarray of shape (n_samples,)
        Cluster of each text, numbered in the order of their first texts.
    partner : ndarray of shape (n_samples,)
        Index of the most similar text that it was compared with in its cluster; -1 if it is alone.
    similarity : ndarray of shape (n_samples,)
        Cosine similarity to the partner; 1 for equal texts, 0 if it is alone.
    """

    cluster: NDArray[np.intp]
    partner: NDArray[np.intp]
    similarity: NDArray[np.float64]

    @property
    def groups(self) -> list[NDArray[np.intp]]:
        """Indices of the texts of each cluster of at least two."""
        order = np.argsort(self.cluster, kind="stable")
        sizes = np.bincount(self.cluster, minlength=1)
        parts = np.split(order, np.cumsum(sizes)[:-1])
        return [part for part in parts if len(part) > 1]


def find_near_duplicates(
    texts: Iterable[str], *, threshold: float = THRESHOLD, progress: Progress | None = None
) -> NearDuplicates:
    """Find texts that are equal or nearly equal.

    Parameters
    ----------
    texts : iterable of str, or Corpus
        Texts. Empty texts have no duplicates.
    threshold : float, default=0.8
        Minimum cosine similarity of the sets of character 4-grams, between 0.5 and 1. With the
        default, texts of 80 characters are near-duplicates if they differ in one or two words.
    progress : callable, default=None
        Called with the number of compared texts and their total number.

    Returns
    -------
    NearDuplicates
        Clusters: the connected components of all pairs of at least this similarity. None is
        missed.

    See Also
    --------
    audit_dataset : Reports near-duplicates, among other problems.

    Notes
    -----
    Case, white space and the Unicode representation are ignored, and only the first 2,000
    characters are compared. Clusters are connected components, so that the first and the last text
    of a cluster may be less similar than `threshold`.

    Examples
    --------
    >>> texts = ["it was a really good film", "such a bore", "It was a really good film!!"]
    >>> found = find_near_duplicates(texts)
    >>> found.cluster
    array([0, 1, 0])
    >>> found.similarity.round(2)
    array([0.92, 0.  , 0.92])
    """
    real("[]", 0.5, 1).check("threshold", threshold)
    normalized = [normalize_text(text) for text in check_texts(texts)]
    unique: dict[str, int] = {}
    position = np.array([unique.setdefault(text, len(unique)) for text in normalized], np.intp)
    joined = _join(list(unique), float(threshold), progress)
    first = np.unique(position, return_index=True)[1]
    cluster = joined.cluster[position]
    # Numbered in the order of their first texts.
    starts, codes = np.unique(cluster, return_index=True, return_inverse=True)[1:]
    cluster = np.argsort(np.argsort(starts))[codes.ravel()]
    partner = np.where(joined.partner[position] < 0, -1, first[joined.partner[position]])
    similarity = joined.similarity[position]
    _add_equal(normalized, position, cluster, partner, similarity)
    return NearDuplicates(cluster=cluster, partner=partner, similarity=similarity)


def _add_equal(
    normalized: list[str],
    position: NDArray[np.intp],
    cluster: NDArray[np.intp],
    partner: NDArray[np.intp],
    similarity: NDArray[np.float64],
) -> None:
    """Make equal texts partners of each other, and separate empty texts."""
    order = np.argsort(position, kind="stable")
    parts = np.split(order, np.cumsum(np.bincount(position, minlength=1))[:-1])
    n_clusters = int(cluster.max(initial=-1)) + 1
    for part in parts:
        if len(part) < 2:
            continue
        if normalized[part[0]]:
            partner[part], similarity[part] = part[0], 1.0
            partner[part[0]] = part[1]
        else:
            cluster[part[1:]] = np.arange(n_clusters, n_clusters + len(part) - 1)
            n_clusters += len(part) - 1


class _Joined(NamedTuple):
    cluster: NDArray[np.intp]
    partner: NDArray[np.intp]
    similarity: NDArray[np.float64]


class _Sets(NamedTuple):
    """Sets of buckets in CSR format, which are sorted within each set."""

    indptr: NDArray[np.int64]
    indices: NDArray[np.int32]


def _join(texts: Sequence[str], threshold: float, progress: Progress | None) -> _Joined:
    """Cluster texts that are all different."""
    sets = hash_ngrams(texts)
    sizes = np.diff(sets.indptr)
    order = np.argsort(sizes, kind="stable")
    n_samples = len(texts)
    frequency = np.bincount(sets.indices, minlength=1)
    used = np.flatnonzero(frequency)
    by_frequency = used[np.argsort(frequency[used], kind="stable")]
    rank = np.empty(len(frequency), np.int32)
    rank[by_frequency] = np.arange(len(used), dtype=np.int32)
    indptr, indices = _reorder(sets, order, rank)
    start = np.cumsum(frequency[by_frequency]) - frequency[by_frequency]
    parent = np.arange(n_samples, dtype=np.int64)
    partner = np.full(n_samples, -1, np.int64)
    similarity = np.zeros(n_samples)
    buffers = (
        np.empty(len(indices), np.int32),  # posting lists; more than the prefixes need
        np.zeros(len(used), np.int64),
        np.zeros(n_samples, np.int32),
        np.empty(n_samples, np.int32),
    )
    inputs = (read_only(indptr), read_only(indices), read_only(start.astype(np.int64)))
    for first in range(0, n_samples, _BLOCK_SIZE):
        last = min(first + _BLOCK_SIZE, n_samples)
        join_sets(first, last, threshold, *inputs, *buffers, parent, partner, similarity)
        if progress is not None:
            progress(last, n_samples)
    return _to_original_order(order, parent, partner, similarity)


def _to_original_order(
    order: NDArray[np.intp],
    parent: NDArray[np.int64],
    partner: NDArray[np.int64],
    similarity: NDArray[np.float64],
) -> _Joined:
    while not np.array_equal(parent, parent[parent]):
        parent = parent[parent]
    cluster, partners = np.empty_like(order), np.empty_like(order)
    similarities = np.empty_like(similarity)
    cluster[order] = order[parent]
    partners[order] = np.where(partner < 0, -1, order[partner])
    similarities[order] = similarity
    return _Joined(cluster, partners, similarities)


def hash_ngrams(texts: Sequence[str]) -> _Sets:
    """Return the set of hashed character 4-grams of each normalized text."""
    parts = [
        _hash_chunk(texts[first : first + _CHUNK_SIZE])
        for first in range(0, len(texts), _CHUNK_SIZE)
    ]
    sizes = [size for size, _ in parts]
    indptr = np.concatenate([[0], np.cumsum(np.concatenate([np.empty(0, np.int64), *sizes]))])
    empty = np.empty(0, np.int32)
    return _Sets(indptr.astype(np.int64), np.concatenate([empty, *(part for _, part in parts)]))


def _hash_chunk(texts: Sequence[str]) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """Return the sizes of the sets, and their elements."""
    padded = [f" {text[:_MAX_CHARS]} ".ljust(_N) if text else "" for text in texts]
    lengths = np.array([len(text) for text in padded], np.int64)
    # Lone surrogates may occur in texts that do not come from a file.
    encoded = "".join(padded).encode("utf-32-le", "surrogatepass")
    codes = np.frombuffer(encoded, np.uint32).astype(np.uint64)
    n_ngrams = max(len(codes) - _N + 1, 0)
    hashes = np.zeros(n_ngrams, np.uint64)
    for offset, multiplier in enumerate(_MULTIPLIERS):
        hashes += codes[offset : offset + n_ngrams] * np.uint64(multiplier)
    hashes ^= hashes >> np.uint64(33)
    hashes *= _MIX
    buckets = (hashes >> np.uint64(64 - _BUCKET_BITS)).astype(np.int64)
    owner = np.repeat(np.arange(len(texts)), lengths)
    is_inside = owner[:n_ngrams] == owner[len(owner) - n_ngrams :]
    keys = np.sort((owner[:n_ngrams][is_inside] << _BUCKET_BITS) | buckets[is_inside])
    keys = keys[np.diff(keys, prepend=-1) > 0]  # ten times as fast as np.unique
    sizes = np.bincount(keys >> _BUCKET_BITS, minlength=len(texts))
    return sizes, (keys & ((1 << _BUCKET_BITS) - 1)).astype(np.int32)


def _reorder(
    sets: _Sets, order: NDArray[np.intp], rank: NDArray[np.int32]
) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """Sort the sets by `order`, and replace their elements by sorted ranks."""
    indptr = np.concatenate([[0], np.cumsum(np.diff(sets.indptr)[order])]).astype(np.int64)
    indices = np.empty(len(sets.indices), np.int32)
    for new, old in enumerate(order.tolist()):
        elements = rank[sets.indices[sets.indptr[old] : sets.indptr[old + 1]]]
        elements.sort()
        indices[indptr[new] : indptr[new + 1]] = elements
    return indptr, indices
