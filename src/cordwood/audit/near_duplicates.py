"""Equal and similar samples: the only definition of duplicates and near-duplicates in an audit."""

import unicodedata
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from cordwood._base.duplicates import number_duplicates
from cordwood._base.param_validation import real
from cordwood._kernels.intrinsics import read_only
from cordwood.audit._set_join import join_sets
from cordwood.datasets.corpus import Corpus, FeatureMatrix
from cordwood.exceptions import DataError
from cordwood.explain.explainer import check_texts

Progress = Callable[[int, int | None], None]

THRESHOLD = 0.8

SIMILAR = f"similar (cosine of the sets of character 4-grams at least {THRESHOLD})"
"""How messages state the definition."""

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
    """Clusters of texts that are equal or similar.

    Parameters
    ----------
    cluster : ndarray of shape (n_samples,)
        Cluster of each text, numbered in the order of their first texts.
    first_equal : ndarray of shape (n_samples,)
        Index of the first text that is equal to it, ignoring case, white space and the Unicode
        representation; its own index if there is no earlier one.
    partner : ndarray of shape (n_samples,)
        Index of the most similar text that it was compared with in its cluster; -1 if it is alone.
    similarity : ndarray of shape (n_samples,)
        Cosine similarity to the partner; 1 for equal texts, 0 if it is alone.
    """

    cluster: NDArray[np.intp]
    first_equal: NDArray[np.intp]
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
    """Find texts that are equal or similar.

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
    check_dataset, audit_dataset : Report near-duplicates, among other problems.

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
    keys = _list_keys(check_texts(texts))
    different = [key if isinstance(key, str) else "" for key in dict.fromkeys(keys)]
    return _add_equal(_join(different, float(threshold), progress), number_duplicates(keys))


def _list_keys(texts: Iterable[str]) -> list[str | int]:
    """Return normalized texts; the key of an empty one is its index, so that it has no equal."""
    return [normalize_text(text) or i for i, text in enumerate(texts)]


def cluster_samples(
    *parts: Corpus | FeatureMatrix, progress: Progress | None = None, max_similar: float = np.inf
) -> NearDuplicates:
    """Find equal and similar texts, or equal rows of features, in one or several data sets.

    Of more than `max_similar` texts, only equal ones are found, in linear time.
    """
    if len({type(part) for part in parts}) > 1:
        raise DataError("test must have texts if data has texts, and features if it has features")
    if isinstance(parts[0], Corpus):
        texts = [text for part in parts if isinstance(part, Corpus) for text in part.texts]
        if len(texts) <= max_similar:
            return find_near_duplicates(texts, progress=progress)
        number = number_duplicates(_list_keys(texts))
    else:
        matrices: list[Any] = [part.X for part in parts if isinstance(part, FeatureMatrix)]
        number = number_duplicates(matrices[0] if len(matrices) == 1 else _stack(matrices))
    n_different = int(number.max(initial=-1)) + 1
    alone = _Joined(
        np.arange(n_different), np.full(n_different, -1, np.intp), np.zeros(n_different)
    )
    return _add_equal(alone, number)


def _stack(matrices: Sequence[Any]) -> sp.csr_matrix:
    """Stack matrices; sparse ones may lack the last columns, which are empty."""
    parts: list[Any] = [sp.csr_matrix(matrix) for matrix in matrices]
    n_features = max(part.shape[1] for part in parts)
    for part in parts:
        part.resize(part.shape[0], n_features)
    return sp.vstack(parts)


def normalize_text(text: str) -> str:
    """Return a text without differences of case, white space and Unicode representation."""
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())


class _Joined(NamedTuple):
    """Clusters of different samples; the fields are those of `NearDuplicates`."""

    cluster: NDArray[np.intp]
    partner: NDArray[np.intp]
    similarity: NDArray[np.float64]


def _add_equal(joined: _Joined, number: NDArray[np.intp]) -> NearDuplicates:
    """Return the clusters of all samples, given their numbers among the different ones."""
    first, sizes = np.unique(number, return_index=True, return_counts=True)[1:]
    cluster = number_duplicates(joined.cluster[number].tolist())
    partner = np.where(joined.partner < 0, -1, first[joined.partner])[number]
    similarity = joined.similarity[number]
    # Equal samples are partners of the first of them, which is the partner of the second.
    is_repeated = (sizes > 1)[number]
    partner[is_repeated], similarity[is_repeated] = first[number[is_repeated]], 1.0
    order = np.argsort(number, kind="stable")
    starts = (np.cumsum(sizes) - sizes)[sizes > 1]
    partner[order[starts]] = order[starts + 1]
    return NearDuplicates(
        cluster=cluster, first_equal=first[number], partner=partner, similarity=similarity
    )


class _Sets(NamedTuple):
    """Sets of hashed 4-grams in CSR format, sorted within each set."""

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
        start.astype(np.int64),
        start.astype(np.int64),
        np.empty(len(indices), np.int32),  # posting lists; more than the prefixes need
        np.zeros(n_samples, np.int32),
        np.empty(n_samples, np.int32),
    )
    n_smaller = np.searchsorted(sizes[order], np.arange(sizes.max(initial=0) + 1)).astype(np.int64)
    inputs = (read_only(indptr), read_only(indices), read_only(n_smaller))
    for first in range(0, n_samples, _BLOCK_SIZE):
        last = min(first + _BLOCK_SIZE, n_samples)
        join_sets(first, last, threshold, *inputs, *buffers, parent, partner, similarity)
        if progress is not None:
            progress(last, n_samples)
    while not np.array_equal(parent, parent[parent]):
        parent = parent[parent]
    original = np.argsort(order)
    partner = np.where(partner < 0, -1, order[partner])
    return _Joined(order[parent][original], partner[original], similarity[original])


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
