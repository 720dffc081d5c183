import csv
import json
import math

import pytest

from cordwood.compare.report import rendering
from cordwood.compare.report.rendering import (
    explain_tables,
    make_tables,
    to_csv,
    to_json,
    to_latex,
    to_markdown,
)
from cordwood.compare.stats.comparison import compare


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


def test_markdown_of_several_data_sets_has_a_table_per_metric_and_one_of_times():
    text = to_markdown(compare(make_records(drop={("mail_100%", "rf", 1)})))
    lines = text.splitlines()
    assert [line for line in lines if line.endswith(":")] == [
        "micro-F1:",
        "macro-F1:",
        "Seconds to fit / to predict:",
    ]
    table = [cells_of(line) for line in lines[2:8]]
    assert table == [
        ["data set", "rf", r"a\|b"],
        [":--|--:|--:"],
        ["webkb", "**81.00 ± 1.00**", "61.00 ± 1.00"],
        ["mail_100%", "81.00 ± 1.41 (2 of 3)", "**61.00 ± 1.00**"],
        ["mean, 1 of 2 data sets", "81.00", "61.00"],
        ["average rank, 1 of 2 data sets", "1.00", "2.00"],
    ]
    assert "| webkb | 12 / \\<0.01 | 12 / \\<0.01 |" in lines
    assert text.endswith(".\n")


def test_table_of_one_data_set_has_a_row_per_learner():
    (table,) = make_tables(compare(make_records(["webkb"])))
    assert table.title == "webkb"
    assert table.header == ("learner", "micro-F1", "macro-F1", "fit, seconds", "predict, seconds")
    first = table.rows[0]
    assert [cell.text for cell in first] == ["rf", "81.00 ± 1.00", "40.00 ± 0.00", "12", "<0.01"]
    assert [cell.bold for cell in first] == [False, True, True, False, False]


def make_tied_records():
    records = make_records(["webkb"])
    for record, score in zip(records[3:], (0.80, 0.83, 0.81), strict=True):
        record["scores"] = {"micro_f1": score, "macro_f1": score}
    return records


def test_best_and_tied_learners_are_bold():
    comparison = compare(make_tied_records())
    (table,) = make_tables(comparison)
    assert [row[1].bold for row in table.rows] == [True, True]
    assert "too few" not in explain_tables(comparison)


def test_undecided_learners_are_not_bold_and_explained():
    # Three pairs cannot be significant by signed ranks.
    comparison = compare(make_tied_records(), test="wilcoxon")
    (table,) = make_tables(comparison)
    assert [row[1].bold for row in table.rows] == [False, True]
    assert "3 folds are too few for this test" in explain_tables(comparison)


def test_rows_have_the_length_of_the_header():
    for table in make_tables(compare(make_records())):
        assert {len(row) for row in table.rows} == {len(table.header)}


def test_missing_and_failed_trials_are_shown():
    records = make_records(["d"], drop={("d", "rf", fold) for fold in range(3)})
    planned = [(record["key"], record["trial"]) for record in make_records(["d"])]
    failed = {**planned[0][1]}
    records.append({"key": planned[0][0], "trial": failed, "error": "it broke"})
    (table,) = make_tables(compare(records, planned))
    assert table.rows[0][1].text == "– (0 of 3, 1 failed)"
    assert [cell.text for cell in table.rows[0][-2:]] == ["–", "–"]


def test_explanation_contains_only_what_applies():
    complete = explain_tables(compare(make_records(), alpha=0.01, test="wilcoxon"))
    assert "Wilcoxon" in complete
    assert "significance level 1 %" in complete
    assert "(3 of 5)" not in complete
    incomplete = explain_tables(compare(make_records(drop={("webkb", "rf", 0)})))
    assert "(3 of 5)" in incomplete


def test_latex_escapes_names_and_is_balanced():
    text = to_latex(compare(make_records()))
    assert r"mail\_100\% &" in text
    assert r"\textbf{81.00 $\pm$ 1.00}" in text
    assert text.count(r"\begin{tabular}{lrr}") == text.count(r"\end{tabular}") == 3
    assert text.count(r"\begin{table}") == text.count(r"\end{table}") == 3
    summary = text.index("mean, 2 of 2 data sets")
    assert text[:summary].rstrip().endswith(r"\midrule")


def test_hostile_names_are_text_in_latex():
    name = r"[1cm]*\input{x}$^^5c%&#_~" + "\n\n\\end{table}"
    assert rendering._escape_latex(name) == (
        r"{[}1cm]{*}\textbackslash{}input\{x\}\$\textasciicircum{}\textasciicircum{}5c\%\&\#\_"
        r"\textasciitilde{} \textbackslash{}end\{table\}"
    )


def test_csv_contains_all_numbers():
    comparison = compare(make_records(drop={("webkb", "rf", 0)}))
    rows = list(csv.DictReader(to_csv(comparison).splitlines()))
    assert len(rows) == 8
    for row in rows:
        cell = comparison.cells[row["metric"], row["dataset"], row["learner"]]
        assert (float(row["mean"]), int(row["n"]), row["mark"]) == (cell.mean, cell.n, cell.mark)
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
