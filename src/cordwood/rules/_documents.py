"""Documents as sets of words: equal ones merged, and dealt into folds."""

from hashlib import blake2b
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from cordwood.rules._records import Floats, Task


class Documents(NamedTuple):
    """Distinct documents, in an order that is as good as random but follows from them alone.

    Parameters
    ----------
    present : sparse matrix of shape (n_docs, n_words)
        Ones where a word is in a document, by words.
    labels : bool array of shape (n_docs, n_labels)
    weight : float64 array of shape (n_docs,)
        The sum of the weights of the rows that are this document.
    """

    present: sp.csc_matrix
    labels: NDArray[np.bool_]
    weight: Floats

    def take(self, chosen: NDArray[np.bool_]) -> "Documents":
        """Take the documents under a mask."""
        present = sp.csc_matrix(sp.csr_matrix(self.present)[chosen])
        return Documents(present, self.labels[chosen], self.weight[chosen])


def find_present(X: Any) -> sp.csr_matrix:
    """Find which values are above zero: ones in double precision, sorted within rows.

    Examples
    --------
    >>> find_present(np.array([[2.0, 0.0, -1.0]])).toarray()
    array([[1., 0., 0.]])
    """
    present = sp.csr_matrix(sp.csr_matrix(X) > 0, dtype=np.float64)
    present.sum_duplicates()
    return present


def merge(present: sp.csr_matrix, labels: NDArray[np.bool_], weights: Floats) -> Documents:
    """Merge rows with the same words and the same labels; leave out rows without a weight.

    The same documents come out for rows in any order, and for a row of weight two as for two rows,
    so that a model, too, is the same.

    Parameters
    ----------
    present : sparse matrix of shape (n_rows, n_words)
        As `find_present` gives it.
    labels : bool array of shape (n_rows, n_labels)
    weights : float64 array of shape (n_rows,)
    """
    rows = np.flatnonzero(weights > 0)
    words = memoryview(present.indices.astype("<i8").tobytes())
    ends = (8 * present.indptr.astype(np.int64)).tolist()
    digests = b"".join(
        blake2b(words[ends[row] : ends[row + 1]], digest_size=16).digest() for row in rows.tolist()
    )
    # Words before labels, so that the order within a class is the same whatever it is called.
    keys = np.hstack(
        [np.frombuffer(digests, np.uint8).reshape(-1, 16), np.packbits(labels[rows], axis=1)]
    )
    _, first, document = np.unique(keys, axis=0, return_index=True, return_inverse=True)
    chosen = rows[first]
    weight = np.bincount(document.reshape(-1), weights[rows]).astype(np.float64)
    return Documents(sp.csc_matrix(present[chosen]), labels[chosen], weight)


def set_task(documents: Documents, is_plus: NDArray[np.bool_]) -> Task:
    """Set the documents under a mask against the others."""
    by_words = documents.present.T
    order = np.concatenate([np.flatnonzero(is_plus), np.flatnonzero(~is_plus)])
    n_plus = int(is_plus.sum())
    plus, minus = (sp.csr_matrix(by_words[:, part]) for part in np.split(order, [n_plus]))
    return Task(plus, minus, documents.weight[order])


def deal(documents: Documents, n_folds: int) -> NDArray[np.int64]:
    """Deal the documents of each label out to folds in turn; of several labels the rarest counts.

    Returns
    -------
    ndarray of shape (n_docs,)
        The number of each document's fold.
    """
    n_docs, n_labels = documents.labels.shape
    counts = np.where(documents.labels, documents.labels.sum(axis=0), n_docs + 1)
    group = np.where(documents.labels.any(axis=1), counts.argmin(axis=1), n_labels)
    order = np.argsort(group, kind="stable")
    # One label goes on where the last one stopped, or the first folds would get all remainders.
    folds = np.empty(n_docs, np.int64)
    folds[order] = np.arange(n_docs) % n_folds
    return folds
