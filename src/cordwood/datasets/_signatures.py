"""Kinds of files by their first bytes, for files with the wrong suffix."""

import zipfile
from typing import NamedTuple

from cordwood.datasets.lines import PathLike


class Signature(NamedTuple):
    """A kind of file, the format that reads it, and its usual suffix."""

    description: str
    format: str | None
    suffix: str | None


_EXCEL = Signature("an Excel workbook", "excel", ".xlsx")
_ZIP = Signature("a zip archive", None, None)
_SIGNATURES: tuple[tuple[bytes, Signature], ...] = (
    (b"PAR1", Signature("a Parquet file", "parquet", ".parquet")),
    (b"ARROW1", Signature("an Arrow file", "arrow", ".arrow")),
    (b"SQLite format 3\0", Signature("an SQLite database", "sqlite", ".sqlite")),
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", Signature("an old Excel workbook (.xls)", None, None)),
    (b"%PDF-", Signature("a PDF document", None, None)),
    (b"BZh", Signature("a bzip2 file", None, None)),
    (b"\xfd7zXZ\0", Signature("an xz file", None, None)),
    (b"\x28\xb5\x2f\xfd", Signature("a zstd file", None, None)),
)
_HTML = (b"<!doctype html", b"<html")
N_BYTES = 64


def identify_content(start: bytes) -> Signature | None:
    """Return the kind of a file by its first bytes, or None if it may be text.

    Examples
    --------
    >>> identify_content(b"PAR1\\x15").description
    'a Parquet file'
    """
    if start.startswith(b"PK\x03\x04"):
        return _ZIP
    if start.lstrip().lower().startswith(_HTML):
        return Signature("an HTML page", None, None)
    found = (signature for magic, signature in _SIGNATURES if start.startswith(magic))
    return next(found, None)


def identify_file(path: PathLike) -> Signature | None:
    """Return the kind of a file by its content, or None if it may be text."""
    try:
        with open(path, "rb") as file:
            found = identify_content(file.read(N_BYTES))
        if found is _ZIP and zipfile.is_zipfile(path):
            with zipfile.ZipFile(path) as archive:
                if any(name.startswith("xl/") for name in archive.namelist()):
                    return _EXCEL
    except (OSError, zipfile.BadZipFile, ValueError, NotImplementedError):
        # The reader of the format raises an error with a better message.
        return None
    return found
