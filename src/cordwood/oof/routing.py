"""Metadata of `fit`, such as `sample_weight`, for the estimators of a stack."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn import get_config
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import has_fit_parameter


def is_routing_enabled() -> bool:
    """Return whether scikit-learn's metadata routing is enabled."""
    return bool(get_config()["enable_metadata_routing"])


def select_metadata(
    members: Sequence[tuple[str, Any]],
    final_estimator: Any,
    sample_weight: NDArray[np.float64] | None,
    groups: Any,
    *,
    are_members_fitted: bool,
) -> dict[str, dict[str, Any]]:
    """Return the metadata that each estimator of a stack accepts, without metadata routing.

    Examples
    --------
    >>> from sklearn.naive_bayes import MultinomialNB
    >>> nb = MultinomialNB()
    >>> select_metadata([("nb", nb)], nb, None, [0, 1], are_members_fitted=False)
    {'nb': {}, 'final_estimator': {}, 'cv': {'groups': [0, 1]}}
    """
    if sample_weight is not None:
        fitted_here = {} if are_members_fitted else dict(members)
        _check_sample_weight_support({**fitted_here, "final_estimator": final_estimator})
    weights = {} if sample_weight is None else {"sample_weight": sample_weight}
    given = weights if groups is None else {**weights, "groups": groups}
    return {
        **{name: select_fit_params(member, given) for name, member in members},
        "final_estimator": select_fit_params(final_estimator, weights),
        "cv": {"groups": groups},
    }


def select_fit_params(estimator: Any, metadata: Mapping[str, Any]) -> dict[str, Any]:
    """Return the metadata that `estimator.fit` accepts, without metadata routing.

    Metadata of a pipeline is passed to its last step.

    Examples
    --------
    >>> from sklearn.naive_bayes import MultinomialNB
    >>> from sklearn.neighbors import KNeighborsClassifier
    >>> metadata = {"sample_weight": [1.0, 2.0], "groups": [0, 1]}
    >>> select_fit_params(Pipeline([("nb", MultinomialNB())]), metadata)
    {'nb__sample_weight': [1.0, 2.0]}
    >>> select_fit_params(KNeighborsClassifier(), metadata)
    {}
    """
    if isinstance(estimator, Pipeline):
        name, last = estimator.steps[-1]
        return {
            f"{name}__{param}": value for param, value in select_fit_params(last, metadata).items()
        }
    return {
        param: value for param, value in metadata.items() if has_fit_parameter(estimator, param)
    }


def _check_sample_weight_support(estimators: Mapping[str, Any]) -> None:
    """Raise an error that names the estimators whose `fit` does not accept `sample_weight`."""
    unsupported = [
        name
        for name, estimator in estimators.items()
        if not select_fit_params(estimator, {"sample_weight": None})
    ]
    if unsupported:
        raise ValueError(
            "sample_weight is not supported by "
            f"{', '.join(map(repr, unsupported))}; remove these estimators, or call "
            "sklearn.set_config(enable_metadata_routing=True) and set_fit_request("
            "sample_weight=True) on the estimators that should receive the weights."
        )
