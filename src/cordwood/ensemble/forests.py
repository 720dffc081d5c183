"""Random forests and extra-trees for sparse data, as drop-in replacements for scikit-learn's."""

import warnings
from collections.abc import Callable, Mapping
from functools import partial
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn import ensemble, tree
from sklearn.metrics import accuracy_score
from sklearn.utils.validation import check_is_fitted

from cordwood._base.class_weight import balanced_class_weights
from cordwood._base.cluster import active_cluster, map_blocks
from cordwood._base.csr import compact_columns, csc_arrays, to_csr
from cordwood._base.param_validation import (
    BOOLEAN,
    CALLABLE,
    Constraint,
    class_weights,
    fraction,
    integer,
    options,
    unsupported,
)
from cordwood._base.sklearn_private import NO_TASK, FitTask, make_tree
from cordwood.ensemble._tree_ensemble import BaseTreeEnsemble, select_features
from cordwood.ensemble.tree_engine import bootstrap as bag
from cordwood.ensemble.tree_engine.apply import vote
from cordwood.ensemble.tree_engine.binning import bin_matrix
from cordwood.ensemble.tree_engine.forest import Forest, join, rename_features
from cordwood.ensemble.tree_engine.grower import grow_forest
from cordwood.ensemble.tree_engine.importances import expand_tree, importances, node_impurity


class BaseForestClassifier(BaseTreeEnsemble):
    """Base of random forests and extra-trees, which differ only in how thresholds are chosen."""

    _parameter_constraints: ClassVar[Mapping[str, Constraint]] = {
        **BaseTreeEnsemble._parameter_constraints,
        "max_leaf_nodes": unsupported(
            None, "trees are grown depth first; use max_depth or min_samples_leaf"
        ),
        "min_impurity_decrease": unsupported(
            0.0, "not supported; use max_depth or min_samples_leaf"
        ),
        "bootstrap": BOOLEAN,
        "oob_score": BOOLEAN | CALLABLE,
        "verbose": integer(0) | BOOLEAN,
        "warm_start": BOOLEAN,
        "class_weight": class_weights("balanced", "balanced_subsample"),
        "ccp_alpha": unsupported(0.0, "pruning is not supported"),
        "max_samples": options(None) | integer(1) | fraction(),
        "monotonic_cst": unsupported(None, "monotonicity constraints are not supported"),
    }

    splits_on_cluster = True  # whether fits use all workers of a cluster themselves

    _sklearn_forest: type
    _sklearn_tree: type
    _bootstrap_seeds: NDArray[Any] | None
    _bootstrap_shape: tuple[int, int]

    def __init__(
        self,
        n_estimators: int = 100,
        *,
        criterion: str = "gini",
        max_depth: int | None = None,
        min_samples_split: int | float = 2,
        min_samples_leaf: int | float = 1,
        min_weight_fraction_leaf: float = 0.0,
        max_features: int | float | str | None = "sqrt",
        max_leaf_nodes: None = None,
        min_impurity_decrease: float = 0.0,
        bootstrap: bool = True,
        oob_score: bool | Callable[..., float] = False,
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = None,
        verbose: int = 0,
        warm_start: bool = False,
        class_weight: Mapping[Any, float] | str | None = None,
        ccp_alpha: float = 0.0,
        max_samples: int | float | None = None,
        monotonic_cst: None = None,
    ) -> None:
        self.n_estimators = n_estimators
        self.criterion = criterion
        self.max_depth = max_depth
        self.min_samples_split = min_samples_split
        self.min_samples_leaf = min_samples_leaf
        self.min_weight_fraction_leaf = min_weight_fraction_leaf
        self.max_features = max_features
        self.max_leaf_nodes = max_leaf_nodes
        self.min_impurity_decrease = min_impurity_decrease
        self.bootstrap = bootstrap
        self.oob_score = oob_score
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
        self.warm_start = warm_start
        self.class_weight = class_weight
        self.ccp_alpha = ccp_alpha
        self.max_samples = max_samples
        self.monotonic_cst = monotonic_cst

    @property
    def feature_importances_(self) -> NDArray[np.float64]:
        """Impurity-based feature importances: the mean over the trees, normalized to sum to one."""
        check_is_fitted(self)
        return importances(
            self.forest_,
            len(self.classes_),
            self.n_features_in_,
            entropy=self._uses_entropy(),
        )

    @property
    def oob_is_unbiased_(self) -> bool:
        """Whether `oob_decision_function_` can be used like cross-validated predictions."""
        return True

    def to_sklearn(self) -> Any:
        """Convert the forest to a fitted scikit-learn estimator.

        It is for tools that read scikit-learn's trees, such as SHAP, `export_text` and
        `plot_tree`. The converted forest uses many times the memory.

        Returns
        -------
        sklearn.ensemble.RandomForestClassifier or sklearn.ensemble.ExtraTreesClassifier
            A fitted estimator whose `predict_proba` returns the same probabilities.

        Examples
        --------
        >>> from cordwood import RandomForestClassifier
        >>> from sklearn.datasets import load_iris
        >>> from sklearn.tree import export_text
        >>> X, y = load_iris(return_X_y=True)
        >>> model = RandomForestClassifier(5, max_depth=1, random_state=0).fit(X, y)
        >>> print(export_text(model.to_sklearn().estimators_[0], decimals=1))
        |--- feature_2 <= 2.6
        |   |--- class: 0
        |--- feature_2 >  2.6
        |   |--- class: 2
        <BLANKLINE>
        """
        check_is_fitted(self)
        params = {
            name: value
            for name, value in self.get_params(deep=False).items()
            if name not in ("n_estimators", "oob_score", "warm_start")
        }
        forest = self._sklearn_forest(self.forest_.n_trees, **params)
        forest.estimators_ = [self._to_sklearn_tree(i) for i in range(self.forest_.n_trees)]
        forest.estimator_ = self._sklearn_tree()
        forest.classes_, forest.n_classes_ = self.classes_, len(self.classes_)
        forest.n_features_in_, forest.n_outputs_ = self.n_features_in_, 1
        if hasattr(self, "feature_names_in_"):
            forest.feature_names_in_ = self.feature_names_in_
        return forest

    def _to_sklearn_tree(self, index: int) -> Any:
        nodes = expand_tree(self.forest_, index, len(self.classes_))
        converted = self._sklearn_tree(criterion=self.criterion, max_features=self.max_features)
        converted.classes_ = np.arange(len(self.classes_))
        converted.n_classes_, converted.n_outputs_ = len(self.classes_), 1
        converted.n_features_in_ = self.n_features_in_
        converted.max_features_ = self._resolve_max_features(self.n_features_in_)
        converted.tree_ = make_tree(
            self.n_features_in_,
            nodes.left,
            nodes.right,
            nodes.feature,
            nodes.threshold,
            node_impurity(nodes, entropy=self._uses_entropy()),
            nodes.n_node_samples,
            nodes.class_weights,
            int(nodes.depth.max()),
        )
        return converted

    def _fit(
        self,
        X: sp.csc_matrix | sp.csr_matrix,
        y: NDArray[np.uint32],
        weights: NDArray[np.float64],
        task: FitTask = NO_TASK,
    ) -> None:
        class_weights = self._compute_class_weights(y, weights)
        is_weighted = self._find_weighted(weights * class_weights[y])
        n_samples, n_classes = int(is_weighted.sum()), len(self.classes_)
        tree_params = self._tree_params(n_samples, X.shape[1], weights)
        n_draws = self._count_draws(n_samples)
        n_kept = self._count_kept_trees()
        seeds = self._draw_seeds()
        bootstrap_seeds = self._join_bootstrap_seeds(n_kept, seeds[:, 0], (n_samples, n_draws))
        y_weighted, weights_weighted = y[is_weighted], weights[is_weighted]
        balanced_weights = weights_weighted * class_weights[y_weighted]

        # Without `self`: workers of a cluster need nothing else of it.
        bootstrap, class_weight = self.bootstrap, self.class_weight

        def compute_tree_weights(index: int) -> NDArray[np.float64]:
            if not bootstrap:
                return balanced_weights
            counts = bag.draw_counts(seeds[n_kept + index, 0], n_samples, n_draws)
            if class_weight != "balanced_subsample":
                return balanced_weights * counts
            tree_weights = weights_weighted * counts
            balanced = balanced_class_weights(y_weighted, tree_weights, n_classes)
            return tree_weights * balanced[y_weighted]

        compact, columns = compact_columns(X if is_weighted.all() else X[is_weighted])
        workers = active_cluster()
        grown = grow_forest(
            bin_matrix(csc_arrays(compact), n_features=X.shape[1]),
            y_weighted,
            n_classes,
            tree_params,
            seeds[n_kept:, 1],
            compute_tree_weights,
            n_jobs=self.n_jobs,
            verbose=self.verbose,
            on_tree=self._make_tree_reporter(task, n_kept, columns),
            distribute=None if workers is None else partial(map_blocks, workers=workers),
        )
        grown = rename_features(grown, columns)
        self.forest_: Forest = join([self.forest_, grown]) if n_kept else grown
        if bootstrap_seeds is not None:
            bootstrap_seeds = bootstrap_seeds[: self.forest_.n_trees]
        self._bootstrap_seeds, self._bootstrap_shape = bootstrap_seeds, (n_samples, n_draws)
        if self.oob_score and bootstrap_seeds is not None:
            in_bag = bag.pack_in_bag(bootstrap_seeds, n_samples, n_draws)
            self._set_oob_attributes(X, y, is_weighted, in_bag)

    def _predict_proba(self, X: sp.csr_matrix) -> NDArray[np.float64]:
        n_classes = len(self.classes_)
        votes, n_votes = vote(*select_features(self.forest_, X), n_classes, n_jobs=self.n_jobs)
        return votes / n_votes[:, None]

    def _count_subtasks(self) -> int:
        n_kept = self.forest_.n_trees if self._is_warm_start() else 0
        return max(int(self.n_estimators) - n_kept, 0)

    def _make_tree_reporter(
        self, task: FitTask, n_kept: int, columns: NDArray[np.int32] | None
    ) -> Callable[[list[Forest]], bool] | None:
        """Return the function that reports each tree to the callbacks, if there are any."""
        # Trees are grown in parallel but reported in order: the task of a tree lasts from the
        # report of the previous tree to its own.
        n_new = int(self.n_estimators) - n_kept
        if not task.has_callbacks or not n_new:
            return None
        kept = [self.forest_] if n_kept else []
        current = task.subtask("tree")

        def report(trees: list[Forest]) -> bool:
            nonlocal current
            stop = current.end(
                lambda: {"forest_": join([*kept, rename_features(join(trees), columns)])}
            )
            if not stop and len(trees) < n_new:
                current = task.subtask("tree")
            return stop

        return report

    def _set_oob_attributes(
        self,
        X: sp.csc_matrix | sp.csr_matrix,
        y: NDArray[np.uint32],
        is_weighted: NDArray[np.bool_],
        in_bag: NDArray[np.uint8],
    ) -> None:
        """Predict each sample with the trees that were not fitted on it.

        Samples of weight zero are in no bootstrap sample, so that all trees predict them.
        """
        csr, n_classes = to_csr(X), len(self.classes_)
        votes = np.zeros((len(y), n_classes))
        n_votes = np.zeros(len(y), np.int64)
        votes[is_weighted], n_votes[is_weighted] = vote(
            *select_features(self.forest_, csr[is_weighted]),
            n_classes,
            in_bag=in_bag,
            n_jobs=self.n_jobs,
        )
        if not is_weighted.all():
            votes[~is_weighted], n_votes[~is_weighted] = vote(
                *select_features(self.forest_, csr[~is_weighted]), n_classes, n_jobs=self.n_jobs
            )
        self.oob_count_ = n_votes
        self.oob_decision_function_ = np.full(votes.shape, np.nan)
        np.divide(
            votes, n_votes[:, None], out=self.oob_decision_function_, where=n_votes[:, None] > 0
        )
        scored = is_weighted & (n_votes > 0)
        score = self.oob_score if callable(self.oob_score) else accuracy_score
        predicted = votes[scored].argmax(axis=1)
        self.oob_score_ = (
            float(score(self.classes_[y[scored]], self.classes_[predicted]))
            if scored.any()
            else float("nan")
        )

    def _count_kept_trees(self) -> int:
        """Return the number of trees that warm_start keeps."""
        if not self._is_warm_start():
            return 0
        n_trees = self.forest_.n_trees
        if self.n_estimators < n_trees:
            raise ValueError(
                f"n_estimators={self.n_estimators} must be at least the {n_trees} trees of the "
                "previous fit with warm_start=True"
            )
        if self.n_estimators == n_trees:
            warnings.warn(
                f"warm_start adds no trees, because n_estimators={n_trees} trees are already "
                "fitted; increase n_estimators",
                stacklevel=5,
            )
        return n_trees

    def _join_bootstrap_seeds(
        self, n_kept: int, seeds: NDArray[Any], shape: tuple[int, int]
    ) -> NDArray[Any] | None:
        """Return the bootstrap seeds of kept and new trees; None if they are not comparable."""
        if not self.bootstrap:
            return None
        if not n_kept:
            return seeds
        kept = self._bootstrap_seeds
        if kept is not None and kept.shape == (n_kept,) and tuple(self._bootstrap_shape) == shape:
            return np.concatenate([kept, seeds[n_kept:]])
        if self.oob_score:
            raise ValueError(
                "oob_score with warm_start requires that all trees are fitted with bootstrap=True "
                "on the same samples and with the same max_samples; set warm_start=False"
            )
        return None

    def _count_draws(self, n_samples: int) -> int:
        if self.max_samples is None:
            return n_samples
        if not isinstance(self.max_samples, Integral):
            return max(1, round(n_samples * self.max_samples))
        return min(int(self.max_samples), n_samples)

    def _validate_params(self) -> None:
        super()._validate_params()
        for name in ("oob_score", "max_samples"):
            if getattr(self, name) not in (None, False) and not self.bootstrap:
                raise ValueError(
                    f"{name} requires bootstrap=True; got bootstrap=False, with which every tree "
                    "is fitted on all samples"
                )

    def _compute_class_weights(
        self, y: NDArray[np.uint32], weights: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        if self.class_weight == "balanced_subsample" and self.bootstrap:
            return np.ones(len(self.classes_))  # Balanced for each tree instead.
        return super()._compute_class_weights(y, weights)


class RandomForestClassifier(BaseForestClassifier):
    """Random forest: the best split of randomly drawn features, on bootstrap samples.

    A drop-in replacement for `sklearn.ensemble.RandomForestClassifier` that is fast on sparse
    data. Parameters have the same names and meanings; those that are not supported raise an error
    when they are changed. Trees have the same distribution as scikit-learn's, but not the same
    random numbers.

    Parameters
    ----------
    n_estimators : int, default=100
        Number of trees.
    criterion : {"gini", "entropy", "log_loss"}, default="gini"
        Impurity that splits minimize. "log_loss" and "entropy" are the same.
    max_depth : int or None, default=None
        Maximum depth of the trees. If None, nodes are split until they are pure or have fewer
        than `min_samples_split` samples.
    min_samples_split : int or float, default=2
        Minimum number of samples of a node to be split. A float is a fraction of `n_samples`.
    min_samples_leaf : int or float, default=1
        Minimum number of samples of a leaf. A float is a fraction of `n_samples`.
    min_weight_fraction_leaf : float, default=0.0
        Minimum weight of a leaf, as a fraction of the total weight of the tree's samples.
    max_features : {"sqrt", "log2"}, int, float or None, default="sqrt"
        Number of features drawn at each node. A float is a fraction of `n_features`, None means
        all features.
    max_leaf_nodes : None, default=None
        Not supported, because trees are grown depth first; any other value raises an error.
        Limit trees with `max_depth` or `min_samples_leaf`.
    min_impurity_decrease : float, default=0.0
        Not supported; any other value raises an error. Limit trees with `max_depth` or
        `min_samples_leaf`.
    bootstrap : bool, default=True
        Whether each tree is grown on a bootstrap sample. If False, each tree is grown on all
        samples.
    oob_score : bool or callable, default=False
        Whether to predict each training sample with the trees whose bootstrap sample does not
        contain it. Requires ``bootstrap=True``. A callable ``score(y_true, y_pred)`` replaces
        the accuracy in `oob_score_`.
    n_jobs : int or None, default=None
        Number of threads. None means 1 unless in a `joblib.parallel_config` context, -1 means
        all processors. It does not change the result.
    random_state : int, RandomState or None, default=None
        Seed of the bootstrap samples and of the features drawn at each node. An int
        makes the fit reproducible.
    verbose : int, default=0
        Verbosity of `fit`: with 1 or more, joblib prints its progress.
    warm_start : bool, default=False
        Whether `fit` keeps the trees of the previous fit and only adds trees up to
        `n_estimators`. If False, `fit` starts a new forest.
    class_weight : {"balanced", "balanced_subsample"}, dict or None, default=None
        Factors on the sample weights of each class. "balanced" gives all classes the same total
        weight, "balanced_subsample" does so within each bootstrap sample. A dict maps labels to
        factors; labels that it does not contain have factor 1.
    ccp_alpha : float, default=0.0
        Not supported, because trees are not pruned; any other value raises an error.
    max_samples : int, float or None, default=None
        Number of samples drawn for each tree, at most `n_samples`. A float is a fraction of
        `n_samples`, None means `n_samples`. Requires ``bootstrap=True``.
    monotonic_cst : None, default=None
        Not supported; any other value raises an error.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The class labels, sorted.
    forest_ : Forest
        The trees, as read-only flat arrays.
    feature_importances_ : ndarray of shape (n_features_in_,)
        Impurity-based feature importances, which sum to one (all zero if no tree has a split).
    oob_score_ : float
        Accuracy, or the score of the callable `oob_score`, of the out-of-bag predictions; NaN if
        no sample was out of bag. Exists only if `oob_score` is set.
    oob_decision_function_ : ndarray of shape (n_samples, n_classes)
        Out-of-bag probabilities of the training samples; NaN for samples that every bootstrap
        sample contains. Exists only if `oob_score` is set.
    oob_count_ : ndarray of shape (n_samples,)
        Number of trees whose bootstrap sample does not contain the sample. Exists only if
        `oob_score` is set.
    oob_is_unbiased_ : bool
        Always True: `oob_decision_function_` can be used like cross-validated predictions.
    n_features_in_ : int
        Number of features seen during `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features seen during `fit`. Exists only if `X` has feature names that are
        all strings.

    See Also
    --------
    ExtraTreesClassifier : Forest of trees with random thresholds.
    BoostedForestClassifier : Forests boosted by their out-of-bag errors.
    sklearn.ensemble.RandomForestClassifier : The estimator that this one replaces.

    Notes
    -----
    With `bootstrap`, samples are drawn uniformly and the sample weights multiply the bootstrap
    counts, as in scikit-learn before version 1.9, which draws in proportion to the weights. Drawn
    uniformly, each sample is out of bag for about a third of the trees, whatever its weight.

    With scikit-learn 1.9 or later, callbacks set with `set_callbacks` are called after each tree.

    References
    ----------
    .. [1] Breiman (2001). Random forests. Machine Learning 45.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = RandomForestClassifier(50, oob_score=True, random_state=0).fit(X, y)
    >>> model.predict(X[[0, 70, 140]])
    array([0, 1, 2])
    >>> round(model.oob_score_, 3)
    0.96
    >>> model.feature_importances_.round(2)
    array([0.13, 0.02, 0.42, 0.43])
    """

    _random_splits = False
    _sklearn_forest = ensemble.RandomForestClassifier
    _sklearn_tree = tree.DecisionTreeClassifier


class ExtraTreesClassifier(BaseForestClassifier):
    """Extra-trees: the best of one random split for each randomly drawn feature.

    A drop-in replacement for `sklearn.ensemble.ExtraTreesClassifier` that is fast on sparse data.
    Parameters have the same names and meanings; those that are not supported raise an error when
    they are changed. Trees have the same distribution as scikit-learn's, but not the same random
    numbers.

    Parameters
    ----------
    n_estimators : int, default=100
        Number of trees.
    criterion : {"gini", "entropy", "log_loss"}, default="gini"
        Impurity that splits minimize. "log_loss" and "entropy" are the same.
    max_depth : int or None, default=None
        Maximum depth of the trees. If None, nodes are split until they are pure or have fewer
        than `min_samples_split` samples.
    min_samples_split : int or float, default=2
        Minimum number of samples of a node to be split. A float is a fraction of `n_samples`.
    min_samples_leaf : int or float, default=1
        Minimum number of samples of a leaf. A float is a fraction of `n_samples`.
    min_weight_fraction_leaf : float, default=0.0
        Minimum weight of a leaf, as a fraction of the total weight of the tree's samples.
    max_features : {"sqrt", "log2"}, int, float or None, default="sqrt"
        Number of features drawn at each node. A float is a fraction of `n_features`, None means
        all features.
    max_leaf_nodes : None, default=None
        Not supported, because trees are grown depth first; any other value raises an error.
        Limit trees with `max_depth` or `min_samples_leaf`.
    min_impurity_decrease : float, default=0.0
        Not supported; any other value raises an error. Limit trees with `max_depth` or
        `min_samples_leaf`.
    bootstrap : bool, default=False
        Whether each tree is grown on a bootstrap sample. If False, each tree is grown on all
        samples.
    oob_score : bool or callable, default=False
        Whether to predict each training sample with the trees whose bootstrap sample does not
        contain it. Requires ``bootstrap=True``. A callable ``score(y_true, y_pred)`` replaces
        the accuracy in `oob_score_`.
    n_jobs : int or None, default=None
        Number of threads. None means 1 unless in a `joblib.parallel_config` context, -1 means
        all processors. It does not change the result.
    random_state : int, RandomState or None, default=None
        Seed of the bootstrap samples and of the features and thresholds drawn at each node. An int
        makes the fit reproducible.
    verbose : int, default=0
        Verbosity of `fit`: with 1 or more, joblib prints its progress.
    warm_start : bool, default=False
        Whether `fit` keeps the trees of the previous fit and only adds trees up to
        `n_estimators`. If False, `fit` starts a new forest.
    class_weight : {"balanced", "balanced_subsample"}, dict or None, default=None
        Factors on the sample weights of each class. "balanced" gives all classes the same total
        weight, "balanced_subsample" does so within each bootstrap sample. A dict maps labels to
        factors; labels that it does not contain have factor 1.
    ccp_alpha : float, default=0.0
        Not supported, because trees are not pruned; any other value raises an error.
    max_samples : int, float or None, default=None
        Number of samples drawn for each tree, at most `n_samples`. A float is a fraction of
        `n_samples`, None means `n_samples`. Requires ``bootstrap=True``.
    monotonic_cst : None, default=None
        Not supported; any other value raises an error.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The class labels, sorted.
    forest_ : Forest
        The trees, as read-only flat arrays.
    feature_importances_ : ndarray of shape (n_features_in_,)
        Impurity-based feature importances, which sum to one (all zero if no tree has a split).
    oob_score_ : float
        Accuracy, or the score of the callable `oob_score`, of the out-of-bag predictions; NaN if
        no sample was out of bag. Exists only if `oob_score` is set.
    oob_decision_function_ : ndarray of shape (n_samples, n_classes)
        Out-of-bag probabilities of the training samples; NaN for samples that every bootstrap
        sample contains. Exists only if `oob_score` is set.
    oob_count_ : ndarray of shape (n_samples,)
        Number of trees whose bootstrap sample does not contain the sample. Exists only if
        `oob_score` is set.
    oob_is_unbiased_ : bool
        Always True: `oob_decision_function_` can be used like cross-validated predictions.
    n_features_in_ : int
        Number of features seen during `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features seen during `fit`. Exists only if `X` has feature names that are
        all strings.

    See Also
    --------
    RandomForestClassifier : Forest of trees with the best thresholds.
    BoostedForestClassifier : Forests boosted by their out-of-bag errors.
    sklearn.ensemble.ExtraTreesClassifier : The estimator that this one replaces.

    Notes
    -----
    With `bootstrap`, samples are drawn uniformly and the sample weights multiply the bootstrap
    counts, as in scikit-learn before version 1.9, which draws in proportion to the weights.

    With scikit-learn 1.9 or later, callbacks set with `set_callbacks` are called after each tree.

    References
    ----------
    .. [1] Geurts, Ernst, Wehenkel (2006). Extremely randomized trees. Machine Learning 63.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> X, y = load_digits(return_X_y=True)
    >>> model = ExtraTreesClassifier(50, random_state=0).fit(X[:1000], y[:1000])
    >>> round(model.score(X[1000:], y[1000:]), 3)
    0.954
    """

    _random_splits = True
    _sklearn_forest = ensemble.ExtraTreesClassifier
    _sklearn_tree = tree.ExtraTreeClassifier

    def __init__(
        self,
        n_estimators: int = 100,
        *,
        criterion: str = "gini",
        max_depth: int | None = None,
        min_samples_split: int | float = 2,
        min_samples_leaf: int | float = 1,
        min_weight_fraction_leaf: float = 0.0,
        max_features: int | float | str | None = "sqrt",
        max_leaf_nodes: None = None,
        min_impurity_decrease: float = 0.0,
        bootstrap: bool = False,
        oob_score: bool | Callable[..., float] = False,
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = None,
        verbose: int = 0,
        warm_start: bool = False,
        class_weight: Mapping[Any, float] | str | None = None,
        ccp_alpha: float = 0.0,
        max_samples: int | float | None = None,
        monotonic_cst: None = None,
    ) -> None:
        super().__init__(
            n_estimators,
            criterion=criterion,
            max_depth=max_depth,
            min_samples_split=min_samples_split,
            min_samples_leaf=min_samples_leaf,
            min_weight_fraction_leaf=min_weight_fraction_leaf,
            max_features=max_features,
            max_leaf_nodes=max_leaf_nodes,
            min_impurity_decrease=min_impurity_decrease,
            bootstrap=bootstrap,
            oob_score=oob_score,
            n_jobs=n_jobs,
            random_state=random_state,
            verbose=verbose,
            warm_start=warm_start,
            class_weight=class_weight,
            ccp_alpha=ccp_alpha,
            max_samples=max_samples,
            monotonic_cst=monotonic_cst,
        )
