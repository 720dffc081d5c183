"""Boosted word rules for rare classes: uneven AdaBoost and uneven linear programming boosting."""

import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from cordwood._param_validation import check_choice, check_number, check_positive
from cordwood.rules._records import Task, WordRules
from cordwood.rules._rule_ensemble import BaseWordRuleClassifier, Machine, check_least
from cordwood.rules.adauboost import UPDATES, boost
from cordwood.rules.column_generation import BOUND_SCALINGS, bound_costs, generate


class AdaUBoostClassifier(BaseWordRuleClassifier):
    """AdaBoost of word rules, with dearer errors on the smaller class.

    A rule votes by whether one word is in a document. Each round finds the best rule for the
    present costs of documents, then raises the costs of those that it gets wrong. With ``beta=1``
    this is AdaBoost.MH [2]_. Only whether a value is above zero matters, so that counts, tf-idf
    and n-grams do, but columns that are above zero everywhere say nothing.

    With more than two classes, or with an indicator matrix of labels, each class is learnt
    against the rest.

    Parameters
    ----------
    beta : float, "balanced" or mapping of label to float, default=4.0
        How much dearer it is to miss a document of the smaller side, the class or its rest, than
        one of the larger: a number from 1; "balanced" for the quotient of their sizes; or the
        costs of missing a document of each class, one where there is none.
    weak_learner : {"real.mh", "disc.mh", "real.lp", "disc.lp", "real.u", "disc.u"}, \
default="real.mh"
        How rules are chosen: votes of any size or of ±1, by the least loss, by the greatest edge,
        or by the least uneven loss.
    update : {"damped", "aggressive"}, default="damped"
        How costs of the smaller side change: by votes divided by beta, as the formulas of [1]_
        have it; or, where votes are wrong, by votes times beta, as its text does.
    max_iter : int, default=300
        Number of rounds.
    tol : float, default=1e-6
        Stop when no vote of the best rule is larger.
    calibration_folds : int or None, default=3
        Folds to fit the slopes of probabilities on. None or 0 saves the time, and leaves them at
        one.
    n_jobs : int, optional
        Number of threads, which share classes and folds. It changes no result.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The labels, sorted; column numbers for an indicator matrix.
    multilabel_ : bool
        Whether `fit` saw an indicator matrix.
    rules_ : list of list of Rule
        The rules of each class as (word, present, absent, weight); for two classes one list, which
        is about the second.
    n_iter_ : ndarray of shape (n_machines,)
        Rounds of each class; one number for two classes.
    converged_ : ndarray of shape (n_machines,)
        Whether rounds ended because no rule could change anything more.
    slopes_ : ndarray of shape (n_machines, 2), or (1, 1) for more than two classes
        What decisions below zero and above it are multiplied by to give probabilities.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, where `X` had any.

    Notes
    -----
    Nothing is random. Documents with the same words and labels are merged, so that neither their
    order nor whether copies are rows or weights makes a difference.

    References
    ----------
    .. [1] Leskovec, Shawe-Taylor (2003). Linear programming boosting for uneven datasets. ICML.
       Figure 1 and section 3.
    .. [2] Schapire, Singer (2000). BoosTexter: a boosting-based system for text categorization.
       Machine Learning 39.

    Examples
    --------
    >>> words = ["gold", "mine", "naphtha"]
    >>> X = [[1, 1, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1], [0, 1, 1], [1, 1, 0]]
    >>> y = ["metal", "metal", "metal", "oil", "oil", "metal"]
    >>> model = AdaUBoostClassifier(beta=2, calibration_folds=2).fit(X, y)
    >>> model.predict([[0, 1, 1], [1, 0, 0]])
    array(['oil', 'metal'], dtype='<U5')
    >>> print(model.describe("oil", feature_names=words))
    oil: 1 rule
      word      present    absent    weight
      naphtha    +0.693    -0.693    1.0000
    """

    def __init__(
        self,
        *,
        beta: float | str | Mapping[Any, float] = 4.0,
        weak_learner: str = "real.mh",
        update: str = "damped",
        max_iter: int = 300,
        tol: float = 1e-6,
        calibration_folds: int | None = 3,
        n_jobs: int | None = None,
    ) -> None:
        self.beta = beta
        self.weak_learner = weak_learner
        self.update = update
        self.max_iter = max_iter
        self.tol = tol
        self.calibration_folds = calibration_folds
        self.n_jobs = n_jobs

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_choice("update", self.update, UPDATES)

    def _learn(self, task: Task, beta: float) -> Machine:
        boosted = boost(
            task,
            beta=beta,
            learner=self.weak_learner,
            update=self.update,
            max_iter=self.max_iter,
            tol=self.tol,
        )
        return Machine(boosted.rules, len(boosted.rules.word), boosted.converged, [])

    def _rules_after(self, stage: int) -> list[WordRules]:
        return [rules.take(slice(stage + 1)) for rules in self._machines]


class LPUBoostClassifier(BaseWordRuleClassifier):
    """The mixture of word rules with the widest soft margin, dearer errors on the smaller class.

    A rule votes by whether one word is in a document. A linear programme weighs the rules so that
    the margin is widest; its dual gives the documents' costs, by which further rules are found,
    until none is left that would widen the margin. That takes far fewer rules than AdaBoost: for
    a class with a word of its own, one. With ``beta=1`` this is LPBoost [2]_. Only whether a
    value is above zero matters, so that counts, tf-idf and n-grams do, but columns that are above
    zero everywhere say nothing.

    With more than two classes, or with an indicator matrix of labels, each class is learnt
    against the rest.

    Parameters
    ----------
    beta : float, "balanced" or mapping of label to float, default=8.0
        How much dearer it is to miss a document of the smaller side, the class or its rest, than
        one of the larger: a number from 1; "balanced" for the quotient of their sizes; or the
        costs of missing a document of each class, one where there is none.
    nu : float, default=0.1
        How soft the margin is: a document costs at most ``1 / (nu * n)``, or beta times that.
    min_cost : float, default=0
        A document costs at least ``1 / (min_cost * m)``, where there are m; nothing if it is zero.
        Otherwise from 1; the greater, the lower.
    bound_scaling : {"geometric", "paper"}, default="geometric"
        What n is: twice the geometric mean of the sizes of the two sides, which is m where they
        are even; or always m, as in [1]_. Then it pays to give up small classes, because their
        documents can never be dear enough to outweigh the others.
    weak_learner : {"real.mh", "disc.mh", "real.lp", "disc.lp", "real.u", "disc.u"}, \
default="real.mh"
        How rules are chosen: votes of any size or of ±1, by the least loss, by the greatest edge,
        or by the least uneven loss.
    columns_per_iter : int, default=10
        Rules that a round may add, the best of those that would widen the margin. In [1]_ it is
        one; with more, the programme is solved less often.
    max_iter : int, default=300
        Number of rounds at most; if that is too few, there is a `ConvergenceWarning`.
    tol : float, default=1e-3
        Stop when no rule would widen the margin by more. Votes are between -1 and 1.
    keep_stages : bool, default=False
        Whether to keep the mixture of each round, for `staged_predict`.
    calibration_folds : int or None, default=3
        Folds to fit the slopes of probabilities on. None or 0 saves the time, and leaves them at
        one.
    n_jobs : int, optional
        Number of threads, which share classes and folds. It changes no result.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The labels, sorted; column numbers for an indicator matrix.
    multilabel_ : bool
        Whether `fit` saw an indicator matrix.
    rules_ : list of list of Rule
        The rules of each class as (word, present, absent, weight); for two classes one list, which
        is about the second. Weights of a class sum to one.
    margin_ : ndarray of shape (n_machines,)
        The margin of each class; one number for two classes. Documents that are allowed to miss it
        are paid for.
    duality_gap_ : ndarray of shape (n_machines,)
        By how much the objective can be below the best that rules of the weak learner reach.
    n_iter_ : ndarray of shape (n_machines,)
        Rounds that added rules.
    converged_ : ndarray of shape (n_machines,)
        Whether no rule would have widened the margin by more than `tol`.
    slopes_ : ndarray of shape (n_machines, 2), or (1, 1) for more than two classes
        What decisions below zero and above it are multiplied by to give probabilities.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, where `X` had any.

    Notes
    -----
    Nothing is random. Documents with the same words and labels are merged and sorted, so that
    neither their order nor whether copies are rows or weights makes a difference; among several
    best solutions, the solver with one thread and one seed takes the same.

    References
    ----------
    .. [1] Leskovec, Shawe-Taylor (2003). Linear programming boosting for uneven datasets. ICML.
       Figure 2 and section 3.
    .. [2] Demiriz, Bennett, Shawe-Taylor (2002). Linear programming boosting via column
       generation. Machine Learning 46.

    Examples
    --------
    >>> words = ["gold", "mine", "naphtha"]
    >>> X = [[1, 1, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1], [0, 1, 1], [1, 1, 0]]
    >>> y = ["metal", "metal", "metal", "oil", "oil", "metal"]
    >>> model = LPUBoostClassifier(weak_learner="disc.lp", calibration_folds=2).fit(X, y)
    >>> model.predict([[0, 1, 1], [1, 0, 0]])
    array(['oil', 'metal'], dtype='<U5')
    >>> print(model.describe("oil", feature_names=words))
    oil: 1 rule
      word      present    absent    weight
      naphtha    +1.000    -1.000    1.0000
    >>> model.margin_, model.converged_
    (array([1.]), array([ True]))
    """

    def __init__(
        self,
        *,
        beta: float | str | Mapping[Any, float] = 8.0,
        nu: float = 0.1,
        min_cost: float = 0,
        bound_scaling: str = "geometric",
        weak_learner: str = "real.mh",
        columns_per_iter: int = 10,
        max_iter: int = 300,
        tol: float = 1e-3,
        keep_stages: bool = False,
        calibration_folds: int | None = 3,
        n_jobs: int | None = None,
    ) -> None:
        self.beta = beta
        self.nu = nu
        self.min_cost = min_cost
        self.bound_scaling = bound_scaling
        self.weak_learner = weak_learner
        self.columns_per_iter = columns_per_iter
        self.max_iter = max_iter
        self.tol = tol
        self.keep_stages = keep_stages
        self.calibration_folds = calibration_folds
        self.n_jobs = n_jobs

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_positive("nu", self.nu)
        if self.min_cost != 0:
            check_least("min_cost, if it is not zero,", self.min_cost, 1.0)
        check_choice("bound_scaling", self.bound_scaling, BOUND_SCALINGS)
        check_number("columns_per_iter", self.columns_per_iter, 1)
        check_choice("keep_stages", self.keep_stages, (True, False))

    def _learn(self, task: Task, beta: float) -> Machine:
        bounds = bound_costs(
            task, beta=beta, nu=self.nu, min_cost=self.min_cost, bound_scaling=self.bound_scaling
        )
        solution = generate(
            task,
            bounds,
            beta=beta,
            learner=self.weak_learner,
            columns_per_iter=self.columns_per_iter,
            max_iter=self.max_iter,
            tol=self.tol,
            keep_stages=self.keep_stages,
        )
        return Machine(
            solution.rules,
            solution.n_iter,
            solution.converged,
            solution.stages,
            solution.margin,
            solution.gap,
        )

    def _tell(self, learnt: list[Machine]) -> None:
        self.margin_ = np.array([machine.margin for machine in learnt])
        self.duality_gap_ = np.array([machine.gap for machine in learnt])
        if not self.converged_.all():
            n_open = int((~self.converged_).sum())
            warnings.warn(
                f"the rules of {n_open} of {len(learnt)} classes could still be improved after "
                f"max_iter={self.max_iter} rounds; allow more, or a greater tol={self.tol:g}",
                ConvergenceWarning,
                stacklevel=3,
            )

    def _rules_after(self, stage: int) -> list[WordRules]:
        if not all(self._stages):
            raise ValueError(
                "the mixtures of earlier rounds were not kept; fit with keep_stages=True"
            )
        return [stages[min(stage, len(stages) - 1)] for stages in self._stages]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        # On two columns that do not tell the classes apart, the widest margin is that of a guess.
        tags.classifier_tags.poor_score = True
        return tags
