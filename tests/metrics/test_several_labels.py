"""Scores of several labels per sample, against those of scikit-learn."""

import numpy as np
import pytest
from sklearn.metrics import (
    accuracy_score,
    f1_score,
    label_ranking_average_precision_score,
    log_loss,
    precision_recall_fscore_support,
)

from cordwood.metrics.evaluation import evaluate_oof, evaluate_predictions
from cordwood.metrics.predictions import Predictions, rank_labels
from cordwood.oof import OOFPredictions


def make_predictions(seed, n_samples=60, n_labels=5, share=0.3):
    """Predictions with ties and indicators, and random true labels."""
    rng = np.random.default_rng(seed)
    proba = rng.random((n_samples, n_labels)).round(1).clip(0.05, 0.95)
    classes = np.array([*"abcdefgh"[:n_labels]])
    indicators = proba > 0.6
    found = Predictions(
        labels=rank_labels(indicators, proba, classes),
        proba=proba,
        classes=classes,
        indicators=indicators,
    )
    return found, rng.random((n_samples, n_labels)) < share


def to_tuples(Y, classes):
    return [tuple(classes[row]) for row in Y]


@pytest.mark.parametrize("is_weighted", [False, True])
@pytest.mark.parametrize("seed", range(3))
def test_scores_equal_those_of_scikit_learn(seed, is_weighted):
    predictions, Y = make_predictions(seed)
    weights = np.random.default_rng(seed).random(len(Y)) if is_weighted else None
    found = evaluate_predictions(
        to_tuples(Y, predictions.classes), predictions, weights, n_resamples=0
    )
    y_pred, params = predictions.indicators, {"sample_weight": weights}
    losses = [
        log_loss(Y[:, i], predictions.proba[:, i], labels=[False, True], **params)
        for i in range(Y.shape[1])
    ]
    assert {name: float(found.scores[name]) for name in found.scores} == pytest.approx(
        {
            "accuracy": accuracy_score(Y, y_pred, **params),
            "micro_f1": f1_score(Y, y_pred, average="micro", **params),
            "macro_f1": f1_score(Y, y_pred, average="macro", **params),
            "samples_f1": f1_score(Y, y_pred, average="samples", zero_division=1.0, **params),
            "ranking_precision": label_ranking_average_precision_score(
                Y, predictions.proba, **params
            ),
            "log_loss": np.mean(losses),
            "calibration_error": float(found.calibration_error),
        }
    )
    by_label = np.array(precision_recall_fscore_support(Y, y_pred, zero_division=0.0, **params))
    shown = np.array([[*vars(each).values()][1:] for each in found.classes], float).T
    assert np.allclose(shown[:3], by_label[:3])
    assert np.array_equal(shown[3], Y.sum(axis=0))


@pytest.mark.parametrize("share", [0.0, 1.0])
def test_samples_with_no_or_all_labels(share):
    """Without any label, nothing is wrong; the ranking of none or all labels is perfect."""
    predictions, Y = make_predictions(0, share=share)
    found = evaluate_predictions(to_tuples(Y, predictions.classes), predictions)
    expected = label_ranking_average_precision_score(Y, predictions.proba)
    assert found.scores["ranking_precision"] == expected == 1.0
    nothing = Predictions(
        labels=rank_labels(Y, predictions.proba, predictions.classes),
        proba=predictions.proba,
        classes=predictions.classes,
        indicators=Y,
    )
    perfect = evaluate_predictions(to_tuples(Y, predictions.classes), nothing)
    for name in ("accuracy", "micro_f1", "macro_f1", "samples_f1"):
        assert perfect.scores[name] == 1.0, name


@pytest.mark.parametrize("seed", range(2))
def test_limits_are_percentiles_of_resamples(seed):
    predictions, Y = make_predictions(seed, n_samples=50)
    found = evaluate_predictions(to_tuples(Y, predictions.classes), predictions)
    rng = np.random.default_rng(0)
    blocks = [rng.integers(0, 50, size=(n, 50)) for n in [64] * 15 + [40]]
    scores = {"micro_f1": [], "ranking_precision": []}
    for taken in np.vstack(blocks):
        y_true, y_pred = Y[taken], predictions.indicators[taken]
        scores["micro_f1"].append(f1_score(y_true, y_pred, average="micro"))
        scores["ranking_precision"].append(
            label_ranking_average_precision_score(y_true, predictions.proba[taken])
        )
    for name, values in scores.items():
        low, high = np.percentile(values, [2.5, 97.5])
        assert (found.scores[name].low, found.scores[name].high) == pytest.approx((low, high)), name


def test_intervals_contain_their_estimates():
    for seed in range(10):
        predictions, Y = make_predictions(seed, n_samples=8, share=0.1)
        found = evaluate_predictions(to_tuples(Y, predictions.classes), predictions)
        for name, score in [*found.scores.items(), *((c.label, c.f1) for c in found.classes)]:
            assert score.low <= score <= score.high, name


def test_out_of_fold_scores_are_those_of_predictions():
    predictions, Y = make_predictions(0)
    oof = OOFPredictions(
        proba=predictions.proba, y=Y, classes=predictions.classes, sources={"svm": "cv"}
    )
    found = evaluate_oof(oof, predictions.indicators)
    expected = evaluate_predictions(to_tuples(Y, predictions.classes), predictions)
    assert [*map(float, found.scores.values())] == [*map(float, expected.scores.values())]
    assert found.confusion is None
    assert found.confused_pairs() == []


def test_labels_that_are_not_in_the_training_set_count_as_errors():
    predictions, _ = make_predictions(0, n_samples=2)
    y_true = [(*each, "z") for each in predictions.labels]
    found = evaluate_predictions(y_true, predictions)
    assert found.unseen_labels == {"z": 2}
    assert found.accuracy == 0
    n_found = predictions.indicators.sum()
    assert found.scores["micro_f1"] == pytest.approx(2 * n_found / (2 * n_found + 2))


def test_tables_of_predictions():
    predictions, _ = make_predictions(0, n_samples=3)
    frame = predictions.to_frame()
    assert frame["label"].tolist() == [";".join(each) for each in predictions.labels]
    assert "probability" not in frame
    assert "<th>labels</th>" in predictions._repr_html_()
