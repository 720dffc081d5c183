"""Where a command's answers go: tables and sentences to standard output, progress to the terminal.

In a pipe there is no colour and no progress bar, and no table is cut to a width.
"""

import json
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

from rich.console import Console as RichConsole
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    TaskID,
    TaskProgressColumn,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.table import Table
from rich.text import Text

from cordwood.cli.errors import one_line

# As wide as any table: rich would otherwise cut tables to 80 columns in a pipe.
UNBOUNDED = 100_000

_MOST_BARS = 12
_SPEED_OVER = 24 * 3600.0  # seconds; rich's own half a minute may not see a single unit end


class Bars:
    """Bars on a terminal, one below the other, each with a remark beside it.

    Parameters
    ----------
    progress : Progress
        What draws them.
    """

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._tasks: dict[str, TaskID] = {}

    def show(self, name: str, done: int, total: int | None, remark: str = "") -> None:
        """Add the bar of this name, or move it."""
        if name not in self._tasks:
            self._tasks[name] = self._progress.add_task(one_line(name), total=total, remark="")
        task = self._tasks[name]
        self._progress.update(task, completed=done, total=total, remark=one_line(remark))
        shown = [task for task in self._progress.tasks if task.visible]
        if len(shown) > _MOST_BARS:
            # What is under way must not leave the screen at its lower end.
            for finished in [task for task in shown if task.finished][:1]:
                self._progress.update(finished.id, visible=False)


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
        with self._bars(BarColumn(), TaskProgressColumn(), TimeElapsedColumn()) as bars:
            if bars is not None:
                bars.show(doing, 0, None)
            yield None if bars is None else partial(bars.show, doing)

    @contextmanager
    def bars(self) -> Iterator[Bars | None]:
        """Let bars be shown on a terminal while the block runs, with counts and remarks."""
        # Narrow, so that all of it goes into 80 columns.
        with self._bars(BarColumn(bar_width=16), MofNCompleteColumn()) as bars:
            yield bars

    @contextmanager
    def _bars(self, *amount: ProgressColumn) -> Iterator[Bars | None]:
        if self.quiet or not sys.stderr.isatty():
            yield None
            return
        with Progress(
            TextColumn("{task.description}", markup=False),
            *amount,
            TimeRemainingColumn(),
            TextColumn("{task.fields[remark]}", markup=False),
            console=RichConsole(stderr=True),
            speed_estimate_period=_SPEED_OVER,
            transient=True,
        ) as progress:
            yield Bars(progress)


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
