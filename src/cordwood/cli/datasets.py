"""`cordwood datasets`: list, describe and export data sets."""

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import typer

from cordwood._base.wording import count
from cordwood.cli.commands import Datasets
from cordwood.cli.console import Console
from cordwood.cli.outputs import WITH_LISTS, check_suffix, check_target, open_table
from cordwood.datasets.corpus import Corpus, FeatureMatrix
from cordwood.datasets.registry import list_datasets, load_dataset
from cordwood.exceptions import DataError

N_EXAMPLES = 3
MAX_EXAMPLE_LENGTH = 60


def datasets(args: Datasets) -> None:
    """List the data sets, or describe and export one."""
    console = Console(as_json=args.json)
    name, export = args.name, args.export
    if name is None:
        if export is not None:
            raise typer.BadParameter("--export requires the NAME of a data set")
        _list(console, args.data_dir)
        return
    if export is not None:
        check_suffix(export)
        check_target(export)
    with console.progress(f"loading {name}") as progress:
        samples = load_dataset(name, data_dir=args.data_dir, progress=progress)
    if export is not None:
        _export(name, samples, export, args.escape_formulas)
    _show(console, name, samples)
    if export is not None:
        console.field("wrote", f"{export} ({count(len(samples), 'sample')})")
        console.field("next", f"cordwood train {export}")


def _list(console: Console, data_dir: Path | None) -> None:
    found = list_datasets(data_dir)
    fields = ("name", "kind", "source", "description", "needs_download")
    console.print_json(
        {"datasets": [{field: getattr(info, field) for field in fields} for info in found]}
    )
    notes = {True: "; downloaded on first use", False: ""}
    console.table(
        ("name", "kind", "source", "description"),
        [
            (info.name, info.kind, info.source, info.description + notes[info.needs_download])
            for info in found
        ],
    )
    console.print()
    console.print("Describe one: cordwood datasets docstrings")
    console.print("Train on one: cordwood train dataset:docstrings --subset train")
    if all(info.source != "folder" for info in found):
        console.print("Add your own: give their directory with --data-dir or CORDWOOD_DATA.")


def _show(console: Console, name: str, samples: Corpus | FeatureMatrix) -> None:
    record = _describe(name, samples)
    console.print_json(record)
    console.field("name", name)
    console.field("samples", f"{record['n_samples']:,}")
    if isinstance(samples, Corpus):
        shortest, median, longest = record["n_words"]
        console.field("words", f"{median:,} per text in the median ({shortest:,} to {longest:,})")
    else:
        console.field("features", f"{record['n_features']:,}")
    if record["split"]:
        console.field(
            "split", ", ".join(f"{subset} {n:,}" for subset, n in record["split"].items())
        )
    if samples.groups is not None:
        console.field("groups", f"{record['n_groups']:,}, each in one subset of any split")
    if samples.multilabel:
        console.field("labels", "any number per sample")
    console.print()
    console.table(("class", "samples"), list(record["classes"].items()))
    if record["examples"]:
        console.print()
        console.table(("class", "text"), [(e["label"], e["text"]) for e in record["examples"]])


def _describe(name: str, samples: Corpus | FeatureMatrix) -> dict[str, Any]:
    labels = samples.labels or ()
    flat = [label for entry in labels for label in (entry if samples.multilabel else (entry,))]
    record: dict[str, Any] = {
        "name": name,
        "n_samples": len(samples),
        "multilabel": samples.multilabel,
        "classes": dict(Counter(flat).most_common()),
        "split": dict(Counter(samples.split or ()).most_common()),
        "n_groups": len(set(samples.groups or ())),
        "examples": [],
    }
    if isinstance(samples, Corpus):
        lengths = [len(text.split()) for text in samples.texts]
        record["n_words"] = [min(lengths), int(np.median(lengths)), max(lengths)]
        record["examples"] = [
            {
                "id": samples.ids[i],
                "label": ", ".join(labels[i]) if samples.multilabel else labels[i],
                "text": samples.texts[i][:MAX_EXAMPLE_LENGTH],
            }
            for i in np.linspace(0, len(samples) - 1, N_EXAMPLES, dtype=int)
        ]
    else:
        record["n_features"] = samples.X.shape[1]
    return record


def _export(
    name: str, samples: Corpus | FeatureMatrix, target: Path, escape_formulas: bool
) -> None:
    if isinstance(samples, FeatureMatrix):
        raise DataError(f"data set {name!r} is numeric; only texts can be exported")
    if samples.multilabel and target.suffix.lower() not in WITH_LISTS:
        raise DataError(
            f"data set {name!r} has several labels per sample, which its format does not support; "
            "export it to a .jsonl or .parquet file"
        )
    columns: dict[str, Any] = {
        "id": samples.ids,
        "text": samples.texts,
        "labels" if samples.multilabel else "label": samples.labels,
        "split": samples.split,
        "group": samples.groups,
    }
    columns = {column: values for column, values in columns.items() if values is not None}
    with open_table(target, list(columns), escape_formulas=escape_formulas) as write:
        for row in zip(*columns.values(), strict=True):
            write(row)
