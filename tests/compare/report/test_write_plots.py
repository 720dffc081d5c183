import pytest

pytest.importorskip("matplotlib", reason="plots need matplotlib: pip install cordwood[plots]")

from cordwood.compare.report.write_plots import write_gallery
from cordwood.compare.stats.comparison import compare, learning_curves

ALL = ("rf", "nb", "svm")


def results(datasets=("a", "b"), learners=ALL, train_fractions=(1.0,), missing=()):
    """Give records and planned units of two folds; what is `missing` is planned and not done."""
    planned, records = [], []
    for position, dataset in enumerate(datasets):
        for rank, learner in enumerate(learners):
            for fold in range(2):
                for share in train_fractions:
                    trial = {"dataset": dataset, "learner": learner, "repeat": 0, "fold": fold}
                    trial["train_fraction"] = share
                    key = f"{dataset}-{learner}-{fold}-{share}"
                    planned.append((key, trial))
                    if (dataset, learner) in missing:
                        continue
                    score = 0.9 - 0.1 * rank - 0.02 * position + 0.01 * fold
                    scores = {"micro_f1": score, "macro_f1": score / 2}
                    times = {f"{part}_cpu_seconds": 1.0 + rank for part in ("tune", "fit")}
                    times["predict_cpu_seconds"] = 0.1
                    records.append({"key": key, "trial": trial, "scores": scores, **times})
    return records, planned


def draw(folder, records, planned):
    comparison = compare(records, planned)
    curves = {m: learning_curves(records, planned, metric=m) for m in comparison.metrics}
    gallery = write_gallery(comparison, curves, folder)
    assert sorted(folder.iterdir()) == sorted(gallery.written)
    return {path.name for path in gallery.written}, gallery.left_out


def test_all_kinds_by_both_metrics(tmp_path):
    written, left_out = draw(tmp_path, *results(train_fractions=(0.5, 1.0)))
    kinds = ("time", "critical_difference", "learning_curves_a", "learning_curves_b")
    assert written == {f"{kind}_{m}.svg" for kind in kinds for m in ("micro_f1", "macro_f1")}
    assert left_out == ()
    assert (tmp_path / "time_micro_f1.svg").read_text(encoding="utf-8").startswith("<?xml")


@pytest.mark.parametrize(
    ("options", "drawn", "reason"),
    [
        ({"datasets": ("a",)}, {"time"}, "here are 1 for 3"),
        ({"learners": ("rf", "nb")}, {"time"}, "here are 2 for 2"),
        # b counts for nobody, because svm lacks it.
        ({"missing": [("b", "svm")]}, {"time"}, "here are 1 for 3"),
        # A learner that has nothing does not stop the others, but three it takes.
        ({"missing": [("a", "svm"), ("b", "svm")]}, {"time"}, "here are 2 for 2"),
    ],
)
def test_critical_difference_is_left_out_with_the_reason(tmp_path, options, drawn, reason):
    written, left_out = draw(tmp_path, *results(**options))
    assert written == {f"{kind}_{m}.svg" for kind in drawn for m in ("micro_f1", "macro_f1")}
    differences, curves = left_out
    assert differences.startswith("critical difference: it takes two data sets")
    assert differences.endswith(reason)
    assert curves == "learning curves: the plan has neither shares nor positives"


def test_a_learner_without_results_is_left_out_of_the_ranks(tmp_path):
    learners = (*ALL, "absent")
    missing = [(dataset, "absent") for dataset in "ab"]
    written, _ = draw(tmp_path, *results(learners=learners, missing=missing))
    assert "critical_difference_micro_f1.svg" in written
    picture = (tmp_path / "critical_difference_micro_f1.svg").read_text(encoding="utf-8")
    assert "absent" not in picture


def test_nothing_is_drawn_of_nothing(tmp_path):
    missing = [(dataset, learner) for dataset in "ab" for learner in ALL]
    written, left_out = draw(tmp_path, *results(train_fractions=(0.5, 1.0), missing=missing))
    assert written == set()
    assert [reason.partition(":")[0] for reason in left_out] == [
        "time against effectiveness",
        "critical difference",
        "learning curves",
    ]


def test_a_data_set_without_results_has_no_curves(tmp_path):
    missing = [("b", learner) for learner in ALL]
    written, _ = draw(tmp_path, *results(train_fractions=(0.5, 1.0), missing=missing))
    assert "learning_curves_a_micro_f1.svg" in written
    assert "learning_curves_b_micro_f1.svg" not in written


def test_names_of_data_sets_make_names_of_files_which_stay_apart(tmp_path):
    written, _ = draw(tmp_path, *results(datasets=("x:y/z", "x_y_z"), train_fractions=(0.5, 1.0)))
    assert {name for name in written if "curves" in name and "micro" in name} == {
        "learning_curves_x_y_z_micro_f1.svg",
        "learning_curves_x_y_z_micro_f1_2.svg",
    }


def test_the_folder_is_made(tmp_path):
    comparison = compare(*results())
    curves = {m: learning_curves(*results(), metric=m) for m in comparison.metrics}
    write_gallery(comparison, curves, tmp_path / "new" / "pictures")
    assert (tmp_path / "new" / "pictures" / "time_micro_f1.svg").exists()
