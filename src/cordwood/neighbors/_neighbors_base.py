"""What learners do alike that keep their training rows and ask the nearest of them."""

from abc import abstractmethod
from collections.abc import Callable
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from joblib import Parallel, delayed, effective_n_jobs
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_consistent_length, check_is_fitted, validate_data

from cordwood._base_classifier import BaseVotingClassifier
from cordwood._csr import check_labelled_csr, to_csr
from cordwood._param_validation import check_choice, check_jobs, check_number
from cordwood.neighbors.index import METRICS, build, choose_metric, query

Counter = Callable[
    [sp.csr_matrix, NDArray[np.int32], NDArray[np.float64], NDArray[np.float64]], None
]

# Queries answered in one go; their neighbours should not take much memory.
QUERIES = 32


class BaseNeighborsClassifier(BaseVotingClassifier):
    """A classifier that stores rows and an index of them, and answers by the nearest."""

    metric: str
    n_neighbors: int
    n_jobs: int | None

    # Rows cannot weigh more or less: each is a neighbour or not.
    def fit(self, X: Any, y: Any) -> Self:  # type: ignore[override]
        """Store the rows and build an index of them.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_rows, n_features)
            Training rows. Values are kept in single precision.
        y : array of shape (n_rows,)
            Their labels.

        Returns
        -------
        self
        """
        return super().fit(X, y)

    def kneighbors(
        self, X: Any = None, n_neighbors: int | None = None, return_distance: bool = True
    ) -> Any:
        """Find the nearest training rows.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_rows, n_features), optional
            The queries; by default the training rows, of which none is its own neighbour.
        n_neighbors : int, optional
            How many to find; the estimator's, by default. All there are, where there are fewer.
        return_distance : bool, default=True
            Whether to give the distances, too.

        Returns
        -------
        distances : ndarray of shape (n_rows, n_neighbors)
            Only if they are asked for: Euclidean distances, or one minus the cosine; infinite
            where there are no more neighbours.
        indices : ndarray of shape (n_rows, n_neighbors)
            Training rows by number, the nearest first; -1 where there are no more.
        """
        check_is_fitted(self)
        own = None
        if X is None:
            X, own = self._training_rows(), np.arange(len(self._codes))
        else:
            X = self._check_queries(X)
        n_found = self._count_neighbors(self.n_neighbors if n_neighbors is None else n_neighbors)
        ids = np.empty((X.shape[0], n_found), np.int32)
        distances = np.empty((X.shape[0], n_found))

        def find(first: int) -> None:
            block = slice(first, first + QUERIES)
            part = None if own is None else own[block]
            ids[block], distances[block] = query(self._index, X[block], n_found, own=part)

        self._run(find, X.shape[0])
        return (distances, ids) if return_distance else ids

    def loo_decision_function(
        self, groups: ArrayLike | None = None, rows: ArrayLike | None = None
    ) -> NDArray[np.float64]:
        """Give the training rows' probabilities as answered by their neighbours alone.

        Each row is answered by its own neighbours, itself left out, as a new row would be: these
        are the rows that stacking learns from. Labels of the rows left out are not used at all;
        the weights of words are those of all training rows.

        Parameters
        ----------
        groups : array of shape (n_rows,), optional
            Rows of the same group as a row are left out with it.
        rows : array of int of shape (n_asked,), optional
            Positions of the training rows to answer; all of them by default. Each is answered as
            it is among all, and any training row may be its neighbour.

        Returns
        -------
        ndarray of shape (n_rows, n_classes), or (n_asked, n_classes)
            In the order of `classes_`; rows sum to one.

        """
        check_is_fitted(self)
        X = self._training_rows()
        group = np.arange(X.shape[0])
        if groups is not None:
            check_consistent_length(X, groups)
            group = np.unique(np.asarray(groups), return_inverse=True)[1].ravel()
        if group.max() == 0:
            raise ValueError(
                f"all {X.shape[0]} training rows are in one group, so that none is left to answer "
                "for another; give groups of which there are at least two"
            )
        group = group.astype(np.int64)
        if rows is None:
            return self._answer(X, group, group, is_loo=True)
        asked = _check_positions(rows, X.shape[0])
        return self._answer(X[asked], group[asked], group, is_loo=True)

    def _store(self, X: sp.csc_matrix, codes: NDArray[np.uint32]) -> None:
        """Keep labelled rows, and make an index of them."""
        check_choice("metric", self.metric, ("auto", *METRICS))
        rows = to_csr(X.tocsr())
        self.metric_ = choose_metric(rows) if self.metric == "auto" else self.metric
        self._indptr = rows.indptr.astype(np.int64)
        self._indices, self._data, self._codes = rows.indices, rows.data, codes
        self._prepare()
        # These complain of parameters now, not when the first query comes.
        self._count_neighbors(self.n_neighbors)
        self._count_threads(1)

    def _prepare(self) -> None:
        """Make of the stored rows what is made faster than stored."""
        self._index = build(self._training_rows(), self.metric_)

    def _training_rows(self) -> sp.csr_matrix:
        arrays = (self._data, self._indices, self._indptr)
        X = sp.csr_matrix(arrays, shape=(len(self._codes), self.n_features_in_))
        X.has_canonical_format = True
        return X

    def _check_queries(self, X: Any) -> sp.csr_matrix:
        X = validate_data(self, X, accept_sparse="csr", dtype=np.float32, reset=False)
        return to_csr(X)

    def _predict_proba(self, X: sp.csr_matrix) -> NDArray[np.float64]:
        own, group = np.full(X.shape[0], -1), np.arange(len(self._codes))
        return self._answer(X, own, group, is_loo=False)

    def _answer(
        self,
        X: sp.csr_matrix,
        own: NDArray[np.int64],
        group: NDArray[np.int64],
        *,
        is_loo: bool,
    ) -> NDArray[np.float64]:
        """Answer queries, without the training rows of each query's own group."""
        n_neighbors = self._count_neighbors(self.n_neighbors)
        n_threads = self._count_threads(X.shape[0])
        count_votes = self._make_counter(n_neighbors, n_threads, is_loo=is_loo)
        votes = np.zeros((X.shape[0], len(self.classes_)))

        def answer(first: int) -> None:
            block = slice(first, first + QUERIES)
            queries, part = X[block], votes[block]
            found = query(self._index, queries, n_neighbors, own=own[block], group=group)
            count_votes(queries, *found, part)
            for place in np.flatnonzero(found[0][:, 0] < 0):
                part[place] = self._share_classes(group != own[first + place])

        self._run(answer, X.shape[0])
        return votes

    @abstractmethod
    def _make_counter(self, n_neighbors: int, n_threads: int, *, is_loo: bool) -> Counter:
        """Make what counts the votes of so many neighbours, in so many threads at once.

        `is_loo` tells whether the queries are training rows, each of which is left out.
        It is called with queries, the numbers and distances of their neighbours, and zeros, a row
        for each query, to write probabilities into; those without neighbours it may leave.
        """

    def _share_classes(self, left: NDArray[np.bool_]) -> NDArray[np.float64]:
        """Give the classes' shares of some training rows."""
        counts = np.bincount(self._codes[left], minlength=len(self.classes_))
        return np.asarray(counts / counts.sum())

    def _run(self, function: Any, n_queries: int) -> None:
        """Call a function for blocks of queries, given the first of each."""
        Parallel(n_jobs=self._count_threads(n_queries), require="sharedmem")(
            delayed(function)(first) for first in range(0, n_queries, QUERIES)
        )

    def _count_threads(self, n_queries: int) -> int:
        check_jobs(self.n_jobs)
        return int(min(effective_n_jobs(self.n_jobs), max(1, -(-n_queries // QUERIES))))

    def _count_neighbors(self, wanted: Any) -> int:
        check_number("n_neighbors", wanted, 1)
        return min(int(wanted), len(self._codes))

    def __getstate__(self) -> dict[str, Any]:
        state: dict[str, Any] = super().__getstate__()
        return {name: value for name, value in state.items() if name not in ("_rows", "_index")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        if hasattr(self, "_codes"):
            # A file may come from a stranger, and kernels do not check bounds.
            check_choice("metric_", self.metric_, METRICS)
            arrays = (self._indptr, self._indices, self._data, self._codes)
            self._indptr, self._indices, self._data, self._codes = check_labelled_csr(
                *arrays, self.n_features_in_, len(self.classes_)
            )
            self._prepare()


def _check_positions(rows: ArrayLike, n_rows: int) -> NDArray[np.intp]:
    """Check positions of training rows; none at all is fine."""
    positions = np.asarray(rows)
    if positions.ndim != 1 or (positions.size and positions.dtype.kind not in "iu"):
        raise ValueError(
            "rows must be a list of positions, whole numbers from 0 on, and is an array of "
            f"{positions.dtype} of shape {positions.shape}; for a mask, give np.flatnonzero(mask)"
        )
    strange = positions[(positions < 0) | (positions >= n_rows)]
    if len(strange):
        raise ValueError(
            f"rows has the position {strange[0]}, and the {n_rows} training rows are at 0 to "
            f"{n_rows - 1}; leave it out"
        )
    return positions.astype(np.intp)
