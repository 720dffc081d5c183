"""Checks of the arguments before the modules of a command, whose import takes seconds."""

import os
from difflib import get_close_matches
from importlib import import_module
from pathlib import Path
from typing import Any

import typer

from cordwood.cli.commands import (
    SAVABLE_RECIPES,
    UNSAVABLE_RECIPES,
    Audit,
    Curve,
    Label,
    Predict,
    Train,
)
from cordwood.cli.options import check_jobs, parse_settings
from cordwood.cli.outputs import check_suffix, check_target, is_folder
from cordwood.datasets.file_source import check_first_row
from cordwood.datasets.lines import STANDARD_INPUT
from cordwood.exceptions import CordwoodError, DataError, ModelFileError

_ROLES = ("categorical", "numeric", "date", "columns")
_RECIPES = (*SAVABLE_RECIPES, *UNSAVABLE_RECIPES)
_NO_ENCODERS = ("auto", "none")


def check_arguments(args: Any) -> None:
    """Raise an error that needs no data but the first row, nor any heavy module."""
    # With a folder as output, DATA may be patterns of file names.
    to_folder = isinstance(args, Predict) and is_folder(args.output)
    has_table = isinstance(args, Audit | Predict | Label) and not to_folder
    if has_table and args.output not in (None, "-"):
        check_suffix(Path(str(args.output)))
    check_jobs(getattr(args, "jobs", 1))
    parse_settings(getattr(args, "set", None))
    for path in [] if to_folder else _list_data(args):
        is_file = path != STANDARD_INPUT and not path.startswith("dataset:")
        if is_file and not os.path.exists(path):
            raise DataError(f"{path} does not exist; check the path")
    model = getattr(args, "model", None)
    if isinstance(model, Path) and not model.exists():
        raise ModelFileError(f"{model} does not exist; give a model file written by cordwood")
    if isinstance(args, Train | Audit | Curve):
        _check_recipe(args)
        _check_first_row(args)
    if isinstance(args, Train):
        check_decision(args)
        if args.output is not None:
            check_target(args.output, inputs=args.data or ())


def _list_data(args: Any) -> list[str]:
    data = getattr(args, "data", None) or []
    return [data] if isinstance(data, str) else list(data)


def _check_recipe(args: Train | Audit | Curve) -> None:
    name = args.recipe
    if name not in _RECIPES and not (isinstance(args, Audit) and name == "none"):
        near = get_close_matches(name.lower(), _RECIPES, n=1)
        hint = f"did you mean {near[0]!r}?" if near else f"valid names: {', '.join(_RECIPES)}"
        raise CordwoodError(f"unknown recipe {name!r}; {hint}")
    uses_encoder = name.startswith(("quick", "stack", "embeddings"))
    if uses_encoder and args.encoder not in _NO_ENCODERS:
        # The module loads numpy, which takes half a second.
        import_module("cordwood.encoders.catalog").load_encoder(args.encoder)


def _check_first_row(args: Train | Audit | Curve) -> None:
    """Raise an error if a column does not exist, or the first rows are not valid."""
    first = (_list_data(args) or [""])[0]
    # Pipes can be read only once; columns of a table are named by other options as well.
    if os.path.isfile(first) and not any(getattr(args, role, None) for role in _ROLES):
        skips = isinstance(args, Audit)
        check_first_row(first, args.read, skip=skips or args.read.on_bad_rows == "skip")


def check_decision(args: Train) -> None:
    """Raise a usage error, before the data are read, if the options are not valid."""
    if (args.optimize == "cost") != (args.cost is not None):
        raise typer.BadParameter("--optimize cost and --cost FILE require each other")
    if args.positive is not None and args.optimize is None:
        raise typer.BadParameter("--positive requires --optimize")
    if args.optimize in (None, "f1", "macro_f1", "cost"):
        return
    name, _, value = args.optimize.partition("=")
    try:
        is_valid = name == "precision" and 0 < float(value) < 1
    except ValueError:
        is_valid = False
    if not is_valid:
        raise typer.BadParameter(
            "--optimize must be f1, macro_f1, cost, or precision=P with P between 0 and 1; got "
            f"{args.optimize}"
        )
