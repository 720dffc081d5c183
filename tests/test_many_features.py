"""Memory depends on the features that occur, not on the number of features."""

import importlib
import os
import pkgutil
import subprocess
import sys
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone

import cordwood
from cordwood import (
    AdaBoostM2Classifier,
    AdaUBoostClassifier,
    BoostedForestClassifier,
    ExtraTreesClassifier,
    LazyForestClassifier,
    LinearSVMClassifier,
    LPUBoostClassifier,
    NeighborsClassifier,
    OOBStackingClassifier,
    RandomForestClassifier,
)
from cordwood._base.csr import (
    check_dense_size,
    drop_empty_columns,
    number_columns,
    take_columns,
)
from cordwood.ensemble.tree_engine.forest import number_features, rename_features
from cordwood.naive_bayes import NaiveBayesClassifier

MAX_FEATURES = 2**31 - 1

ESTIMATORS = {
    "rf": RandomForestClassifier(5, oob_score=True, random_state=0),
    "et": ExtraTreesClassifier(5, random_state=0),
    "boosted": BoostedForestClassifier(3, random_state=0),
    "cross_fit": BoostedForestClassifier(4, cross_fit=2, random_state=0),
    "adaboost_m2": AdaBoostM2Classifier(4, random_state=0),
    "lazy": LazyForestClassifier(10, 400, random_state=0),
    "cosine": NeighborsClassifier(5),
    "tfidf_cosine": NeighborsClassifier(5, metric="tfidf_cosine"),
    "euclidean": NeighborsClassifier(5, metric="euclidean"),
    "adauboost": AdaUBoostClassifier(max_iter=5),
    # With more columns per iteration, rules of features that do not occur are added repeatedly.
    "lpuboost": LPUBoostClassifier(columns_per_iter=1, keep_stages=True),
    "stack": OOBStackingClassifier(
        [("rf", RandomForestClassifier(5, random_state=0)), ("knn", NeighborsClassifier(5))],
        random_state=0,
    ),
}


def make_data(n_features, *, seed=0, n_samples=60, n_columns=40):
    """Counts in random columns out of many; queries contain columns that the samples do not."""
    rng = np.random.default_rng(seed)
    y = np.arange(n_samples) % 3
    counts = rng.poisson(0.4 + 2.0 * (np.arange(n_columns) % 12 == y[:, None]))
    columns = np.sort(rng.choice(n_features - 2, n_columns, replace=False)) + 1
    columns[-1] = n_features - 1
    entries = sp.coo_array(counts.astype(np.float64))
    X = sp.csr_array((entries.data, (entries.row, columns[entries.col])), (n_samples, n_features))
    other = rng.choice(np.setdiff1d(np.arange(200), columns), n_samples)
    extra = sp.csr_array((np.ones(n_samples), (np.arange(n_samples), other)), X.shape)
    return X, y, X + extra


@pytest.fixture
def few_dense_features(monkeypatch):
    """Make 50 features too many."""
    for module in pkgutil.walk_packages(cordwood.__path__, "cordwood."):
        if module.name.endswith(("__main__", ".mlflow")):  # the latter needs an optional package
            continue
        namespace = vars(importlib.import_module(module.name))
        for name in ("MAX_DENSE_FEATURES", "_MAX_DENSE_FEATURES"):
            if name in namespace:
                monkeypatch.setitem(namespace, name, 50)


@pytest.mark.parametrize("name", ESTIMATORS)
def test_predictions_do_not_depend_on_the_representation(name, few_dense_features, monkeypatch):
    X, y, queries = make_data(300)
    compact = clone(ESTIMATORS[name]).fit(X, y)
    predicted = compact.predict_proba(queries)
    importances = getattr(compact, "feature_importances_", None)
    monkeypatch.undo()
    model = clone(ESTIMATORS[name]).fit(X, y)
    # The randomness of a lazy forest depends on the numbers of the columns.
    tolerance = 0.1 if name == "lazy" else 1e-6
    np.testing.assert_allclose(predicted, model.predict_proba(queries), atol=tolerance)
    np.testing.assert_allclose(compact.predict_proba(X), model.predict_proba(X), atol=tolerance)
    if importances is not None:
        np.testing.assert_allclose(importances, model.feature_importances_, atol=1e-12)
    if hasattr(model, "rules_"):
        assert compact.rules_ == model.rules_
    if hasattr(model, "forest_"):
        for field, array in model.forest_._asdict().items():
            assert np.array_equal(getattr(compact.forest_, field), array), field


@pytest.mark.parametrize("name", ["cosine", "tfidf_cosine", "euclidean", "lazy"])
def test_neighbors_do_not_depend_on_the_representation(name, few_dense_features, monkeypatch):
    X, y, queries = make_data(300)
    compact = clone(ESTIMATORS[name]).fit(X, y)
    found = [compact.kneighbors(queries), compact.kneighbors(), compact.loo_decision_function()]
    monkeypatch.undo()
    model = clone(ESTIMATORS[name]).fit(X, y)
    for (distances, neighbors), expected in zip(
        found[:2], [model.kneighbors(queries), model.kneighbors()], strict=True
    ):
        np.testing.assert_allclose(distances, expected[0], atol=1e-6)
        assert (neighbors == expected[1]).mean() > 0.95  # except ties by rounding
    np.testing.assert_allclose(found[2], model.loo_decision_function(), atol=0.1)


def test_linear_svm_does_not_depend_on_the_representation(few_dense_features, monkeypatch):
    X, y, queries = make_data(300)
    estimator = LinearSVMClassifier(tol=1e-8, temperature=1.0, random_state=0)
    compact = clone(estimator).fit(X, y)
    monkeypatch.undo()
    model = clone(estimator).fit(X, y)
    np.testing.assert_allclose(compact.coef_, model.coef_, atol=1e-5)
    np.testing.assert_allclose(
        compact.predict_proba(queries), model.predict_proba(queries), atol=1e-4
    )


def test_warm_start_continues_with_many_features(few_dense_features):
    X, y, queries = make_data(300)
    for estimator in (RandomForestClassifier(6, random_state=0), ESTIMATORS["boosted"]):
        once = clone(estimator).fit(X, y)
        twice = clone(estimator).set_params(n_estimators=2, warm_start=True).fit(X, y)
        twice.set_params(n_estimators=estimator.n_estimators).fit(X, y)
        assert np.array_equal(once.predict_proba(queries), twice.predict_proba(queries))
        np.testing.assert_allclose(once.feature_importances_, twice.feature_importances_)


@pytest.mark.parametrize("name", [name for name in ESTIMATORS if name != "stack"])
def test_samples_without_any_feature(name, few_dense_features):
    X, y = sp.csr_array((30, 300)), np.arange(30) % 3
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Boosting stops at once.
        proba = clone(ESTIMATORS[name]).fit(X, y).predict_proba(X)
    np.testing.assert_allclose(proba.sum(axis=1), 1)


def test_callbacks_see_the_features_of_the_input(few_dense_features):
    X, y, _ = make_data(300)
    model = RandomForestClassifier(3, random_state=0)
    forests = []

    class Task:
        has_callbacks = True

        def subtask(self, name):
            return self

        def end(self, fitted_attributes):
            forests.append(fitted_attributes()["forest_"])
            return False

    model._validate_params()
    model._fit(*model._validate_training_set(X, y, None), Task())
    assert len(forests) == 3
    assert np.array_equal(forests[-1].feature_and_side, model.forest_.feature_and_side)


CHILD = """
import resource, sys, warnings
resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30))
sys.path.insert(0, {tests!r})
from test_many_features import ESTIMATORS, MAX_FEATURES, make_data
from sklearn.base import clone
X, y, queries = make_data(MAX_FEATURES)
for name, estimator in ESTIMATORS.items():
    model = clone(estimator).fit(X, y)
    model.predict_proba(queries)
    for method in ("staged_predict_proba", "staged_decision_function", "kneighbors"):
        if hasattr(model, method):
            list(getattr(model, method)(queries))
    print(name, model.score(X, y) > 0.4)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="needs a limit of the address space")
def test_the_largest_number_of_features_fits_into_four_gigabytes():
    code = CHILD.format(tests=os.path.dirname(__file__))
    child = subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
    )
    assert child.stdout.splitlines() == [f"{name} True" for name in ESTIMATORS], child.stderr


@pytest.mark.parametrize(
    ("estimator", "array"),
    [
        (LinearSVMClassifier(), "coef_"),
        (NaiveBayesClassifier(), "feature_log_prob_"),
        (NaiveBayesClassifier(variant="gaussian"), "a dense copy of X"),
    ],
)
def test_dense_parameters_of_too_many_features_raise(estimator, array):
    X, y, _ = make_data(MAX_FEATURES)
    with pytest.raises(ValueError, match=f"2147483647 features, for which {array} would need"):
        estimator.fit(X, y)


def test_check_dense_size_accepts_eight_gibibytes():
    check_dense_size(1, 2**30, "coef_")
    with pytest.raises(ValueError, match="use at most 1073741824 features"):
        check_dense_size(1, 2**30 + 1, "coef_")


@pytest.mark.parametrize("name", ["rf", "cosine"])
def test_more_features_than_indices_of_32_bits_raise(name):
    X = sp.csr_array((np.ones(2), ([0, 1], [5, 2**31 + 5])), shape=(2, 2**32))
    with pytest.raises(ValueError, match="X has 4294967296 features; at most 2147483647"):
        clone(ESTIMATORS[name]).fit(X, [0, 1])


@pytest.mark.parametrize("n_features", [1, 40, 2**31 - 1])  # with more entries, and with fewer
@pytest.mark.parametrize("density", [0.0, 0.1, 0.9])
def test_empty_columns_are_dropped(n_features, density):
    X = sp.random(30, min(n_features, 40), density, format="csr", random_state=0)
    X.resize(30, n_features)
    kept, columns = drop_empty_columns(X)
    used = np.unique(X.indices) if X.nnz else [0]
    np.testing.assert_array_equal(columns, used)
    assert kept.indices.dtype == columns.dtype == np.int32 and kept.has_canonical_format
    np.testing.assert_array_equal(kept.toarray(), X[:, columns].toarray())


def test_take_and_number_columns_match_dense_indexing():
    rng = np.random.default_rng(0)
    dense = rng.poisson(0.3, (30, 40)).astype(float)
    X = sp.csr_matrix(dense)
    for columns in (np.array([], int), np.array([0]), np.array([3, 7, 39]), np.arange(40)):
        taken, numbered = take_columns(X, columns), number_columns(X, columns)
        assert np.array_equal(taken.toarray(), dense[:, columns])
        assert taken.has_canonical_format and numbered.has_canonical_format
        assert np.array_equal(numbered.toarray()[:, : len(columns)], dense[:, columns])
        others = np.delete(dense, columns, axis=1)
        assert [list(row[row > 0]) for row in numbered.toarray()[:, len(columns) :]] == [
            list(row[row > 0]) for row in others
        ]


def test_number_features_is_the_inverse_of_rename_features():
    X, y, _ = make_data(300)
    forest = RandomForestClassifier(5, random_state=0).fit(X, y).forest_
    small, features = number_features(forest)
    assert np.array_equal(features, np.unique(forest.feature_and_side >> 1))
    renamed = rename_features(small, features.astype(np.int32))
    assert np.array_equal(renamed.feature_and_side, forest.feature_and_side)
    assert np.array_equal(renamed.far_child, forest.far_child)
