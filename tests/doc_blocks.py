"""Code blocks of Markdown pages: what they contain, and whether the outputs below them are right.

- A block of `python` runs in the namespace of the blocks above it. What it prints is compared with
  the block below it, if that has no language. Sessions with prompts are doctests.
- A block that begins with `cordwood` has commands. They run in the folder of the test, and what
  they print is compared as well.
- A block of `console` has commands, each after `$`, with what they print below them. Those that
  are not of cordwood are `cat` and `curl`. `cordwood serve` runs until `stop_servers`, at a free
  port instead of that of the page.
- A block that begins with `pip` is not run.
- A block under a comment such as ``<!-- file: plan.toml -->`` is written to this file.
- Another block that cannot run is under a comment with the reason, such as
  ``<!-- not run: needs Docker -->``.

`...` in an output stands for anything. Numbers are equal if they differ by at most a tenth, because
the built-in data set consists of installed libraries; seconds are not compared.
"""

import contextlib
import doctest
import io
import re
import shlex
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from markdown_it import MarkdownIt

from cordwood.cli.main import main

SHOWN_ONLY = ("json", "toml", "yaml", "text")
ENDLESS = ("label",)
FILE = re.compile(r"<!-- file: (\S+) -->\s*")
MARKER = re.compile(r"<!-- not run: (\S.*) -->\s*")
NUMBER = re.compile(r"(?<![\w.])[+-]?\d+(?:,\d{3})*(?:\.\d+)?(?:e[+-]?\d+)?")
SECONDS = re.compile(rf"{NUMBER.pattern}(?= (s|seconds|minutes)\b)")
ELLIPSIS = re.compile(r" ?\.\.\. ?")
COMMAND = re.compile(r"cordwood \w")


SERVERS: list[subprocess.Popen[str]] = []
PORTS: dict[str, str] = {}  # of pages, and those that are used instead


class Block(NamedTuple):
    """A code block that is to run, and the output below it."""

    language: str
    code: str
    output: str | None
    line: int


def read_blocks(path: Path) -> Iterator[Block]:
    """Yield the blocks of a page that are to run; an output belongs to the block above it."""
    tokens = MarkdownIt().parse(path.read_text(encoding="utf-8"))
    tokens = [
        token
        for above, token in zip(["", *(token.content for token in tokens)], tokens, strict=False)
        if token.info not in SHOWN_ONLY or token.type != "fence" or FILE.fullmatch(above)
    ]
    outputs = set()
    for number, token in enumerate(tokens):
        if token.type != "fence" or number in outputs or token.info.startswith("{"):
            continue
        above = tokens[number - 1].content if number else ""
        if name := FILE.fullmatch(above):
            yield Block(f"file {name[1]}", token.content, None, token.map[0])
            continue
        below = tokens[number + 1] if number + 1 < len(tokens) else None
        has_output = below and below.type == "fence" and not (below.info or is_commands(below))
        outputs |= {number + 1} if has_output else set()
        if MARKER.fullmatch(above) or token.content.startswith("pip "):
            continue
        yield Block(token.info, token.content, below.content if has_output else None, token.map[0])


def is_commands(token: Any) -> bool:
    return COMMAND.match(token.content) is not None


def run_block(block: Block, namespace: dict[str, Any]) -> None:
    """Run a block; raise if it cannot run, if it fails, or if its output differs."""
    for port, free in PORTS.items():
        block = block._replace(code=block.code.replace(port, free))
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        if block.language == "python" and block.code.startswith(">>>"):
            session = doctest.DocTestParser().get_doctest(block.code, namespace, "", None, None)
            result = doctest.DocTestRunner().run(session, clear_globs=False)
            assert not result.failed, f"session of line {block.line}"
        elif block.language == "python":
            exec(compile(block.code, f"line {block.line}", "exec"), namespace)
        elif block.language == "console":
            run_session(block.code)
        elif block.language.startswith("file "):
            Path(block.language.removeprefix("file ")).write_text(block.code, encoding="utf-8")
        else:
            for line in block.code.replace("\\\n", " ").splitlines():
                run_command(line)
    if block.output is not None:
        check_output(printed.getvalue(), block.output)


def run_session(code: str) -> None:
    """Run each command, and compare what it prints with the lines below it."""
    first, *parts = code.replace("\\\n", " ").split("$ ")
    assert not first, f"a session begins with $: {code}"
    for command, _, output in (part.partition("\n") for part in parts):
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            run_command(command)
        check_output(printed.getvalue(), output)


def run_command(line: str) -> None:
    """Run a command of cordwood, or show a file."""
    words = shlex.split(line, comments=True)
    if words[0] == "cat":
        sys.stdout.write(Path(words[1]).read_text(encoding="utf-8"))
        return
    if words[0] == "curl":
        replied = subprocess.run(words, capture_output=True, check=True, encoding="utf-8")
        sys.stdout.write(replied.stdout)
        return
    assert words[0] == "cordwood", f"no command of cordwood, and no marker: {line}"
    assert words[1] not in ENDLESS, f"runs until it is stopped, and has no marker: {line}"
    if words[1] == "serve":
        start_server(words[1:])
        return
    assert main(words[1:]) == 0, line


def start_server(arguments: list[str]) -> None:
    """Start a server, and print what it prints until it serves."""
    port = arguments[arguments.index("--port") + 1]
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        PORTS[port] = str(taken.getsockname()[1])
    command = [sys.executable, "-m", "cordwood", *(PORTS.get(each, each) for each in arguments)]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, encoding="utf-8")
    SERVERS.append(server)
    for line in server.stdout or ():
        sys.stdout.write(line.replace(PORTS[port], port))
        if line.startswith("serving"):
            return
    raise AssertionError(f"the server ended: {arguments}")


def stop_servers() -> None:
    PORTS.clear()
    while SERVERS:
        with SERVERS.pop() as server:
            server.terminate()


def check_output(found: str, documented: str) -> None:
    """Compare texts, and their numbers with a tolerance."""
    found, documented = (
        SECONDS.sub("some", " ".join(text.split())) for text in (found, documented)
    )
    parts = NUMBER.split(documented)
    shape = f"({NUMBER.pattern})".join(".*?".join(map(re.escape, ELLIPSIS.split(p))) for p in parts)
    difference = f"printed:\n{found}\nshown:\n{documented}"
    match = re.fullmatch(shape, found)
    assert match, difference
    values, expected = (
        [float(number.replace(",", "")) for number in numbers]
        for numbers in (match.groups(), NUMBER.findall(documented))
    )
    assert values == pytest.approx(expected, rel=0.1, abs=0.1), difference
