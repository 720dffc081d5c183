"""Cross-fitted boosting: runs that each leave out one fold and predict it out of fold.

Out-of-bag predictions of a single boosting run are biased. A sample that is out of bag for one
tree was drawn for others and made them misclassify similar samples of other classes; these gain
weight and then outvote the sample where it is out of bag. A run that leaves the sample out
altogether is not affected by it.
"""

import numpy as np
from numpy.typing import NDArray

from cordwood.ensemble._boosting_loop import BoostingState


def merge_runs(runs: list[BoostingState], folds: NDArray[np.intp]) -> BoostingState:
    """Merge boosting runs into one, with the same total weight for each; run i left out fold i."""
    # Out-of-bag votes are those of the run that left the sample out, or of all runs for samples in
    # no fold (-1). Boosting cannot be continued from the result: it has no sample weights.
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
