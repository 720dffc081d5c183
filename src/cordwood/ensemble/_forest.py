"""What random forests and extra-trees share: all but how a feature is cut."""

import warnings
from collections.abc import Callable, Mapping
from numbers import Integral
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.metrics import accuracy_score
from sklearn.utils.validation import check_is_fitted

from cordwood._csr import as_rows, csc_arrays, csr_arrays
from cordwood._param_validation import check_choice, check_number, check_share
from cordwood._sklearn import make_tree
from cordwood.ensemble._resolve_params import balance
from cordwood.ensemble._tree_engine import bootstrap as bag
from cordwood.ensemble._tree_engine.apply import vote
from cordwood.ensemble._tree_engine.binning import bin_matrix
from cordwood.ensemble._tree_engine.forest import Forest, join
from cordwood.ensemble._tree_engine.grower import grow_forest
from cordwood.ensemble._tree_engine.importances import expand_tree, importances, node_impurity
from cordwood.ensemble._tree_ensemble import BaseTreesClassifier


class BaseForestClassifier(BaseTreesClassifier):
    """A forest that is grown tree by tree and votes by the leaves that rows fall into."""

    _sklearn_forest: type
    _sklearn_tree: type
    _bag_seeds: NDArray[Any] | None
    _bag_size: tuple[int, int]
    _class_weight_names = (None, "balanced", "balanced_subsample")

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
        >>> from cordwood import RandomForestClassifier
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
        nodes = expand_tree(self.forest_, number, len(self.classes_))
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
            node_impurity(nodes, entropy=self._uses_entropy()),
            nodes.n_node_samples,
            nodes.class_weights,
            int(nodes.depth.max()),
        )
        return member

    def _grow(
        self, X: sp.csc_matrix, codes: NDArray[np.uint32], weights: NDArray[np.float64]
    ) -> None:
        self._check_bagging()
        class_weights = self._class_weights(codes, weights)
        seen = self._find_seen(weights * class_weights[codes])
        n_docs, n_classes = int(seen.sum()), len(self.classes_)
        rules = self._rules(n_docs, X.shape[1], weights)
        n_draws = self._count_draws(n_docs)
        first = self._count_kept()
        seeds = self._draw_seeds()
        bag_seeds = self._bag_seeds_of_all(first, seeds[:, 0], (n_docs, n_draws))
        codes_seen, weights_seen = codes[seen], weights[seen]
        balanced_seen = weights_seen * class_weights[codes_seen]

        def weigh(number: int) -> NDArray[np.float64]:
            if not self.bootstrap:
                return balanced_seen
            counts = bag.draw_counts(seeds[first + number, 0], n_docs, n_draws)
            if self.class_weight != "balanced_subsample":
                return balanced_seen * counts
            tree_weights = weights_seen * counts
            return tree_weights * balance(codes_seen, tree_weights, n_classes)[codes_seen]

        grown = grow_forest(
            bin_matrix(csc_arrays(X if seen.all() else X[seen])),
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
            bags = bag.pack_in_bag(bag_seeds, n_docs, n_draws)
            self._vote_out_of_bag(X, codes, seen, bags)

    def _vote(self, X: sp.csr_matrix) -> NDArray[np.float64]:
        votes, n_votes = vote(self.forest_, csr_arrays(X), len(self.classes_), n_jobs=self.n_jobs)
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
            self.forest_, csr_arrays(rows[seen]), n_classes, in_bag=bags, n_jobs=self.n_jobs
        )
        if not seen.all():
            votes[~seen], n_votes[~seen] = vote(
                self.forest_, csr_arrays(rows[~seen]), n_classes, n_jobs=self.n_jobs
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

    def _count_draws(self, n_docs: int) -> int:
        wanted = self.max_samples
        if wanted is None:
            return n_docs
        if isinstance(wanted, Integral):
            check_number("max_samples", wanted, 1)
            if wanted > n_docs:
                raise ValueError(f"max_samples={wanted} is more than the {n_docs} rows")
            return int(wanted)
        check_share("max_samples", wanted)
        return max(1, round(n_docs * wanted))

    def _check_bagging(self) -> None:
        """Check the parameters that only these forests have."""
        check_choice("bootstrap", self.bootstrap, (True, False))
        check_choice("warm_start", self.warm_start, (True, False))
        if not callable(self.oob_score):
            check_choice("oob_score", self.oob_score, (True, False))
        if self.max_leaf_nodes is not None:
            raise ValueError(
                "max_leaf_nodes is not supported, because trees are not grown best node first; "
                "limit them by max_depth or min_samples_leaf"
            )
        if self.oob_score and not self.bootstrap:
            raise ValueError("oob_score needs bootstrap=True: without it no row is out of bag")
        if self.max_samples is not None and not self.bootstrap:
            raise ValueError("max_samples needs bootstrap=True")

    def _class_weights(
        self, codes: NDArray[np.uint32], weights: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        if not isinstance(self.class_weight, str) or self.class_weight != "balanced_subsample":
            return super()._class_weights(codes, weights)
        # With bags, each tree balances the classes of its own.
        n_classes = len(self.classes_)
        return np.ones(n_classes) if self.bootstrap else balance(codes, weights, n_classes)
