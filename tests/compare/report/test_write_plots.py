import pytest

from cordwood.compare.report.write_plots import write_plots
from cordwood.compare.stats.comparison import compare, learning_curves

ALL = ("rf", "nb", "svm")


def results(datasets=("a", "b"), learners=ALL, train_fractions=(1.0,), missing=()):
    """Return records and planned trials of two folds; those of `missing` have no record."""
    planned, records = [], []
    for position, dataset in enumerate(datasets):
        for rank, learner in enumerate(learners):
            for fold in range(2):
                for train_fraction in train_fractions:
                    trial = {"dataset": dataset, "learner": learner, "repeat": 0, "fold": fold}
                    trial["train_fraction"] = train_fraction
                    key = f"{dataset}-{learner}-{fold}-{train_fraction}"
                    planned.append((key, trial))
                    if (dataset, learner) in missing:
                        continue
                    score = 0.9 - 0.1 * rank - 0.02 * position + 0.01 * fold
                    scores = {"micro_f1": score, "macro_f1": score / 2}
                    times = {f"{part}_cpu_seconds": 1.0 + rank for part in ("tune", "fit")}
                    times["predict_cpu_seconds"] = 0.1
                    records.append({"key": key, "trial": trial, "scores": scores, **times})
    return records, planned


def write(folder, records, planned):
    comparison = compare(records, planned)
    curves = {m: learning_curves(records, planned, metric=m) for m in comparison.metrics}
    files = write_plots(comparison, curves, folder)
    assert sorted(folder.iterdir()) == sorted(files.written)
    return {path.name for path in files.written}, files.skipped


def test_all_plots_are_written_for_both_metrics(tmp_path):
    written, skipped = write(tmp_path, *results(train_fractions=(0.5, 1.0)))
    kinds = ("time", "critical_difference", "learning_curves_a", "learning_curves_b")
    assert written == {f"{kind}_{m}.svg" for kind in kinds for m in ("micro_f1", "macro_f1")}
    assert skipped == ()
    assert (tmp_path / "time_micro_f1.svg").read_text(encoding="utf-8").startswith("<?xml")


@pytest.mark.parametrize(
    ("options", "drawn", "reason"),
    [
        ({"datasets": ("a",)}, {"time"}, "got 3 learners and 1 data sets"),
        ({"learners": ("rf", "nb")}, {"time"}, "got 2 learners and 2 data sets"),
        # Data set b is ignored, because svm has no results on it.
        ({"missing": [("b", "svm")]}, {"time"}, "got 3 learners and 1 data sets"),
        # A learner without results is ignored, which leaves two.
        ({"missing": [("a", "svm"), ("b", "svm")]}, {"time"}, "got 2 learners and 2 data sets"),
    ],
)
def test_skipped_critical_difference_has_a_reason(tmp_path, options, drawn, reason):
    written, skipped = write(tmp_path, *results(**options))
    assert written == {f"{kind}_{m}.svg" for kind in drawn for m in ("micro_f1", "macro_f1")}
    differences, curves = skipped
    assert differences.startswith("critical difference: needs at least 3 learners")
    assert differences.endswith(reason)
    assert curves == "learning curves: the plan sets no train_fractions"


def test_learner_without_results_is_not_ranked(tmp_path):
    learners = (*ALL, "absent")
    missing = [(dataset, "absent") for dataset in "ab"]
    written, _ = write(tmp_path, *results(learners=learners, missing=missing))
    assert "critical_difference_micro_f1.svg" in written
    svg = (tmp_path / "critical_difference_micro_f1.svg").read_text(encoding="utf-8")
    assert "absent" not in svg


def test_without_results_all_plots_are_skipped(tmp_path):
    missing = [(dataset, learner) for dataset in "ab" for learner in ALL]
    written, skipped = write(tmp_path, *results(train_fractions=(0.5, 1.0), missing=missing))
    assert written == set()
    assert [reason.partition(":")[0] for reason in skipped] == [
        "time against score",
        "critical difference",
        "learning curves",
    ]


def test_data_set_without_results_has_no_curves(tmp_path):
    missing = [("b", learner) for learner in ALL]
    written, _ = write(tmp_path, *results(train_fractions=(0.5, 1.0), missing=missing))
    assert "learning_curves_a_micro_f1.svg" in written
    assert "learning_curves_b_micro_f1.svg" not in written


def test_file_names_are_portable_and_unique(tmp_path):
    written, _ = write(tmp_path, *results(datasets=("x:y/z", "x_y_z"), train_fractions=(0.5, 1.0)))
    assert {name for name in written if "curves" in name and "micro" in name} == {
        "learning_curves_x_y_z_micro_f1.svg",
        "learning_curves_x_y_z_micro_f1_2.svg",
    }


def test_folder_is_created(tmp_path):
    comparison = compare(*results())
    curves = {m: learning_curves(*results(), metric=m) for m in comparison.metrics}
    write_plots(comparison, curves, tmp_path / "new" / "pictures")
    assert (tmp_path / "new" / "pictures" / "time_micro_f1.svg").exists()
