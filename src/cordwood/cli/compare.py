"""`cordwood compare`: compare learners on data sets, or recipes on a file."""

import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import typer

from cordwood._base import atomic
from cordwood._base.wording import count
from cordwood.cli.commands import Compare
from cordwood.cli.console import Console
from cordwood.cli.encoder_option import find_encoder
from cordwood.cli.inputs import Source
from cordwood.cli.outputs import check_target, escape_csv
from cordwood.cli.progress import show_progress
from cordwood.cli.report import check_report_target, show_written
from cordwood.compare import comparison_report
from cordwood.compare.config.plan import Plan, load_plan, parse_plan
from cordwood.compare.report import rendering
from cordwood.compare.report.write_plots import write_plots
from cordwood.compare.runner.data_conflicts import find_conflicts
from cordwood.compare.runner.ledger import Ledger
from cordwood.compare.runner.run import RunSummary, collect, run
from cordwood.compare.stats.comparison import Comparison, Curves, learning_curves
from cordwood.compare.stats.comparison import compare as tabulate
from cordwood.datasets.corpus import FeatureMatrix
from cordwood.datasets.lines import STANDARD_INPUT
from cordwood.encoders.catalog import load_encoder
from cordwood.exceptions import CordwoodError
from cordwood.recipes import find

# Recipes that take seconds on a few thousand texts.
QUICK_RECIPES = ("quick", "nbsvm", "svm", "rf", "et", "nb", "knn")
# Added if there is an encoder.
ENCODER_RECIPES = ("embeddings",)
QUICK_FOLDS = 3

WRITERS = {
    ".md": rendering.to_markdown,
    ".csv": rendering.to_csv,
    ".tex": rendering.to_latex,
}


def compare(args: Compare) -> None:
    """Run the trials of a plan, and print, write and plot the comparison."""
    console = Console(as_json=args.json, quiet=args.quiet)
    output, plots = args.output, args.plots
    if output is not None:
        check_target(output)
        if output.suffix.lower() not in WRITERS:
            raise typer.BadParameter(f"{output.name!r} must end in .md, .csv or .tex")
    path = _get_plan_path(args)
    if args.report is not None:
        check_report_target(args.report, inputs=args.inputs or ())
    if plots is not None:
        _check_plots(plots)
    plan = _make_quick_plan(console, args) if path is None else _load_plan(path, args)
    start = time.perf_counter()
    with _open_ledger(path, args) as ledger:
        summary = collect(plan, ledger) if args.show else _run(console, plan, ledger, args)
    comparison = tabulate(summary.records, summary.planned, test=args.test.value)
    _show(console, comparison, summary, time.perf_counter() - start)
    if output is not None:
        table = WRITERS[output.suffix.lower()](comparison)
        if output.suffix.lower() == ".csv" and args.escape_formulas:
            table = escape_csv(table)
        with atomic.write(output) as file:
            file.write(table)
        console.field("wrote", str(output))
    if plots is not None:
        _write_plots(console, comparison, summary, plots)
    if args.report is not None:
        _write_report(console, plan, comparison, summary, args.report)
    console.print_json(
        {
            "plan": plan.name,
            "n_trials": summary.n_trials,
            "n_done": summary.n_done,
            "n_failed": summary.n_failed,
            "n_missing": summary.n_missing,
            **rendering.to_json(comparison),
        }
    )


def _get_plan_path(args: Compare) -> Path | None:
    """Return the path of the plan; None with --quick."""
    if not args.inputs:
        raise typer.BadParameter("give either a PLAN, or --quick and data files")
    if args.quick:
        return None
    if len(args.inputs) > 1:
        raise typer.BadParameter("give one PLAN; several data files require --quick")
    return Path(args.inputs[0])


def _load_plan(path: Path, args: Compare) -> Plan:
    given = [
        *args.read.given,
        *(["language"] if args.language is not None else []),
        *(["encoder"] if args.encoder != "auto" else []),
    ]
    if given:
        option = "--" + given[0].replace("_", "-").replace("header", "no-header")
        raise typer.BadParameter(
            f"{option} requires --quick; a plan contains the options of its data sets and learners"
        )
    return load_plan(path, data_dir=args.data_dir, lookup_only=args.show)


def _make_quick_plan(console: Console, args: Compare) -> Plan:
    kind = _choose_split(args)
    source = Source(data=args.inputs or (), options=args.read, data_dir=args.data_dir)
    if source.paths == [STANDARD_INPUT]:
        raise typer.BadParameter("--quick reads DATA several times; standard input is not allowed")
    if args.encoder not in ("auto", "none"):
        load_encoder(args.encoder)  # Raises before the data are read.
    samples = source.read(console, two_classes=True)
    if args.language is not None and isinstance(samples, FeatureMatrix):
        raise typer.BadParameter("--language requires texts, but the samples are numeric; omit it")
    source.show(console, samples)
    encoder = find_encoder(console, args.encoder, samples, args.language)
    dataset = {"path": source.paths} if source.dataset is None else {"name": source.dataset}
    plan = parse_plan(
        {
            "name": "quick",
            "evaluation": {"kind": kind, "folds": QUICK_FOLDS},
            "vectorizer": {} if args.language is None else {"language": args.language},
            "datasets": [{**dataset, **args.read.given}],
            "learners": _list_quick_learners(encoder),
        },
        data_dir=args.data_dir,
    )
    return _omit_learners(console, plan, find_conflicts(plan, plan.datasets[0], samples))


def _list_quick_learners(encoder: str | None) -> list[dict[str, Any]]:
    """Return the learners of --quick; with an encoder, also the encoder alone."""
    if encoder is None:
        return [{"recipe": name} for name in QUICK_RECIPES]
    params = {"params": {"encoder": encoder}}
    return [
        *({"recipe": name, **(params if find(name).members else {})} for name in QUICK_RECIPES),
        *({"recipe": name, **params} for name in ENCODER_RECIPES),
    ]


def _omit_learners(console: Console, plan: Plan, conflicts: Mapping[str, str]) -> Plan:
    """Remove learners that cannot run on the data, and print why."""
    for learner, reason in conflicts.items():
        console.field("omitted", f"{learner}: {reason}")
    kept = tuple(learner for learner in plan.learners if learner.name not in conflicts)
    if not kept:
        raise CordwoodError("none of the recipes can run on the data; omit --weight")
    return plan.model_copy(update={"learners": kept})


def _choose_split(args: Compare) -> str:
    """Return the kind of evaluation of --quick."""
    if args.read.group and args.read.time:
        raise typer.BadParameter("--group and --time exclude each other; omit one of them")
    return "grouped" if args.read.group else "time" if args.read.time else "stratified"


@contextmanager
def _open_ledger(plan: Path | None, args: Compare) -> Iterator[Ledger]:
    path = args.ledger
    if path is None and plan is not None:
        path = plan.with_suffix(".jsonl")
    if path is not None:
        if not args.show:
            check_target(path, inputs=args.inputs or ())
        yield Ledger(path)
        return
    with tempfile.TemporaryDirectory(prefix="cordwood-") as folder:
        yield Ledger(Path(folder, "quick.jsonl"))


def _run(console: Console, plan: Plan, ledger: Ledger, args: Compare) -> RunSummary:
    with show_progress(console, plan, ledger, retry_errors=args.retry_errors) as display:
        return run(
            plan,
            ledger,
            data_dir=args.data_dir,
            n_jobs=args.jobs,
            cluster=args.cluster,
            retry_errors=args.retry_errors,
            progress=display.progress,
            on_record=display.record,
        )


def _check_plots(directory: Path) -> None:
    """Raise before the trials run if the figures could not be written."""
    if directory.exists() and not directory.is_dir():
        raise CordwoodError(f"cannot write plots to {directory}: it is a file; give a directory")
    check_target(directory / "time.svg" if directory.exists() else directory)


def _write_plots(
    console: Console, comparison: Comparison, summary: RunSummary, directory: Path
) -> None:
    drawn = write_plots(comparison, _get_curves(comparison, summary), directory)
    if drawn.written:
        console.field("wrote", f"{count(len(drawn.written), 'figure')} to {directory}")
    if drawn.skipped:
        console.field("omitted", "; ".join(drawn.skipped))


def _get_curves(comparison: Comparison, summary: RunSummary) -> dict[str, Curves]:
    return {
        metric: learning_curves(summary.records, summary.planned, metric=metric)
        for metric in comparison.metrics
    }


def _write_report(
    console: Console, plan: Plan, comparison: Comparison, summary: RunSummary, target: Path
) -> None:
    notes = []
    if summary.n_missing:
        notes.append(f"{count(summary.n_missing, 'trial')} of {summary.n_trials:,} not run yet.")
    if summary.n_failed:
        notes.append(f"{count(summary.n_failed, 'trial')} of {summary.n_trials:,} failed.")
    curves = _get_curves(comparison, summary)
    comparison_report(comparison, curves, name=plan.name, notes=notes).save(target)
    show_written(console, target)


def _show(console: Console, comparison: Comparison, summary: RunSummary, seconds: float) -> None:
    for grid in rendering.make_tables(comparison):
        console.print(grid.title)
        rows = [tuple(_format_entry(entry) for entry in row) for row in grid.rows]
        console.table(grid.header, rows)
        console.print()
    console.print(rendering.explain_tables(comparison).replace("Bold:", "With *:"))
    done = f"{summary.n_done:,} of {count(summary.n_trials, 'trial')} run in {seconds:.1f} s"
    if summary.n_missing:
        done += f"; {summary.n_missing:,} missing"
    if summary.n_failed:
        done += f"; {summary.n_failed:,} failed (--retry-errors runs them again)"
    console.field("trials", done)
    if summary.n_foreign:
        console.field(
            "ledger",
            f"{count(summary.n_foreign, 'record')} of other plans, parameters or data ignored",
        )
    failures = [record for record in summary.records if "error" in record]
    if failures and summary.n_failed == summary.n_trials:
        raise CordwoodError(f"all trials failed; the first error: {failures[0]['error']}")


def _format_entry(entry: rendering.TableCell) -> str:
    return f"{entry.text} *" if entry.bold else entry.text
