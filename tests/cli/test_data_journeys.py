"""Journeys from data of many kinds to predictions, through the command."""

import csv
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from cordwood.cli.main import main

COMMAND = Path(sys.executable).with_name("cordwood.exe" if os.name == "nt" else "cordwood")


@pytest.fixture
def command(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("CORDWOOD_DATA", raising=False)

    def run(*arguments, code=0):
        found = main([str(argument) for argument in arguments])
        captured = capsys.readouterr()
        assert found == code, captured.err
        return captured

    return run


def write_csv(name, header, rows):
    with open(name, "w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([header, *rows])


# Two classes in each language, and what `train` prints of the features.
TEXTS = {
    "Chinese": (("今天天气很好", "球队赢得了比赛"), "scripts without spaces"),
    "Japanese": (("今日は天気がいいです", "チームが試合に勝った"), "scripts without spaces"),
    "Thai": (("วันนี้อากาศดีมาก", "ทีมชนะการแข่งขัน"), "scripts without spaces"),
    "Hindi": (("आज मौसम अच्छा है", "टीम ने मैच जीता"), "preset social"),
    "Arabic": (("الطقس جميل اليوم", "فاز الفريق بالمباراة"), "preset social"),
    "HTML": (("<p>caf&eacute; &amp; tea</p>", "<b>goal</b>&nbsp;team"), "strip_html=True"),
    "emoji": (("🍵", "⚽"), "preset social"),
}


@pytest.mark.parametrize("name", TEXTS)
def test_texts_of_any_script_are_trained_on_and_predicted(command, name):
    texts, reason = TEXTS[name]
    rows = [(f"{text} {i}", label) for i in range(8) for label, text in enumerate(texts)]
    write_csv("rows.csv", ("text", "label"), rows)
    train = ("train", "rows.csv", "--recipe", "nb", "--no-scores", "-o", "model.cordwood")
    assert reason in command(*train).out
    given = [part for text in texts for part in ("--text", text)]
    found = command("predict", "model.cordwood", *given, "--json").out.splitlines()
    assert [json.loads(line)["label"] for line in found] == ["0", "1"]


def test_doubtful_labels_and_texts_are_shown_before_training(command):
    rows = [("good soup", "Food"), ("bad soup", "food "), ("goal", "sport"), ("match", "sport")]
    rows += [("", "sport"), ("good soup", "sport"), *((f"team {i}", "sport") for i in range(5))]
    write_csv("rows.csv", ("text", "label"), rows)
    train = ("train", "rows.csv", "--recipe", "nb", "--no-scores", "-o", "model.cordwood")
    shown = command(*train).out
    for finding in ("differ", "empty", "fewer than"):
        assert finding in shown, shown
    assert "--strict" in command(*train, "--strict", code=1).err
    lists = [(f"x{i}", ("a", "b", "a;b")[i % 3]) for i in range(20)]
    write_csv("rows.csv", ("text", "label"), lists)
    assert "--label-separator" in command(*train).out


def make_news(n_samples=60):
    words = {"gas": ["pipeline", "methane"], "grain": ["wheat", "corn"], "oil": ["crude", "opec"]}
    rng = np.random.default_rng(0)
    rows = []
    for i in range(n_samples):
        labels = rng.choice([*words], rng.integers(0, 3), replace=False).tolist()
        text = " ".join(str(rng.choice(words[label])) for label in labels for _ in range(3))
        rows.append((f"{text} news", ";".join(labels), f"g{i // 2}", 1 + i % 2, i))
    return rows


HEADER = ("text", "label", "group", "weight", "time")
NEWS = make_news()

# Option and command: what is printed, or the error that states why there is nothing to do.
MATRIX = [
    ("train", ("--group", "group"), 0, "30 groups, not divided"),
    ("train", ("--weight", "weight"), 0, "weights   used in training"),
    ("train", ("--time", "time", "--before", "40"), 0, "40 texts"),
    ("train", ("--time", "time"), 2, "--time requires --before or --since"),
    ("evaluate", ("--group", "group"), 2, "evaluate neither splits nor fits"),
    ("evaluate", ("--weight", "weight"), 0, "scores are weighted by weight"),
    ("evaluate", ("--time", "time", "--since", "40"), 0, "20 texts"),
    ("compare", ("--group", "group"), 0, "3 of 3 trials run"),
    ("compare", ("--weight", "weight"), 0, "3 of 3 trials run"),
    ("compare", ("--time", "time"), 0, "3 of 3 trials run"),
    ("compare", ("--time", "time", "--group", "group"), 2, "exclude each other"),
    ("audit", ("--weight", "weight"), 2, "No such option: --weight"),
    ("curve", ("--time", "time"), 2, "No such option: --time"),
]


@pytest.mark.parametrize(("name", "options", "code", "message"), MATRIX)
@pytest.mark.parametrize("several", [False, True])
def test_groups_weights_and_times(command, monkeypatch, name, options, code, message, several):
    rows = NEWS
    if not several:
        rows = [(text, labels[:3] or "none", *rest) for text, labels, *rest in NEWS]
    write_csv("rows.csv", HEADER, rows)
    monkeypatch.setattr("cordwood.cli.compare.QUICK_RECIPES", ("svm",))
    monkeypatch.setattr("cordwood.cli.compare.ENCODER_RECIPES", ())
    separator = ("--label-separator", ";") if several else ()
    train = ("train", "rows.csv", "--recipe", "svm", "-o", "model.cordwood", *separator)
    arguments = {
        "train": (*train, "--no-baseline"),
        "evaluate": ("evaluate", "model.cordwood", "rows.csv"),
        "compare": ("compare", "--quick", "rows.csv", *separator),
    }.get(name, (name, "rows.csv"))
    if name == "evaluate":
        command(*train, "--no-scores")
    captured = command(*arguments, *options, code=code)
    assert message in (captured.err if code else captured.out)


def test_learning_curves_require_one_label(command):
    write_csv("rows.csv", HEADER, NEWS)
    err = command("curve", "rows.csv", "--label-separator", ";", code=1).err
    assert "a learning curve requires one label per sample" in err


def test_balanced_classes_and_a_precision_are_options_of_train(command):
    rng = np.random.default_rng(1)
    rows = []
    for _ in range(120):
        is_spam = rng.random() < 0.2
        words = rng.choice(["offer", "free"] if is_spam else ["report", "lunch"], 3).tolist()
        rows.append((" ".join([*words, *rng.choice(["offer", "report", "now"], 3)]), is_spam))
    write_csv("mails.csv", ("text", "label"), [(t, "spam" if s else "ham") for t, s in rows])
    train = ("train", "mails.csv", "--no-scores", "-o", "model.cordwood", "--recipe")
    command(*train, "svm", "--class-weight", "balanced")
    assert "spam from a probability" in command(*train, "nb", "--optimize", "precision=0.8").out
    assert "class weights for macro F1" in command(*train, "nb", "--optimize", "macro_f1").out


def test_the_installed_command_compares_several_files_with_several_labels(tmp_path):
    for name, rows in (("first.csv", NEWS[:30]), ("second.csv", NEWS[30:])):
        write_csv(tmp_path / name, HEADER, rows)
    (tmp_path / "plan.toml").write_text(
        """
        [evaluation]
        folds = 2
        [[datasets]]
        path = ["first.csv", "second.csv"]
        label_separator = ";"
        [[learners]]
        recipe = "nb"
        """
    )
    done = subprocess.run(
        [COMMAND, "compare", "plan.toml"],
        cwd=tmp_path,
        capture_output=True,
        encoding="utf-8",
        timeout=1200,
    )
    assert done.returncode == 0, done.stderr
    assert "subset accuracy" in done.stdout
    assert "2 of 2 trials run" in done.stdout
