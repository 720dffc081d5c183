from dataclasses import replace

import numpy as np
import pytest

from cordwood.metrics import LearningCurveEstimate
from cordwood.metrics._power_law import PowerLaws
from cordwood.reports.charts import Estimate
from cordwood.reports.model_records import (
    Abstention,
    AbstentionThreshold,
    ClassSummary,
    ConfusedPair,
    Confusion,
    ModelFacts,
    ModelSummary,
    ScoreEstimates,
    ScoreSummary,
    SuspectLabels,
)
from cordwood.reports.next_steps import list_next_steps


def make_scores(accuracy=(0.95, 0.94, 0.96), calibration_error=0.01, n_samples=1000):
    unused = Estimate(0.5, 0.4, 0.6)
    return ScoreSummary(
        n_samples=n_samples,
        n_groups=None,
        confidence_level=0.95,
        scores=ScoreEstimates(
            accuracy=Estimate(*accuracy),
            macro_f1=unused,
            log_loss=unused,
            calibration_error=Estimate(calibration_error, 0.0, 1.0),
        ),
        baselines={},
        class_f1={},
    )


def make_class(label, n_samples, f1):
    return ClassSummary(
        label=label,
        n_samples=n_samples,
        precision=f1,
        recall=f1,
        f1=f1,
        n_missed=0,
        n_false=0,
        log_loss=None,
        confused_with=None,
        n_confused=0,
    )


def make_facts(recipe):
    return ModelFacts(
        name="m",
        classifier="c",
        recipe=recipe,
        data=None,
        created=None,
        fingerprint=None,
        versions={},
        columns={},
        n_train=None,
        training={},
        params={},
    )


def make_summary(**changes):
    """A summary of a good model, about which there is nothing to advise."""
    good = ModelSummary(
        name="m",
        classes=["a", "b"],
        data=None,
        decision=None,
        source="test",
        scores=make_scores(),
        suspects=SuspectLabels(0, []),
        by_class=[make_class("a", 500, 0.95)],
        members=None,
        provenance=make_facts("quick"),
    )
    return replace(good, **changes)


# The first law is that of the scores: a loss of 0.042 with 100 samples, and of 0.021 with 200.
CURVE = LearningCurveEstimate(
    scoring="accuracy",
    sizes=(10, 100),
    scores=np.array([[0.6, 0.9]]),
    n_samples=100,
    confidence_level=0.95,
    laws=PowerLaws(a=np.zeros(3), b=np.array([4.2, 2.0, 6.0]), c=np.ones(3)),
)
PAIR = ConfusedPair(true="a", predicted="b", n=9, share=0.3, examples=[])
CONFUSION = Confusion(n_errors=9, n_classes=2, n_shown_errors=9, groups=[], pairs=[PAIR])


def test_good_model_needs_no_advice():
    assert list_next_steps(make_summary()) == []
    assert list_next_steps(make_summary(scores=None)) == []


@pytest.mark.parametrize(
    ("changes", "advice"),
    [
        ({"suspects": SuspectLabels(12, [])}, "Check labels: 12 of 1,000 may be wrong"),
        (
            {"by_class": [make_class("rare", 7, 0.2)]},
            "Label more samples of the classes that are both small and weak: rare (7)",
        ),
        (
            {"curve": CURVE},
            "twice as many would add about 2.1 percentage points",
        ),
        (
            {"confusion": CONFUSION},
            "30 % of the samples of a are predicted as b",
        ),
        (
            {"abstention": Abstention([], [AbstentionThreshold(0.02, 0.9, 0.7, 0.01)])},
            "a probability below 0.90 are left to them, 70 % are decided, with at most 2 % errors",
        ),
    ],
)
def test_advice_follows_from_the_summary(changes, advice):
    (step,) = list_next_steps(make_summary(**changes))
    assert advice in step


def test_wide_interval_and_poor_calibration_are_mentioned():
    scores = make_scores((0.9, 0.6, 1.0), calibration_error=0.12, n_samples=20)
    steps = list_next_steps(make_summary(scores=scores))
    assert "between 60 and 100 %" in steps[0]
    assert "wrong by 12 percentage points" in steps[1]


def test_training_scores_do_not_accuse_labels():
    summary = make_summary(source="training", suspects=SuspectLabels(5, []))
    assert list_next_steps(summary) == []
