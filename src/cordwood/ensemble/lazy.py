"""Lazy forests: for each query a forest of its own, on its nearest neighbours."""

from queue import SimpleQueue
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from joblib import Parallel, delayed, effective_n_jobs
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_consistent_length, check_is_fitted, validate_data

from cordwood.ensemble._base import BaseVotingClassifier, as_rows
from cordwood.ensemble._parameters import (
    check_choice,
    check_jobs,
    check_number,
    check_state,
    count_features,
)
from cordwood.ensemble._trees import SEEDS
from cordwood.neighbors.index import METRICS, build, choose_metric, query
from cordwood.trees.paths import Neighborhood, PathRules, allocate, check_rows, collect, vote

# Neighbours are numbered in 16 bits, and there is one number more than neighbours.
_MOST_NEIGHBORS = 2**16 - 1

# Queries answered in one go; their neighbours should not take much memory.
_QUERIES = 32


class LazyForestClassifier(BaseVotingClassifier):
    """Lazy forest: each query is answered by a forest grown on its nearest neighbours.

    Fitting only stores the rows and an index of them. A query's forest sees the columns that are
    not zero in its neighbours or in itself, and `max_features` refers to their number, so words
    that only the query has count as features that cannot be cut. Of each tree only the path that
    the query takes is grown, which leaves the distribution of the answers as it is. Classes that no
    neighbour has get a probability of zero, and neighbours that are all of one class answer at
    once. A query without any neighbour, such as a document of unknown words only, is answered by
    the frequencies of the classes in the training rows.

    Parameters
    ----------
    n_neighbors : int, default=200
        Rows that a forest is grown on; all there are, where there are fewer.
    n_estimators : int, default=200
        Number of trees of each forest.
    trees : {"random", "extra"}, default="random"
        Random forests, with bootstrap, or extra-trees, without.
    max_features : {"sqrt", "log2"}, int, float or None, default="sqrt"
        Features drawn at each node; a float is a share, None means all.
    criterion : {"gini", "entropy", "log_loss"}, default="gini"
        What a cut must reduce.
    metric : {"auto", "words", "cosine", "euclidean"}, default="auto"
        How neighbours are found. "words" is the cosine of (1 + ln tf) * ln(n / df), where tf is
        the value, a count, n the number of training rows and df of those that have the word;
        "cosine" and "euclidean" take values as they are. "auto" is "words" for whole numbers that
        are not negative, "cosine" for other values that are not negative, else "euclidean". By
        angle, only rows of a cosine above 1e-6 are neighbours. The trees see values as they are.
    n_jobs : int, optional
        Number of threads. It changes the time, never the result.
    random_state : int, RandomState or None, default=None
        Seed. With it the query's own values decide on its forest, so that a row is answered in
        the same way alone, among others and in any order.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The labels, sorted.
    metric_ : str
        The metric in use.
    seed_ : int
        What `random_state` came to.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, where `X` had any.

    References
    ----------
    .. [1] Campos, Canuto, Salles, de Sá, Gonçalves (2017). Stacking bagged and boosted forests for
       effective automated classification. SIGIR. There as LAZY and, with extra-trees, LXT.
    .. [2] Salles, Gonçalves, Rodrigues, Rocha (2018). Improving random forests by neighborhood
       projection for effective text classification. Information Systems 77.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> X, y = load_digits(return_X_y=True)
    >>> model = LazyForestClassifier(30, 50, random_state=0).fit(X[:1000], y[:1000])
    >>> model.predict(X[1000:1005])
    array([1, 4, 0, 5, 3])
    >>> y[1000:1005]
    array([1, 4, 0, 5, 3])
    >>> model.metric_
    'words'
    """

    def __init__(
        self,
        n_neighbors: int = 200,
        n_estimators: int = 200,
        *,
        trees: str = "random",
        max_features: int | float | str | None = "sqrt",
        criterion: str = "gini",
        metric: str = "auto",
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.n_neighbors = n_neighbors
        self.n_estimators = n_estimators
        self.trees = trees
        self.max_features = max_features
        self.criterion = criterion
        self.metric = metric
        self.n_jobs = n_jobs
        self.random_state = random_state

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
            block = slice(first, first + _QUERIES)
            part = None if own is None else own[block]
            ids[block], distances[block] = query(self._index, X[block], n_found, own=part)

        self._run(find, X.shape[0])
        return (distances, ids) if return_distance else ids

    def loo_decision_function(self, groups: ArrayLike | None = None) -> NDArray[np.float64]:
        """Give the training rows' probabilities from forests that have not seen them.

        Each row is answered by its own neighbours, itself left out, as a new row would be: these
        are the rows that stacking learns from. Labels of the rows left out are not used at all;
        the weights of words are those of all training rows.

        Parameters
        ----------
        groups : array of shape (n_rows,), optional
            Rows of the same group as a row are left out with it.

        Returns
        -------
        ndarray of shape (n_rows, n_classes)
            In the order of `classes_`; rows sum to one.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> X, y = load_iris(return_X_y=True)
        >>> model = LazyForestClassifier(30, 20, metric="euclidean", random_state=0).fit(X, y)
        >>> (model.loo_decision_function().argmax(axis=1) == y).mean() > 0.9
        np.True_
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
        return self._answer(X, group.astype(np.int64), group.astype(np.int64))

    def _grow(
        self, X: sp.csc_matrix, codes: NDArray[np.uint32], weights: NDArray[np.float64]
    ) -> None:
        check_choice("metric", self.metric, ("auto", *METRICS))
        rows = as_rows(X.tocsr())
        self.metric_ = choose_metric(rows) if self.metric == "auto" else self.metric
        self.seed_ = int(check_state(self.random_state).randint(SEEDS, dtype=np.int64))
        self._indptr = rows.indptr.astype(np.int64)
        self._indices, self._data, self._codes = rows.indices, rows.data, codes
        self._prepare()
        # These complain of parameters now, not when the first query comes.
        self._path_rules(self._count_neighbors(self.n_neighbors))
        self._count_threads(1)

    def _prepare(self) -> None:
        """Make of the stored rows what is made faster than stored."""
        X = self._training_rows()
        self._rows = collect(X, self._codes)
        self._index = build(X, self.metric_)

    def _training_rows(self) -> sp.csr_matrix:
        arrays = (self._data, self._indices, self._indptr)
        X = sp.csr_matrix(arrays, shape=(len(self._codes), self.n_features_in_))
        X.has_canonical_format = True
        return X

    def _check_queries(self, X: Any) -> sp.csr_matrix:
        X = validate_data(self, X, accept_sparse="csr", dtype=np.float32, reset=False)
        return as_rows(X)

    def _vote(self, X: sp.csr_matrix) -> NDArray[np.float64]:
        return self._answer(X, np.full(X.shape[0], -1), np.arange(len(self._codes)))

    def _answer(
        self, X: sp.csr_matrix, own: NDArray[np.int64], group: NDArray[np.int64]
    ) -> NDArray[np.float64]:
        """Answer queries, without the training rows of each query's own group."""
        n_neighbors = self._count_neighbors(self.n_neighbors)
        rules = self._path_rules(n_neighbors)
        n_classes = len(self.classes_)
        votes = np.zeros((X.shape[0], n_classes))
        idle: SimpleQueue[Neighborhood] = SimpleQueue()
        for _ in range(self._count_threads(X.shape[0])):
            idle.put(allocate(self._rows, n_classes, n_neighbors))

        def answer(first: int) -> None:
            hood = idle.get()
            try:
                block = slice(first, first + _QUERIES)
                queries, part = X[block], votes[block]
                ids, _ = query(self._index, queries, n_neighbors, own=own[block], group=group)
                vote(self._rows, rules, hood, queries, ids, self.seed_, part)
                for place in np.flatnonzero(ids[:, 0] < 0):
                    counts = np.bincount(
                        self._codes[group != own[first + place]], minlength=n_classes
                    )
                    part[place] = counts / counts.sum()
            finally:
                idle.put(hood)

        self._run(answer, X.shape[0])
        return votes

    def _run(self, function: Any, n_queries: int) -> None:
        """Call a function for blocks of queries, given the first of each."""
        Parallel(n_jobs=self._count_threads(n_queries), require="sharedmem")(
            delayed(function)(first) for first in range(0, n_queries, _QUERIES)
        )

    def _count_threads(self, n_queries: int) -> int:
        check_jobs(self.n_jobs)
        return int(min(effective_n_jobs(self.n_jobs), max(1, -(-n_queries // _QUERIES))))

    def _count_neighbors(self, wanted: Any) -> int:
        check_number("n_neighbors", wanted, 1)
        n_neighbors = min(int(wanted), len(self._codes))
        if n_neighbors > _MOST_NEIGHBORS:
            raise ValueError(
                f"n_neighbors is {wanted} and must be at most {_MOST_NEIGHBORS}; for forests on "
                "more rows, use RandomForestClassifier or ExtraTreesClassifier"
            )
        return n_neighbors

    def _path_rules(self, n_neighbors: int) -> PathRules:
        """Check the parameters and turn them into what the engine goes by."""
        check_choice("trees", self.trees, ("random", "extra"))
        check_choice("criterion", self.criterion, ("gini", "entropy", "log_loss"))
        check_number("n_estimators", self.n_estimators, 1)
        numbers = np.arange(self.n_features_in_ + 1)
        entropy = self.criterion != "gini"
        logs = np.arange(n_neighbors + 1, dtype=np.float64)
        logs[1:] *= np.log2(logs[1:])
        return PathRules(
            n_trees=int(self.n_estimators),
            bootstrap=self.trees == "random",
            random_cut=self.trees == "extra",
            entropy=entropy,
            quota=count_features(self.max_features, numbers),
            log_factorial=np.cumsum(np.log(np.maximum(numbers, 1))),
            x_log_x=logs if entropy else logs[:0],
        )

    def __getstate__(self) -> dict[str, Any]:
        state: dict[str, Any] = super().__getstate__()
        return {name: value for name, value in state.items() if name not in ("_rows", "_index")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        if hasattr(self, "_codes"):
            # A file may come from a stranger, and kernels do not check bounds.
            check_choice("metric_", self.metric_, METRICS)
            if not isinstance(self.seed_, int) or not 0 <= self.seed_ <= SEEDS:
                raise ValueError(
                    f"seed_ must be a whole number up to 2**63 - 1; got {self.seed_!r}"
                )
            arrays = (self._indptr, self._indices, self._data, self._codes)
            self._indptr, self._indices, self._data, self._codes = check_rows(
                *arrays, self.n_features_in_, len(self.classes_)
            )
            self._prepare()
