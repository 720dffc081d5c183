"""Where a command's answers go: tables and sentences to standard output, progress to the terminal.

In a pipe there is no colour and no progress bar, and no table is cut to a width.
"""

import json
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from rich.console import Console as RichConsole
from rich.progress import (
    BarColumn,
    Progress,
    TaskProgressColumn,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.table import Table
from rich.text import Text

from cordwood.cli.failure import one_line

# As wide as any table: rich would otherwise cut tables to 80 columns in a pipe.
UNBOUNDED = 100_000


class Console:
    """Shows one command's results in the dress that was asked for.

    Parameters
    ----------
    as_json : bool
        One JSON object instead of sentences and tables.
    quiet : bool
        Neither sentences nor tables nor progress; only errors, and JSON if it was asked for.
    """

    def __init__(self, *, as_json: bool = False, quiet: bool = False) -> None:
        self.as_json = as_json
        self.quiet = quiet
        width = None if sys.stdout.isatty() else UNBOUNDED
        self._out = RichConsole(width=width, markup=False, highlight=False, emoji=False)

    @property
    def talks(self) -> bool:
        """Whether sentences and tables are shown."""
        return not (self.as_json or self.quiet)

    def answer(self, record: Mapping[str, Any]) -> None:
        """Print the whole result as JSON, if JSON was asked for."""
        if self.as_json:
            print(json.dumps(record, ensure_ascii=False, indent=2))

    def say(self, sentence: str = "") -> None:
        """Print one sentence on a line of its own."""
        if self.talks:
            self._out.print(one_line(sentence), soft_wrap=True)

    def fact(self, name: str, value: str) -> None:
        """Print one named finding; names line up."""
        if self.talks:
            line = Text.assemble((f"{name:<10}", "bold"), one_line(value))
            self._out.print(line, soft_wrap=True)

    def note(self, sentence: str) -> None:
        """Print one line of a log to standard error, where there is no bar to disturb."""
        if not (self.quiet or sys.stderr.isatty()):
            print(one_line(sentence), file=sys.stderr, flush=True)

    def table(self, columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
        """Print a table; numbers go to the right, and columns called "" have no heading."""
        if self.talks:
            with self._out.capture() as capture:
                self._out.print(_table(columns, rows))
            print("\n".join(line.rstrip() for line in capture.get().splitlines()))

    def fits(self, columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> bool:
        """Whether a table can be shown without losing anything."""
        unbounded = self._out.options.update(max_width=UNBOUNDED)
        measured = self._out.measure(_table(columns, rows), options=unbounded)
        return measured.maximum <= self._out.width

    @contextmanager
    def progress(self, doing: str) -> Iterator[Callable[[int, int | None], None] | None]:
        """Show a bar on a terminal while the block runs; give the callback that moves it."""
        if self.quiet or not sys.stderr.isatty():
            yield None
            return
        columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn())
        console = RichConsole(stderr=True)
        times = (TimeElapsedColumn(), TimeRemainingColumn())
        with Progress(*columns, *times, console=console, transient=True) as bar:
            task = bar.add_task(doing, total=None)
            yield lambda done, total: bar.update(task, completed=done, total=total)


def count(n: int, one: str, many: str | None = None) -> str:
    """Write a number with its noun.

    Examples
    --------
    >>> count(1, "row"), count(2000, "row"), count(3, "class", "classes")
    ('1 row', '2,000 rows', '3 classes')
    """
    return f"{n:,} {one if n == 1 else many or one + 's'}"


def _table(columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for position, column in enumerate(columns):
        number = any(isinstance(row[position], int | float) for row in rows)
        table.add_column(Text(one_line(column)), justify="right" if number else "left")
    for row in rows:
        table.add_row(*(Text(_cell(value)) for value in row))
    return table


def _cell(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.3f}"
    return f"{value:,}" if isinstance(value, int) else one_line(str(value))
