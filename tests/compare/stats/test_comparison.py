import math

import numpy as np
import pytest
from scipy import stats

from cordwood.compare.stats.comparison import compare, learning_curves
from cordwood.compare.stats.statistics import corrected_resampled_t_test
from cordwood.exceptions import DataError

SCORES = {
    ("news", "rf"): [0.80, 0.82, 0.84, 0.86, 0.88],
    ("news", "nb"): [0.79, 0.79, 0.82, 0.82, 0.88],
    ("mail", "rf"): [0.70, 0.71, 0.72, 0.73, 0.74],
    ("mail", "nb"): [0.90, 0.92, 0.91, 0.93, 0.92],
}


def make_record(dataset, learner, fold, score, *, train_fraction=1.0, repeat=0, **fields):
    trial = {
        "dataset": dataset,
        "learner": learner,
        "repeat": repeat,
        "fold": fold,
        "train_fraction": train_fraction,
    }
    return {
        "key": f"{dataset}-{learner}-{repeat}-{fold}-{train_fraction}",
        "trial": {**trial, "recipe": learner, "params": {}},
        "scores": {"micro_f1": score, "macro_f1": score / 2},
        "tune_cpu_seconds": 7.0,
        "fit_cpu_seconds": 1.0 + fold,
        "predict_cpu_seconds": 0.5,
        "n_train": 80,
        "n_test": 20,
        **fields,
    }


def make_records(scores=SCORES):
    return [
        make_record(*name, fold, score)
        for name, column in scores.items()
        for fold, score in enumerate(column)
    ]


def plan_of(records):
    return [(record["key"], record["trial"]) for record in records]


def fail(record):
    return {"key": record["key"], "trial": record["trial"], "error": "it broke"}


def test_cells_contain_mean_and_standard_deviation():
    comparison = compare(make_records())
    assert comparison.datasets == ("news", "mail")
    assert comparison.learners == ("rf", "nb")
    for (dataset, learner), column in SCORES.items():
        cell = comparison.cells["micro_f1", dataset, learner]
        assert cell.mean == pytest.approx(np.mean(column))
        assert cell.sd == pytest.approx(np.std(column, ddof=1))
        assert (cell.n, cell.n_planned, cell.n_failed, cell.complete) == (5, 5, 0, True)
        half = comparison.cells["macro_f1", dataset, learner]
        assert half.mean == pytest.approx(np.mean(column) / 2)


def test_cpu_seconds_are_means_over_the_trials():
    seconds = compare(make_records()).cpu_seconds["mail", "nb"]
    assert (seconds.tune, seconds.fit, seconds.predict) == pytest.approx((7.0, 3.0, 0.5))


def test_marks_depend_on_test_and_alpha():
    p = stats.ttest_rel(SCORES["news", "rf"], SCORES["news", "nb"]).pvalue
    differences = np.subtract(SCORES["news", "rf"], SCORES["news", "nb"])
    corrected = corrected_resampled_t_test(differences, 80, 20).p_value
    assert p < 0.1 < corrected

    def marks(**options):
        cells = compare(make_records(), **options).cells
        return [cells["micro_f1", "news", learner].mark for learner in ("rf", "nb")]

    assert marks(alpha=0.1) == ["best", ""]
    assert marks(alpha=p / 2) == ["best", "tied"]
    assert marks(alpha=0.1, test="corrected_t") == ["best", "tied"]
    assert marks(alpha=corrected * 1.01, test="corrected_t") == ["best", ""]
    assert marks(alpha=0.1, test="wilcoxon") == ["best", "tied"]
    with pytest.raises(ValueError, match="test must be"):
        marks(test="sign")


def test_single_fold_has_a_best_and_no_ties():
    cells = compare([make_record("d", "rf", 0, 0.8), make_record("d", "nb", 0, 0.7)]).cells
    assert [cells["micro_f1", "d", name].mark for name in ("rf", "nb")] == ["best", "undecided"]
    assert math.isnan(cells["micro_f1", "d", "rf"].sd)


def test_equal_scores_of_a_single_fold_are_tied():
    records = [
        make_record("d", name, 0, score) for name, score in zip("abc", (0.8, 0.8, 0.7), strict=True)
    ]
    cells = compare(records).cells
    assert [cells["micro_f1", "d", name].mark for name in "abc"] == ["best", "tied", "undecided"]


def test_summaries_contain_mean_scores_and_ranks():
    summaries = compare(make_records()).summaries
    assert summaries["micro_f1", "rf"].mean == pytest.approx((0.84 + 0.72) / 2)
    assert summaries["micro_f1", "nb"].mean == pytest.approx((0.82 + 0.916) / 2)
    assert summaries["micro_f1", "rf"].rank == summaries["micro_f1", "nb"].rank == 1.5
    assert summaries["micro_f1", "rf"].datasets == ("news", "mail")


def test_learner_with_missing_trials_is_excluded():
    records = make_records()
    planned = plan_of(records)
    done = [record for record in records if record["key"] != "mail-nb-0-4-1.0"]
    comparison = compare(done, planned)
    cell = comparison.cells["micro_f1", "mail", "nb"]
    assert (cell.n, cell.n_planned, cell.mark, cell.complete) == (4, 5, "", False)
    assert cell.mean == pytest.approx(0.915)
    assert comparison.cells["micro_f1", "mail", "rf"].mark == "best"
    assert comparison.summaries["micro_f1", "rf"].datasets == ("news",)
    assert comparison.summaries["micro_f1", "rf"].rank == 1
    assert np.isnan(comparison.scores("micro_f1")).tolist() == [[False, False], [False, True]]


def test_without_a_plan_folds_of_other_learners_count_as_planned():
    records = [record for record in make_records() if record["key"] != "mail-nb-0-0-1.0"]
    cell = compare(records).cells["micro_f1", "mail", "nb"]
    assert (cell.n, cell.n_planned) == (4, 5)


def test_learner_that_is_never_complete_does_not_affect_summaries():
    records = make_records()
    broken = [fail(make_record(d, "bad", fold, 0)) for d in ("news", "mail") for fold in range(5)]
    comparison = compare([*records, *broken])
    cell = comparison.cells["micro_f1", "news", "bad"]
    assert (cell.n, cell.n_failed, cell.mark) == (0, 5, "")
    assert math.isnan(cell.mean)
    assert math.isnan(comparison.cpu_seconds["news", "bad"].fit)
    assert math.isnan(comparison.summaries["micro_f1", "bad"].rank)
    assert comparison.summaries["micro_f1", "bad"].datasets == ()
    assert comparison.summaries["micro_f1", "nb"].rank == 1.5


def test_last_record_of_a_key_is_used():
    records = make_records()
    retried = [fail(records[0]), *records]
    assert compare(retried).cells == compare(records).cells
    broken = [*records, fail(records[0])]
    cell = compare(broken).cells["micro_f1", "news", "rf"]
    assert (cell.n, cell.n_failed) == (4, 1)


def test_records_of_other_plans_are_ignored_and_names_of_the_plan_are_used():
    records = make_records()
    stale = make_record("news", "rf", 0, 0.1, key="older settings")
    planned = [
        (key, {**trial, "learner": trial["learner"].upper()}) for key, trial in plan_of(records)
    ]
    comparison = compare([*records, stale], planned)
    assert comparison.learners == ("RF", "NB")
    assert comparison.cells["micro_f1", "news", "RF"].mean == pytest.approx(0.84)


def test_learners_with_equal_parameters_share_results():
    records = make_records({("d", "rf"): [0.8, 0.9]})
    copy = [(key, {**trial, "learner": "copy"}) for key, trial in plan_of(records)]
    comparison = compare(records, [*plan_of(records), *copy])
    assert comparison.cells["micro_f1", "d", "copy"].mean == pytest.approx(0.85)
    assert comparison.cells["micro_f1", "d", "copy"].mark == "tied"


def test_results_of_different_parameters_raise():
    records = [*make_records(), make_record("news", "rf", 0, 0.1, key="other settings")]
    with pytest.raises(DataError, match="two different results of 'rf' on 'news'"):
        compare(records)


def test_no_results_raise():
    with pytest.raises(DataError, match="no results"):
        compare([])


def test_unknown_metric_raises():
    with pytest.raises(DataError, match="no metric 'accuracy'; .* macro_f1, micro_f1"):
        compare(make_records(), metrics=["accuracy"])


def test_plan_without_records_is_missing():
    comparison = compare([], plan_of(make_records()))
    assert {cell.n for cell in comparison.cells.values()} == {0}
    assert {cell.mark for cell in comparison.cells.values()} == {""}


@pytest.mark.parametrize(
    ("n_folds", "test", "mark"),
    [
        (2, "paired_t", "undecided"),
        (3, "paired_t", "tied"),
        (2, "corrected_t", "undecided"),
        (3, "corrected_t", "tied"),
        (5, "wilcoxon", "undecided"),  # the smallest possible p-value is 2 / 2**5 > 0.05
        (6, "wilcoxon", "tied"),
    ],
)
def test_ties_are_marked_only_with_enough_folds(n_folds, test, mark):
    noise = [0.01, -0.01, 0.02, -0.02, 0.01, -0.005]
    records = make_records(
        {
            ("d", "rf"): [0.8 + 0.001 * fold for fold in range(n_folds)],
            ("d", "nb"): [0.8 + 0.001 * fold - noise[fold] for fold in range(n_folds)],
        }
    )
    cells = compare(records, test=test).cells
    marks = {cells["micro_f1", "d", name].mark for name in ("rf", "nb")}
    assert marks == {"best", mark}


def test_significant_differences_are_not_undecided():
    records = make_records({("d", "rf"): [0.8, 0.9], ("d", "nb"): [0.5, 0.6]})
    cells = compare(records).cells
    assert cells["micro_f1", "d", "nb"].mark == ""


def test_repeats_are_separate_folds():
    records = [make_record("d", "rf", 0, 0.8, repeat=r) for r in range(3)]
    assert compare(records).cells["micro_f1", "d", "rf"].n == 3


def test_cells_use_the_largest_training_fraction_and_curves_use_all():
    records = [
        make_record(
            "d",
            learner,
            fold,
            train_fraction * (0.9 if learner == "rf" else 0.8),
            train_fraction=train_fraction,
        )
        for learner in ("rf", "nb")
        for fold in range(3)
        for train_fraction in (1.0, 0.5)
    ]
    assert compare(records).cells["micro_f1", "d", "rf"].mean == pytest.approx(0.9)
    assert compare(records).cells["micro_f1", "d", "rf"].n_planned == 3
    curves = learning_curves(records)
    assert list(curves) == [("d", "rf"), ("d", "nb")]
    points = curves["d", "nb"].points
    assert [(p.train_size, p.n) for p in points] == [(0.5, 3), (1.0, 3)]
    assert [p.mean for p in points] == pytest.approx([0.4, 0.8])
    macro = learning_curves(records, metric="macro_f1")["d", "nb"].points
    assert [p.mean for p in macro] == pytest.approx([0.2, 0.4])
