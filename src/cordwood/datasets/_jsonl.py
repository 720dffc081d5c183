"""Reader of JSON Lines files: one object per line."""

import json
from collections.abc import Iterator
from functools import partial
from typing import Any

from cordwood._base.strict_json import make_object
from cordwood.datasets._json_records import InvalidRow, RecordReader
from cordwood.datasets._row_errors import BadRowHandler, RowIssue
from cordwood.datasets.lines import Lines
from cordwood.datasets.options import ReadOptions
from cordwood.datasets.rows import Row
from cordwood.exceptions import DataError


def read_jsonl_rows(
    lines: Lines, options: ReadOptions, bad_rows: BadRowHandler, numbers: Iterator[int]
) -> Iterator[Row]:
    """Yield one row per line that is not blank."""
    reader = RecordReader(options, bad_rows, numbers, partial(_parse, lines))
    is_empty = True
    for line in lines:
        line = line.rstrip()
        if not line:
            continue
        is_empty = False
        row = reader.read(line, f"{lines.name}, line {lines.number}")
        if row is not None:
            yield row
    if is_empty:
        raise DataError(f"{lines.name} is empty; it must have one JSON object per line")
    reader.finish(lines.name)


def _parse(lines: Lines, line: str, place: str) -> Any:
    if issue := lines.issue:
        lines.issue = None
        raise InvalidRow(issue)
    try:
        return _DECODER.decode(line)
    except json.JSONDecodeError as error:
        message = f"{place} is not JSON at character {error.pos + 1} ({error.msg})"
        raise InvalidRow(RowIssue(message, "write one JSON object per line")) from None
    except (ValueError, RecursionError) as error:
        message = f"{place} cannot be read ({error})"
        raise InvalidRow(RowIssue(message, "correct the line")) from None


_DECODER = json.JSONDecoder(object_pairs_hook=make_object)
