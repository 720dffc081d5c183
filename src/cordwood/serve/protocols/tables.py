"""Columns of other protocols as samples of a model."""

from collections.abc import Mapping, Sequence
from typing import Any

from cordwood.datasets.rows import list_names
from cordwood.serve.errors import RequestError
from cordwood.serve.models import ServedModel


def from_values(model: ServedModel, values: Sequence[Any]) -> list[Any]:
    """Return samples from strings, objects, or lists with one entry per column."""
    if values and all(isinstance(value, dict) for value in values):
        return from_records(model, values)
    if model.kind == "table":
        names = model.column_names
        for position, value in enumerate(values):
            if not isinstance(value, list) or len(value) != len(names):
                raise RequestError(
                    422,
                    f"sample {position} must be an object, or a list with the {len(names)} columns "
                    f"{list_names(names)}",
                )
        return [dict(zip(names, value, strict=True)) for value in values]
    if model.kind == "text":
        # A column of one text each, of shape (n_samples, 1).
        return [
            value[0] if isinstance(value, list) and len(value) == 1 else value for value in values
        ]
    return list(values)


def from_records(model: ServedModel, records: Sequence[Any]) -> list[Any]:
    """Return samples from objects with columns."""
    if model.kind == "table":
        return list(records)
    if not records:
        return []
    for position, record in enumerate(records):
        if not isinstance(record, dict):
            raise RequestError(422, f"sample {position} must be an object, as sample 0 is")
    if model.kind == "numeric":
        return [list(record.values()) for record in records]
    name = find_text_column(model, list(records[0]))
    for position, record in enumerate(records):
        if name not in record:
            raise RequestError(422, f'sample {position} has no column "{name}"')
    return [record[name] for record in records]


def from_columns(model: ServedModel, columns: Mapping[str, Any]) -> list[Any]:
    """Return samples from lists of equal length by name."""
    if not all(isinstance(values, list) for values in columns.values()):
        raise RequestError(422, "each column must be a list")
    if len({len(values) for values in columns.values()}) > 1:
        raise RequestError(422, "all columns must have the same length")
    rows = zip(*columns.values(), strict=True)
    return from_records(model, [dict(zip(columns, row, strict=True)) for row in rows])


def find_text_column(model: ServedModel, names: Sequence[str]) -> str:
    """Return the column of the text: the only one, that of the training file, or "text"."""
    if len(names) == 1:
        return names[0]
    for name in (*model.text_columns, "text"):
        if name in names:
            return name
    raise RequestError(
        422,
        f'the column of the text must be the only one, or have the name "text"; there are: '
        f"{list_names(names)}",
    )
