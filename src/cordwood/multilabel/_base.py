"""Base class of the multilabel classifiers: validation of training data, and estimator tags."""

from typing import Any

from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin
from sklearn.utils import Tags, get_tags, indexable

from cordwood._base.csr import has_features
from cordwood._base.param_validation import ParamValidationMixin
from cordwood._base.sklearn_private import num_samples
from cordwood.multilabel.indicators import BoolArray, check_indicators


class BaseMultiLabelClassifier(
    MetaEstimatorMixin, ParamValidationMixin, ClassifierMixin, BaseEstimator
):
    """Classifier of label indicators that is based on a single-label classifier."""

    estimator: Any

    def _check_data(self, X: Any, y: Any) -> tuple[Any, BoolArray]:
        """Validate the arguments of `fit`; set `n_features_in_` if `X` is two-dimensional."""
        Y = check_indicators(y)
        (X,) = indexable(X)
        if (n_samples := num_samples(X)) != len(Y):
            raise ValueError(f"X has {n_samples} samples, but y has {len(Y)} rows")
        if has_features(X):
            self.n_features_in_ = int(X.shape[1])
        return X, Y

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        inner = get_tags(self.estimator)
        tags.input_tags.sparse = inner.input_tags.sparse
        tags.input_tags.positive_only = inner.input_tags.positive_only
        tags.target_tags.multi_output = True
        tags.target_tags.single_output = False
        tags.classifier_tags.multi_label = True
        return tags
