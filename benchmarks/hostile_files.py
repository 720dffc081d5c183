"""Small files whose content is much larger than they are: builders for the fuzzer and the tests.

Each builder takes the number of rows and the length of a text, and returns the name and the bytes
of a file whose rows all have that text; a reader reads all of them, or rejects the file.
"""

import io
import sqlite3
import struct
import tempfile
import zipfile
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

Builder = Callable[[int, int], tuple[str, bytes]]
ZSTD = pa.ipc.IpcWriteOptions(compression="zstd")


def write_arrow(columns: dict[str, Any], options: Any = None) -> tuple[str, bytes]:
    batch = pa.record_batch(columns)
    file = io.BytesIO()
    with pa.ipc.new_stream(file, batch.schema, options=options) as writer:
        writer.write_batch(batch)
    return "data.arrow", file.getvalue()


def write_parquet(columns: dict[str, Any], **options: Any) -> tuple[str, bytes]:
    file = io.BytesIO()
    pq.write_table(pa.table(columns), file, compression="zstd", **options)
    return "data.parquet", file.getvalue()


def repeat(value: Any, n_samples: int) -> Any:
    """Return a dictionary array of one value."""
    return pa.DictionaryArray.from_arrays(np.zeros(n_samples, np.int32), pa.array([value]))


def make_texts(n_samples: int, length: int) -> Any:
    """Return an array of equal texts."""
    return repeat("a" * length, n_samples).dictionary_decode()


def arrow_dictionary(n_samples: int, length: int) -> tuple[str, bytes]:
    return write_arrow({"text": repeat("a" * length, n_samples)}, ZSTD)


def arrow_dictionary_of_lists(n_samples: int, length: int) -> tuple[str, bytes]:
    lists = pa.ListArray.from_arrays([0, length], repeat("a" * 100, length))
    labels = pa.DictionaryArray.from_arrays(np.zeros(n_samples, np.int32), lists)
    return write_arrow({"text": repeat("a" * length, n_samples), "label": labels}, ZSTD)


def arrow_runs(n_samples: int, length: int) -> tuple[str, bytes]:
    runs = pa.RunEndEncodedArray.from_arrays(
        pa.array([n_samples], pa.int32()), pa.array(["a" * length])
    )
    return write_arrow({"text": runs}, ZSTD)


def arrow_buffer(n_samples: int, length: int) -> tuple[str, bytes]:
    return write_arrow({"text": make_texts(n_samples, length)}, ZSTD)


def arrow_string_view(n_samples: int, length: int) -> tuple[str, bytes]:
    length = max(length, 13)  # shorter strings are stored in the view
    view = struct.pack("<i4sii", length, b"aaaa", 0, 0)
    buffers = [None, pa.py_buffer(view * n_samples), pa.py_buffer(b"a" * length)]
    return write_arrow({"text": pa.Array.from_buffers(pa.string_view(), n_samples, buffers)}, ZSTD)


def arrow_list_view(n_samples: int, length: int) -> tuple[str, bytes]:
    offsets = pa.array(np.zeros(n_samples), pa.int32())
    sizes = pa.array(np.full(n_samples, length), pa.int32())
    labels = pa.ListViewArray.from_arrays(offsets, sizes, repeat("a", length))
    return write_arrow({"text": repeat("a", n_samples), "label": labels}, ZSTD)


def arrow_nulls(n_samples: int, length: int) -> tuple[str, bytes]:
    column = pa.nulls(n_samples * length)
    return write_arrow({"text": column, "label": column})


def arrow_fixed_size_list(n_samples: int, length: int) -> tuple[str, bytes]:
    values = pa.nulls(n_samples * length)
    column = pa.FixedSizeListArray.from_arrays(values, length)
    return write_arrow({"text": repeat("a", n_samples), "label": column}, ZSTD)


def arrow_damaged_name(n_samples: int, length: int) -> tuple[str, bytes]:
    name, content = write_arrow({"text": make_texts(n_samples, length)}, ZSTD)
    return name, content.replace(b"text", b"te\xffxt"[:4])


def arrow_damaged_length(n_samples: int, length: int) -> tuple[str, bytes]:
    name, content = write_arrow({"text": pa.array(["a"] * 1234)})
    return name, content.replace(struct.pack("<q", 1234), struct.pack("<q", n_samples << 40))


def parquet_dictionary(n_samples: int, length: int) -> tuple[str, bytes]:
    return write_parquet({"text": repeat("a" * length, n_samples)}, store_schema=False)


def parquet_arrow_dictionary(n_samples: int, length: int) -> tuple[str, bytes]:
    return write_parquet({"text": repeat("a" * length, n_samples)})


def parquet_page(n_samples: int, length: int) -> tuple[str, bytes]:
    return write_parquet({"text": make_texts(n_samples, length)}, use_dictionary=False)


def parquet_prefix(n_samples: int, length: int) -> tuple[str, bytes]:
    encoding = {"column_encoding": "DELTA_BYTE_ARRAY", "use_dictionary": False}
    return write_parquet({"text": make_texts(n_samples, length)}, **encoding)


def parquet_list(n_samples: int, length: int) -> tuple[str, bytes]:
    offsets = np.full(n_samples + 1, n_samples, np.int32)
    offsets[0] = 0
    labels = pa.ListArray.from_arrays(offsets, repeat("a" * length, n_samples))
    texts = repeat("a" * length, n_samples)
    return write_parquet({"text": texts, "label": labels}, store_schema=False)


def parquet_fixed(n_samples: int, length: int) -> tuple[str, bytes]:
    values = pa.nulls(n_samples, pa.binary(length))
    return write_parquet({"text": repeat("a", n_samples), "label": values})


SHEET = (
    '<worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><sheetData>'
    '<row r="1"><c r="A1" t="inlineStr"><is><t>text</t></is></c></row>{}</sheetData></worksheet>'
)
PARTS = {
    "[Content_Types].xml": (
        '<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"/>'
    ),
    "_rels/.rels": (
        '<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">'
        '<Relationship Id="r1" Target="xl/workbook.xml" Type="http://schemas.openxmlformats'
        '.org/officeDocument/2006/relationships/officeDocument"/></Relationships>'
    ),
    "xl/styles.xml": (
        '<styleSheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"/>'
    ),
    "xl/_rels/workbook.xml.rels": (
        '<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">'
        '<Relationship Id="r1" Target="worksheets/sheet1.xml" Type="http://schemas.openxmlformats'
        '.org/officeDocument/2006/relationships/worksheet"/></Relationships>'
    ),
    "xl/workbook.xml": (
        '<workbook xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main" xmlns:r="http'
        '://schemas.openxmlformats.org/officeDocument/2006/relationships"><sheets>'
        '<sheet name="a" sheetId="1" r:id="r1"/></sheets></workbook>'
    ),
}
STRINGS = '<sst xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main">{}</sst>'


def write_excel(rows: str, strings: str = "") -> tuple[str, bytes]:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in PARTS.items():
            archive.writestr(name, content)
        archive.writestr("xl/sharedStrings.xml", STRINGS.format(strings))
        archive.writestr("xl/worksheets/sheet1.xml", SHEET.format(rows))
    return "data.xlsx", file.getvalue()


def excel_shared_string(n_samples: int, length: int) -> tuple[str, bytes]:
    rows = '<row><c t="s"><v>0</v></c></row>' * n_samples
    return write_excel(rows, f"<si><t>{'a' * length}</t></si>")


def excel_prefixed_names(n_samples: int, length: int) -> tuple[str, bytes]:
    rows = "<x:row xmlns:x='{}'><x:c t = 's'><x:v>&#48;</x:v></x:c></x:row>".format(
        "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
    )
    return write_excel(rows * n_samples, f"<si><r><t>{'a' * length}</t></r></si>")


def excel_empty_strings(n_samples: int, length: int) -> tuple[str, bytes]:
    rows = '<row><c t="s"><v>2</v></c></row>' * n_samples
    return write_excel(rows, f"<si/><si><t>b</t></si><si><t>{'a' * length}</t></si>")


def excel_row_number(n_samples: int, length: int) -> tuple[str, bytes]:
    cells = '<c t="inlineStr"><is><t>a</t></is></c>' * min(length, 16384)
    return write_excel(f'<row r="{min(n_samples + 1, 1048576)}">{cells}</row>')


def excel_false_size(n_samples: int, length: int) -> tuple[str, bytes]:
    """The archive says that the shared strings have 100 bytes."""
    name, content = excel_shared_string(n_samples, length)
    size = len(STRINGS.format(f"<si><t>{'a' * length}</t></si>"))
    return name, content.replace(struct.pack("<I", size), struct.pack("<I", 100))


def write_sqlite(*statements: str) -> tuple[str, bytes]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "data.sqlite")
        with closing(sqlite3.connect(path)) as database:
            for statement in statements:
                database.execute(statement)
            database.commit()
        return "data.sqlite", path.read_bytes()


COUNT = (
    "WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < {n}) SELECT {} FROM c"
)


def sqlite_view(n_samples: int, length: int) -> tuple[str, bytes]:
    text = f"replace(hex(zeroblob({(length + 1) // 2})), '0', 'a')"
    return write_sqlite(f"CREATE VIEW t AS {COUNT.format(f'{text} AS text', n=n_samples)}")


def sqlite_concatenation(n_samples: int, length: int) -> tuple[str, bytes]:
    text = "SELECT 'a' AS x"
    for _ in range(min(length.bit_length() - 1, 12)):
        text = f"SELECT x || x AS x FROM ({text})"
    rows = COUNT.format("n", n=n_samples)
    return write_sqlite(f"CREATE VIEW t AS SELECT x AS text FROM ({text}), ({rows})")


def sqlite_endless_sum(n_samples: int, length: int) -> tuple[str, bytes]:
    rows = COUNT.format("n", n=n_samples * length * 1000)
    return write_sqlite(f"CREATE VIEW t AS SELECT 'a' || sum(n) AS text FROM ({rows})")


def sqlite_default(n_samples: int, length: int) -> tuple[str, bytes]:
    return write_sqlite(
        "CREATE TABLE t (n)",
        f"INSERT INTO t {COUNT.format('1', n=min(n_samples, 100_000))}",
        f"ALTER TABLE t ADD COLUMN text DEFAULT '{'a' * length}'",
    )


def sqlite_generated(n_samples: int, length: int) -> tuple[str, bytes]:
    text = f"replace(hex(zeroblob({(length + 1) // 2})), '0', 'a')"
    return write_sqlite(
        f"CREATE TABLE t (n, text AS ({text}))",
        f"INSERT INTO t (n) {COUNT.format('1', n=min(n_samples, 100_000))}",
    )


BUILDERS: tuple[Builder, ...] = (
    *(arrow_dictionary, arrow_dictionary_of_lists, arrow_runs, arrow_buffer),
    *(arrow_string_view, arrow_list_view, arrow_nulls, arrow_fixed_size_list),
    *(arrow_damaged_name, arrow_damaged_length),
    *(parquet_dictionary, parquet_arrow_dictionary, parquet_page, parquet_prefix),
    *(parquet_list, parquet_fixed),
    *(excel_shared_string, excel_prefixed_names, excel_empty_strings, excel_row_number),
    *(excel_false_size, sqlite_view, sqlite_concatenation, sqlite_endless_sum),
    *(sqlite_default, sqlite_generated),
)
SIZES = ((3, 20), (1000, 100), (100_000, 100), (100_000, 10), (20, 1_000_000), (2, 1 << 24))
"""Numbers of rows and lengths of texts: the first is always small enough to be read."""
