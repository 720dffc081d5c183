import json
import re

import pytest
from rich.progress import Progress
from rich.text import Text

from cordwood.cli.console import Console, ProgressBars
from cordwood.encoders import progress as _encoding_progress
from cordwood.encoders.progress import show_progress


def test_table_in_a_pipe_is_not_truncated(capsys):
    long = "word " * 60 + "end"
    Console().table(("name", "rows"), [(long, 1234567), ("short", 1)])
    lines = capsys.readouterr().out.splitlines()
    assert lines[1].startswith(long)
    assert lines[1].endswith("1,234,567")
    assert len(lines) == 3


def test_numbers_are_right_aligned(capsys):
    Console().table(("class", "F1", "rows"), [("a", 0.5, 10), ("b", 1.0, 2)])
    header, first, second = capsys.readouterr().out.splitlines()
    assert first.split() == ["a", "0.500", "10"]
    assert first.index("10") + 2 == second.index(" 2") + 2 == header.index("rows") + 4


def test_markup_and_control_characters_are_not_interpreted(capsys):
    console = Console()
    console.field("read", "[bold]x[/bold] :smile: \x1b[31m")
    console.table(("[a]",), [("[red]label\x1b]0;title\x07",)])
    out = capsys.readouterr().out
    assert "[bold]x[/bold] :smile: \ufffd[31m" in out
    assert "[red]label\ufffd]0;title\ufffd" in out
    assert "\x1b" not in out


@pytest.mark.parametrize("options", [{"as_json": True}, {"quiet": True}])
def test_json_and_quiet_print_no_text(capsys, options):
    console = Console(**options)
    console.print("sentence")
    console.field("name", "value")
    console.table(("a",), [("b",)])
    assert capsys.readouterr().out == ""


def test_json_is_printed_on_request_only(capsys):
    Console().print_json({"a": 1})
    assert capsys.readouterr().out == ""
    Console(as_json=True, quiet=True).print_json({"a": "ä", "b": [1.5]})
    assert json.loads(capsys.readouterr().out) == {"a": "ä", "b": [1.5]}


def test_no_progress_in_a_pipe(capsys):
    with Console().progress("reading") as progress:
        assert progress is None
    assert capsys.readouterr().err == ""


def test_progress_on_a_terminal_goes_to_standard_error(capsys, monkeypatch):
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    with Console().progress("reading") as progress:
        progress(1, 2)
        progress(2, 2)
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "reading" in captured.err
    with Console(quiet=True).progress("reading") as progress:
        assert progress is None


def test_bars_show_counts_and_remarks(capsys, monkeypatch):
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", "80")
    with Console().bars() as bars:
        bars.update("all trials", 3, 240)
        bars.update("[bold]set", 2, 60, "best: [red]svm\x1b 97.72")
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "3/240" in captured.err
    assert "[bold]set" in captured.err
    assert "best: [red]svm\ufffd 97.72" in captured.err
    with Console(quiet=True).bars() as bars:
        assert bars is None


def test_finished_bars_are_hidden():
    progress = Progress(disable=True)
    bars = ProgressBars(progress)
    bars.update("all", 0, 100)
    for number in range(30):
        bars.update(f"set {number}", 1, 2)
        bars.update(f"set {number}", 2, 2)
    shown = [task.description for task in progress.tasks if task.visible]
    assert len(shown) <= 12
    assert shown[0] == "all"
    assert shown[-1] == "set 29"


def test_fits_compares_with_the_terminal_width(monkeypatch):
    rows = [tuple(range(1000, 1040))]
    columns = [str(position) for position in range(40)]
    assert Console().fits(columns, rows)
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", "80")
    assert not Console().fits(columns, rows)
    assert Console().fits(columns[:5], [rows[0][:5]])


def test_lines_are_wrapped_between_words_on_a_terminal_only(capsys, monkeypatch):
    words = " ".join(["warning"] * 30)
    Console().print(words)
    Console().field("note", words)
    assert len(capsys.readouterr().out.splitlines()) == 2
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", "60")
    console = Console()
    console.print(words)
    console.field("note", words)
    console.print_text(Text(words))
    lines = re.sub(r"\x1b\[[\d;]*m", "", capsys.readouterr().out).splitlines()
    assert all(len(line) <= 60 for line in lines)
    assert {word for line in lines for word in line.split()} == {"note", "warning"}
    console.field("next", words)  # a command, which is copied
    assert len(capsys.readouterr().out.splitlines()) == 1


def test_step_is_a_bar_of_the_same_display():
    progress = Progress()
    bars = ProgressBars(progress)
    bars.update("training", 0, None)
    bars.show_step("encoding texts", 1, 3)
    assert [(task.description, task.completed) for task in progress.tasks] == [
        ("training", 0),
        ("encoding texts", 1),
    ]
    bars.show_step("encoding texts", 3, 3)
    assert [task.description for task in progress.tasks] == ["training"]


@pytest.mark.parametrize("quiet", [False, True])
def test_encoding_has_no_display_of_its_own(monkeypatch, capsys, quiet):
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    monkeypatch.setattr(_encoding_progress, "_DELAY", 0.0)
    monkeypatch.setattr(_encoding_progress, "_start_bar", None)  # would fail
    with Console(quiet=quiet).progress("training"), show_progress(3, None) as advance:
        advance(1)
        advance(2)
    assert capsys.readouterr().err == "" or not quiet
