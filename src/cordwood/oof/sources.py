"""How a classifier predicts its own training samples: leave-one-out, out-of-bag or by refits."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from cordwood.oof.proba import align_columns


def choose_oof_source(
    estimator: Any, oob_policy: str, *, has_groups: bool, receives_groups: bool = False
) -> str:
    """Choose how to obtain out-of-fold probabilities: "loo", "oob" or "cv".

    The policy is "never", "unbiased" or "always" and regards the first two.
    """
    if oob_policy == "never":
        return "cv"
    if hasattr(estimator, "loo_decision_function"):
        return "loo"
    # Out-of-bag predictions of sequentially boosted forests are biased.
    is_unbiased = getattr(estimator, "oob_is_unbiased_", True)
    if has_groups:
        # The estimator must exclude whole groups, because a bootstrap sample may contain a
        # duplicate of the held-out sample.
        is_usable = is_unbiased and receives_groups
    else:
        is_usable = is_unbiased or oob_policy == "always"
    always_has_oob = hasattr(type(estimator), "oob_decision_function_")
    return "oob" if is_usable and (always_has_oob or supports_oob(estimator)) else "cv"


def supports_oob(estimator: Any) -> bool:
    """Return whether the estimator computes out-of-bag predictions if ``oob_score=True``."""
    params = estimator.get_params(deep=False)
    return "oob_score" in params and bool(params.get("bootstrap", True))


def oob_or_loo_proba(
    estimator: Any, source: str, groups: Any, classes: NDArray[Any]
) -> NDArray[np.float64]:
    """Return out-of-bag or leave-one-out probabilities; NaN if every bootstrap had the sample."""
    if source == "loo":
        proba = estimator.loo_decision_function(groups=groups)
    else:
        proba = np.array(estimator.oob_decision_function_, np.float64)
        proba[~(proba.sum(axis=1) > 0)] = np.nan
    return align_columns(proba, estimator.classes_, classes)
