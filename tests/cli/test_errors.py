import errno
import os
import re
import subprocess
import sys

import pytest
import typer

from cordwood.cli import errors
from cordwood.exceptions import DataError


@pytest.fixture(autouse=True)
def no_debugging(monkeypatch):
    monkeypatch.delenv(errors.DEBUG_VARIABLE, raising=False)


@pytest.mark.parametrize(
    ("error", "code", "line"),
    [
        (DataError("a.csv,\n line 2: bad"), 1, "cordwood: a.csv, line 2: bad\n"),
        (FileNotFoundError(2, "No such file", "a.csv"), 1, "cordwood: a.csv: No such file\n"),
        (OSError(errno.ENOSPC, "Full"), 1, "cordwood: standard output: Full\n"),
        (OSError(errno.EIO, "Broken"), 1, "cordwood: Broken\n"),
        (MemoryError(), 1, "cordwood: out of memory\n"),
        (typer.BadParameter("no."), 2, "cordwood: Invalid value: no (see cordwood --help)\n"),
        (BrokenPipeError(errno.EPIPE, "Broken pipe"), 1, ""),
    ],
)
def test_error_is_one_line_and_an_exit_code(capsys, error, code, line):
    assert errors.report(error) == code
    assert capsys.readouterr().err == line


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no /dev/full")
def test_full_disk_of_standard_output_is_named():
    code = "from cordwood.cli.main import run; run()"
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [sys.executable, "-c", code, "--help"], stdout=full, stderr=subprocess.PIPE, text=True
        )
    assert done.returncode == 1
    assert done.stderr == "cordwood: standard output: No space left on device\n"


def test_library_that_cannot_be_loaded_for_want_of_memory_is_no_bug(capsys):
    reason = ImportError("a.so: failed to map segment from shared object")
    other = OSError("Could not find a.so")
    other.__context__ = reason
    for error in (reason, other, RuntimeError("can't start new thread")):
        assert errors.report(error) == 1
        assert capsys.readouterr().err.startswith("cordwood: out of memory: a library cannot be ")


@pytest.mark.skipif(sys.platform != "linux", reason="limits the address space")
@pytest.mark.parametrize("kilobytes", [200_000, 400_000, 700_000])
def test_limited_address_space_is_one_sentence(tmp_path, kilobytes):
    (tmp_path / "a.csv").write_text("text,label\na,b\nc,d\n")
    code = (
        f"import resource; resource.setrlimit(resource.RLIMIT_AS, ({kilobytes * 1024},) * 2); "
        "from cordwood.cli.main import run; run()"
    )
    for command in (["--version"], ["train", "a.csv"], ["predict", "no", "a.csv"]):
        done = subprocess.run(
            [sys.executable, "-c", code, *command],
            capture_output=True,
            cwd=tmp_path,
            text=True,
            timeout=120,
        )
        if command == ["--version"]:
            assert (done.returncode, done.stderr) == (0, "")
        elif kilobytes == 200_000:  # OpenBLAS would not end
            assert done.returncode == 1
            assert done.stderr == (
                "cordwood: out of memory: the limit of the address space (ulimit -v) is 200,000 "
                "kB, and libraries need more than 524,288 kB\n"
            )
        else:  # a library may abort the process, which Python cannot prevent
            assert "Traceback" not in done.stderr
            assert "bug in cordwood" not in done.stderr


def test_unexpected_error_is_reported_as_a_bug(capsys):
    assert errors.report(KeyError("x")) == 70
    message = capsys.readouterr().err
    assert message.startswith("cordwood: unexpected KeyError: 'x'; this is a bug in cordwood")
    assert message.count("\n") == 1


def test_debug_prints_the_traceback_and_the_message(capsys, monkeypatch):
    monkeypatch.setenv(errors.DEBUG_VARIABLE, "1")
    assert errors.report(DataError("bad")) == 1
    message = capsys.readouterr().err
    assert "cordwood.exceptions.DataError: bad" in message
    assert message.endswith("cordwood: bad\n")


def test_one_line_replaces_control_characters():
    assert errors.one_line("tab\there \x1b[2J\x07 naïve 日本\u202e") == (
        "tab here \ufffd[2J\ufffd naïve 日本<U+202E>"
    )


def run_in_terminal(code):
    """Return what a Python program writes to a terminal."""
    pty = pytest.importorskip("pty")
    leader, follower = pty.openpty()
    with subprocess.Popen(
        [sys.executable, "-c", code], stdin=follower, stdout=follower, stderr=follower
    ) as child:
        os.close(follower)
        written = b""
        try:
            while chunk := os.read(leader, 1 << 16):
                written += chunk
        except OSError:  # the end, on Linux
            pass
    os.close(leader)
    assert child.returncode == 0, written
    return written.decode()


HOSTILE = "red\x1b[31m title\x1b]0;x\x07 \x9b2J \u202espam"


def test_nothing_that_is_printed_controls_a_terminal():
    written = run_in_terminal(
        f"""
import logging, sys, warnings
from rich.text import Text
from cordwood.cli import errors
from cordwood.cli.console import Console
from cordwood.cli.outputs import open_table
hostile = {HOSTILE!r}
errors.configure_streams()
errors.configure_streams()
print(hostile)
print(hostile, file=sys.stderr)
warnings.warn(hostile)
logging.basicConfig()
logging.warning(hostile)
errors.print_error(hostile)
with open_table(None, [hostile]) as write:
    write([hostile])
Console(as_json=True).print_json({{hostile: hostile}})
console = Console()
console.print(hostile)
console.field(hostile, hostile)
console.print_text(Text(hostile))
console.table([hostile], [[hostile]])
"""
    )
    # The styles of rich remain.
    plain = re.sub(r"\x1b\[[0-9;]*m", "", written)
    assert plain != written
    assert "31m" in plain
    assert "\x1b[31m" not in written
    assert not set(plain) & {"\x1b", "\x07", "\x9b", "\u202e"}
    assert plain.count("spam") == 15
