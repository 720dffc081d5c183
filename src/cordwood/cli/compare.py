"""`cordwood compare`: learners side by side, on data sets or on your own file."""

import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any

import typer

from cordwood import atomic
from cordwood.cli import options
from cordwood.cli.console import Console, count
from cordwood.cli.sink import check_target
from cordwood.cli.watch import watch
from cordwood.errors import CordwoodError
from cordwood.experiment import rendering
from cordwood.experiment.ledger import Ledger
from cordwood.experiment.plan import Plan, load_plan, parse_plan
from cordwood.experiment.run import Summary, collect, run
from cordwood.experiment.table import Comparison, learning_curves
from cordwood.experiment.table import compare as tabulate

# Ours first; the baselines are those that a file of a few thousand documents takes seconds for.
QUICK_RECIPES = ("svm", "rf", "xt", "nb", "knn", "lr")
QUICK_FOLDS = 3

DRESSES = {
    ".md": rendering.to_markdown,
    ".csv": rendering.to_csv,
    ".tex": rendering.to_latex,
}


class Test(StrEnum):
    """How learners are told from the best."""

    PAIRED_T = "paired_t"
    CORRECTED_T = "corrected_t"
    WILCOXON = "wilcoxon"


PlanFile = Annotated[
    Path | None,
    typer.Argument(
        metavar="PLAN",
        help="A TOML file that says which learners are compared on which data sets, and how.",
        show_default=False,
    ),
]
Quick = Annotated[
    str | None,
    typer.Option(
        "--quick",
        metavar="DATA",
        help="Compare our recipes with the usual baselines on this file, without a plan.",
        show_default=False,
    ),
]
LedgerFile = Annotated[
    Path | None,
    typer.Option(
        "--ledger",
        metavar="FILE",
        help="Where results are kept: what is in it is not done again. [default: PLAN's name with "
        ".jsonl; with --quick, nothing is kept]",
        show_default=False,
    ),
]
Jobs = Annotated[
    int,
    typer.Option("--jobs", "-j", metavar="NUMBER", help="Units at a time; -1 for all cores."),
]
ClusterAddress = Annotated[
    str | None,
    typer.Option(
        "--cluster",
        metavar="ADDRESS",
        help="Let the workers of a Dask cluster do the units, such as tcp://host:8786.",
        show_default=False,
    ),
]
Show = Annotated[
    bool, typer.Option("--show", help="Do nothing; only show what the ledger has of the plan.")
]
RetryErrors = Annotated[
    bool, typer.Option("--retry-errors", help="Try again what has failed before.")
]
Output = Annotated[
    Path | None,
    typer.Option(
        "--output",
        "-o",
        metavar="FILE",
        help="Write the tables to a .md, .csv or .tex file as well.",
        show_default=False,
    ),
]
Plots = Annotated[
    Path | None,
    typer.Option(
        "--plots",
        metavar="FOLDER",
        help="Draw time against effectiveness, critical differences and learning curves, as SVG.",
        show_default=False,
    ),
]
ByTest = Annotated[
    Test,
    typer.Option(
        "--test",
        metavar="paired_t|corrected_t|wilcoxon",
        help="How learners are told from the best of a data set: as the papers do, with the "
        "correction for overlapping training rows, or by signed ranks.",
    ),
]


def compare(
    plan: PlanFile = None,
    quick: Quick = None,
    text: options.TextColumns = None,
    label: options.LabelColumn = None,
    ledger: LedgerFile = None,
    output: Output = None,
    plots: Plots = None,
    jobs: Jobs = 1,
    cluster: ClusterAddress = None,
    show: Show = False,
    retry_errors: RetryErrors = False,
    test: ByTest = Test.PAIRED_T,
    data_dir: options.DataDir = None,
    json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """May be stopped at any moment, even killed: the same command goes on where it was. Several
    may run on one ledger.

    Example: cordwood compare --quick reviews.csv --text body --label topic
    """
    console = Console(as_json=json, quiet=quiet)
    if output is not None:
        check_target(output)
        if output.suffix.lower() not in DRESSES:
            raise typer.BadParameter(f"{output.name!r} must end in .md, .csv or .tex")
    gallery = None if plots is None else _find_gallery(plots)
    todo = _plan(plan, quick, text, label, data_dir, absent_data=show)
    start = time.perf_counter()
    with _ledger(plan, ledger) as book:
        if show:
            summary = collect(todo, book)
        else:
            summary = _run(console, todo, book, data_dir, jobs, cluster, retry_errors)
    comparison = tabulate(summary.records, summary.planned, test=test.value, protocol=todo.protocol)
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
            "units": summary.n_units,
            "done_now": summary.n_done,
            "failed": summary.n_failed,
            "missing": summary.n_missing,
            **rendering.to_json(comparison),
        }
    )


def _plan(
    plan: Path | None,
    quick: str | None,
    text: list[str] | None,
    label: str | None,
    data_dir: Path | None,
    *,
    absent_data: bool,
) -> Plan:
    if (plan is None) == (quick is None):
        raise typer.BadParameter("name a PLAN, or a data file with --quick DATA")
    if plan is not None:
        if text or label:
            raise typer.BadParameter("--text and --label belong to --quick; a plan has its own")
        return load_plan(plan, data_dir=data_dir, absent_data=absent_data)
    columns = {"text": text, "label": label}
    dataset = {"path": quick, **{name: value for name, value in columns.items() if value}}
    return parse_plan(
        {
            "name": "quick",
            "evaluation": {"folds": QUICK_FOLDS},
            "datasets": [dataset],
            "learners": [{"recipe": recipe} for recipe in QUICK_RECIPES],
        },
        data_dir=data_dir,
    )


@contextmanager
def _ledger(plan: Path | None, path: Path | None) -> Iterator[Ledger]:
    if path is None and plan is not None:
        path = plan.with_suffix(".jsonl")
    if path is not None:
        check_target(path)
        yield Ledger(path)
        return
    with tempfile.TemporaryDirectory(prefix="cordwood-") as folder:
        yield Ledger(Path(folder, "quick.jsonl"))


def _run(
    console: Console,
    plan: Plan,
    ledger: Ledger,
    data_dir: Path | None,
    jobs: int,
    cluster: str | None,
    retry_errors: bool,
) -> Summary:
    with watch(console, plan, ledger, retry_errors=retry_errors) as watcher:
        return run(
            plan,
            ledger,
            data_dir=data_dir,
            n_jobs=jobs,
            cluster=cluster,
            retry_errors=retry_errors,
            progress=watcher.progress,
            on_record=watcher.record,
        )


def _find_gallery(folder: Path) -> Any:
    """Complain before the work begins of pictures that could not be drawn after it."""
    if folder.exists() and not folder.is_dir():
        raise CordwoodError(f"{folder} is a file; name a folder for the pictures")
    check_target(folder / "time.svg" if folder.exists() else folder)
    try:
        return import_module("cordwood.report.gallery")
    except ImportError as error:
        raise CordwoodError(
            "--plots needs the package matplotlib, which is not installed; install it with: "
            'pip install "cordwood[plots]"'
        ) from error


def _draw(
    console: Console, gallery: Any, comparison: Comparison, summary: Summary, folder: Path
) -> None:
    curves = {
        metric: learning_curves(summary.records, summary.planned, metric=metric)
        for metric in comparison.metrics
    }
    drawn = gallery.write_gallery(comparison, curves, folder)
    if drawn.written:
        console.fact("wrote", f"{count(len(drawn.written), 'picture')} to {folder}")
    if drawn.left_out:
        console.fact("not drawn", "; ".join(drawn.left_out))


def _show(console: Console, comparison: Comparison, summary: Summary, seconds: float) -> None:
    for grid in rendering.grids(comparison):
        console.say(grid.title)
        rows = [tuple(_mark(entry) for entry in row) for row in grid.rows]
        console.table(grid.header, rows)
        console.say()
    console.say(rendering.describe(comparison).replace("Bold:", "With *:"))
    done = f"{count(summary.n_done, 'unit')} of {summary.n_units:,} done now, in {seconds:.1f} s"
    if summary.n_missing:
        done += f"; {summary.n_missing:,} missing"
    if summary.n_failed:
        done += f"; {summary.n_failed:,} failed (--retry-errors tries them again)"
    console.fact("units", done)
    if summary.n_foreign:
        console.fact(
            "ledger",
            f"{count(summary.n_foreign, 'record')} of other plans, parameters or data, left out",
        )
    failures = [record for record in summary.records if "error" in record]
    if failures and summary.n_failed == summary.n_units:
        raise CordwoodError(f"nothing could be done; the first error: {failures[0]['error']}")


def _mark(entry: rendering.Entry) -> str:
    return f"{entry.text} *" if entry.strong else entry.text
