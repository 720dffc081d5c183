"""`cordwood report`: write a report of a model or a data set."""

import shlex
import zipfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import typer
from joblib import parallel_config

from cordwood._base import atomic
from cordwood.classifier.text_classifier import TextClassifier
from cordwood.cli.commands import MakeReport
from cordwood.cli.console import Console
from cordwood.cli.curve import estimate_curve
from cordwood.cli.expected_scores import show_summary
from cordwood.cli.inputs import Source
from cordwood.cli.models import load_model, model_errors, read_labelled
from cordwood.cli.outputs import check_target
from cordwood.datasets.corpus import Corpus, FeatureMatrix
from cordwood.datasets.lines import STANDARD_INPUT
from cordwood.reports import Report, dataset_report
from cordwood.reports.dataset_summary import DatasetSummary
from cordwood.reports.hub_card import to_hub_card
from cordwood.reports.model_records import ModelSummary
from cordwood.reports.model_summary import Provenance
from cordwood.reports.report import check_format, model_report

MODEL_SUFFIX = ".cordwood"


def report(args: MakeReport) -> None:
    """Write the report of a model or of a data set."""
    console = Console(as_json=args.json, quiet=args.quiet)
    inputs = [args.model, *([args.data] if args.data else [])]
    check_report_target(args.output, inputs=inputs)
    if args.read.group is not None and not args.curve:
        raise typer.BadParameter("--group requires --curve: nothing else is split; omit it")
    if args.card is not None:
        check_target(args.card, inputs=inputs)
    make = _report_model if _is_model(args.model) else _report_data
    made: Report[Any] = make(console, args)
    if args.card is not None:
        with atomic.write(args.card, errors="backslashreplace") as file:
            file.write(to_hub_card(made.summary))
        console.field("wrote", str(args.card))
    console.print_json({"report": str(args.output), **made.to_dict()})


def check_report_target(path: Path, *, inputs: Sequence[str | Path] = ()) -> None:
    """Raise before a long computation if a report could not be written."""
    check_format(path)
    check_target(path, inputs=inputs)


def _is_model(source: str) -> bool:
    """Return whether a file is a model file, by its name or, for any other name, its content."""
    path = Path(source)
    if path.suffix == MODEL_SUFFIX:
        return True
    try:
        with zipfile.ZipFile(path) as archive:
            return "cordwood.json" in archive.namelist()
    except (OSError, zipfile.BadZipFile):
        return False


def write_model_report(
    console: Console,
    model: TextClassifier,
    samples: Corpus | FeatureMatrix | None,
    path: Path,
    target: Path,
    **facts: Any,
) -> Report[ModelSummary]:
    """Make the report of a model in the file `path` with progress bars, and write it to `target`.

    `facts` are further fields of `Provenance`.
    """
    # Model files do not contain n_jobs.
    all_cores = parallel_config("threading", n_jobs=-1)
    with console.bars() as bars, all_cores, model_errors(path):
        progress = None if bars is None else bars.update
        made = model_report(model, samples, Provenance(name=path.stem, **facts), progress)
    made.save(target)
    show_written(console, target)
    return made


def format_review(source: Source, model: Path) -> str | None:
    """Return the command that shows the suspicious labels of training data one by one."""
    if source.paths == [STANDARD_INPUT]:
        return None
    given = [
        part
        for name, value in source.columns.items()
        for each in ([value] if isinstance(value, str) else value)
        for part in (f"--{name}", each)
    ]
    files = ("--model", str(model), "-o", f"{model.stem}-reviewed.csv")
    return shlex.join(["cordwood", "label", *source.paths, *given, "--review", *files])


def show_written(console: Console, path: Path) -> None:
    """Print the name and the size of a report."""
    hint = "; open it in a browser" if path.suffix.lower() == ".html" else ""
    console.field("wrote", f"{path} ({path.stat().st_size / 1e3:,.0f} kB){hint}")


def _report_model(console: Console, args: MakeReport) -> Report[ModelSummary]:
    path = Path(args.model)
    model, card = load_model(path)
    samples, is_training, curve, review = None, False, None, None
    if args.data is not None:
        source = Source(
            data=args.data, options=args.read, data_dir=args.data_dir, subset=args.subset
        )
        samples = read_labelled(console, source, model, card)
        names = () if model.columns_ is None else model.columns_.names
        is_training = samples.fingerprint(names) == card.fingerprint
    if is_training:
        review = format_review(source.with_columns(card.columns), path)
        how = "too good" if model.evaluation_ is None else "out-of-fold"
        console.field("data", f"the training data; the scores are {how}")
    if args.curve:
        if samples is None or not is_training:
            raise typer.BadParameter("--curve requires the training data as DATA")
        groups = samples.groups if args.read.group else None
        curve = estimate_curve(console, model, samples, groups=groups)
    made = write_model_report(
        console,
        model,
        samples,
        path,
        args.output,
        card=card,
        data=args.data,
        curve=curve,
        review=review,
    )
    evaluation = model.evaluation_
    if samples is not None and not (is_training and evaluation is not None):
        with model_errors(path):
            evaluation = model.evaluate(samples)
    if evaluation is not None:
        show_summary(console, evaluation)
    return made


def _report_data(console: Console, args: MakeReport) -> Report[DatasetSummary]:
    if args.card is not None or args.curve:
        option = "--curve" if args.curve else "--card"
        raise typer.BadParameter(f"{option} requires a MODEL; {args.model} is not a model file")
    source = Source(data=args.model, options=args.read, data_dir=args.data_dir, subset=args.subset)
    if args.data is not None and source.dataset is None and not Path(args.model).exists():
        raise typer.BadParameter(f"there is no model file {args.model}; train one first")
    samples = source.read(console, two_classes=False)
    source.show(console, samples)
    test = None
    if args.data is not None:
        source = replace(source, data=args.data, subset=None)
        test = source.read(console, two_classes=False)
    with console.progress("checking the data"):
        made = dataset_report(samples, name=Path(args.model).name, test=test)
    made.save(args.output)
    show_written(console, args.output)
    return made
