"""`cordwood audit`: look for wrong labels and bad samples in labelled data."""

import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import typer

from cordwood import recipes
from cordwood._base.wording import count, shorten_line
from cordwood.audit import DatasetAudit, audit_dataset
from cordwood.audit.dataset_audit import (
    DROPPED_KINDS,
    RELABEL_CONFIDENCE,
    describe_pair,
    describe_word,
)
from cordwood.audit.suspects import DEFINITIONS, Suspect
from cordwood.classifier.text_classifier import TextClassifier
from cordwood.cli.commands import Audit
from cordwood.cli.console import Console
from cordwood.cli.corrected_copy import (
    FORMATS,
    Correction,
    write_corrected_copy,
    write_left_out,
)
from cordwood.cli.expected_scores import show_summary
from cordwood.cli.inputs import Source
from cordwood.cli.models import make_model
from cordwood.cli.outputs import WITH_LISTS, check_suffix, check_target, open_table
from cordwood.cli.report import check_report_target, show_written
from cordwood.datasets import readers
from cordwood.datasets.corpus import Corpus, FeatureMatrix
from cordwood.datasets.file_source import detect_format
from cordwood.datasets.lines import STANDARD_INPUT
from cordwood.datasets.rows import RowStream, SkippedRow
from cordwood.datasets.table_files import check_packages
from cordwood.reports import dataset_report
from cordwood.text.languages import check_language

NO_RECIPE = "none"

_COLUMNS = (
    "kind",
    "id",
    "label",
    "suggested_label",
    "confidence",
    "reason",
    "words",
    "related_ids",
    "is_test",
    "text",
)
_MAX_NOTES = 3
_MIN_ACCURACY = 0.7
_MAX_EXAMPLE = 100
_MAX_TEXT = 40


def audit(args: Audit) -> None:
    """Print a summary of an audit, and write its suspects and a corrected copy of the data."""
    console = Console(as_json=args.json, quiet=args.quiet)
    if args.recipe != NO_RECIPE:
        recipes.find(args.recipe)
    if args.language is not None:
        check_language(args.language)
    # An audit reads all rows, and lists those that are not valid.
    args = replace(args, read=replace(args.read, on_bad_rows="skip"))
    source = Source(data=args.data, options=args.read, data_dir=args.data_dir, subset=args.subset)
    _check_outputs(args, source)
    samples = source.read(console, two_classes=True)
    source.show(console, samples)
    test = None if args.test is None else _read_test(args, args.test, console)
    start = time.perf_counter()
    model = _fit(console, args, samples)
    with console.bars() as bars:
        found = audit_dataset(
            samples,
            model=model,
            test=test,
            random_state=args.seed,
            progress=None if bars is None else bars.update,
        )
    seconds = time.perf_counter() - start
    _show(console, found, model)
    if args.output is not None:
        _write_suspects(args, source, found)
        console.field("wrote", f"{args.output}: {count(len(found.suspects), 'suspect')}")
    fix = found.fix(relabel=args.relabel)
    n_copied = None
    if args.fix is not None:
        n_copied = _write_copy(console, args, args.fix, source, samples, found)
    if args.report is not None:
        name = Path(args.data).name
        dataset_report(samples, name=name, test=test, audit=found).save(args.report)
        show_written(console, args.report)
    _show_next(console, args, found)
    console.field("time", f"{seconds:.1f} s")
    console.print_json(
        {
            "data": args.data,
            "test": args.test,
            "subset": args.subset,
            "recipe": None if model is None else args.recipe,
            "n_skipped": len(samples.skipped),
            "skipped": list(samples.skipped),
            "seconds": round(seconds, 3),
            "output": None if args.output is None else str(args.output),
            "fix": None if args.fix is None else str(args.fix),
            "n_copied": n_copied,
            "dropped_ids": [samples.ids[i] for i in fix.dropped],
            "relabelled": {samples.ids[i]: label for i, label in fix.relabelled.items()},
            **found.to_dict(),
        }
    )


def _check_outputs(args: Audit, source: Source) -> None:
    """Raise before a long computation if its results could not be written."""
    inputs: list[str | Path] = [args.data, *([args.test] if args.test else [])]
    if args.output is not None:
        check_suffix(args.output)
        check_target(args.output, inputs=inputs)
    if args.report is not None:
        check_report_target(args.report, inputs=inputs)
    if args.relabel and args.fix is None:
        raise typer.BadParameter("--relabel requires --fix FILE, the file to write")
    if args.fix is None:
        return
    check_target(args.fix, inputs=inputs)
    if args.fix == args.output:
        raise typer.BadParameter(f"--fix and --output are the same file, {args.fix}")
    if args.subset is not None:
        raise typer.BadParameter("--fix copies the whole file; omit --subset")
    if args.data == STANDARD_INPUT or source.dataset is not None or _format(args) not in FORMATS:
        raise typer.BadParameter(
            "--fix copies a CSV, TSV, JSON lines, Excel or Parquet file only; omit it"
        )
    suffixes = FORMATS[_format(args)]
    if args.fix.suffix.lower() not in suffixes:
        raise typer.BadParameter(
            f"--fix keeps the format of DATA, {_format(args)}; give a file name such as "
            f"{args.fix.with_suffix(suffixes[0]).name}"
        )
    check_packages(args.fix.suffix.lower())
    check_target(_name_left_out(args.fix), inputs=inputs)


def _read_test(args: Audit, data: str, console: Console) -> Corpus | FeatureMatrix:
    """Read the test set, which needs no labels."""
    with console.progress(f"reading {data}") as progress:
        samples = Source(data=data, options=args.read, data_dir=args.data_dir).open(progress)
        return readers.corpus_from_rows(samples) if isinstance(samples, RowStream) else samples


def _format(args: Audit) -> str:
    return detect_format(args.data, args.read.format)


def _fit(console: Console, args: Audit, samples: Corpus | FeatureMatrix) -> TextClassifier | None:
    """Fit the model of `cordwood train`, with out-of-fold predictions; None without a recipe."""
    # An audit rejects several labels per sample.
    if args.recipe == NO_RECIPE or samples.multilabel:
        return None
    model = make_model(console, args, samples, oof=True)
    with console.progress("training"):
        return model.fit(samples, groups=samples.groups if args.read.group else None)


def _show(console: Console, found: DatasetAudit, model: TextClassifier | None) -> None:
    for finding in found.findings:
        console.field("warning", finding.message)
    if model is not None and model.evaluation_ is not None:
        show_summary(console, model.evaluation_)
        if model.evaluation_.accuracy < _MIN_ACCURACY and "label error" in found.counts:
            console.field(
                "warning",
                "the recipe is often wrong on these data, and so may be the label errors below",
            )
    rows = [(kind, n, _format_example(found.select(kind)[0])) for kind, n in found.counts.items()]
    if rows:
        console.table(("problem", "samples", "first of them"), rows)
        for kind in [kind for kind in found.counts if kind in DEFINITIONS]:
            console.field("rule", f"{kind}: {DEFINITIONS[kind]}")
    else:
        console.print("no suspects found")
    _show_notes(console, "confused", [describe_pair(pair) for pair in found.confused_classes])
    _show_notes(console, "revealing", [describe_word(word) for word in found.revealing_words])


def _format_example(suspect: Suspect) -> str:
    name = f"test sample {suspect.id}" if suspect.is_test else f"{suspect.id} ({suspect.label})"
    text = f" {shorten_line(suspect.text, _MAX_TEXT)!r}" if suspect.text else ""
    return f"{name}{text}: {shorten_line(suspect.reason, _MAX_EXAMPLE)}"


def _show_notes(console: Console, name: str, notes: list[str]) -> None:
    for note in notes[:_MAX_NOTES]:
        console.field(name, note)
    if len(notes) > _MAX_NOTES:
        console.field(name, f"and {len(notes) - _MAX_NOTES:,} more, see --json")


def _show_next(console: Console, args: Audit, found: DatasetAudit) -> None:
    if args.output is None and found.suspects:
        console.field("next", f"cordwood audit {args.data} -o suspects.csv writes all suspects")
    elif found.suspects:
        console.field("next", f"correct the data by {args.output}, the most suspect samples first")
    if args.fix is not None:
        return
    n_dropped, n_new = len(found.fix().dropped), len(found.fix(relabel=True).relabelled)
    if n_dropped:
        rows = count(n_dropped, "duplicate, empty or garbled row")
        console.field("next", f"--fix FILE writes a copy without {rows}")
    n_merged = len({each.variant for each in found.spellings if each.is_confirmed})
    if n_merged:
        spellings = count(n_merged, "label that is another spelling", "labels that are spellings")
        console.field("next", f"--fix FILE merges {spellings} of others")
    if n_new:
        labels = count(n_new, "label")
        console.field(
            "next",
            f"--fix FILE --relabel also replaces {labels} that another one of probability "
            f"{RELABEL_CONFIDENCE:g} or more contradicts",
        )


def _write_suspects(args: Audit, source: Source, found: DatasetAudit) -> None:
    path = args.output
    assert path is not None
    with_lists = path.suffix.lower() in WITH_LISTS

    def cell(value: Any) -> Any:
        if isinstance(value, tuple):
            return list(value) if with_lists else " ".join(value)
        return round(value, 6) if isinstance(value, float) else value

    form: Any = {"escape_formulas": args.escape_formulas, "dialect": source.find_dialect()}
    with open_table(path, _COLUMNS, **form) as write:
        for suspect in found.suspects:
            write([cell(getattr(suspect, column)) for column in _COLUMNS])


def _name_left_out(target: Path) -> Path:
    return target.with_name(f"{target.stem}-left-out{target.suffix}")


def _write_copy(
    console: Console,
    args: Audit,
    target: Path,
    source: Source,
    samples: Corpus | FeatureMatrix,
    found: DatasetAudit,
) -> int:
    """Write the corrected copy, and what was left out of it; return the number of copied rows."""
    labels: Any = samples.labels
    fix = found.fix(relabel=args.relabel)
    dropped: dict[int, str] = dict.fromkeys(fix.dropped, "")
    for suspect in found.suspects:
        if suspect.kind in DROPPED_KINDS and not suspect.is_test:
            dropped[suspect.index] = dropped[suspect.index] or f"{suspect.kind}: {suspect.reason}"
    invalid = {row.number - 1: str(row) for row in samples.skipped if isinstance(row, SkippedRow)}
    correction = Correction(labels, dropped, fix.relabelled, invalid)
    n_copied, left_out = write_corrected_copy(
        args.data, target, correction, _format(args), args.read
    )
    console.field(
        "wrote",
        f"{target}: {count(n_copied, 'row')}, without {count(len(left_out), 'row')} and with "
        f"{count(len(fix.relabelled), 'new label')}",
    )
    if left_out:
        form: Any = {"escape_formulas": args.escape_formulas, "dialect": source.find_dialect()}
        write_left_out(_name_left_out(target), left_out, **form)
        console.field("wrote", f"{_name_left_out(target)}: {count(len(left_out), 'row')} left out")
    return n_copied
