"""Laws that every public estimator keeps. A new estimator is one line in `ESTIMATORS`."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.utils.estimator_checks import parametrize_with_checks

from cordwood.ensemble.adaboost_m2 import AdaBoostM2Classifier
from cordwood.ensemble.boosted_forest import BoostedForestClassifier
from cordwood.ensemble.forests import ExtraTreesClassifier, RandomForestClassifier
from cordwood.ensemble.lazy_forest import LazyForestClassifier
from cordwood.linear_model.linear_svm import LinearSVMClassifier
from cordwood.neighbors.k_neighbors import NeighborsClassifier
from cordwood.persist import load, save
from cordwood.rules.estimators import AdaUBoostClassifier, LPUBoostClassifier
from cordwood.stacking.oob_stacking import OOBStackingClassifier

ESTIMATORS = [
    AdaBoostM2Classifier(10, random_state=0),
    AdaUBoostClassifier(max_iter=40),
    BoostedForestClassifier(3, trees_per_round=4, random_state=0),
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

# Estimator: {check of scikit-learn: why it cannot pass}. A check that passes after all is an error.
EXPECTED_FAILURES = {
    **dict.fromkeys(
        ["AdaBoostM2Classifier", "BoostedForestClassifier"],
        dict.fromkeys(
            [
                "check_sample_weight_equivalence_on_dense_data",
                "check_sample_weight_equivalence_on_sparse_data",
            ],
            "rows are drawn in proportion to their weights, and one that is there twice is drawn "
            "in other places",
        ),
    ),
    "LinearSVMClassifier": dict.fromkeys(
        [
            "check_sample_weight_equivalence_on_dense_data",
            "check_sample_weight_equivalence_on_sparse_data",
        ],
        "liblinear visits documents at random, so that LinearSVC fails it too; and copies of a "
        "document may fall into different folds of the temperature",
    ),
    "OOBStackingClassifier": dict.fromkeys(
        [
            "check_sample_weight_equivalence_on_dense_data",
            "check_sample_weight_equivalence_on_sparse_data",
        ],
        "bags and folds are drawn by row, as in its members",
    ),
    "RandomForestClassifier": dict.fromkeys(
        [
            "check_sample_weight_equivalence_on_dense_data",
            "check_sample_weight_equivalence_on_sparse_data",
        ],
        "a row that is there twice is drawn for a bag twice as often, so that scikit-learn's "
        "random forest fails it too",
    ),
}


# Two classes and many; words are counts, so digits' pixels do as well as any.
PIXELS, DIGITS = load_digits(return_X_y=True)
PROBLEMS = {
    "two classes": (PIXELS[DIGITS < 2][:120], DIGITS[DIGITS < 2][:120]),
    "many classes": (PIXELS[:200], DIGITS[:200]),
}


def name_of(estimator):
    return type(estimator).__name__


every_estimator = pytest.mark.parametrize("estimator", ESTIMATORS, ids=name_of)
every_problem = pytest.mark.parametrize("problem", PROBLEMS)


@parametrize_with_checks(
    ESTIMATORS,
    expected_failed_checks=lambda estimator: EXPECTED_FAILURES.get(name_of(estimator), {}),
)
def test_scikit_learn_accepts(estimator, check):
    check(estimator)


@every_estimator
@every_problem
def test_same_seed_same_bytes_with_any_number_of_jobs(estimator, problem):
    X, y = PROBLEMS[problem]
    answers = {
        clone(estimator).set_params(**jobs).fit(X, y).predict_proba(X).tobytes()
        for jobs in ([{"n_jobs": 1}, {"n_jobs": 2}] if "n_jobs" in estimator.get_params() else [{}])
        for _ in range(2)
    }
    assert len(answers) == 1


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
def test_save_and_load_change_no_bit(estimator, problem, tmp_path):
    X, y = PROBLEMS[problem]
    model = clone(estimator).fit(X, y)
    loaded = load(save(model, tmp_path / "model"))
    assert loaded.predict_proba(X).tobytes() == model.predict_proba(X).tobytes()
    assert np.array_equal(loaded.predict(X), model.predict(X))
    assert repr(loaded.get_params()) == repr(model.get_params())  # members have no equality


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
def test_names_of_labels_change_nothing(estimator, problem, rename):
    X, y = PROBLEMS[problem]
    plain, renamed = clone(estimator).fit(X, y), clone(estimator).fit(X, rename(y))
    assert np.array_equal(renamed.classes_, np.unique(rename(y)))
    assert np.array_equal(renamed.predict(X), rename(plain.predict(X)))
    assert renamed.predict_proba(X).tobytes() == plain.predict_proba(X).tobytes()


@every_estimator
@every_problem
def test_probabilities_sum_to_one_and_lead_to_the_prediction(estimator, problem):
    X, y = PROBLEMS[problem]
    model = clone(estimator).fit(X[::2], y[::2])
    probabilities = model.predict_proba(X)
    assert probabilities.shape == (len(X), len(model.classes_))
    assert (probabilities >= 0).all()
    np.testing.assert_allclose(probabilities.sum(axis=1), 1)
    assert np.array_equal(model.predict(X), model.classes_[probabilities.argmax(axis=1)])


@every_estimator
def test_read_only_wide_indexed_and_single_precision_input_is_taken(estimator):
    X, y = PROBLEMS["many classes"]
    expected = clone(estimator).fit(X, y).predict_proba(X)
    frozen = X.copy()
    wide = sp.csr_array(X)
    wide.indices, wide.indptr = wide.indices.astype(np.int64), wide.indptr.astype(np.int64)
    labels = y.copy()
    for array in (frozen, wide.data, wide.indices, wide.indptr, labels):
        array.flags.writeable = False
    for rows in (frozen, wide, X.astype(np.float32)):  # pixels are whole numbers in any precision
        answer = clone(estimator).fit(rows, labels).predict_proba(rows)
        np.testing.assert_allclose(answer, expected, rtol=1e-9, atol=1e-12)
