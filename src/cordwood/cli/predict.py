"""`cordwood predict`: label new rows with a model, in the order of the file."""

import sys
import time
from collections import Counter
from collections.abc import Iterator
from itertools import chain, islice
from pathlib import Path
from typing import Annotated, Any

import typer

from cordwood import persist, workflow
from cordwood.cli import failure, options
from cordwood.cli.console import Console
from cordwood.cli.sink import check_suffix, check_target, open_rows
from cordwood.cli.source import Source, batches, skipped_sentence
from cordwood.text.corpus import Corpus, Matrix
from cordwood.text.rows import RowStream

BATCH_ROWS = 1000
DECIMALS = 6

Output = Annotated[
    str,
    typer.Option(
        "--output",
        "-o",
        metavar="FILE",
        help="The .csv or .jsonl file to write; one that stands there is replaced. "
        "- is standard output.",
    ),
]
AllProbabilities = Annotated[
    bool,
    typer.Option(
        "--all-probabilities",
        help="Write the probability of every class, in columns called probability:CLASS.",
    ),
]
Json = Annotated[
    bool,
    typer.Option(
        "--json",
        help="Print JSON lines instead of CSV; with -o FILE, one JSON object that sums up.",
    ),
]


def predict(
    model: options.Model,
    data: options.Data,
    output: Output = "-",
    all_probabilities: AllProbabilities = False,
    text: options.TextColumns = None,
    id: options.IdColumn = None,
    encoding: options.Encoding = "utf-8",
    format: options.Format = None,
    delimiter: options.Delimiter = None,
    on_bad_rows: options.BadRows = options.OnBadRows.RAISE,
    data_dir: options.DataDir = None,
    json: Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Writes id, label and the label's probability for each row, in the order of the rows, a
    batch at a time: a file may be larger than memory.

    Example: cordwood predict reviews.cordwood new.csv -o labels.csv
    """
    target = None if output == "-" else Path(output)
    if target is not None:
        check_suffix(target)
        check_target(target, inputs=[data, model])
    # A bar would stand among rows that are printed to the same terminal.
    mixed = target is None and sys.stdout.isatty()
    console = Console(as_json=json, quiet=quiet or mixed)
    source = Source(
        data=data,
        text=text,
        id=id,
        encoding=encoding,
        format=format,
        delimiter=delimiter,
        on_bad_rows=on_bad_rows,
        data_dir=data_dir,
    )
    fitted, card = persist.load(model), persist.read_card(model)
    start = time.perf_counter()
    with console.progress(f"labelling {data}") as progress:
        rows = source.remember(card.columns).open(progress)
        counts = _write(fitted, rows, target, all_probabilities, json)
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
            "model": str(model),
            "data": data,
            "output": output,
            "rows": counts.total(),
            "skipped": n_skipped,
            "labels": dict(counts.most_common()),
            "seconds": round(seconds, 3),
        }
    )


def _write(
    fitted: Any,
    rows: RowStream | Corpus | Matrix,
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


def _answers(fitted: Any, rows: RowStream | Corpus | Matrix) -> Iterator[tuple[Any, ...]]:
    """Give id, label, its probability and the probability of each class, row by row."""
    for batch in batches(rows, BATCH_ROWS):
        found = workflow.predict(fitted, batch)
        labels = [str(label) for label in found.labels]
        confidence = found.confidence.round(DECIMALS).tolist()
        each = found.probabilities.round(DECIMALS).tolist()
        for id, label, probability, every in zip(batch.ids, labels, confidence, each, strict=True):
            yield (id, label, probability, *every)
