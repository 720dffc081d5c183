"""Records of comma- and tab-separated files (RFC 4180), and their delimiter."""

import codecs
import csv
import io
import re
from collections.abc import Iterator
from typing import NamedTuple

from cordwood.datasets.lines import Lines, detect_encoding, row_length_error
from cordwood.datasets.options import ReadOptions
from cordwood.exceptions import DataError

DELIMITERS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars"}

# The limit of the csv module must fit a C long, which has 32 bits on Windows.
_MAX_FIELD_SIZE = (1 << 31) - 1
_MAX_SAMPLE_RECORDS = 20
_LINE_END = re.compile(r"\r\n?|\n")


class Record(NamedTuple):
    """The fields of a record, the line on which it starts, and its text with the line end."""

    fields: list[str]
    line: int
    text: str


class Dialect(NamedTuple):
    """How a CSV file is written; a mark is a byte order mark."""

    encoding: str = "utf-8"
    has_mark: bool = False
    delimiter: str = ","
    line_end: str = "\n"


def read_first_record(lines: Lines, records: Iterator[Record]) -> Record:
    """Return the first record that is not blank, the header if there is one."""
    for record in records:
        if lines.issue:
            raise DataError(f"{lines.issue.message}; {lines.issue.advice}")
        if record.fields:
            return record
    raise DataError(f"{lines.name} is empty; it must have a header and rows")


def name_columns(first: Record, has_header: bool) -> list[str]:
    """Return the names of the columns: those in the first record, or else "1", "2" and so on."""
    if has_header:
        return [name.strip() for name in first.fields]
    return [str(number) for number in range(1, len(first.fields) + 1)]


def parse_records(lines: Lines, delimiter: str) -> Iterator[Record]:
    """Yield the records; an unclosed quote and a row that is too long raise an error.

    They do so even if bad rows are skipped, because they may have consumed any number of rows.
    """
    # The limit is global to the process, so it must not be lowered.
    csv.field_size_limit(max(csv.field_size_limit(), min(lines.max_length, _MAX_FIELD_SIZE)))
    first_line = 1
    pending: list[str] = []
    n_pending = 0

    def buffer_lines() -> Iterator[str]:
        nonlocal n_pending
        for line in lines:
            pending.append(line)
            n_pending += len(line)
            if n_pending > lines.max_length:
                # Most likely because a quote is not closed.
                raise row_length_error(f"{lines.name}, line {first_line}", lines.max_length)
            yield line

    try:
        for fields in csv.reader(buffer_lines(), delimiter=delimiter, strict=True):
            yield Record(fields, first_line, "".join(pending))
            first_line = lines.number + 1
            n_pending = 0
            pending.clear()
    except csv.Error as error:
        if lines.issue:
            raise DataError(f"{lines.issue.message}; {lines.issue.advice}") from None
        first_line += _count_lines_before_unclosed_quote("".join(pending), delimiter)
        raise DataError(
            f"{lines.name}, line {first_line}: the quoted field that starts here is not closed "
            f"before a delimiter or line end (line {lines.number}: {error}); close it, and double "
            "each quote inside it"
        ) from None


def choose_delimiter(start: bytes, format: str, options: ReadOptions) -> str:
    """Return the delimiter of a file; that of CSV is found in the first bytes, unless given."""
    if options.delimiter is not None or format == "tsv":
        return options.delimiter or "\t"
    return detect_delimiter(_decode_start(start, options.encoding), options)


def find_dialect(start: bytes, format: str, options: ReadOptions) -> Dialect:
    """Return how a file is written, from its first bytes and the options."""
    encoding = codecs.lookup(options.encoding or detect_encoding(start)).name
    text = _decode_start(start, encoding)
    wide = re.fullmatch("utf-(16|32)", encoding)
    has_mark = text.startswith("\ufeff") or encoding == "utf-8-sig" or wide is not None
    if wide is not None:
        # These codecs remove the mark, and would write it in the byte order of the computer.
        encoding += "-be" if start.startswith((b"\xfe\xff", b"\0\0\xfe\xff")) else "-le"
    elif encoding == "utf-8-sig":
        encoding, has_mark = "utf-8", start.startswith(codecs.BOM_UTF8)
    ends = (end for end in _LINE_END.finditer(text) if not text.count('"', 0, end.start()) % 2)
    line_end = next((end[0] for end in ends), "\n")
    return Dialect(encoding, has_mark, choose_delimiter(start, format, options), line_end)


def _decode_start(start: bytes, encoding: str | None) -> str:
    """Decode the first bytes, which may end in the middle of a character."""
    decoder = codecs.getincrementaldecoder(encoding or detect_encoding(start))("replace")
    try:
        return decoder.decode(start)
    except UnicodeError:  # UTF-16 without a byte order mark
        return ""


def detect_delimiter(sample: str, options: ReadOptions) -> str:
    """Choose the delimiter of a file from its first rows.

    It is the first of comma, semicolon, tab and bar that separates the names of the columns to read
    in the header; otherwise the one that divides all rows into the same and largest number
    of fields.

    Examples
    --------
    >>> detect_delimiter("id;text;label\\n1;Oh, no;x\\n", ReadOptions())
    ';'
    """
    extra = () if isinstance(options.extra_columns, str) else options.extra_columns
    label = options.label or "label" if options.labeled else None
    wanted = {*options.text_columns, *extra, label, options.id} - {None}
    best, n_most = ",", 1
    for delimiter in DELIMITERS:
        records = _parse_sample(sample, delimiter)
        if (
            options.header
            and records
            and wanted
            and wanted <= {name.strip() for name in records[0]}
        ):
            return delimiter
        n_fields = {len(fields) for fields in records}
        if len(n_fields) == 1 and (n := n_fields.pop()) > n_most:
            best, n_most = delimiter, n
    return best


def _parse_sample(sample: str, delimiter: str) -> list[list[str]]:
    """Return the first records that are not blank and not truncated."""
    records: list[list[str]] = []
    lines = io.StringIO(sample.removeprefix("\ufeff").replace("\0", ""), newline="")
    try:
        for fields in csv.reader(lines, delimiter=delimiter):
            if fields:
                records.append(fields)
            if len(records) > _MAX_SAMPLE_RECORDS:
                break
    except csv.Error:
        return []
    is_truncated = not sample.endswith(("\n", "\r"))
    return records[:-1] if is_truncated and len(records) > 1 else records


def _count_lines_before_unclosed_quote(record: str, delimiter: str) -> int:
    stop = re.escape(delimiter)
    complete_field = re.compile(rf'(?:"(?:[^"]++|"")*+"|(?!")[^{stop}\r\n]*+)(?=[{stop}\r\n]|\Z)')
    position = 0
    while (field := complete_field.match(record, position)) and field.end() < len(record):
        position = field.end() + 1
    return len(_LINE_END.findall(record, 0, position))
