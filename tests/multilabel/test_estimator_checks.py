"""scikit-learn's checks of classifiers, on the multilabel classifiers."""

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.utils import check_array
from sklearn.utils.estimator_checks import parametrize_with_checks
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import column_or_1d

from cordwood import RandomForestClassifier
from cordwood.multilabel import MultiLabelClassifier
from cordwood.multilabel.problem_transformation import BinaryRelevance, LabelPowerset


class OneLabel:
    """Replaces the classes of y by indicators, and predicts the most probable class.

    The checks that fit an indicator matrix are few. The validation of X and all else that is
    checked is that of the multilabel classifier.
    """

    def fit(self, X, y, sample_weight=None):
        if y is None:
            return super().fit(X, y)
        y = column_or_1d(check_array(y, ensure_2d=False, dtype=None, input_name="y"), warn=True)
        check_classification_targets(y)
        labels = np.unique(y)
        super().fit(X, y[:, None] == labels, sample_weight)
        self.classes_ = labels
        return self

    def predict_proba(self, X):
        proba = super().predict_proba(X) + 1e-12
        return proba / proba.sum(axis=1, keepdims=True)

    def predict(self, X):
        proba = self.predict_proba(X)
        return self.classes_[proba.argmax(axis=1)]

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.single_output = True
        tags.target_tags.multi_output = False
        tags.classifier_tags.multi_label = False
        return tags


class MultiLabelOfClasses(OneLabel, MultiLabelClassifier):
    pass


class BinaryRelevanceOfClasses(OneLabel, BinaryRelevance):
    pass


class LabelPowersetOfClasses(OneLabel, LabelPowerset):
    pass


WEIGHT_CHECKS = (
    "check_sample_weight_equivalence_on_dense_data",
    "check_sample_weight_equivalence_on_sparse_data",
)
EXPECTED_FAILURES = {
    "MultiLabelOfClasses": dict.fromkeys(
        WEIGHT_CHECKS, "cv is a number of folds, not a list of folds"
    ),
    "LabelPowersetOfClasses": dict.fromkeys(
        WEIGHT_CHECKS, "a repeated sample is drawn twice as often by a random forest"
    ),
}


@parametrize_with_checks(
    [
        MultiLabelOfClasses(LogisticRegression(), cv=2, random_state=0),
        BinaryRelevanceOfClasses(LogisticRegression()),
        LabelPowersetOfClasses(RandomForestClassifier(5, random_state=0)),
    ],
    expected_failed_checks=lambda each: EXPECTED_FAILURES.get(type(each).__name__, {}),
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)
