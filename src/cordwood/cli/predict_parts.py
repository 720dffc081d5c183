"""`cordwood predict MODEL PARTS -o FOLDER/`: one output per input, restartable part by part.

An output is written atomically, and then recorded with the digests of the model, the input and the
output. So a part is done exactly if its record is true, whatever was killed at whatever moment.
"""

import glob
import hashlib
import os
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from joblib import Parallel, delayed, effective_n_jobs, parallel_config

from cordwood._base.wording import count, format_seconds
from cordwood.classifier.batch_predictor import BatchPredictor, load_once
from cordwood.classifier.files import compute_digest
from cordwood.classifier.text_classifier import TextClassifier
from cordwood.cli.commands import Predict
from cordwood.cli.console import Console
from cordwood.cli.decisions import make_rule, show_rule
from cordwood.cli.errors import print_error
from cordwood.cli.inputs import Progress
from cordwood.cli.options import check_jobs
from cordwood.cli.outputs import describe_labels
from cordwood.compare.runner.ledger import Ledger
from cordwood.compare.runner.parent_watch import exit_with_parent
from cordwood.datasets.file_source import FileSource
from cordwood.datasets.parquet_copy import copy_parquet, import_extra
from cordwood.exceptions import CordwoodError, DataError
from cordwood.persist import ModelCard

# Engines that read the folder ignore names that start with an underscore.
RECORDS = "_cordwood.jsonl"
_RUN = "run"  # key of the first record, of the model and the options of all parts
_PARQUET = ".parquet"
_SUFFIXES = (_PARQUET, ".csv", ".jsonl", ".ndjson")


# Predicts a file that is not Parquet (arguments, model, its card, input, output, progress), and
# returns the number of samples of each label, of all samples, and of skipped rows.
PredictFile = Callable[
    [Predict, TextClassifier, ModelCard, Path, Path, Progress | None],
    tuple[Counter[str], int, int],
]


@dataclass(frozen=True, kw_only=True)
class Part:
    """A file to predict, in any process that can read it and the model file."""

    args: Predict
    digest: str  # of the model file
    source: Path
    target: Path
    predict_file: PredictFile


# Predicts parts in any order and yields their records; called with a report of read bytes.
Execute = Callable[[Sequence[Part], Progress], Iterator[dict[str, Any]]]


def predict_parts(args: Predict, predict_file: PredictFile, execute: Execute | None = None) -> None:
    """Predict each part that is not done; `execute` runs them elsewhere than on this computer."""
    check_jobs(args.jobs)
    folder = Path(args.output)
    sources = find_parts(args.data or ())
    targets = _name_targets(sources, folder)
    digest = compute_digest(args.model)
    args = replace(args, model=Path(os.path.abspath(args.model)))
    model, _ = load_once(str(args.model), digest)
    rule = make_rule(args, model)
    console = Console(as_json=args.json, quiet=args.quiet)
    start = time.perf_counter()
    folder.mkdir(exist_ok=True)
    ledger = Ledger(folder / RECORDS)
    claim = ledger.claim("writer")
    if claim is None:
        raise CordwoodError(f"another process writes to {folder}; wait, or give another folder")
    with claim:
        recorded = _read_records(ledger, digest, args)
        parts = [
            Part(
                args=args,
                digest=digest,
                source=source,
                target=target,
                predict_file=predict_file,
            )
            for source, target in zip(sources, targets, strict=True)
        ]
        execute = execute or partial(execute_locally, args.jobs)
        records, n_before = _collect(console, ledger, recorded, parts, execute)
    seconds = time.perf_counter() - start
    labels: Counter[str] = sum((Counter(each["labels"]) for each in records), Counter())
    n_samples, n_skipped = (
        sum(each[name] for each in records) for name in ("n_samples", "n_skipped")
    )
    if n_skipped:
        print_error(f"skipped {count(n_skipped, 'invalid row')}")
    show_rule(console, rule, model)
    console.field("labels", describe_labels(labels))
    before = f", {n_before:,} of them by an earlier run" if n_before else ""
    console.field(
        "wrote",
        f"{folder}: {count(n_samples, 'prediction')} in {count(len(parts), 'part')}{before}, in "
        f"{seconds:.1f} s",
    )
    console.print_json(
        {
            "model": str(args.model),
            "data": [str(source) for source in sources],
            "output": args.output,
            "n_samples": n_samples,
            "n_skipped": n_skipped,
            "n_parts": len(parts),
            "n_parts_before": n_before,
            "labels": dict(labels.most_common()),
            "min_confidence": rule.min_confidence,
            "seconds": round(seconds, 3),
        }
    )


def find_parts(data: Sequence[str]) -> list[Path]:
    """Return the files that arguments name: files, folders of files, and patterns such as *.csv."""
    found: list[Path] = []
    for name in data:
        if os.path.isdir(name):
            # Spark and others write files such as _SUCCESS beside the parts.
            files = [path for path in Path(name).iterdir() if not path.name.startswith((".", "_"))]
        elif os.path.exists(name) or not glob.has_magic(name):
            files = [Path(name)]
        else:
            files = [Path(path) for path in glob.glob(name, recursive=True)]
        if not files:
            raise DataError(f"{name} has no files; check the path")
        found += sorted(files)
    for path in found:
        if not path.is_file():
            problem = "is a folder" if path.is_dir() else "does not exist"
            raise DataError(f"{path} {problem}; a folder is predicted part by part from files")
        if _get_suffix(path) not in _SUFFIXES:
            raise DataError(
                f"{path} cannot be predicted to a folder, because it does not end in "
                f"{', '.join(_SUFFIXES)}; leave it out, or give -o FILE"
            )
    return list(dict.fromkeys(found))


def predict_part(part: Part, progress: Progress | None = None) -> dict[str, Any]:
    """Predict a part and return its record."""
    # Before the input is read: if it is replaced while it is read, the record is not true.
    digest = _hash(part.source)
    for stale in part.target.parent.glob(f".{glob.escape(part.target.name)}.*"):
        stale.unlink(missing_ok=True)  # of a process that was killed
    args = part.args
    if _get_suffix(part.source) == _PARQUET:
        labels, n_samples, n_skipped = _predict_parquet(part, progress)
    else:
        model, card = load_once(str(args.model), part.digest)
        labels, n_samples, n_skipped = part.predict_file(
            args, model, card, part.source, part.target, progress
        )
    return {
        "key": part.target.name,
        "input": digest,
        "output": _hash(part.target),
        "labels": labels,
        "n_samples": n_samples,
        "n_skipped": n_skipped,
    }


def execute_locally(
    n_jobs: int, parts: Sequence[Part], progress: Progress
) -> Iterator[dict[str, Any]]:
    """Predict parts in this process with all cores, or in several processes of one thread each."""
    n_jobs = min(effective_n_jobs(n_jobs), len(parts))
    if n_jobs == 1:
        with parallel_config("threading", n_jobs=-1):
            for part in parts:
                yield predict_part(part, progress)
        return
    workers = Parallel(n_jobs, backend="loky", batch_size=1, return_as="generator_unordered")
    try:
        yield from workers(delayed(_predict_in_worker)(part, os.getpid()) for part in parts)
    except BrokenProcessPool as error:
        raise CordwoodError(
            "a worker process was killed, possibly because the computer ran out of memory; "
            "finished parts are kept: run the command again, with a smaller --jobs if necessary"
        ) from error


def _predict_in_worker(part: Part, parent: int) -> dict[str, Any]:
    exit_with_parent(parent)
    return predict_part(part)


def _predict_parquet(part: Part, progress: Progress | None) -> tuple[Counter[str], int, int]:
    """Predict a Parquet file, whose columns keep their types."""
    args = part.args
    arrow = import_extra("pyarrow", "Parquet files")
    # Raises if an option is one of other formats.
    FileSource(path=part.source, format="parquet", options=args.read, progress=None)
    predictor = BatchPredictor(
        str(args.model),
        part.digest,
        text=args.read.text or None,
        all_probabilities=args.all_probabilities,
        coverage=args.coverage,
        class_conditional=args.class_conditional,
        min_confidence=args.min_confidence,
        max_error=args.max_error,
        unknown=args.unknown,
    )
    _, card = load_once(predictor.path, part.digest)
    id_column = args.read.id or card.columns.get("id", "id")
    labels: Counter[str] = Counter()
    n_read = n_skipped = 0

    def transform(table: Any) -> Any:
        nonlocal n_read, n_skipped
        found = predictor(table)
        added = found.column_names[table.num_columns :]
        values = found[added[0]].to_pylist()
        if None in values and args.read.on_bad_rows != "skip":
            raise DataError(
                f"{part.source}, row {n_read + values.index(None) + 1}: the text is missing; "
                "correct or drop the row, or use --on-bad-rows skip"
            )
        if not args.keep_columns:
            numbers = [str(n_read + position + 1) for position in range(len(values))]
            ids = found[id_column].to_pylist() if id_column in table.column_names else numbers
            strings = arrow.array(map(str, ids), arrow.string())
            found = found.select(added).add_column(0, "id", strings)
        n_read += len(values)
        n_skipped += values.count(None)
        for value in values:
            labels.update(value if isinstance(value, list) else [] if value is None else [value])
        return found.filter(found[added[0]].is_valid()) if None in values else found

    copy_parquet(
        part.source, part.target, transform, progress=progress, max_bytes=args.read.max_bytes
    )
    return labels, n_read - n_skipped, n_skipped


def _name_targets(sources: Sequence[Path], folder: Path) -> list[Path]:
    """Return the output of each part; raise if two have the same, or one is an input."""
    targets: dict[Path, Path] = {}
    for source in sources:
        name = source.name[:-3] if source.suffix.lower() == ".gz" else source.name
        target = folder / name
        if target in targets:
            raise DataError(
                f"{targets[target]} and {source} have the same name, and so would their outputs; "
                "give a folder for each of them"
            )
        if target.exists() and target.samefile(source):
            raise CordwoodError(f"cannot write {target}: it is an input; give another folder")
        targets[target] = source
    return list(targets)


def _read_records(ledger: Ledger, digest: str, args: Predict) -> dict[str, dict[str, Any]]:
    """Return the last record of each part; raise if another model or other options made them."""
    records = {record["key"]: record for record in ledger.records()}
    folder = ledger.path.parent
    run = {"key": _RUN, "model": digest, "options": _options(args)}
    first = records.pop(_RUN, None)
    if first is None:
        files = sorted(path.name for path in folder.iterdir() if path.suffix in _SUFFIXES)
        if files := [name for name in files if name != RECORDS]:
            raise CordwoodError(
                f"{folder} has files of unknown origin, such as {files[0]}; give another folder"
            )
        ledger.append(run)
    elif first != run:
        other = "another model" if first["model"] != digest else "other options"
        raise CordwoodError(
            f"{folder} has predictions with {other} ({count(len(records), 'part')}); give another "
            f"folder, or delete {folder} to start again"
        )
    return records


def _collect(
    console: Console,
    ledger: Ledger,
    recorded: Mapping[str, dict[str, Any]],
    parts: Sequence[Part],
    execute: Execute,
) -> tuple[list[dict[str, Any]], int]:
    """Run the parts whose record is not true; return all records, and the number of true ones."""
    sizes = {part.target.name: part.source.stat().st_size for part in parts}
    total = sum(sizes.values())
    done = 0
    with console.progress(f"predicting {count(len(parts), 'part')}") as show:

        def report(n_bytes: int, _: int | None) -> None:
            if show is not None:
                show(min(done + n_bytes, total), total)

        records, pending = [], []
        for part in parts:
            record = recorded.get(part.target.name)
            if record is None or not _is_true(record, part):
                pending.append(part)
                continue
            records.append(record)
            done += sizes[part.target.name]
            report(0, None)
        n_before, n_bytes_before = len(records), done
        start = time.perf_counter()
        for record in execute(pending, report) if pending else ():
            ledger.append(record)
            records.append(record)
            done += sizes[record["key"]]
            report(0, None)
            share = (total - done) / max(done - n_bytes_before, 1)
            left = format_seconds(share * (time.perf_counter() - start))
            console.log(
                f"{len(records):,} of {count(len(parts), 'part')}: {record['key']}, "
                f"{count(record['n_samples'], 'prediction')}, {left} s left"
            )
    return records, n_before


def _is_true(record: Mapping[str, Any], part: Part) -> bool:
    """Return whether a part is done: its input and its output are those of the record."""
    return (
        part.target.is_file()
        and record["input"] == _hash(part.source)
        and record["output"] == _hash(part.target)
    )


def _options(args: Predict) -> dict[str, Any]:
    """Return the options that determine the output, as JSON."""
    given = {name: value for name, value in args.read.given.items() if name != "max_bytes"}
    names = (
        *("keep_columns", "escape_formulas", "all_probabilities", "coverage"),
        *("class_conditional", "min_confidence", "max_error", "unknown"),
    )
    found = {name: getattr(args, name) for name in names}
    return {**found, **{name: list(v) if isinstance(v, tuple) else v for name, v in given.items()}}


def _get_suffix(path: Path) -> str:
    name = path.name.lower()
    return Path(name.removesuffix(".gz")).suffix if not name.endswith(".parquet.gz") else ".gz"


def _hash(path: Path) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
