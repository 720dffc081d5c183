"""One boosting round: grow a forest, estimate its error, and update the sample weights."""

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from cordwood.ensemble._boosting_rules import (
    MIN_ERROR,
    BoostingParams,
    ForestVotes,
    compute_estimator_weight,
    compute_forest_error,
    compute_log_factors,
    compute_max_error,
    compute_tree_errors,
    compute_tree_weights,
    normalize,
    update_weights,
)
from cordwood.ensemble.tree_engine import bootstrap as bag
from cordwood.ensemble.tree_engine.binning import BinnedMatrix
from cordwood.ensemble.tree_engine.forest import Forest, drop_leaf_stats
from cordwood.ensemble.tree_engine.grower import TreeParams, grow_forest
from cordwood.ensemble.tree_engine.importances import importances
from cordwood.ensemble.tree_engine.leaf_votes import predict_trees, sum_votes
from cordwood.ensemble.tree_engine.row_blocks import RowBlocks, apply_blocks

# A forest with one of these stop reasons is discarded, unless it is the first.
FAILURES = ("chance", "no_oob_samples")


class BoostingData(NamedTuple):
    """Training set of a boosting run."""

    row_blocks: RowBlocks  # all samples, sorted by `order`
    order: NDArray[np.int64]  # (n_samples,): index of the sample in each row of `row_blocks`
    y: NDArray[np.uint32]  # (n_samples,): class codes
    n_classes: int
    train: NDArray[np.int64] | slice  # (n_train,): the samples that trees are grown on
    binned: BinnedMatrix  # these samples, binned
    scored: NDArray[np.int64] | slice  # the samples whose out-of-bag predictions enter the score


@dataclass
class BoostingState:
    """Results of the boosting rounds so far."""

    # (n_train,): sample weights that the next round draws its bootstrap samples by.
    weights: NDArray[np.float64]
    oob_votes: NDArray[np.float64]  # (n_samples, n_classes): weighted out-of-bag votes
    # (n_samples,): number of trees that were not fitted on each sample.
    oob_count: NDArray[np.int64]
    # (n_columns,): sum of the forests' feature importances times their weights.
    importances: NDArray[np.float64]
    # For each round, error and weight of its forest, and the out-of-bag accuracy up to it.
    errors: list[float] = field(default_factory=list)
    estimator_weights: list[float] = field(default_factory=list)
    scores: list[float] = field(default_factory=list)
    # For each round, the out-of-bag accuracy of the samples that trees are grown on, which early
    # stopping monitors. Labels of other samples must not affect the run.
    stopping_scores: list[float] = field(default_factory=list)
    tree_weights: list[NDArray[np.float64]] = field(default_factory=list)  # (n_trees,)
    # The forests of this fit, without leaf statistics.
    forests: list[Forest] = field(default_factory=list)

    @property
    def n_rounds(self) -> int:
        """Number of rounds so far."""
        return len(self.errors)

    def has_stalled(self, n_iter_no_change: int | None) -> bool:
        """Return whether the stopping score has not improved for this number of rounds."""
        if n_iter_no_change is None or not self.stopping_scores:
            return False
        return len(self.stopping_scores) - int(np.argmax(self.stopping_scores)) > n_iter_no_change


def init_state(data: BoostingData, weights: NDArray[np.float64]) -> BoostingState:
    """Return the state before the first round, given the initial weights of `data.train`."""
    n_samples = len(data.y)
    return BoostingState(
        weights=normalize(weights),
        oob_votes=np.zeros((n_samples, data.n_classes)),
        oob_count=np.zeros(n_samples, np.int64),
        importances=np.zeros(len(data.binned.column)),
    )


def boost_round(
    state: BoostingState,
    data: BoostingData,
    params: BoostingParams,
    tree_params: TreeParams,
    seeds: NDArray[Any],  # (n_trees, 2)
    n_jobs: int | None,
) -> str | None:
    """Run one boosting round, which updates the state; return the reason to stop, if any.

    Boosting stops after this round, or, if the reason is one of `FAILURES`, before it.
    """
    # A row of `seeds` has the seeds of a tree's bootstrap sample and of its splits.
    y, weights = data.y[data.train], state.weights
    counts = bag.draw_weighted_counts(seeds[:, 0], weights, len(weights))
    forest = grow_forest(
        data.binned,
        y,
        data.n_classes,
        tree_params,
        seeds[:, 1],
        lambda tree: counts[tree].astype(np.float64),
        n_jobs=n_jobs,
    )
    leaves = _apply(forest, data, counts, params, n_jobs)
    predictions = {oob: predict_trees(forest, ids, data.n_classes) for oob, ids in leaves.items()}
    tree_errors = np.zeros(len(seeds))
    if params.needs_tree_errors:
        voted = predictions[params.oob_error][:, data.train]
        tree_errors = compute_tree_errors(voted, y, weights)
    factors = compute_tree_weights(tree_errors) if params.tree_weights else np.ones(len(seeds))
    votes = {oob: sum_votes(forest, ids, factors, data.n_classes) for oob, ids in leaves.items()}
    train_votes = {
        oob: ForestVotes(predictions[oob][:, data.train], votes[oob][data.train]) for oob in leaves
    }

    error = compute_forest_error(train_votes[params.oob_error], y, weights)
    n_present = max(2, int(np.count_nonzero(np.bincount(y))))
    stop_reason = _find_stop_reason(error, compute_max_error(params, n_present))
    failed = stop_reason in FAILURES
    if failed and state.errors:
        return stop_reason
    # A failed first forest is the only one, so that its weight does not matter.
    weight = 1.0 if failed else compute_estimator_weight(params, error, n_present)
    _add_round(state, data, ForestVotes(predictions[True], votes[True]), factors, weight)
    state.errors.append(error)
    state.importances += weight * importances(
        forest,
        data.n_classes,
        len(data.binned.column),
        entropy=tree_params.entropy,
        tree_weights=factors,
    )
    state.forests.append(drop_leaf_stats(forest))
    if stop_reason is None:
        log_factors = compute_log_factors(
            params, train_votes[params.oob_updates], y, weight, tree_errors
        )
        state.weights = update_weights(weights, log_factors)
    return stop_reason


def _apply(
    forest: Forest,
    data: BoostingData,
    counts: NDArray[np.uint32],
    params: BoostingParams,
    n_jobs: int | None,
) -> dict[bool, NDArray[np.int32]]:
    """Return the leaf of each sample in each tree.

    Under True only for out-of-bag samples, the others being -1; under False, if `params` needs
    them, for all samples.
    """
    drawn = np.zeros((len(counts), len(data.y)), np.bool_)
    drawn[:, data.train] = counts > 0
    leaves = np.empty(drawn.shape, np.int32)
    if params.oob_error and params.oob_updates:
        in_bag = bag.pack_mask(drawn[:, data.order])
        leaves[:, data.order] = apply_blocks(forest, data.row_blocks, in_bag=in_bag, n_jobs=n_jobs)
        return {True: leaves}
    leaves[:, data.order] = apply_blocks(forest, data.row_blocks, n_jobs=n_jobs)
    return {True: np.where(drawn, np.int32(-1), leaves), False: leaves}


def _find_stop_reason(error: float, max_error: float) -> str | None:
    """Return why boosting stops at a forest of this error, or None."""
    if np.isnan(error):
        return "no_oob_samples"
    if error >= max_error:
        return "chance"
    return "no_error" if error <= MIN_ERROR else None


def _add_round(
    state: BoostingState,
    data: BoostingData,
    oob: ForestVotes,
    factors: NDArray[np.float64],
    weight: float,
) -> None:
    """Add the weights and the out-of-bag votes of a forest, and update the out-of-bag scores."""
    state.estimator_weights.append(weight)
    state.tree_weights.append(weight * factors / factors.sum())
    is_oob = oob.predictions >= 0
    total = factors @ is_oob
    scale = np.divide(weight, total, where=total > 0, out=np.zeros(len(total)))
    state.oob_votes += oob.votes * scale[:, None]
    state.oob_count += is_oob.sum(axis=0)
    is_correct = state.oob_votes.argmax(axis=1) == data.y
    for scores, samples in ((state.scores, data.scored), (state.stopping_scores, data.train)):
        scored = is_correct[samples][state.oob_count[samples] > 0]
        scores.append(float(scored.mean()) if len(scored) else float("nan"))
