import pickle
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.base import clone
from sklearn.datasets import load_digits, make_classification
from sklearn.exceptions import NotFittedError
from sklearn.metrics import accuracy_score

from cordwood._base.duplicates import assign_folds
from cordwood.ensemble import _boosting_loop, _boosting_rules
from cordwood.ensemble.boosted_forest import BoostedForestClassifier
from cordwood.ensemble.forests import ExtraTreesClassifier, RandomForestClassifier
from cordwood.ensemble.tree_engine.bootstrap import draw_weighted_counts
from cordwood.ensemble.tree_engine.forest import drop_leaf_stats, join, take_trees
from cordwood.ensemble.tree_engine.importances import importances
from synthetic_data import make_counts

UPDATES = ("aggregate", "majority", "per_tree")
MAX_SEED = 2**63 - 1


X, Y = make_counts(160, 40, 3, seed=5)
LABELS = np.array(["bird", "cat", "dog"])[Y]


def fit(*samples, n_estimators=8, trees_per_round=5, random_state=0, **params):
    """Fit a small model: `fit(X, y)`, or `fit()` on the counts above."""
    model = BoostedForestClassifier(
        n_estimators, trees_per_round=trees_per_round, random_state=random_state, **params
    )
    return model.fit(*samples) if samples else model.fit(X, Y)


def same_forest(a, b):
    pairs = zip(a.forest_, b.forest_, strict=True)
    return all(np.array_equal(one, other) for one, other in pairs)


def same_results(a, b):
    names = (
        "estimator_errors_",
        "estimator_weights_",
        "tree_weights_",
        "staged_oob_score_",
        "oob_decision_function_",
        "oob_count_",
        "_boosting_weights",
        "feature_importances_",
    )
    return a.stop_reason_ == b.stop_reason_ and all(
        getattr(a, name).tobytes() == getattr(b, name).tobytes() for name in names
    )


# --- reference implementation --------------------------------------------------------------------


def predict_tree(model, tree, samples):
    """Return the class frequencies in the leaf of each sample, by walking the tree."""
    forest, n_classes = model.forest_, len(model.classes_)
    root = forest.node_start[tree]
    shares = np.zeros((len(samples), n_classes))
    for row, share in zip(samples, shares, strict=True):
        node = root
        while forest.threshold[node] > -np.inf:
            feature, next_is_right = divmod(int(forest.feature_and_side[node]), 2)
            if (row[feature] > forest.threshold[node]) == next_is_right:
                node += 1
            elif forest.far_child[node] < 0:
                break
            else:
                node = root + forest.far_child[node]
        code = int(~forest.far_child[node])
        if code < n_classes:
            share[code] = 1
        else:
            impure = forest.impure_leaf_start[tree] + code - n_classes
            entries = slice(*forest.impure_entry_start[impure : impure + 2])
            share[forest.impure_class[entries]] = forest.impure_weight[entries]
    return shares / shares.sum(axis=1, keepdims=True)


def draw_bootstrap_seeds(seed, n_rounds, n_trees):
    children = np.random.RandomState(seed).randint(MAX_SEED, size=(n_rounds, 2), dtype=np.int64)[
        :, 0
    ]
    return [
        np.random.RandomState(child % 2**32).randint(MAX_SEED, size=(n_trees, 2), dtype=np.int64)[
            :, 0
        ]
        for child in children
    ]


def boost_reference(model, samples, labels, start):
    """Boost once more with the trees that are there, as the papers have it, weights summing to 1.

    Returns errors, weights of forests and of trees, votes out of bag, and the samples' weights.
    """
    n_samples, n_classes, n_trees = len(labels), len(model.classes_), model.trees_per_round
    n_rounds, rate = len(model.estimator_weights_), model.learning_rate
    w = start / start.sum()
    errors, alphas, betas, oob = [], [], [], np.zeros((n_samples, n_classes))
    for m, seeds in enumerate(draw_bootstrap_seeds(model.random_state, n_rounds, n_trees)):
        p = np.stack([predict_tree(model, m * n_trees + t, samples) for t in range(n_trees)])
        bags = draw_weighted_counts(seeds, w * n_samples, n_samples)
        out = bags == 0
        error_mask = out if model.oob_error else np.ones_like(out)
        update_mask = out if model.oob_updates else np.ones_like(out)
        wrong = p.argmax(axis=2) != labels
        e = (w * (wrong & error_mask)).sum(axis=1) / (w * error_mask).sum(axis=1)
        a = np.exp(1 - e) if model.tree_weights else np.ones(n_trees)

        def predict(mask, p=p, a=a):
            return np.einsum("t,tr,trc->rc", a, mask, p).argmax(axis=1)

        has_votes = error_mask.any(axis=0)
        eps = w[has_votes & (predict(error_mask) != labels)].sum() / w[has_votes].sum()
        alpha = np.log((1 - eps) / eps) + (np.log(n_classes - 1) if model.samme else 0)
        alpha *= rate
        errors.append(eps)
        alphas.append(alpha)
        betas.extend(alpha * a / a.sum())
        for i in np.flatnonzero(out.any(axis=0)):
            mean = np.average(p[out[:, i], i], axis=0, weights=a[out[:, i]])
            oob[i] += alpha * mean
        for i in range(n_samples):
            trees = update_mask[:, i]
            if model.update == "aggregate":
                up = alpha * (trees.any() and predict(update_mask)[i] != labels[i])
            elif model.update == "majority":
                up = alpha * (wrong[trees, i].sum() > (~wrong[trees, i]).sum())
            else:
                ratio = rate * (1 - e) / e
                up = (ratio * np.where(wrong[:, i], 1, -1))[trees].sum()
            w[i] *= np.exp(up)
        w = np.maximum(w / w.sum(), _boosting_rules.MIN_WEIGHT / n_samples)
        w /= w.sum()
    return np.array(errors), np.array(alphas), np.array(betas), oob, w


ALL_RULES = [
    {"update": update, "oob_error": error, "oob_updates": selective}
    for update in UPDATES
    for error in (True, False)
    for selective in (True, False)
]

ALL_PARAMS = [
    *ALL_RULES,
    {"tree_weights": True},
    {"tree_weights": True, "oob_error": False, "update": "per_tree"},
    {"samme": False},
    {"learning_rate": 1.0, "min_samples_leaf": 3, "base": "rf"},
    {"base": 0.5, "criterion": "entropy"},
]


@pytest.mark.parametrize("params", ALL_PARAMS, ids=str)
def test_matches_reference_implementation(params):
    samples, labels = X[:90], Y[:90]
    model = fit(samples, labels, n_estimators=4, **params)
    assert len(model.estimator_weights_) == 4
    errors, alphas, betas, oob, weights = boost_reference(model, samples, labels, np.ones(90))
    np.testing.assert_allclose(model.estimator_errors_, errors, rtol=1e-9)
    np.testing.assert_allclose(model.estimator_weights_, alphas, rtol=1e-9)
    np.testing.assert_allclose(model.tree_weights_, betas, rtol=1e-9)
    np.testing.assert_allclose(model._boosting_weights, 90 * weights, rtol=1e-9)
    has_votes = oob.any(axis=1)
    expected = oob[has_votes] / oob[has_votes].sum(axis=1, keepdims=True)
    np.testing.assert_allclose(model.oob_decision_function_[has_votes], expected, rtol=1e-9)
    assert np.isnan(model.oob_decision_function_[~has_votes]).all()
    right = oob[has_votes].argmax(axis=1) == labels[has_votes]
    assert model.staged_oob_score_[-1] == pytest.approx(right.mean())
    votes = sum(beta * predict_tree(model, tree, X) for tree, beta in enumerate(betas))
    np.testing.assert_allclose(model.predict_proba(X), votes / sum(betas), rtol=1e-9)


def test_sample_and_class_weights_are_the_initial_weights():
    samples, labels = X[:90], Y[:90]
    given = np.random.default_rng(0).gamma(1, 1, 90)
    model = BoostedForestClassifier(
        3, trees_per_round=5, class_weight={0: 1, 1: 4, 2: 0.5}, random_state=0
    ).fit(samples, labels, sample_weight=given)
    errors, _, _, _, weights = boost_reference(
        model, samples, labels, given * np.array([1, 4, 0.5])[labels]
    )
    np.testing.assert_allclose(model.estimator_errors_, errors, rtol=1e-9)
    np.testing.assert_allclose(model._boosting_weights, 90 * weights, rtol=1e-9)


def test_balanced_classes_start_with_equal_weight():
    samples = np.flatnonzero((Y != 1) | (np.arange(160) < 60))
    counts = np.bincount(Y[samples])
    weights = len(samples) / (3 * counts[Y[samples]])
    balanced = fit(X[samples], Y[samples], class_weight="balanced")
    weighted = BoostedForestClassifier(8, trees_per_round=5, random_state=0)
    assert same_forest(balanced, weighted.fit(X[samples], Y[samples], sample_weight=weights))


@given(
    arrays(float, 12, elements=st.floats(1e-12, 1e6)),
    arrays(float, 12, elements=st.floats(-1e9, 1e9)),
)
@settings(max_examples=60, deadline=None)
def test_updated_weights_stay_in_range(weights, log_factors):
    raised = _boosting_rules.update_weights(weights, log_factors)
    assert raised.mean() == pytest.approx(1)
    assert (raised > 0.99 * _boosting_rules.MIN_WEIGHT).all()
    assert (raised <= len(weights)).all()


def test_weights_stay_valid_after_many_rounds():
    samples, labels = make_counts(300, 60, 20, seed=2, noise=0.3)
    for update in UPDATES:
        model = fit(samples, labels, n_estimators=60, update=update, learning_rate=1.0, base="rf")
        weights = model._boosting_weights
        assert weights.mean() == pytest.approx(1)
        assert (weights >= 0.99 * _boosting_rules.MIN_WEIGHT).all()
        assert np.isfinite(model.predict_proba(samples)).all()


# --- base forests --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("base", "Forest"), [("rf", RandomForestClassifier), ("et", ExtraTreesClassifier)]
)
def test_one_round_equals_a_forest(base, Forest):
    boosted = fit(n_estimators=1, trees_per_round=12, base=base, random_state=7)
    child = np.random.RandomState(7).randint(MAX_SEED, size=2, dtype=np.int64)[0] % 2**32
    forest = Forest(12, bootstrap=True, oob_score=True, random_state=int(child)).fit(X, Y)
    grown = drop_leaf_stats(forest.forest_)
    for name in grown._fields:
        assert np.array_equal(getattr(boosted.forest_, name), getattr(grown, name)), name
    assert np.array_equal(boosted.oob_count_, forest.oob_count_)
    np.testing.assert_allclose(boosted.predict_proba(X), forest.predict_proba(X), rtol=1e-12)
    np.testing.assert_allclose(
        boosted.oob_decision_function_, forest.oob_decision_function_, rtol=1e-12
    )
    assert boosted.staged_oob_score_.tolist() == [forest.oob_score_]
    np.testing.assert_allclose(boosted.feature_importances_, forest.feature_importances_)


def test_float_base_mixes_random_forests_and_extra_trees():
    random, extra = fit(base="rf"), fit(base="et")
    assert same_forest(fit(base=0.0), random)
    assert same_forest(fit(base=1), extra)
    assert not same_forest(random, extra)
    # Random forests have thresholds half-way between counts, extra-trees have random ones.
    model = fit(n_estimators=40, trees_per_round=2, base=0.4)
    thresholds = model.forest_.threshold
    halves = np.isinf(thresholds) | (2 * np.where(np.isinf(thresholds), 0, thresholds) % 1 == 0)
    per_round = [
        halves[model.forest_.node_start[2 * m] : model.forest_.node_start[2 * m + 2]].all()
        for m in range(40)
    ]
    assert 40 * 0.6 - 10 < sum(per_round) < 40 * 0.6 + 10


def test_every_tree_has_its_own_bootstrap_sample(monkeypatch):
    drawn = []

    def record(*args):
        drawn.append(draw_weighted_counts(*args))
        return drawn[-1]

    monkeypatch.setattr(_boosting_loop.bag, "draw_weighted_counts", record)
    fit(n_estimators=30, trees_per_round=8)
    assert [len(counts) for counts in drawn] == [8] * 30
    assert len(np.unique(np.concatenate(drawn), axis=0)) == 30 * 8


# --- accuracy and out-of-bag predictions ---------------------------------------------------------


def test_boosting_improves_on_its_first_forest():
    pixels, digits = load_digits(return_X_y=True)
    model = fit(pixels[::2], digits[::2], n_estimators=30)
    staged = [
        accuracy_score(digits[1::2], votes.argmax(axis=1))
        for votes in model.staged_predict_proba(pixels[1::2])
    ]
    assert staged[0] < 0.93 < 0.96 < staged[-1]
    assert model.staged_oob_score_[-1] == pytest.approx(staged[-1], abs=0.02)
    assert len(staged) == 30


def test_staged_predict_proba_ends_with_predict_proba():
    model = fit(X, LABELS, tree_weights=True)
    stages = list(model.staged_predict_proba(sp.csr_array(X)))
    assert len(stages) == 8
    np.testing.assert_allclose(stages[-1], model.predict_proba(X), rtol=1e-12)
    first = fit(X, LABELS, tree_weights=True, n_estimators=1)
    np.testing.assert_allclose(stages[0], first.predict_proba(X), rtol=1e-12)
    for stage in stages:
        np.testing.assert_allclose(stage.sum(axis=1), 1)


@pytest.mark.parametrize("tree_weights", [False, True])
@pytest.mark.parametrize("criterion", ["gini", "entropy"])
def test_importances_are_weighted_by_tree_weights(monkeypatch, tree_weights, criterion):
    """Computed from the leaf statistics, which the model does not keep."""
    forests = []
    drop_leaf_stats = _boosting_loop.drop_leaf_stats
    monkeypatch.setattr(
        _boosting_loop,
        "drop_leaf_stats",
        lambda forest: forests.append(forest) or drop_leaf_stats(forest),
    )
    model = fit(n_estimators=3, criterion=criterion, tree_weights=tree_weights)
    assert not model.forest_.has_leaf_stats
    assert len(forests) == 3
    expected = importances(
        join(forests), 3, 40, entropy=criterion == "entropy", tree_weights=model.tree_weights_
    )
    np.testing.assert_allclose(model.feature_importances_, expected, rtol=1e-9, atol=1e-15)
    assert model.feature_importances_.sum() == pytest.approx(1)


@pytest.mark.parametrize("rule", ALL_RULES, ids=str)
def test_staged_oob_score_on_random_labels_is_chance(rule):
    scores = []
    for seed in range(4):
        rng = np.random.default_rng(seed)
        samples, labels = rng.poisson(1.0, (200, 30)), rng.permutation(200) % 2
        staged = fit(
            samples, labels, trees_per_round=8, learning_rate=1.0, random_state=seed, **rule
        ).staged_oob_score_
        scores.append(np.pad(staged, (0, 8 - len(staged)), mode="edge"))
    mean, error = np.mean(scores, axis=0), 0.5 / np.sqrt(4 * 200)
    assert (mean < 0.5 + 4 * error).all()
    if rule["oob_error"]:
        assert (mean > 0.5 - 4 * error).all()


@pytest.mark.parametrize("rule", ALL_RULES, ids=str)
def test_oob_votes_do_not_leak_labels(rule):
    """With 40 % random labels boosting continues, and these must be predicted by chance.

    Without `oob_error` they are predicted worse, as the docstring states.
    """
    right = []
    for seed in range(4):
        rng = np.random.default_rng(seed)
        samples, labels = make_counts(200, 40, 4, seed=seed, noise=0)
        is_noise = rng.random(200) < 0.4
        labels[is_noise] = rng.integers(0, 4, is_noise.sum())
        model = fit(samples, labels, n_estimators=20, random_state=seed, **rule)
        predictions = model._oob_votes.argmax(axis=1)
        right.extend((predictions == labels)[is_noise & (model.oob_count_ > 0)])
    error = np.sqrt(0.25 * 0.75 / len(right))
    assert np.mean(right) < 0.25 + 4 * error
    if rule["oob_error"]:
        assert np.mean(right) > 0.25 - 4 * error


def test_oob_score_without_oob_error_is_biased_downwards():
    """By at least half of what the docstring states."""
    rng = np.random.default_rng(0)
    samples, labels = rng.poisson(1.0, (400, 30)), rng.permutation(400) % 2
    model = fit(
        samples, labels, n_estimators=40, trees_per_round=8, oob_error=False, learning_rate=1.0
    )
    assert len(model.staged_oob_score_) == 40
    assert model.staged_oob_score_[-1] < 0.45


# --- cross-fitting -------------------------------------------------------------------------------


def find_left_out_folds(random_state):
    seed = np.random.RandomState(random_state).randint(MAX_SEED, size=2, dtype=np.int64)
    samples = np.random.default_rng(seed).permutation(len(Y))
    return assign_folds(Y, np.arange(len(Y)), 3, samples)


def test_cross_fitted_run_equals_boosting_without_its_fold():
    cross_fitted = fit(n_estimators=12, cross_fit=3)
    left_out = find_left_out_folds(random_state=0)
    for code in np.unique(Y):
        assert np.ptp(np.bincount(left_out[code == Y])) <= 1
    # The first run has the seeds of the first rounds, so that it can be reproduced.
    first = fit(X, Y, (left_out != 0).astype(float), n_estimators=4)
    assert same_forest(first, take_first(cross_fitted, 4))
    np.testing.assert_allclose(
        cross_fitted.oob_decision_function_[left_out == 0],
        first.predict_proba(X[left_out == 0]),
        atol=1e-12,
    )
    assert (cross_fitted.oob_count_ == 4 * 5).all()


@pytest.mark.parametrize("seed", range(4))
def test_labels_of_the_left_out_fold_do_not_affect_early_stopping(seed):
    how = {"n_iter_no_change": 2, "random_state": seed}
    cross_fitted = fit(n_estimators=60, cross_fit=3, **how)
    left_out = find_left_out_folds(random_state=seed)
    first = fit(X, Y, (left_out != 0).astype(float), n_estimators=20, **how)
    assert first.stop_reason_ == "n_iter_no_change"
    n_rounds = len(first.estimator_errors_)
    # Every tree of the first run votes on the fold that it left out.
    assert (cross_fitted.oob_count_[left_out == 0] == n_rounds * 5).all()
    assert same_forest(first, take_first(cross_fitted, n_rounds))


def take_first(model, n_rounds):
    """Return a model with the first rounds only."""
    first = clone(model)
    first.forest_ = take_trees(model.forest_, 0, n_rounds * model.trees_per_round)
    return first


def test_cross_fitted_runs_have_equal_weight():
    cross_fitted = fit(n_estimators=11, cross_fit=2, learning_rate=0.5)
    totals = cross_fitted.estimator_weights_[:6].sum(), cross_fitted.estimator_weights_[6:].sum()
    assert totals[0] == pytest.approx(totals[1])
    assert cross_fitted.tree_weights_.sum() == pytest.approx(sum(totals))
    assert cross_fitted.feature_importances_.sum() == pytest.approx(1)


def test_cross_fitting_reduces_the_bias_of_oob_predictions():
    gaps = {1: [], 5: []}
    for seed in range(3):
        samples, labels = make_counts(1200, 800, 2, seed, noise=0, spread=0.5)
        for cross_fit, found in gaps.items():
            how = {"trees_per_round": 8, "learning_rate": 0.3, "cross_fit": cross_fit}
            model = fit(samples[:600], labels[:600], n_estimators=100, **how)
            right = model.oob_decision_function_.argmax(axis=1) == labels[:600]
            found.append(model.score(samples[600:], labels[600:]) - right.mean())
    assert np.mean(gaps[1]) > 0.02
    assert np.mean(gaps[5]) < np.mean(gaps[1]) - 0.015


def test_cross_fitted_accuracy_on_random_labels_is_chance():
    rng = np.random.default_rng(4)
    samples, labels = rng.poisson(0.5, size=(900, 30)).astype(np.float32), rng.integers(3, size=900)
    votes = fit(samples, labels, n_estimators=20, cross_fit=4).oob_decision_function_
    right = np.mean(votes.argmax(axis=1) == labels)
    assert abs(right - 1 / 3) < 4 * np.sqrt(2 / 9 / 900)


def test_every_cross_fitted_run_stops_at_no_error():
    samples = np.repeat(np.eye(3, dtype=np.float32), 20, axis=0)
    model = fit(samples, np.repeat([0, 1, 2], 20), n_estimators=30, cross_fit=3)
    assert model.stop_reason_ == "no_error"
    assert len(model.estimator_weights_) == 3
    assert model.score(samples, np.repeat([0, 1, 2], 20)) == 1


@pytest.mark.parametrize("sizes", [(1, 1), (2, 1), (1, 7), (1, 1, 1, 5)])
def test_classes_smaller_than_the_number_of_runs(sizes):
    labels = np.repeat(np.arange(len(sizes)), sizes)
    model = fit(X[: len(labels)], labels, n_estimators=20, cross_fit=5)
    assert model.predict_proba(X).shape == (len(X), len(sizes))
    votes = model.oob_decision_function_
    assert np.allclose(votes[~np.isnan(votes).any(axis=1)].sum(axis=1), 1)


def test_samples_of_weight_zero_get_the_votes_of_all_runs():
    weights = np.ones(len(Y))
    weights[:10] = 0
    model = fit(X, Y, weights, n_estimators=9, cross_fit=3)
    np.testing.assert_allclose(
        model.oob_decision_function_[:10], model.predict_proba(X[:10]), atol=1e-12
    )
    assert (model.oob_count_[:10] == 9 * 5).all()


def test_groups_are_not_split_across_folds():
    rng = np.random.default_rng(0)
    groups = rng.permutation(np.repeat(np.arange(60), rng.integers(1, 6, size=60)))
    labels = (groups % 3).astype(np.uint32)
    left_out = assign_folds(labels, groups, 4, rng.permutation(len(labels)))
    assert all(len(np.unique(left_out[groups == group])) == 1 for group in range(60))
    for code in range(3):
        share = np.bincount(left_out[labels == code], minlength=4)
        assert share.min() > 0.7 * share.mean()


def test_groups_prevent_leakage_between_duplicates():
    """Unbiased predictions of random labels cannot be better than chance."""
    rng = np.random.default_rng(2)
    samples, labels = rng.poisson(0.7, size=(300, 30)), rng.integers(3, size=300)
    model = BoostedForestClassifier(20, cross_fit=4, random_state=0)
    right = {}
    for groups in (None, np.tile([f"g{i}" for i in range(300)], 2)):
        model.fit(np.vstack([samples, samples]), np.tile(labels, 2), groups=groups)
        found = model.oob_decision_function_.argmax(axis=1)[:300]
        right[groups is None] = np.mean(found == labels)
    assert abs(right[False] - 1 / 3) < 4 * np.sqrt(2 / 9 / 300)
    assert right[True] > 0.6


def test_sample_of_weight_zero_is_left_out_with_its_group():
    groups = np.arange(len(Y)) // 2
    weights = np.tile([1.0, 0.0], len(Y) // 2)
    model = BoostedForestClassifier(9, cross_fit=3, trees_per_round=5, random_state=0)
    model.fit(X[groups * 2], Y, weights, groups=groups)
    votes = model.oob_decision_function_
    np.testing.assert_array_equal(votes[1::2], votes[::2])
    assert (model.oob_count_ == 3 * 5).all()


def test_invalid_groups_raise():
    model = BoostedForestClassifier(4, cross_fit=2)
    with pytest.raises(
        ValueError, match="groups has a single group, which no cross-fitted run can"
    ):
        model.fit(X, Y, groups=np.zeros(len(Y)))
    with pytest.raises(ValueError, match="groups has 3 entries, but X has 160 samples"):
        model.fit(X, Y, groups=[1, 2, 3])


# --- stopping ----------------------------------------------------------------------------------


def test_stop_reason_n_estimators():
    assert fit(n_estimators=2).stop_reason_ == "n_estimators"


def test_stop_reason_no_error():
    samples = np.repeat(np.eye(3, dtype=np.float32), 20, axis=0)
    model = fit(samples, np.repeat([0, 1, 2], 20), max_features=None, base="rf")
    assert model.stop_reason_ == "no_error"
    assert model.estimator_errors_.tolist() == [0.0]
    expected = 0.1 * (np.log((1 - 1e-5) / 1e-5) + np.log(2))
    np.testing.assert_allclose(model.estimator_weights_, [expected])
    assert model.score(samples, np.repeat([0, 1, 2], 20)) == 1


def test_only_a_first_forest_at_chance_is_kept():
    rng = np.random.default_rng(1)
    reasons = []
    for seed in range(12):
        samples, labels = rng.poisson(1.0, (100, 10)), rng.integers(0, 2, 100)
        model = fit(samples, labels, trees_per_round=9, random_state=seed, n_estimators=50)
        errors = model.estimator_errors_
        reasons.append((model.stop_reason_, len(errors)))
        assert model.stop_reason_ == "chance"
        assert (errors[1:] < 0.5).all()
        if errors[0] >= 0.5:
            assert len(errors) == 1
            assert model.estimator_weights_.tolist() == [1.0]
        assert model.forest_.n_trees == 9 * len(errors)
        assert (model.estimator_weights_ > 0).all()
    assert len({n for _, n in reasons}) > 1


def test_samme_accepts_errors_above_one_half():
    samples, labels = make_counts(150, 30, 6, seed=3, noise=0.6)
    with_term, without = (
        fit(samples, labels, n_estimators=20, samme=term) for term in (True, False)
    )
    assert 0.5 < with_term.estimator_errors_[0] < 1 - 1 / 6
    assert len(with_term.estimator_errors_) > 1
    assert without.stop_reason_ == "chance"
    assert len(without.estimator_errors_) == 1


def test_single_sample_is_never_out_of_bag():
    model = fit([[1.0, 2.0]], ["only"])
    assert model.stop_reason_ == "no_oob_samples"
    assert np.isnan(model.estimator_errors_).tolist() == [True]
    assert np.isnan(model.staged_oob_score_).tolist() == [True]
    assert np.isnan(model.oob_decision_function_).all()
    assert model.predict([[0.0, 0.0]]).tolist() == ["only"]
    without = fit([[1.0, 2.0]], ["only"], oob_error=False, oob_updates=False)
    assert without.stop_reason_ == "no_error"


def test_single_class():
    model = fit(X, np.full(160, "same"))
    assert model.stop_reason_ == "no_error"
    assert model.predict_proba(X).tolist() == [[1.0]] * 160


def test_early_stopping():
    model = fit(n_estimators=200, n_iter_no_change=3)
    assert model.stop_reason_ == "n_iter_no_change"
    scores = model.staged_oob_score_
    assert len(scores) == scores.argmax() + 1 + 3
    whole = fit(n_estimators=len(scores))
    assert np.array_equal(scores, whole.staged_oob_score_)
    for n in range(1, len(scores)):
        assert n - 1 - scores[:n].argmax() < 3


# --- warm start ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "how",
    [{}, {"update": "per_tree", "oob_error": False}, {"base": 0.5, "tree_weights": True}],
    ids=str,
)
def test_warm_start_equals_a_single_fit(how):
    whole = fit(n_estimators=9, **how)
    model = fit(n_estimators=2, warm_start=True, **how)
    for n_estimators in (3, 9):
        model.set_params(n_estimators=n_estimators).fit(X, Y)
    assert same_forest(model, whole)
    assert same_results(model, whole)


def test_unpickled_model_continues_with_warm_start():
    whole = fit(n_estimators=6)
    model = pickle.loads(pickle.dumps(fit(n_estimators=4, warm_start=True)))
    model.set_params(n_estimators=6).fit(X, Y)
    assert same_forest(model, whole)
    assert same_results(model, whole)


def test_warm_start_continues_after_early_stopping():
    model = fit(n_estimators=200, n_iter_no_change=3, warm_start=True)
    n_rounds = len(model.staged_oob_score_)
    model.set_params(n_iter_no_change=None, n_estimators=n_rounds + 4).fit(X, Y)
    assert same_results(model, fit(n_estimators=n_rounds + 4))


def test_warm_start_errors_and_warnings():
    model = fit(n_estimators=3, warm_start=True)
    before = pickle.dumps(model.forest_)
    with pytest.warns(UserWarning, match="adds no rounds to the 3 .* 'n_estimators'"):
        model.fit(X, Y)
    with pytest.raises(ValueError, match="n_estimators=2 must be at least the 3 rounds"):
        copy_model(model, n_estimators=2).fit(X, Y)
    with pytest.raises(ValueError, match="trees_per_round=6 differs from the 5"):
        copy_model(model, trees_per_round=6, n_estimators=5).fit(X, Y)
    further = copy_model(model, n_estimators=5)
    for samples, labels, weights in (
        (X[::-1], Y, None),
        (X, Y[::-1], None),
        (X[:150], Y[:150], None),
        (X, Y, np.arange(160) + 1.0),
    ):
        with pytest.raises(ValueError, match="differ from the previous fit.* warm_start=False"):
            further.fit(samples, labels, weights)
    assert pickle.dumps(model.forest_) == before
    done = fit([[0.0], [1.0]] * 20, [0, 1] * 20, warm_start=True)
    done.set_params(n_estimators=50)
    with pytest.warns(UserWarning, match="adds no rounds to the 1 .* 'no_error'"):
        done.fit([[0.0], [1.0]] * 20, [0, 1] * 20)


def copy_model(model, **params):
    copy = pickle.loads(pickle.dumps(model))
    return copy.set_params(**params)


# --- reproducibility and weights -----------------------------------------------------------------


@pytest.mark.parametrize(
    "how", [{}, {"oob_updates": False, "update": "majority"}, {"cross_fit": 3}], ids=str
)
def test_n_jobs_does_not_change_the_result(how):
    samples, labels = make_counts(2100, 40, 3, seed=1)  # more than one block
    one, two = (fit(samples, labels, n_estimators=3, n_jobs=n, **how) for n in (1, 2))
    assert same_forest(one, two)
    assert same_results(one, two)
    assert one.predict_proba(samples).tobytes() == two.predict_proba(samples).tobytes()


def test_random_state_determines_the_forest():
    assert same_results(fit(random_state=1), fit(random_state=1))
    assert not same_forest(fit(random_state=1), fit(random_state=2))
    state = np.random.RandomState(1)
    assert same_forest(fit(random_state=state), fit(random_state=1))
    assert not same_forest(fit(random_state=state), fit(random_state=1))


@pytest.mark.parametrize("how", [{}, {"oob_error": False}], ids=str)
def test_samples_of_weight_zero_are_ignored_but_predicted(how):
    weights = np.random.default_rng(1).integers(0, 3, 160).astype(float)
    is_weighted = weights > 0
    weighted = BoostedForestClassifier(5, trees_per_round=4, random_state=0, **how)
    without = clone(weighted).fit(
        X[is_weighted], Y[is_weighted], sample_weight=weights[is_weighted]
    )
    weighted.fit(X, Y, sample_weight=weights)
    assert same_forest(weighted, without)
    assert np.array_equal(weighted.estimator_weights_, without.estimator_weights_)
    assert np.array_equal(weighted.staged_oob_score_, without.staged_oob_score_)
    assert np.array_equal(weighted.oob_count_[is_weighted], without.oob_count_)
    assert set(weighted.oob_count_[~is_weighted]) == {weighted.forest_.n_trees}
    np.testing.assert_allclose(
        weighted.oob_decision_function_[~is_weighted], weighted.predict_proba(X[~is_weighted])
    )


def test_oob_probabilities_sum_to_one_or_are_nan():
    model = fit(n_estimators=1, trees_per_round=2)
    has_votes = model.oob_count_ > 0
    assert 0 < has_votes.sum() < 160
    assert np.isnan(model.oob_decision_function_[~has_votes]).all()
    np.testing.assert_allclose(model.oob_decision_function_[has_votes].sum(axis=1), 1)


def test_dense_data():
    samples, labels = make_classification(300, 10, n_informative=6, random_state=0)
    model = fit(samples[:200], labels[:200], n_estimators=20)
    assert model.score(samples[200:], labels[200:]) > 0.8


# --- errors --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"n_estimators": 0}, "n_estimators must be an integer >= 1; got 0"),
        ({"trees_per_round": 2.5}, "trees_per_round must be an integer >= 1; got 2.5"),
        ({"base": "oak"}, r"base must be one of 'rf', 'et' or a number in \[0, 1\]; got 'oak'"),
        ({"base": 1.5}, r"base must be .* got 1.5"),
        ({"base": True}, r"base must be .* got True"),
        ({"update": "all"}, "update must be one of 'aggregate', .*; got 'all'"),
        ({"oob_error": "no"}, "oob_error must be True or False; got 'no'"),
        ({"oob_updates": None}, "oob_updates must be True or False; got None"),
        ({"samme": 1}, "samme must be True or False; got 1"),
        ({"tree_weights": "yes"}, "tree_weights must be True or False"),
        ({"cross_fit": 0}, "cross_fit must be"),
        ({"cross_fit": 9}, "cross_fit=9 must be at most n_estimators=8"),
        (
            {"cross_fit": 2, "warm_start": True},
            "warm_start=True requires cross_fit=1; got cross_fit=2",
        ),
        ({"learning_rate": 0}, "learning_rate must be a positive number; got 0"),
        ({"learning_rate": float("nan")}, "learning_rate must be"),
        ({"learning_rate": float("inf")}, "learning_rate must be"),
        ({"n_iter_no_change": 0}, "n_iter_no_change must be None or an integer >= 1; got 0"),
        ({"class_weight": "balanced_subsample"}, "class_weight must be one of None, 'balanced'"),
        ({"max_features": 0}, "max_features must be"),
        ({"random_state": "seed"}, "random_state must be"),
        ({"n_jobs": 0}, "n_jobs must be"),
    ],
    ids=str,
)
def test_invalid_parameter_raises(params, message):
    with pytest.raises(ValueError, match=message):
        fit(**params)


def test_unfitted_model_raises():
    model = BoostedForestClassifier()
    for predict in (
        model.predict,
        model.predict_proba,
        lambda X: next(model.staged_predict_proba(X)),
    ):
        with pytest.raises(NotFittedError):
            predict(X)
    assert not hasattr(model, "oob_decision_function_")
    assert not hasattr(model, "feature_importances_")


def test_fit_does_not_warn():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fit(base="rf", oob_error=False, oob_updates=False)
