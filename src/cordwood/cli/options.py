"""Options that several commands share: one name, one meaning, one help text."""

import ast
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer


class OnBadRows(StrEnum):
    """What to do with a row that cannot be used."""

    RAISE = "raise"
    SKIP = "skip"


Data = Annotated[
    str,
    typer.Argument(
        metavar="DATA",
        help="A CSV, TSV, JSON lines or svmlight file (each also .gz), a folder of class "
        "folders, - for standard input (with --format), or dataset:NAME for a name that "
        "`cordwood datasets` lists.",
        show_default=False,
    ),
]
Model = Annotated[
    Path,
    typer.Argument(
        metavar="MODEL", help="A model file that `cordwood train` wrote.", show_default=False
    ),
]
TextColumns = Annotated[
    list[str] | None,
    typer.Option(
        "--text",
        metavar="COLUMN",
        help="Column that holds the text; repeat it to join several. "
        "[default: text, unless a model remembers others]",
        show_default=False,
    ),
]
LabelColumn = Annotated[
    str | None,
    typer.Option(
        "--label",
        metavar="COLUMN",
        help="Column that holds the label. [default: label, unless a model remembers another]",
        show_default=False,
    ),
]
IdColumn = Annotated[
    str | None,
    typer.Option(
        "--id",
        metavar="COLUMN",
        help="Column that names the rows. [default: id if there is one, else the row number]",
        show_default=False,
    ),
]
Part = Annotated[
    str | None,
    typer.Option(
        "--part",
        metavar="NAME",
        help="Use only the rows of this part of the data's own split, such as train or test.",
        show_default=False,
    ),
]
Encoding = Annotated[
    str, typer.Option("--encoding", metavar="NAME", help="How the file's letters are encoded.")
]
Format = Annotated[
    str | None,
    typer.Option(
        "--format",
        metavar="NAME",
        help="csv, tsv, jsonl, folder or svmlight, if the file's name does not tell.",
        show_default=False,
    ),
]
Delimiter = Annotated[
    str | None,
    typer.Option(
        "--delimiter",
        metavar="CHARACTER",
        help="What separates the columns of a CSV file, if it is not a comma.",
        show_default=False,
    ),
]
BadRows = Annotated[
    OnBadRows,
    typer.Option(
        "--on-bad-rows",
        metavar="raise|skip",
        help="Stop at a row that cannot be used, or skip and count it.",
    ),
]
DataDir = Annotated[
    Path | None,
    typer.Option(
        "--data-dir",
        metavar="FOLDER",
        help="Folder of further data sets. [default: the environment variable CORDWOOD_DATA]",
        show_default=False,
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object, for machines.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing but errors.")]


# Names that mean something else to the functions that pass a recipe's parameters on.
_NOT_SETTINGS = ("data", "labels", "name", "recipe", "input", "vectorizer_params")


def parse_settings(settings: list[str] | None) -> dict[str, Any]:
    """Turn `name=value` pairs into parameters; values are Python literals or plain words.

    Examples
    --------
    >>> parse_settings(["C=0.5", "class_weight=balanced", "vectorizer__stop_words=false"])
    {'C': 0.5, 'class_weight': 'balanced', 'vectorizer__stop_words': False}
    """
    parsed: dict[str, Any] = {}
    for setting in settings or ():
        name, equals, value = setting.partition("=")
        if not (name.isidentifier() and equals and value):
            raise typer.BadParameter(f"{setting!r} is not of the form name=value")
        if name in _NOT_SETTINGS:
            raise typer.BadParameter(f"{name!r} is not a parameter of a recipe")
        parsed[name] = _literal(value)
    return parsed


def _literal(value: str) -> Any:
    constant = value.capitalize()
    try:
        return ast.literal_eval(constant if constant in ("True", "False", "None") else value)
    except (ValueError, SyntaxError):
        return value
