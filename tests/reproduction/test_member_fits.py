import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import MultinomialNB

from cordwood import NeighborsClassifier, OOBStackingClassifier, RandomForestClassifier
from reproduction.member_fits import (
    MemberFit,
    Seconds,
    SplitFits,
    _read,
    _write,
    find_trial,
    fit_member,
    make_members,
    make_stack_folds,
)

SEED = 7


@pytest.fixture(scope="module")
def samples():
    rng = np.random.default_rng(0)
    y = np.repeat(["a", "b", "c"], 40)
    X = rng.poisson(1 + (np.arange(12) % 3 == np.repeat(range(3), 40)[:, None]), (120, 12))
    return X.astype(float), y


def test_members_have_the_predictions_of_the_stack(samples):
    X, y = samples
    members = {
        "nb": MultinomialNB(),
        "rf": RandomForestClassifier(10, random_state=0),
        "knn": NeighborsClassifier(5),
    }
    stack = OOBStackingClassifier(
        list(members.items()), LogisticRegression(), random_state=SEED, check_leakage=False
    ).fit(X[::2], y[::2])
    folds = make_stack_folds(y[::2], SEED)
    fits = SplitFits(
        y[::2],
        y[1::2],
        {
            name: fit_member(member, X[::2], y[::2], X[1::2], folds=folds, time_cv=False)
            for name, member in members.items()
        },
    )
    assert {name: fit.source for name, fit in fits.members.items()} == stack.oof_source_
    np.testing.assert_allclose(fits.stack_oof(list(members)), stack.meta_features_)
    np.testing.assert_allclose(fits.stack_test(list(members)), stack.transform(X[1::2]))
    expected = MultinomialNB().fit(X[::2], y[::2]).predict(X[1::2])
    np.testing.assert_array_equal(fits.predict("nb"), expected)


def test_time_of_cross_validation_is_measured_on_request(samples):
    X, y = samples
    folds = make_stack_folds(y, SEED)
    forest = RandomForestClassifier(5, random_state=0)
    seconds = [
        fit_member(forest, X, y, X, folds=folds, time_cv=time_cv).seconds.cv
        for time_cv in (False, True)
    ]
    assert np.isnan(seconds[0])
    assert seconds[1] > 0


def test_member_without_folds_has_test_predictions_only(samples):
    X, y = samples
    fit = fit_member(MultinomialNB(), X, y, X[:5], folds=[], time_cv=False)
    assert fit.source == ""
    assert fit.oof_proba.shape == (0, 3)
    assert fit.test_proba.shape == (5, 3)


def test_files_keep_everything(tmp_path):
    fit = MemberFit("nb", "cv", "v", Seconds(1.0, 2.0, 3.0, 4.0, 5.0), np.eye(2), np.eye(3))
    _write(tmp_path / "nb.npz", fit)
    found = _read(tmp_path / "nb.npz")
    assert found[:4] == fit[:4]
    np.testing.assert_array_equal(found.oof_proba, fit.oof_proba)
    np.testing.assert_array_equal(found.test_proba, fit.test_proba)


@pytest.mark.parametrize(("name", "alpha"), [("webkb", 0.001), ("20ng", 0.01)])
def test_members_have_the_parameters_of_the_plan(name, alpha):
    members = make_members(find_trial(name, 0), ["nbsvm"])
    assert list(members) == [
        *("boosted_rf", "lazy_rf", "boosted_et", "lazy_et", "svm", "nb", "knn", "rf", "et"),
        "nbsvm",
    ]
    assert members["nb"][-1].alpha == alpha
    assert members["boosted_et"][-1].cross_fit == 5


def test_data_set_without_plan_raises():
    with pytest.raises(SystemExit, match="'iris'"):
        find_trial("iris", 0)
