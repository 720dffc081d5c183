"""Reader of folders with one file per text and one folder per class."""

import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from cordwood.datasets._row_errors import BadRowHandler, RowIssue
from cordwood.datasets.lines import (
    PROGRESS_STEP,
    Lines,
    PathLike,
    Progress,
    default_max_bytes,
    open_bytes,
    row_length_error,
)
from cordwood.datasets.options import ReadOptions
from cordwood.datasets.rows import Row
from cordwood.exceptions import DataError


class _TextFile(NamedTuple):
    """A file in the folder or in one of its folders, of which there may be a million."""

    id: str  # its path in the folder
    size: int


def read_folder_rows(
    folder: PathLike, options: ReadOptions, bad_rows: BadRowHandler, progress: Progress | None
) -> Iterator[Row]:
    """Yield a row for each ``<class>/<file>`` or ``<subset>/<class>/<file>``, sorted by name.

    Files may be in folders below their class folder, and anywhere if they are unlabeled.
    """
    root = Path(folder)
    labeled = options.labeled
    # With train and test and folders in each, all folders are subsets of a split.
    has_split = all(_has_folders(root / subset) for subset in ("train", "test"))
    min_depth = has_split + labeled
    files = list(_find_files(root, bad_rows))
    if not files and not bad_rows.n_skipped:
        raise DataError(f"{root} has no files; it must have a folder of files for each class")
    total, done, reported = sum(file.size for file in files), 0, 0
    # The limit is that of all compressed files together.
    max_bytes = default_max_bytes(total) if options.max_bytes is None else options.max_bytes
    reader = _TextReader(root, options.encoding, max_bytes, options.max_row_length)
    for file in files:
        parents = file.id.split("/")[:-1]
        if len(parents) < min_depth:
            names = [os.fspath(root), *["<subset>"] * has_split, *["<class>"] * labeled]
            message = f"{root / file.id} is not in a class folder ({'/'.join(names)})"
            bad_rows.handle(RowIssue(message, "move or remove it"))
        elif (text := reader.read(file, bad_rows)) is not None:
            yield Row(
                id=file.id,
                text=text,
                label=parents[has_split] if labeled else None,
                split=parents[0] if has_split else None,
            )
        done += file.size
        if progress and (done - reported >= PROGRESS_STEP or done == total > reported):
            reported = done
            progress(done, total)


def _has_folders(folder: Path) -> bool:
    try:
        return any(entry.is_dir() for entry in folder.iterdir() if entry.name[0] != ".")
    except OSError:
        # A folder without read permission is reported when its files are listed.
        return False


def _find_files(root: Path, bad_rows: BadRowHandler) -> Iterator[_TextFile]:
    # Folders are identified by device and inode, because symbolic links may form a cycle.
    seen: dict[tuple[int, int], Path] = {}
    pending = [""]
    while pending:
        id = pending.pop()
        path = root / id
        try:
            status = path.stat()
            if stat.S_ISDIR(status.st_mode):
                first = seen.setdefault((status.st_dev, status.st_ino), path)
                if first is path:
                    names = [name for name in os.listdir(path) if not name.startswith(".")]
                    start = f"{id}/" if id else ""
                    pending += [f"{start}{name}" for name in sorted(names, reverse=True)]
                    continue
                message = f"{path} is a link to the folder {first}, which is already included"
            elif stat.S_ISREG(status.st_mode):
                yield _TextFile(id, status.st_size)
                continue
            else:
                message = f"{path} is neither a file nor a folder"
        except OSError as error:
            message = f"{path} cannot be read: {error.strerror or error}"
        bad_rows.handle(RowIssue(message, "remove it"))


class _TextReader:
    """Reads files as texts, within limits of their sizes."""

    def __init__(self, root: Path, encoding: str | None, max_bytes: int, max_length: int) -> None:
        self._root, self._encoding = root, encoding
        self._max_bytes, self._max_length = max_bytes, max_length

    def read(self, file: _TextFile, bad_rows: BadRowHandler) -> str | None:
        """Return the text of a file; None if it is skipped as a bad row."""
        path = self._root / file.id
        try:
            file.id.encode()
            with open_bytes(path, max_bytes=self._max_bytes) as content:
                lines = Lines(content, os.fspath(path), self._encoding, self._max_length)
                text = self._join(lines)
                if path.suffix.lower() == ".gz":
                    self._max_bytes -= content.raw.tell()  # type: ignore[attr-defined]
            issue = lines.issue
        except UnicodeEncodeError:
            message = f"the file name {os.fspath(path)!a} is not valid text"
            issue = RowIssue(message, "rename the file")
        except DataError as error:
            issue = RowIssue(str(error), "correct the file")
        if issue is not None:
            bad_rows.handle(issue)
            return None
        return text

    def _join(self, lines: Lines) -> str:
        parts, length = [], 0
        for line in lines:
            parts.append(line)
            length += len(line)
            if length > self._max_length:
                raise row_length_error(f"{lines.name}, line {lines.number}", self._max_length)
        return "".join(parts)
