"""Sizes of Parquet and Arrow data, from their headers, before pyarrow allocates anything.

pyarrow believes what a file declares: a page or buffer of a few bytes may decompress to gigabytes,
and a dictionary, a run or a view may repeat one long value in every row.
"""

import mmap
import struct
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from cordwood.datasets._optional import import_extra
from cordwood.datasets.lines import Budget
from cordwood.exceptions import DataError

_BATCH_SIZE = 1000
_VALUE_SIZE = 8
_MIN_PAGE = 64  # counted for each page, because each takes time
_DICTIONARY_RATIO = 64  # of the time to make an object to that of copying as many bytes

# Parquet: fields of PageHeader and of the headers in it, page types and encodings.
_UNCOMPRESSED, _COMPRESSED, _DATA, _DATA_V2 = 2, 3, 5, 8
_N_VALUES, _ENCODING, _ENCODING_V2 = 1, 2, 4
_DELTA_BYTE_ARRAY = 7
# Thrift: types of fields in the compact protocol.
_TRUE, _FALSE, _BYTE, _I64, _DOUBLE, _BINARY, _STRUCT = 1, 2, 3, 6, 7, 8, 12
_MAX_DEPTH = 4
# A file of an old version of parquet-mr may have more bytes in a column than it declares.
_PADDING = 100


class CheckedPages(NamedTuple):
    """How to read columns of a Parquet file, so that a batch fits the budget."""

    batch_size: int
    # Columns to read as dictionaries, whose values may be repeated in every row; they are expanded
    # after the size of a batch is known.
    dictionaries: list[str]


def check_pages(parquet: Any, path: str, columns: Sequence[str], budget: Budget) -> CheckedPages:
    """Charge the decompressed size and the values of all pages of these columns."""
    metadata = parquet.read_metadata(path)
    schema = metadata.schema
    longest = 1
    dictionaries = []
    with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
        for leaf in range(metadata.num_columns):
            column = schema.column(leaf)
            if column.path.partition(".")[0] not in columns:
                continue
            is_list = column.max_repetition_level > 0
            is_binary = column.physical_type == "BYTE_ARRAY"
            width = max(column.length, 0)  # of fixed-length values
            longest = max(longest, width)
            longest_delta = 0
            for group in range(metadata.num_row_groups):
                chunk = metadata.row_group(group).column(leaf)
                for page in _iter_pages(content, chunk):
                    budget.spend(page.size + max(width, _VALUE_SIZE) * page.n_values + _MIN_PAGE)
                    if is_binary and page.encoding == _DELTA_BYTE_ARRAY:
                        longest_delta = max(longest_delta, page.size)
            # A row has one value, which is at most as long as a page, or a list of any number of
            # values, each of which may repeat the beginning of the one before.
            if is_list and longest_delta:
                raise DataError(
                    f'{path}: the column "{column.path}" has lists in the encoding '
                    "DELTA_BYTE_ARRAY, whose size is unknown; write it in another encoding"
                )
            longest = max(longest, longest_delta)
            if is_binary and not longest_delta:
                dictionaries.append(column.path)
    return CheckedPages(min(max(budget.limit // longest, 1), _BATCH_SIZE), dictionaries)


class _Page(NamedTuple):
    size: int
    n_values: int
    encoding: int


def _iter_pages(content: Any, chunk: Any) -> Iterator[_Page]:
    """Yield the pages of a column chunk that pyarrow reads."""
    position = chunk.data_page_offset
    if chunk.has_dictionary_page and 0 < chunk.dictionary_page_offset < position:
        position = chunk.dictionary_page_offset
    end = position + chunk.total_compressed_size + _PADDING
    n_values = 0
    while n_values < chunk.num_values and 0 <= position < min(end, len(content)):
        header, position = _read_struct(content, position)
        compressed = _get_size(header, _COMPRESSED)
        size = max(_get_size(header, _UNCOMPRESSED), compressed)
        encoding = _ENCODING_V2 if _DATA_V2 in header else _ENCODING
        data = header.get(_DATA_V2) or header.get(_DATA)
        data = data if isinstance(data, dict) else {}
        yield _Page(size, _get_size(data, _N_VALUES), _get_size(data, encoding))
        n_values += _get_size(data, _N_VALUES)
        position += compressed


def _get_size(fields: dict[int, Any], number: int) -> int:
    value = fields.get(number, 0)
    if not isinstance(value, int) or value < 0:
        raise ValueError("a page has a negative size")
    return value


def _read_struct(content: Any, position: int, depth: int = 0) -> tuple[dict[int, Any], int]:
    """Read integers and structs of a header in the compact protocol of Thrift."""
    fields: dict[int, Any] = {}
    number = 0
    while byte := content[position : position + 1]:
        position += 1
        kind = byte[0] & 15
        if kind == 0:
            return fields, position
        if byte[0] >> 4:
            number += byte[0] >> 4
        else:
            number, position = _read_integer(content, position)
        if _BYTE < kind <= _I64:
            fields[number], position = _read_integer(content, position)
        elif kind == _BINARY:
            length, position = _read_varint(content, position)
            position += length
        elif kind == _STRUCT and depth < _MAX_DEPTH:
            fields[number], position = _read_struct(content, position, depth + 1)
        elif kind in (_TRUE, _FALSE, _BYTE, _DOUBLE):
            position += {_BYTE: 1, _DOUBLE: 8}.get(kind, 0)
        else:
            break
    raise ValueError("the header of a page is damaged")


def _read_varint(content: Any, position: int) -> tuple[int, int]:
    value = shift = 0
    while byte := content[position : position + 1]:
        position += 1
        value |= (byte[0] & 127) << shift
        if byte[0] < 128:
            return value, position
        shift += 7
        if shift > 63:
            break
    raise ValueError("the header of a page is damaged")


def _read_integer(content: Any, position: int) -> tuple[int, int]:
    value, position = _read_varint(content, position)
    return value >> 1 ^ -(value & 1), position


def check_messages(arrow: Any, source: Any, budget: Budget) -> None:
    """Charge the lengths of all arrays of an Arrow stream, and decompressed buffers."""
    for message in arrow.ipc.MessageReader.open_stream(source):
        if message.type == "schema":
            continue
        try:
            n_values, n_bytes = _measure_message(message)
        except struct.error as error:
            raise ValueError("the header of a message is damaged") from error
        budget.spend(_VALUE_SIZE * n_values + n_bytes + _MIN_PAGE)


def _measure_message(message: Any) -> tuple[float, float]:
    """Return the number of values of all arrays, and the bytes of compressed buffers."""
    header = memoryview(message.metadata)
    record = _FlatTable(header, struct.unpack_from("<I", header)[0]).table(2)
    if message.type == "dictionary":
        record = record.table(1)
    nodes, buffers = record.pairs(1), record.pairs(2)
    n_values = float(record.integer(0)) + nodes[:, 0].sum(dtype=np.float64)
    if nodes.size and nodes[:, 0].min() < 0:
        raise ValueError("an array has a negative length")
    if not record.has(3):
        return n_values, 0.0
    body = memoryview(message.body)
    # A compressed buffer begins with its decompressed size, -1 if it is not compressed.
    sizes = [struct.unpack_from("<q", body, start)[0] for start, n in buffers.tolist() if n]
    return n_values, float(sum(max(size, 0) for size in sizes))


class _FlatTable:
    """A table of a flatbuffer, whose fields are numbered."""

    def __init__(self, content: memoryview, position: int) -> None:
        self._content = content
        self._position = position
        self._fields = position - struct.unpack_from("<i", content, position)[0]

    def has(self, field: int) -> bool:
        """Return whether a field is present."""
        return self._offset(field) > 0

    def integer(self, field: int) -> int:
        """Return a field of 64 bits, by default 0."""
        at = self._position + self._offset(field)
        return int(struct.unpack_from("<q", self._content, at)[0]) if self.has(field) else 0

    def table(self, field: int) -> "_FlatTable":
        """Return a field that is a table."""
        return _FlatTable(self._content, self._follow(field))

    def pairs(self, field: int) -> NDArray[np.int64]:
        """Return a field that is a vector of pairs of integers."""
        if not self.has(field):
            return np.empty((0, 2), np.int64)
        start = self._follow(field)
        n_pairs = struct.unpack_from("<I", self._content, start)[0]
        return np.frombuffer(self._content, "<i8", 2 * n_pairs, start + 4).reshape(-1, 2)

    def _offset(self, field: int) -> int:
        size = struct.unpack_from("<H", self._content, self._fields)[0]
        at = 4 + 2 * field
        return (
            int(struct.unpack_from("<H", self._content, self._fields + at)[0]) if at < size else 0
        )

    def _follow(self, field: int) -> int:
        at = self._position + self._offset(field)
        return at + int(struct.unpack_from("<I", self._content, at)[0])


def decoded_size(batch: Any) -> float:
    """Return about how many bytes the values of a batch take as Python objects."""
    return sum(max(float(_value_sizes(each).sum()), _stored_size(each)) for each in batch.columns)


def _stored_size(array: Any) -> float:
    if type(array).__name__ != "DictionaryArray":
        return float(array.nbytes)
    # The dictionary of a column is read again for each batch, which takes time but no objects.
    return float(array.indices.nbytes + array.dictionary.nbytes / _DICTIONARY_RATIO)


def _value_sizes(array: Any) -> NDArray[np.float64]:
    """Return the size of each value, which a dictionary, a run or a view may repeat."""
    kind = type(array).__name__.removesuffix("Array").removeprefix("Large")
    # Floats, because the sizes of nested views may exceed 64 bits.
    sizes = np.full(len(array), float(_VALUE_SIZE))
    if hasattr(array, "storage"):  # an extension type
        return _value_sizes(array.storage)
    if kind == "RunEndEncoded":
        ends = np.clip(np.asarray(array.run_ends), array.offset, array.offset + len(array))
        return np.repeat(_value_sizes(array.values), np.diff(ends, prepend=array.offset))
    if kind in ("String", "Binary"):
        lengths = import_extra("pyarrow.compute", "Arrow files").binary_length(array)
        sizes += np.asarray(lengths.fill_null(0))
    elif kind in ("StringView", "BinaryView"):
        views = np.frombuffer(array.buffers()[1] or b"", "<i4").reshape(-1, 4)
        sizes += np.maximum(views[array.offset : array.offset + len(array), 0], 0)
    elif kind == "FixedSizeBinary":
        sizes += array.type.byte_width
    elif kind == "Dictionary" and len(array.dictionary):
        sizes += _value_sizes(array.dictionary)[np.asarray(array.indices.fill_null(0))]
    elif kind == "Struct":
        for field in array.flatten():
            sizes += _value_sizes(field)
    elif kind in ("List", "Map", "ListView", "FixedSizeList"):
        starts, ends = _list_bounds(array, kind)
        before = np.concatenate(([0.0], np.cumsum(_value_sizes(array.values))))
        sizes += before[ends] - before[starts]
    elif kind.endswith("Union"):
        raise ValueError("columns of type union cannot be read")
    return sizes


def _list_bounds(array: Any, kind: str) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    if kind == "FixedSizeList":
        starts = (array.offset + np.arange(len(array))) * array.type.list_size
        return starts, starts + array.type.list_size
    offsets = np.asarray(array.offsets).astype(np.int64)
    if kind == "ListView":
        # Those of missing values may be anything.
        ends = np.clip(offsets + np.asarray(array.sizes), 0, len(array.values))
        return np.clip(offsets, 0, ends), ends
    return offsets[:-1], offsets[1:]
