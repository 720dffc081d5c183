import csv
import json
import math

import pytest

from cordwood.compare.report.rendering import (
    describe,
    grids,
    to_csv,
    to_json,
    to_latex,
    to_markdown,
)
from cordwood.compare.stats.comparison import compare

PUBLISHED = {
    ("webkb", learner): {"micro_f1": 0.8152, "macro_f1": 0.6544} for learner in ("rf", "a|b")
}


def make_records(datasets=("webkb", "mail_100%"), drop=()):
    means = {"rf": 0.8, "a|b": 0.6}
    return [
        {
            "key": f"{dataset}-{learner}-{fold}",
            "trial": {
                "dataset": dataset,
                "learner": learner,
                "recipe": "rf",
                "repeat": 0,
                "fold": fold,
                "train_fraction": 1.0,
                "params": {},
            },
            "scores": {"micro_f1": mean + 0.01 * fold, "macro_f1": mean / 2},
            "tune_cpu_seconds": 0.0,
            "fit_cpu_seconds": 12.3,
            "predict_cpu_seconds": 0.004,
        }
        for dataset in datasets
        for learner, mean in means.items()
        for fold in range(3)
        if (dataset, learner, fold) not in drop
    ]


def cells_of(line):
    return [cell.strip() for cell in line.strip().removesuffix("|").removeprefix("|").split(" | ")]


def test_markdown_of_many_sets_has_a_table_for_each_metric_and_one_of_seconds():
    text = to_markdown(compare(make_records(drop={("mail_100%", "rf", 1)}), published=PUBLISHED))
    lines = text.splitlines()
    assert [line for line in lines if line.endswith(":")] == [
        "micro-F1:",
        "macro-F1:",
        "Seconds to fit / to predict:",
    ]
    table = [cells_of(line) for line in lines[2:8]]
    assert table == [
        ["data set", "rf", "rf, paper", r"a\|b", r"a\|b, paper"],
        ["|".join([":--", *["--:"] * 4])],
        ["webkb", "**81.00 ± 1.00**", "81.52", "61.00 ± 1.00", "81.52"],
        ["mail_100%", "81.00 ± 1.41 (2 of 3)", "", "**61.00 ± 1.00**", ""],
        ["mean, 1 of 2 data sets", "81.00", "", "61.00", ""],
        ["average rank, 1 of 2 data sets", "1.00", "", "2.00", ""],
    ]
    assert "| webkb | 12 / \\<0.01 | 12 / \\<0.01 |" in lines
    assert text.endswith(".\n")


def test_markdown_of_one_set_has_a_row_for_each_learner():
    (grid,) = grids(compare(make_records(["webkb"])))
    assert grid.title == "webkb"
    assert grid.header == ("learner", "micro-F1", "macro-F1", "fit, seconds", "predict, seconds")
    first = grid.rows[0]
    assert [entry.text for entry in first] == ["rf", "81.00 ± 1.00", "40.00 ± 0.00", "12", "<0.01"]
    assert [entry.strong for entry in first] == [False, True, True, False, False]


def test_the_best_and_what_is_tied_with_it_are_strong():
    # Three signed ranks tell nobody apart.
    (grid,) = grids(compare(make_records(["webkb"]), test="wilcoxon"))
    assert [row[1].strong for row in grid.rows] == [True, True]


def test_every_row_is_as_wide_as_its_header():
    for published in (None, PUBLISHED):
        for grid in grids(compare(make_records(), published=published)):
            assert {len(row) for row in grid.rows} == {len(grid.header)}


def test_missing_and_failed_units_are_visible():
    records = make_records(["d"], drop={("d", "rf", fold) for fold in range(3)})
    planned = [(record["key"], record["trial"]) for record in make_records(["d"])]
    failed = {**planned[0][1]}
    records.append({"key": planned[0][0], "trial": failed, "error": "it broke"})
    (grid,) = grids(compare(records, planned))
    assert grid.rows[0][1].text == "– (0 of 3, 1 failed)"
    assert [entry.text for entry in grid.rows[0][-2:]] == ["–", "–"]


def test_the_note_says_only_what_applies():
    whole = describe(compare(make_records(), alpha=0.01, test="wilcoxon"))
    assert "Wilcoxon" in whole
    assert "1 % level" in whole
    assert "(3 of 5)" not in whole
    assert "paper" not in whole
    holed = describe(compare(make_records(drop={("webkb", "rf", 0)}), published=PUBLISHED))
    assert "(3 of 5)" in holed
    assert "paper" in holed


def test_latex_escapes_names_and_closes_what_it_opens():
    text = to_latex(compare(make_records()))
    assert r"mail\_100\% &" in text
    assert r"\textbf{81.00 $\pm$ 1.00}" in text
    assert text.count(r"\begin{tabular}{lrr}") == text.count(r"\end{tabular}") == 3
    assert text.count(r"\begin{table}") == text.count(r"\end{table}") == 3
    summary = text.index("mean, 2 of 2 data sets")
    assert text[:summary].rstrip().endswith(r"\midrule")


def test_csv_holds_every_figure_in_full():
    comparison = compare(make_records(drop={("webkb", "rf", 0)}), published=PUBLISHED)
    rows = list(csv.DictReader(to_csv(comparison).splitlines()))
    assert len(rows) == 8
    for row in rows:
        cell = comparison.cells[row["metric"], row["dataset"], row["learner"]]
        assert (float(row["mean"]), int(row["n"]), row["mark"]) == (cell.mean, cell.n, cell.mark)
    assert rows[0]["published"] == "0.8152"
    assert (rows[0]["n"], rows[0]["n_planned"]) == ("2", "3")
    assert float(rows[0]["fit_seconds"]) == pytest.approx(12.3)


def test_json_has_no_nan():
    planned = [(record["key"], record["trial"]) for record in make_records()]
    comparison = compare(make_records()[:4], planned)
    assert math.isnan(comparison.cells["micro_f1", "mail_100%", "rf"].mean)
    content = json.loads(json.dumps(to_json(comparison), allow_nan=False))
    assert content["learners"] == ["rf", "a|b"]
    assert len(content["cells"]) == 8
    summaries = {(s["metric"], s["learner"]): s for s in content["summaries"]}
    assert summaries["micro_f1", "rf"]["mean"] == pytest.approx(0.81)
    assert summaries["micro_f1", "rf"]["datasets"] == ["webkb"]
    assert summaries["micro_f1", "a|b"]["mean"] is None
