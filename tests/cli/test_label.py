"""`cordwood label` as an installed command."""

import json
import os
import signal
import subprocess
import sys
import threading
import urllib.request
from contextlib import contextmanager

import pytest

from cordwood.cli.main import main
from label_projects import read_csv, write_csv

pytest.importorskip("uvicorn", reason="needs the extra serve")

TEXTS = ["late parcel", "kind staff", "parcel is late again", "staff was rude", "no parcel"]


@pytest.fixture
def data(tmp_path):
    return write_csv(tmp_path / "d.csv", [(text, "") for text in TEXTS])


@contextmanager
def label(*arguments):
    """Run the command until the block ends, and yield its address and process."""
    command = [sys.executable, "-m", "cordwood", "label", *map(str, arguments)]
    process = subprocess.Popen(
        [*command, "--port", "0", "--encoder", "none"],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    # A line that never comes must not stop the tests.
    timer = threading.Timer(240, process.kill)
    timer.start()
    try:
        lines = (line.split() for line in process.stdout)
        yield next(line[1] for line in lines if line[0] == "serving"), process
    finally:
        timer.cancel()
        if process.poll() is None:
            process.send_signal(signal.SIGTERM)
        process.communicate(timeout=120)


def post(address, route, **values):
    request = urllib.request.Request(f"{address}/{route}", json.dumps(values).encode())
    with urllib.request.urlopen(request, timeout=60) as response:
        return json.load(response)


def test_labels_are_in_the_output_and_kept_for_the_next_run(tmp_path, data):
    classes = write_csv(
        tmp_path / "classes.csv",
        [("delivery", "late parcel"), ("service", "staff")],
        ["name", "description"],
    )
    output = tmp_path / "out.csv"
    with label(data, "-o", output, "--classes", classes, "--annotator", "ann") as (address, _):
        sample = post(address, "next", annotator="ann")["sample"]
        kind = "service" if "staff" in sample["text"] else "delivery"
        body = {"annotator": "ann", "id": sample["id"], "action": "label", "labels": [kind]}
        post(address, "labels", **body)
    assert read_csv(output) == [{"text": sample["text"], "label": kind}]
    # Killed, it has written no output; the labels are there nevertheless.
    with label(data, "-o", output) as (address, process):
        second = post(address, "next", annotator="ann")["sample"]
        assert second["id"] != sample["id"]
        post(address, "labels", **{**body, "id": second["id"]})
        process.kill()
    with label(data, "-o", output) as (address, _):
        with urllib.request.urlopen(f"{address}/project") as response:
            assert json.load(response)["progress"]["labelled"] == 2
    assert {row["text"] for row in read_csv(output)} == {sample["text"], second["text"]}


def run(capsys, *arguments):
    code = main(["label", *map(str, arguments)])
    return code, capsys.readouterr().err


def test_usage_errors(tmp_path, data, capsys):
    output = tmp_path / "out.csv"
    code, message = run(capsys, data, "-o", tmp_path / "out.pdf")
    assert code == 2 and "'out.pdf' must end in .csv" in message
    code, message = run(capsys, data, "-o", data)
    assert code == 1 and "it is an input" in message
    code, message = run(capsys, tmp_path / "none.csv", "-o", output)
    assert code == 1 and "does not exist" in message
    code, message = run(capsys, data, "-o", output, "--review", "--multilabel")
    assert code == 2 and "one label per text" in message
    code, message = run(capsys, data, "-o", output, "--review", "--encoder", "none")
    assert code == 1 and "a review needs labels" in message
    model = tmp_path / "m.cordwood"
    model.touch()
    code, message = run(capsys, data, "-o", output, "--model", model)
    assert code == 2 and "--model requires --review" in message
    code, message = run(capsys, "-", "-o", output)
    assert code == 1 and "give a file, not -" in message
    assert not os.path.exists(f"{output}.events.sqlite")
    output.write_text("text,label\nmine,a\n")
    code, message = run(capsys, data, "-o", output)
    assert code == 1 and "give another -o" in message
    assert output.read_text() == "text,label\nmine,a\n"


def test_data_that_cannot_be_labelled(tmp_path, capsys):
    output = tmp_path / "out.csv"
    path = tmp_path / "d.csv"
    path.write_text("text,label\n")
    code, message = run(capsys, path, "-o", output)
    assert code == 1 and "has no rows" in message
    path.write_bytes("text,label\nschön,\n".encode("latin-1"))
    code, message = run(capsys, path, "-o", output)
    assert code == 1 and "--encoding" in message
    path.write_text("body,label\nx,\n")
    code, message = run(capsys, path, "-o", output)
    assert code == 1 and 'no column "text"' in message
    numbers = tmp_path / "n.svm"
    numbers.write_text("1 1:0.5\n2 2:1\n")
    code, message = run(capsys, numbers, "-o", output)
    assert code == 1 and "numbers instead of texts" in message


def test_other_encodings_and_dialects_are_kept(tmp_path):
    data = tmp_path / "d.csv"
    data.write_bytes("text;label\r\nschön;\r\ngut;\r\n".encode("latin-1"))
    output = tmp_path / "out.csv"
    arguments = (data, "-o", output, "--encoding", "latin-1", "--multilabel")
    with label(*arguments) as (address, _):
        post(address, "classes", annotator="ann", action="add", name="Grün")
        sample = post(address, "list", annotator="ann", filter={"search": "SCHÖN"})["rows"][0]
        post(address, "labels", annotator="ann", id=sample["id"], action="label", labels=["Grün"])
    assert output.read_bytes() == "text;label\r\nschön;Grün\r\n".encode("latin-1")
