import numpy as np
from sklearn.datasets import make_multilabel_classification
from sklearn.ensemble import RandomForestClassifier as SklearnForest
from sklearn.linear_model import LogisticRegression
from sklearn.multiclass import OneVsRestClassifier
from sklearn.neighbors import KNeighborsClassifier

from cordwood import LinearSVMClassifier, NeighborsClassifier, RandomForestClassifier
from cordwood.multilabel.members import make_multilabel, predict_label_proba
from cordwood.multilabel.problem_transformation import BinaryRelevance, LabelPowerset

X, Y = make_multilabel_classification(150, n_features=12, n_classes=4, random_state=1)
NEW, _ = make_multilabel_classification(40, n_features=12, n_classes=4, random_state=2)
# Counts have equal distances; without ties, the neighbors are unique.
X = (X + np.random.default_rng(0).random(X.shape)).astype(np.float32)


def test_binary_relevance_equals_one_vs_rest():
    own = BinaryRelevance(LogisticRegression(max_iter=1000), n_jobs=2).fit(X, Y)
    reference = OneVsRestClassifier(LogisticRegression(max_iter=1000)).fit(X, Y)
    assert np.array_equal(own.predict_proba(NEW), reference.predict_proba(NEW))
    assert np.array_equal(own.predict(NEW), reference.predict(NEW))


def test_label_powerset_of_neighbors_equals_multilabel_neighbors():
    own = LabelPowerset(NeighborsClassifier(7, weights="uniform", metric="euclidean")).fit(X, Y)
    reference = KNeighborsClassifier(7).fit(X, Y)
    expected = np.column_stack([each[:, 1] for each in reference.predict_proba(NEW)])
    assert np.allclose(own.predict_proba(NEW), expected)


def test_leave_one_out_of_label_powerset_equals_refits():
    model = LabelPowerset(NeighborsClassifier(7)).fit(X, Y)
    for left_out in (0, 50, 149):
        rest = np.delete(np.arange(150), left_out)
        refit = LabelPowerset(NeighborsClassifier(7)).fit(X[rest], Y[rest])
        expected = refit.predict_proba(X[[left_out]])[0]
        assert np.allclose(model.oof_proba("loo")[left_out], expected)


def test_forest_leaves_vote_for_all_labels():
    """A fully grown tree without bootstrap samples predicts the labels of its training samples."""
    forest = RandomForestClassifier(5, bootstrap=False, random_state=0)
    model = LabelPowerset(forest).fit(X, Y)
    assert np.allclose(model.predict_proba(X), Y)


def test_constant_labels():
    indicators = np.column_stack([Y[:, 0], np.zeros(150), np.ones(150)])
    for model in (BinaryRelevance(LogisticRegression()), LabelPowerset(NeighborsClassifier())):
        proba = model.fit(X, indicators).predict_proba(NEW)
        assert np.allclose(proba[:, 1:], [0.0, 1.0])
    same = LabelPowerset(NeighborsClassifier()).fit(X, np.tile([1, 0], (150, 1)))
    assert np.array_equal(same.predict(NEW), np.tile([1, 0], (40, 1)))


def test_multilabel_classifiers_of_scikit_learn_are_used_as_they_are():
    forest = SklearnForest(5, random_state=0)
    assert isinstance(make_multilabel(forest, 4), SklearnForest)
    fitted = forest.fit(X, np.column_stack([Y, np.zeros(150, int)]))
    proba = predict_label_proba(fitted, NEW)
    assert proba.shape == (40, 5)
    assert np.allclose(proba[:, 0], fitted.predict_proba(NEW)[0][:, 1])
    assert not proba[:, 4].any()


def test_linear_svm_of_indicators_equals_binary_svms():
    params = {"C": 0.3, "tol": 1e-8, "temperature": 0.5, "random_state": 0}
    model = LinearSVMClassifier(**params).fit(X, Y)
    for label in range(4):
        binary = LinearSVMClassifier(**params).fit(X, Y[:, label])
        assert np.allclose(model.coef_[label], binary.coef_[0], atol=1e-5)
        proba = binary.predict_proba(NEW)[:, 1]
        assert np.allclose(model.predict_proba(NEW)[:, label], proba, atol=1e-5)
        assert np.array_equal(model.predict(NEW)[:, label], binary.predict(NEW))


def test_balanced_linear_svm_of_indicators_equals_balanced_binary_svms():
    params = {"tol": 1e-8, "temperature": 1.0, "class_weight": "balanced", "random_state": 0}
    model = LinearSVMClassifier(**params).fit(X, Y)
    binary = LinearSVMClassifier(**params).fit(X, Y[:, 2])
    assert np.allclose(model.coef_[2], binary.coef_[0], atol=1e-5)


def test_temperature_of_indicators_calibrates():
    """The fitted temperature has a lower log loss on new samples than a tenth or ten times it."""
    X_all, Y_all = make_multilabel_classification(1200, n_features=12, n_classes=4, random_state=3)
    model = LinearSVMClassifier(random_state=0).fit(X_all[:600], Y_all[:600])
    margins, targets = model.decision_function(X_all[600:]), Y_all[600:]

    def log_loss(temperature):
        scores = margins / temperature
        return (np.logaddexp(0, scores) - targets * scores).mean()

    fitted = log_loss(model.temperature_)
    assert fitted < min(log_loss(0.1 * model.temperature_), log_loss(10 * model.temperature_))
