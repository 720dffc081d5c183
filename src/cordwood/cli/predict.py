"""`cordwood predict`: predict labels with a model."""

import sys
import time
from collections import Counter
from collections.abc import Iterator
from itertools import chain, islice
from pathlib import Path
from typing import Any

from joblib import parallel_config

from cordwood import api
from cordwood.cli.commands import Predict
from cordwood.cli.console import Console, count
from cordwood.cli.errors import print_error
from cordwood.cli.inputs import Source, iter_batches, skipped_message
from cordwood.cli.models import load_model, model_errors
from cordwood.cli.outputs import check_suffix, check_target, open_table
from cordwood.datasets._rows import RowStream
from cordwood.datasets.corpus import Corpus, FeatureMatrix

BATCH_SIZE = 1000
DECIMALS = 6


def predict(args: Predict) -> None:
    """Write the predicted label of each sample and its probability."""
    target = None if args.output == "-" else Path(args.output)
    if target is not None:
        check_suffix(target)
        check_target(target, inputs=[args.data, args.model])
    # A progress bar would interfere with predictions that are printed to the same terminal.
    prints_to_terminal = target is None and sys.stdout.isatty()
    console = Console(as_json=args.json, quiet=args.quiet or prints_to_terminal)
    source = Source(data=args.data, options=args)
    model, card = load_model(args.model)
    start = time.perf_counter()
    # Model files do not contain n_jobs.
    all_cores = parallel_config("threading", n_jobs=-1)
    with all_cores, console.progress(f"predicting {args.data}") as progress:
        samples = source.with_columns(card.columns).open(progress)
        counts, n_samples = _write_predictions(args, model, samples, target)
    seconds = time.perf_counter() - start
    n_skipped = samples.n_skipped if isinstance(samples, RowStream) else len(samples.skipped)
    if n_skipped:
        print_error(f"skipped {skipped_message(n_skipped, samples.skipped[0])}")
    if target is None:
        return
    console.field("labels", ", ".join(f"{label} ({n:,})" for label, n in counts.most_common()))
    console.field("wrote", f"{target}: {count(n_samples, 'prediction')}, in {seconds:.1f} s")
    console.print_json(
        {
            "model": str(args.model),
            "data": args.data,
            "output": args.output,
            "n_samples": n_samples,
            "n_skipped": n_skipped,
            "labels": dict(counts.most_common()),
            "seconds": round(seconds, 3),
        }
    )


def _write_predictions(
    args: Predict, model: Any, samples: RowStream | Corpus | FeatureMatrix, target: Path | None
) -> tuple[Counter[str], int]:
    """Write one row per sample; return the number of samples by predicted label and in all.

    With several labels per sample, the label and its probability are tuples.
    """
    columns = ["id", "label", "probability"]
    if args.all_probabilities:
        with model_errors(args.model):
            columns += [f"probability:{label}" for label in model.classes_]
    rows = _iter_predictions(args.model, model, samples)
    # Predict the first sample before the header is written: an error then leaves no output.
    first = list(islice(rows, 1))
    counts: Counter[str] = Counter()
    n_samples = 0
    with open_table(
        target, columns, json_lines=args.json, escape_formulas=args.escape_formulas
    ) as write:
        for row in chain(first, rows):
            counts.update(row[1] if isinstance(row[1], tuple) else [row[1]])
            n_samples += 1
            write(row[: len(columns)])
    return counts, n_samples


def _iter_predictions(
    path: Path, model: Any, samples: RowStream | Corpus | FeatureMatrix
) -> Iterator[tuple[Any, ...]]:
    """Yield the id, label, probability of the label and probabilities of all classes."""
    for batch in iter_batches(samples, BATCH_SIZE):
        with model_errors(path):
            predictions = api.predict(model, batch)
            probabilities = predictions.probabilities.round(DECIMALS).tolist()
            labels, confidence = _format_labels(predictions)
        for id, label, probability, each in zip(
            batch.ids, labels, confidence, probabilities, strict=True
        ):
            yield (id, label, probability, *each)


def _format_labels(
    predictions: api.Predictions | api.MultiLabelPredictions,
) -> tuple[list[Any], list[Any]]:
    """Return the label of each sample and its probability, or tuples of them."""
    if isinstance(predictions, api.Predictions):
        labels = [str(label) for label in predictions.labels]
        return labels, predictions.confidence.round(DECIMALS).tolist()
    column = {label: i for i, label in enumerate(predictions.classes.tolist())}
    return [tuple(map(str, each)) for each in predictions.labels], [
        tuple(proba[[column[label] for label in each]].round(DECIMALS).tolist())
        for each, proba in zip(predictions.labels, predictions.probabilities, strict=True)
    ]
