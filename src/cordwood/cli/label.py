"""`cordwood label`: label texts in the browser, with a model that learns from the labels."""

import getpass
import sys
import webbrowser
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import typer

from cordwood._base.wording import count
from cordwood.classifier.text_classifier import TextClassifier
from cordwood.cli.classes_file import read_classes
from cordwood.cli.commands import Label
from cordwood.cli.console import Console
from cordwood.cli.encoder_option import find_encoder
from cordwood.cli.inputs import PREFIX, Source
from cordwood.cli.models import load_model
from cordwood.cli.outputs import WITH_LISTS, check_target, open_table, to_cell
from cordwood.cli.serve import import_server, parse_limits
from cordwood.datasets.corpus import Corpus
from cordwood.datasets.csv_records import Dialect
from cordwood.exceptions import CordwoodError
from cordwood.labelling.project import Project, ProjectSettings, WriteTable
from cordwood.labelling.reading import LabelData, read_rows
from cordwood.labelling.store import name_store


def label(args: Label) -> None:
    """Serve the page until the process is stopped."""
    server = import_server("cordwood label")
    limits = parse_limits(server, args.limit)
    if args.model is not None and not args.review:
        raise typer.BadParameter("--model requires --review; omit it, a model learns by itself")
    if args.multilabel and args.review:
        raise typer.BadParameter("--review requires one label per text; omit --multilabel")
    paths = [path for path in args.data if not path.startswith(PREFIX)]
    check_target(args.output, inputs=paths)
    if args.output.exists() and not name_store(args.output).exists():
        raise CordwoodError(
            f"{args.output} exists, but not {name_store(args.output).name}, which has its labels; "
            "give another -o, or the file as DATA"
        )
    console = Console(as_json=args.json, quiet=args.quiet)
    with console.progress(f"reading {args.data[0]}"):
        data = read_rows(
            args.data,
            args.read,
            is_multilabel=args.multilabel,
            suggestions=args.suggestions or (),
            data_dir=args.data_dir,
        )
    project = Project(data, _make_settings(args, console, data))
    _show_start(console, args, project)

    def show(address: str) -> None:
        console.field("serving", f"{address}/label (Ctrl-C stops)")
        console.print_json({"address": f"{address}/label", "n_samples": len(project.samples)})
        if args.browser and sys.stdout.isatty():
            webbrowser.open(f"{address}/label")

    settings = server.Settings(
        host=args.host, port=args.port, token=args.token, no_auth=args.no_auth, limits=limits
    )
    try:
        server.run(server.make_label_server(project, settings, show), settings)
    finally:  # Ctrl-C raises an exception
        if args.output.exists():
            rows = count(len(project.labelled_rows()), "labelled row")
            console.field("wrote", f"{args.output}: {rows}")


def _make_settings(args: Label, console: Console, data: LabelData) -> ProjectSettings:
    texts = Corpus(
        texts=tuple(row.text for row in data.rows), ids=tuple(map(str, range(len(data.rows))))
    )
    guidelines = None
    if args.guidelines is not None:
        try:
            guidelines = args.guidelines.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            raise CordwoodError(f"{args.guidelines} is not in UTF-8; convert it") from None
    model: TextClassifier | None = None
    if args.model is not None:
        model, _ = load_model(args.model)
    return ProjectSettings(
        output=args.output,
        annotator=args.annotator or getpass.getuser(),
        write_table=_make_writer(args),
        is_multilabel=args.multilabel,
        is_review=args.review,
        descriptions={} if args.classes is None else read_classes(args.classes),
        guidelines=guidelines,
        encoder=find_encoder(console, args.encoder, texts, None),
        model=model,
        seed=args.seed,
    )


def _make_writer(args: Label) -> WriteTable:
    """Return a function that writes a table as the first file was written."""
    dialect: Dialect | None = Source(data=args.data, options=args.read).find_dialect()

    def write(path: Path, columns: Sequence[str], rows: Iterator[list[Any]]) -> None:
        is_json = path.suffix.lower() in WITH_LISTS
        form: Any = {"escape_formulas": args.escape_formulas, "dialect": dialect}
        with open_table(path, columns, **form) as write_row:
            for row in rows:
                write_row([to_cell(value, is_json=is_json) for value in row])

    return write


def _show_start(console: Console, args: Label, project: Project) -> None:
    console.field("read", f"{args.data[0]}: {count(len(project.samples), 'distinct text')}")
    for note in project.data.notes:
        console.field("note", note)
    n_labelled = project.describe()["progress"]["labelled"]
    console.field("labels", f"{n_labelled:,} so far, stored in {name_store(args.output)}")
