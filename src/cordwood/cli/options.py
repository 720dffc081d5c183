"""Options that several commands share: one name, one meaning, one help text."""

import ast
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer


class OnBadRows(StrEnum):
    """What to do with invalid rows."""

    RAISE = "raise"
    SKIP = "skip"


_DATA_HELP = (
    "CSV, TSV, JSON, JSON lines or svmlight file (optionally .gz), Parquet, Arrow or Excel file, "
    "SQLite database, directory with one subdirectory per class, directory of data files, Hugging "
    "Face data set, - for standard input (with --format), or dataset:NAME for a data set listed by "
    "`cordwood datasets`."
)
Data = Annotated[str, typer.Argument(metavar="DATA", help=_DATA_HELP, show_default=False)]
ManyData = Annotated[
    list[str],
    typer.Argument(
        metavar="DATA",
        help=f"{_DATA_HELP} The rows of several files are concatenated.",
        show_default=False,
    ),
]
Model = Annotated[
    Path,
    typer.Argument(
        metavar="MODEL", help="Model file written by `cordwood train`.", show_default=False
    ),
]
DataDir = Annotated[
    Path | None,
    typer.Option(
        "--data-dir",
        metavar="DIRECTORY",
        help="Directory of further data sets. [default: environment variable CORDWOOD_DATA]",
        show_default=False,
    ),
]
Subset = Annotated[
    str | None,
    typer.Option(
        "--subset",
        metavar="NAME",
        help="Use only this subset of the predefined split of the data, such as train or test.",
        show_default=False,
    ),
]
Before = Annotated[
    str | None,
    typer.Option(
        "--before",
        metavar="TIME",
        help="Use only samples before this time of the column --time.",
        show_default=False,
    ),
]
Since = Annotated[
    str | None,
    typer.Option(
        "--since",
        metavar="TIME",
        help="Use only samples at or after this time of the column --time.",
        show_default=False,
    ),
]
EscapeFormulas = Annotated[
    bool,
    typer.Option(
        "--escape-formulas/--no-escape-formulas",
        help="In CSV, put an apostrophe before strings that start with =, +, - or @ and are not "
        "numbers, because spreadsheets would evaluate them as formulas.",
    ),
]
Language = Annotated[
    str | None,
    typer.Option(
        "--language",
        metavar="CODE",
        help="Language of the texts as ISO 639-1 code, such as de, or several as in de+fr; selects "
        "the stop words. [default: detected]",
        show_default=False,
    ),
]
Encoder = Annotated[
    str,
    typer.Option(
        "--encoder",
        metavar="NAME|FOLDER",
        help="Sentence encoder that the recipes quick and best use beside words: auto is what "
        "`cordwood encoders` lists as installed, unless encoding takes longer than about ten "
        "minutes on one core; none uses words only.",
    ),
]
Set = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="NAME=VALUE",
        help="Set a parameter of the recipe, such as C=0.5 or vectorizer__min_df=2; may be "
        "repeated.",
        show_default=False,
    ),
]
Seed = Annotated[
    int,
    typer.Option(
        "--seed",
        metavar="NUMBER",
        help="Seed of the random number generators; the same seed gives the same result.",
    ),
]
Jobs = Annotated[
    int,
    typer.Option(
        "--jobs",
        "-j",
        metavar="NUMBER",
        help="Number of threads; -1 uses all cores. The result does not depend on it.",
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print errors only.")]


def _text_option(default: str) -> Any:
    return typer.Option(
        "--text",
        metavar="COLUMN",
        help="Column with the text; repeat the option to concatenate several columns. "
        f"[default: {default}]",
        show_default=False,
    )


def _label_option(default: str) -> Any:
    return typer.Option(
        "--label",
        metavar="COLUMN",
        help=f"Column with the label. [default: {default}]",
        show_default=False,
    )


def _column_option(role: str, description: str) -> Any:
    return typer.Option(
        f"--{role}",
        metavar="COLUMN",
        help=f"Column with {description}, used beside the text; may be repeated.",
        show_default=False,
    )


Categorical = Annotated[list[str] | None, _column_option("categorical", "categories")]
Numeric = Annotated[list[str] | None, _column_option("numeric", "numbers")]
Date = Annotated[list[str] | None, _column_option("date", "dates in ISO 8601 format")]
Columns = Annotated[
    str | None,
    typer.Option(
        "--columns",
        metavar="auto",
        help="auto uses all columns beside the label and guesses which are texts, categories, "
        "numbers and dates, except those that are named by the options above.",
        show_default=False,
    ),
]

# For commands that read the columns of a model by default.
ModelText = Annotated[list[str] | None, _text_option("the columns of the model, else text")]
ModelLabel = Annotated[str | None, _label_option("the column of the model, else label")]


@dataclass(frozen=True, kw_only=True)
class ReadOptions:
    """How to read the samples of DATA."""

    text: Annotated[list[str] | None, _text_option("text")] = None
    id: Annotated[
        str | None,
        typer.Option(
            "--id",
            metavar="COLUMN",
            help="Column with the sample ids. [default: id if it exists, else the row number]",
            show_default=False,
        ),
    ] = None
    format: Annotated[
        str | None,
        typer.Option(
            "--format",
            metavar="NAME",
            help="csv, tsv, jsonl, json, parquet, arrow, excel, sqlite, huggingface, folder or "
            "svmlight. [default: from the file name]",
            show_default=False,
        ),
    ] = None
    encoding: Annotated[
        str, typer.Option("--encoding", metavar="NAME", help="Character encoding of the file.")
    ] = "utf-8"
    delimiter: Annotated[
        str | None,
        typer.Option(
            "--delimiter",
            metavar="CHARACTER",
            help="Column separator of a CSV file. [default: detected]",
            show_default=False,
        ),
    ] = None
    no_header: Annotated[
        bool,
        typer.Option(
            "--no-header",
            help="The first row of a CSV, TSV or Excel file is data; columns are named by their "
            "numbers, as in --text 2.",
        ),
    ] = False
    sheet: Annotated[
        str | None,
        typer.Option(
            "--sheet",
            metavar="NAME",
            help="Sheet of an Excel file. [default: the first]",
            show_default=False,
        ),
    ] = None
    table: Annotated[
        str | None,
        typer.Option(
            "--table",
            metavar="NAME",
            help="Table or view of an SQLite database. [default: the only one]",
            show_default=False,
        ),
    ] = None
    query: Annotated[
        str | None,
        typer.Option(
            "--query",
            metavar="SQL",
            help="SELECT statement for an SQLite database, which is opened read-only.",
            show_default=False,
        ),
    ] = None
    on_bad_rows: Annotated[
        OnBadRows,
        typer.Option(
            "--on-bad-rows",
            metavar="raise|skip",
            help="Stop at the first invalid row, or skip and count invalid rows.",
        ),
    ] = OnBadRows.RAISE
    n_features: Annotated[
        int | None,
        typer.Option(
            "--n-features",
            metavar="NUMBER",
            min=1,
            help="Number of features of an svmlight file; larger indices are errors. [default: "
            "from the largest index]",
            show_default=False,
        ),
    ] = None
    max_bytes: Annotated[
        int | None,
        typer.Option(
            "--max-bytes",
            metavar="NUMBER",
            min=1,
            help="Largest size of a compressed file after decompression. [default: 20 times its "
            "size, and at least 16 MiB]",
            show_default=False,
        ),
    ] = None
    max_row_length: Annotated[
        int | None,
        typer.Option(
            "--max-row-length",
            metavar="NUMBER",
            min=1,
            help="Largest number of characters of a row. [default: 2**26]",
            show_default=False,
        ),
    ] = None
    data_dir: DataDir = None


@dataclass(frozen=True, kw_only=True)
class LabelledReadOptions(ReadOptions):
    """How to read the samples and labels of DATA."""

    label: Annotated[str | None, _label_option("label")] = None
    label_separator: Annotated[
        str | None,
        typer.Option(
            "--label-separator",
            metavar="STRING",
            help="Split the label of each sample into several labels at this string, such as ';'. "
            "JSON lists are several labels without it.",
            show_default=False,
        ),
    ] = None


@dataclass(frozen=True, kw_only=True)
class GroupOption:
    """Column that keeps related samples together."""

    group: Annotated[
        str | None,
        typer.Option(
            "--group",
            metavar="COLUMN",
            help="Column with the group; samples of a group are never divided between training and "
            "validation or test data.",
            show_default=False,
        ),
    ] = None


@dataclass(frozen=True, kw_only=True)
class WeightAndTimeOptions:
    """Columns of sample weights and times, for commands that use them."""

    weight: Annotated[
        str | None,
        typer.Option(
            "--weight",
            metavar="COLUMN",
            help="Column with the sample weights, numbers of at least 0.",
            show_default=False,
        ),
    ] = None
    time: Annotated[
        str | None,
        typer.Option(
            "--time",
            metavar="COLUMN",
            help="Column with the time, numbers or ISO 8601 dates.",
            show_default=False,
        ),
    ] = None


# Arguments of `cordwood.train` and `recipes.make` that are not parameters of a recipe.
_RESERVED = (
    *("columns", "data", "groups", "input", "labels", "name", "oof", "recipe", "sample_weight"),
    "vectorizer_params",
)


def parse_settings(settings: list[str] | None) -> dict[str, Any]:
    """Parse `name=value` pairs; a value is a Python literal, or else a string.

    Examples
    --------
    >>> parse_settings(["C=0.5", "class_weight=balanced", "vectorizer__stop_words=false"])
    {'C': 0.5, 'class_weight': 'balanced', 'vectorizer__stop_words': False}
    """
    parsed: dict[str, Any] = {}
    for setting in settings or ():
        name, equals, value = setting.partition("=")
        if not (name.isidentifier() and equals and value):
            raise typer.BadParameter(f"{setting!r} is not of the form NAME=VALUE")
        if name in _RESERVED:
            raise typer.BadParameter(f"{name!r} is not a parameter of a recipe")
        parsed[name] = _parse_literal(value)
    return parsed


def check_jobs(jobs: int) -> None:
    """Raise a usage error for zero jobs."""
    if jobs == 0:
        raise typer.BadParameter("--jobs must be a positive number, or -1 for all cores; got 0")


def _parse_literal(value: str) -> Any:
    constant = value.capitalize()
    try:
        return ast.literal_eval(constant if constant in ("True", "False", "None") else value)
    except (ValueError, SyntaxError):
        return value
