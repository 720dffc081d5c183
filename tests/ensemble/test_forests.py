import io
import itertools
import pickle
import re
import warnings

import joblib
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn import ensemble
from sklearn.base import clone
from sklearn.metrics import accuracy_score, balanced_accuracy_score
from sklearn.tree import export_text

import cordwood
from cordwood._base.csr import csr_arrays
from cordwood.ensemble.forests import ExtraTreesClassifier, RandomForestClassifier
from cordwood.ensemble.tree_engine.apply import vote
from cordwood.ensemble.tree_engine.bootstrap import draw_counts
from cordwood.ensemble.tree_engine.importances import expand_tree
from model_files import forge
from synthetic_data import make_counts

FORESTS = [RandomForestClassifier, ExtraTreesClassifier]
each_forest = pytest.mark.parametrize("Forest", FORESTS)


def make_texts(n_samples=200, n_features=60, n_classes=3, seed=0):
    X, y = make_counts(
        n_samples, n_features, n_classes, seed, noise=0, rate=2.0, exponent=1, empty=0.03
    )
    return sp.csr_matrix(X.astype(np.float64)), y


X, Y = make_texts()
LABELS = np.array(["bird", "cat", "dog"])[Y]


def same_forest(a, b):
    return all(
        x.tobytes() == y.tobytes() and x.dtype == y.dtype
        for x, y in zip(a.forest_, b.forest_, strict=True)
    )


# --- reproducibility -----------------------------------------------------------------------------


@each_forest
@pytest.mark.parametrize("bootstrap", [False, True])
def test_n_jobs_does_not_change_the_forest(Forest, bootstrap):
    models = [
        Forest(9, bootstrap=bootstrap, oob_score=bootstrap, n_jobs=n_jobs, random_state=1).fit(
            X, LABELS
        )
        for n_jobs in (None, 1, 2, 3)
    ]
    many_samples = sp.vstack([X] * 7)  # more than one block
    predictions = {model.predict_proba(many_samples).tobytes() for model in models}
    assert len(predictions) == 1
    assert all(same_forest(models[0], model) for model in models[1:])
    if bootstrap:
        assert len({model.oob_decision_function_.tobytes() for model in models}) == 1


@each_forest
def test_random_state_determines_the_forest(Forest):
    first, again, other = (Forest(5, random_state=seed).fit(X, Y) for seed in (0, 0, 1))
    assert same_forest(first, again)
    assert not same_forest(first, other)
    state = np.random.RandomState(0)
    assert same_forest(first, Forest(5, random_state=state).fit(X, Y))
    assert not same_forest(first, Forest(5, random_state=state).fit(X, Y))


@each_forest
def test_trees_of_a_forest_differ(Forest):
    forest = Forest(20, random_state=0).fit(X, Y).forest_
    assert len({forest.feature_and_side[start] for start in forest.node_start[:-1]}) > 5


@each_forest
@pytest.mark.parametrize("bootstrap", [False, True])
def test_warm_start_equals_a_single_fit(Forest, bootstrap):
    how = {"bootstrap": bootstrap, "oob_score": bootstrap, "random_state": 4}
    whole = Forest(12, **how).fit(X, Y)
    model = Forest(5, warm_start=True, **how).fit(X, Y)
    first = model.forest_
    model.set_params(n_estimators=12).fit(X, Y)
    assert same_forest(model, whole)
    assert np.array_equal(
        model.forest_.feature_and_side[: len(first.feature_and_side)], first.feature_and_side
    )
    if bootstrap:
        assert model.oob_decision_function_.tobytes() == whole.oob_decision_function_.tobytes()
        assert model.oob_score_ == whole.oob_score_


def test_warm_start_without_seed_keeps_bootstrap_samples():
    model = RandomForestClassifier(4, oob_score=True, warm_start=True).fit(X, Y)
    seeds, counts = model._bootstrap_seeds.copy(), model.oob_count_
    model.set_params(n_estimators=9).fit(X, Y)
    assert np.array_equal(model._bootstrap_seeds[:4], seeds)
    assert (model.oob_count_ >= counts).all()
    check_oob_attributes(model, X, Y)


def test_fit_without_warm_start_discards_the_previous_fit():
    model = RandomForestClassifier(3, random_state=0).fit(X[:, :10], Y)
    other = make_texts(80, 25, 5, seed=3)
    assert same_forest(model.fit(*other), RandomForestClassifier(3, random_state=0).fit(*other))


def test_warm_start_errors_and_warnings():
    model = RandomForestClassifier(3, warm_start=True, random_state=0).fit(X, Y)
    with pytest.warns(
        UserWarning, match="adds no trees, because n_estimators=3 trees are already fitted"
    ):
        model.fit(X, Y)
    with pytest.raises(ValueError, match="n_estimators=2 must be at least the 3 trees"):
        model.set_params(n_estimators=2).fit(X, Y)
    model.set_params(n_estimators=5)
    with pytest.raises(ValueError, match="X has 10 features, but .* is expecting 60"):
        model.fit(X[:, :10], Y)
    for labels in (Y + 1, Y % 2, LABELS):
        with pytest.raises(ValueError, match="y has other classes .* warm_start=False"):
            model.fit(X, labels)
    assert model.predict(X).shape == Y.shape  # the previous fit is intact
    with pytest.raises(ValueError, match="oob_score with warm_start .* the same samples"):
        model.set_params(oob_score=True).fit(X[:100], Y[:100])
    model.set_params(oob_score=False).fit(X[:100], Y[:100])
    with pytest.raises(ValueError, match="oob_score with warm_start"):
        model.set_params(oob_score=True, n_estimators=6).fit(X, Y)


# --- out of bag -------------------------------------------------------------------------------


def check_oob_attributes(model, X, labels, n_draws=None):
    """Recompute the out-of-bag votes from the seeds of the bootstrap samples."""
    n_samples, n_classes = X.shape[0], len(model.classes_)
    votes, n_votes = np.zeros((n_samples, n_classes)), np.zeros(n_samples, int)
    sk = model.to_sklearn()
    for seed, tree in zip(model._bootstrap_seeds, sk.estimators_, strict=True):
        out = draw_counts(seed, n_samples, n_draws or n_samples) == 0
        votes[out] += tree.predict_proba(X[out])
        n_votes[out] += 1
    assert model.oob_count_.tolist() == n_votes.tolist()
    some = n_votes > 0
    np.testing.assert_allclose(
        model.oob_decision_function_[some], votes[some] / n_votes[some, None], rtol=1e-12
    )
    assert np.isnan(model.oob_decision_function_[~some]).all()
    right = votes[some].argmax(axis=1) == labels[some]
    assert model.oob_score_ == pytest.approx(right.mean())
    return some


@each_forest
@pytest.mark.parametrize("max_samples", [None, 30, 0.25, 1000])
def test_oob_votes_are_from_trees_not_fitted_on_the_sample(Forest, max_samples):
    model = Forest(25, bootstrap=True, oob_score=True, max_samples=max_samples, random_state=0).fit(
        X, LABELS
    )
    n_draws = {None: 200, 30: 30, 0.25: 50, 1000: 200}[max_samples]
    assert check_oob_attributes(model, X, Y, n_draws).all()


def test_samples_never_out_of_bag_are_nan():
    model = RandomForestClassifier(2, oob_score=True, random_state=0).fit(X, Y)
    some = check_oob_attributes(model, X, Y)
    assert 0 < some.sum() < 200
    assert set(model.oob_count_) == {0, 1, 2}
    np.testing.assert_allclose(model.oob_decision_function_[some].sum(axis=1), 1)


def test_oob_score_without_oob_samples_is_nan():
    model = RandomForestClassifier(1, oob_score=True, random_state=0).fit([[0.0]], ["a"])
    assert np.isnan(model.oob_score_)
    assert model.oob_count_.tolist() == [0]
    assert np.isnan(model.oob_decision_function_).all()


def test_callable_oob_score_replaces_accuracy():
    model = RandomForestClassifier(30, oob_score=balanced_accuracy_score, random_state=0)
    model.fit(X, LABELS)
    predictions = model.classes_[model.oob_decision_function_.argmax(axis=1)]
    assert model.oob_score_ == balanced_accuracy_score(LABELS, predictions)
    plain = clone(model).set_params(oob_score=True).fit(X, LABELS)
    assert plain.oob_score_ == accuracy_score(LABELS, predictions)


# --- weights ----------------------------------------------------------------------------------


@each_forest
def test_class_weight_equals_sample_weight(Forest):
    factors = {"bird": 1.0, "cat": 3.5, "dog": 0.5}
    by_class = Forest(6, class_weight=factors, random_state=0).fit(X, LABELS)
    by_sample = Forest(6, random_state=0).fit(
        X, LABELS, sample_weight=[factors[label] for label in LABELS]
    )
    assert same_forest(by_class, by_sample)
    assert not same_forest(by_class, Forest(6, random_state=0).fit(X, LABELS))


@each_forest
def test_balanced_classes_have_equal_weight(Forest):
    samples = np.flatnonzero((Y != 1) | (np.arange(200) < 60))
    counts = np.bincount(Y[samples])
    weights = len(samples) / (3 * counts[Y[samples]])
    balanced = Forest(6, class_weight="balanced", random_state=0).fit(X[samples], Y[samples])
    weighted = Forest(6, random_state=0).fit(X[samples], Y[samples], sample_weight=weights)
    assert same_forest(balanced, weighted)
    own = np.random.default_rng(0).gamma(1, 1, len(samples))
    model = Forest(1, class_weight="balanced", bootstrap=False).fit(X[samples], Y[samples], own)
    totals = expand_tree(model.forest_, 0, 3).class_weights[0]
    np.testing.assert_allclose(totals, totals.mean(), rtol=1e-5)


def test_balanced_subsample_balances_each_bootstrap_sample():
    model = RandomForestClassifier(6, class_weight="balanced_subsample", random_state=0)
    model.fit(X[:40], Y[:40])
    for tree, seed in enumerate(model._bootstrap_seeds):
        bag = draw_counts(seed, 40, 40)
        drawn = np.bincount(Y[:40], weights=bag)
        expected = 40 / (3 * drawn) * drawn  # scikit-learn's formula, times the bootstrap counts
        totals = expand_tree(model.forest_, tree, 3).class_weights[0]
        np.testing.assert_allclose(totals, expected, rtol=1e-5)
    without = clone(model).set_params(bootstrap=False).fit(X, Y)
    balanced = RandomForestClassifier(
        6, class_weight="balanced", bootstrap=False, random_state=0
    ).fit(X, Y)
    assert same_forest(without, balanced)


@each_forest
@pytest.mark.parametrize("bootstrap", [False, True])
def test_samples_of_weight_zero_are_ignored(Forest, bootstrap):
    weights = np.random.default_rng(1).integers(0, 3, 200).astype(float)
    is_weighted = weights > 0
    how = {
        "bootstrap": bootstrap,
        "oob_score": bootstrap,
        "min_samples_leaf": 0.02,
        "class_weight": "balanced",
        "random_state": 0,
    }
    weighted = Forest(8, **how).fit(X, Y, sample_weight=weights)
    without = Forest(8, **how).fit(
        X[is_weighted], Y[is_weighted], sample_weight=weights[is_weighted]
    )
    assert same_forest(weighted, without)
    if bootstrap:
        assert weighted.oob_score_ == without.oob_score_
        assert np.array_equal(
            weighted.oob_decision_function_[is_weighted],
            without.oob_decision_function_,
            equal_nan=True,
        )
        # They are in no bootstrap sample, so that all trees predict them.
        assert set(weighted.oob_count_[~is_weighted]) == {8}
        np.testing.assert_allclose(
            weighted.oob_decision_function_[~is_weighted], weighted.predict_proba(X[~is_weighted])
        )


def test_class_of_weight_zero_is_never_predicted():
    weights = (Y != 1).astype(float)
    model = RandomForestClassifier(5, random_state=0).fit(X, LABELS, sample_weight=weights)
    assert model.classes_.tolist() == ["bird", "cat", "dog"]
    votes = model.predict_proba(X)
    assert (votes[:, 1] == 0).all()
    np.testing.assert_allclose(votes.sum(axis=1), 1)
    same = RandomForestClassifier(5, class_weight={"cat": 0}, random_state=0).fit(X, LABELS)
    assert same_forest(same, model)


def test_integer_weights_equal_repeated_samples():
    """With all features and without bootstrap, only the order of ties is random."""
    how = {"bootstrap": False, "max_features": None, "max_depth": 2, "random_state": 0}
    weights = np.random.default_rng(3).integers(1, 4, 200)
    weighted = RandomForestClassifier(1, **how).fit(X, Y, sample_weight=weights)
    samples = np.repeat(np.arange(200), weights)
    repeated = RandomForestClassifier(1, **how).fit(X[samples], Y[samples])
    np.testing.assert_allclose(weighted.predict_proba(X), repeated.predict_proba(X))


@each_forest
@pytest.mark.parametrize("scale", [1e-20, 1 / 3, 4096, 1e20])
def test_scale_of_weights_does_not_matter(Forest, scale):
    weights = np.random.default_rng(3).gamma(1, 1, 200)
    plain = Forest(4, min_samples_leaf=3, random_state=0).fit(X, Y, sample_weight=weights)
    scaled = Forest(4, min_samples_leaf=3, random_state=0).fit(X, Y, sample_weight=weights * scale)
    np.testing.assert_allclose(scaled.predict_proba(X), plain.predict_proba(X), rtol=1e-5)


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        (np.zeros(200), "at least one non-zero"),
        (-np.ones(200), "[Nn]egative"),
        (np.full(200, np.nan), "sample_weight contains NaN"),
        (np.full(200, np.inf), "sample_weight contains infinity"),
        (np.ones(199), r"sample_weight.shape == \(199,\)"),
        (np.full(200, 1e-40), "sample_weight.* ranges from 1e-40 to 1e-40; scale it"),
        (np.full(200, 1e40), "sample_weight.* ranges from 1e[+]40"),
    ],
)
def test_invalid_sample_weight_raises(weights, message):
    with pytest.raises(ValueError, match=message):
        RandomForestClassifier(2).fit(X, Y, sample_weight=weights)


# --- input ------------------------------------------------------------------------------------


def make_input_formats():
    dense = X.toarray()
    frozen = dense.copy()
    frozen.flags.writeable = False
    wide = X.copy()
    wide.indices, wide.indptr = wide.indices.astype(np.int64), wide.indptr.astype(np.int64)
    read_only = X.astype(np.float32)
    for array in (read_only.data, read_only.indices, read_only.indptr):
        array.flags.writeable = False
    shuffled = X.tocoo()
    order = np.random.default_rng(0).permutation(shuffled.nnz)
    halves = sp.coo_matrix(
        (
            np.concatenate([shuffled.data[order] / 2] * 2 + [[0.0]]),
            (
                np.concatenate([shuffled.row[order]] * 2 + [[0]]),
                np.concatenate([shuffled.col[order]] * 2 + [[59]]),
            ),
        ),
        shape=X.shape,
    )
    duplicates = sp.csr_matrix(X.shape)
    duplicates.indptr = np.concatenate(
        [[0], np.cumsum(np.bincount(halves.row, minlength=200))]
    ).astype(np.int32)
    by_sample = np.argsort(halves.row, kind="stable")
    duplicates.indices = halves.col[by_sample].astype(np.int32)
    duplicates.data = halves.data[by_sample]
    return {
        "float64": dense,
        "float32": dense.astype(np.float32),
        "int": dense.astype(int),
        "uint8": dense.astype(np.uint8),
        "fortran": np.asfortranarray(dense),
        "frozen": frozen,
        "list": dense.tolist(),
        "csc": X.tocsc(),
        "csr array": sp.csr_array(X),
        "lil": X.tolil(),
        "int64 indices": wide,
        "read-only": read_only,
        "unsorted duplicates and zeros": duplicates,
        "pandas": pd.DataFrame(dense),
    }


@pytest.fixture(scope="module")
def expected():
    return RandomForestClassifier(6, oob_score=True, random_state=0).fit(X, Y)


@pytest.mark.parametrize("name", make_input_formats())
@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
def test_input_format_does_not_change_the_forest(name, expected):
    samples = make_input_formats()[name]
    model = RandomForestClassifier(6, oob_score=True, random_state=0).fit(samples, Y)
    assert same_forest(model, expected)
    assert model.oob_decision_function_.tobytes() == expected.oob_decision_function_.tobytes()
    assert model.predict_proba(samples).tobytes() == expected.predict_proba(X).tobytes()


def test_input_is_not_modified():
    samples = make_input_formats()["unsorted duplicates and zeros"].astype(np.float32)
    before = samples.data.copy(), samples.indices.copy(), samples.indptr.copy()
    model = RandomForestClassifier(2, random_state=0).fit(samples, Y)
    model.predict(samples)
    for array, copy in zip((samples.data, samples.indices, samples.indptr), before, strict=True):
        assert np.array_equal(array, copy)


def test_values_are_compared_in_single_precision():
    close = np.array([[1.0], [1.0 + 1e-12], [2.0], [2.0 - 1e-12], [1e-60], [0.0]])
    labels = ["a", "b", "c", "c", "d", "e"]
    model = ExtraTreesClassifier(5, random_state=0).fit(close, labels)
    votes = model.predict_proba(close)
    assert votes[0].tolist() == votes[1].tolist() == [0.5, 0.5, 0, 0, 0]
    assert votes[2].tolist() == votes[3].tolist() == [0, 0, 1, 0, 0]
    assert votes[4].tolist() == votes[5].tolist() == [0, 0, 0, 0.5, 0.5]


def test_pandas_feature_names_are_stored_and_checked():
    frame = pd.DataFrame(X.toarray(), columns=[f"feature {i}" for i in range(60)])
    model = RandomForestClassifier(4, random_state=0).fit(frame, pd.Series(LABELS))
    assert model.feature_names_in_.tolist() == frame.columns.tolist()
    assert model.n_features_in_ == 60
    assert model.predict(frame).shape == (200,)
    with pytest.raises(ValueError, match="feature names should match"):
        model.predict(frame[frame.columns[::-1]])
    text = export_text(model.to_sklearn().estimators_[0], feature_names=list(frame.columns))
    assert "feature" in text
    assert model.to_sklearn().predict(frame).tolist() == model.predict(frame).tolist()


@each_forest
def test_all_zero_samples(Forest):
    samples = sp.csr_matrix(np.array([[0, 0], [0, 0], [0, 0], [1, 0], [0, 2]]))
    model = Forest(10, bootstrap=False, random_state=0).fit(samples, ["a", "a", "b", "c", "d"])
    np.testing.assert_allclose(model.predict_proba(samples[:1]), [[2 / 3, 1 / 3, 0, 0]])
    assert model.predict(samples).tolist() == ["a", "a", "a", "c", "d"]


@each_forest
def test_all_zero_matrix_gives_single_leaf_trees(Forest):
    model = Forest(3, bootstrap=False, random_state=0).fit(sp.csr_matrix((4, 3)), [1, 1, 1, 5])
    assert model.predict_proba(sp.csr_matrix((2, 3))).tolist() == [[0.75, 0.25]] * 2
    assert model.forest_.node_start.tolist() == [0, 1, 2, 3]


@each_forest
def test_single_class_and_single_sample(Forest):
    one_class = Forest(3, random_state=0).fit(X, ["only"] * 200)
    assert one_class.predict_proba(X[:2]).tolist() == [[1.0], [1.0]]
    one_row = Forest(3, random_state=0).fit([[1.0, 2.0]], [7])
    assert one_row.predict([[0.0, 0.0]]).tolist() == [7]


@each_forest
def test_duplicates_with_different_labels_share_a_leaf(Forest):
    samples = np.repeat(np.random.default_rng(0).normal(size=(3, 500)), [8, 6, 5], axis=0)
    labels = [0] * 5 + [1] * 2 + [2] + [1] * 6 + [0, 2, 2, 2, 2]
    model = Forest(4, bootstrap=False, random_state=0).fit(samples, labels)
    assert np.diff(model.forest_.leaf_start).tolist() == [3] * 4
    shares = model.predict_proba(samples[[0, 8, 14]])
    np.testing.assert_allclose(shares, [[5 / 8, 2 / 8, 1 / 8], [0, 1, 0], [1 / 5, 0, 4 / 5]])


@each_forest
def test_ninety_classes(Forest):
    samples, labels = make_texts(900, 80, 90, seed=2)
    model = Forest(5, bootstrap=False, random_state=0).fit(samples, labels)
    votes = model.predict_proba(samples)
    assert votes.shape == (900, 90)
    assert model.score(samples, labels) > 0.9


def test_nan_and_infinity_in_X_raise():
    for bad in (np.nan, np.inf, -np.inf, 1e300):
        samples = X.toarray()
        samples[3, 4] = bad
        for container in (np.array, sp.csr_matrix):
            with warnings.catch_warnings():
                warnings.filterwarnings("ignore", "overflow encountered in cast")
                with pytest.raises(ValueError, match="NaN|infinity|too large"):
                    RandomForestClassifier(2).fit(container(samples), Y)
                with pytest.raises(ValueError, match="NaN|infinity|too large"):
                    RandomForestClassifier(2).fit(X, Y).predict(container(samples))


# --- parameters -------------------------------------------------------------------------------


def resolve_max_features(max_features, n_features=60):
    model = RandomForestClassifier(1, max_features=max_features)
    return model._resolve_max_features(n_features)


@pytest.mark.parametrize(
    ("max_features", "n_features"),
    [
        *itertools.product(["sqrt", "log2", None, 1, 0.01, 0.5, 1.0], [1, 2, 60]),
        (2, 2),
        (7, 60),
        (np.int64(60), 60),
    ],
)
def test_max_features_matches_scikit_learn(max_features, n_features):
    theirs = ensemble.RandomForestClassifier(1, max_features=max_features)
    theirs.fit(np.random.default_rng(0).normal(size=(10, n_features)), [0, 1] * 5)
    assert resolve_max_features(max_features, n_features) == theirs.estimators_[0].max_features_


def test_informative_feature_is_found_as_often_as_it_is_drawn():
    """The only informative feature is at the root as often as it is drawn."""
    rng = np.random.default_rng(0)
    samples, labels = rng.normal(size=(60, 20)), np.arange(60) % 2
    samples[:, 3] = labels
    for max_features, least, most in [(1, 1, 12), (10, 32, 68), (20, 100, 100), (99, 100, 100)]:
        model = RandomForestClassifier(
            100, max_features=max_features, bootstrap=False, random_state=0
        ).fit(samples, labels)
        n_found = sum(model.forest_.feature_and_side[model.forest_.node_start[:-1]] >> 1 == 3)
        assert least <= n_found <= most


@each_forest
@pytest.mark.parametrize(
    ("settings", "holds"),
    [
        ({"max_depth": 3}, lambda nodes: nodes.depth.max() == 3),
        ({"min_samples_leaf": 5}, lambda nodes: nodes.n_node_samples.min() >= 5),
        ({"min_samples_leaf": 0.1}, lambda nodes: nodes.n_node_samples.min() >= 20),
        (
            {"min_samples_split": 30},
            lambda nodes: nodes.n_node_samples[nodes.left >= 0].min() >= 30,
        ),
        (
            {"min_samples_split": 0.3},
            lambda nodes: nodes.n_node_samples[nodes.left >= 0].min() >= 60,
        ),
        (
            {"min_weight_fraction_leaf": 0.1},
            lambda nodes: nodes.class_weights.sum(axis=1).min() >= 20,
        ),
    ],
    ids=lambda value: str(value) if isinstance(value, dict) else "",
)
def test_tree_size_limits_hold(Forest, settings, holds):
    model = Forest(5, bootstrap=False, random_state=0, **settings).fit(X, Y)
    for tree in range(5):
        nodes = expand_tree(model.forest_, tree, 3)
        assert len(nodes.left) > 1
        assert holds(nodes)


WRONG = [
    ("n_estimators", 0),
    ("n_estimators", 2.5),
    ("n_estimators", True),
    ("n_estimators", None),
    ("criterion", "mse"),
    ("criterion", None),
    ("max_depth", 0),
    ("max_depth", 2.0),
    ("min_samples_split", 1),
    ("min_samples_split", 0.0),
    ("min_samples_split", 1.5),
    ("min_samples_split", "2"),
    ("min_samples_leaf", 0),
    ("min_samples_leaf", -0.1),
    ("min_samples_leaf", None),
    ("min_weight_fraction_leaf", 0.6),
    ("min_weight_fraction_leaf", -0.1),
    ("min_weight_fraction_leaf", "0"),
    ("min_weight_fraction_leaf", np.nan),
    ("max_features", 0),
    ("max_features", 0.0),
    ("max_features", 1.5),
    ("max_features", "auto"),
    ("max_features", True),
    ("max_leaf_nodes", 10),
    ("min_impurity_decrease", 0.1),
    ("ccp_alpha", 0.01),
    ("monotonic_cst", [1] * 60),
    ("verbose", -1),
    ("verbose", "yes"),
    ("bootstrap", "yes"),
    ("bootstrap", None),
    ("bootstrap", 1),
    ("oob_score", "yes"),
    ("warm_start", "yes"),
    ("warm_start", 1),
    ("class_weight", "even"),
    ("class_weight", 3),
    ("class_weight", {0: -1.0}),
    ("class_weight", {0: np.nan, 1: 1.0, 2: 1.0}),
    ("max_samples", 0),
    ("max_samples", 0.0),
    ("max_samples", 1.5),
    ("max_samples", "half"),
    ("n_jobs", 0),
    ("n_jobs", 1.5),
    ("n_jobs", "2"),
    ("random_state", "seed"),
    ("random_state", -1),
    ("random_state", 0.5),
]


@each_forest
@pytest.mark.parametrize(("name", "value"), WRONG, ids=str)
def test_invalid_parameter_raises_one_sentence(Forest, name, value):
    model = Forest(3).set_params(**{"bootstrap": True, name: value})
    with pytest.raises(ValueError, match=name) as caught:
        model.fit(X, Y)
    sentence = str(caught.value)
    assert "\n" not in sentence
    assert not re.search(r"\. [A-Z]", sentence)
    assert repr(value) in sentence or name == "max_samples"
    assert not hasattr(model, "forest_")


def test_oob_score_and_max_samples_require_bootstrap():
    for settings in ({"oob_score": True}, {"max_samples": 0.5}):
        with pytest.raises(ValueError, match=r"requires bootstrap=True"):
            ExtraTreesClassifier(2, **settings).fit(X, Y)


def test_class_weight_of_zero_for_all_classes_raises():
    with pytest.raises(ValueError, match="class_weight is zero"):
        RandomForestClassifier(2, class_weight={0: 0, 1: 0, 2: 0}).fit(X, Y)


@each_forest
def test_parameters_and_defaults_match_scikit_learn(Forest):
    theirs = getattr(ensemble, Forest.__name__)().get_params()
    assert Forest().get_params() == theirs


# --- conversion and persistence ------------------------------------------------------------------


@each_forest
@pytest.mark.parametrize("criterion", ["gini", "entropy", "log_loss"])
@pytest.mark.parametrize("weights", [None, np.linspace(0.1, 3, 200)], ids=["plain", "weighted"])
def test_to_sklearn_predicts_the_same(Forest, criterion, weights):
    model = Forest(8, criterion=criterion, min_samples_leaf=2, random_state=0)
    model.fit(X, LABELS, sample_weight=weights)
    theirs = model.to_sklearn()
    assert isinstance(theirs, getattr(ensemble, Forest.__name__))
    rng = np.random.default_rng(1)
    unseen = rng.normal(size=(100, 60)) * rng.poisson(0.5, size=(100, 60))
    for samples in (X, X.toarray(), unseen, sp.csr_matrix(unseen)):
        np.testing.assert_allclose(
            theirs.predict_proba(samples), model.predict_proba(samples), rtol=1e-12, atol=1e-12
        )
        assert theirs.predict(samples).tolist() == model.predict(samples).tolist()
    np.testing.assert_allclose(
        theirs.feature_importances_, model.feature_importances_, rtol=1e-9, atol=1e-15
    )
    for tree, member in enumerate(theirs.estimators_):
        nodes = expand_tree(model.forest_, tree, 3)
        assert member.get_depth() == nodes.depth.max()
        assert member.get_n_leaves() == (nodes.left < 0).sum()
        assert member.tree_.n_node_samples.tolist() == nodes.n_node_samples.tolist()
    text = export_text(theirs.estimators_[0], max_depth=1000)
    assert text.count("class:") == theirs.estimators_[0].get_n_leaves()


@each_forest
def test_to_sklearn_can_be_refitted_and_pickled(Forest):
    theirs = (
        Forest(3, oob_score=Forest is RandomForestClassifier, random_state=0).fit(X, Y).to_sklearn()
    )
    again = pickle.loads(pickle.dumps(theirs))
    assert np.array_equal(again.predict_proba(X), theirs.predict_proba(X))
    assert clone(theirs).fit(X, Y).score(X, Y) > 0.8


def round_trips(model, folder):
    yield pickle.loads(pickle.dumps(model))
    file = io.BytesIO()
    joblib.dump(model, file)
    file.seek(0)
    yield joblib.load(file)
    joblib.dump(model, folder / "model.joblib")
    yield joblib.load(folder / "model.joblib", mmap_mode="r")
    yield cordwood.load(cordwood.save(model, folder / "model.cordwood"))


@each_forest
def test_round_trips_preserve_the_forest(Forest, tmp_path):
    model = Forest(
        5, bootstrap=True, oob_score=True, warm_start=True, min_samples_leaf=2, random_state=0
    ).fit(X, LABELS)
    grown_on = clone(model).set_params(n_estimators=9).fit(X, LABELS)
    for loaded in round_trips(model, tmp_path):
        assert same_forest(loaded, model)
        assert all(not array.flags.writeable for array in loaded.forest_)
        assert loaded.predict_proba(X).tobytes() == model.predict_proba(X).tobytes()
        assert loaded.get_params() == model.get_params()
        assert loaded.oob_score_ == model.oob_score_
        loaded.set_params(n_estimators=9).fit(X, LABELS)
        assert same_forest(loaded, grown_on)
        assert loaded.oob_score_ == grown_on.oob_score_


def test_invalid_forest_in_a_file_raises(tmp_path):
    model = RandomForestClassifier(3, random_state=0).fit(X, Y)
    split = model.forest_.feature_and_side.copy()
    split[0] = 2**15
    crafted = clone(model).fit(X, Y)
    crafted.forest_ = model.forest_._replace(feature_and_side=split)
    with pytest.raises(cordwood.ModelFileError, match="Invalid forest: feature_and_side"):
        cordwood.save(crafted, tmp_path / "model")
    with pytest.raises(cordwood.ModelFileError, match="Invalid forest: feature_and_side"):
        cordwood.load(forge(crafted, tmp_path / "crafted"))
    crafted.forest_ = model.forest_
    crafted.classes_ = crafted.classes_[:2]  # fewer than the leaves vote for
    with pytest.raises(cordwood.ModelFileError, match="Invalid forest: far_child"):
        cordwood.save(crafted, tmp_path / "model")
    crafted.classes_, crafted.n_features_in_ = model.classes_, 5
    with pytest.raises(cordwood.ModelFileError, match="Invalid forest: feature_and_side"):
        cordwood.save(crafted, tmp_path / "model")


def test_pickle_is_ten_times_smaller_than_scikit_learns():
    samples, labels = make_texts(600, 80, 20, seed=2)
    ours = RandomForestClassifier(20, random_state=0).fit(samples, labels)
    theirs = ensemble.RandomForestClassifier(20, random_state=0).fit(samples, labels)
    assert 10 * len(pickle.dumps(ours)) < len(pickle.dumps(theirs))


def test_unfitted_forest_raises():
    with pytest.raises(ValueError, match="not fitted yet"):
        RandomForestClassifier().predict_proba(X)
    with pytest.raises(ValueError, match="not fitted yet"):
        RandomForestClassifier().to_sklearn()
    with pytest.raises((ValueError, AttributeError), match="not fitted yet"):
        _ = RandomForestClassifier().feature_importances_


def test_predict_proba_is_the_mean_over_trees():
    model = RandomForestClassifier(7, min_samples_leaf=3, random_state=0).fit(X, Y)
    votes, n_votes = vote(model.forest_, csr_arrays(X.astype(np.float32)), 3)
    assert set(n_votes) == {7}
    np.testing.assert_allclose(model.predict_proba(X), votes / 7, rtol=1e-15)


def test_verbose_prints_progress(capsys):
    quiet = RandomForestClassifier(3, random_state=0).fit(X, Y)
    assert capsys.readouterr() == ("", "")
    verbose = RandomForestClassifier(3, verbose=2, random_state=0).fit(X, Y)
    output = "".join(capsys.readouterr())
    assert "Done   3 out of   3" in output
    assert same_forest(quiet, verbose)


@each_forest
def test_log_loss_is_entropy(Forest):
    entropy, log_loss = (
        Forest(4, criterion=criterion, random_state=0).fit(X, Y)
        for criterion in ("entropy", "log_loss")
    )
    assert same_forest(entropy, log_loss)
