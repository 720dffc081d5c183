"""Counts of words, and an index of texts by their words."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.feature_extraction.text import CountVectorizer

from cordwood._base.csr import to_csr
from cordwood.neighbors.index import CosineIndex, build_index, query_index

# Neighbors are sought among at most this many samples.
_MAX_INDEXED = 20_000


class WordFeatures(NamedTuple):
    """Counts of words, and an index of some of the samples."""

    counts: sp.csr_matrix  # (n_samples, n_words), float32
    names: list[str]
    neighbor_index: CosineIndex  # by the cosine of TF-IDF
    indexed: NDArray[np.intp]  # the indexed samples, sorted

    def find_nearest(self, sample: int, n_neighbors: int) -> list[int]:
        """Return the nearest indexed samples of a sample, without itself."""
        neighbors, _ = query_index(
            self.neighbor_index,
            self.counts[[sample]],
            min(n_neighbors, len(self.indexed)),
            query_groups=np.array([sample], np.int64),
            groups=self.indexed.astype(np.int64),
        )
        return [int(self.indexed[j]) for j in neighbors[0] if j >= 0]


def index_words(texts: Sequence[str], random_state: int) -> WordFeatures | None:
    """Count the words of all texts and index some of the texts; None if there are no words."""
    vectorizer = CountVectorizer(token_pattern=r"\b\w+\b", dtype=np.float32)
    try:
        counts = to_csr(vectorizer.fit_transform(texts))
    except ValueError:  # no words
        return None
    order = np.random.RandomState(random_state).permutation(len(texts))
    indexed = np.sort(order[:_MAX_INDEXED])
    index = build_index(to_csr(counts[indexed]), "tfidf_cosine")
    assert isinstance(index, CosineIndex)
    return WordFeatures(counts, vectorizer.get_feature_names_out().tolist(), index, indexed)
