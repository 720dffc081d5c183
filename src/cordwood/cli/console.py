"""Output of a command: text, tables or JSON on standard output, progress on standard error.

If the output is not a terminal, there are no colors, no progress bars, and tables have any width.
"""

import json
import sys
import threading
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

from cordwood._base.progress import report_progress
from cordwood.cli.errors import one_line, printable

# Wider than any table: rich wraps tables at 80 columns in a pipe.
UNLIMITED_WIDTH = 100_000

_MAX_BARS = 12
# In seconds. The default of rich, half a minute, may not contain the end of a single trial.
_SPEED_PERIOD = 24 * 3600.0


class ProgressBars:
    """Progress bars on a terminal, one per line, each with a remark."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._tasks: dict[str, TaskID] = {}
        self._lock = threading.Lock()  # members of a stack are fitted in threads

    def update(self, name: str, done: int, total: int | None, remark: str = "") -> None:
        """Add the bar of this name, or update it."""
        if name not in self._tasks:
            self._tasks[name] = self._progress.add_task(one_line(name), total=total, remark="")
        task = self._tasks[name]
        self._progress.update(task, completed=done, total=total, remark=one_line(remark))
        shown = [task for task in self._progress.tasks if task.visible]
        if len(shown) > _MAX_BARS:
            # Hide a finished bar, to keep the unfinished ones on the screen.
            for finished in [task for task in shown if task.finished][:1]:
                self._progress.update(finished.id, visible=False)

    def show_step(self, name: str, done: int, total: int) -> None:
        """Show how much of a step is done, such as the encoding of texts, until it has finished."""
        with self._lock:
            if done < total:
                self.update(name, done, total)
            elif name in self._tasks:
                self._progress.remove_task(self._tasks.pop(name))


class Console:
    """Prints the results of a command as text or JSON; if quiet, only errors and JSON."""

    def __init__(self, *, as_json: bool = False, quiet: bool = False) -> None:
        self.as_json = as_json
        self.quiet = quiet
        # Terminals wrap in the middle of words; in a pipe, a line is a line.
        self._soft_wrap = not sys.stdout.isatty()
        width = UNLIMITED_WIDTH if self._soft_wrap else None
        file = getattr(sys.stdout, "terminal", None)
        self._out = RichConsole(file=file, width=width, markup=False, highlight=False, emoji=False)

    @property
    def prints_text(self) -> bool:
        """Whether text and tables are printed."""
        return not (self.as_json or self.quiet)

    @property
    def is_terminal(self) -> bool:
        """Whether styles of text are shown."""
        return self._out.is_terminal

    def print_json(self, record: Mapping[str, Any]) -> None:
        """Print the result as JSON, if requested."""
        if self.as_json:
            print(json.dumps(record, ensure_ascii=False, indent=2))

    def print(self, line: str = "") -> None:
        """Print a line."""
        if self.prints_text:
            self._out.print(one_line(line), soft_wrap=self._soft_wrap)

    def print_text(self, line: Text) -> None:
        """Print a line with styles; there are no colors if the output is not a terminal."""
        if self.prints_text:
            line.plain = printable(line.plain)
            self._out.print(line, soft_wrap=self._soft_wrap)

    def field(self, name: str, value: str) -> None:
        """Print a name and its value; values are aligned."""
        if self.prints_text:
            line = Text.assemble((f"{one_line(name):<10}", "bold"), one_line(value))
            # A command is copied: no line break in it.
            self._out.print(line, soft_wrap=self._soft_wrap or name == "next")

    def log(self, line: str) -> None:
        """Print a line to standard error, unless it is a terminal, which shows progress bars."""
        if not (self.quiet or sys.stderr.isatty()):
            print(one_line(line), file=sys.stderr, flush=True)

    def table(self, columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
        """Print a table; numbers are aligned to the right."""
        if self.prints_text:
            with self._out.capture() as capture:
                self._out.print(_table(columns, rows))
            lines = "\n".join(line.rstrip() for line in capture.get().splitlines())
            print(lines, file=self._out.file)

    def fits(self, columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> bool:
        """Return whether a table fits the width of the terminal."""
        unlimited = self._out.options.update(max_width=UNLIMITED_WIDTH)
        measured = self._out.measure(_table(columns, rows), options=unlimited)
        return measured.maximum <= self._out.width

    @contextmanager
    def progress(self, task: str) -> Iterator[Callable[[int, int | None], None] | None]:
        """Show a progress bar on a terminal; yields the callback ``(done, total)``, or None."""
        with self._bars(BarColumn(), TaskProgressColumn(), TimeElapsedColumn()) as bars:
            if bars is not None:
                bars.update(task, 0, None)
            yield None if bars is None else partial(bars.update, task)

    @contextmanager
    def bars(self) -> Iterator[ProgressBars | None]:
        """Show several progress bars with counts and remarks on a terminal."""
        # Narrow bars, to fit 80 columns.
        with self._bars(BarColumn(bar_width=16), MofNCompleteColumn()) as bars:
            yield bars

    @contextmanager
    def _bars(self, *columns: ProgressColumn) -> Iterator[ProgressBars | None]:
        if self.quiet or not sys.stderr.isatty():
            with report_progress(_ignore_progress):
                yield None
            return
        with Progress(
            TextColumn("{task.description}", markup=False),
            *columns,
            TimeRemainingColumn(),
            TextColumn("{task.fields[remark]}", markup=False),
            console=RichConsole(file=getattr(sys.stderr, "terminal", None), stderr=True),
            speed_estimate_period=_SPEED_PERIOD,
            transient=True,
        ) as progress:
            bars = ProgressBars(progress)
            # Two displays on one terminal would overwrite each other.
            with report_progress(bars.show_step):
                yield bars


def _ignore_progress(name: str, done: int, total: int) -> None:
    """Show nothing."""


def _table(columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for position, column in enumerate(columns):
        is_number = any(isinstance(row[position], int | float) for row in rows)
        table.add_column(Text(one_line(column)), justify="right" if is_number else "left")
    for row in rows:
        table.add_row(*(Text(_format_cell(value)) for value in row))
    return table


def _format_cell(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.3f}"
    return f"{value:,}" if isinstance(value, int) else one_line(str(value))
