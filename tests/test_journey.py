"""The road of a new user, through the installed command and nothing else."""

import csv
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

COMMAND = Path(sys.executable).with_name("cordwood.exe" if os.name == "nt" else "cordwood")

WORDS = {"food": "bread soup salt cheese apple", "sport": "goal team match player ball"}


def call(folder, *arguments, code=0):
    # Python would otherwise take the encoding and the width of tables from where the tests run.
    environment = {
        name: value
        for name, value in os.environ.items()
        if name not in ("COLUMNS", "CORDWOOD_DATA", "CORDWOOD_DEBUG", "FORCE_COLOR")
    }
    done = subprocess.run(
        [COMMAND, *map(str, arguments)],
        cwd=folder,
        env=environment,
        capture_output=True,
        encoding="utf-8",
        timeout=120,
    )
    assert done.returncode == code, done.stderr
    if code:
        assert done.stderr.startswith("cordwood: ")
        assert done.stderr.count("\n") == 1
    return done


def write_rows(path, rows, encoding="utf-8"):
    with open(path, "w", encoding=encoding, newline="") as file:
        writer = csv.writer(file)
        writer.writerow(("key", "body", "topic"))
        writer.writerows(rows)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Twenty rows and the model that was trained on them."""
    folder = tmp_path_factory.mktemp("journey")
    rows = [
        (f"k{number}{label}", f"{word}, the {word}\nwith {texts.split()[number % 3]}", label)
        for number in range(10)
        for label, texts in WORDS.items()
        for word in [texts.split()[number % 5]]
    ]
    write_rows(folder / "rows.csv", rows)
    trained = call(
        folder, "train", "rows.csv", "--text", "body", "--label", "topic", "--id", "key",
        "-o", "model.cordwood",
    )  # fmt: skip
    assert "20 documents, 2 classes of 10" in trained.stdout
    assert trained.stderr == ""
    return folder


def test_help_lists_the_commands(tmp_path):
    printed = call(tmp_path, "--help").stdout
    for name in ("demo", "train", "predict", "evaluate", "datasets"):
        assert f"\n  {name} " in printed
    assert call(tmp_path).stdout == printed


def test_evaluate(folder):
    printed = call(folder, "evaluate", "model.cordwood", "rows.csv").stdout
    assert "micro F1  1.000 (20 of 20 right)" in printed
    assert "\x1b" not in printed
    record = json.loads(call(folder, "evaluate", "model.cordwood", "rows.csv", "--json").stdout)
    assert record["confusion"] == [[10, 0], [0, 10]]


def test_predict_writes_csv_and_json_lines(folder):
    call(folder, "predict", "model.cordwood", "rows.csv", "-o", "labels.jsonl")
    with open(folder / "rows.csv", newline="") as file:
        keys, _, topics = zip(*list(csv.reader(file))[1:], strict=True)
    records = [json.loads(line) for line in (folder / "labels.jsonl").read_text().splitlines()]
    assert tuple(record["id"] for record in records) == keys
    assert tuple(record["label"] for record in records) == topics
    assert all(0.5 < record["probability"] <= 1 for record in records)
    printed = call(folder, "predict", "model.cordwood", "rows.csv", "-o", "-").stdout
    again = list(csv.DictReader(printed.splitlines()))
    assert [{**row, "probability": float(row["probability"])} for row in again] == records


@pytest.mark.parametrize(
    ("content", "options", "message"),
    [
        (
            "body,topic\nbread,food\n",
            "--text text",
            'no column "text"; its columns are: body, topic',
        ),
        ("body,topic\ncaf\xe9,food\ngoal,sport\n", "", "line 2: byte 0xe9"),
        ("body,topic\nbread,food\ngoal,\n", "", 'line 3: the label (column "topic") is empty'),
        ("body,topic\nbread,food\nsoup,food\n", "", '"food"'),
        (
            "body,topic\nbread,food\ngoal,sport\n",
            "--recipe svm --set C=-1",
            "C must be a positive number; got -1",
        ),
    ],
)
def test_wrong_input_is_one_line_and_leaves_no_model(tmp_path, content, options, message):
    (tmp_path / "bad.csv").write_text(content, encoding="latin-1")
    columns = ("--text", "body", "--label", "topic")
    done = call(tmp_path, "train", "bad.csv", *columns, *options.split(), code=1)
    assert message in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["bad.csv"]


def test_the_right_encoding_can_be_named(tmp_path):
    rows = [(str(number), "käse", "food") for number in range(3)]
    rows += [(str(number), "tor", "spört") for number in range(3)]
    write_rows(tmp_path / "rows.csv", rows, encoding="latin-1")
    columns = ("--text", "body", "--label", "topic", "--json")
    done = call(tmp_path, "train", "rows.csv", *columns, "--encoding", "latin-1")
    assert json.loads(done.stdout)["classes"] == {"food": 3, "spört": 3}


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["predict", "rows.csv", "rows.csv"], 1, "rows.csv was not opened"),
        (["predict", "model.cordwood", "missing.csv"], 1, "missing.csv"),
        (["evaluate", "missing.cordwood", "rows.csv"], 1, "missing.cordwood"),
        (["predict", "model.cordwood", "rows.csv", "--lable", "x"], 2, "--lable"),
    ],
)
def test_wrong_calls_are_one_line(folder, arguments, code, message):
    assert message in call(folder, *arguments, code=code).stderr


@pytest.fixture
def started():
    """Start a command to be meddled with while it runs."""
    processes = []

    def start(folder, *arguments, **options):
        process = subprocess.Popen(
            [COMMAND, *arguments],
            cwd=folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            # A test run in the background is deaf to Ctrl-C, and its children would be.
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
            **options,
        )
        processes.append(process)
        return process

    yield start
    for process in processes:
        process.kill()
        process.communicate()


# More than a pipe holds: whoever has written all of it knows that the other side is reading.
MANY_ROWS = b"key,body,topic\n" + b"k,bread soup goal,food\n" * 20_000


@pytest.mark.skipif(os.name == "nt", reason="Windows cannot send Ctrl-C to one process")
@pytest.mark.parametrize(
    "arguments",
    [
        ("predict", "../model.cordwood", "-", "--format", "csv", "-o", "out.csv"),
        ("train", "-", "--format", "csv", "--text", "body", "--label", "topic", "-o", "out.csv"),
    ],
    ids=["predict", "train"],
)
def test_ctrl_c_leaves_what_was_there(folder, started, arguments):
    inner = folder / arguments[0]
    inner.mkdir()
    target = inner / arguments[-1]
    target.write_text("old")
    process = started(inner, *arguments, stdin=subprocess.PIPE)
    process.stdin.write(MANY_ROWS)
    # The data does not end, so the command is still at work.
    process.send_signal(signal.SIGINT)
    assert process.wait(timeout=60) == 130
    assert process.stdout.read() == b""
    assert process.stderr.read() == b"cordwood: interrupted\n"
    assert target.read_text() == "old"
    assert list(inner.iterdir()) == [target]


@pytest.mark.skipif(os.name == "nt", reason="Windows has no broken pipes")
def test_a_reader_that_has_enough_is_no_error(folder, started):
    (folder / "many.csv").write_bytes(MANY_ROWS)
    process = started(folder, "predict", "model.cordwood", "many.csv")
    assert process.stdout.readline() == b"id,label,probability\n"
    process.stdout.close()
    assert process.wait(timeout=60) == 1
    assert process.stderr.read() == b""
    process.stdout = None


def test_import_and_help_load_nothing_heavy():
    code = (
        "import sys, cordwood; from cordwood.cli.main import main; main(['--help']);"
        "heavy = {'numpy', 'scipy', 'sklearn', 'pandas', 'rich', 'pydantic'};"
        "sys.exit(', '.join(heavy & sys.modules.keys()) or 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, encoding="utf-8")
    assert (done.returncode, done.stderr) == (0, "")


def test_demo_on_this_machine(tmp_path):
    record = json.loads(call(tmp_path, "demo", "--json").stdout)
    assert record["n"] > 200
    assert record["macro_f1"] > 0.4
    assert list(tmp_path.iterdir()) == []
