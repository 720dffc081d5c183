"""Attributions of a stack: contributions to the scores of members become those to its output."""

from collections.abc import Callable, Sequence
from itertools import product
from math import factorial
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.special import logit

from cordwood.exceptions import CordwoodError
from cordwood.explain._attribution import (
    Attribution,
    LinearMap,
    identity_map,
    softmax_map,
    to_log_probability,
    to_probability,
)
from cordwood.explain._path_integrals import Floats, log_odds, log_odds_weights
from cordwood.stacking.combiners.logarithmic_pool import LogarithmicPool
from cordwood.stacking.combiners.voting import Voting

OUTPUTS = ("log_odds", "probability")

# Up to this number of members, Shapley values are computed from all coalitions of them.
_MAX_EXACT_MEMBERS = 11
_N_PERMUTATIONS = 100

# Contributions that cancel out to less than this share of their sum are not rescaled.
_MIN_NET_SHARE = 0.1


class _RescaledMap(NamedTuple):
    """Rescale contributions to the probabilities of a member, so that they sum to given totals."""

    proba: LinearMap
    totals: Floats

    def apply(self, values: Floats) -> Floats:
        """Return contributions of shape (n_terms, n_classes)."""
        terms = self.proba.apply(values)
        net, absolute = terms.sum(axis=0), np.abs(terms).sum(axis=0)
        # Where contributions nearly cancel out, the multiplier would be huge: the total is then
        # distributed in proportion to their absolute values.
        is_net = np.abs(net) > _MIN_NET_SHARE * absolute
        multiplier = self.totals / np.where(is_net, net, 1.0)
        share = self.totals / np.where(absolute > 0, absolute, 1.0)
        return np.asarray(np.where(is_net, terms * multiplier, np.abs(terms) * share))


# Maps contributions to the scores of a member to contributions to the output.
OutputMap: TypeAlias = LinearMap | _RescaledMap


class Combination(NamedTuple):
    """How the scores of the members become the output of the model."""

    maps: Sequence[OutputMap]  # one for each member
    contributions: Floats  # of the members to the output: (n_members, n_classes)
    start: Floats  # output for the empty text, and for the text
    end: Floats


def default_output(final_estimator: Any, link: str | None) -> str:
    """Return "log_odds" unless the probabilities of a stack or single classifier may be zero."""
    if final_estimator is None:
        return "log_odds" if link == "softmax" else "probability"
    return "log_odds" if isinstance(final_estimator, LogarithmicPool) else "probability"


def combine_single(attribution: Attribution, output: str, classes: NDArray[Any]) -> Combination:
    """Combine the scores of a single classifier to its output."""
    if output == "probability":
        found = to_probability(attribution)
    elif attribution.link == "softmax":
        found = identity_map(attribution.start, attribution.end)
        found = found.then(_to_log_odds(found.start, found.end))
    else:
        proba = to_probability(attribution)
        _check_positive(proba, classes)
        logs = to_log_probability(attribution, np.finfo(np.float64).tiny)
        found = logs.then(_to_log_odds(logs.start, logs.end))
    return Combination([found], (found.end - found.start)[None], found.start, found.end)


def combine_members(
    final_estimator: Any,
    attributions: Sequence[Attribution],
    member_classes: Sequence[NDArray[Any]],
    classes: NDArray[Any],
    output: str,
) -> Combination:
    """Combine the scores of the members of a stack to its output."""
    if isinstance(final_estimator, LogarithmicPool):
        return _combine_pool(final_estimator, attributions, member_classes, classes, output)
    probas = [
        _align(to_probability(attribution), own, classes, 0.0)
        for attribution, own in zip(attributions, member_classes, strict=True)
    ]
    is_mean = isinstance(final_estimator, Voting) and final_estimator.rule == "mean"
    if is_mean and output == "probability" and final_estimator.class_prior_.all():
        scale = np.full(len(classes), 1 / len(probas))
        maps = [_scale(proba, scale) for proba in probas]
        return _sum_maps(maps, np.zeros(len(classes)))
    return _combine_by_shapley(final_estimator, probas, classes, output)


def _combine_pool(
    pool: LogarithmicPool,
    attributions: Sequence[Attribution],
    member_classes: Sequence[NDArray[Any]],
    classes: NDArray[Any],
    output: str,
) -> Combination:
    """Logarithmic pool: scores are weighted sums of the logarithms of probabilities."""
    floor = float(pool.floor)
    logs = [
        _align(to_log_probability(attribution, floor), own, classes, np.log(floor))
        for attribution, own in zip(attributions, member_classes, strict=True)
    ]
    scaled = [_scale(each, weights) for each, weights in zip(logs, pool.coef_, strict=True)]
    scores = _sum_maps(scaled, pool.intercept_)
    # Classes without training samples have probability zero, whatever their score.
    known = np.flatnonzero(pool.class_prior_ > 0)
    start, end = scores.start[known], scores.end[known]
    head = _to_log_odds(start, end) if output == "log_odds" else softmax_map(start, end)
    if len(known) < len(classes):
        head = _spread(head, known, len(classes), -np.inf if output == "log_odds" else 0.0)
    maps = [each.then(head) for each in scaled]
    contributions = np.array([each.end - each.start for each in scaled])
    return Combination(maps, contributions @ head.weights.T, head.start, head.end)


def _to_log_odds(start: Floats, end: Floats) -> LinearMap:
    return LinearMap(log_odds_weights(start, end), log_odds(start), log_odds(end))


def _spread(head: LinearMap, known: NDArray[np.intp], n_classes: int, value: float) -> LinearMap:
    """Extend a map of some classes to all; the others are constant."""
    weights = np.zeros((n_classes, n_classes))
    weights[np.ix_(known, known)] = head.weights
    start, end = np.full(n_classes, value), np.full(n_classes, value)
    start[known], end[known] = head.start, head.end
    return LinearMap(weights, start, end)


def _align(found: LinearMap, own: NDArray[Any], classes: NDArray[Any], missing: float) -> LinearMap:
    """Extend a map to the classes of the stack; a class that the member lacks is constant."""
    if len(own) == len(classes):
        return found
    positions = np.searchsorted(classes, own)
    weights = np.zeros((len(classes), found.weights.shape[1]))
    weights[positions] = found.weights
    start, end = np.full(len(classes), missing), np.full(len(classes), missing)
    start[positions], end[positions] = found.start, found.end
    return LinearMap(weights, start, end)


def _scale(found: LinearMap, factors: Floats) -> LinearMap:
    """Multiply the quantities of a map by factors."""
    weights = found.weights * factors[:, None]
    return LinearMap(weights, found.start * factors, found.end * factors)


def _sum_maps(maps: Sequence[LinearMap], intercept: Floats) -> Combination:
    """Combine maps whose quantities are added."""
    start = intercept + sum(each.start for each in maps)
    end = intercept + sum(each.end for each in maps)
    contributions = np.array([each.end - each.start for each in maps])
    return Combination(maps, contributions, start, end)


def _combine_by_shapley(
    final_estimator: Any, probas: Sequence[LinearMap], classes: NDArray[Any], output: str
) -> Combination:
    """Any final estimator: Shapley values with the members as players."""
    # A member that is not in the coalition has the probabilities that it predicts for the empty
    # text.
    start = np.array([each.start for each in probas])
    end = np.array([each.end for each in probas])

    def predict(coalitions: NDArray[np.bool_]) -> Floats:
        features = np.where(coalitions[:, :, None], end, start).reshape(len(coalitions), -1)
        return _output_of(final_estimator.predict_proba(features), output, classes)

    n_members = len(probas)
    shapley = _exact_shapley if n_members <= _MAX_EXACT_MEMBERS else _sampled_shapley
    contributions = shapley(predict, n_members)
    both = predict(np.array([[False] * n_members, [True] * n_members]))
    return Combination(
        [_RescaledMap(proba, totals) for proba, totals in zip(probas, contributions, strict=True)],
        contributions,
        both[0],
        both[1],
    )


def _output_of(proba: Floats, output: str, classes: NDArray[Any]) -> Floats:
    if output == "probability":
        return np.asarray(proba, np.float64)
    inner = (proba > 0) & (proba < 1)
    if not inner.all():
        raise _infinite_log_odds(classes[int(np.argmin(inner.all(axis=0)))])
    return np.asarray(logit(proba), np.float64)


def _check_positive(proba: LinearMap, classes: NDArray[Any]) -> None:
    positive = (proba.start > 0) & (proba.end > 0)
    if not positive.all():
        raise _infinite_log_odds(classes[int(np.argmin(positive))])


def _infinite_log_odds(label: Any) -> CordwoodError:
    return CordwoodError(
        f"the log-odds of class {str(label)!r} are infinite, because its probability can be 0 in "
        "this model; use output='probability'"
    )


def _exact_shapley(predict: Callable[[NDArray[np.bool_]], Floats], n: int) -> Floats:
    """Return Shapley values, of shape (n, n_outputs), from the outputs of all coalitions.

    Examples
    --------
    >>> _exact_shapley(lambda sets: sets.all(axis=1)[:, None].astype(float), 2)
    array([[0.5],
           [0.5]])
    """
    coalitions = np.array(list(product([False, True], repeat=n)))
    outputs = predict(coalitions)
    sizes = coalitions.sum(axis=1)
    weights = np.array([factorial(s) * factorial(n - 1 - s) for s in range(n)]) / factorial(n)
    values = []
    for member in range(n):
        without = np.flatnonzero(~coalitions[:, member])
        added = without + 2 ** (n - 1 - member)
        values.append(weights[sizes[without]] @ (outputs[added] - outputs[without]))
    return np.array(values)


def _sampled_shapley(predict: Callable[[NDArray[np.bool_]], Floats], n: int) -> Floats:
    """Return Shapley values estimated from random orders of the players and their reverses."""
    rng = np.random.default_rng(0)
    orders = [rng.permutation(n) for _ in range(_N_PERMUTATIONS // 2)]
    orders += [order[::-1] for order in orders]
    rank = np.argsort(np.array(orders), axis=1)
    coalitions = rank[:, None, :] < np.arange(n + 1)[None, :, None]
    outputs = predict(coalitions.reshape(-1, n))
    steps = np.diff(outputs.reshape(len(orders), n + 1, -1), axis=1)
    values = np.zeros((n, steps.shape[2]))
    for order, each in zip(orders, steps, strict=True):
        values[order] += each
    return values / len(orders)
