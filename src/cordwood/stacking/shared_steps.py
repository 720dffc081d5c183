"""Preprocessing steps that several base estimators share are fitted once for all of them.

A base estimator that is a `Pipeline` is split into its transformers and its last step. Pipelines
that begin with equal transformers, such as two classifiers on the same TF-IDF matrix, share the
fitted transformers and the transformed samples.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, clone
from sklearn.pipeline import FeatureUnion, Pipeline
from sklearn.utils import get_tags
from sklearn.utils.metadata_routing import process_routing

from cordwood._base.csr import stack_columns
from cordwood._base.threads import map_parallel
from cordwood.oof.routing import is_routing_enabled
from cordwood.text.vectorizer import TextVectorizer

# Transformers by name, as in `Pipeline.steps`.
Steps: TypeAlias = list[tuple[str, Any]]


class SharedSteps(NamedTuple):
    """Fitted preprocessing steps of the base estimators."""

    steps: list[Steps]  # one entry for each distinct preprocessing; the first is empty
    inputs: list[Any]  # the training samples, transformed by each entry of `steps`
    step_index: list[int]  # for each base estimator, the position of its entry
    # What remains of each base estimator, unfitted: the last step of a pipeline that was split,
    # else the base estimator itself; and the parameters of its `fit`.
    estimators: list[Any]
    fit_params: list[dict[str, Any]]


def fit_shared_steps(
    estimators: Sequence[Any],
    X: Any,
    fit_params: Sequence[Mapping[str, Any]] | None = None,
    cache: Callable[..., Any] = lambda function: function,
) -> SharedSteps:
    """Fit each distinct preprocessing of the base estimators once, without labels.

    Transformers that are fitted without labels do not see the label of a sample, and are not
    fitted again in each fold. A pipeline with a transformer that requires labels or metadata is not
    split: it is fitted as a whole in each fold.

    The features of a held-out sample still take part in the fit, e.g. in the vocabulary and in the
    document frequencies. The accuracy of out-of-fold predictions is therefore slightly optimistic
    for small training sets: on 20 Newsgroups by 1.5 to 2.6 percentage points with 400 samples and
    by up to 1.1 with 1,600. The accuracy of the stack does not suffer from it.

    Examples
    --------
    >>> from sklearn.feature_extraction.text import CountVectorizer
    >>> from sklearn.naive_bayes import MultinomialNB
    >>> pipeline = Pipeline([("vectorizer", CountVectorizer()), ("nb", MultinomialNB())])
    >>> shared = fit_shared_steps([pipeline, pipeline], ["to be", "or not to be"])
    >>> len(shared.steps), shared.step_index, shared.estimators[0]
    (2, [1, 1], MultinomialNB())
    """
    fit = cache(fit_steps)
    unfitted: list[Steps] = [[]]
    fitted: list[tuple[Steps, Any] | None] = [([], X)]
    shared = SharedSteps([], [], [], [], [])
    for i, estimator in enumerate(estimators):
        params = dict(fit_params[i]) if fit_params is not None else {}
        steps, last, last_params = _split_pipeline(estimator, params)
        position = next((j for j, other in enumerate(unfitted) if _is_equal(other, steps)), None)
        if position is None:
            position = len(unfitted)
            unfitted.append(steps)
            fitted.append(fit(steps, X))
        if fitted[position] is None:
            position, last, last_params = 0, estimator, params
        shared.step_index.append(position)
        shared.estimators.append(last)
        shared.fit_params.append(last_params)
    for entry in fitted:
        steps, transformed = ([], X) if entry is None else entry
        shared.steps.append(steps)
        shared.inputs.append(transformed)
    return shared


def _split_pipeline(
    estimator: Any, fit_params: dict[str, Any]
) -> tuple[Steps, Any, dict[str, Any]]:
    """Split a pipeline into transformers, last step and the parameters of the last step's `fit`.

    Any other estimator has no transformers and is its own last step.
    """
    whole: tuple[Steps, Any, dict[str, Any]] = [], estimator, fit_params
    if (
        not isinstance(estimator, Pipeline)
        or estimator.memory is not None
        or getattr(estimator, "transform_input", None) is not None
    ):
        return whole
    *steps, (name, last) = [
        (name, step) for name, step in estimator.steps if step not in (None, "passthrough")
    ]
    if is_routing_enabled() and fit_params:
        routed = process_routing(estimator, "fit", **fit_params)
        if any(params for step, _ in steps for params in dict(routed[step]).values()):
            return whole
        return steps, last, dict(routed[name]["fit"])
    prefix = f"{name}__"
    last_params = {param.removeprefix(prefix): value for param, value in fit_params.items()}
    return steps, last, last_params


def transform_steps(steps: Steps, X: Any) -> Any:
    """Transform samples by fitted transformers, one after another."""
    for _, step in steps:
        X = _transform_by_union(step, X) if type(step) is FeatureUnion else step.transform(X)
    return X


def _transform_by_union(union: FeatureUnion, X: Any) -> Any:
    """Transform texts by several vectorizers, without scikit-learn's scheduling."""
    if not _is_plain_union(union):
        return union.transform(X)
    return _stack(union, lambda vectorizer: vectorizer.transform(X))


def _fit_transform_union(union: FeatureUnion, X: Any) -> Any:
    """Fit several vectorizers; scikit-learn takes more memory to join their matrices."""
    if not _is_plain_union(union):
        return union.fit_transform(X)
    return _stack(union, lambda vectorizer: vectorizer.fit_transform(X))


def _stack(union: FeatureUnion, count: Callable[[TextVectorizer], sp.csr_matrix]) -> sp.csr_matrix:
    vectorizers = [each for _, each in union.transformer_list]
    return stack_columns(list(map_parallel(count, vectorizers, union.n_jobs)))


def _is_plain_union(union: FeatureUnion) -> bool:
    """Return whether the transformers are vectorizers, whose matrices are joined unweighted."""
    return union.transformer_weights is None and all(
        isinstance(each, TextVectorizer) for _, each in union.transformer_list
    )


def fit_steps(steps: Steps, X: Any) -> tuple[Steps, Any] | None:
    """Fit clones of the transformers without labels."""
    if any(get_tags(step).target_tags.required for _, step in steps):
        return None
    fitted = []
    for name, step in steps:
        transformer = clone(step)
        try:
            is_union = type(transformer) is FeatureUnion
            X = _fit_transform_union(transformer, X) if is_union else transformer.fit_transform(X)
        except (TypeError, ValueError):
            # Some transformers require labels without the tag, e.g. SelectKBest. Any other error
            # is raised again when the pipeline is fitted as a whole.
            return None
        fitted.append((name, transformer))
    return fitted, X


def _is_equal(a: Any, b: Any) -> bool:
    """Return whether two parameter values are equal; estimators are compared by parameters."""
    if type(a) is not type(b):
        return False
    if isinstance(a, BaseEstimator):
        params, others = a.get_params(deep=False), b.get_params(deep=False)
        return params.keys() == others.keys() and all(
            _is_equal(params[name], others[name]) for name in params
        )
    if isinstance(a, np.ndarray):
        return np.array_equal(a, b)
    if isinstance(a, list | tuple):
        return len(a) == len(b) and all(map(_is_equal, a, b))
    return bool(a is b or a == b)
