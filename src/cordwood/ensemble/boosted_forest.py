"""Forests boosted by what their trees answer to rows that they have not seen."""

import warnings
import zlib
from collections.abc import Iterator, Mapping
from numbers import Real
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted, column_or_1d, validate_data

from cordwood._csr import as_rows, csc_arrays, csr_arrays
from cordwood._param_validation import check_choice, check_number, check_positive
from cordwood._random import MAX_SEED
from cordwood.ensemble._boosting_loop import FAILURES, Course, Data, boost, start
from cordwood.ensemble._boosting_rules import UPDATES, Scheme
from cordwood.ensemble._cross_fitting import merge, share_out
from cordwood.ensemble._tree_engine.apply import vote
from cordwood.ensemble._tree_engine.binning import bin_matrix
from cordwood.ensemble._tree_engine.forest import Forest, join, take_trees
from cordwood.ensemble._tree_engine.grower import TreeParams
from cordwood.ensemble._tree_engine.row_blocks import to_row_blocks
from cordwood.ensemble._tree_ensemble import BaseTreesClassifier

# Reasons to stop that hold for any number of rounds.
_FINAL = ("no_error", *FAILURES)

# The probability that a round's forest is one of extra-trees.
_SHARES = {"rf": 0.0, "et": 1.0}


class BoostedForestClassifier(BaseTreesClassifier):
    """Small forests, each grown on what the ones before it got wrong.

    In every round a forest is grown whose trees draw their bags in proportion to the rows'
    weights. Trees vote on the rows outside of their bags; the error of these votes decides how
    much the forest counts, and the rows answered wrongly are drawn more often from then on. So
    the fit needs no rows set aside, and trees may be grown in full. Known as BROOF with
    ``base="rf"``, and as BERT with ``base="et"``.

    Parameters
    ----------
    n_estimators : int, default=200
        Number of rounds at most, one forest each; `stop_reason_` tells why there are fewer.
    trees_per_round : int, default=8
        Trees of each forest.
    base : {"rf", "et"} or float, default="et"
        Kind of the forests: random forests, extra-trees, or the probability that the forest of a
        round is one of extra-trees.
    update : {"aggregate", "majority", "per_tree"}, default="majority"
        Which rows gain weight: those that the forest answers wrongly; those that more of its trees
        answer wrongly than rightly; or by each tree, which also takes weight from the rows that it
        answers rightly.
    oob_error : bool, default=True
        Whether a forest is judged by votes out of bag, rather than by the votes of all its trees
        on all rows.
    oob_updates : bool, default=True
        Whether rows gain weight by votes out of bag, and so those without any stay as they are,
        rather than by the votes of all trees on all rows. With both switches off this is the
        classical boosted forest, known as ADARF.
    samme : bool, default=True
        Whether forests count, and go on, as long as they are better than chance, rather than as
        long as they answer half of the weight rightly.
    tree_weights : bool, default=False
        Whether trees of lesser error count more within their forest.
    learning_rate : float, default=0.1
        Factor on the weight of each forest, and so on how fast rows gain weight.
    cross_fit : int, default=1
        Number of chains that share the rounds. Each boosts without a share of the rows, other ones
        in turn, so that `oob_decision_function_` is as honest as cross-validation, at no cost; see
        the notes. Fewer rounds each want a greater `learning_rate`: 0.3 for five chains of 40.
    n_iter_no_change : int, optional
        Stop after so many rounds without a better `staged_oob_score_`. Never, by default.
    criterion, max_depth, min_samples_split, min_samples_leaf, min_weight_fraction_leaf, \
max_features
        Of the trees; see `RandomForestClassifier`.
    n_jobs : int, optional
        Number of threads. It changes the time, never the result.
    random_state : int, RandomState or None, default=None
        Seed. Every round has a seed of its own.
    warm_start : bool, default=False
        Whether a further `fit`, on the same rows, keeps the forests and adds what `n_estimators`
        asks for more; the result is that of one fit.
    class_weight : dict, "balanced" or None, default=None
        Factor on the weights of the rows of each class.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The labels, sorted.
    forest_ : Forest
        The trees of all rounds, as flat read-only arrays.
    stop_reason_ : str
        Why there are no more rounds, in the shortest chain: ``"n_estimators"``, all are there;
        ``"n_iter_no_change"``; ``"no_error"``, the last forest's is below 1e-5; ``"chance"``, the
        next forest would have been no better; ``"nothing_out_of_bag"``, it could not have been
        judged. Such a forest is left out, unless it is the first.
    estimator_errors_, estimator_weights_ : ndarrays of shape (n_rounds,)
        Weighted error of each round's forest, and how much it counts; chain after chain.
    tree_weights_ : ndarray of shape (n_rounds * n_trees,)
        How much each tree counts; a round's sum to its `estimator_weights_`.
    staged_oob_score_ : ndarray of shape (n_rounds,)
        Accuracy after each round, over the rows that were out of bag at least once by then; of
        several chains, that of each after its own rounds, over the rows that it left out.
    oob_decision_function_ : ndarray of shape (n_rows, n_classes)
        Votes of the trees that had not seen a row, weighted as in `predict_proba`; NaN where all
        had. Of several chains, those of the one that left the row out.
    oob_count_ : ndarray of shape (n_rows,)
        How many trees had not seen a row.
    oob_is_unbiased_ : bool
        Whether `oob_decision_function_` is as good as the answers to new rows: with several chains.
    feature_importances_ : ndarray of shape (n_features_in_,)
        Share of each feature in the decrease of impurity, the weighted mean over the trees.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, where `X` had any.

    Notes
    -----
    Weights of rows and classes are where boosting starts: bags are drawn in proportion to them.
    Trees then count how often a row was drawn, whatever its weight.

    A forest of error e counts ``learning_rate * (log((1 - e) / e) + log(n_classes - 1))``, the last
    term being the multi-class one, and "aggregate" and "majority" multiply the weights of rows by
    the exponential of it; "per_tree" uses ``learning_rate * (1 - e) / e`` of each tree instead.
    Within a forest trees of error e weigh ``exp(1 - e)`` with `tree_weights`. Papers and code of
    the method's authors differ in these points; all that they have tried can be had.

    A row's votes out of bag are worse than those on new rows, because boosting raises what would
    contradict the row wherever trees that drew it are wrong of others. A stack that learns from
    them trusts the forests too little; with five chains of 40 rounds and a learning rate of 0.3 it
    was nearly as good as with votes by cross-validation, in a fifth of the time
    (docs/stacking.md). On their own they are mostly a little worse than one chain.

    A row's votes out of bag know its label only through the weights of other rows. They do not give
    it away: where two labels in five were random, of four classes, these were answered rightly in
    24 to 25 % of the cases by all rules with `oob_error`. Without it, in 18 to 25 %, since boosting
    then goes on with rows that cannot be learnt: a row answered wrongly is drawn for all bags, and
    is left with its wrong votes. There, `staged_oob_score_` is too low by up to ten points.

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
    >>> model.score(X[1::2], y[1::2]) > 0.95
    True
    >>> model.stop_reason_, model.forest_.n_trees
    ('n_estimators', 160)
    """

    _random_cut = False

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

    @property
    def oob_is_unbiased_(self) -> bool:
        """Whether rows out of bag are answered as well as new ones are; see the notes."""
        return bool(self.cross_fit != 1)

    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: ArrayLike | None = None,
        groups: ArrayLike | None = None,
    ) -> Self:
        """Learn from labelled rows.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_rows, n_features)
            Training rows. Values are compared in single precision.
        y : array of shape (n_rows,)
            Their labels.
        sample_weight : array of shape (n_rows,), optional
            Their weights; a row of weight zero is as good as absent.
        groups : array of shape (n_rows,), optional
            Rows of the same group are left out by the same one of several chains.

        Returns
        -------
        self
        """
        columns, codes, weights = self._check_rows(X, y, sample_weight)
        self._grow(columns, codes, weights, _number(groups, len(codes)))
        return self

    # A property, unlike in other forests, because warm_start goes on from the sums.
    @property
    def oob_decision_function_(self) -> NDArray[np.float64]:
        """Weighted votes of the trees that had not seen a row; NaN where all had."""
        check_is_fitted(self)
        mean = np.full(self._oob_votes.shape, np.nan)
        total = self._oob_votes.sum(axis=1, keepdims=True)
        np.divide(self._oob_votes, total, where=total > 0, out=mean)
        return mean

    @property
    def feature_importances_(self) -> NDArray[np.float64]:
        """Share of each feature in the decrease of impurity, the weighted mean over the trees."""
        check_is_fitted(self)
        total = self._importances
        return total / total.sum() if total.any() else total.copy()

    def staged_predict_proba(self, X: Any) -> Iterator[NDArray[np.float64]]:
        """Give the probabilities of the classes after each round.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_rows, n_features)

        Yields
        ------
        ndarray of shape (n_rows, n_classes)
            In the order of `classes_`; rows sum to one.
        """
        check_is_fitted(self)
        X = validate_data(self, X, accept_sparse="csr", dtype=np.float32, reset=False)
        rows, n_classes = csr_arrays(as_rows(X)), len(self.classes_)
        votes = np.zeros((rows.shape[0], n_classes))
        for weights, forest in self._rounds():
            votes += vote(forest, rows, n_classes, tree_weights=weights, n_jobs=self.n_jobs)[0]
            yield votes / votes.sum(axis=1, keepdims=True)

    def _vote(self, X: sp.csr_matrix) -> NDArray[np.float64]:
        votes, _ = vote(
            self.forest_,
            csr_arrays(X),
            len(self.classes_),
            tree_weights=self.tree_weights_,
            n_jobs=self.n_jobs,
        )
        return np.asarray(votes / votes.sum(axis=1, keepdims=True))

    def _rounds(self) -> Iterator[tuple[NDArray[np.float64], Forest]]:
        """Give the weights and the trees of each round."""
        n_trees = self.forest_.n_trees // len(self.estimator_weights_)
        for first in range(0, self.forest_.n_trees, n_trees):
            last = first + n_trees
            yield self.tree_weights_[first:last], take_trees(self.forest_, first, last)

    def _grow(
        self,
        X: sp.csc_matrix,
        codes: NDArray[np.uint32],
        weights: NDArray[np.float64],
        groups: NDArray[np.intp] | None = None,
    ) -> None:
        self._check_boosting()
        weights = weights * self._class_weights(codes, weights)[codes]
        seen = self._find_seen(weights)
        n_docs = int(seen.sum())
        n_apart = n_docs if groups is None else len(np.unique(groups[seen]))
        cross_fit = min(int(self.cross_fit), n_apart)
        if groups is not None and self.cross_fit > cross_fit == 1:
            raise ValueError(
                "all rows are of one group, which no chain can leave out; give at least two groups"
            )
        fingerprint = _hash(X, codes, weights)
        seeds = self._draw_seeds()
        if self._goes_on() and not self._can_add(fingerprint):
            return
        rows = as_rows(X)
        # Rows that are alike go down a tree together for longer.
        order = np.lexsort((np.diff(rows.indptr), codes))
        turned = to_row_blocks(csr_arrays(rows[order]))
        left_out_by = np.full(len(codes), -1, np.intp)
        if cross_fit > 1:
            left_out_by = share_out(codes, seen, groups, cross_fit, seeds[0])
        courses, stop_reasons = [], []
        for chain, of_rounds in enumerate(np.array_split(seeds, cross_fit)):
            learnt = seen & (left_out_by != chain)
            judged = seen if cross_fit == 1 else seen & (left_out_by == chain)
            n_learnt = int(learnt.sum())
            rules = self._rules(n_learnt, X.shape[1], np.ones(n_learnt))
            data = Data(
                rows=turned,
                order=order,
                codes=codes,
                n_classes=len(self.classes_),
                docs=_find(learnt),
                table=bin_matrix(csc_arrays(X if learnt.all() else X[learnt])),
                judged=_find(judged),
            )
            course = self._resume(n_docs) if self._goes_on() else start(data, weights[learnt])
            stop_reasons.append(self._boost(course, data, rules, of_rounds))
            courses.append(course)
        shortest = min(range(cross_fit), key=lambda chain: len(courses[chain].errors))
        course = courses[0] if cross_fit == 1 else merge(courses, left_out_by)
        self._keep(course, stop_reasons[shortest], fingerprint)

    def _boost(self, course: Course, data: Data, rules: TreeParams, seeds: NDArray[Any]) -> str:
        """Boost round by round, each by a seed of its own; returns the reason to stop."""
        scheme = Scheme(
            update=self.update,
            oob_error=bool(self.oob_error),
            oob_updates=bool(self.oob_updates),
            samme=bool(self.samme),
            tree_weights=bool(self.tree_weights),
            learning_rate=float(self.learning_rate),
        )
        share = _SHARES[self.base] if isinstance(self.base, str) else float(self.base)
        while len(course.errors) < len(seeds):
            if course.has_stalled(self.n_iter_no_change):
                return "n_iter_no_change"
            seed, coin = seeds[len(course.errors)]
            of_trees = np.random.RandomState(seed % 2**32).randint(
                MAX_SEED, size=(self.trees_per_round, 2), dtype=np.int64
            )
            kind = rules._replace(random_split=bool(coin < share * MAX_SEED))
            stop_reason = boost(course, data, scheme, kind, of_trees, self.n_jobs)
            if stop_reason is not None:
                return stop_reason
        return "n_estimators"

    def _keep(self, course: Course, stop_reason: str, fingerprint: int) -> None:
        """Keep what boosting came to, and what it takes to go on."""
        kept = [self.forest_] if self._goes_on() else []
        self.forest_ = join([*kept, *course.forests])
        self.stop_reason_ = stop_reason
        self.estimator_errors_ = np.array(course.errors)
        self.estimator_weights_ = np.array(course.estimator_weights)
        self.tree_weights_ = np.concatenate(course.tree_weights)
        self.staged_oob_score_ = np.array(course.scores)
        self.oob_count_ = course.oob_count
        self._oob_votes = course.oob_votes
        self._importances = course.importances
        self._row_weights = course.weights
        self._fingerprint = fingerprint

    def _can_add(self, fingerprint: int) -> bool:
        """Tell whether there are rounds to add, and check that they can follow the last fit."""
        n_rounds = len(self.estimator_weights_)
        n_trees = self.forest_.n_trees // n_rounds
        if fingerprint != self._fingerprint:
            raise ValueError(
                "X, y, sample_weight or class_weight differ from the last fit, whose rounds "
                "warm_start adds to; give the same, or set warm_start=False"
            )
        if n_trees != self.trees_per_round:
            raise ValueError(
                f"trees_per_round={self.trees_per_round} differs from the {n_trees} of the rounds that are there; "
                "leave it, or set warm_start=False"
            )
        if self.n_estimators < n_rounds:
            raise ValueError(
                f"n_estimators={self.n_estimators} is less than the {n_rounds} rounds that are "
                "there; with warm_start it can only grow"
            )
        if self.n_estimators > n_rounds and self.stop_reason_ not in _FINAL:
            return True
        warnings.warn(
            f"warm_start: no rounds are added to the {n_rounds} that are there, because "
            f"stop_reason_ is {self.stop_reason_!r}",
            stacklevel=4,
        )
        return False

    def _resume(self, n_docs: int) -> Course:
        """Take up the course of the last fit."""
        weights = np.asarray(self._row_weights, np.float64)
        if weights.shape != (n_docs,):  # in a file from a stranger
            raise ValueError(
                f"the model has not kept a weight for each of the {n_docs} rows, so that "
                "warm_start cannot go on; set warm_start=False"
            )
        return Course(
            weights=weights,
            oob_votes=self._oob_votes.copy(),
            oob_count=self.oob_count_.copy(),
            importances=self._importances.copy(),
            errors=self.estimator_errors_.tolist(),
            estimator_weights=self.estimator_weights_.tolist(),
            scores=self.staged_oob_score_.tolist(),
            tree_weights=[self.tree_weights_],
        )

    def _check_boosting(self) -> None:
        """Check the parameters that other forests do not have."""
        check_number("trees_per_round", self.trees_per_round, 1)
        check_choice("update", self.update, tuple(UPDATES))
        for name in (
            "oob_error",
            "oob_updates",
            "samme",
            "tree_weights",
            "warm_start",
        ):
            check_choice(name, getattr(self, name), (True, False))
        if self.n_iter_no_change is not None:
            check_number("n_iter_no_change", self.n_iter_no_change, 1)
        check_positive("learning_rate", self.learning_rate)
        check_number("cross_fit", self.cross_fit, 1)
        check_number("n_estimators", self.n_estimators, 1)
        if self.cross_fit > self.n_estimators:
            raise ValueError(
                f"cross_fit={self.cross_fit} cannot share n_estimators={self.n_estimators} rounds; "
                "ask for more rounds, or for fewer chains"
            )
        if self.cross_fit > 1 and self.warm_start:
            raise ValueError(
                f"warm_start cannot go on with cross_fit={self.cross_fit}, only with one; set one "
                "of them back"
            )
        share = _SHARES.get(self.base, -1.0) if isinstance(self.base, str) else self.base
        if not isinstance(share, Real) or isinstance(share, bool) or not 0 <= share <= 1:
            raise ValueError(
                f"base must be 'rf', 'et' or a share of extra-trees in [0, 1]; got {self.base!r}"
            )

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        if hasattr(self, "forest_"):
            self.tree_weights_ = _check_weights(self.tree_weights_, self.forest_.n_trees)
            if np.shape(self._importances) != (self.n_features_in_,):
                raise ValueError(f"_importances is not {self.n_features_in_} numbers")


def _check_weights(weights: Any, n_trees: int) -> NDArray[np.float64]:
    """Give the trees' weights; raise ValueError unless there is one for each tree."""
    checked: NDArray[np.float64] = np.array(weights, np.float64)
    if checked.shape != (n_trees,) or not np.isfinite(checked).all() or not (checked > 0).all():
        raise ValueError(f"tree_weights_ is not {n_trees} positive numbers")
    return checked


def _number(groups: ArrayLike | None, n_rows: int) -> NDArray[np.intp] | None:
    """Number the groups of rows, whatever they are called."""
    if groups is None:
        return None
    names = column_or_1d(groups)
    if len(names) != n_rows:
        raise ValueError(f"groups has {len(names)} entries, but X has {n_rows} rows; give one each")
    return np.asarray(np.unique(names, return_inverse=True)[1])


def _find(is_one: NDArray[np.bool_]) -> NDArray[np.int64] | slice:
    """Give the positions of some rows; a slice if they are all."""
    return slice(None) if is_one.all() else np.flatnonzero(is_one)


def _hash(X: sp.csc_matrix, codes: NDArray[np.uint32], weights: NDArray[np.float64]) -> int:
    """Hash the training data, to know them again."""
    value = 0
    for array in (X.indptr, X.indices, X.data, codes, weights):
        value = zlib.crc32(np.ascontiguousarray(array), value)
    return value
