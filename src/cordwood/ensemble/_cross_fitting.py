"""Cross-fitted boosting: runs that each leave out one fold and predict it out of fold.

Out-of-bag predictions of a single boosting run are biased. A sample that is out of bag for one
tree was drawn for others and made them misclassify similar samples of other classes; these gain
weight and then outvote the sample where it is out of bag. A run that leaves the sample out
altogether is not affected by it.
"""

import numpy as np
from numpy.typing import NDArray

from cordwood._duplicates import stratify_groups
from cordwood.ensemble._boosting_loop import BoostingState


def assign_folds(
    y: NDArray[np.uint32],
    is_weighted: NDArray[np.bool_],
    groups: NDArray[np.intp] | None,
    n_folds: int,
    seed: NDArray[np.int64],
) -> NDArray[np.intp]:
    """Assign samples to folds, stratified by class, with each group in one fold.

    Parameters
    ----------
    y : uint32 array of shape (n_samples,)
        Class codes.
    is_weighted : bool array of shape (n_samples,)
        Mask of the samples of positive weight.
    groups : intp array of shape (n_samples,), optional
        Group number of each sample.
    n_folds : int
    seed : int64 array

    Returns
    -------
    intp array of shape (n_samples,)
        Fold of each sample. A sample of weight zero is in the fold of its group, which would
        otherwise leak its label; it is in no fold (-1) if no other sample is in its group.

    Examples
    --------
    >>> y, is_weighted = np.array([0, 0, 0, 1, 1]), np.array([True, True, False, True, True])
    >>> assign_folds(y, is_weighted, None, 2, np.array([7]))
    array([ 0,  1, -1,  0,  1])
    >>> assign_folds(y, is_weighted, np.array([2, 2, 0, 1, 0]), 2, np.array([7]))
    array([0, 0, 0, 1, 0])
    """
    shuffled = np.random.default_rng(seed).permutation(np.flatnonzero(is_weighted))
    groups = np.arange(len(y)) if groups is None else groups
    known, fold_of_group = stratify_groups(y[shuffled], groups[shuffled], n_folds)
    index = np.minimum(np.searchsorted(known, groups), len(known) - 1)
    return np.where(known[index] == groups, fold_of_group[index], -1)


def merge_runs(runs: list[BoostingState], folds: NDArray[np.intp]) -> BoostingState:
    """Merge cross-fitted boosting runs into one ensemble, with the same total weight for each.

    Parameters
    ----------
    runs : list of BoostingState
        Run i has left out fold i.
    folds : intp array of shape (n_samples,)
        Folds from `assign_folds`.

    Returns
    -------
    BoostingState
        Its out-of-bag votes are those of the run that left the sample out, or of all runs for
        samples in no fold. Boosting cannot be continued from it: it has no sample weights.
    """
    totals = [sum(run.estimator_weights) for run in runs]
    merged = BoostingState(
        weights=np.empty(0),
        oob_votes=np.zeros_like(runs[0].oob_votes),
        oob_count=np.zeros_like(runs[0].oob_count),
        importances=np.zeros_like(runs[0].importances),
    )
    for fold, (run, total) in enumerate(zip(runs, totals, strict=True)):
        factor = float(np.mean(totals)) / total
        left_out = (folds == fold) | (folds < 0)
        merged.oob_votes[left_out] += factor * run.oob_votes[left_out]
        merged.oob_count[left_out] += run.oob_count[left_out]
        merged.importances += factor * run.importances
        merged.errors += run.errors
        merged.estimator_weights += [factor * weight for weight in run.estimator_weights]
        merged.scores += run.scores
        merged.tree_weights += [factor * weights for weights in run.tree_weights]
        merged.forests += run.forests
    return merged
