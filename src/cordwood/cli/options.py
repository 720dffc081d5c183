"""Options that several commands share: one name, one meaning, one help text."""

import ast
import re
from collections.abc import Mapping
from dataclasses import MISSING, Field, dataclass, fields
from inspect import Parameter, cleandoc
from pathlib import Path
from typing import Annotated, Any, NamedTuple, cast

import typer

from cordwood.datasets.options import OPTION_NAMES, ReadOptions


def option(metavar: str, text: str, *flags: str) -> Any:
    """Return an option named after its field; the default is not shown, or is in the text."""
    return typer.Option(*flags, metavar=metavar, help=text, show_default=False)


def argument(metavar: str, text: str) -> Any:
    """Return a positional argument; the default is not shown, or is in the text."""
    return typer.Argument(metavar=metavar, help=text, show_default=False)


_DATA_HELP = (
    "CSV, TSV, JSON, JSON lines or svmlight file (optionally .gz), Parquet, Arrow or Excel file, "
    "SQLite database, directory with one subdirectory per class, directory of data files, Hugging "
    "Face data set, - for standard input (with --format), or dataset:NAME for a data set listed by "
    "`cordwood datasets`."
)
Data = Annotated[str, argument("DATA", _DATA_HELP)]
_many_data = argument("DATA", f"{_DATA_HELP} The rows of several files are concatenated.")
ManyData = Annotated[list[str], _many_data]
OptionalData = Annotated[list[str] | None, _many_data]
Model = Annotated[Path, argument("MODEL", "Model file written by `cordwood train`.")]
DataDir = Annotated[
    Path | None,
    option(
        "DIRECTORY", "Directory of further data sets. [default: environment variable CORDWOOD_DATA]"
    ),
]
Subset = Annotated[
    str | None,
    option(
        "NAME", "Use only this subset of the predefined split of the data, such as train or test."
    ),
]
Before = Annotated[
    str | None,
    option("TIME", "Use only samples before this time of the column --time."),
]
Since = Annotated[
    str | None,
    option("TIME", "Use only samples at or after this time of the column --time."),
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
    option(
        "CODE",
        "Language of the texts as ISO 639-1 code, such as de, or several as in de+fr; selects "
        "the stop words. [default: detected]",
    ),
]
Encoder = Annotated[
    str,
    typer.Option(
        "--encoder",
        metavar="NAME|FOLDER",
        help="Sentence encoder that the recipe quick uses beside words: auto is the most "
        "accurate of those that `cordwood encoders` lists as installed that fits the language and "
        "takes at most about five minutes on one core; none uses words only.",
    ),
]
Set = Annotated[
    list[str] | None,
    option(
        "NAME=VALUE",
        "Set a parameter of the recipe, such as C=0.5 or vectorizer__min_df=2; may be repeated.",
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

Port = Annotated[
    int,
    typer.Option("--port", metavar="NUMBER", min=0, max=65535, help="Port; 0 chooses a free one."),
]
Host = Annotated[
    str,
    typer.Option(
        "--host",
        metavar="ADDRESS",
        help="Address to listen on, such as 0.0.0.0 for all; requires --token or --no-auth.",
    ),
]
Token = Annotated[
    str | None,
    typer.Option(
        "--token",
        metavar="TOKEN",
        envvar="CORDWOOD_TOKEN",
        show_envvar=False,
        help="Secret that clients send in the header Authorization: Bearer TOKEN, of at least "
        "16 characters. The environment variable CORDWOOD_TOKEN hides it from other users.",
    ),
]
NoAuth = Annotated[bool, typer.Option("--no-auth", help="Serve other computers without a token.")]
Limit = Annotated[
    list[str] | None,
    option("NAME=VALUE", "Change a limit of docs/serving.md, such as samples=1000."),
]


_BESIDE = "used beside the text; may be repeated."
Categorical = Annotated[list[str] | None, option("COLUMN", f"Column with categories, {_BESIDE}")]
Numeric = Annotated[list[str] | None, option("COLUMN", f"Column with numbers, {_BESIDE}")]
Date = Annotated[
    list[str] | None, option("COLUMN", f"Column with dates in ISO 8601 format, {_BESIDE}")
]
Columns = Annotated[
    str | None,
    option(
        "auto",
        "auto uses all columns beside the label and guesses which are texts, categories, "
        "numbers and dates, except those that are named by the options above.",
    ),
]

_METAVARS = {
    **dict.fromkeys(("text", "label", "id", "group", "weight", "time"), "COLUMN"),
    **dict.fromkeys(("format", "encoding", "sheet", "table"), "NAME"),
    **dict.fromkeys(("n_features", "max_bytes", "max_row_length"), "NUMBER"),
    "label_separator": "STRING",
    "delimiter": "CHARACTER",
    "query": "SQL",
    "on_bad_rows": "raise|skip",
}
_TYPES: dict[str, Any] = {"text": list[str] | None, "format": str | None}
_TEXT = "Column of the text; repeat the option to join several columns."
TEXT_OF_MODEL = f"{_TEXT} [default: the columns of the model, else text]"


def _describe_options() -> dict[str, str]:
    """Return the descriptions in the docstring of `ReadOptions`; "If None" becomes a default."""
    document = cleandoc(ReadOptions.__doc__ or "")  # there is none with `python -OO`
    found = re.findall(r"^(\w+) : .*\n((?: {4}.*\n)+)", document, re.MULTILINE)
    return {
        name: re.sub(r" If None, (.*)\.$", r" [default: \1]", " ".join(description.split()))
        for name, description in found
    }


_HELP = _describe_options()
# Where the command line differs: a group is used only if its column is named.
_HELP |= {
    "text": f"{_TEXT} [default: text]",
    "group": _HELP.get("group", "").partition(" [default")[0],
    "header": "The first row of a CSV, TSV or Excel file is data; columns are named by their "
    "numbers, as in --text 2.",
}


class ReadParameters(NamedTuple):
    """Which of the options of `ReadOptions` a command has, and where their help differs."""

    omitted: tuple[str, ...]
    help: Mapping[str, str]
    text_metavar: str = "COLUMN"

    @property
    def names(self) -> list[str]:
        """Names of the options."""
        omitted = ("split", "extra_columns", "require_labels", *self.omitted)
        return [name for name in OPTION_NAMES if name not in omitted]


_OF_MODEL = {
    "text": TEXT_OF_MODEL,
    "label": "Column of the label. [default: the column of the model, else label]",
}
Read = Annotated[ReadOptions, ReadParameters(("weight", "time"), {})]
# For `audit`, which always reads on past invalid rows.
ReadAll = Annotated[ReadOptions, ReadParameters(("weight", "time", "on_bad_rows"), {})]
ReadWeighted = Annotated[ReadOptions, ReadParameters((), {})]
ReadToLabel = Annotated[
    ReadOptions,
    ReadParameters(
        ("weight", "time", "group"),
        {
            "label": "Column of the label, which may be empty. [default: label if it exists]",
            "label_separator": "String between the labels of a row. [default: ;]",
        },
    ),
]
# For commands that by default read the columns of a model.
ReadOfModel = Annotated[ReadOptions, ReadParameters(("weight", "time"), _OF_MODEL)]
ReadWeightedOfModel = Annotated[ReadOptions, ReadParameters((), _OF_MODEL)]


def read_unlabeled(text: str, metavar: str) -> ReadParameters:
    """Return the options of a command that reads no labels, with the help of its --text."""
    omitted = ("label", "label_separator", "group", "weight", "time")
    return ReadParameters(omitted, {"text": text}, metavar)


@dataclass(frozen=True, kw_only=True)
class DataCommand:
    """Base of the commands that read DATA."""

    read: Read = ReadOptions()
    data_dir: DataDir = None


def list_parameters(record: type[Any]) -> list[Parameter]:
    """Return the parameters of a command: its own, then those about reading."""
    shared = [field.name for field in fields(DataCommand)]
    own = [field for field in fields(record) if field.name not in shared]
    others = [field for field in fields(record) if field.name in shared]
    return [parameter for field in (*own, *others) for parameter in _expand(field)]


def make_record(record: type[Any], arguments: dict[str, Any]) -> Any:
    """Return the record of a command from the values of its parameters."""
    names = {field.name for field in fields(record)}
    read = {name: arguments.pop(name) for name in [*arguments] if name not in names}
    if read:
        arguments["read"] = ReadOptions(header=not read.pop("no_header"), **read)
    return record(**arguments)


def _expand(field: Field[Any]) -> list[Parameter]:
    if field.name == "read":
        (parameters,) = cast(Any, field.type).__metadata__
        of_record = {option.name: option for option in fields(ReadOptions)}
        return [_make_parameter(of_record[name], parameters) for name in parameters.names]
    default = Parameter.empty if field.default is MISSING else field.default
    return [_keyword(field.name, field.type, default)]


def _make_parameter(field: Field[Any], parameters: ReadParameters) -> Parameter:
    name = field.name
    text = parameters.help.get(name) or _HELP.get(name)
    if name == "header":
        return _keyword("no_header", Annotated[bool, typer.Option("--no-header", help=text)], False)
    metavar = parameters.text_metavar if name == "text" else _METAVARS[name]
    option = typer.Option(
        f"--{name.replace('_', '-')}",
        metavar=metavar,
        help=text,
        min=1 if metavar == "NUMBER" else None,
        show_default=field.default is not None,
    )
    return _keyword(name, Annotated[_TYPES.get(name, field.type), option], field.default)


def _keyword(name: str, annotation: Any, default: Any) -> Parameter:
    return Parameter(name, Parameter.KEYWORD_ONLY, annotation=annotation, default=default)


# Arguments of `TextClassifier` and `recipes.make` that have options of their own, or none.
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
