"""Code blocks of Markdown pages: what they contain, and whether the outputs below them are right.

- A block of `python` runs in the namespace of the blocks above it. What it prints is compared with
  the block below it, if that has no language. Sessions with prompts are doctests.
- A block of `console`, or without a language, that begins with `cordwood` has commands; lines may
  begin with `$`. They run in the folder of the test, and what they print is compared as well.
- A block that cannot run is under a comment with the reason: ``<!-- not run: needs Docker -->``.

Numbers are equal if they differ by at most a tenth, because the built-in data set consists of
installed libraries.
"""

import contextlib
import doctest
import io
import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from markdown_it import MarkdownIt

from cordwood.cli.main import main

SHOWN_ONLY = ("json", "toml", "yaml", "text")
ENDLESS = ("label", "serve")
MARKER = re.compile(r"<!-- not run: (\S.*) -->\s*")
NUMBER = re.compile(r"(?<![\w.])[+-]?\d+(?:,\d{3})*(?:\.\d+)?(?:e[+-]?\d+)?")
COMMAND = re.compile(r"(\$ )?cordwood \w")


class Block(NamedTuple):
    """A code block that is to run, and the output below it."""

    language: str
    code: str
    output: str | None
    line: int


def read_blocks(path: Path) -> Iterator[Block]:
    """Yield the blocks of a page that are to run; an output belongs to the block above it."""
    tokens = MarkdownIt().parse(path.read_text(encoding="utf-8"))
    tokens = [token for token in tokens if token.info not in SHOWN_ONLY or token.type != "fence"]
    outputs = set()
    for number, token in enumerate(tokens):
        if token.type != "fence" or number in outputs or token.info.startswith("{"):
            continue
        below = tokens[number + 1] if number + 1 < len(tokens) else None
        has_output = below and below.type == "fence" and not (below.info or is_commands(below))
        outputs |= {number + 1} if has_output else set()
        if number and MARKER.fullmatch(tokens[number - 1].content):
            continue
        yield Block(token.info, token.content, below.content if has_output else None, token.map[0])


def is_commands(token: Any) -> bool:
    return COMMAND.match(token.content) is not None


def run_block(block: Block, namespace: dict[str, Any]) -> None:
    """Run a block; raise if it cannot run, if it fails, or if its output differs."""
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        if block.language == "python" and block.code.startswith(">>>"):
            session = doctest.DocTestParser().get_doctest(block.code, namespace, "", None, None)
            result = doctest.DocTestRunner().run(session, clear_globs=False)
            assert not result.failed, f"session of line {block.line}"
        elif block.language == "python":
            exec(compile(block.code, f"line {block.line}", "exec"), namespace)
        else:
            run_commands(block.code)
    if block.output is not None:
        check_output(printed.getvalue(), block.output)


def run_commands(code: str) -> None:
    """Run the commands of a block; a line that ends in a backslash continues."""
    for line in code.replace("\\\n", " ").splitlines():
        words = shlex.split(line.removeprefix("$ "), comments=True)
        assert words[:1] == ["cordwood"], f"no command of cordwood, and no marker: {line}"
        assert words[1] not in ENDLESS, f"runs until it is stopped, and has no marker: {line}"
        assert main(words[1:]) == 0, line


def check_output(found: str, documented: str) -> None:
    """Compare texts, and their numbers with a tolerance."""
    shapes = [" ".join(NUMBER.sub("#", text).split()) for text in (found, documented)]
    difference = f"printed:\n{found}\nshown:\n{documented}"
    assert shapes[0] == shapes[1], difference
    values, expected = (
        [float(number.replace(",", "")) for number in NUMBER.findall(text)]
        for text in (found, documented)
    )
    assert values == pytest.approx(expected, rel=0.1, abs=0.1), difference
