"""Reader of JSON files with one array of objects, which are parsed one at a time."""

import codecs
import io
import json
import re
from collections.abc import Iterator
from typing import Any

from cordwood._base.strict_json import describe_duplicate_key
from cordwood.datasets._json_records import InvalidRow, RecordReader
from cordwood.datasets._row_errors import BadRowHandler, RowIssue
from cordwood.datasets.lines import detect_encoding, row_length_error
from cordwood.datasets.options import ReadOptions
from cordwood.datasets.rows import Row
from cordwood.exceptions import DataError

_CHUNK = 1 << 16
_LONGEST_TOKEN = 16  # characters of an escape sequence or a constant, such as -Infinity
_SPACE = re.compile(r"[ \t\r\n]*")


def read_json_array_rows(
    file: io.BufferedIOBase,
    name: str,
    options: ReadOptions,
    bad_rows: BadRowHandler,
    numbers: Iterator[int],
) -> Iterator[Row]:
    """Yield one row per object of the array, of which only a part is held in memory.

    An error of syntax is raised even if bad rows are skipped, because the objects after it cannot
    be found.
    """
    reader = RecordReader(options, bad_rows, numbers, lambda item, _: item.get())
    is_empty = True
    for item in _ArrayParser(file, name, options).parse():
        is_empty = False
        row = reader.read(item, item.place)
        if row is not None:
            yield row
    if is_empty:
        raise DataError(f"{name} is an empty array; it must have one JSON object per row")
    reader.finish(name)


class _Item:
    """An element of the array, and what is wrong with it."""

    def __init__(self, value: Any, place: str, problem: str | None) -> None:
        self.place = place
        self._value = value
        self._problem = problem

    def get(self) -> Any:
        if self._problem is not None:
            message = f"{self.place} cannot be read ({self._problem})"
            raise InvalidRow(RowIssue(message, "correct the object"))
        return self._value


class _ArrayParser:
    """Parses the elements of an array from a buffer that is extended until one is complete."""

    def __init__(self, file: io.BufferedIOBase, name: str, options: ReadOptions) -> None:
        self._file = file
        self._name = name
        start = file.peek(4)  # type: ignore[attr-defined]
        self._encoding = options.encoding or detect_encoding(start)
        self._max_length = options.max_row_length
        # The byte order mark is removed; utf-8-sig accepts UTF-8 without it as well.
        codec = codecs.lookup(self._encoding).name
        self._decoder = codecs.getincrementaldecoder("utf-8-sig" if codec == "utf-8" else codec)()
        self._buffer = ""
        self._position = 0
        self._line = 1
        self._at_end = False
        self._problems: list[str] = []
        self._json = json.JSONDecoder(object_pairs_hook=self._make_object)

    def parse(self) -> Iterator[_Item]:
        """Yield the elements of the array."""
        first = self._next_character()
        if not first:
            raise DataError(f"{self._name} is empty; it must have an array of JSON objects")
        if first != "[":
            raise self._syntax_error("the file is not an array of objects")
        self._advance(self._position + 1)
        if self._next_character() == "]":
            self._finish()
            return
        while True:
            yield self._parse_item()
            separator = self._next_character()
            if separator == "]":
                self._finish()
                return
            if separator != ",":
                raise self._syntax_error("a comma or ] is missing")
            self._advance(self._position + 1)

    def _parse_item(self) -> _Item:
        self._next_character()
        place = f"{self._name}, line {self._line}"
        while True:
            self._problems.clear()
            try:
                value, end = self._json.raw_decode(self._buffer, self._position)
            except json.JSONDecodeError as error:
                if self._at_end or not self._may_be_incomplete(error):
                    raise self._syntax_error(error.msg, error.pos) from None
            except (ValueError, RecursionError) as error:
                raise DataError(
                    f"{place}: the object cannot be read ({error}); correct it"
                ) from None
            else:
                # A number at the end of the buffer may continue.
                if end < len(self._buffer) or self._at_end:
                    break
            if len(self._buffer) - self._position > self._max_length:
                raise row_length_error(place, self._max_length)
            self._read(max(_CHUNK, len(self._buffer) - self._position))
        if end - self._position > self._max_length:
            raise row_length_error(place, self._max_length)
        self._advance(end)
        return _Item(value, place, self._problems[0] if self._problems else None)

    def _may_be_incomplete(self, error: json.JSONDecodeError) -> bool:
        """Return whether an error may be due to the end of the buffer."""
        is_near_end = error.pos > len(self._buffer) - _LONGEST_TOKEN
        return is_near_end or error.msg.startswith("Unterminated string")

    def _make_object(self, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        record = dict(pairs)
        if len(record) < len(pairs):
            self._problems.append(describe_duplicate_key(pairs))
        return record

    def _next_character(self) -> str:
        """Skip white space, and return the next character; an empty string at the end."""
        while True:
            match = _SPACE.match(self._buffer, self._position)
            self._advance(match.end() if match else self._position)
            if self._position < len(self._buffer) or self._at_end:
                return self._buffer[self._position : self._position + 1]
            self._read(_CHUNK)

    def _advance(self, position: int) -> None:
        self._line += self._buffer.count("\n", self._position, position)
        self._position = position

    def _read(self, n_bytes: int) -> None:
        content = self._file.read(n_bytes)
        self._at_end = len(content) < n_bytes
        try:
            text = self._decoder.decode(content, self._at_end)
        except UnicodeError as error:
            raise DataError(
                f"{self._name}, after line {self._line}: the file is not {self._encoding} text "
                f"({error}); set the encoding, such as cp1252, with encoding= / --encoding"
            ) from None
        self._buffer = self._buffer[self._position :] + text
        self._position = 0

    def _finish(self) -> None:
        self._advance(self._position + 1)
        if self._next_character():
            raise self._syntax_error("there is text after the array")

    def _syntax_error(self, problem: str, position: int | None = None) -> DataError:
        end = self._position if position is None else position
        line = self._line + self._buffer.count("\n", self._position, end)
        return DataError(
            f"{self._name}, line {line}: {problem}; the file must be a JSON array of objects"
        )
