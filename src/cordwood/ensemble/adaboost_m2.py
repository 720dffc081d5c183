"""AdaBoost.M2: multi-class boosting of trees by the pseudo-loss."""

import warnings
from collections import deque
from collections.abc import Iterator, Mapping
from typing import Any, ClassVar, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted, validate_data

from cordwood._base.csr import check_sparse, compact_columns, csc_arrays, csr_arrays, to_csr
from cordwood._base.param_validation import BOOLEAN, Constraint, real
from cordwood._base.sklearn_private import NO_TASK, FitTask
from cordwood.ensemble._tree_ensemble import BaseTreeEnsemble, select_features
from cordwood.ensemble.tree_engine import bootstrap as bag
from cordwood.ensemble.tree_engine.apply import apply
from cordwood.ensemble.tree_engine.binning import BinnedMatrix, bin_matrix
from cordwood.ensemble.tree_engine.forest import (
    Forest,
    join,
    leaf_index,
    number_features,
    rename_features,
)
from cordwood.ensemble.tree_engine.grower import TreeParams, grow_forest
from cordwood.ensemble.tree_engine.importances import importances

# Lower bound of the pseudo-loss, so that the weight of a tree is finite.
_MIN_LOSS = 1e-10

# Differences below this fraction of the weights are rounding errors between equal weights.
_TIE = 1e-10

# Leaf weights, with mean one, are stored in single precision.
_MIN_WEIGHT = 1e-30

# Number of samples predicted at once, which bounds the memory for their leaves in all trees.
_BLOCK_SIZE = 2**14


class _Round(NamedTuple):
    """A tree, the labels that each of its leaves predicts as plausible, and its pseudo-loss."""

    tree: Forest
    plausible: NDArray[np.bool_]
    loss: float


class AdaBoostM2Classifier(BaseTreeEnsemble):
    """AdaBoost.M2: multi-class boosting of decision trees by the pseudo-loss.

    The boosting weights belong to pairs of a sample and one of its wrong labels, so that a round
    can concentrate on the classes that are still confused. Each leaf of a tree predicts a set of
    plausible labels. The pseudo-loss of a tree is 0.5 if all labels are plausible everywhere, and
    0 if the true label of every sample, and no other, is plausible; a weak learner only needs a
    pseudo-loss below 0.5, however many classes there are.

    Parameters
    ----------
    n_estimators : int, default=200
        Maximum number of boosting rounds, each of which fits one tree. `stop_reason_` is the
        reason if there are fewer.
    learning_rate : float, default=1.0
        Factor in (0, 1] on the weight of each tree, which also scales the weight updates.
    bootstrap : bool, default=True
        Whether trees are grown on bootstrap samples, drawn in proportion to the sample weights.
        If False, trees are grown on all samples with their weights.
    criterion : {"gini", "entropy", "log_loss"}, default="gini"
        Impurity that splits minimize. "log_loss" and "entropy" are the same.
    max_depth : int or None, default=1
        Maximum depth of the trees: 1 for decision stumps, None for fully grown trees.
    min_samples_split : int or float, default=2
        Minimum number of samples of a node to be split. A float is a fraction of `n_samples`.
    min_samples_leaf : int or float, default=1
        Minimum number of samples of a leaf. A float is a fraction of `n_samples`.
    min_weight_fraction_leaf : float, default=0.0
        Minimum weight of a leaf, as a fraction of the total weight of the tree's samples.
    max_features : {"sqrt", "log2"}, int, float or None, default=None
        Number of features drawn at each node. A float is a fraction of `n_features`, None means
        all features.
    n_jobs : int or None, default=None
        Number of threads of predictions; `fit` is sequential. None means 1 unless in a
        `joblib.parallel_config` context, -1 means all processors. It does not change the result.
    random_state : int, RandomState or None, default=None
        Seed of the bootstrap samples and of the features drawn at each node. An int makes the fit
        reproducible.
    class_weight : {"balanced"}, dict or None, default=None
        Factors on the sample weights of each class. "balanced" gives all classes the same total
        weight. A dict maps labels to factors; labels that it does not contain have factor 1.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The class labels, sorted.
    forest_ : Forest
        The trees, as read-only flat arrays.
    plausible_ : uint8 ndarray of shape (n_leaves, ceil(n_classes / 8))
        The plausible labels of each leaf, as bit mask: bit k, counted from the lowest, is set if
        class k is plausible.
    estimator_errors_ : ndarray of shape (n_estimators_,)
        Pseudo-loss e of each tree.
    estimator_weights_ : ndarray of shape (n_estimators_,)
        Weight of each tree, ``learning_rate * log((1 - e) / e)``.
    n_estimators_ : int
        Number of trees.
    stop_reason_ : str
        Why boosting stopped: ``"n_estimators"``, all rounds are done; ``"no_error"``, the
        pseudo-loss of the last tree is below 1e-10; ``"chance"``, that of the next tree was 0.5;
        ``"callback"``, a callback requested it. A tree at chance is discarded, unless it is the
        first.
    feature_importances_ : ndarray of shape (n_features_in_,)
        Impurity-based feature importances, the weighted mean over the trees, which sum to one
        (all zero if no tree has a split).
    n_features_in_ : int
        Number of features seen during `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features seen during `fit`. Exists only if `X` has feature names that are
        all strings.

    See Also
    --------
    BoostedForestClassifier : Boosting of small forests by their out-of-bag errors.
    sklearn.ensemble.AdaBoostClassifier : Boosting by the classification error (SAMME).

    Notes
    -----
    Let D(i, y) be the weight of sample i with the wrong label y, all of which sum to one, and
    h(i, y) = 1 if y is plausible in the leaf of sample i, else 0. A round computes

    - the pseudo-loss e = 1/2 sum D(i, y) (1 - h(i, y_i) + h(i, y)), and b = e / (1 - e);
    - D(i, y) *= b ** (1/2 (1 + h(i, y_i) - h(i, y))), after which D is normalized.

    The score of a label is the sum of ln(1 / b) h over the rounds, and the scores, normalized to
    sum to one, are the probabilities. Initially, D is proportional to `sample_weight` times
    `class_weight`, and the same for all wrong labels of a sample.

    A tree is grown with the weights of the samples, the sums of D over their wrong labels, so that
    its splits minimize the impurity rather than the pseudo-loss. A label is then plausible in a
    leaf if that lowers the pseudo-loss: if, among all training samples in the leaf, the samples of
    the label weigh more than the pairs of other samples with the label. If that holds for no
    label, all are plausible. This is the optimal h in [0, 1], and that of the stumps in [1]_.
    Class frequencies are a common choice for h, but a poor one for stumps: with 200 stumps and a
    fifth of the WebKB pages as test set, the macro-F1 is 0.26 with frequencies and 0.51 with
    plausible labels. For fully grown trees, neither was better on all data sets.

    A fully grown tree makes no error on the samples that it is grown on, so that boosting would
    stop after the first one. It makes errors on the samples that are not in its bootstrap sample,
    with which boosting continues; [3]_ uses bootstrap samples for stumps too. Without `bootstrap`,
    samples with less than 1e-30 of the mean weight are ignored by a tree.

    With two classes, the heavier class of a leaf is plausible, and this is the AdaBoost of [2]_.
    With ``learning_rate=1``, the weighted training error is at most (n_classes - 1) times the
    product of 2 sqrt(e (1 - e)) over the rounds (theorem 2 of [1]_). In [3]_ the method is named
    ADA.M2 with ``max_depth=1`` and ADA.FGDT with ``max_depth=None``.

    With scikit-learn 1.9 or later, callbacks set with `set_callbacks` are called after each round.

    References
    ----------
    .. [1] Freund, Schapire (1996). Experiments with a new boosting algorithm. ICML.
    .. [2] Freund, Schapire (1997). A decision-theoretic generalization of on-line learning and an
       application to boosting. Journal of Computer and System Sciences 55.
    .. [3] Salles, Gonçalves, Rodrigues, Rocha (2015). BROOF: exploiting out-of-bag errors,
       boosting and random forests for effective automated classification. SIGIR.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> X, y = load_digits(return_X_y=True)
    >>> stumps = AdaBoostM2Classifier(random_state=0).fit(X[::2], y[::2])
    >>> round(stumps.score(X[1::2], y[1::2]), 2)
    0.88
    >>> trees = AdaBoostM2Classifier(50, max_depth=None, random_state=0).fit(X[::2], y[::2])
    >>> round(trees.score(X[1::2], y[1::2]), 2)
    0.96
    """

    _parameter_constraints: ClassVar[Mapping[str, Constraint]] = {
        **BaseTreeEnsemble._parameter_constraints,
        "learning_rate": real("(]", 0, 1),
        "bootstrap": BOOLEAN,
    }

    plausible_: NDArray[np.uint8]
    estimator_errors_: NDArray[np.float64]
    estimator_weights_: NDArray[np.float64]

    _random_splits = False

    def __init__(
        self,
        n_estimators: int = 200,
        *,
        learning_rate: float = 1.0,
        bootstrap: bool = True,
        criterion: str = "gini",
        max_depth: int | None = 1,
        min_samples_split: int | float = 2,
        min_samples_leaf: int | float = 1,
        min_weight_fraction_leaf: float = 0.0,
        max_features: int | float | str | None = None,
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = None,
        class_weight: Mapping[Any, float] | str | None = None,
    ) -> None:
        self.n_estimators = n_estimators
        self.learning_rate = learning_rate
        self.bootstrap = bootstrap
        self.criterion = criterion
        self.max_depth = max_depth
        self.min_samples_split = min_samples_split
        self.min_samples_leaf = min_samples_leaf
        self.min_weight_fraction_leaf = min_weight_fraction_leaf
        self.max_features = max_features
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.class_weight = class_weight

    @property
    def n_estimators_(self) -> int:
        """Number of trees."""
        check_is_fitted(self)
        return self.forest_.n_trees

    @property
    def feature_importances_(self) -> NDArray[np.float64]:
        """Impurity-based feature importances: the weighted mean over the trees, summing to one."""
        check_is_fitted(self)
        return importances(
            self.forest_,
            len(self.classes_),
            self.n_features_in_,
            entropy=self._uses_entropy(),
            tree_weights=self.estimator_weights_,
        )

    def staged_predict_proba(self, X: Any) -> Iterator[NDArray[np.float64]]:
        """Predict class probabilities after each boosting round.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples. Values are converted to float32.

        Yields
        ------
        ndarray of shape (n_samples, n_classes)
            Class probabilities, with columns in the order of `classes_`. The last ones are those
            of `predict_proba`.
        """
        check_is_fitted(self)
        X = validate_data(self, check_sparse(X), accept_sparse="csr", dtype=np.float32, reset=False)
        for scores in self._staged_scores(to_csr(X)):
            yield scores / scores.sum(axis=1, keepdims=True)

    def _fit(
        self,
        X: sp.csc_matrix | sp.csr_matrix,
        y: NDArray[np.uint32],
        weights: NDArray[np.float64],
        task: FitTask = NO_TASK,
    ) -> None:
        weights = weights * self._compute_class_weights(y, weights)[y]
        is_weighted = self._find_weighted(weights)
        X, columns = compact_columns(X if is_weighted.all() else X[is_weighted])
        rounds: list[_Round] = []
        stop_reason = None
        round_task = task.subtask("round")
        for boosted in self._boost(X, y[is_weighted], weights[is_weighted]):
            rounds.append(boosted)
            stopped_by_callback = round_task.end(lambda: self._fitted_attributes(rounds, columns))
            stop_reason = _find_stop_reason(boosted.loss)
            if stop_reason is None and stopped_by_callback:
                stop_reason = "callback"
            if stop_reason is not None or len(rounds) == self.n_estimators:
                break
            round_task = task.subtask("round")
        if stop_reason == "chance" and len(rounds) > 1:
            rounds.pop()
        self.stop_reason_ = stop_reason or "n_estimators"
        for name, value in self._fitted_attributes(rounds, columns).items():
            setattr(self, name, value)
        if _find_stop_reason(rounds[0].loss) == "chance":
            warnings.warn(
                "the first tree is not better than chance, so that boosting stops after it: no "
                "feature separates the classes",
                stacklevel=4,
            )

    def _fitted_attributes(
        self, rounds: list[_Round], columns: NDArray[np.int32] | None
    ) -> dict[str, Any]:
        losses = np.array([boosted.loss for boosted in rounds])
        odds = (1.0 - losses) / np.maximum(losses, _MIN_LOSS)
        estimator_weights = self.learning_rate * np.log(odds)
        if _find_stop_reason(losses[0]) == "chance":
            estimator_weights[:] = 1.0  # The weight of the only tree would be zero.
        plausible = np.concatenate([boosted.plausible for boosted in rounds])
        return {
            "forest_": rename_features(join([boosted.tree for boosted in rounds]), columns),
            "plausible_": np.packbits(plausible, axis=1, bitorder="little"),
            "estimator_errors_": losses,
            "estimator_weights_": estimator_weights,
        }

    def _boost(
        self, X: sp.csc_matrix, y: NDArray[np.uint32], weights: NDArray[np.float64]
    ) -> Iterator[_Round]:
        """Yield boosting rounds; after one with a stop reason, no other must be requested."""
        n_samples, n_classes = len(y), len(self.classes_)
        params = self._tree_params(n_samples, self.n_features_in_, np.ones(n_samples))
        binned = bin_matrix(csc_arrays(X), n_features=self.n_features_in_)
        sample_weights, pair_weights = _init_pair_weights(y, weights, n_classes)
        for bootstrap_seed, seed in self._draw_seeds():
            tree_weights = self._compute_tree_sample_weights(sample_weights, bootstrap_seed)
            tree = self._grow_tree(binned, y, params, tree_weights, seed)
            leaves = _apply(tree, X)
            gains, plausible = _choose_plausible(
                y, sample_weights, pair_weights, leaves, tree.n_leaves
            )
            loss = max(0.5 * (1.0 - float(gains[plausible].sum())), 0.0)
            yield _Round(tree, plausible, loss)
            beta = (loss / (1.0 - loss)) ** self.learning_rate
            sample_weights, pair_weights = _update_pair_weights(
                y, pair_weights, leaves, plausible, beta
            )

    def _grow_tree(
        self,
        binned: BinnedMatrix,
        y: NDArray[np.uint32],
        params: TreeParams,
        weights: NDArray[np.float64],
        seed: int,
    ) -> Forest:
        return grow_forest(binned, y, len(self.classes_), params, [seed], lambda _: weights)

    def _compute_tree_sample_weights(
        self, sample_weights: NDArray[np.float64], bootstrap_seed: int
    ) -> NDArray[np.float64]:
        """Return the weights that a tree is grown with: bootstrap counts, or scaled weights."""
        n_samples = len(sample_weights)
        if self.bootstrap:
            counts = bag.draw_weighted_counts([bootstrap_seed], sample_weights, n_samples)
            return np.asarray(counts[0], np.float64)
        scaled = sample_weights * n_samples
        return np.where(scaled < _MIN_WEIGHT, 0.0, scaled)

    def _predict_proba(self, X: sp.csr_matrix) -> NDArray[np.float64]:
        scores = np.empty((X.shape[0], len(self.classes_)))
        for first in range(0, X.shape[0], _BLOCK_SIZE):
            block = slice(first, first + _BLOCK_SIZE)
            scores[block] = deque(self._staged_scores(X[block]), maxlen=1).pop()
        return np.asarray(scores / scores.sum(axis=1, keepdims=True))

    def _staged_scores(self, X: sp.csr_matrix) -> Iterator[NDArray[np.float64]]:
        """Yield, after each tree, the total weight of the trees with each label plausible."""
        scores = np.zeros((X.shape[0], len(self.classes_)))
        leaves = leaf_index(
            self.forest_, apply(*select_features(self.forest_, X), n_jobs=self.n_jobs)
        )
        for tree_leaves, weight in zip(leaves, self.estimator_weights_, strict=True):
            scores += weight * np.unpackbits(
                self.plausible_[tree_leaves], axis=1, count=len(self.classes_), bitorder="little"
            )
            yield scores


def _init_pair_weights(
    y: NDArray[np.uint32], weights: NDArray[np.float64], n_classes: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Normalize the sample weights and distribute them evenly over the wrong labels.

    Classes without samples are not wrong labels of any sample.
    """
    # Pair weights are D(i, y), zero for the true labels.
    sample_weights = weights / weights.sum()
    present = np.bincount(y, minlength=n_classes) > 0
    pair_weights = np.outer(sample_weights, present / max(present.sum() - 1, 1))
    pair_weights[np.arange(len(y)), y] = 0.0
    return sample_weights, pair_weights


def _apply(tree: Forest, X: sp.csc_matrix) -> NDArray[np.int64]:
    """Return the number of the leaf of each sample.

    A single tree splits on few features, so that selecting their columns first is faster than
    converting the whole matrix to CSR.
    """
    small, columns = number_features(tree)
    return leaf_index(small, apply(small, csr_arrays(to_csr(X[:, columns])))[0])


def _choose_plausible(
    y: NDArray[np.uint32],
    sample_weights: NDArray[np.float64],
    pair_weights: NDArray[np.float64],
    leaves: NDArray[np.int64],
    n_leaves: int,
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Choose the plausible labels of each leaf, which minimize the pseudo-loss."""
    # The gain of a label is the weight of its samples less the weight of the pairs of other samples
    # with it. The pseudo-loss is one half less half of the gains of the plausible labels.
    n_samples, n_classes = pair_weights.shape
    correct = np.bincount(
        leaves * n_classes + y, weights=sample_weights, minlength=n_leaves * n_classes
    ).reshape(n_leaves, n_classes)
    in_leaf = sp.csr_matrix(
        (np.ones(n_samples), leaves, np.arange(n_samples + 1)), (n_samples, n_leaves)
    )
    gains = np.asarray(correct - in_leaf.T @ pair_weights)
    plausible = gains > _TIE * correct.sum(axis=1, keepdims=True)
    # In a leaf where no label is better than none, all are plausible.
    return gains, plausible | ~plausible.any(axis=1, keepdims=True)


def _update_pair_weights(
    y: NDArray[np.uint32],
    pair_weights: NDArray[np.float64],
    leaves: NDArray[np.int64],
    plausible: NDArray[np.bool_],
    beta: float,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Multiply weights by sqrt(beta) if the true label is plausible, and if the other is not."""
    # Sample weights are sums over the wrong labels. Pair weights are normalized to sum to one.
    root = np.sqrt(beta)
    is_correct = plausible[leaves, y]
    pair_weights = pair_weights * np.where(plausible, 1.0, root)[leaves]
    pair_weights *= np.where(is_correct, root, 1.0)[:, None]
    pair_weights /= pair_weights.sum()
    return pair_weights.sum(axis=1), pair_weights


def _find_stop_reason(loss: float) -> str | None:
    """Return why boosting stops at a tree of this pseudo-loss, or None."""
    if loss < _MIN_LOSS:
        return "no_error"
    return "chance" if loss > 0.5 - _TIE else None
