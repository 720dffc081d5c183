"""`cordwood compare`: learners side by side, on data sets or on your own file."""

import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

import typer

from cordwood import _atomic as atomic
from cordwood.cli.commands import Compare
from cordwood.cli.console import Console, count
from cordwood.cli.inputs import PREFIX
from cordwood.cli.outputs import check_target
from cordwood.cli.progress import watch
from cordwood.compare.config.plan import Plan, load_plan, parse_plan
from cordwood.compare.report import rendering
from cordwood.compare.runner.ledger import Ledger
from cordwood.compare.runner.run import RunSummary, collect, run
from cordwood.compare.stats.comparison import Comparison, learning_curves
from cordwood.compare.stats.comparison import compare as tabulate
from cordwood.exceptions import CordwoodError

# Ours first; the baselines are those that a file of a few thousand documents takes seconds for.
QUICK_RECIPES = ("quick", "nbsvm", "svm", "rf", "et", "nb", "knn")
QUICK_FOLDS = 3

DRESSES = {
    ".md": rendering.to_markdown,
    ".csv": rendering.to_csv,
    ".tex": rendering.to_latex,
}


def compare(asked: Compare) -> None:
    """Run a plan, and show, write and draw what came out."""
    console = Console(as_json=asked.json, quiet=asked.quiet)
    output, plots = asked.output, asked.plots
    if output is not None:
        check_target(output)
        if output.suffix.lower() not in DRESSES:
            raise typer.BadParameter(f"{output.name!r} must end in .md, .csv or .tex")
    if asked.jobs == 0:
        raise typer.BadParameter("--jobs is 0; give a number from 1 on, or -1 for all cores")
    gallery = None if plots is None else _find_gallery(plots)
    todo = _plan(asked)
    start = time.perf_counter()
    with _ledger(asked) as book:
        summary = collect(todo, book) if asked.show else _run(console, todo, book, asked)
    comparison = tabulate(summary.records, summary.planned, test=asked.test.value)
    _show(console, comparison, summary, time.perf_counter() - start)
    if output is not None:
        with atomic.write(output) as file:
            file.write(DRESSES[output.suffix.lower()](comparison))
        console.fact("wrote", str(output))
    if plots is not None:
        _draw(console, gallery, comparison, summary, plots)
    console.answer(
        {
            "plan": todo.name,
            "trials": summary.n_trials,
            "done_now": summary.n_done,
            "failed": summary.n_failed,
            "missing": summary.n_missing,
            **rendering.to_json(comparison),
        }
    )


def _plan(asked: Compare) -> Plan:
    if (asked.plan is None) == (asked.quick is None):
        raise typer.BadParameter("name a PLAN, or a data file with --quick DATA")
    columns = {"text": asked.text, "label": asked.label}
    named = {name: value for name, value in columns.items() if value}
    if asked.plan is not None:
        if named:
            raise typer.BadParameter("--text and --label belong to --quick; a plan has its own")
        return load_plan(asked.plan, data_dir=asked.data_dir, lookup_only=asked.show)
    quick = str(asked.quick)
    known = quick.startswith(PREFIX)
    dataset = {"name": quick.removeprefix(PREFIX)} if known else {"path": quick}
    return parse_plan(
        {
            "name": "quick",
            "evaluation": {"folds": QUICK_FOLDS},
            "datasets": [{**dataset, **named}],
            "learners": [{"recipe": recipe} for recipe in QUICK_RECIPES],
        },
        data_dir=asked.data_dir,
    )


@contextmanager
def _ledger(asked: Compare) -> Iterator[Ledger]:
    path = asked.ledger
    if path is None and asked.plan is not None:
        path = asked.plan.with_suffix(".jsonl")
    if path is not None:
        check_target(path, inputs=[] if asked.plan is None else [asked.plan])
        yield Ledger(path)
        return
    with tempfile.TemporaryDirectory(prefix="cordwood-") as folder:
        yield Ledger(Path(folder, "quick.jsonl"))


def _run(console: Console, plan: Plan, ledger: Ledger, asked: Compare) -> RunSummary:
    with watch(console, plan, ledger, retry_errors=asked.retry_errors) as watcher:
        return run(
            plan,
            ledger,
            data_dir=asked.data_dir,
            n_jobs=asked.jobs,
            cluster=asked.cluster,
            retry_errors=asked.retry_errors,
            progress=watcher.progress,
            on_record=watcher.record,
        )


def _find_gallery(folder: Path) -> Any:
    """Complain before the work begins of pictures that could not be drawn after it."""
    if folder.exists() and not folder.is_dir():
        raise CordwoodError(f"{folder} is a file; name a folder for the pictures")
    check_target(folder / "time.svg" if folder.exists() else folder)
    try:
        return import_module("cordwood.compare.report.write_plots")
    except ImportError as error:
        raise CordwoodError(
            "--plots needs the package matplotlib, which is not installed; install it with: "
            'pip install "cordwood[plots]"'
        ) from error


def _draw(
    console: Console, gallery: Any, comparison: Comparison, summary: RunSummary, folder: Path
) -> None:
    curves = {
        metric: learning_curves(summary.records, summary.planned, metric=metric)
        for metric in comparison.metrics
    }
    drawn = gallery.write_plots(comparison, curves, folder)
    if drawn.written:
        console.fact("wrote", f"{count(len(drawn.written), 'picture')} to {folder}")
    if drawn.skipped:
        console.fact("not drawn", "; ".join(drawn.skipped))


def _show(console: Console, comparison: Comparison, summary: RunSummary, seconds: float) -> None:
    for grid in rendering.make_tables(comparison):
        console.say(grid.title)
        rows = [tuple(_mark(entry) for entry in row) for row in grid.rows]
        console.table(grid.header, rows)
        console.say()
    console.say(rendering.explain_tables(comparison).replace("Bold:", "With *:"))
    done = f"{count(summary.n_done, 'trial')} of {summary.n_trials:,} done now, in {seconds:.1f} s"
    if summary.n_missing:
        done += f"; {summary.n_missing:,} missing"
    if summary.n_failed:
        done += f"; {summary.n_failed:,} failed (--retry-errors tries them again)"
    console.fact("trials", done)
    if summary.n_foreign:
        console.fact(
            "ledger",
            f"{count(summary.n_foreign, 'record')} of other plans, parameters or data, left out",
        )
    failures = [record for record in summary.records if "error" in record]
    if failures and summary.n_failed == summary.n_trials:
        raise CordwoodError(f"nothing could be done; the first error: {failures[0]['error']}")


def _mark(entry: rendering.TableCell) -> str:
    return f"{entry.text} *" if entry.bold else entry.text
