"""`cordwood predict`: label new rows with a model, in the order of the file."""

import sys
import time
from collections import Counter
from collections.abc import Iterator
from itertools import chain, islice
from pathlib import Path
from typing import Any

from cordwood import persist, workflow
from cordwood.cli import errors as failure
from cordwood.cli.commands import Predict
from cordwood.cli.console import Console
from cordwood.cli.inputs import Source, batches, skipped_sentence
from cordwood.cli.outputs import check_suffix, check_target, open_rows
from cordwood.datasets._rows import RowStream
from cordwood.datasets.corpus import Corpus, FeatureMatrix

BATCH_ROWS = 1000
DECIMALS = 6


def predict(asked: Predict) -> None:
    """Write the label of each row and its probability."""
    target = None if asked.output == "-" else Path(asked.output)
    if target is not None:
        check_suffix(target)
        check_target(target, inputs=[asked.data, asked.model])
    # A bar would stand among rows that are printed to the same terminal.
    mixed = target is None and sys.stdout.isatty()
    console = Console(as_json=asked.json, quiet=asked.quiet or mixed)
    source = Source.of(asked)
    fitted, card = persist.load(asked.model), persist.read_card(asked.model)
    start = time.perf_counter()
    with console.progress(f"labelling {asked.data}") as progress:
        rows = source.remember(card.columns).open(progress)
        counts = _write(fitted, rows, target, asked.all_probabilities, asked.json)
    seconds = time.perf_counter() - start
    n_skipped = rows.n_skipped if isinstance(rows, RowStream) else len(rows.skipped)
    if n_skipped:
        failure.say(f"skipped {skipped_sentence(n_skipped, rows.skipped[0])}")
    if target is None:
        return
    console.fact("labels", ", ".join(f"{label} ({n:,})" for label, n in counts.most_common()))
    console.fact("wrote", f"{target}: {counts.total():,} rows, in {seconds:.1f} s")
    console.answer(
        {
            "model": str(asked.model),
            "data": asked.data,
            "output": asked.output,
            "rows": counts.total(),
            "skipped": n_skipped,
            "labels": dict(counts.most_common()),
            "seconds": round(seconds, 3),
        }
    )


def _write(
    fitted: Any,
    rows: RowStream | Corpus | FeatureMatrix,
    target: Path | None,
    all_probabilities: bool,
    json_lines: bool,
) -> Counter[str]:
    """Write a line for each row, and count the labels."""
    columns = ["id", "label", "probability"]
    if all_probabilities:
        columns += [f"probability:{label}" for label in fitted.classes_]
    answers = _answers(fitted, rows)
    # The header waits for the first answer: where there is none, nothing is printed but the error.
    first = list(islice(answers, 1))
    counts: Counter[str] = Counter()
    with open_rows(target, columns, json_lines=json_lines) as write:
        for answer in chain(first, answers):
            counts[answer[1]] += 1
            write(answer[: len(columns)])
    return counts


def _answers(fitted: Any, rows: RowStream | Corpus | FeatureMatrix) -> Iterator[tuple[Any, ...]]:
    """Give id, label, its probability and the probability of each class, row by row."""
    for batch in batches(rows, BATCH_ROWS):
        found = workflow.predict(fitted, batch)
        labels = [str(label) for label in found.labels]
        confidence = found.confidence.round(DECIMALS).tolist()
        each = found.probabilities.round(DECIMALS).tolist()
        for id, label, probability, every in zip(batch.ids, labels, confidence, each, strict=True):
            yield (id, label, probability, *every)
