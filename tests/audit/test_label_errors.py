import numpy as np
import pytest

from cordwood.audit import find_label_errors
from cordwood.exceptions import DataError
from cordwood.oof import OOFPredictions
from cordwood.oof.fit import fit_with_oof
from cordwood.recipes import make


def make_oof(proba, y):
    proba = np.asarray(proba, float)
    classes = np.array([f"class {k}" for k in range(proba.shape[1])])
    return OOFPredictions(proba=proba, y=np.asarray(y), classes=classes, sources={})


def make_noisy(n_samples, n_classes, noise, seed):
    """Calibrated probabilities of separable classes, and labels of which some are wrong."""
    rng = np.random.default_rng(seed)
    true = rng.integers(n_classes, size=n_samples)
    logits = rng.normal(size=(n_samples, n_classes))
    logits[np.arange(n_samples), true] += 5
    proba = np.exp(logits)
    proba /= proba.sum(axis=1, keepdims=True)
    y = true.copy()
    wrong = rng.choice(n_samples, int(noise * n_samples), replace=False)
    y[wrong] = (true[wrong] + rng.integers(1, n_classes, len(wrong))) % n_classes
    return make_oof(proba, y), true


def oracle(proba, y):
    """Confident learning and self-confidence, sample by sample."""
    n_classes = len(proba[0])
    own = [p[label] for p, label in zip(proba, y, strict=True)]
    mean = [
        np.mean([p for p, label in zip(own, y, strict=True) if label == k])
        for k in range(n_classes)
    ]
    wrong = [i for i, p in enumerate(proba) if max(range(n_classes), key=lambda k: p[k]) != y[i]]
    n_errors = sum(max(proba[i]) >= mean[int(np.argmax(proba[i]))] - 1e-9 for i in wrong)
    return sorted(wrong, key=lambda i: own[i])[:n_errors]


@pytest.mark.parametrize("n_classes", [2, 5])
@pytest.mark.parametrize("seed", range(3))
def test_ranking_is_that_of_the_oracle(n_classes, seed):
    oof, _ = make_noisy(300, n_classes, 0.1, seed)
    found = find_label_errors(oof)
    assert found.ranking.tolist() == oracle(oof.proba.tolist(), oof.y.tolist())
    assert len(found.ranking) > 5


def test_planted_errors_are_found_with_their_true_labels():
    oof, true = make_noisy(1000, 4, 0.05, 0)
    found = find_label_errors(oof)
    is_wrong = oof.y != true
    assert is_wrong[found.ranking].mean() > 0.9
    assert is_wrong[found.ranking].sum() > 0.7 * is_wrong.sum()
    hits = found.ranking[is_wrong[found.ranking]]
    assert (found.suggested[hits] == true[hits]).mean() > 0.95
    np.testing.assert_allclose(found.confidence[hits], oof.proba[hits, found.suggested[hits]])
    assert (np.diff(found.self_confidence[found.ranking]) >= 0).all()


def test_correct_labels_are_not_reported():
    proba = np.array([[0.9, 0.1], [0.6, 0.4], [0.2, 0.8], [0.45, 0.55]])
    assert find_label_errors(make_oof(proba, [0, 0, 1, 1])).ranking.tolist() == []


def test_uncertain_predictions_are_not_errors():
    # Predicted as class 1 with less than the mean probability of its own samples.
    proba = np.array([[0.9, 0.1], [0.45, 0.55], [0.1, 0.9], [0.05, 0.95]])
    assert find_label_errors(make_oof(proba, [0, 0, 1, 1])).ranking.tolist() == []


def test_class_without_samples():
    proba = np.array([[0.5, 0.1, 0.4], [0.1, 0.2, 0.7], [0.2, 0.6, 0.2]])
    found = find_label_errors(make_oof(proba, [0, 0, 1]))
    assert np.isnan(found.thresholds[2])
    assert found.ranking.tolist() == []


def test_permuting_the_classes_permutes_the_suggestions():
    oof, _ = make_noisy(200, 3, 0.1, 1)
    order = np.array([2, 0, 1])
    permuted = make_oof(oof.proba[:, order], np.argsort(order)[oof.y])
    found, expected = find_label_errors(permuted), find_label_errors(oof)
    np.testing.assert_array_equal(found.ranking, expected.ranking)
    np.testing.assert_array_equal(order[found.suggested], expected.suggested)


def test_one_class():
    with pytest.raises(DataError, match="only one class"):
        find_label_errors(make_oof([[1.0], [1.0]], [0, 0]))


def test_errors_of_a_fitted_recipe():
    rng = np.random.default_rng(0)
    words = {"+": "good great fine nice".split(), "-": "bad awful poor sad".split()}
    labels = ["+", "-"] * 50
    texts = [" ".join(rng.choice(words[label], 4)) for label in labels]
    noisy = ["-" if i in (10, 40) else label for i, label in enumerate(labels)]
    _, oof = fit_with_oof(make("nb"), texts, np.array(noisy))
    found = find_label_errors(oof)
    assert sorted(found.ranking.tolist()) == [10, 40]
