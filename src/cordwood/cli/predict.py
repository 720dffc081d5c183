"""`cordwood predict`: predict labels with a model."""

import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from importlib import import_module
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import typer
from joblib import parallel_config

from cordwood._base.wording import count
from cordwood.classifier.text_classifier import TextClassifier
from cordwood.cli.commands import Predict
from cordwood.cli.console import Console
from cordwood.cli.decisions import make_rule, set_cells, set_columns, show_rule
from cordwood.cli.errors import print_error
from cordwood.cli.expected_scores import describe_shift
from cordwood.cli.inputs import Progress, Source, iter_batches, skipped_message
from cordwood.cli.models import load_model, match_source, model_errors
from cordwood.cli.outputs import (
    WITH_LISTS,
    check_suffix,
    check_target,
    describe_labels,
    is_folder,
    open_table,
    to_cell,
)
from cordwood.confidence.rule import ConfidenceRule
from cordwood.confidence.shift import ShiftDetector
from cordwood.datasets.corpus import Corpus, FeatureMatrix
from cordwood.datasets.csv_records import Dialect
from cordwood.datasets.rows import RowStream
from cordwood.metrics.predictions import Predictions
from cordwood.persist import ModelCard

BATCH_SIZE = 1000
DECIMALS = 6


def predict(args: Predict) -> None:
    """Write the predicted label of each sample and its probability."""
    if not args.data and not args.read.text:
        raise typer.BadParameter("give DATA, or a text with --text")
    if _predict_folder(args):
        return
    target = None if args.output == "-" else Path(args.output)
    if target is not None:
        check_suffix(target)
        check_target(target, inputs=[*(args.data or ()), args.model])
    # A progress bar would interfere with predictions that are printed to the same terminal.
    prints_to_terminal = target is None and sys.stdout.isatty()
    console = Console(as_json=args.json, quiet=args.quiet or prints_to_terminal)
    source = None
    if args.data:
        source = Source(data=args.data, options=args.read, data_dir=args.data_dir)
    model, card = load_model(args.model)
    rule = make_rule(args, model)
    start = time.perf_counter()
    # Model files do not contain n_jobs.
    all_cores = parallel_config("threading", n_jobs=-1)
    name = "texts" if source is None else source.name
    with all_cores, console.progress(f"predicting {name}") as progress:
        samples: RowStream | Corpus | FeatureMatrix
        if source is None:
            samples = _make_corpus(args.read.text or ())
        else:
            extra: Any = "all" if args.keep_columns else ()
            source = match_source(source, model, card)
            samples = source.open(progress, extra_columns=extra)
        detector = model.make_shift_detector()
        dialect = None if source is None else source.find_dialect()
        counts, n_samples = _write_predictions(
            args, model, rule, detector, samples, target, dialect
        )
    seconds = time.perf_counter() - start
    n_skipped = samples.n_skipped if isinstance(samples, RowStream) else len(samples.skipped)
    if n_skipped:
        print_error(f"skipped {skipped_message(samples.skipped, n_skipped)}")
    shift = None if detector is None else detector.detect()
    if shift is not None:
        print_error(f"warning: {describe_shift(shift, model)}")
    if target is None:
        return
    for note in samples.notes:
        console.field("note", note)
    show_rule(console, rule, model)
    console.field("labels", describe_labels(counts))
    console.field("wrote", f"{target}: {count(n_samples, 'prediction')}, in {seconds:.1f} s")
    console.print_json(
        {
            "model": str(args.model),
            "data": None if source is None else source.record,
            "output": args.output,
            "n_samples": n_samples,
            "n_skipped": n_skipped,
            "labels": dict(counts.most_common()),
            "min_confidence": rule.min_confidence,
            "shift": None if shift is None else [term._asdict() for term in shift.terms],
            "seconds": round(seconds, 3),
        }
    )


def _predict_folder(args: Predict) -> bool:
    """Predict part by part if the output is a folder, and return whether it is."""
    if not is_folder(args.output):
        if args.jobs != 1:
            raise typer.BadParameter("--jobs requires -o FOLDER/, which has one output per file")
        return False
    if not args.data:
        raise typer.BadParameter("-o FOLDER/ requires DATA; give files")
    # Imported here, because the first prediction of a text should not wait for it.
    import_module("cordwood.cli.predict_parts").predict_parts(args, _predict_file)
    return True


def _predict_file(
    args: Predict,
    model: TextClassifier,
    card: ModelCard,
    path: Path,
    target: Path,
    progress: Progress | None,
) -> tuple[Counter[str], int, int]:
    """Predict one of several files."""
    source = match_source(Source(data=str(path), options=args.read), model, card)
    samples = source.open(progress, extra_columns="all" if args.keep_columns else ())
    counts, n_samples = _write_predictions(
        args, model, make_rule(args, model), None, samples, target, source.find_dialect()
    )
    n_skipped = samples.n_skipped if isinstance(samples, RowStream) else len(samples.skipped)
    return counts, n_samples, n_skipped


def _make_corpus(texts: Sequence[str]) -> Corpus:
    ids = tuple(str(number) for number in range(1, len(texts) + 1))
    return Corpus(texts=tuple(texts), ids=ids, columns={"text": tuple(texts)})


class _Prediction(NamedTuple):
    """Labels with the values to write: those of the prediction, and those of the user's columns."""

    labels: tuple[str, ...]
    values: tuple[Any, ...]
    columns: dict[str, Any]


def _write_predictions(
    args: Predict,
    model: TextClassifier,
    rule: ConfidenceRule,
    detector: ShiftDetector | None,
    samples: RowStream | Corpus | FeatureMatrix,
    target: Path | None,
    dialect: Dialect | None,
) -> tuple[Counter[str], int]:
    """Write one row per sample; return the number of samples by predicted label and in all."""
    added = ["label", "probability", *set_columns(rule)]
    if args.all_probabilities:
        with model_errors(args.model):
            added += [f"probability:{label}" for label in model.classes_]
    is_json = args.json if target is None else target.suffix.lower() in WITH_LISTS
    batches = _iter_predictions(args, model, rule, detector, samples, is_json=is_json)
    # Predict the first batch before the header is written: an error then leaves no output.
    first = next(batches)
    # Rows of JSON lines may have different keys.
    kept = list(dict.fromkeys(name for row in first for name in row.columns))
    names = [f"predicted_{name}" if name in kept else name for name in added]
    counts: Counter[str] = Counter()
    n_samples = 0
    dropped: set[str] = set()
    with open_table(
        target,
        [*kept, *names],
        json_lines=args.json,
        escape_formulas=args.escape_formulas,
        dialect=dialect,
    ) as write:
        for row in chain(first, chain.from_iterable(batches)):
            counts.update(row.labels)
            n_samples += 1
            values = [to_cell(row.columns.get(name), is_json=is_json) for name in kept]
            write([*values, *row.values[: len(added)]])
            dropped |= row.columns.keys() - kept
    if dropped:
        print_error(
            f"warning: left out {count(len(dropped), 'column')} that the first {BATCH_SIZE:,} rows "
            f"do not have: {', '.join(sorted(dropped))}"
        )
    return counts, n_samples


def _iter_predictions(
    args: Predict,
    model: TextClassifier,
    rule: ConfidenceRule,
    detector: ShiftDetector | None,
    samples: RowStream | Corpus | FeatureMatrix,
    *,
    is_json: bool,
) -> Iterator[list[_Prediction]]:
    """Yield the predictions of batches."""
    for batch in iter_batches(samples, BATCH_SIZE):
        with model_errors(args.model):
            predictions = model.apply_rule(batch, rule)
            if detector is not None and isinstance(batch, Corpus):
                detector.add(batch.texts)
            labels, confidence = _format_labels(predictions)
            sets = set_cells(predictions, is_json=is_json)
            probabilities = predictions.proba.round(DECIMALS).tolist()
        columns = batch.columns if args.keep_columns and batch.columns else {"id": batch.ids}
        rows = zip(*columns.values(), strict=True)
        yield [
            _Prediction(
                label if isinstance(label, tuple) else (label,),
                (label, probability, *set_values, *each),
                dict(zip(columns, row, strict=True)),
            )
            for label, probability, set_values, each, row in zip(
                labels, confidence, sets, probabilities, rows, strict=True
            )
        ]


def _format_labels(predictions: Predictions) -> tuple[list[Any], list[Any]]:
    """Return the label of each sample and its probability, or tuples of them."""
    labels: list[Any] = [
        tuple(map(str, each)) if isinstance(each, tuple) else str(each)
        for each in predictions.decided_labels()
    ]
    if predictions.indicators is None:
        return labels, predictions.confidence.round(DECIMALS).tolist()
    return labels, [
        tuple(round(value, DECIMALS) for value in each) for each in predictions.confidence
    ]
