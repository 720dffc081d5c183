"""Random forests and extra-trees on the sparse engine, under scikit-learn's names."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from sklearn import ensemble, tree

from cordwood.ensemble._forest import BaseForestClassifier


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

    Notes
    -----
    With `bootstrap`, rows are drawn evenly, and their weights multiply how often they were drawn,
    as in scikit-learn before 1.9; since then it draws them in proportion to their weights. Drawn
    evenly, each row is out of bag for a third of the trees, whatever its weight.

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
