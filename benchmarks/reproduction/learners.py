"""Baselines of scikit-learn that plans name by ``estimator = "../learners.py:NAME"``."""

from sklearn.ensemble import (
    AdaBoostClassifier,
    ExtraTreesClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
    StackingClassifier,
)
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.naive_bayes import MultinomialNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.svm import LinearSVC


def random_forest() -> RandomForestClassifier:
    """Return a random forest of 200 trees."""
    return RandomForestClassifier(200)


def extra_trees() -> ExtraTreesClassifier:
    """Return extremely randomized trees, 200 of them."""
    return ExtraTreesClassifier(200)


def adaboost() -> AdaBoostClassifier:
    """Return AdaBoost with 200 decision stumps."""
    return AdaBoostClassifier(n_estimators=200)


def hist_gradient_boosting() -> HistGradientBoostingClassifier:
    """Return histogram gradient boosting, for dense numeric data only."""
    return HistGradientBoostingClassifier()


def stack() -> StackingClassifier:
    """Return a stack of the papers' base classifiers that scikit-learn has, on term frequencies."""

    def on_tfidf(classifier: LinearSVC | KNeighborsClassifier) -> Pipeline:
        return make_pipeline(TfidfTransformer(sublinear_tf=True), classifier)

    estimators = [
        ("rf", RandomForestClassifier(200)),
        ("et", ExtraTreesClassifier(200)),
        ("svm", on_tfidf(LinearSVC())),
        ("nb", MultinomialNB()),
        ("knn", on_tfidf(KNeighborsClassifier(30, metric="cosine", weights="distance"))),
    ]
    return StackingClassifier(estimators, RandomForestClassifier(200))
