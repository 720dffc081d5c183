"""Columns beside the text: roles on the command line and in model files, and their reading."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import typer

from cordwood.cli.commands import Train
from cordwood.cli.console import Console
from cordwood.cli.inputs import Source
from cordwood.columns import ColumnRoles, detect_columns
from cordwood.columns.converter import TableConverter
from cordwood.columns.roles import ROLES, check_columns
from cordwood.datasets.corpus import Corpus, FeatureMatrix
from cordwood.exceptions import DataError

_DEFAULT_TEXT = "text"


def read_table(source: Source, args: Train, console: Console) -> tuple[Corpus, ColumnRoles] | None:
    """Read the samples of a table and the roles of its columns; None if only texts are given."""
    text, *others = ROLES
    given = {text: list(args.read.text or ())}
    given |= {role: list(getattr(args, role) or ()) for role in others}
    is_auto = args.columns is not None
    if not is_auto and not any(given[role] for role in ROLES[1:]):
        return None
    if args.columns not in (None, "auto"):
        raise typer.BadParameter(f"--columns must be auto; got {args.columns}")
    if not source.has_columns:
        raise typer.BadParameter(f"{source.name} has no columns; omit --columns and their roles")
    is_complete = bool(given["text"]) and not is_auto
    named = tuple(name for names in given.values() for name in names)
    reader = source.with_table(named if is_complete else "other")
    samples = reader.read(console, two_classes=True)
    assert isinstance(samples, Corpus)
    if not is_auto and not given["text"] and _DEFAULT_TEXT in samples.columns:
        given["text"] = [_DEFAULT_TEXT]
    if is_auto:
        roles = _complete_roles(samples, given, console)
    else:
        roles = check_columns(given)
        _check_present(source, samples, roles)
    return join_texts(samples, roles), roles


def _complete_roles(samples: Corpus, given: Mapping[str, Any], console: Console) -> ColumnRoles:
    """Add the roles of the columns that were not named."""
    named = {name for names in given.values() for name in names}
    others = {name: values for name, values in samples.columns.items() if name not in named}
    merged = {role: list(names) for role, names in given.items()}
    if others:
        try:
            found = detect_columns(others)
        except DataError:
            if not named:
                raise
        else:
            console.field("columns", str(found))
            for role, names in found.roles.to_dict().items():
                merged[role] += names
    return check_columns(merged)


def _check_present(source: Source, samples: Corpus, roles: ColumnRoles) -> None:
    for name in roles.names:
        if name not in samples.columns:
            raise DataError(
                f'{source.name} has no column "{name}"; its columns are: '
                f"{', '.join(samples.columns)}"
            )


def join_texts(samples: Corpus, roles: ColumnRoles) -> Corpus:
    """Return the samples with the joined texts of the text columns, and no other columns."""
    columns = {name: samples.columns[name] for name in roles.names if name in samples.columns}
    if not roles.text:
        return replace(samples, columns=columns)
    texts = TableConverter(text=roles.text).fit_transform(columns)
    return replace(samples, texts=tuple(text for (text,) in texts.tolist()), columns=columns)


def list_features(samples: Corpus | FeatureMatrix, roles: ColumnRoles | None) -> Any:
    """Return what identifies each sample: its features, or all values of a row."""
    if isinstance(samples, FeatureMatrix):
        return samples.X
    if roles is None:
        return samples.texts
    rows = TableConverter(**roles._asdict()).fit_transform(samples).tolist()
    return [repr(row) for row in rows]
