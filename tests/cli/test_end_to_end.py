"""End-to-end tests of the installed command."""

import csv
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

COMMAND = Path(sys.executable).with_name("cordwood.exe" if os.name == "nt" else "cordwood")

# In seconds; ends a hanging test. The first run compiles the kernels, maybe on a busy computer.
TIMEOUT = 1200

WORDS = {"food": "bread soup salt cheese apple", "sport": "goal team match player ball"}


def call(folder, *arguments, code=0):
    # Variables that change the encoding, the width of tables or the data sets.
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
        timeout=TIMEOUT,
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
    """Directory with a file of twenty texts and the model trained on it."""
    folder = tmp_path_factory.mktemp("end_to_end")
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
    assert "20 texts, 2 classes of 10" in trained.stdout
    assert trained.stderr == ""
    return folder


def test_help_lists_the_commands(tmp_path):
    printed = call(tmp_path, "--help").stdout
    for name in ("demo", "train", "predict", "evaluate", "datasets"):
        assert f"\n  {name} " in printed
    assert call(tmp_path).stdout == printed


def test_evaluate(folder):
    printed = call(folder, "evaluate", "model.cordwood", "rows.csv").stdout
    assert "20 of 20 correct" in printed
    assert "\x1b" not in printed
    record = json.loads(call(folder, "evaluate", "model.cordwood", "rows.csv", "--json").stdout)
    assert record["confusion"] == [[10, 0], [0, 10]]


def test_predict_writes_csv_and_json_lines(folder):
    call(folder, "predict", "model.cordwood", "rows.csv", "-o", "labels.jsonl")
    with open(folder / "rows.csv", newline="") as file:
        keys, _, topics = zip(*list(csv.reader(file))[1:], strict=True)
    records = [json.loads(line) for line in (folder / "labels.jsonl").read_text().splitlines()]
    assert tuple(record["key"] for record in records) == keys
    assert tuple(record["topic"] for record in records) == topics
    assert tuple(record["label"] for record in records) == topics
    assert all(0.5 < record["probability"] <= 1 for record in records)
    printed = call(folder, "predict", "model.cordwood", "rows.csv", "-o", "-").stdout
    again = list(csv.DictReader(printed.splitlines(keepends=True)))
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
        ("body,topic\nbread,food\nsoup,food\n", "", "have the label 'food'"),
        (
            "body,topic\nbread,food\ngoal,sport\n",
            "--recipe svm --set C=-1",
            "C must be a positive number; got -1",
        ),
    ],
)
def test_invalid_input_is_one_line_and_leaves_no_model(tmp_path, content, options, message):
    (tmp_path / "bad.csv").write_text(content, encoding="latin-1")
    columns = ("--text", "body", "--label", "topic")
    done = call(tmp_path, "train", "bad.csv", *columns, *options.split(), code=1)
    assert message in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["bad.csv"]


def test_encoding(tmp_path):
    rows = [(str(number), "käse", "food") for number in range(3)]
    rows += [(str(number), "tor", "spört") for number in range(3)]
    write_rows(tmp_path / "rows.csv", rows, encoding="latin-1")
    columns = ("--text", "body", "--label", "topic", "--json")
    done = call(tmp_path, "train", "rows.csv", *columns, "--encoding", "latin-1")
    assert json.loads(done.stdout)["classes"] == {"food": 3, "spört": 3}


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["predict", "rows.csv", "rows.csv"], 1, "cannot load rows.csv"),
        (["predict", "model.cordwood", "missing.csv"], 1, "missing.csv"),
        (["evaluate", "missing.cordwood", "rows.csv"], 1, "missing.cordwood"),
        (["predict", "model.cordwood", "rows.csv", "--lable", "x"], 2, "--lable"),
    ],
)
def test_invalid_calls_are_one_line(folder, arguments, code, message):
    assert message in call(folder, *arguments, code=code).stderr


@pytest.fixture
def started():
    """Start commands in the background and kill them at the end of the test."""
    processes = []

    def start(folder, *arguments, **options):
        process = subprocess.Popen(
            [COMMAND, *arguments],
            cwd=folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            # A process in the background ignores Ctrl-C, and so would its children.
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
            **options,
        )
        processes.append(process)
        return process

    yield start
    for process in processes:
        process.kill()
        process.communicate()


# More than the buffer of a pipe: once all is written, the command is reading.
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
def test_ctrl_c_leaves_existing_files_unchanged(folder, started, arguments):
    inner = folder / arguments[0]
    inner.mkdir()
    target = inner / arguments[-1]
    target.write_text("old")
    process = started(inner, *arguments, stdin=subprocess.PIPE)
    process.stdin.write(MANY_ROWS)
    # Standard input is still open, so the command is still reading.
    process.send_signal(signal.SIGINT)
    assert process.wait(timeout=TIMEOUT) == 130
    assert process.stdout.read() == b""
    assert process.stderr.read() == b"cordwood: interrupted\n"
    assert target.read_text() == "old"
    assert list(inner.iterdir()) == [target]


@pytest.mark.skipif(not hasattr(signal, "SIGHUP"), reason="Windows has no such signals")
@pytest.mark.parametrize("name", ["SIGTERM", "SIGHUP"])
def test_termination_leaves_no_temporary_files(folder, started, name, request):
    # Children inherit ignored signals, as SIGHUP is below nohup.
    inherited = signal.signal(getattr(signal, name), signal.SIG_DFL)
    request.addfinalizer(lambda: signal.signal(getattr(signal, name), inherited))
    inner = folder / name
    inner.mkdir()
    target = inner / "out.csv"
    target.write_text("old")
    process = started(
        inner, "predict", "../model.cordwood", "-", "--format", "csv", "-o", "out.csv",
        stdin=subprocess.PIPE,
    )  # fmt: skip
    process.stdin.write(MANY_ROWS)
    process.stdin.flush()
    deadline = time.monotonic() + TIMEOUT
    while len(list(inner.iterdir())) < 2 and time.monotonic() < deadline:
        time.sleep(0.05)  # until the temporary file is there
    process.send_signal(getattr(signal, name))
    assert process.wait(timeout=TIMEOUT) == -getattr(signal, name)
    assert process.stderr.read() == b""
    assert target.read_text() == "old"
    assert list(inner.iterdir()) == [target]


@pytest.mark.skipif(os.name == "nt", reason="Windows has no broken pipes")
def test_closed_pipe_is_silent(folder, started):
    (folder / "many.csv").write_bytes(MANY_ROWS)
    process = started(folder, "predict", "model.cordwood", "many.csv")
    assert process.stdout.readline() == b"key,body,topic,label,probability\n"
    process.stdout.close()
    assert process.wait(timeout=TIMEOUT) == 1
    assert process.stderr.read() == b""
    process.stdout = None


def test_help_imports_nothing_heavy():
    code = (
        "import sys, cordwood; from cordwood.cli.main import main; main(['--help']);"
        "heavy = {'numba', 'numpy', 'scipy', 'sklearn', 'pandas', 'rich', 'pydantic'};"
        "sys.exit(', '.join(heavy & sys.modules.keys()) or 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, encoding="utf-8")
    assert (done.returncode, done.stderr) == (0, "")


def test_train_does_not_import_compare(folder):
    code = (
        "import sys; from cordwood.cli.main import main;"
        "assert main(['train', 'rows.csv', '--text', 'body', '--label', 'topic', '-o', 'm']) == 0;"
        "sys.exit(', '.join(n for n in sys.modules if n.startswith('cordwood.compare')) or 0)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=folder, capture_output=True, encoding="utf-8"
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_demo_with_the_installed_libraries(tmp_path):
    record = json.loads(call(tmp_path, "demo", "--json").stdout)
    assert record["n_samples"] > 200
    found, expected = record["accuracy"], record["expected"]["accuracy"]
    assert found["value"] > 0.8
    assert found["value"] > record["baseline_accuracy"]
    assert found["low"] <= expected["high"] and found["high"] >= expected["low"]
    undecided = record["undecided"]
    assert 0 < undecided["n_undecided"] < record["n_samples"] / 2
    assert undecided["n_wrong"] / undecided["n_decided"] < 1 - found["value"]
    assert record["suspects"][0]["kind"] == "label error"
    assert "speak" in record["explanation"]["sentence"]
    assert list(tmp_path.iterdir()) == []
