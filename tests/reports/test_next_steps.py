import pytest

from cordwood.reports.next_steps import list_next_steps


def make_summary(**changes):
    """A summary of a good model, about which there is nothing to advise."""
    interval = {"value": 0.95, "low": 0.94, "high": 0.96}
    return {
        "source": "test",
        "scores": {
            "n_samples": 1000,
            "scores": {"accuracy": interval, "calibration_error": {"value": 0.01}},
        },
        "suspects": {"n": 0, "samples": []},
        "by_class": [{"label": "a", "n_samples": 500, "f1": 0.95}],
        "curve": None,
        "confusion": {"pairs": []},
        "abstention": {"thresholds": []},
        "provenance": {"recipe": "best"},
        **changes,
    }


def test_good_model_needs_no_advice():
    assert list_next_steps(make_summary()) == []
    assert list_next_steps(make_summary(scores=None)) == []


@pytest.mark.parametrize(
    ("changes", "advice"),
    [
        ({"suspects": {"n": 12, "samples": []}}, "Check labels: 12 of 1,000 are probably wrong"),
        (
            {"by_class": [{"label": "rare", "n_samples": 7, "f1": 0.2}]},
            "Label more samples of the classes that are both small and weak: rare (7)",
        ),
        (
            {"curve": {"scoring": "accuracy", "gain": {"value": 0.021, "low": 0.01}}},
            "twice as many would add about 2.1 percentage points",
        ),
        (
            {"confusion": {"pairs": [{"true": "a", "predicted": "b", "n": 9, "share": 0.3}]}},
            "30 % of the samples of a are predicted as b",
        ),
        (
            {
                "abstention": {
                    "thresholds": [{"max_error": 0.02, "confidence": 0.9, "decided": 0.7}]
                }
            },
            "a probability below 0.90 are left to them, 70 % are decided, with at most 2 % errors",
        ),
        ({"provenance": {"recipe": "quick"}}, "Try the recipe best"),
    ],
)
def test_advice_follows_from_the_summary(changes, advice):
    (step,) = list_next_steps(make_summary(**changes))
    assert advice in step


def test_wide_interval_and_poor_calibration_are_mentioned():
    scores = {
        "accuracy": {"value": 0.9, "low": 0.6, "high": 1.0},
        "calibration_error": {"value": 0.12},
    }
    steps = list_next_steps(make_summary(scores={"n_samples": 20, "scores": scores}))
    assert "between 60 and 100 %" in steps[0]
    assert "wrong by 12 percentage points" in steps[1]


def test_training_scores_do_not_accuse_labels():
    summary = make_summary(source="training", suspects={"n": 5, "samples": []})
    assert list_next_steps(summary) == []
