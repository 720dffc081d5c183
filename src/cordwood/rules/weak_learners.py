"""Six weak learners, which find the best single-feature rule for given sample costs.

All features are evaluated at once: two sparse products compute the costs of the samples in which
each feature is present, and the total costs minus these are the costs of the samples in which it is
absent. The weak learners are those of section 3 of [1]_. Ties are broken by the lower feature
index. Z is the sum of the costs after a boosting update, and the edge is the difference between
the costs of correctly and incorrectly classified samples.

============  ============================  ====================  ===========================
weak learner  votes                         factor                selected feature
============  ============================  ====================  ===========================
``real.mh``   half the smoothed log odds    1                     minimum of Z
``disc.mh``   ±1, class of larger cost      half the log odds     minimum of Z
``real.lp``   like ``real.mh``              1                     maximum of the edge
``disc.lp``   like ``disc.mh``              like ``disc.mh``      maximum of the edge
``real.u``    like ``real.mh``              1                     minimum of cost-sensitive Z
``disc.u``    like ``disc.mh``              minimizes the Z       minimum of cost-sensitive Z
============  ============================  ====================  ===========================

References
----------
.. [1] Leskovec, Shawe-Taylor (2003). Linear programming boosting for uneven datasets. ICML.
.. [2] Schapire, Singer (2000). BoosTexter: a boosting-based system for text categorization.
   Machine Learning 39. Section 4.2: smoothing of the votes.
"""

from typing import NamedTuple

import numpy as np

from cordwood.rules.records import BinaryProblem, Float64Array, RuleSet

WEAK_LEARNERS = ("real.mh", "disc.mh", "real.lp", "disc.lp", "real.u", "disc.u")

# Losses are rounded to this many decimals, because rounding errors of sums in different order must
# not decide between features.
DECIMALS = 12

_MAX_NEWTON_STEPS = 100
_MIN_NEWTON_STEP = 1e-13
_MIN_COST_SUM = 1e-13


class CostSums(NamedTuple):
    """Total costs of the samples of each class in which a feature is present or absent."""

    # (n_features,): costs of the samples of the positive and negative class that have the feature.
    present_positive: Float64Array
    present_negative: Float64Array  # (n_features,)
    absent_positive: Float64Array  # (n_features,): costs of the samples that do not have it
    absent_negative: Float64Array  # (n_features,)


class CandidateRules(NamedTuple):
    """One rule per feature, with its scores."""

    present: Float64Array  # (n_features,): votes if the feature is present or absent
    absent: Float64Array  # (n_features,)
    factor: Float64Array  # (n_features,): factor of the votes in AdaUBoost
    loss: Float64Array  # (n_features,): criterion of the weak learner, to be minimized
    edge: Float64Array  # (n_features,): sum over the samples of cost times vote times sign

    def take(self, features: list[int], scale: float = 1.0) -> RuleSet:
        """Return the rules of some features, votes times `scale`, weighted by `factor`."""
        chosen = np.array(features, np.int32)
        present, absent = scale * self.present[chosen], scale * self.absent[chosen]
        return RuleSet(chosen, present, absent, self.factor[chosen])


def max_vote(n_samples: float) -> float:
    """Return the largest absolute vote or factor under smoothing, for costs that sum to one."""
    return 0.5 * float(np.log1p(n_samples))


def sum_costs(problem: BinaryProblem, costs: Float64Array) -> CostSums:
    """Sum the costs of the samples by feature, class and presence."""
    positive, negative = costs[: problem.n_positive], costs[problem.n_positive :]
    return complete_sums(
        problem.positive @ positive, problem.negative @ negative, positive.sum(), negative.sum()
    )


def complete_sums(
    present_positive: Float64Array,
    present_negative: Float64Array,
    total_positive: float,
    total_negative: float,
) -> CostSums:
    """Compute the costs of samples without a feature from those with it and the totals."""
    absent_positive = total_positive - present_positive
    absent_negative = total_negative - present_negative
    sums = (present_positive, present_negative, absent_positive, absent_negative)
    # A rounding error instead of zero would enter the loss as its square root.
    return CostSums._make(np.where(part < _MIN_COST_SUM, 0.0, part) for part in sums)


def max_edges(sums: CostSums) -> Float64Array:
    """Return the largest edge of each feature, over all votes in [-1, 1].

    Each side votes for its class of larger cost with ±1.
    """
    edges: Float64Array = np.abs(sums.present_positive - sums.present_negative) + np.abs(
        sums.absent_positive - sums.absent_negative
    )
    return edges


def score_rules(sums: CostSums, weak_learner: str, beta: float, n_samples: float) -> CandidateRules:
    """Compute the votes and the scores of one rule per feature."""
    # All odds are smoothed by the mean cost 1 / n_samples. Costs add up to one.
    votes, criterion = weak_learner.split(".")
    smoothing = 1.0 / n_samples
    if votes == "real":
        present = _half_log_odds(sums.present_positive, sums.present_negative, smoothing)
        absent = _half_log_odds(sums.absent_positive, sums.absent_negative, smoothing)
    else:
        present = np.where(sums.present_positive > sums.present_negative, 1.0, -1.0)
        absent = np.where(sums.absent_positive > sums.absent_negative, 1.0, -1.0)
    edge = (sums.present_positive - sums.present_negative) * present + (
        sums.absent_positive - sums.absent_negative
    ) * absent
    factor = np.ones_like(edge)
    if votes == "disc":
        correct, incorrect = 0.5 * (1.0 + edge), 0.5 * np.maximum(1.0 - edge, 0.0)
        factor = _half_log_odds(correct, incorrect, smoothing)
    if criterion == "lp" or (criterion == "mh" and votes == "disc"):
        loss = -edge  # for votes of ±1, Z = sqrt(1 - edge**2)
    elif criterion == "mh":
        loss = _real_mh_loss(sums)
    else:
        if votes == "disc":
            factor = find_factors(sums, present, absent, beta, max_vote(n_samples))
        loss = cost_sensitive_loss(sums, factor * present, factor * absent, beta)
    return CandidateRules(present, absent, factor, np.round(loss, DECIMALS), edge)


def find_best_rule(sums: CostSums, weak_learner: str, beta: float, n_samples: float) -> RuleSet:
    """Return the best rule of a weak learner; parameters as in `score_rules`."""
    if weak_learner == "real.mh":  # its loss does not need the votes and their costly logarithms
        loss = np.round(_real_mh_loss(sums), DECIMALS)
    else:
        loss = score_rules(sums, weak_learner, beta, n_samples).loss
    feature = int(np.argmin(loss))
    sums = CostSums._make(part[[feature]] for part in sums)
    rule = score_rules(sums, weak_learner, beta, n_samples).take([0])
    return rule._replace(feature=np.array([feature], np.int32))


def cost_sensitive_loss(
    sums: CostSums, present: Float64Array, absent: Float64Array, beta: float
) -> Float64Array:
    """Return the sum of the costs after a cost-sensitive update, Z of equation (10) in [1]_."""
    loss: Float64Array = (
        sums.present_positive * np.exp(-present / beta)
        + sums.present_negative * np.exp(present)
        + sums.absent_positive * np.exp(-absent / beta)
        + sums.absent_negative * np.exp(absent)
    )
    return loss


def find_factors(
    sums: CostSums, present: Float64Array, absent: Float64Array, beta: float, bound: float
) -> Float64Array:
    """Return the factors of ±1 votes that minimize the cost-sensitive loss, one per feature."""
    # The loss is convex in the factor, so its derivative, equation (11) of [1]_, has one root. It
    # is found by Newton's method for all features at once, with bisection where a step would leave
    # the bracket. Factors are limited to [-bound, bound].
    yes, no = present > 0, absent > 0
    correct_positive = np.where(yes, sums.present_positive, 0.0) + np.where(
        no, sums.absent_positive, 0.0
    )
    wrong_positive = sums.present_positive + sums.absent_positive - correct_positive
    wrong_negative = np.where(yes, sums.present_negative, 0.0) + np.where(
        no, sums.absent_negative, 0.0
    )
    correct_negative = sums.present_negative + sums.absent_negative - wrong_negative
    low, high = np.full_like(correct_positive, -bound), np.full_like(correct_positive, bound)
    factor = np.zeros_like(correct_positive)
    for _ in range(_MAX_NEWTON_STEPS):
        up, down = np.exp(factor), np.exp(-factor)
        beta_up, beta_down = np.exp(factor / beta) / beta, np.exp(-factor / beta) / beta
        decrease, increase = correct_positive * beta_down, wrong_positive * beta_up
        gradient = increase - decrease + wrong_negative * up - correct_negative * down
        hessian = (increase + decrease) / beta + wrong_negative * up + correct_negative * down
        low, high = np.where(gradient < 0, factor, low), np.where(gradient > 0, factor, high)
        step = np.divide(-gradient, hessian, out=np.zeros_like(gradient), where=hessian > 0)
        new = factor + step
        new = np.where((new < low) | (new > high), 0.5 * (low + high), new)
        converged = np.abs(new - factor).max(initial=0.0) <= _MIN_NEWTON_STEP * bound
        factor = new
        if converged:
            break
    return factor


def _real_mh_loss(sums: CostSums) -> Float64Array:
    """Return Z for the real votes that minimize it."""
    present = np.sqrt(sums.present_positive * sums.present_negative)
    absent = np.sqrt(sums.absent_positive * sums.absent_negative)
    return np.asarray(2.0 * (present + absent))


def _half_log_odds(
    costs_for: Float64Array, costs_against: Float64Array, smoothing: float
) -> Float64Array:
    odds: Float64Array = 0.5 * np.log((costs_for + smoothing) / (costs_against + smoothing))
    return odds
