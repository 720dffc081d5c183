"""Lazy forests: a separate forest for each query, fitted on its nearest neighbors."""

from collections.abc import Mapping
from queue import SimpleQueue
from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from cordwood._base.csr import csr_arrays
from cordwood._base.param_validation import (
    N_JOBS,
    RANDOM_STATE,
    Constraint,
    check_state,
    integer,
    options,
    real,
)
from cordwood._kernels.random import MAX_SEED
from cordwood.ensemble._tree_ensemble import (
    CRITERION,
    MAX_FEATURES,
    resolve_max_features,
    tabulate_x_log_x,
)
from cordwood.ensemble.tree_engine.lazy_trees import (
    LazyTreeParams,
    LazyWorkspace,
    allocate_lazy_workspace,
    label_rows,
    lazy_vote,
)
from cordwood.neighbors.base import BaseNeighborsClassifier, VoteFunction
from cordwood.neighbors.index import METRICS

# Neighbors are numbered with 16 bits, and one number is reserved.
_MAX_NEIGHBORS = 2**16 - 1


class LazyForestClassifier(BaseNeighborsClassifier):
    """Lazy forest: each query is predicted by a forest fitted on its nearest neighbors.

    `fit` only stores the training samples and builds an index of them. `predict` finds the nearest
    neighbors of each query and grows a forest on these alone, so that features that separate the
    classes only locally are found. Of each tree only the path of the query is grown, which does
    not change the distribution of the predictions. The method is known as LazyNN_RF [2]_, and as
    LXT with ``base="et"`` [1]_.

    Parameters
    ----------
    n_neighbors : int, default=200
        Number of neighbors that a forest is fitted on; all training samples if there are fewer.
    n_estimators : int, default=200
        Number of trees of each forest.
    base : {"rf", "et"}, default="rf"
        Base estimator: random forests on bootstrap samples ("rf"), or extra-trees without
        bootstrap ("et").
    max_features : {"sqrt", "log2"}, int, float or None, default="sqrt"
        Number of features drawn at each node. A float is a fraction, None means all features. The
        number of features is that of the columns that are non-zero in the query or in any of its
        neighbors.
    criterion : {"gini", "entropy", "log_loss"}, default="gini"
        Impurity that splits minimize. "log_loss" and "entropy" are the same.
    n_estimators_loo : int or None, default=None
        Number of trees in `loo_decision_function`; `n_estimators` if None or greater. A third of
        the trees takes a third of the time, and is about the number of trees that predict an
        out-of-bag sample of a random forest.
    loo_smoothing : float, default=0.0
        Additive smoothing in `loo_decision_function`: ``loo_smoothing * n_classes`` votes,
        distributed like the classes of the neighbors, are added to the votes of the trees. It
        reduces the variance of a few trees; see Notes.
    metric : {"auto", "tfidf_cosine", "cosine", "euclidean"}, default="auto"
        Similarity or distance that defines the neighbors. "tfidf_cosine" is the cosine of
        (1 + ln tf) * ln(n_samples / df), where tf is the value of a feature, a count, and df is
        the number of training samples in which it is non-zero. "cosine" and "euclidean" use the
        values of `X`. "auto" is "tfidf_cosine" for non-negative integers, "cosine" for other
        non-negative values, else "euclidean". With the cosine metrics, only samples with a cosine
        above 1e-6 are neighbors. Trees always use the values of `X`.
    n_jobs : int or None, default=None
        Number of threads. None means 1 unless in a `joblib.parallel_config` context, -1 means
        all processors. It does not change the result.
    random_state : int, RandomState or None, default=None
        Seed. The seed of a query's forest is derived from it and from the values of the query, so
        that a prediction does not depend on the other queries or their order.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The class labels, sorted.
    metric_ : str
        The metric in use.
    seed_ : int
        The seed drawn from `random_state`.
    n_features_in_ : int
        Number of features seen during `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features seen during `fit`. Exists only if `X` has feature names that are
        all strings.

    See Also
    --------
    NeighborsClassifier : Votes of the nearest neighbors, without forests.
    RandomForestClassifier : A single forest, fitted on all samples.

    Notes
    -----
    All parameters except `metric` and `random_state` can be changed with `set_params` after `fit`,
    without fitting again.

    A query without neighbors is predicted by the class frequencies of the training set. Classes
    that no neighbor belongs to have probability zero; if all neighbors are of the same class, no
    trees are grown. Features that only the query has count for `max_features`, but cannot be
    split on.

    Leave-one-out probabilities of few trees are noisy, and a stack that is trained on them trusts
    the lazy forest less than it should, above all with many classes: 25 trees give most classes no
    vote. The class frequencies of the neighbors are known without any tree, so smoothing takes no
    time. The recipes of stacks use ``n_estimators_loo=25`` and ``loo_smoothing=0.3``;
    docs/stacking.md has the figures.

    References
    ----------
    .. [1] Campos, Canuto, Salles, de Sá, Gonçalves (2017). Stacking bagged and boosted forests for
       effective automated classification. SIGIR.
    .. [2] Salles, Gonçalves, Rodrigues, Rocha (2018). Improving random forests by neighborhood
       projection for effective text classification. Information Systems 77.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> X, y = load_digits(return_X_y=True)
    >>> model = LazyForestClassifier(30, 50, random_state=0).fit(X[:1000], y[:1000])
    >>> round(model.score(X[1000:1100], y[1000:1100]), 2)
    0.92
    >>> model.metric_
    'tfidf_cosine'
    >>> proba = model.loo_decision_function(indices=range(100))
    >>> round(float((proba.argmax(axis=1) == y[:100]).mean()), 2)
    0.91
    """

    _parameter_constraints: ClassVar[Mapping[str, Constraint]] = {
        "n_neighbors": integer(1),
        "n_estimators": integer(1),
        "base": options("rf", "et"),
        "max_features": MAX_FEATURES,
        "criterion": CRITERION,
        "n_estimators_loo": options(None) | integer(1),
        "loo_smoothing": real("[)", 0, np.inf),
        "metric": options("auto", *METRICS),
        "n_jobs": N_JOBS,
        "random_state": RANDOM_STATE,
    }

    def __init__(
        self,
        n_neighbors: int = 200,
        n_estimators: int = 200,
        *,
        base: str = "rf",
        max_features: int | float | str | None = "sqrt",
        criterion: str = "gini",
        n_estimators_loo: int | None = None,
        loo_smoothing: float = 0.0,
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
        self.loo_smoothing = loo_smoothing
        self.metric = metric
        self.n_jobs = n_jobs
        self.random_state = random_state

    # Without sample_weight: the trees of a query draw from its neighbors alike.
    def fit(self, X: Any, y: Any) -> Self:  # type: ignore[override]
        """Store the training set and index it.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training samples. Values are converted to float32.
        y : array-like of shape (n_samples,)
            Class labels.

        Returns
        -------
        self : object
            Fitted estimator.
        """
        return super().fit(X, y)

    def _fit(
        self,
        X: sp.csc_matrix | sp.csr_matrix,
        codes: NDArray[np.uint32],
        weights: NDArray[np.float64],
    ) -> None:
        self.seed_ = int(check_state(self.random_state).randint(MAX_SEED, dtype=np.int64))
        self._store(X, codes)

    def _prepare(self) -> None:
        super()._prepare()
        X = self._number_columns(self.get_training_samples())
        self._rows = label_rows(csr_arrays(X), self._codes)

    def _make_vote_function(
        self, n_neighbors: int, n_threads: int, n_columns: int, *, is_loo: bool
    ) -> VoteFunction:
        params = self._tree_params(n_neighbors, n_columns, is_loo=is_loo)
        rows = self._rows._replace(n_features=n_columns)
        n_prior_votes = float(self.loo_smoothing) * len(self.classes_) if is_loo else 0.0
        workspaces: SimpleQueue[LazyWorkspace] = SimpleQueue()
        for _ in range(n_threads):
            workspaces.put(allocate_lazy_workspace(rows, len(self.classes_), n_neighbors))

        def count(
            queries: sp.csr_matrix,
            ids: NDArray[np.int32],
            distances: NDArray[np.float64],
            votes: NDArray[np.float64],
        ) -> None:
            workspace = workspaces.get()
            try:
                lazy_vote(rows, params, workspace, csr_arrays(queries), ids, self.seed_, votes)
            finally:
                workspaces.put(workspace)
            if n_prior_votes > 0:
                self._smooth(votes, ids, params.n_trees, n_prior_votes)

        return count

    def _smooth(
        self,
        votes: NDArray[np.float64],
        ids: NDArray[np.int32],
        n_trees: int,
        n_prior_votes: float,
    ) -> None:
        """Add votes that are distributed like the classes of the neighbors, in place."""
        queries, positions = np.nonzero(ids >= 0)
        frequencies = np.zeros_like(votes)
        np.add.at(frequencies, (queries, self._codes[ids[queries, positions]]), 1)
        frequencies /= np.maximum(frequencies.sum(axis=1, keepdims=True), 1)
        votes *= n_trees
        votes += n_prior_votes * frequencies
        votes /= n_trees + n_prior_votes

    def _count_neighbors(self, wanted: Any) -> int:
        n_neighbors = super()._count_neighbors(wanted)
        if n_neighbors > _MAX_NEIGHBORS:
            raise ValueError(
                f"n_neighbors must be at most {_MAX_NEIGHBORS}; got {wanted}, for which "
                "RandomForestClassifier or ExtraTreesClassifier is the better choice"
            )
        return n_neighbors

    def _tree_params(self, n_neighbors: int, n_columns: int, *, is_loo: bool) -> LazyTreeParams:
        """Resolve the constructor parameters, which may have been changed since `fit`."""
        self._validate_params()
        n_trees = int(self.n_estimators)
        if is_loo and self.n_estimators_loo is not None:
            n_trees = min(n_trees, int(self.n_estimators_loo))
        counts = np.arange(n_columns + 1)
        entropy = self.criterion != "gini"
        return LazyTreeParams(
            n_trees=n_trees,
            bootstrap=self.base == "rf",
            random_split=self.base == "et",
            entropy=entropy,
            max_features=resolve_max_features(self.max_features, counts),
            log_factorial=np.cumsum(np.log(np.maximum(counts, 1))),
            x_log_x=tabulate_x_log_x(n_neighbors + 1 if entropy else 0),
        )
