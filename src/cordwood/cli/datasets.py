"""`cordwood datasets`: what there is to try things on, without a download."""

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import typer

from cordwood.cli.commands import Datasets
from cordwood.cli.console import Console
from cordwood.cli.outputs import JSON_LINES, check_suffix, check_target, open_rows
from cordwood.datasets.corpus import Corpus, FeatureMatrix
from cordwood.datasets.registry import list_datasets, load_dataset
from cordwood.exceptions import DataError

N_SAMPLES = 3
SAMPLE_LETTERS = 60


def datasets(asked: Datasets) -> None:
    """List the data sets, or show and export one."""
    console = Console(as_json=asked.json)
    name, export = asked.name, asked.export
    if name is None:
        if export is not None:
            raise typer.BadParameter("--export needs the NAME of a data set")
        _list(console, asked.data_dir)
        return
    if export is not None:
        check_suffix(export)
        check_target(export)
    with console.progress(f"loading {name}") as progress:
        rows = load_dataset(name, data_dir=asked.data_dir, progress=progress)
    if export is not None:
        _export(name, rows, export)
    _show(console, name, rows)
    if export is not None:
        console.fact("wrote", f"{export} ({len(rows):,} rows)")
        console.fact("next", f"cordwood train {export}")


def _list(console: Console, data_dir: Path | None) -> None:
    found = list_datasets(data_dir)
    fields = ("name", "kind", "source", "description", "needs_download")
    console.answer(
        {"datasets": [{field: getattr(info, field) for field in fields} for info in found]}
    )
    notes = {True: "; downloaded at its first use", False: ""}
    console.table(
        ("name", "kind", "source", "what it is"),
        [
            (info.name, info.kind, info.source, info.description + notes[info.needs_download])
            for info in found
        ],
    )
    console.say()
    console.say("Look into one: cordwood datasets docstrings")
    console.say("Learn from one: cordwood train dataset:docstrings --part train")
    if all(info.source != "folder" for info in found):
        console.say("Add your own: name their folder with --data-dir, or in CORDWOOD_DATA.")


def _show(console: Console, name: str, rows: Corpus | FeatureMatrix) -> None:
    record = _describe(name, rows)
    console.answer(record)
    console.fact("name", name)
    console.fact("rows", f"{record['rows']:,}")
    if isinstance(rows, Corpus):
        shortest, median, longest = record["words"]
        console.fact("words", f"{median:,} in the median document ({shortest:,} to {longest:,})")
    else:
        console.fact("numbers", f"{rows.X.shape[1]:,} in each row")
    if record["split"]:
        console.fact("split", ", ".join(f"{part} {n:,}" for part, n in record["split"].items()))
    if rows.groups is not None:
        console.fact("groups", f"{record['groups']:,}, each to stay on one side of a split")
    if rows.multilabel:
        console.fact("labels", "a row may have several, or none")
    console.say()
    console.table(("class", "rows"), list(record["classes"].items()))
    if record["samples"]:
        console.say()
        console.table(("class", "begins"), [(s["label"], s["text"]) for s in record["samples"]])


def _describe(name: str, rows: Corpus | FeatureMatrix) -> dict[str, Any]:
    labels = rows.labels or ()
    each = [label for row in labels for label in (row if isinstance(row, tuple) else (row,))]
    record: dict[str, Any] = {
        "name": name,
        "rows": len(rows),
        "multilabel": rows.multilabel,
        "classes": dict(Counter(each).most_common()),
        "split": dict(Counter(rows.split or ()).most_common()),
        "groups": len(set(rows.groups or ())),
        "samples": [],
    }
    if isinstance(rows, Corpus):
        lengths = [len(text.split()) for text in rows.texts]
        record["words"] = [min(lengths), int(np.median(lengths)), max(lengths)]
        record["samples"] = [
            {
                "id": rows.ids[row],
                "label": ", ".join(labels[row]) if rows.multilabel else labels[row],
                "text": rows.texts[row][:SAMPLE_LETTERS],
            }
            for row in np.linspace(0, len(rows) - 1, N_SAMPLES, dtype=int)
        ]
    else:
        record["features"] = rows.X.shape[1]
    return record


def _export(name: str, rows: Corpus | FeatureMatrix, target: Path) -> None:
    if isinstance(rows, FeatureMatrix):
        raise DataError(f"the data set {name!r} holds numbers; only text can be exported")
    if rows.multilabel and target.suffix.lower() not in JSON_LINES:
        raise DataError(
            f"the rows of {name!r} may have several labels, which a CSV file cannot hold; "
            "export to a .jsonl file"
        )
    columns: dict[str, Any] = {
        "id": rows.ids,
        "text": rows.texts,
        "labels" if rows.multilabel else "label": rows.labels,
        "split": rows.split,
        "group": rows.groups,
    }
    columns = {column: values for column, values in columns.items() if values is not None}
    with open_rows(target, list(columns)) as write:
        for row in zip(*columns.values(), strict=True):
            write(row)
