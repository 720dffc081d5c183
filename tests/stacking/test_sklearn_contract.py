"""The conventions of scikit-learn's meta-estimators, as `StackingClassifier` has them."""

import copy
import pickle

import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.datasets import load_digits
from sklearn.exceptions import UnsetMetadataPassedError
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.feature_selection import SelectKBest, chi2
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.model_selection import GroupKFold, GroupShuffleSplit
from sklearn.naive_bayes import MultinomialNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from cordwood._base.sklearn_private import NoCallbackSupport
from cordwood.ensemble.forests import RandomForestClassifier
from cordwood.persist import load, save
from cordwood.stacking.combiners import LogarithmicPool
from cordwood.stacking.oob_stacking import OOBStackingClassifier

X, Y = (part[:300] for part in load_digits(return_X_y=True))
WEIGHTS = np.linspace(0.5, 2, len(Y))
TEXTS = [f"{'goal team' if n % 2 else 'bread soup'} w{n % 7}" for n in range(60)]
TEXT_LABELS = np.array(["sport", "food"])[(np.arange(60) + 1) % 2]


def stack(estimators, final=None, **params):
    params = {"check_leakage": False, "random_state": 0, **params}
    return OOBStackingClassifier(estimators, final, **params)


class RecordingNB(MultinomialNB):
    """Naive Bayes that records the metadata of each fit of all instances."""

    fits: list[tuple] = []

    def fit(self, X, y, sample_weight=None, groups=None):
        self.fits.append((len(y), sample_weight, groups))
        return super().fit(X, y, sample_weight)


@pytest.fixture(autouse=True)
def _no_recorded_fits(monkeypatch):
    monkeypatch.setattr(RecordingNB, "fits", [])


@parametrize_with_checks(
    [
        OOBStackingClassifier(
            [("rf", RandomForestClassifier(5, random_state=0)), ("linear", LogisticRegression())],
            cv=3,
            random_state=0,
            passthrough=passthrough,
            check_leakage=not passthrough,
        )
        for passthrough in (False, True)
    ],
    expected_failed_checks=lambda _: dict.fromkeys(
        [
            "check_sample_weight_equivalence_on_dense_data",
            "check_sample_weight_equivalence_on_sparse_data",
        ],
        "bootstrap samples and folds are drawn by sample, not by weight",
    ),
)
def test_estimator_checks_with_the_default_final_estimators(estimator, check):
    check(estimator)


def test_default_final_estimators():
    estimators = [("nb", MultinomialNB())]
    assert isinstance(stack(estimators).fit(X, Y).final_estimator_, LogarithmicPool)
    final = stack(estimators, passthrough=True).fit(X, Y).final_estimator_
    assert isinstance(final, LogisticRegression)


def test_default_final_estimator_with_passthrough_converges_on_tfidf():
    vectorizer = TfidfVectorizer()
    model = stack([("nb", MultinomialNB())], passthrough=True)
    model.fit(vectorizer.fit_transform(TEXTS), TEXT_LABELS)  # a ConvergenceWarning is an error
    assert model.score(vectorizer.transform(TEXTS), TEXT_LABELS) == 1.0


def test_sample_weight_reaches_all_estimators():
    estimators = [
        ("nb", RecordingNB()),
        ("pipeline", make_pipeline(MinMaxScaler(), RecordingNB())),
        ("supervised", make_pipeline(SelectKBest(chi2, k=30), RecordingNB())),
    ]
    stack(estimators, RecordingNB(), cv=2).fit(X, Y, sample_weight=WEIGHTS)
    assert len(RecordingNB.fits) == 3 * 3 + 1
    assert sorted({n for n, _, _ in RecordingNB.fits}) == [150, 300]
    for n_samples, weights, _ in RecordingNB.fits:
        assert weights is not None and len(weights) == n_samples
    whole = [weights for n_samples, weights, _ in RecordingNB.fits if n_samples == 300]
    assert all(np.array_equal(weights, WEIGHTS) for weights in whole)


@pytest.mark.parametrize(
    ("estimators", "final", "names"),
    [
        ([("knn", KNeighborsClassifier()), ("nb", MultinomialNB())], None, "'knn'"),
        (
            [("a", make_pipeline(KNeighborsClassifier())), ("b", KNeighborsClassifier())],
            None,
            "'a', 'b'",
        ),
        ([("nb", MultinomialNB())], KNeighborsClassifier(), "'final_estimator'"),
    ],
)
def test_unsupported_sample_weight_raises(estimators, final, names):
    with pytest.raises(ValueError, match=f"sample_weight is not supported by {names}; remove"):
        stack(estimators, final).fit(X, Y, sample_weight=WEIGHTS)


def test_prefit_estimators_need_not_support_sample_weight():
    knn = KNeighborsClassifier().fit(X, Y)
    model = stack([("knn", knn)], RecordingNB(), cv="prefit").fit(X, Y, sample_weight=WEIGHTS)
    assert model.estimators_ == [knn]
    assert np.array_equal(RecordingNB.fits[0][1], WEIGHTS)


def test_unknown_fit_parameters_raise_without_routing():
    with pytest.raises(TypeError, match="unexpected parameters 'color'; .*enable_metadata_routing"):
        stack([("nb", MultinomialNB())]).fit(X, Y, color="red")


def test_metadata_is_routed_to_the_estimators_that_request_it():
    groups = np.arange(300) // 3
    with sklearn.config_context(enable_metadata_routing=True):
        estimators = [
            ("weights", RecordingNB().set_fit_request(sample_weight=True, groups=False)),
            (
                "groups",
                make_pipeline(
                    MinMaxScaler(), RecordingNB().set_fit_request(sample_weight=False, groups=True)
                ),
            ),
            ("knn", KNeighborsClassifier()),
        ]
        model = stack(estimators, cv=GroupKFold(2))
        model.fit(X, Y, sample_weight=WEIGHTS, groups=groups)
    assert len(RecordingNB.fits) == 6
    for n_samples, weights, fold_groups in RecordingNB.fits:
        assert (weights is None) != (fold_groups is None)
        given = weights if fold_groups is None else fold_groups
        assert len(given) == n_samples
        if fold_groups is not None and n_samples < 300:
            assert len(np.unique(fold_groups)) == 50
    assert model.oof_source_ == dict.fromkeys(["weights", "groups", "knn"], "cv")


def test_pipelines_whose_transformers_request_metadata_are_fitted_whole():
    with sklearn.config_context(enable_metadata_routing=True):
        scaler = StandardScaler().set_fit_request(sample_weight=True)
        linear = LogisticRegression(max_iter=500).set_fit_request(sample_weight=False)
        model = stack([("a", make_pipeline(scaler, linear))]).fit(X, Y, sample_weight=WEIGHTS)
    mean = np.average(X, axis=0, weights=WEIGHTS)
    np.testing.assert_allclose(model.estimators_[0][0].mean_, mean)


def test_metadata_without_a_request_raises():
    with sklearn.config_context(enable_metadata_routing=True):
        with pytest.raises(UnsetMetadataPassedError, match=r"sample_weight.*MultinomialNB"):
            stack([("nb", MultinomialNB())]).fit(X, Y, sample_weight=WEIGHTS)
        with pytest.raises(TypeError, match="color"):
            stack([("nb", MultinomialNB())]).fit(X, Y, color=WEIGHTS)


def test_groups_are_routed_to_splitters_by_default():
    class Splitter(GroupShuffleSplit):
        def split(self, X, y=None, groups=None):
            assert groups is not None
            return super().split(X, y, groups)

    with sklearn.config_context(enable_metadata_routing=True):
        model = stack([("nb", MultinomialNB())], cv=Splitter(2, random_state=0))
        model.fit(X, Y, groups=np.arange(300) // 2)
        assert "cv" in model.get_metadata_routing()._serialize()


def test_feature_names_and_set_output():
    model = stack([("nb", MultinomialNB()), ("knn", KNeighborsClassifier())])
    model.fit(TfidfVectorizer().fit_transform(TEXTS), TEXT_LABELS)
    names = [
        f"oobstackingclassifier_{name}_{label}"
        for name in ("nb", "knn")
        for label in ("food", "sport")
    ]
    assert model.get_feature_names_out().tolist() == names
    frame = pd.DataFrame(X, index=np.arange(300) + 7)
    model = stack([("nb", MultinomialNB())]).fit(frame, Y)
    expected = model.transform(frame), model.predict(frame), model.predict_proba(frame)
    transformed = model.set_output(transform="pandas").transform(frame)
    assert isinstance(transformed, pd.DataFrame)
    assert transformed.columns.tolist() == model.get_feature_names_out().tolist()
    assert transformed.index.tolist() == frame.index.tolist()
    assert np.array_equal(transformed, expected[0])
    assert np.array_equal(model.predict(frame), expected[1])
    assert np.array_equal(model.predict_proba(frame), expected[2])


class LabelsOnly(ClassifierMixin, BaseEstimator):
    """A classifier without probabilities and decision values."""

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self

    def predict(self, X):
        return np.full(len(X), self.classes_[0])


@pytest.mark.parametrize(
    ("final", "passthrough", "methods"),
    [
        (None, False, {"predict", "predict_proba"}),
        (None, True, {"predict", "predict_proba", "decision_function"}),
        (RidgeClassifier(), False, {"predict", "decision_function"}),
        (LabelsOnly(), False, {"predict"}),
    ],
)
def test_prediction_methods_are_those_of_the_final_estimator(final, passthrough, methods):
    model = stack([("nb", MultinomialNB())], final, passthrough=passthrough)
    for fitted in (model, clone(model).fit(X, Y)):
        for method in ("predict", "predict_proba", "decision_function"):
            assert hasattr(fitted, method) == (method in methods)
    features = model.fit(X, Y).transform(X)
    if passthrough:
        features = np.hstack([features, X])
    for method in methods:
        expected = getattr(model.final_estimator_, method)(features)
        np.testing.assert_array_equal(getattr(model, method)(X), expected)


def test_stack_method():
    estimators = [("nb", MultinomialNB()), ("ridge", RidgeClassifier()), ("labels", LabelsOnly())]
    model = stack(estimators).fit(X, Y)
    assert model.stack_method_ == ["predict_proba", "decision_function", "predict"]
    assert model.transform(X)[:, 20:].tolist() == np.eye(10)[np.zeros(300, int)].tolist()


def test_html_representation_shows_all_estimators():
    html = stack([("nb", MultinomialNB()), ("off", "drop")], RidgeClassifier())._repr_html_()
    for part in ("MultinomialNB", "off", "RidgeClassifier", "final_estimator"):
        assert part in html
    assert "LogarithmicPool" in stack([("nb", MultinomialNB())])._repr_html_()


def test_named_estimators():
    model = stack([("nb", MultinomialNB()), ("knn", "drop")]).fit(X, Y)
    assert model.named_estimators.nb is model.estimators[0][1]
    assert model.named_estimators_.nb is model.estimators_[0]
    assert model.estimators_ is model.estimators_


@pytest.mark.parametrize(
    "copy_model",
    [
        lambda model, _: pickle.loads(pickle.dumps(model)),
        lambda model, _: copy.deepcopy(model),
        lambda model, folder: load(save(model, folder / "model", precision="full")),
    ],
    ids=["pickle", "deepcopy", "file"],
)
def test_shared_steps_stay_shared_in_copies(copy_model, tmp_path):
    estimators = [
        ("a", make_pipeline(MinMaxScaler(), MultinomialNB())),
        ("b", make_pipeline(MinMaxScaler(), MultinomialNB(alpha=2.0))),
        ("c", make_pipeline(MultinomialNB())),
        ("d", MultinomialNB()),
    ]
    model = stack(estimators).fit(X, Y)
    copied = copy_model(model, tmp_path)
    assert copied.predict_proba(X).tobytes() == model.predict_proba(X).tobytes()
    a, b, c, d = copied.estimators_
    assert a[0] is b[0] and a[0] is copied._shared_steps[1][0][1]
    assert [len(pipeline.steps) for pipeline in (a, b, c)] == [2, 2, 1]
    assert isinstance(d, MultinomialNB)
    assert np.array_equal(a.predict(X), model.estimators_[0].predict(X))


@pytest.mark.parametrize(
    ("samples", "labels", "message"),
    [
        ("one text", ["a"], "X must be a sequence of samples, .* got one string"),
        (TEXTS, "a", "y must be a sequence of labels; got one string"),
        (TEXTS[:3], ["a", "b"], "same length; got 3 samples and 2 labels"),
        (TEXTS[:3], ["a", None, "b"], r"y\[1\] is None; every sample needs a label"),
        (X[:3], [0.0, 1.0, np.nan], r"y\[2\] is nan; every sample needs a label"),
        (
            TEXTS[:2],
            pd.Series(["a", pd.NA], index=[5, 6]),
            r"y\[1\] is .*; every sample needs a label",
        ),
        (X[:3], [1, 1, 1], "at least two classes; got one class, 1"),
    ],
)
def test_invalid_samples_or_labels_raise(samples, labels, message):
    with pytest.raises(ValueError, match=message):
        stack([("nb", MultinomialNB())]).fit(samples, labels)


def test_predicting_a_single_string_raises():
    model = stack([("nb", make_pipeline(TfidfVectorizer(), MultinomialNB()))])
    model.fit(TEXTS, TEXT_LABELS)
    with pytest.raises(ValueError, match="got one string"):
        model.predict("goal team")


def test_callbacks_receive_each_task():
    pytest.importorskip("sklearn.callback", reason="needs scikit-learn 1.9")

    class Recorder:
        def __init__(self):
            self.begun, self.ended, self.fitted = [], [], []

        def setup(self, estimator, context):
            pass

        def teardown(self, estimator, context):
            pass

        def on_fit_task_begin(self, estimator, context):
            self.begun.append(context.task_name)

        def on_fit_task_end(self, estimator, context, *, X, y, fitted_estimator):
            self.ended.append(context.task_name)
            if fitted_estimator is not None:
                self.fitted.append(fitted_estimator.predict_proba(X))

    recorder = Recorder()
    estimators = [("forest", RandomForestClassifier(10, random_state=0)), ("nb", MultinomialNB())]
    model = stack(estimators, cv=3, check_leakage=True, n_jobs=2)
    plain = clone(model).fit(X, Y)
    model.set_callbacks(recorder).fit(X, Y)
    fits = ["fit-forest", "fit-nb", "fit-nb-fold-0", "fit-nb-fold-1", "fit-nb-fold-2"]
    others = ["fit-shared-steps", "fit-base-estimators", "fit-final-estimator", "check-leakage"]
    assert sorted(recorder.begun) == sorted(recorder.ended) == sorted(["fit", *fits, *others])
    assert recorder.begun[0] == recorder.ended[-1] == "fit"
    (proba,) = recorder.fitted
    assert proba.tobytes() == model.predict_proba(X).tobytes() == plain.predict_proba(X).tobytes()
    assert model.oof_optimism_ == plain.oof_optimism_


def test_without_callback_support_the_model_is_the_same():
    """As on scikit-learn before 1.9, where the stand-in replaces the mixin."""
    Old = type("OOBStackingClassifier", (NoCallbackSupport, OOBStackingClassifier), {})
    estimators = [("forest", RandomForestClassifier(5, random_state=0)), ("nb", MultinomialNB())]
    old, new = (
        Stack(estimators, cv=3, check_leakage=True, random_state=0).fit(X, Y)
        for Stack in (Old, OOBStackingClassifier)
    )
    assert old.predict_proba(X).tobytes() == new.predict_proba(X).tobytes()
