"""Lazy forests: for each query a forest of its own, on its nearest neighbours."""

from queue import SimpleQueue
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from cordwood._param_validation import check_choice, check_number, check_state
from cordwood._random import MAX_SEED
from cordwood.ensemble._resolve_params import count_features
from cordwood.ensemble._tree_engine.lazy_trees import (
    Neighborhood,
    PathRules,
    allocate,
    collect,
    vote,
)
from cordwood.neighbors._neighbors_base import BaseNeighborsClassifier, VoteFunction

# Neighbours are numbered in 16 bits, and there is one number more than neighbours.
_MOST_NEIGHBORS = 2**16 - 1


class LazyForestClassifier(BaseNeighborsClassifier):
    """Lazy forest: each query is answered by a forest grown on its nearest neighbours.

    Fitting only stores the rows and an index of them, so that all parameters but `metric` and
    `random_state` may be set anew without it. A query's forest sees the columns that are not zero
    in its neighbours or in itself, and `max_features` refers to their number, so words that only
    the query has count as features that cannot be cut. Of each tree only the path that the query
    takes is grown, which leaves the distribution of the answers as it is. Classes that no neighbour
    has get a probability of zero, and neighbours that are all of one class answer at once. A query
    without any neighbour, such as a document of unknown words only, is answered by the frequencies
    of the classes in the training rows.

    Parameters
    ----------
    n_neighbors : int, default=200
        Rows that a forest is grown on; all there are, where there are fewer.
    n_estimators : int, default=200
        Number of trees of each forest.
    base : {"rf", "et"}, default="rf"
        Random forests, with bootstrap, or extra-trees, without.
    max_features : {"sqrt", "log2"}, int, float or None, default="sqrt"
        Features drawn at each node; a float is a share, None means all.
    criterion : {"gini", "entropy", "log_loss"}, default="gini"
        What a cut must reduce.
    n_estimators_loo : int, optional
        Trees that answer a training row in `loo_decision_function`; all of them by default. A
        third takes a third of the time, and is what bags leave for rows out of them.
    metric : {"auto", "tfidf_cosine", "cosine", "euclidean"}, default="auto"
        How neighbours are found. "tfidf_cosine" is the cosine of (1 + ln tf) * ln(n / df), where
        tf is the value, a count, n the number of training rows and df of those that have the word;
        "cosine" and "euclidean" take values as they are. "auto" is "tfidf_cosine" for whole numbers
        that are not negative, "cosine" for other values that are not negative, else "euclidean". By
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
    'tfidf_cosine'
    >>> (model.loo_decision_function(indices=range(100)).argmax(axis=1) == y[:100]).mean() > 0.9
    np.True_
    """

    def __init__(
        self,
        n_neighbors: int = 200,
        n_estimators: int = 200,
        *,
        base: str = "rf",
        max_features: int | float | str | None = "sqrt",
        criterion: str = "gini",
        n_estimators_loo: int | None = None,
        metric: str = "auto",
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.n_neighbors = n_neighbors
        self.n_estimators = n_estimators
        self.base = base
        self.max_features = max_features
        self.criterion = criterion
        self.n_estimators_loo = n_estimators_loo
        self.metric = metric
        self.n_jobs = n_jobs
        self.random_state = random_state

    def _grow(
        self, X: sp.csc_matrix, codes: NDArray[np.uint32], weights: NDArray[np.float64]
    ) -> None:
        self.seed_ = int(check_state(self.random_state).randint(MAX_SEED, dtype=np.int64))
        self._store(X, codes)
        self._path_rules(self._count_neighbors(self.n_neighbors), is_loo=False)

    def _prepare(self) -> None:
        super()._prepare()
        self._rows = collect(self._training_samples(), self._codes)

    def _make_vote_function(
        self, n_neighbors: int, n_threads: int, *, is_loo: bool
    ) -> VoteFunction:
        rules = self._path_rules(n_neighbors, is_loo=is_loo)
        idle: SimpleQueue[Neighborhood] = SimpleQueue()
        for _ in range(n_threads):
            idle.put(allocate(self._rows, len(self.classes_), n_neighbors))

        def count(
            queries: sp.csr_matrix,
            ids: NDArray[np.int32],
            distances: NDArray[np.float64],
            votes: NDArray[np.float64],
        ) -> None:
            hood = idle.get()
            try:
                vote(self._rows, rules, hood, queries, ids, self.seed_, votes)
            finally:
                idle.put(hood)

        return count

    def _count_neighbors(self, wanted: Any) -> int:
        n_neighbors = super()._count_neighbors(wanted)
        if n_neighbors > _MOST_NEIGHBORS:
            raise ValueError(
                f"n_neighbors is {wanted} and must be at most {_MOST_NEIGHBORS}; for forests on "
                "more rows, use RandomForestClassifier or ExtraTreesClassifier"
            )
        return n_neighbors

    def _path_rules(self, n_neighbors: int, *, is_loo: bool) -> PathRules:
        """Check the parameters and turn them into what the engine goes by."""
        check_choice("base", self.base, ("rf", "et"))
        check_choice("criterion", self.criterion, ("gini", "entropy", "log_loss"))
        check_number("n_estimators", self.n_estimators, 1)
        n_trees = int(self.n_estimators)
        if self.n_estimators_loo is not None:
            check_number("n_estimators_loo", self.n_estimators_loo, 1)
            n_trees = min(n_trees, int(self.n_estimators_loo)) if is_loo else n_trees
        numbers = np.arange(self.n_features_in_ + 1)
        entropy = self.criterion != "gini"
        logs = np.arange(n_neighbors + 1, dtype=np.float64)
        logs[1:] *= np.log2(logs[1:])
        return PathRules(
            n_trees=n_trees,
            bootstrap=self.base == "rf",
            random_cut=self.base == "et",
            entropy=entropy,
            quota=count_features(self.max_features, numbers),
            log_factorial=np.cumsum(np.log(np.maximum(numbers, 1))),
            x_log_x=logs if entropy else logs[:0],
        )

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        seed = getattr(self, "seed_", 0)
        if not isinstance(seed, int) or not 0 <= seed <= MAX_SEED:
            raise ValueError(f"seed_ must be a whole number up to 2**63 - 1; got {seed!r}")
