"""Display of records: HTML tables for notebooks, and data frames."""

import html
from collections.abc import Sequence
from importlib import import_module
from typing import Any

_MAX_HTML_ROWS = 20


def html_table(caption: str, header: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    """Return a table as HTML, with its first rows only if it has many."""

    def row(cells: Sequence[Any], tag: str) -> str:
        return "".join(["<tr>", *(f"<{tag}>{html.escape(str(c))}</{tag}>" for c in cells), "</tr>"])

    if len(rows) > _MAX_HTML_ROWS:
        caption = f"{caption}, the first {_MAX_HTML_ROWS}"
    return "".join(
        [
            f"<table><caption>{html.escape(caption)}</caption><thead>{row(header, 'th')}</thead>",
            "<tbody>",
            *(row(cells, "td") for cells in rows[:_MAX_HTML_ROWS]),
            "</tbody></table>",
        ]
    )


def import_pandas() -> Any:
    """Return the module pandas, which is needed for data frames only."""
    try:
        return import_module("pandas")
    except ImportError as error:
        raise ImportError(
            "to_frame requires pandas; install it with: pip install pandas"
        ) from error
