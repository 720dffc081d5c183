"""Files that describe the classes: `--classes`."""

import os
from collections.abc import Iterator, Mapping
from typing import Any

from cordwood.datasets import readers
from cordwood.datasets.corpus import Corpus
from cordwood.exceptions import DataError

_NAME, _DESCRIPTION, _EXAMPLE = "name", "description", "example"


def read_classes(path: str | os.PathLike[str]) -> dict[str, list[str] | None]:
    """Read the descriptions of classes from a file with one row per class.

    It has the columns `name`, `description`, and any number of columns whose names start with
    `example`, of one text per line; a class without texts is None.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder, "classes.csv")
    ...     _ = file.write_text("name,description,example\\npet,Animals at home,my cat\\ncar,,\\n")
    ...     read_classes(file)
    {'pet': ['Animals at home', 'my cat'], 'car': None}
    """
    data = readers.read_dataset(os.fspath(path), text=(), extra_columns="all", require_labels=False)
    columns = data.columns if isinstance(data, Corpus) else {}
    if _NAME not in columns:
        shown = ", ".join(columns) or "none"
        raise DataError(f"{path} has no column {_NAME!r} for the classes; its columns are: {shown}")
    found: dict[str, list[str] | None] = {}
    for row, cell in enumerate(columns[_NAME]):
        name = "" if cell is None else str(cell).strip()
        if not name:
            raise DataError(f"{path}, row {row + 1}: the {_NAME} of the class is empty; add it")
        if name in found:
            raise DataError(f"{path}: the class {name!r} occurs more than once; join its rows")
        found[name] = list(_list_texts(columns, row)) or None
    return found


def _list_texts(columns: Mapping[str, Any], row: int) -> Iterator[str]:
    """Yield the description and the examples of a class."""
    for column, cells in columns.items():
        cell = cells[row]
        if cell is None or not (column == _DESCRIPTION or column.startswith(_EXAMPLE)):
            continue
        # A description is one text, whatever lines it has.
        texts = [str(cell)] if column == _DESCRIPTION else _split(cell)
        yield from (text.strip() for text in texts if text.strip())


def _split(cell: Any) -> list[str]:
    return list(map(str, cell)) if isinstance(cell, list | tuple) else str(cell).splitlines()
