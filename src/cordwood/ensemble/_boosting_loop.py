"""The course of boosting: a round grows a forest, judges it, and weighs the rows for the next."""

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from cordwood.ensemble._boosting_rules import (
    LEAST_ERROR,
    UPDATES,
    Ballot,
    Scheme,
    find_chance,
    judge_forest,
    judge_trees,
    normalize,
    reweigh,
    weigh_forest,
    weigh_trees,
)
from cordwood.ensemble._tree_engine import bootstrap as bag
from cordwood.ensemble._tree_engine.binning import BinnedMatrix
from cordwood.ensemble._tree_engine.forest import Forest, drop_leaf_stats
from cordwood.ensemble._tree_engine.grower import TreeParams, grow_forest
from cordwood.ensemble._tree_engine.importances import importances
from cordwood.ensemble._tree_engine.leaf_votes import predict_trees, sum_votes
from cordwood.ensemble._tree_engine.row_blocks import RowBlocks, apply_blocks

# A forest that is judged so is left out, unless it is the first.
FAILURES = ("chance", "nothing_out_of_bag")


class Data(NamedTuple):
    """What every round learns from.

    Parameters
    ----------
    rows : RowBlocks
    order : int64 array of shape (n_rows,)
        Which rows these are, from the first to the last.
    codes : uint32 array of shape (n_rows,)
    n_classes : int
    docs : int64 array of shape (n_docs,), or slice
        The rows that have a weight.
    table : BinnedMatrix
        These rows, encoded.
    judged : int64 array, or slice
        The rows whose votes out of bag are scored.
    """

    rows: RowBlocks
    order: NDArray[np.int64]
    codes: NDArray[np.uint32]
    n_classes: int
    docs: NDArray[np.int64] | slice
    table: BinnedMatrix
    judged: NDArray[np.int64] | slice


@dataclass
class Course:
    """What the rounds have come to so far.

    Parameters
    ----------
    weights : float64 array of shape (n_docs,)
        The weights that the next round draws its bags by.
    oob_votes : float64 array of shape (n_rows, n_classes)
    oob_count : int64 array of shape (n_rows,)
        How many trees had not seen a row, and their weighted votes.
    importances : float64 array of shape (n_features,)
        The forests' importances of features, times their weights.
    errors, estimator_weights, scores : lists of float
        For each round, its forest's error and weight, and the accuracy out of bag up to it.
    tree_weights : list of float64 arrays of shape (n_trees,)
    forests : list of Forest
        Those of the rounds of this fit, without a census.
    """

    weights: NDArray[np.float64]
    oob_votes: NDArray[np.float64]
    oob_count: NDArray[np.int64]
    importances: NDArray[np.float64]
    errors: list[float] = field(default_factory=list)
    estimator_weights: list[float] = field(default_factory=list)
    scores: list[float] = field(default_factory=list)
    tree_weights: list[NDArray[np.float64]] = field(default_factory=list)
    forests: list[Forest] = field(default_factory=list)

    def has_stalled(self, patience: int | None) -> bool:
        """Tell whether so many rounds have passed without a better score."""
        if patience is None or not self.scores:
            return False
        return len(self.scores) - int(np.argmax(self.scores)) > patience


def start(data: Data, weights: NDArray[np.float64]) -> Course:
    """Begin a course, whose first round draws its bags by the documents' weights that are given."""
    n_rows = len(data.codes)
    return Course(
        weights=normalize(weights),
        oob_votes=np.zeros((n_rows, data.n_classes)),
        oob_count=np.zeros(n_rows, np.int64),
        importances=np.zeros(data.table.n_features),
    )


def boost(
    course: Course,
    data: Data,
    scheme: Scheme,
    rules: TreeParams,
    seeds: NDArray[Any],
    n_jobs: int | None,
) -> str | None:
    """Boost by one round.

    Parameters
    ----------
    course : Course
        Is brought up to date.
    data : Data
    scheme : Scheme
    rules : TreeParams
    seeds : int64 array of shape (n_trees, 2)
        For each tree a seed of its bag and one of its cuts.
    n_jobs : int, optional

    Returns
    -------
    str or None
        Why this round is the last, or would have been one too many.
    """
    codes, weights = data.codes[data.docs], course.weights
    counts = bag.draw_weighted_counts(seeds[:, 0], weights, len(weights))
    forest = grow_forest(
        data.table,
        codes,
        data.n_classes,
        rules,
        seeds[:, 1],
        lambda tree: counts[tree].astype(np.float64),
        n_jobs=n_jobs,
    )
    leaves = _find_leaves(forest, data, counts, scheme, n_jobs)
    answers = {out: predict_trees(forest, found, data.n_classes) for out, found in leaves.items()}
    tree_errors = np.zeros(len(seeds))
    if scheme.needs_tree_errors:
        tree_errors = judge_trees(answers[scheme.oob_error][:, data.docs], codes, weights)
    factors = weigh_trees(tree_errors) if scheme.tree_weights else np.ones(len(seeds))
    votes = {out: sum_votes(forest, leaves[out], factors, data.n_classes) for out in leaves}
    ballots = {out: Ballot(answers[out][:, data.docs], votes[out][data.docs]) for out in leaves}

    error = judge_forest(ballots[scheme.oob_error], codes, weights)
    n_classes = max(2, int(np.count_nonzero(np.bincount(codes))))
    stop_reason = _find_reason(error, find_chance(scheme, n_classes))
    if stop_reason in FAILURES and course.errors:
        return stop_reason
    # Of a first forest that fails, there is no other to weigh it against.
    weight = 1.0 if stop_reason in FAILURES else weigh_forest(scheme, error, n_classes)
    _note(course, data, Ballot(answers[True], votes[True]), factors, weight)
    course.errors.append(error)
    course.importances += weight * importances(
        forest,
        data.n_classes,
        data.table.n_features,
        entropy=rules.entropy,
        tree_weights=factors,
    )
    course.forests.append(drop_leaf_stats(forest))
    if stop_reason is None:
        log_factors = UPDATES[scheme.update](
            scheme, ballots[scheme.oob_updates], codes, weight, tree_errors
        )
        course.weights = reweigh(weights, log_factors)
    return stop_reason


def _find_leaves(
    forest: Forest,
    data: Data,
    counts: NDArray[np.uint32],
    scheme: Scheme,
    n_jobs: int | None,
) -> dict[bool, NDArray[np.int32]]:
    """Find the leaf of each row in each tree: under True of those that are out of the tree's bag.

    Those of all rows are under False, if the scheme asks for them.
    """
    drawn = np.zeros((len(counts), len(data.codes)), np.bool_)
    drawn[:, data.docs] = counts > 0
    leaves = np.empty(drawn.shape, np.int32)
    if scheme.oob_error and scheme.oob_updates:
        bags = bag.pack_mask(drawn[:, data.order])
        leaves[:, data.order] = apply_blocks(forest, data.rows, in_bag=bags, n_jobs=n_jobs)
        return {True: leaves}
    leaves[:, data.order] = apply_blocks(forest, data.rows, n_jobs=n_jobs)
    return {True: np.where(drawn, np.int32(-1), leaves), False: leaves}


def _find_reason(error: float, chance: float) -> str | None:
    """Tell what an error says about going on."""
    if np.isnan(error):
        return "nothing_out_of_bag"
    if error >= chance:
        return "chance"
    return "no_error" if error <= LEAST_ERROR else None


def _note(
    course: Course, data: Data, ballot: Ballot, factors: NDArray[np.float64], weight: float
) -> None:
    """Add a forest's weight and its votes out of bag, and score all of these up to now."""
    course.estimator_weights.append(weight)
    course.tree_weights.append(weight * factors / factors.sum())
    is_out = ballot.answers >= 0
    total = factors @ is_out
    share = np.divide(weight, total, where=total > 0, out=np.zeros(len(total)))
    course.oob_votes += ballot.votes * share[:, None]
    course.oob_count += is_out.sum(axis=0)
    is_right = course.oob_votes.argmax(axis=1) == data.codes
    scored = is_right[data.judged][course.oob_count[data.judged] > 0]
    course.scores.append(float(scored.mean()) if len(scored) else float("nan"))
