"""AdaUBoost and LPUBoost: cost-sensitive boosting of single-feature rules for rare classes."""

import warnings
from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from cordwood._base.param_validation import BOOLEAN, POSITIVE, Constraint, integer, options, real
from cordwood.rules.adauboost import UPDATES, boost
from cordwood.rules.column_generation import BOUND_SCALINGS, compute_cost_bounds, generate_columns
from cordwood.rules.records import BinaryProblem, RuleSet
from cordwood.rules.rule_ensemble import BaseRuleEnsemble, BinaryRules


class AdaUBoostClassifier(BaseRuleEnsemble):
    r"""AdaUBoost: cost-sensitive AdaBoost over single-feature decision stumps.

    Each stump, or rule, votes by the presence of one feature, such as a word. Errors on the rarer
    class cost `beta` times as much as errors on the other. With ``beta=1`` the algorithm is
    AdaBoost.MH [2]_.

    A feature is present if its value is positive, so that counts, tf-idf weights and n-grams are
    suitable, but features that are positive in all samples carry no information. With more than
    two classes, or with an indicator matrix of labels, the problem is split into one-vs-rest
    problems.

    Parameters
    ----------
    beta : float, "balanced" or dict, default=4.0
        Cost of an error on the rarer class, relative to the other, in each one-vs-rest problem. A
        float must be at least 1. "balanced" is the ratio of the class sizes. A dict maps labels to
        the cost of missing them; labels that it does not contain have the cost 1. Of two classes
        of equal size, the second has the higher cost.
    weak_learner : str, default="real.mh"
        Votes and criterion of the rules: "real.mh", "disc.mh", "real.lp", "disc.lp", "real.u" or
        "disc.u". Votes are real numbers ("real") or ±1 ("disc"). The criterion is the loss of
        AdaBoost.MH ("mh"), the edge ("lp"), or the cost-sensitive loss ("u").
    update : {"damped", "aggressive"}, default="damped"
        Update of the costs of the rarer class. "damped" divides votes by `beta`, as in the
        formulas of [1]_. "aggressive" divides correct votes by `beta` and multiplies wrong votes
        by it, as in the text of [1]_.
    max_iter : int, default=300
        Maximum number of boosting rounds, each of which adds a rule.
    tol : float, default=1e-6
        Stop when the votes of the best rule are not larger than this.
    calibration_folds : int or None, default=3
        Number of cross-validation folds on which `temperatures_` are fitted. None or 0
        disables calibration, which saves the additional fits. With more than two classes,
        calibration also makes the predictions more accurate.
    n_jobs : int or None, default=None
        Number of threads over which classes and folds are distributed. Results do not depend on
        it.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Class labels, sorted; column indices in multilabel classification.
    multilabel_ : bool
        Whether `y` was an indicator matrix.
    rules_ : list of list of Rule
        Rules of each class as named tuples (feature, present, absent, weight); for two classes,
        one list with the rules of the second class.
    n_iter_ : ndarray of shape (n_problems,)
        Number of boosting rounds of each one-vs-rest problem; one problem for two classes.
    converged_ : ndarray of shape (n_problems,)
        Whether boosting stopped before `max_iter`, because no rule could improve the result.
    temperatures_ : ndarray of shape (n_problems, 2)
        Divisors of negative and of positive sums of votes; the quotients are logits.
    n_features_in_ : int
        Number of features seen during `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features seen during `fit`. Defined only if `X` has feature names that are
        all strings.

    See Also
    --------
    LPUBoostClassifier : Rules by a linear program; far fewer rules.
    sklearn.ensemble.AdaBoostClassifier : AdaBoost over any classifier.

    Notes
    -----
    The cost of sample i with label :math:`y_i = \pm 1` is proportional to `beta` for the rarer
    class (:math:`y_i = 1`) at first, and is updated after a rule h by

    .. math:: u_i \leftarrow u_i \exp(-b_i y_i h(x_i)) / Z, \quad
       b_i = 1/\beta \text{ if } y_i = 1 \text{ else } 1.

    Probabilities are fitted on held-out samples; samples with the same features are always in one
    fold. For two classes, and for each label in multilabel classification, a sum of votes of zero
    has probability 0.5, so that probabilities agree with predictions. Samples that are predicted
    to be of the rarer class therefore have probabilities above 0.5, although the precision of these
    predictions may be lower with ``beta > 1``: on the Reuters category `carcass`, their mean
    probability is 0.66, and 52 % of them are correct. Where probabilities matter more than
    predictions, use :class:`sklearn.calibration.CalibratedClassifierCV`. With more than two
    classes, temperatures per class and sign (vector scaling [3]_) put the sums of votes of all
    classes on one scale, which `predict` and `decision_function` use as well. The expected
    calibration error is 0.02 to 0.10 on test samples of r8, r52, 20ng and ohsumed.

    The algorithm is deterministic. Samples with the same present features and labels are merged,
    so the result depends neither on the order of the samples nor on whether duplicates are given
    as sample weights.

    References
    ----------
    .. [1] Leskovec, Shawe-Taylor (2003). Linear programming boosting for uneven datasets. ICML.
       Figure 1 and section 3.
    .. [2] Schapire, Singer (2000). BoosTexter: a boosting-based system for text categorization.
       Machine Learning 39.
    .. [3] Guo, Pleiss, Sun, Weinberger (2017). On calibration of modern neural networks. ICML.

    Examples
    --------
    >>> from cordwood.rules import AdaUBoostClassifier
    >>> X = [[1, 1, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1], [0, 1, 1], [1, 1, 0]]
    >>> y = ["metal", "metal", "metal", "oil", "oil", "metal"]
    >>> model = AdaUBoostClassifier(beta=2, calibration_folds=2).fit(X, y)
    >>> model.predict([[0, 1, 1], [1, 0, 0]])
    array(['oil', 'metal'], dtype='<U5')
    >>> print(model.describe("oil", feature_names=["gold", "mine", "naphtha"]))
    oil: 1 rule
      feature   present    absent    weight
      naphtha    +0.693    -0.693    1.0000
    """

    _parameter_constraints: ClassVar[Mapping[str, Constraint]] = {
        **BaseRuleEnsemble._parameter_constraints,
        "update": options(*UPDATES),
    }

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

    def _fit_binary(self, problem: BinaryProblem, beta: float) -> BinaryRules:
        result = boost(
            problem,
            beta=beta,
            weak_learner=self.weak_learner,
            update=self.update,
            max_iter=self.max_iter,
            tol=self.tol,
        )
        return BinaryRules(result.rules, len(result.rules.feature), result.converged, [])

    def _staged_rules(self, stage: int) -> list[RuleSet]:
        return [rules.take(slice(stage + 1)) for rules in self._rule_sets]


class LPUBoostClassifier(BaseRuleEnsemble):
    r"""LPUBoost: cost-sensitive soft-margin boosting of single-feature decision stumps.

    Each stump, or rule, votes by the presence of one feature, such as a word. A linear program
    computes the convex combination of rules with the largest soft margin, where errors on the
    rarer class cost `beta` times as much as errors on the other. Rules are found by column
    generation until the weak learner finds none that increases the margin. The model has far fewer
    rules than AdaUBoost, often a single one. With ``beta=1`` the algorithm is LPBoost [2]_.

    A feature is present if its value is positive, so that counts, tf-idf weights and n-grams are
    suitable, but features that are positive in all samples carry no information. With more than
    two classes, or with an indicator matrix of labels, the problem is split into one-vs-rest
    problems.

    Parameters
    ----------
    beta : float, "balanced" or dict, default=8.0
        Cost of an error on the rarer class, relative to the other, in each one-vs-rest problem. A
        float must be at least 1. "balanced" is the ratio of the class sizes. A dict maps labels to
        the cost of missing them; labels that it does not contain have the cost 1. Of two classes
        of equal size, the second has the higher cost.
    nu : float, default=0.1
        Softness of the margin: the cost of a sample is at most ``1 / (nu * n)``, times `beta` for
        the rarer class. See `bound_scaling` for n.
    min_cost : float, default=0.0
        Lower bound of the cost of a sample, as a fraction of the mean cost: the cost is at least
        ``min_cost / n_samples``. Must be in [0, 1].
    bound_scaling : {"geometric", "paper"}, default="geometric"
        Definition of n in the upper bound of the costs: twice the geometric mean of the sizes of
        the two classes, which is the number of samples if they are balanced; or always the number
        of samples, as in [1]_. With "paper", the samples of a rare class can never have enough
        cost together to outweigh the others, and the class is never predicted.
    weak_learner : str, default="real.mh"
        Votes and criterion of the rules: "real.mh", "disc.mh", "real.lp", "disc.lp", "real.u" or
        "disc.u". Votes are real numbers ("real") or ±1 ("disc"). The criterion is the loss of
        AdaBoost.MH ("mh"), the edge ("lp"), or the cost-sensitive loss ("u").
    columns_per_iter : int, default=10
        Maximum number of rules that an iteration adds to the linear program; 1 in [1]_. With more
        rules, the program is solved less often.
    max_iter : int, default=300
        Maximum number of iterations. A `ConvergenceWarning` is issued if the algorithm reaches it.
    tol : float, default=1e-3
        Stop when the weak learner finds no rule whose edge exceeds the value of the linear program
        by more than this. Votes are in [-1, 1].
    keep_stages : bool, default=False
        Whether to keep the rules of each iteration for `staged_predict`.
    calibration_folds : int or None, default=3
        Number of cross-validation folds on which `temperatures_` are fitted. None or 0
        disables calibration, which saves the additional fits. With more than two classes,
        calibration also makes the predictions more accurate.
    n_jobs : int or None, default=None
        Number of threads over which classes and folds are distributed. Results do not depend on
        it.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Class labels, sorted; column indices in multilabel classification.
    multilabel_ : bool
        Whether `y` was an indicator matrix.
    rules_ : list of list of Rule
        Rules of each class as named tuples (feature, present, absent, weight); for two classes,
        one list with the rules of the second class. The weights of a class sum to one.
    margin_ : ndarray of shape (n_problems,)
        Soft margin of each one-vs-rest problem; one problem for two classes.
    duality_gap_ : ndarray of shape (n_problems,)
        Upper bound of the improvement of the objective by any single-feature rules with votes in
        [-1, 1], whatever the weak learner. See Notes.
    n_iter_ : ndarray of shape (n_problems,)
        Number of iterations that added rules.
    converged_ : ndarray of shape (n_problems,)
        Whether the weak learner finds no rule whose edge exceeds the value of the linear program
        by more than `tol`. This implies that `duality_gap_` is at most `tol` for the weak learners
        of ±1 votes ("disc"), but not for those of real votes.
    temperatures_ : ndarray of shape (n_problems, 2)
        Divisors of negative and of positive sums of votes; the quotients are logits.
    n_features_in_ : int
        Number of features seen during `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features seen during `fit`. Defined only if `X` has feature names that are
        all strings.

    See Also
    --------
    AdaUBoostClassifier : Rules by AdaBoost; better with more than a dozen samples of a class.

    Notes
    -----
    The weights :math:`a_j \geq 0`, :math:`\sum_j a_j = 1`, of the rules :math:`h_j` maximize

    .. math:: \min_u \sum_i u_i y_i \sum_j a_j h_j(x_i), \quad
       \sum_i u_i = 1, \quad L_i \leq u_i \leq D_i,

    with the upper bounds :math:`D_i = 1 / (\nu n)`, times :math:`\beta` for the rarer class, and
    the lower bounds :math:`L_i` = `min_cost` / m for m samples. In [1]_ the lower bound is
    :math:`1 / (d_{lb}\, m)`, so `min_cost` is :math:`1 / d_{lb}`.

    Every rule with votes in [-1, 1] is a convex combination of the four rules of its feature with
    votes ±1. The optimum over all rules is therefore at most the largest edge of these under any
    feasible costs, from which `duality_gap_` is computed. The weak learners of ±1 votes reach this
    optimum up to `tol`. Real votes depend on the costs at which a rule is found, so the result
    depends on `columns_per_iter` and is in general not optimal. The optimum is hardly more accurate
    and takes two to five times the time: on 16 categories of Reuters-21578, the mean test F1 is
    78.5 % with "real.mh", 79.1 % with 100 columns per iteration, and 79.1 % with "disc.mh".

    Probabilities are fitted on held-out samples; samples with the same features are always in one
    fold. For two classes, and for each label in multilabel classification, a sum of votes of zero
    has probability 0.5, so that probabilities agree with predictions. Samples that are predicted
    to be of the rarer class therefore have probabilities above 0.5, although the precision of these
    predictions may be lower with ``beta > 1``: on the Reuters category `carcass`, their mean
    probability is 0.69, and 59 % of them are correct. Where probabilities matter more than
    predictions, use :class:`sklearn.calibration.CalibratedClassifierCV`. With more than two
    classes, temperatures per class and sign (vector scaling [3]_) put the sums of votes of all
    classes on one scale, which `predict` and `decision_function` use as well. The expected
    calibration error is 0.02 to 0.05 on test samples of r8, r52, 20ng and ohsumed.

    The algorithm is deterministic. Samples with the same present features and labels are merged
    and sorted, so the result depends neither on the order of the samples nor on whether duplicates
    are given as sample weights.

    References
    ----------
    .. [1] Leskovec, Shawe-Taylor (2003). Linear programming boosting for uneven datasets. ICML.
       Figure 2 and section 3.
    .. [2] Demiriz, Bennett, Shawe-Taylor (2002). Linear programming boosting via column
       generation. Machine Learning 46.
    .. [3] Guo, Pleiss, Sun, Weinberger (2017). On calibration of modern neural networks. ICML.

    Examples
    --------
    >>> from cordwood.rules import LPUBoostClassifier
    >>> X = [[1, 1, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1], [0, 1, 1], [1, 1, 0]]
    >>> y = ["metal", "metal", "metal", "oil", "oil", "metal"]
    >>> model = LPUBoostClassifier(weak_learner="disc.lp", calibration_folds=2).fit(X, y)
    >>> model.predict([[0, 1, 1], [1, 0, 0]])
    array(['oil', 'metal'], dtype='<U5')
    >>> print(model.describe("oil", feature_names=["gold", "mine", "naphtha"]))
    oil: 1 rule
      feature   present    absent    weight
      naphtha    +1.000    -1.000    1.0000
    >>> model.margin_, model.converged_
    (array([1.]), array([ True]))
    """

    _parameter_constraints: ClassVar[Mapping[str, Constraint]] = {
        **BaseRuleEnsemble._parameter_constraints,
        "nu": POSITIVE,
        "min_cost": real("[]", 0, 1),
        "bound_scaling": options(*BOUND_SCALINGS),
        "columns_per_iter": integer(1),
        "keep_stages": BOOLEAN,
    }

    def __init__(
        self,
        *,
        beta: float | str | Mapping[Any, float] = 8.0,
        nu: float = 0.1,
        min_cost: float = 0.0,
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

    def _fit_binary(self, problem: BinaryProblem, beta: float) -> BinaryRules:
        bounds = compute_cost_bounds(
            problem,
            beta=beta,
            nu=self.nu,
            min_cost=self.min_cost,
            bound_scaling=self.bound_scaling,
        )
        result = generate_columns(
            problem,
            bounds,
            beta=beta,
            weak_learner=self.weak_learner,
            columns_per_iter=self.columns_per_iter,
            max_iter=self.max_iter,
            tol=self.tol,
            keep_stages=bool(self.keep_stages),
        )
        return BinaryRules(
            result.rules,
            result.n_iter,
            result.converged,
            result.stages,
            result.margin,
            result.gap,
        )

    def _set_diagnostics(self, classifiers: list[BinaryRules]) -> None:
        self.margin_ = np.array([classifier.margin for classifier in classifiers])
        self.duality_gap_ = np.array([classifier.gap for classifier in classifiers])
        if not self.converged_.all():
            n_failed = int((~self.converged_).sum())
            warnings.warn(
                f"LPUBoost failed to converge for {n_failed} of {len(classifiers)} binary problems "
                f"after max_iter={self.max_iter} iterations. Increase max_iter or tol.",
                ConvergenceWarning,
                stacklevel=3,
            )

    def _staged_rules(self, stage: int) -> list[RuleSet]:
        if not all(self._stages):
            raise ValueError("Staged predictions require a fit with keep_stages=True.")
        return [stages[min(stage, len(stages) - 1)] for stages in self._stages]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        # scikit-learn's checks have data on which a constant rule has the largest soft margin.
        tags.classifier_tags.poor_score = True
        return tags
