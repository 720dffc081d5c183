"""Random forests and extra-trees on the sparse engine, under scikit-learn's names."""

import warnings
from collections.abc import Callable, Mapping
from numbers import Integral, Real
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn import ensemble, tree
from sklearn.metrics import accuracy_score
from sklearn.utils import check_random_state, compute_class_weight
from sklearn.utils.validation import check_is_fitted

from cordwood._sklearn import make_tree
from cordwood.ensemble._base import BaseVotingClassifier, as_rows
from cordwood.trees import bag
from cordwood.trees.check import check_forest
from cordwood.trees.forest import grow_forest, join, vote
from cordwood.trees.nodes import importances, impurity, unfold
from cordwood.trees.records import Forest, Rules
from cordwood.trees.table import encode

_NO_LIMIT = 2**31 - 1
_SEEDS = 2**63 - 1

# Trees keep their leaves' weights in single precision.
_LEAST_WEIGHT, _MOST_WEIGHT = 1e-30, 1e30


class BaseForestClassifier(BaseVotingClassifier):
    """What random forests and extra-trees share: all but how a feature is cut."""

    _random_cut: bool
    _sklearn_forest: type
    _sklearn_tree: type
    _bag_seeds: NDArray[Any] | None
    _bag_size: tuple[int, int]

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
        bootstrap: bool = True,
        oob_score: bool | Callable[..., float] = False,
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = None,
        warm_start: bool = False,
        class_weight: Mapping[Any, float] | str | None = None,
        max_samples: int | float | None = None,
    ) -> None:
        self.n_estimators = n_estimators
        self.criterion = criterion
        self.max_depth = max_depth
        self.min_samples_split = min_samples_split
        self.min_samples_leaf = min_samples_leaf
        self.min_weight_fraction_leaf = min_weight_fraction_leaf
        self.max_features = max_features
        self.max_leaf_nodes = max_leaf_nodes
        self.bootstrap = bootstrap
        self.oob_score = oob_score
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.warm_start = warm_start
        self.class_weight = class_weight
        self.max_samples = max_samples

    @property
    def feature_importances_(self) -> NDArray[np.float64]:
        """Share of each feature in the decrease of impurity, the mean over the trees."""
        check_is_fitted(self)
        return importances(
            self.forest_,
            len(self.classes_),
            self.n_features_in_,
            entropy=self._uses_entropy(),
        )

    def to_sklearn(self) -> Any:
        """Give the same forest as a fitted estimator of scikit-learn.

        For tools that walk scikit-learn's trees, such as SHAP, `export_text` or `plot_tree`. It
        takes many times the memory of this one.

        Returns
        -------
        sklearn.ensemble.RandomForestClassifier or sklearn.ensemble.ExtraTreesClassifier
            Its `predict_proba` agrees with this one's.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> X, y = load_iris(return_X_y=True)
        >>> model = RandomForestClassifier(5, random_state=0).fit(X, y)
        >>> len(model.to_sklearn().estimators_)
        5
        """
        check_is_fitted(self)
        shared = {
            name: value
            for name, value in self.get_params(deep=False).items()
            if name not in ("n_estimators", "oob_score", "warm_start")
        }
        copy = self._sklearn_forest(self.forest_.n_trees, **shared)
        n_classes = len(self.classes_)
        copy.estimators_ = [self._sklearn_member(i) for i in range(self.forest_.n_trees)]
        copy.estimator_ = self._sklearn_tree()
        copy.classes_, copy.n_classes_ = self.classes_, n_classes
        copy.n_features_in_, copy.n_outputs_ = self.n_features_in_, 1
        if hasattr(self, "feature_names_in_"):
            copy.feature_names_in_ = self.feature_names_in_
        return copy

    def _sklearn_member(self, number: int) -> Any:
        nodes = unfold(self.forest_, number, len(self.classes_))
        member = self._sklearn_tree(criterion=self.criterion, max_features=self.max_features)
        member.classes_ = np.arange(len(self.classes_))
        member.n_classes_, member.n_outputs_ = len(self.classes_), 1
        member.n_features_in_ = self.n_features_in_
        member.max_features_ = self._count_features(self.n_features_in_)
        member.tree_ = make_tree(
            self.n_features_in_,
            nodes.left,
            nodes.right,
            nodes.feature,
            nodes.threshold,
            impurity(nodes, entropy=self._uses_entropy()),
            nodes.sizes,
            nodes.counts,
            int(nodes.depth.max()),
        )
        return member

    def _grow(
        self, X: sp.csc_matrix, codes: NDArray[np.uint32], weights: NDArray[np.float64]
    ) -> None:
        class_weights = self._class_weights(codes, weights)
        seen = self._find_seen(weights * class_weights[codes])
        n_docs, n_classes = int(seen.sum()), len(self.classes_)
        rules = self._rules(n_docs, X.shape[1], weights)
        n_draws = self._count_draws(n_docs)
        first = self._count_kept()
        seeds = self._draw_seeds()
        bag_seeds = self._bag_seeds_of_all(first, seeds[:, 0], (n_docs, n_draws))
        codes_seen, weights_seen = codes[seen], weights[seen]

        def weigh(number: int) -> NDArray[np.float64]:
            tree_weights = weights_seen
            if self.bootstrap:
                tree_weights = weights_seen * bag.draw_counts(
                    seeds[first + number, 0], n_docs, n_draws
                )
                if self.class_weight == "balanced_subsample":
                    return tree_weights * _balance(codes_seen, tree_weights, n_classes)[codes_seen]
            return tree_weights * class_weights[codes_seen]

        grown = grow_forest(
            encode(X if seen.all() else X[seen]),
            codes_seen,
            n_classes,
            rules,
            seeds[first:, 1],
            weigh,
            n_jobs=self.n_jobs,
        )
        self.forest_: Forest = join([self.forest_, grown]) if first else grown
        self._bag_seeds, self._bag_size = bag_seeds, (n_docs, n_draws)
        if self.oob_score and bag_seeds is not None:
            bags = bag.pack(bag_seeds, n_docs, n_draws)
            self._vote_out_of_bag(X, codes, seen, bags)

    def _draw_seeds(self) -> NDArray[Any]:
        """Draw for each tree a seed of its bag and one of its cuts.

        For trees that are kept, too, so that a forest continued equals one grown in one go.
        """
        try:
            state = check_random_state(self.random_state)
        except ValueError as error:
            raise ValueError(
                "random_state must be None, a whole number from 0 to 2**32 - 1, or a RandomState; "
                f"got {self.random_state!r}"
            ) from error
        return np.asarray(state.randint(_SEEDS, size=(self.n_estimators, 2), dtype=np.int64))

    def _find_seen(self, weights: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Find the rows that have a weight, and check that trees can add these up."""
        seen = weights > 0
        if not seen.any():
            raise ValueError("class_weight is zero for every class that has rows with a weight")
        least, most = weights[seen].min(), weights[seen].max()
        if least < _LEAST_WEIGHT or most > _MOST_WEIGHT:
            raise ValueError(
                f"sample_weight, times class_weight, goes from {least:g} to {most:g}; scale it to "
                f"lie between {_LEAST_WEIGHT:g} and {_MOST_WEIGHT:g}, or set what is less to zero"
            )
        return seen

    def _vote(self, X: sp.csr_matrix) -> NDArray[np.float64]:
        votes, n_votes = vote(self.forest_, X, len(self.classes_), n_jobs=self.n_jobs)
        return votes / n_votes[:, None]

    def _vote_out_of_bag(
        self,
        X: sp.csc_matrix,
        codes: NDArray[np.uint32],
        seen: NDArray[np.bool_],
        bags: NDArray[np.uint8],
    ) -> None:
        """Let each tree vote on the rows that it has not seen; all of them on rows of no weight."""
        rows, n_classes = as_rows(X), len(self.classes_)
        votes = np.zeros((len(codes), n_classes))
        n_votes = np.zeros(len(codes), np.int64)
        votes[seen], n_votes[seen] = vote(
            self.forest_, rows[seen], n_classes, bags=bags, n_jobs=self.n_jobs
        )
        if not seen.all():
            votes[~seen], n_votes[~seen] = vote(
                self.forest_, rows[~seen], n_classes, n_jobs=self.n_jobs
            )
        self.oob_count_ = n_votes
        self.oob_decision_function_ = np.full(votes.shape, np.nan)
        np.divide(
            votes, n_votes[:, None], out=self.oob_decision_function_, where=n_votes[:, None] > 0
        )
        scored = seen & (n_votes > 0)
        score = self.oob_score if callable(self.oob_score) else accuracy_score
        answers = votes[scored].argmax(axis=1)
        self.oob_score_ = (
            float(score(self.classes_[codes[scored]], self.classes_[answers]))
            if scored.any()
            else float("nan")
        )

    def _goes_on(self) -> bool:
        return bool(self.warm_start) and hasattr(self, "forest_")

    def _count_kept(self) -> int:
        """Count the trees to keep: those of the last fit, with `warm_start`."""
        if not self._goes_on():
            return 0
        n_trees = self.forest_.n_trees
        if self.n_estimators < n_trees:
            raise ValueError(
                f"n_estimators={self.n_estimators} is less than the {n_trees} trees that are "
                "there; with warm_start it can only grow"
            )
        if self.n_estimators == n_trees:
            warnings.warn(
                f"warm_start: all {n_trees} trees are there, and n_estimators asks for no more",
                stacklevel=4,
            )
        return n_trees

    def _bag_seeds_of_all(
        self, first: int, seeds: NDArray[Any], bag_size: tuple[int, int]
    ) -> NDArray[Any] | None:
        """Give the seeds of all trees' bags; None where trees have no bags, or unlike ones."""
        if not self.bootstrap:
            return None
        if not first:
            return seeds
        kept = self._bag_seeds
        if kept is not None and kept.shape == (first,) and tuple(self._bag_size) == bag_size:
            return np.concatenate([kept, seeds[first:]])
        if self.oob_score:
            raise ValueError(
                "oob_score with warm_start needs all trees to be grown with bootstrap=True, on "
                "the same rows and with the same max_samples; set warm_start=False"
            )
        return None

    def _rules(self, n_docs: int, n_features: int, weights: NDArray[np.float64]) -> Rules:
        """Check the parameters and turn them into what the engine goes by."""
        _check_choice("criterion", self.criterion, ("gini", "entropy", "log_loss"))
        _check_choice("bootstrap", self.bootstrap, (True, False))
        _check_choice("warm_start", self.warm_start, (True, False))
        if not callable(self.oob_score):
            _check_choice("oob_score", self.oob_score, (True, False))
        _check_number("n_estimators", self.n_estimators, 1)
        if not (self.n_jobs is None or (isinstance(self.n_jobs, Integral) and self.n_jobs)):
            raise ValueError(
                f"n_jobs must be None or a whole number other than zero; got {self.n_jobs!r}"
            )
        if self.max_depth is not None:
            _check_number("max_depth", self.max_depth, 1)
        share = self.min_weight_fraction_leaf
        if not isinstance(share, Real) or not 0 <= share <= 0.5:
            raise ValueError(f"min_weight_fraction_leaf must be in [0, 0.5]; got {share!r}")
        if self.max_leaf_nodes is not None:
            raise ValueError(
                "max_leaf_nodes is not supported, because trees are not grown best node first; "
                "limit them by max_depth or min_samples_leaf"
            )
        if self.oob_score and not self.bootstrap:
            raise ValueError("oob_score needs bootstrap=True: without it no row is out of bag")
        if self.max_samples is not None and not self.bootstrap:
            raise ValueError("max_samples needs bootstrap=True")
        # Weights up to the number of rows are looked up: with bootstrap counts, all of them are.
        n_logs = int(min(weights.sum(), n_docs)) + 1 if self._uses_entropy() else 0
        logs = np.arange(n_logs, dtype=np.float64)
        logs[1:] *= np.log2(logs[1:])
        return Rules(
            entropy=self._uses_entropy(),
            random_cut=self._random_cut,
            max_features=self._count_features(n_features),
            max_depth=_NO_LIMIT if self.max_depth is None else int(self.max_depth),
            min_samples_split=_count("min_samples_split", self.min_samples_split, n_docs, 2),
            min_samples_leaf=_count("min_samples_leaf", self.min_samples_leaf, n_docs, 1),
            min_weight_share=float(self.min_weight_fraction_leaf),
            x_log_x=logs,
        )

    def _uses_entropy(self) -> bool:
        return self.criterion != "gini"

    def _count_features(self, n_features: int) -> int:
        wanted = self.max_features
        if wanted is None:
            return n_features
        if isinstance(wanted, str):
            _check_choice("max_features", wanted, ("sqrt", "log2"))
            root = np.sqrt(n_features) if wanted == "sqrt" else np.log2(n_features)
            return max(1, int(root))
        if isinstance(wanted, Integral):
            _check_number("max_features", wanted, 1)
            return min(int(wanted), n_features)
        _check_share("max_features", wanted)
        return max(1, int(wanted * n_features))

    def _count_draws(self, n_docs: int) -> int:
        wanted = self.max_samples
        if wanted is None:
            return n_docs
        if isinstance(wanted, Integral):
            _check_number("max_samples", wanted, 1)
            if wanted > n_docs:
                raise ValueError(f"max_samples={wanted} is more than the {n_docs} rows")
            return int(wanted)
        _check_share("max_samples", wanted)
        return max(1, round(n_docs * wanted))

    def _class_weights(
        self, codes: NDArray[np.uint32], weights: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Factors on the weights of each class's rows."""
        wanted, n_classes = self.class_weight, len(self.classes_)
        if isinstance(wanted, Mapping):
            factors = compute_class_weight(
                dict(wanted), classes=self.classes_, y=self.classes_[codes]
            )
            if not (np.isfinite(factors).all() and (factors >= 0).all()):
                raise ValueError(f"class_weight must be finite and not negative; got {wanted!r}")
            return np.asarray(factors)
        _check_choice("class_weight", wanted, (None, "balanced", "balanced_subsample"))
        if wanted == "balanced" or (wanted == "balanced_subsample" and not self.bootstrap):
            return _balance(codes, weights, n_classes)
        return np.ones(n_classes)

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        if hasattr(self, "forest_"):
            # A file may come from a stranger, and kernels do not check bounds.
            self.forest_ = check_forest(self.forest_, len(self.classes_), self.n_features_in_)


class RandomForestClassifier(BaseForestClassifier):
    """Random forest: trees on bootstrap samples, the best cut of randomly drawn features.

    A drop-in for scikit-learn's estimator of the same name. Parameters have the same names and
    meanings; trees have the same distribution, though not the same random numbers.

    Parameters
    ----------
    n_estimators : int, default=100
        Number of trees.
    criterion : {"gini", "entropy", "log_loss"}, default="gini"
        What a cut must reduce.
    max_depth : int, optional
        Depth at which growing stops.
    min_samples_split : int or float, default=2
        Rows that a node must have to be split; a float is a share of all rows.
    min_samples_leaf : int or float, default=1
        Rows that each side of a cut must have; a float is a share of all rows.
    min_weight_fraction_leaf : float, default=0.0
        Share of a tree's weight that each side of a cut must have.
    max_features : {"sqrt", "log2"}, int, float or None, default="sqrt"
        Features drawn at each node; a float is a share, None means all.
    max_leaf_nodes : None
        Not supported; any other value is an error.
    bootstrap : bool, default=True
        Whether each tree sees a sample of the rows, drawn with replacement, rather than all.
    oob_score : bool or callable, default=False
        Whether to let trees vote on the rows that they have not seen; a callable
        ``score(y_true, y_pred)`` takes the place of the accuracy.
    n_jobs : int, optional
        Number of threads. It changes the time, never the result.
    random_state : int, RandomState or None, default=None
        Seed.
    warm_start : bool, default=False
        Whether a further `fit` keeps the trees and adds what `n_estimators` asks for more.
    class_weight : dict, "balanced", "balanced_subsample" or None, default=None
        Factor on the weights of the rows of each class.
    max_samples : int or float, optional
        Rows drawn for each tree; a float is a share. As many as there are, by default.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The labels, sorted.
    forest_ : Forest
        The trees, as flat read-only arrays.
    feature_importances_ : ndarray of shape (n_features_in_,)
        Share of each feature in the decrease of impurity.
    oob_score_ : float
        With `oob_score`: accuracy over the rows that were out of bag at least once.
    oob_decision_function_ : ndarray of shape (n_rows, n_classes)
        With `oob_score`: mean vote of the trees that had not seen a row; NaN where all had.
    oob_count_ : ndarray of shape (n_rows,)
        With `oob_score`: how many trees had not seen a row.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, where `X` had any.

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
    >>> model.oob_score_ > 0.9
    True
    """

    _random_cut = False
    _sklearn_forest = ensemble.RandomForestClassifier
    _sklearn_tree = tree.DecisionTreeClassifier


class ExtraTreesClassifier(BaseForestClassifier):
    """Extra-trees: a random cut of each randomly drawn feature, the best of these.

    A drop-in for scikit-learn's estimator of the same name. All parameters and attributes are
    those of `RandomForestClassifier`, but `bootstrap` is off by default.

    Parameters
    ----------
    n_estimators, criterion, max_depth, min_samples_split, min_samples_leaf, \
min_weight_fraction_leaf, max_features, \
max_leaf_nodes, bootstrap, oob_score, n_jobs, random_state, warm_start, class_weight, max_samples
        See `RandomForestClassifier`.

    References
    ----------
    .. [1] Geurts, Ernst, Wehenkel (2006). Extremely randomized trees. Machine Learning 63.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> ExtraTreesClassifier(50, random_state=0).fit(X, y).score(X, y)
    1.0
    """

    _random_cut = True
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
        bootstrap: bool = False,
        oob_score: bool | Callable[..., float] = False,
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = None,
        warm_start: bool = False,
        class_weight: Mapping[Any, float] | str | None = None,
        max_samples: int | float | None = None,
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
            bootstrap=bootstrap,
            oob_score=oob_score,
            n_jobs=n_jobs,
            random_state=random_state,
            warm_start=warm_start,
            class_weight=class_weight,
            max_samples=max_samples,
        )


def _balance(
    codes: NDArray[np.uint32], counts: NDArray[np.float64], n_classes: int
) -> NDArray[np.float64]:
    """Weights that make all classes that occur weigh the same; `counts` are those of the rows."""
    of_class = np.bincount(codes, weights=counts, minlength=n_classes)
    present = of_class > 0
    balanced = counts.sum() / (present.sum() * np.where(present, of_class, 1.0))
    return np.where(present, balanced, 0.0)


def _check_choice(name: str, value: Any, choices: tuple[Any, ...]) -> None:
    if value not in choices:
        raise ValueError(f"{name} must be one of {', '.join(map(repr, choices))}; got {value!r}")


def _check_number(name: str, value: Any, least: int) -> None:
    if not isinstance(value, Integral) or isinstance(value, bool) or value < least:
        raise ValueError(f"{name} must be a whole number of at least {least}; got {value!r}")


def _check_share(name: str, value: Any) -> None:
    if not isinstance(value, Real) or isinstance(value, bool) or not 0 < float(value) <= 1:
        raise ValueError(f"{name} must be a whole number or a share in (0, 1]; got {value!r}")


def _count(name: str, value: Any, n_docs: int, least: int) -> int:
    """Turn a number or a share of the rows into a number."""
    if isinstance(value, Integral):
        _check_number(name, value, least)
        return int(value)
    _check_share(name, value)
    return max(least, int(np.ceil(value * n_docs)))
