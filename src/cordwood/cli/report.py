"""`cordwood report`: write a report of a model or a data set."""

import zipfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import typer
from joblib import parallel_config

from cordwood._base import atomic
from cordwood.cli.commands import MakeReport
from cordwood.cli.console import Console
from cordwood.cli.inputs import Source
from cordwood.cli.models import load_model, model_errors
from cordwood.cli.outputs import check_target
from cordwood.datasets.corpus import Corpus, FeatureMatrix
from cordwood.exceptions import CordwoodError
from cordwood.metrics.learning_curve import LearningCurveEstimate, estimate_learning_curve
from cordwood.reports import Report, dataset_report, model_report
from cordwood.reports.dataset_summary import DatasetSummary
from cordwood.reports.hub_card import to_hub_card
from cordwood.reports.model_records import ModelSummary
from cordwood.reports.report import check_format

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
    """Raise before a long computation if a report could not be written.

    Parameters
    ----------
    path : Path
        File to write.
    inputs : sequence of str or Path, default=()
        Files that are read, which must not be overwritten.
    """
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
    model: Any,
    samples: Corpus | FeatureMatrix | None,
    path: Path,
    target: Path,
    **facts: Any,
) -> Report[ModelSummary]:
    """Make the report of a model with progress bars, and write it.

    Parameters
    ----------
    console : Console
    model : fitted classifier
    samples : Corpus, FeatureMatrix or None
        Labelled samples.
    path : Path
        Model file, for the title.
    target : Path
        File to write.
    **facts
        Further arguments of `cordwood.reports.model_report`.
    """
    # Model files do not contain n_jobs.
    all_cores = parallel_config("threading", n_jobs=-1)
    with console.bars() as bars, all_cores, model_errors(path):
        progress = None if bars is None else bars.update
        made = model_report(model, samples, name=path.stem, progress=progress, **facts)
    made.save(target)
    show_written(console, target)
    return made


def show_written(console: Console, path: Path) -> None:
    """Print the name and the size of a report."""
    hint = "; open it in a browser" if path.suffix.lower() == ".html" else ""
    console.field("wrote", f"{path} ({path.stat().st_size / 1e3:,.0f} kB){hint}")


def _show_scores(console: Console, summary: ModelSummary) -> None:
    if summary.scores is not None:
        scores = summary.scores.scores
        shown = [
            f"{name} {score.value:.3f} ({score.low:.3f} to {score.high:.3f})"
            for name, score in (("accuracy", scores.accuracy), ("macro F1", scores.macro_f1))
        ]
        console.field("scores", ", ".join(shown))


def _report_model(console: Console, args: MakeReport) -> Report[ModelSummary]:
    path = Path(args.model)
    model, card = load_model(path)
    samples, curve = None, None
    if args.data is not None:
        source = Source(
            data=args.data, options=args.read, data_dir=args.data_dir, subset=args.subset
        ).with_columns(card.columns)
        samples = source.read(console, two_classes=False)
        source.show(console, samples)
    is_training = samples is not None and samples.fingerprint() == card.fingerprint
    if is_training:
        has_oof = any(getattr(model, name, None) is not None for name in ("oof_", "evaluation_"))
        how = "out-of-fold" if has_oof else "too good"
        console.field("data", f"the training data; the scores are {how}")
    if args.curve:
        if samples is None or not is_training:
            raise typer.BadParameter("--curve requires the training data as DATA")
        curve = _estimate_curve(console, model, samples)
    made = write_model_report(
        console,
        model,
        samples,
        path,
        args.output,
        card=card,
        data_name=args.data,
        curve=curve,
    )
    _show_scores(console, made.summary)
    return made


def _estimate_curve(
    console: Console, model: Any, samples: Corpus | FeatureMatrix
) -> LearningCurveEstimate:
    X = samples.texts if isinstance(samples, Corpus) else samples.X
    with console.progress("training on shares of the samples") as progress:
        try:
            return estimate_learning_curve(
                model, X, np.asarray(samples.labels), groups=samples.groups, progress=progress
            )
        except ValueError as error:
            raise CordwoodError(f"learning curve: {error}") from error


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
