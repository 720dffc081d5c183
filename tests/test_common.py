"""Properties that every public estimator has.

A new estimator is one line in `ESTIMATORS`, a new final estimator of stacks one class and one line
in `COMBINERS`. scikit-learn's checks do not apply to `TextVectorizer`, whose input is raw text; it
runs those that do in its own tests.
"""

import inspect

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import BaseEstimator, clone
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.utils.estimator_checks import parametrize_with_checks

import cordwood
from cordwood.classifier import TextClassifier
from cordwood.ensemble import (
    AdaBoostM2Classifier,
    BoostedForestClassifier,
    ExtraTreesClassifier,
    LazyForestClassifier,
    RandomForestClassifier,
)
from cordwood.linear_model.linear_svm import LinearSVMClassifier
from cordwood.naive_bayes import NaiveBayesClassifier
from cordwood.neighbors.k_neighbors import NeighborsClassifier
from cordwood.persist import load, save
from cordwood.rules.estimators import AdaUBoostClassifier, LPUBoostClassifier
from cordwood.stacking import combiners
from cordwood.stacking.combiners._combiner import BaseCombiner
from cordwood.stacking.oob_stacking import OOBStackingClassifier

ESTIMATORS = [
    AdaBoostM2Classifier(10, random_state=0),
    AdaUBoostClassifier(max_iter=40),
    BoostedForestClassifier(3, trees_per_round=4, random_state=0),
    BoostedForestClassifier(4, trees_per_round=4, cross_fit=2, random_state=0),
    ExtraTreesClassifier(10, random_state=0),
    LPUBoostClassifier(),
    LazyForestClassifier(20, 10, random_state=0),
    NeighborsClassifier(20),
    LinearSVMClassifier(random_state=0),
    LinearSVMClassifier(nb_scaling=0.5, random_state=0),
    OOBStackingClassifier(
        [("forest", RandomForestClassifier(5, random_state=0)), ("linear", LogisticRegression())],
        RandomForestClassifier(10, random_state=0),
        cv=3,
        random_state=0,
    ),
    RandomForestClassifier(10, random_state=0),
]

MODELS = [
    TextClassifier("knn"),
    TextClassifier("rf", recipe_params={"n_estimators": 5}),
    TextClassifier(LogisticRegression()),
]

WRAPPERS = [
    NaiveBayesClassifier(),
    NaiveBayesClassifier(variant="complement"),
    NaiveBayesClassifier(variant="gaussian"),
]

# The two methods that a combiner implements: one fits it to a matrix of probabilities, with three
# arguments, the other computes the scores of the classes.
SCORE_HOOK, FIT_HOOK = sorted(
    BaseCombiner.__abstractmethods__,
    key=lambda name: len(inspect.signature(getattr(BaseCombiner, name)).parameters),
)


class TwoMembers:
    """Replaces X by the probabilities of two base estimators before a combiner is fitted to it.

    A combiner rejects a matrix that does not hold probabilities, and scikit-learn's checks have no
    other. The base estimators are softmaxes of the distances from the class means, each on every
    second feature. The validation and all else that is checked is the combiner's.
    """

    def _fit_on_members(self, X, y, weights):
        self._means = np.full((len(self.classes_), X.shape[1]), np.inf)
        for label in np.unique(y):
            self._means[label] = np.average(X[y == label], axis=0, weights=weights[y == label])
        getattr(super(), FIT_HOOK)(self._predict_members(X), y, weights)

    def _score_members(self, X):
        return getattr(super(), SCORE_HOOK)(self._predict_members(X))

    def _predict_members(self, X):
        members = []
        for features in (slice(0, None, 2), slice(-1, None, -2)):
            logits = -np.square(X[:, None, features] - self._means[:, features]).mean(axis=2)
            members.append(np.exp(logits - logits.max(axis=1, keepdims=True)))
        return np.hstack([member / member.sum(axis=1, keepdims=True) for member in members])


setattr(TwoMembers, FIT_HOOK, TwoMembers._fit_on_members)
setattr(TwoMembers, SCORE_HOOK, TwoMembers._score_members)


class DecisionTemplatesOnMembers(TwoMembers, combiners.DecisionTemplates):
    pass


class LogarithmicPoolOnMembers(TwoMembers, combiners.LogarithmicPool):
    pass


class MultiResponseRegressionOnMembers(TwoMembers, combiners.MultiResponseRegression):
    pass


class SCANNOnMembers(TwoMembers, combiners.SCANN):
    pass


class VariationalGaussianOnMembers(TwoMembers, combiners.VariationalGaussian):
    pass


class VotingOnMembers(TwoMembers, combiners.Voting):
    pass


COMBINERS = [
    DecisionTemplatesOnMembers(),
    LogarithmicPoolOnMembers(),
    MultiResponseRegressionOnMembers(),
    MultiResponseRegressionOnMembers("all"),
    SCANNOnMembers(),
    VariationalGaussianOnMembers(),
    VariationalGaussianOnMembers("variational"),
    VotingOnMembers(),
]

WEIGHT_CHECKS = (
    "check_sample_weight_equivalence_on_dense_data",
    "check_sample_weight_equivalence_on_sparse_data",
)

MODEL_FAILURES = {
    "check_classifiers_multilabel_representation_invariance": (
        "lists are lists of labels; indicators are an array, a sparse matrix or a dataframe"
    ),
    "check_class_weight_classifiers": (
        "class_weight is 'balanced' or None; other weights of classes are sample weights"
    ),
}
NOT_FROM_ONE_HALF_ON = {
    "check_classifier_multioutput": "labels are predicted from thresholds of highest F1 on"
}

# Estimator: {check of scikit-learn: why it fails}. A check that passes after all is an error.
EXPECTED_FAILURES = {
    "AdaBoostM2Classifier": dict.fromkeys(
        WEIGHT_CHECKS,
        "bootstrap samples are drawn by position, so that a repeated sample is drawn differently "
        "from a sample of weight two",
    ),
    "BoostedForestClassifier": dict.fromkeys(
        WEIGHT_CHECKS,
        "bootstrap samples are drawn by position, so that a repeated sample is drawn differently "
        "from a sample of weight two",
    ),
    "LinearSVMClassifier": dict.fromkeys(
        WEIGHT_CHECKS,
        "the solver visits samples in random order, as in LinearSVC, which fails it too; and "
        "few repeated samples may fall into different folds of the calibration",
    ),
    "NeighborsClassifier": dict.fromkeys(
        WEIGHT_CHECKS,
        "a repeated sample takes two of the n_neighbors places, a sample of weight two takes one",
    ),
    "OOBStackingClassifier": dict.fromkeys(
        WEIGHT_CHECKS, "bootstrap samples and folds are drawn by position"
    ),
    "RandomForestClassifier": dict.fromkeys(
        WEIGHT_CHECKS,
        "a repeated sample is drawn twice as often, as in scikit-learn's random forest, which "
        "fails it too",
    ),
    "TextClassifier(estimator='knn')": MODEL_FAILURES
    | dict.fromkeys(
        WEIGHT_CHECKS,
        "a repeated sample takes two of the n_neighbors places, a sample of weight two takes one",
    ),
    "TextClassifier(estimator='rf', recipe_params={'n_estimators': 5})": MODEL_FAILURES
    | NOT_FROM_ONE_HALF_ON
    | dict.fromkeys(
        WEIGHT_CHECKS,
        "a repeated sample is drawn twice as often, as in scikit-learn's random forest, which "
        "fails it too",
    ),
    "TextClassifier(estimator=LogisticRegression())": MODEL_FAILURES | NOT_FROM_ONE_HALF_ON,
}


# A binary and a multi-class problem with counts as features.
PIXELS, DIGITS = load_digits(return_X_y=True)
PROBLEMS = {
    "binary": (PIXELS[DIGITS < 2][:120], DIGITS[DIGITS < 2][:120]),
    "multi-class": (PIXELS[:200], DIGITS[:200]),
}


def get_name(estimator):
    return type(estimator).__name__


def find_failures(estimator):
    """The checks that models fail depend on their parameters."""
    is_model = isinstance(estimator, TextClassifier)
    return EXPECTED_FAILURES.get(str(estimator) if is_model else get_name(estimator), {})


every_estimator = pytest.mark.parametrize("estimator", ESTIMATORS, ids=get_name)
every_problem = pytest.mark.parametrize("problem", PROBLEMS)


def test_every_public_estimator_is_listed():
    listed = {type(estimator) for estimator in [*ESTIMATORS, *MODELS, *WRAPPERS]}
    listed |= {cls for estimator in COMBINERS for cls in type(estimator).__bases__}
    public = [
        *(getattr(cordwood, name) for name in cordwood.__all__),
        *(getattr(combiners, name) for name in combiners.__all__),
    ]
    estimators = {
        item for item in public if isinstance(item, type) and issubclass(item, BaseEstimator)
    }
    # Vectorizers take texts; tests/multilabel has the checks of classifiers of several labels, and
    # tests/linear_model those of the one whose coefficients are rounded in model files.
    assert {each.__name__ for each in estimators - listed} == {
        "EmbeddingClassifier",
        "EmbeddingVectorizer",
        "LexiconVectorizer",
        "MultiLabelClassifier",
        "TextVectorizer",
    }


@parametrize_with_checks(
    [*ESTIMATORS, *MODELS, *WRAPPERS, *COMBINERS],
    expected_failed_checks=find_failures,
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@every_estimator
@every_problem
def test_predictions_are_reproducible_with_any_n_jobs(estimator, problem):
    X, y = PROBLEMS[problem]
    predictions = {
        clone(estimator).set_params(**jobs).fit(X, y).predict_proba(X).tobytes()
        for jobs in ([{"n_jobs": 1}, {"n_jobs": 2}] if "n_jobs" in estimator.get_params() else [{}])
        for _ in range(2)
    }
    assert len(predictions) == 1


@every_estimator
@every_problem
@pytest.mark.parametrize("container", [sp.csr_array, sp.csr_matrix, sp.csc_array, sp.coo_array])
def test_sparse_equals_dense(estimator, problem, container):
    X, y = PROBLEMS[problem]
    dense = clone(estimator).fit(X, y)
    sparse = clone(estimator).fit(container(X), y)
    np.testing.assert_allclose(
        sparse.predict_proba(container(X)), dense.predict_proba(X), rtol=1e-9, atol=1e-12
    )


@every_estimator
@every_problem
def test_save_and_load_preserve_predictions(estimator, problem, tmp_path):
    X, y = PROBLEMS[problem]
    model = clone(estimator).fit(X, y)
    loaded = load(save(model, tmp_path / "model", precision="full"))
    assert loaded.predict_proba(X).tobytes() == model.predict_proba(X).tobytes()
    assert np.array_equal(loaded.predict(X), model.predict(X))
    # The base estimators of a stack do not define equality.
    assert repr(loaded.get_params()) == repr(model.get_params())


@pytest.mark.parametrize(
    "estimator",
    [
        each
        for each in [*ESTIMATORS, *WRAPPERS]
        if "sample_weight" in inspect.signature(each.fit).parameters
    ],
    ids=get_name,
)
def test_save_and_load_preserve_predictions_of_weighted_samples(estimator, tmp_path):
    X, y = PROBLEMS["multi-class"]
    weights = np.random.default_rng(0).integers(0, 3, len(y)) / 2
    model = clone(estimator).fit(X, y, sample_weight=weights)
    loaded = load(save(model, tmp_path / "model", precision="full"))
    assert loaded.predict_proba(X).tobytes() == model.predict_proba(X).tobytes()


@every_estimator
@every_problem
@pytest.mark.parametrize(
    "rename",
    [
        lambda y: y + 7,
        lambda y: y - 100.0,
        lambda y: np.array([f"class {label}" for label in y]),
        lambda y: np.array([f"class {label}" for label in y], dtype=object),
        lambda y: [f"class {label}" for label in y],
    ],
    ids=["int", "negative float", "str", "object", "list"],
)
def test_label_names_do_not_matter(estimator, problem, rename):
    X, y = PROBLEMS[problem]
    plain, renamed = clone(estimator).fit(X, y), clone(estimator).fit(X, rename(y))
    assert np.array_equal(renamed.classes_, np.unique(rename(y)))
    assert np.array_equal(renamed.predict(X), rename(plain.predict(X)))
    assert renamed.predict_proba(X).tobytes() == plain.predict_proba(X).tobytes()


@every_estimator
@every_problem
def test_probabilities_sum_to_one_and_agree_with_predict(estimator, problem):
    X, y = PROBLEMS[problem]
    model = clone(estimator).fit(X[::2], y[::2])
    proba = model.predict_proba(X)
    assert proba.shape == (len(X), len(model.classes_))
    assert (proba >= 0).all()
    np.testing.assert_allclose(proba.sum(axis=1), 1)
    assert np.array_equal(model.predict(X), model.classes_[proba.argmax(axis=1)])


@every_estimator
def test_read_only_int64_indexed_and_float32_input(estimator):
    X, y = PROBLEMS["multi-class"]
    expected = clone(estimator).fit(X, y).predict_proba(X)
    read_only = X.copy()
    wide = sp.csr_array(X)
    wide.indices, wide.indptr = wide.indices.astype(np.int64), wide.indptr.astype(np.int64)
    labels = y.copy()
    for array in (read_only, wide.data, wide.indices, wide.indptr, labels):
        array.flags.writeable = False
    for samples in (read_only, wide, X.astype(np.float32)):  # Counts are exact in float32.
        proba = clone(estimator).fit(samples, labels).predict_proba(samples)
        np.testing.assert_allclose(proba, expected, rtol=1e-9, atol=1e-12)


@every_estimator
@every_problem
def test_out_of_fold_protocol(estimator, problem):
    """Check `oob_decision_function_`, `loo_decision_function` and `oob_is_unbiased_`."""
    X, y = PROBLEMS[problem]
    is_unbiased = getattr(estimator, "oob_is_unbiased_", True)
    assert isinstance(is_unbiased, bool)
    model = clone(estimator)
    if {"oob_score", "bootstrap"} <= model.get_params(deep=False).keys():
        model.set_params(oob_score=True, bootstrap=True)
    model.fit(X, y)
    assert getattr(model, "oob_is_unbiased_", True) == is_unbiased
    out_of_fold = []
    if hasattr(model, "oob_decision_function_"):
        out_of_fold.append(model.oob_decision_function_)
    if hasattr(model, "loo_decision_function"):
        out_of_fold.append(model.loo_decision_function())
        out_of_fold.append(model.loo_decision_function(groups=np.arange(len(y)) // 2))
    for proba in out_of_fold:
        assert proba.shape == (len(y), len(model.classes_))
        is_nan = np.isnan(proba)
        assert np.array_equal(is_nan.any(axis=1), is_nan.all(axis=1))
        predicted = ~is_nan[:, 0]
        np.testing.assert_allclose(proba[predicted].sum(axis=1), 1)
        # Far better than chance, in the order of `classes_`.
        accuracy = np.mean(model.classes_[proba[predicted].argmax(axis=1)] == y[predicted])
        assert accuracy > 3 / len(model.classes_) or accuracy > 0.9
