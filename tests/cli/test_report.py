import csv
import json

import pytest

import report_data as data
from cordwood import TextClassifier, persist
from cordwood.cli.main import main


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("report")
    corpus = data.make_corpus()
    rows = zip(corpus.ids, corpus.texts, corpus.labels, strict=True)
    with open(folder / "things.csv", "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["id", "text", "label"])
        writer.writerows(row for row in rows if row[1])
    corpus = corpus.select([i for i, text in enumerate(corpus.texts) if text])
    model = TextClassifier(encoder=None).fit(corpus)
    record = persist.TrainingRecord(fingerprint=corpus.fingerprint(), recipe="quick")
    persist.save(model, folder / "things.cordwood", provenance=record)
    return folder


def test_report_of_a_data_set(folder, capsys):
    target = folder / "data.html"
    assert main(["report", str(folder / "things.csv"), "-o", str(target)]) == 0
    assert "<title>Data set things.csv</title>" in target.read_text(encoding="utf-8")
    assert "wrote" in capsys.readouterr().out


def test_report_of_a_model_with_its_training_data(folder, capsys):
    target, card = folder / "model.html", folder / "README.md"
    arguments = [folder / "things.cordwood", folder / "things.csv", "-o", target, "--card", card]
    assert main(["report", *map(str, arguments)]) == 0
    assert "the training data; the scores are out-of-fold" in capsys.readouterr().out
    page = target.read_text(encoding="utf-8")
    assert "<title>Model things</title>" in page and 'id="explained"' in page
    assert card.read_text(encoding="utf-8").startswith("---\nlibrary_name: cordwood\n")


def test_report_of_a_model_without_data(folder, capsys):
    target = folder / "model.json"
    assert main(["report", str(folder / "things.cordwood"), "-o", str(target), "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert printed.pop("report") == str(target)
    written = json.loads(target.read_text(encoding="utf-8"))
    assert written["source"] == "oof"
    assert printed["scores"] == written["scores"]


def test_report_of_a_model_file_with_another_name(folder):
    model = folder / "renamed.zip"
    model.write_bytes((folder / "things.cordwood").read_bytes())
    assert main(["report", str(model), "-o", str(folder / "renamed.md"), "-q"]) == 0
    assert (folder / "renamed.md").read_text(encoding="utf-8").startswith("# Model renamed")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["things.csv", "-o", "report.pdf"], "'report.pdf' must end in .html, .md or .json"),
        (["things.csv", "-o", "none/report.html"], "does not exist"),
        (["things.csv", "--card", "README.md"], "--card requires a MODEL"),
        (["things.csv", "--curve"], "--curve requires a MODEL"),
        (["things.cordwood", "--curve"], "--curve requires the training data"),
        (["none.cordwood"], "none.cordwood"),
        (["none.zip", "things.csv"], "there is no model file none.zip"),
    ],
)
def test_invalid_arguments(folder, capsys, monkeypatch, arguments, message):
    monkeypatch.chdir(folder)
    assert main(["report", *arguments]) in (1, 2)
    error = capsys.readouterr().err
    assert message in error and error.count("\n") == 1


def test_audit_writes_a_report(folder):
    target = folder / "audit.html"
    arguments = ["audit", folder / "things.csv", "--recipe", "nb", "--report", target, "-q"]
    assert main([*map(str, arguments)]) == 0
    assert 'id="suspects"' in target.read_text(encoding="utf-8")


def test_train_writes_a_report(folder, capsys):
    target = folder / "trained.html"
    arguments = ["train", folder / "things.csv", "-o", folder / "new.cordwood", "--report", target]
    assert main([*map(str, arguments), "--encoder", "none", "--quiet"]) == 0
    page = target.read_text(encoding="utf-8")
    assert "TF-IDF + linear SVM" in page
    assert all(word in page for word in ("training time", "peak memory", "seed", "fingerprint"))


def test_report_of_a_model_of_a_table(folder):
    with open(folder / "table.csv", "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["text", "price", "label"])
        for i in range(40):
            writer.writerow([f"{'good' if i % 2 else 'bad'} thing {i % 7}", 10 * (i % 2), i % 2])
    target = folder / "table.html"
    arguments = ["train", folder / "table.csv", "--numeric", "price", "--text", "text"]
    options = ["-o", folder / "table.cordwood", "--report", target, "--quiet", "--encoder", "none"]
    assert main([*map(str, arguments), *map(str, options)]) == 0
    assert 'id="explained"' in target.read_text(encoding="utf-8")


def test_several_labels_per_sample_raise_before_training(folder, capsys, monkeypatch):
    monkeypatch.chdir(folder)
    rows = [{"text": f"{a} {b}", "labels": [a, b]} for a in "xyz" for b in "xyz" if a != b]
    (folder / "many.jsonl").write_text("\n".join(map(json.dumps, rows)))
    arguments = ["train", "many.jsonl", "--label", "labels", "--report", "many.html"]
    assert main(arguments) == 1
    assert "--report requires one label per sample" in capsys.readouterr().err
    assert not (folder / "many.cordwood").exists()


def test_learning_curve_is_part_of_the_report(folder):
    target = folder / "curve.html"
    arguments = [folder / "things.cordwood", folder / "things.csv", "-o", target, "--curve", "-q"]
    assert main(["report", *map(str, arguments)]) == 0
    page = target.read_text(encoding="utf-8")
    assert 'id="curve"' in page and "Twice as many labelled samples (178)" in page


def test_compare_writes_a_report(folder, capsys):
    plan = folder / "plan.toml"
    plan.write_text(
        '[evaluation]\nfolds = 3\n[[datasets]]\npath = "things.csv"\n'
        '[[learners]]\nrecipe = "svm"\n[[learners]]\nrecipe = "nb"\n'
    )
    target = folder / "compare.html"
    assert main(["compare", str(plan), "--report", str(target)]) == 0
    page = target.read_text(encoding="utf-8")
    assert "<title>Comparison plan</title>" in page and 'id="scores"' in page
    assert main(["compare", str(plan), "--show", "--report", str(folder / "x.txt")]) == 1
    assert "must end in .html" in capsys.readouterr().err
