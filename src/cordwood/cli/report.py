"""`cordwood report`: write a report of a model or a data set."""

import zipfile
from collections.abc import Sequence
from pathlib import Path

import typer
from joblib import parallel_config

from cordwood import _atomic as atomic
from cordwood.cli.commands import MakeReport
from cordwood.cli.console import Console
from cordwood.cli.inputs import Source
from cordwood.cli.models import load_model, model_errors
from cordwood.cli.outputs import check_target
from cordwood.reports import Report, dataset_report, model_report
from cordwood.reports.hub_card import to_hub_card
from cordwood.reports.report import check_format

MODEL_SUFFIX = ".cordwood"


def report(args: MakeReport) -> None:
    """Write the report of a model or of a data set."""
    console = Console(as_json=args.json, quiet=args.quiet)
    inputs = [args.source, *([args.data] if args.data else [])]
    check_report_target(args.output, inputs=inputs)
    if args.card is not None:
        check_target(args.card, inputs=inputs)
    if _is_model(args.source):
        made = _report_model(console, args)
    else:
        made = _report_data(console, args)
    made.save(args.output)
    console.field("wrote", f"{args.output} ({args.output.stat().st_size / 1e3:,.0f} kB)")
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
    if not path.is_file() or not zipfile.is_zipfile(path):
        return False
    with zipfile.ZipFile(path) as archive:
        return "cordwood.json" in archive.namelist()


def _report_model(console: Console, args: MakeReport) -> Report:
    model, card = load_model(Path(args.source))
    samples = None
    if args.data is not None:
        source = Source(data=args.data, options=args, subset=args.subset).with_columns(card.columns)
        samples = source.read(console, two_classes=False)
        source.show(console, samples)
        if samples.fingerprint() == card.fingerprint:
            console.field("data", "the training data; the scores are out-of-fold")
    # Model files do not contain n_jobs.
    all_cores = parallel_config("threading", n_jobs=-1)
    with console.bars() as bars, all_cores, model_errors(Path(args.source)):
        return model_report(
            model,
            samples,
            name=Path(args.source).stem,
            card=card,
            progress=None if bars is None else bars.update,
        )


def _report_data(console: Console, args: MakeReport) -> Report:
    if args.card is not None:
        raise typer.BadParameter("--card requires a MODEL; a data set has no model card")
    if args.data is not None and not Path(args.source).exists():
        raise typer.BadParameter(f"there is no model file {args.source}; train one first")
    source = Source(data=args.source, options=args, subset=args.subset)
    samples = source.read(console, two_classes=False)
    source.show(console, samples)
    test = None
    if args.data is not None:
        test = Source(data=args.data, options=args).read(console, two_classes=False)
    with console.progress("checking the data"):
        return dataset_report(samples, name=Path(args.source).name, test=test)
