import csv
import errno
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from cordwood.cli.main import main
from cordwood.compare.config.plan import parse_plan

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


def test_trials_of_a_plan_run_once(folder, capsys):
    assert main(["compare", str(folder / "plan.toml"), "--json"]) == 0
    first = json.loads(capsys.readouterr().out)
    assert (first["n_trials"], first["n_done"], first["n_failed"]) == (6, 6, 0)
    assert first["learners"] == ["svm", "bayes"]
    assert (folder / "plan.jsonl").exists()
    assert main(["compare", str(folder / "plan.toml"), "--json"]) == 0
    second = json.loads(capsys.readouterr().out)
    assert second["n_done"] == 0
    assert second["cells"] == first["cells"]
    assert main(["compare", str(folder / "plan.toml"), "--show", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["cells"] == first["cells"]


def test_missing_trials_are_counted(folder, capsys):
    assert main(["compare", str(folder / "plan.toml"), "--show"]) == 0
    out = capsys.readouterr().out
    assert "6 missing" in out
    assert "(0 of 3)" in out


@pytest.mark.parametrize("suffix", [".md", ".csv", ".tex"])
def test_tables_are_written_to_a_file(folder, suffix, capsys):
    target = folder / f"table{suffix}"
    assert main(["compare", str(folder / "plan.toml"), "-o", str(target)]) == 0
    written = target.read_text(encoding="utf-8")
    assert "bayes" in written
    out = capsys.readouterr().out
    assert "100.00 ± 0.00 *" in out
    assert "paired t-test" in out


def test_plots_are_written_or_listed_as_omitted(folder, capsys):
    assert main(["compare", str(folder / "plan.toml"), "--plots", str(folder / "plots")]) == 0
    written = sorted(path.name for path in (folder / "plots").iterdir())
    assert written == ["time_macro_f1.svg", "time_micro_f1.svg"]
    wrote, omitted = capsys.readouterr().out.splitlines()[-2:]
    assert wrote.split(maxsplit=1) == ["wrote", f"2 figures to {folder / 'plots'}"]
    assert omitted.startswith("omitted   critical difference: needs at least 3 learners")
    assert omitted.endswith("; learning curves: the plan sets no train_fractions")


def test_show_does_not_require_the_data(folder, capsys):
    assert main(["compare", str(folder / "plan.toml"), "--json"]) == 0
    first = json.loads(capsys.readouterr().out)
    (folder / "things.csv").unlink()
    assert main(["compare", str(folder / "plan.toml"), "--show", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["cells"] == first["cells"]
    assert main(["compare", str(folder / "plan.toml")]) == 1
    assert "there is no file" in capsys.readouterr().err


def test_show_works_in_a_read_only_directory(folder, capsys, monkeypatch):
    assert main(["compare", str(folder / "plan.toml"), "--json"]) == 0
    first = json.loads(capsys.readouterr().out)

    def deny(*_, **__):
        raise OSError(errno.EROFS, "Read-only file system")

    # Not by chmod, which does not restrict root.
    monkeypatch.setattr("cordwood.compare.runner.ledger.FileLock", deny)
    monkeypatch.setattr("os.access", lambda path, mode: mode != os.W_OK)
    assert main(["compare", str(folder / "plan.toml"), "--show", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["cells"] == first["cells"]
    assert main(["compare", str(folder / "plan.toml")]) == 1
    assert "is read-only" in capsys.readouterr().err


@pytest.mark.parametrize("line", ['{"key": "a"}', '{"key": "a", "trial": {"dataset": "x"}}', "[1]"])
def test_ledger_line_of_wrong_shape_is_named(folder, capsys, line):
    (folder / "plan.jsonl").write_text(f"{line}\n")
    for options in ([], ["--show"]):
        assert main(["compare", str(folder / "plan.toml"), *options]) == 1
        assert "plan.jsonl, line 1 is not a" in capsys.readouterr().err


def test_formulas_in_a_table_are_escaped(folder, capsys):
    plan = folder / "plan.toml"
    plan.write_text(plan.read_text().replace('"bayes"', "\"=cmd|'/c calc'!A1\""))
    target = folder / "table.csv"
    assert main(["compare", str(plan), "--show", "-o", str(target)]) == 0
    assert "\nmicro_f1,things,'=cmd|'/c calc'!A1," in target.read_text()
    options = ["--show", "--no-escape-formulas", "-o", str(target)]
    assert main(["compare", str(plan), *options]) == 0
    assert "\nmicro_f1,things,=cmd|'/c calc'!A1," in target.read_text()
    capsys.readouterr()


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="finds processes in /proc")
@pytest.mark.parametrize("name", ["SIGKILL", "SIGTERM"])
def test_workers_end_with_a_killed_command(folder, name):
    plan = folder / "plan.toml"
    plan.write_text(plan.read_text().replace("folds = 3", 'kind = "repeated"\nrepeats = 50'))
    code = "from cordwood.cli.main import run; run()"
    command = [sys.executable, "-c", code, "compare", str(plan), "-j", "2"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        process.stderr.readline()  # the first trial is done, so the workers are running
        workers = find_children(process.pid)
        assert len(workers) >= 2
        process.send_signal(getattr(signal, name))
        assert process.wait(timeout=60) == -getattr(signal, name)
    deadline = time.monotonic() + 60
    while any(map(is_running, workers)) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert not [pid for pid in workers if is_running(pid)]
    assert not list((folder / "plan.predictions").glob(".*")) or name == "SIGKILL"


@pytest.mark.skipif(os.name != "posix", reason="needs POSIX signals")
def test_killed_comparison_is_resumed(folder, capsys):
    plan = str(folder / "plan.toml")
    code = "from cordwood.cli.main import run; run()"
    command = [sys.executable, "-c", code, "compare", plan]
    with subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        process.stderr.readline()  # the first trial is done
        process.kill()
    results = []
    for ledger in ("plan.jsonl", "expected.jsonl"):
        assert main(["compare", plan, "--quiet", "--ledger", str(folder / ledger)]) == 0
        records = map(json.loads, (folder / ledger).read_text().splitlines())
        results.append(sorted((record["key"], record["scores"]["micro_f1"]) for record in records))
    assert len(results[0]) == 6
    assert results[0] == results[1]


def find_children(pid):
    found = []
    for path in Path("/proc", str(pid), "task").glob("*/children"):
        found += map(int, path.read_text().split())
    return found + [child for parent in found for child in find_children(parent)]


def is_running(pid):
    try:
        return Path("/proc", str(pid), "stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_quick_leaves_no_files(folder, capsys):
    before = sorted(folder.iterdir())
    data = str(folder / "things.csv")
    assert main(["compare", "--quick", data, "--text", "body", "--label", "topic"]) == 0
    captured = capsys.readouterr()
    for recipe in ("quick", "nbsvm", "svm", "rf", "et", "nb", "knn"):
        assert f"\n{recipe} " in captured.out
        assert f", {recipe}, fold 3: micro-F1" in captured.err
    assert sorted(folder.iterdir()) == before


def test_quick_has_the_reading_options_of_train(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("cordwood.cli.compare.QUICK_RECIPES", ("svm", "nb"))
    monkeypatch.setattr("cordwood.cli.compare.ENCODER_RECIPES", ())
    lines = ["key;body;topic"]
    for number in range(60):
        topic = list(WORDS)[number % 3]
        lines.append(f"k{number};{WORDS[topic].split()[0]} caf\xe9;{topic}")
    lines.append("k60;too short")
    (tmp_path / "things.txt").write_bytes("\n".join(lines).encode("latin-1"))
    reading = ["--text", "body", "--label", "topic", "--id", "key", "--format", "csv"]
    reading += ["--delimiter", ";", "--encoding", "latin-1", "--on-bad-rows", "skip"]
    assert main(["compare", "--quick", str(tmp_path / "things.txt"), *reading]) == 0
    out = capsys.readouterr().out
    assert "60 texts, 3 classes of 20" in out
    assert "skipped   1 invalid row: " in out
    assert "6 of 6 trials run in " in out
    assert "100.00" in out


def test_quick_passes_the_language_to_the_vectorizers(folder, monkeypatch):
    plans = []

    def parse(mapping, **options):
        plans.append(parse_plan(mapping, **options))
        return plans[-1]

    monkeypatch.setattr("cordwood.cli.compare.QUICK_RECIPES", ("nb",))
    monkeypatch.setattr("cordwood.cli.compare.ENCODER_RECIPES", ())
    monkeypatch.setattr("cordwood.cli.compare.parse_plan", parse)
    columns = ["--text", "body", "--label", "topic"]
    quick = ["compare", "--quick", str(folder / "things.csv"), *columns]
    for options in ([], ["--language", "de"]):
        assert main([*quick, *options]) == 0
    assert [plan.datasets[0].vectorizer for plan in plans] == [{}, {"language": "de"}]


def test_quick_compares_with_the_encoder(folder, installed_encoders, capsys, monkeypatch):
    monkeypatch.setattr("cordwood.cli.compare.QUICK_RECIPES", ("quick", "nb"))
    quick = ["compare", "--quick", str(folder / "things.csv"), "--text", "body", "--label", "topic"]
    assert main([*quick, "--encoder", "none"]) == 0
    assert "embeddings" not in capsys.readouterr().out
    ledger = folder / "ledger.jsonl"
    assert main([*quick, "--ledger", str(ledger)]) == 0
    shown = capsys.readouterr().out
    assert "encoder   use turns each text into a vector, beside its words, in about 1 s" in shown
    assert "\nembeddings " in shown
    trials = [json.loads(line)["trial"] for line in ledger.read_text().splitlines()]
    params = {trial["learner"]: trial["params"] for trial in trials}
    assert params == {
        "quick": {"encoder": "use"},
        "nb": {},
        "embeddings": {"vectorizer__encoder": "use"},
    }
    assert main([*quick, "--encoder", "nonsense"]) == 1
    assert "encoder 'nonsense' is neither" in capsys.readouterr().err


def test_quick_accepts_a_named_data_set(capsys, monkeypatch):
    monkeypatch.setattr("cordwood.cli.compare.QUICK_RECIPES", ("svm", "nb"))
    monkeypatch.setattr("cordwood.cli.compare.ENCODER_RECIPES", ())
    assert main(["compare", "--quick", "dataset:sklearn:wine", "--json"]) == 0
    record = json.loads(capsys.readouterr().out)
    assert (record["n_trials"], record["n_failed"]) == (6, 0)
    assert {cell["dataset"] for cell in record["cells"]} == {"sklearn:wine"}


@pytest.mark.parametrize(
    ("arguments", "code", "sentence"),
    [
        ([], 2, "give either a PLAN, or --quick and data files"),
        (["--quick"], 2, "give either a PLAN, or --quick and data files"),
        (["{plan}", "{plan}"], 2, "give one PLAN; several data files require --quick"),
        (["--quick", "{folder}/things.csv", "dataset:sklearn:wine"], 2, "cannot be combined"),
        (["{plan}", "--label-separator", ";"], 2, "--label-separator requires --quick"),
        (["nowhere.toml"], 1, "nowhere.toml"),
        (["{plan}", "--text", "body"], 2, "--text requires --quick; a plan contains"),
        (["{plan}", "-o", "{folder}/table.doc"], 2, ".md, .csv or .tex"),
        (["--quick", "{folder}/things.csv", "--text", "words"], 1, 'no column "words"'),
        (["{plan}", "--plots", "{plan}"], 1, "it is a file; give a directory"),
        (["{plan}", "--plots", "{folder}/no/where"], 1, "does not exist"),
        (["{plan}", "--ledger", "{plan}"], 1, "plan.toml: it is an input; give another file name"),
        (["{plan}", "-j", "0"], 2, "--jobs must be a positive number, or -1 for all cores; got 0"),
        (["{plan}", "--test", "t"], 2, "Invalid value for '--test': 't' is not one of"),
        (["--quick", "dataset:wine"], 1, "there is no data set 'wine'"),
        (["--quick", "dataset:sklearn:wine", "--text", "t"], 2, "--text does not apply to"),
        (["--quick", "-"], 2, "standard input is not allowed"),
        (["{plan}", "--on-bad-rows", "skip"], 2, "--on-bad-rows requires --quick"),
        (["{plan}", "--language", "de"], 2, "--language requires --quick"),
        (["{plan}", "--encoder", "none"], 2, "--encoder requires --quick"),
        (
            ["--quick", "dataset:sklearn:wine", "--language", "de"],
            2,
            "--language requires texts, but the samples are numeric",
        ),
    ],
)
def test_errors_are_one_line(folder, capsys, arguments, code, sentence):
    arguments = [a.format(plan=folder / "plan.toml", folder=folder) for a in arguments]
    assert main(["compare", *arguments]) == code
    captured = capsys.readouterr()
    assert captured.out == ""
    assert sentence in captured.err
    assert captured.err.count("\n") == 1


def test_quick_comparisons_by_time_with_weights(folder, capsys):
    with open(folder / "things.csv", newline="") as file:
        header, *rows = csv.reader(file)
    with open(folder / "dated.csv", "w", newline="") as file:
        writer = csv.writer(file, delimiter=";")
        writer.writerow([*header, "day", "w"])
        writer.writerows(
            [*row, f"2024-{n // 28 + 1:02}-{n % 28 + 1:02}", 1 + n % 2]
            for n, row in enumerate(rows)
        )
    options = "--text body --label topic --time day --weight w --encoder none".split()
    assert main(["compare", "--quick", str(folder / "dated.csv"), *options]) == 0
    shown = capsys.readouterr().out
    assert "omitted" not in shown
    assert "21 of 21 trials run" in shown
    assert main(["compare", "--quick", "x.csv", "--time", "day", "--group", "topic"]) != 0
    capsys.readouterr()


def test_quick_with_weights_that_no_recipe_can_use_is_an_error(folder, capsys, monkeypatch):
    monkeypatch.setattr("cordwood.cli.compare.QUICK_RECIPES", ("lazy_rf", "logistic"))
    monkeypatch.setattr("cordwood.cli.compare.ENCODER_RECIPES", ())
    lines = (folder / "things.csv").read_text().splitlines()
    (folder / "w.csv").write_text("\n".join([f"{lines[0]},w", *(f"{x},1" for x in lines[1:])]))
    options = ["--text", "body", "--label", "topic", "--weight", "w"]
    assert main(["compare", "--quick", str(folder / "w.csv"), *options]) == 1
    assert "none of the recipes can run on the data" in capsys.readouterr().err


def write_news(folder):
    """Write samples with no, one or two topics: two CSV files, and one JSON lines file."""
    rows = []
    for number in range(60):
        topics = list(WORDS)[number % 3 :][: number % 4 % 3]
        words = [word for topic in topics for word in WORDS[topic].split()[:2]]
        rows.append((" ".join([*words, f"news {number % 5}"]), topics))
    (folder / "parts").mkdir()
    for name, part in (("first.csv", rows[:30]), ("parts/second.csv", rows[30:])):
        lines = [f"{text}|{';'.join(topics)}|{i // 2}\n" for i, (text, topics) in enumerate(part)]
        (folder / name).write_text("".join(lines))
    with open(folder / "news.jsonl", "w") as file:
        file.writelines(json.dumps({"text": t, "label": topics}) + "\n" for t, topics in rows)


def test_quick_reads_several_files_and_labels_as_train_does(folder, capsys, monkeypatch):
    monkeypatch.setattr("cordwood.cli.compare.QUICK_RECIPES", ("svm", "nb"))
    monkeypatch.setattr("cordwood.cli.compare.ENCODER_RECIPES", ())
    write_news(folder)
    data = [str(folder / "first.csv"), str(folder / "parts")]
    options = ["--no-header", "--delimiter", "|", "--text", "1", "--label", "2", "--group", "3"]
    quick = ["compare", "--quick", *data, *options, "--label-separator", ";"]
    assert main([*quick, "--report", str(folder / "report.html")]) == 0
    out = capsys.readouterr().out
    assert "first.csv and 1 more file: 60 texts, 3 labels, " in out
    for metric in ("micro-F1", "macro-F1", "sample-F1", "subset accuracy", "ranking precision"):
        assert metric in out
        assert metric in (folder / "report.html").read_text(encoding="utf-8")
    # The same rows in one file with lists of labels; groups would change the folds.
    ungrouped = [each for each in quick if each not in ("--group", "3")]
    cells = []
    for arguments in (ungrouped, ["compare", "--quick", str(folder / "news.jsonl")]):
        assert main([*arguments, "--json"]) == 0
        record = json.loads(capsys.readouterr().out)
        cells.append({(c["metric"], c["learner"]): c["mean"] for c in record["cells"]})
    assert cells[0] == cells[1]
    assert {metric for metric, _ in cells[0]} >= {"samples_f1", "ranking_precision"}


def test_plans_with_several_labels_show_their_results_without_the_data(folder, capsys):
    write_news(folder)
    (folder / "plan.toml").write_text(
        """
        metric = "samples_f1"
        [evaluation]
        folds = 2
        [tuning]
        folds = 2
        [[datasets]]
        name = "news"
        path = ["first.csv", "parts"]
        header = false
        delimiter = "|"
        text = "1"
        label = "2"
        label_separator = ";"
        [[learners]]
        recipe = "svm"
        grid = {C = [0.1, 1.0]}
        """
    )
    plan = str(folder / "plan.toml")
    assert main(["compare", plan, "--json"]) == 0
    first = json.loads(capsys.readouterr().out)
    assert (first["n_done"], first["n_failed"]) == (2, 0)
    assert "subset_accuracy" in first["metrics"]
    (folder / "first.csv").unlink()
    target = folder / "table.csv"
    assert main(["compare", plan, "--show", "--json", "-o", str(target)]) == 0
    assert json.loads(capsys.readouterr().out)["cells"] == first["cells"]
    assert "\nranking_precision,news,svm," in target.read_text()


def test_plans_split_by_time(folder, capsys):
    plan = (folder / "plan.toml").read_text()
    (folder / "plan.toml").write_text(
        plan.replace("folds = 3", 'kind = "time"\nfolds = 3\nrepeats = 2')
    )
    assert main(["compare", str(folder / "plan.toml")]) == 1
    assert "repeats has no effect with kind = 'time'" in capsys.readouterr().err
    (folder / "plan.toml").write_text(plan.replace("folds = 3", 'kind = "time"\nfolds = 3'))
    assert main(["compare", str(folder / "plan.toml")]) == 1
    assert "evaluation kind 'time' needs times" in capsys.readouterr().err
