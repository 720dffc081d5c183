import csv
import json

import pytest

from cordwood.cli.main import main

WORDS = {
    "fruit": "apple pear plum cherry",
    "metal": "iron zinc tin copper",
    "bird": "gull wren owl",
}


@pytest.fixture
def folder(tmp_path):
    with open(tmp_path / "things.csv", "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["body", "topic"])
        for number in range(60):
            topic = list(WORDS)[number % 3]
            words = WORDS[topic].split()
            writer.writerow([f"{words[number % len(words)]} and {words[-1]} {number % 7}", topic])
    (tmp_path / "plan.toml").write_text(
        """
        [evaluation]
        folds = 3
        [[datasets]]
        path = "things.csv"
        text = "body"
        label = "topic"
        [[learners]]
        recipe = "svm"
        [[learners]]
        name = "bayes"
        recipe = "nb"
        """
    )
    return tmp_path


def test_a_plan_is_run_once_and_shown_again(folder, capsys):
    assert main(["compare", str(folder / "plan.toml"), "--json"]) == 0
    first = json.loads(capsys.readouterr().out)
    assert (first["trials"], first["done_now"], first["failed"]) == (6, 6, 0)
    assert first["learners"] == ["svm", "bayes"]
    assert (folder / "plan.jsonl").exists()
    assert main(["compare", str(folder / "plan.toml"), "--json"]) == 0
    second = json.loads(capsys.readouterr().out)
    assert second["done_now"] == 0
    assert second["cells"] == first["cells"]
    assert main(["compare", str(folder / "plan.toml"), "--show", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["cells"] == first["cells"]


def test_what_is_missing_is_said(folder, capsys):
    assert main(["compare", str(folder / "plan.toml"), "--show"]) == 0
    out = capsys.readouterr().out
    assert "6 missing" in out
    assert "(0 of 3)" in out


@pytest.mark.parametrize("suffix", [".md", ".csv", ".tex"])
def test_tables_are_written(folder, suffix, capsys):
    target = folder / f"table{suffix}"
    assert main(["compare", str(folder / "plan.toml"), "-o", str(target)]) == 0
    written = target.read_text(encoding="utf-8")
    assert "bayes" in written
    out = capsys.readouterr().out
    assert "100.00 ± 0.00 *" in out
    assert "paired t-test" in out


def test_pictures_are_drawn_and_what_is_not_is_said(folder, capsys):
    pytest.importorskip("matplotlib", reason="plots need matplotlib: pip install cordwood[plots]")
    assert main(["compare", str(folder / "plan.toml"), "--plots", str(folder / "pictures")]) == 0
    written = sorted(path.name for path in (folder / "pictures").iterdir())
    assert written == ["time_macro_f1.svg", "time_micro_f1.svg"]
    wrote, not_drawn = capsys.readouterr().out.splitlines()[-2:]
    assert wrote.split(maxsplit=1) == ["wrote", f"2 pictures to {folder / 'pictures'}"]
    assert not_drawn.startswith("not drawn critical difference: needs at least 3 learners")
    assert not_drawn.endswith("; learning curves: the plan has neither shares nor positives")


def test_pictures_without_matplotlib_are_refused_before_anything_runs(folder, capsys, monkeypatch):
    def refuse(name):
        raise ModuleNotFoundError("No module named 'matplotlib'")

    monkeypatch.setattr("cordwood.cli.compare.import_module", refuse)
    assert main(["compare", str(folder / "plan.toml"), "--plots", str(folder / "pictures")]) == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert line.endswith('install it with: pip install "cordwood[plots]"')
    assert not (folder / "plan.jsonl").exists()
    assert not (folder / "pictures").exists()


def test_results_are_shown_without_the_data(folder, capsys):
    assert main(["compare", str(folder / "plan.toml"), "--json"]) == 0
    first = json.loads(capsys.readouterr().out)
    (folder / "things.csv").unlink()
    assert main(["compare", str(folder / "plan.toml"), "--show", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["cells"] == first["cells"]
    assert main(["compare", str(folder / "plan.toml")]) == 1
    assert "there is no file" in capsys.readouterr().err


def test_quick_needs_no_plan_and_leaves_nothing(folder, capsys):
    before = sorted(folder.iterdir())
    data = str(folder / "things.csv")
    assert main(["compare", "--quick", data, "--text", "body", "--label", "topic"]) == 0
    captured = capsys.readouterr()
    for recipe in ("quick", "nbsvm", "svm", "rf", "et", "nb", "knn"):
        assert f"\n{recipe} " in captured.out
        assert f", {recipe}, fold 3: micro-F1" in captured.err
    assert sorted(folder.iterdir()) == before


def test_quick_takes_a_data_set_by_its_name(capsys, monkeypatch):
    monkeypatch.setattr("cordwood.cli.compare.QUICK_RECIPES", ("svm", "nb"))
    assert main(["compare", "--quick", "dataset:sklearn:wine", "--json"]) == 0
    record = json.loads(capsys.readouterr().out)
    assert (record["trials"], record["failed"]) == (6, 0)
    assert {cell["dataset"] for cell in record["cells"]} == {"sklearn:wine"}


@pytest.mark.parametrize(
    ("arguments", "code", "sentence"),
    [
        ([], 2, "name a PLAN, or a data file"),
        (["nowhere.toml"], 1, "nowhere.toml"),
        (["{plan}", "--text", "body"], 2, "belong to --quick"),
        (["{plan}", "-o", "{folder}/table.doc"], 2, ".md, .csv or .tex"),
        (["--quick", "{folder}/things.csv", "--text", "words"], 1, 'no column "words"'),
        (["{plan}", "--plots", "{plan}"], 1, "is a file; name a folder for the pictures"),
        (["{plan}", "--plots", "{folder}/no/where"], 1, "there is no folder"),
        (["{plan}", "--ledger", "{plan}"], 1, "plan.toml would be overwritten while it is read"),
        (["{plan}", "-j", "0"], 2, "--jobs is 0; give a number from 1 on, or -1 for all cores"),
        (["{plan}", "--test", "t"], 2, "Invalid value for '--test': 't' is not one of"),
        (["--quick", "dataset:wine"], 1, "there is no data set 'wine'"),
        (["--quick", "dataset:sklearn:wine", "--text", "t"], 1, "text names a column"),
    ],
)
def test_what_is_wrong_is_said_in_one_line(folder, capsys, arguments, code, sentence):
    arguments = [a.format(plan=folder / "plan.toml", folder=folder) for a in arguments]
    assert main(["compare", *arguments]) == code
    captured = capsys.readouterr()
    assert captured.out == ""
    assert sentence in captured.err
    assert captured.err.count("\n") == 1
