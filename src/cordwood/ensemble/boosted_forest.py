"""Forests boosted by their out-of-bag errors."""

from __future__ import annotations  # `help` shows the short names

import warnings
import zlib
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse as sp
from joblib import effective_n_jobs
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted, column_or_1d, validate_data

from cordwood._base.cluster import Call, active_cluster
from cordwood._base.csr import check_sparse, compact_columns, csc_arrays, csr_arrays, to_csr
from cordwood._base.duplicates import assign_folds
from cordwood._base.param_validation import BOOLEAN, POSITIVE, Constraint, integer, options, real
from cordwood._base.sklearn_private import NO_TASK, FitTask, with_callbacks
from cordwood._kernels.random import MAX_SEED
from cordwood.ensemble._boosting_loop import (
    FAILURES,
    BoostingData,
    BoostingState,
    boost_round,
    init_state,
)
from cordwood.ensemble._boosting_rules import UPDATES, BoostingParams
from cordwood.ensemble._cross_fitting import merge_runs
from cordwood.ensemble._tree_ensemble import BaseTreeEnsemble, select_features
from cordwood.ensemble.tree_engine.apply import vote
from cordwood.ensemble.tree_engine.binning import bin_matrix
from cordwood.ensemble.tree_engine.forest import Forest, join, rename_features, take_trees
from cordwood.ensemble.tree_engine.row_blocks import to_row_blocks
from cordwood.ensemble.tree_engine.threads import map_threads

# Stop reasons that a larger n_estimators does not change.
_FINAL_STOP_REASONS = ("no_error", *FAILURES)

# Probability that the forest of a round consists of extra-trees.
_EXTRA_TREES_PROBABILITY = {"rf": 0.0, "et": 1.0}

DataFactory = Callable[[NDArray[np.bool_], NDArray[np.bool_]], BoostingData]


class BoostedForestClassifier(BaseTreeEnsemble):
    """Boosting of small forests by their out-of-bag errors.

    Each boosting round fits a small forest whose bootstrap samples are drawn in proportion to the
    sample weights. The out-of-bag error of the forest determines its weight, and the samples that
    are misclassified out of bag gain weight for the next round. No validation set is needed, and
    trees can be grown to full depth. The method is known as BROOF with ``base="rf"`` [1]_ and as
    BERT with ``base="et"`` [2]_.

    Parameters
    ----------
    n_estimators : int, default=200
        Maximum number of boosting rounds, each of which fits one forest. `stop_reason_` is the
        reason if there are fewer.
    trees_per_round : int, default=8
        Number of trees of each forest.
    base : {"rf", "et"} or float, default="et"
        Base estimator: random forests ("rf"), extra-trees ("et"), or the probability in [0, 1]
        that the forest of a round consists of extra-trees.
    update : {"aggregate", "majority", "per_tree"}, default="majority"
        Rule of the weight updates. "aggregate" increases the weights of the samples that the
        forest misclassifies. "majority" increases the weights of the samples that more of its
        trees misclassify than classify correctly. "per_tree" increases them for each tree that
        misclassifies a sample and decreases them for each tree that is correct.
    oob_error : bool, default=True
        Whether the error of a forest is estimated from out-of-bag votes. If False, it is the
        training error.
    oob_updates : bool, default=True
        Whether weights are updated by out-of-bag votes, which leaves the weights of samples
        without such votes unchanged. If False, all trees vote on all samples. With `oob_error`
        and `oob_updates` both False, this is the classical boosted forest, known as ADARF.
    samme : bool, default=True
        Whether to add log(n_classes - 1) to the weight of each forest, as in SAMME [3]_. Boosting
        stops when the weighted error reaches 1 - 1 / n_classes; if False, when it reaches 0.5.
    tree_weights : bool, default=False
        Whether trees with a lower error have a higher weight within their forest.
    learning_rate : float, default=0.1
        Factor on the weight of each forest, which also scales the weight updates.
    cross_fit : int, default=1
        Number of boosting runs that share the `n_estimators` rounds. With more than one, each run
        leaves out another fold of the samples, and `oob_decision_function_` has the predictions
        of the run that left a sample out, which are as unbiased as those of cross-validation. The
        cost of `fit` does not change. Shorter runs need a higher `learning_rate`: 0.3 works well
        for five runs of 40 rounds.
    n_iter_no_change : int or None, default=None
        Stop if `staged_oob_score_` has not improved for this number of rounds. With `cross_fit`,
        a run stops by the out-of-bag accuracy of the samples that it is fitted on, because the
        labels of the fold that it leaves out must not affect it. If None, there is no early
        stopping.
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
    n_jobs : int or None, default=None
        Number of threads. None means 1 unless in a `joblib.parallel_config` context, -1 means
        all processors. It does not change the result.
    random_state : int, RandomState or None, default=None
        Seed. Each round has its own seed, derived from this one. An int makes the fit
        reproducible.
    warm_start : bool, default=False
        Whether `fit`, called with the same training set, keeps the forests of the previous fit
        and only adds rounds up to `n_estimators`. The result is the same as that of a single fit.
        Requires ``cross_fit=1``.
    class_weight : {"balanced"}, dict or None, default=None
        Factors on the sample weights of each class. "balanced" gives all classes the same total
        weight. A dict maps labels to factors; labels that it does not contain have factor 1.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The class labels, sorted.
    forest_ : Forest
        The trees of all rounds, as read-only flat arrays.
    stop_reason_ : str
        Why boosting stopped, in the shortest run if there are several: ``"n_estimators"``, all
        rounds are done; ``"n_iter_no_change"``, early stopping; ``"no_error"``, the error of the
        last forest is below 1e-5; ``"chance"``, the next forest was not better than chance;
        ``"no_oob_samples"``, the next forest had no out-of-bag samples; ``"callback"``, a callback
        requested it. A forest at chance or without out-of-bag samples is discarded, unless it is
        the first.
    estimator_errors_ : ndarray of shape (n_rounds,)
        Weighted error of the forest of each round; run after run with `cross_fit`.
    estimator_weights_ : ndarray of shape (n_rounds,)
        Weight of the forest of each round; run after run with `cross_fit`.
    tree_weights_ : ndarray of shape (n_rounds * trees_per_round,)
        Weight of each tree. The weights of a round sum to its entry of `estimator_weights_`.
    staged_oob_score_ : ndarray of shape (n_rounds,)
        Out-of-bag accuracy after each round, over the samples that were out of bag at least once
        so far. With `cross_fit`, the accuracy of each run on the fold that it left out.
    oob_decision_function_ : ndarray of shape (n_samples, n_classes)
        Out-of-bag probabilities of the training samples, weighted as in `predict_proba`; NaN for
        samples that were never out of bag. With `cross_fit`, the predictions of the run that left
        the sample out.
    oob_count_ : ndarray of shape (n_samples,)
        Number of trees that were not fitted on the sample.
    oob_is_unbiased_ : bool
        Whether `oob_decision_function_` can be used like cross-validated predictions: True if
        `cross_fit` is greater than one. See the notes.
    feature_importances_ : ndarray of shape (n_features_in_,)
        Impurity-based feature importances, the weighted mean over the trees, which sum to one.
    n_features_in_ : int
        Number of features seen during `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features seen during `fit`. Exists only if `X` has feature names that are
        all strings.

    See Also
    --------
    RandomForestClassifier : Bagged trees without boosting.
    AdaBoostM2Classifier : Boosting of single trees by the pseudo-loss.
    OOBStackingClassifier : Stacking that uses out-of-bag predictions.

    Notes
    -----
    A forest of weighted error e has the weight

    ``learning_rate * (log((1 - e) / e) + log(n_classes - 1))``,

    where the last term is present only with `samme`. "aggregate" and "majority" multiply the
    weights of samples by the exponential of it; "per_tree" uses ``learning_rate * (1 - e) / e`` of
    each tree as exponent instead. With `tree_weights`, a tree of error e has the weight
    ``exp(1 - e)`` within its forest. The papers and the authors' code differ in these points; the
    parameters cover all published variants.

    `sample_weight` and `class_weight` are the initial boosting weights: bootstrap samples are
    drawn in proportion to them. Trees then use the bootstrap counts as weights.

    Out-of-bag predictions of a single run are biased downwards, because a sample makes the trees
    that drew it misclassify similar samples of other classes, which gain weight and then outvote
    it where it is out of bag. A stack that is trained on them underestimates the forest. With five
    cross-fitted runs of 40 rounds and a learning rate of 0.3, a stack was nearly as accurate as
    with cross-validated predictions, at a fifth of the fitting time (docs/stacking.md). As
    classifiers, cross-fitted runs are usually slightly worse than a single run of all rounds.

    The bias does not leak labels: with 40 % of the labels of four classes replaced by random ones,
    24 to 25 % of these were predicted correctly by all rules with `oob_error`. Without it, 18 to
    25 % were, because boosting then continues on samples that cannot be fitted: a misclassified
    sample is drawn for every tree, and keeps its wrong votes. `staged_oob_score_` is then up to
    ten points too low.

    With scikit-learn 1.9 or later, callbacks set with `set_callbacks` are called after each round.

    References
    ----------
    .. [1] Salles, Gonçalves, Rodrigues, Rocha (2015). BROOF: exploiting out-of-bag errors,
       boosting and random forests for effective automated classification. SIGIR.
    .. [2] Campos, Canuto, Salles, de Sá, Gonçalves (2017). Stacking bagged and boosted forests for
       effective automated classification. SIGIR.
    .. [3] Zhu, Zou, Rosset, Hastie (2009). Multi-class AdaBoost. Statistics and its Interface 2.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> X, y = load_digits(return_X_y=True)
    >>> model = BoostedForestClassifier(20, random_state=0).fit(X[::2], y[::2])
    >>> round(model.score(X[1::2], y[1::2]), 3)
    0.977
    >>> model.staged_oob_score_[[0, 4, 19]].round(3)
    array([0.799, 0.941, 0.956])
    >>> model.stop_reason_, model.forest_.n_trees
    ('n_estimators', 160)
    """

    _parameter_constraints: ClassVar[Mapping[str, Constraint]] = {
        **BaseTreeEnsemble._parameter_constraints,
        "trees_per_round": integer(1),
        "base": options("rf", "et") | real("[]", 0, 1),
        "update": options(*UPDATES),
        "oob_error": BOOLEAN,
        "oob_updates": BOOLEAN,
        "samme": BOOLEAN,
        "tree_weights": BOOLEAN,
        "learning_rate": POSITIVE,
        "cross_fit": integer(1),
        "n_iter_no_change": options(None) | integer(1),
        "warm_start": BOOLEAN,
    }

    stop_reason_: str
    estimator_errors_: NDArray[np.float64]
    estimator_weights_: NDArray[np.float64]
    tree_weights_: NDArray[np.float64]
    staged_oob_score_: NDArray[np.float64]
    oob_count_: NDArray[np.int64]
    _oob_votes: NDArray[np.float64]
    _importances: NDArray[np.float64]
    # The features that `_importances` belong to, if there are too many to store all.
    _columns: NDArray[np.int32] | None
    _boosting_weights: NDArray[np.float64]
    _data_hash: int

    _random_splits = False  # Chosen for each round, from `base`.

    def __init__(
        self,
        n_estimators: int = 200,
        *,
        trees_per_round: int = 8,
        base: str | float = "et",
        update: str = "majority",
        oob_error: bool = True,
        oob_updates: bool = True,
        samme: bool = True,
        tree_weights: bool = False,
        learning_rate: float = 0.1,
        cross_fit: int = 1,
        n_iter_no_change: int | None = None,
        criterion: str = "gini",
        max_depth: int | None = None,
        min_samples_split: int | float = 2,
        min_samples_leaf: int | float = 1,
        min_weight_fraction_leaf: float = 0.0,
        max_features: int | float | str | None = "sqrt",
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = None,
        warm_start: bool = False,
        class_weight: Mapping[Any, float] | str | None = None,
    ) -> None:
        self.n_estimators = n_estimators
        self.trees_per_round = trees_per_round
        self.base = base
        self.update = update
        self.oob_error = oob_error
        self.oob_updates = oob_updates
        self.samme = samme
        self.tree_weights = tree_weights
        self.learning_rate = learning_rate
        self.cross_fit = cross_fit
        self.n_iter_no_change = n_iter_no_change
        self.criterion = criterion
        self.max_depth = max_depth
        self.min_samples_split = min_samples_split
        self.min_samples_leaf = min_samples_leaf
        self.min_weight_fraction_leaf = min_weight_fraction_leaf
        self.max_features = max_features
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.warm_start = warm_start
        self.class_weight = class_weight

    @with_callbacks
    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: ArrayLike | None = None,
        groups: ArrayLike | None = None,
    ) -> Self:
        """Fit the boosted forests to the training set.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training samples. Values are converted to float32.
        y : array-like of shape (n_samples,)
            Class labels.
        sample_weight : array-like of shape (n_samples,), default=None
            Sample weights. A sample of weight zero is ignored. If None, all weights are one.
        groups : array-like of shape (n_samples,), default=None
            Group labels. With `cross_fit`, samples of the same group are in the same fold.

        Returns
        -------
        self : object
            The fitted classifier.
        """
        self._validate_params()
        data = self._validate_training_set(X, y, sample_weight)
        group_codes = _encode_groups(groups, len(data[1]))
        task = FitTask.start(self, X, y, sample_weight, self._count_subtasks())
        self._fit(*data, task, group_codes)
        task.end()
        return self

    @property
    def oob_is_unbiased_(self) -> bool:
        """Whether `oob_decision_function_` can be used like cross-validated predictions."""
        return bool(self.cross_fit != 1)

    @property
    def splits_on_cluster(self) -> bool:
        """Whether `fit` uses several workers of a cluster itself."""
        return bool(self.cross_fit != 1)

    # Computed from the sums of votes, because warm_start continues from these.
    @property
    def oob_decision_function_(self) -> NDArray[np.float64]:
        """Out-of-bag probabilities of the training samples; NaN if never out of bag."""
        check_is_fitted(self)
        if not hasattr(self, "_oob_votes"):
            raise AttributeError("a model file does not contain oob_decision_function_")
        proba = np.full(self._oob_votes.shape, np.nan)
        total = self._oob_votes.sum(axis=1, keepdims=True)
        np.divide(self._oob_votes, total, where=total > 0, out=proba)
        return proba

    @property
    def feature_importances_(self) -> NDArray[np.float64]:
        """Impurity-based feature importances: the weighted mean over the trees, summing to one."""
        check_is_fitted(self)
        total = self._importances
        result = total / total.sum() if total.any() else total.copy()
        if self._columns is None:
            return result
        all_features = np.zeros(self.n_features_in_)
        all_features[self._columns] = result
        return all_features

    def staged_predict_proba(self, X: Any) -> Iterator[NDArray[np.float64]]:
        """Predict class probabilities after each boosting round.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples. Values are converted to float32.

        Yields
        ------
        ndarray of shape (n_samples, n_classes)
            Class probabilities, with columns in the order of `classes_`.
        """
        check_is_fitted(self)
        X = validate_data(self, check_sparse(X), accept_sparse="csr", dtype=np.float32, reset=False)
        csr, n_classes = to_csr(X), len(self.classes_)
        votes = np.zeros((csr.shape[0], n_classes))
        for weights, forest in self._iter_rounds():
            arrays = select_features(forest, csr)
            votes += vote(*arrays, n_classes, tree_weights=weights, n_jobs=self.n_jobs)[0]
            yield votes / votes.sum(axis=1, keepdims=True)

    def _predict_proba(self, X: sp.csr_matrix) -> NDArray[np.float64]:
        votes, _ = vote(
            *select_features(self.forest_, X),
            len(self.classes_),
            tree_weights=self.tree_weights_,
            n_jobs=self.n_jobs,
        )
        return np.asarray(votes / votes.sum(axis=1, keepdims=True))

    def _iter_rounds(self) -> Iterator[tuple[NDArray[np.float64], Forest]]:
        """Yield the tree weights and the trees of each round."""
        n_trees = self.forest_.n_trees // len(self.estimator_weights_)
        for first in range(0, self.forest_.n_trees, n_trees):
            last = first + n_trees
            yield self.tree_weights_[first:last], take_trees(self.forest_, first, last)

    def _fit(
        self,
        X: sp.csc_matrix | sp.csr_matrix,
        y: NDArray[np.uint32],
        weights: NDArray[np.float64],
        task: FitTask = NO_TASK,
        groups: NDArray[np.intp] | None = None,
    ) -> None:
        weights = weights * self._compute_class_weights(y, weights)[y]
        is_weighted = self._find_weighted(weights)
        n_runs = self._count_runs(is_weighted, groups)
        data_hash = _hash_training_set(X, y, weights)
        seeds = self._draw_seeds()
        if self._is_warm_start() and not self._can_add_rounds(data_hash):
            return
        X, self._columns = compact_columns(X)
        prepare = partial(_make_data_factory, X, y, len(self.classes_), self.n_features_in_)
        if n_runs == 1:
            state, stop_reason = self._fit_single_run(
                prepare(), weights, is_weighted, seeds, task, data_hash
            )
        else:
            samples = np.random.default_rng(seeds[0]).permutation(np.flatnonzero(is_weighted))
            folds = assign_folds(
                y, np.arange(len(y)) if groups is None else groups, n_runs, samples
            )
            state, stop_reason = self._fit_cross_fitted_runs(
                prepare, weights, is_weighted, folds, np.array_split(seeds, n_runs), task
            )
        for name, value in self._fitted_attributes(state, stop_reason, data_hash).items():
            setattr(self, name, value)

    def _fit_single_run(
        self,
        make_data: DataFactory,
        weights: NDArray[np.float64],
        is_weighted: NDArray[np.bool_],
        seeds: NDArray[Any],
        task: FitTask,
        data_hash: int,
    ) -> tuple[BoostingState, str]:
        """Boost on all samples, from the previous fit on with warm_start."""
        data = make_data(is_weighted, is_weighted)
        if self._is_warm_start():
            state = self._resume_state()
        else:
            state = init_state(data, weights[is_weighted])
        stop_reason = self._boost(
            state, data, seeds, task, lambda: self._fitted_attributes(state, "callback", data_hash)
        )
        return state, stop_reason

    def _fit_cross_fitted_runs(
        self,
        prepare: Callable[[], DataFactory],
        weights: NDArray[np.float64],
        is_weighted: NDArray[np.bool_],
        folds: NDArray[np.intp],
        seeds_of_runs: list[NDArray[Any]],
        task: FitTask,
    ) -> tuple[BoostingState, str]:
        """Boost once for each fold, on the samples of the other folds, and merge the runs."""
        n_runs, workers = len(seeds_of_runs), active_cluster()
        if workers is not None and not task.has_callbacks:
            boost_fold = partial(_boost_fold, clone(self), prepare, weights, is_weighted, folds)
            found = workers.run_in_order(
                Call(f"boosting run {fold}", partial(boost_fold, fold, seeds))
                for fold, seeds in enumerate(seeds_of_runs)
            )
            return _merge(list(found), folds)
        make_data = prepare()
        if not task.has_callbacks:
            # Runs in parallel scale better than the few trees of a round.
            inner_jobs = max(effective_n_jobs(self.n_jobs) // n_runs, 1)
            alone = clone(self).set_params(n_jobs=inner_jobs)
            boost_fold = partial(_boost_fold, alone, lambda: make_data, weights, is_weighted, folds)
            boosted = map_threads(
                lambda _, fold: boost_fold(fold, seeds_of_runs[fold]),
                range(n_runs),
                lambda: None,
                n_jobs=self.n_jobs,
            )
            return _merge(boosted, folds)
        runs: list[BoostingState] = []
        stop_reasons: list[str] = []

        def merged_attributes() -> dict[str, Any]:
            return self._fitted_attributes(merge_runs(runs, folds), "callback", 0)

        for fold, seeds in enumerate(seeds_of_runs):
            is_train = is_weighted & (folds != fold)
            data = make_data(is_train, is_weighted & (folds == fold))
            runs.append(init_state(data, weights[is_train]))
            run_task = task.subtask("run", max_subtasks=len(seeds))
            stop_reasons.append(self._boost(runs[-1], data, seeds, run_task, merged_attributes))
            if run_task.end(merged_attributes):
                break
        return _merge(list(zip(runs, stop_reasons, strict=True)), folds)

    def _boost(
        self,
        state: BoostingState,
        data: BoostingData,
        seeds: NDArray[Any],
        task: FitTask,
        fitted_attributes: Callable[[], dict[str, Any]],
    ) -> str:
        """Run boosting rounds, one for each pair of seeds; return the reason to stop."""
        params = BoostingParams(
            update=self.update,
            oob_error=bool(self.oob_error),
            oob_updates=bool(self.oob_updates),
            samme=bool(self.samme),
            tree_weights=bool(self.tree_weights),
            learning_rate=float(self.learning_rate),
        )
        n_train = len(state.weights)
        tree_params = self._tree_params(n_train, data.binned.n_features, np.ones(n_train))
        probability = (
            _EXTRA_TREES_PROBABILITY[self.base] if isinstance(self.base, str) else float(self.base)
        )
        while state.n_rounds < len(seeds):
            if state.has_stalled(self.n_iter_no_change):
                return "n_iter_no_change"
            seed, draw = seeds[state.n_rounds]
            tree_seeds = np.random.RandomState(seed % 2**32).randint(
                MAX_SEED, size=(self.trees_per_round, 2), dtype=np.int64
            )
            is_extra_trees = bool(draw < probability * MAX_SEED)
            round_params = tree_params._replace(random_split=is_extra_trees)
            round_task = task.subtask("round")
            stop_reason = boost_round(state, data, params, round_params, tree_seeds, self.n_jobs)
            stopped_by_callback = round_task.end(fitted_attributes)
            if stop_reason is not None:
                return stop_reason
            if stopped_by_callback:
                return "callback"
        return "n_estimators"

    def _fitted_attributes(
        self, state: BoostingState, stop_reason: str, data_hash: int
    ) -> dict[str, Any]:
        """Return the fitted attributes, including those that warm_start continues from."""
        kept = [self.forest_] if self._is_warm_start() else []
        return {
            "forest_": join(
                [*kept, *(rename_features(forest, self._columns) for forest in state.forests)]
            ),
            "stop_reason_": stop_reason,
            "estimator_errors_": np.array(state.errors),
            "estimator_weights_": np.array(state.estimator_weights),
            "tree_weights_": np.concatenate(state.tree_weights),
            "staged_oob_score_": np.array(state.scores),
            "oob_count_": state.oob_count,
            "_oob_votes": state.oob_votes,
            "_importances": state.importances,
            "_boosting_weights": state.weights,
            "_data_hash": data_hash,
        }

    def _count_subtasks(self) -> int:
        if self.cross_fit > 1:
            return int(self.cross_fit)
        n_kept = len(self.estimator_weights_) if self._is_warm_start() else 0
        return max(int(self.n_estimators) - n_kept, 0)

    def _count_runs(self, is_weighted: NDArray[np.bool_], groups: NDArray[np.intp] | None) -> int:
        """Return `cross_fit`, or the number of samples or groups if that is less."""
        n_separable = (
            int(is_weighted.sum()) if groups is None else len(np.unique(groups[is_weighted]))
        )
        n_runs = min(int(self.cross_fit), n_separable)
        if groups is not None and self.cross_fit > n_runs == 1:
            raise ValueError(
                "groups has a single group, which no cross-fitted run can leave out; pass at least "
                "two groups, or set cross_fit=1"
            )
        return n_runs

    def _can_add_rounds(self, data_hash: int) -> bool:
        """Return whether warm_start has rounds to add; validate that they can be added."""
        if not hasattr(self, "_boosting_weights"):
            raise ValueError(
                "warm_start cannot continue a model from a file, which does not contain the weights"
                " of the training samples; set warm_start=False"
            )
        n_rounds = len(self.estimator_weights_)
        n_trees = self.forest_.n_trees // n_rounds
        if data_hash != self._data_hash:
            raise ValueError(
                "X, y, sample_weight or class_weight differ from the previous fit, which "
                "warm_start continues; pass the same training set, or set warm_start=False"
            )
        if n_trees != self.trees_per_round:
            raise ValueError(
                f"trees_per_round={self.trees_per_round} differs from the {n_trees} of the "
                "previous fit, which warm_start continues; set it back, or set warm_start=False"
            )
        if self.n_estimators < n_rounds:
            raise ValueError(
                f"n_estimators={self.n_estimators} must be at least the {n_rounds} rounds of the "
                "previous fit with warm_start=True"
            )
        if self.n_estimators > n_rounds and self.stop_reason_ not in _FINAL_STOP_REASONS:
            return True
        warnings.warn(
            f"warm_start adds no rounds to the {n_rounds} of the previous fit, because its "
            f"stop_reason_ is {self.stop_reason_!r}",
            stacklevel=5,
        )
        return False

    def _resume_state(self) -> BoostingState:
        """Return the state at the end of the previous fit."""
        return BoostingState(
            weights=self._boosting_weights,
            oob_votes=self._oob_votes.copy(),
            oob_count=self.oob_count_.copy(),
            importances=self._importances.copy(),
            errors=self.estimator_errors_.tolist(),
            estimator_weights=self.estimator_weights_.tolist(),
            scores=self.staged_oob_score_.tolist(),
            stopping_scores=self.staged_oob_score_.tolist(),
            tree_weights=[self.tree_weights_],
        )

    def _validate_params(self) -> None:
        super()._validate_params()
        if self.cross_fit > self.n_estimators:
            raise ValueError(
                f"cross_fit={self.cross_fit} must be at most n_estimators={self.n_estimators}, "
                "because every run needs at least one round"
            )
        if self.cross_fit > 1 and self.warm_start:
            raise ValueError(
                f"warm_start=True requires cross_fit=1; got cross_fit={self.cross_fit}"
            )


def _make_data_factory(
    X: sp.csc_matrix, y: NDArray[np.uint32], n_classes: int, n_features: int
) -> DataFactory:
    """Return the function that makes the training set of a run from the masks of its samples."""
    csr = to_csr(X)
    # Similar samples in the same block take the same path for longer.
    order = np.lexsort((np.diff(csr.indptr), y))
    row_blocks = to_row_blocks(csr_arrays(csr[order]))

    def make_data(is_train: NDArray[np.bool_], is_scored: NDArray[np.bool_]) -> BoostingData:
        return BoostingData(
            row_blocks=row_blocks,
            order=order,
            y=y,
            n_classes=n_classes,
            train=_to_index(is_train),
            binned=bin_matrix(
                csc_arrays(X if is_train.all() else X[is_train]), n_features=n_features
            ),
            scored=_to_index(is_scored),
        )

    return make_data


def _boost_fold(
    model: BoostedForestClassifier,
    prepare: Callable[[], DataFactory],
    weights: NDArray[np.float64],
    is_weighted: NDArray[np.bool_],
    folds: NDArray[np.intp],
    fold: int,
    seeds: NDArray[Any],
) -> tuple[BoostingState, str]:
    """Boost on the samples of the other folds, in a thread or in a worker of a cluster."""
    is_train = is_weighted & (folds != fold)
    data = prepare()(is_train, is_weighted & (folds == fold))
    state = init_state(data, weights[is_train])
    return state, model._boost(state, data, seeds, NO_TASK, dict)


def _merge(
    runs: list[tuple[BoostingState, str]], folds: NDArray[np.intp]
) -> tuple[BoostingState, str]:
    """Return the merged runs, and why the shortest one stopped."""
    _, stop_reason = min(runs, key=lambda run: run[0].n_rounds)
    return merge_runs([state for state, _ in runs], folds), stop_reason


def _encode_groups(groups: ArrayLike | None, n_samples: int) -> NDArray[np.intp] | None:
    """Encode group labels as integers."""
    if groups is None:
        return None
    labels = column_or_1d(groups)
    if len(labels) != n_samples:
        raise ValueError(
            f"groups has {len(labels)} entries, but X has {n_samples} samples; pass one group "
            "label for each sample"
        )
    return np.asarray(np.unique(labels, return_inverse=True)[1])


def _to_index(mask: NDArray[np.bool_]) -> NDArray[np.int64] | slice:
    """Convert a mask to positions, or to a slice if it is True everywhere."""
    return slice(None) if mask.all() else np.flatnonzero(mask)


def _hash_training_set(
    X: sp.csc_matrix | sp.csr_matrix, y: NDArray[np.uint32], weights: NDArray[np.float64]
) -> int:
    """Hash the training set, to recognize it in the next fit."""
    value = 0
    for array in (X.indptr, X.indices, X.data, y, weights):
        value = zlib.crc32(np.ascontiguousarray(array), value)
    return value
