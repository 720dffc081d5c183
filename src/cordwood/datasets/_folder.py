"""Documents that are files of their own, in a folder for each class."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from cordwood.datasets._lines import PROGRESS_STEP, Lines, PathLike, Progress, open_bytes
from cordwood.datasets._row_errors import BadRows, Fault
from cordwood.datasets._rows import Row
from cordwood.exceptions import DataError


class _File(NamedTuple):
    """A file below the folder."""

    id: str
    path: Path
    size: int


def folder_rows(
    folder: PathLike,
    bad_rows: BadRows,
    *,
    labelled: bool,
    encoding: str,
    progress: Progress | None = None,
) -> Iterator[Row]:
    """Read ``folder/<class>/<file>`` or ``folder/<part>/<class>/<file>``, in the order of names.

    There are parts where the folder has both ``train`` and ``test``, with folders in each; then
    all its folders are parts. A file may lie deeper than its class folder. Names that begin with a
    dot are passed over. Without labels a file may lie anywhere.
    """
    root = Path(folder)
    in_parts = all(_has_folders(root / part) for part in ("train", "test"))
    n_above = in_parts + labelled
    files = list(_find_files(root, bad_rows))
    if not files and not bad_rows.count:
        raise DataError(f"{root} holds no files; it needs a folder of files for each class")
    total, done, told = sum(file.size for file in files), 0, 0
    for file in files:
        above = file.id.split("/")[:-1]
        if len(above) < n_above:
            wanted = "/".join([os.fspath(root), *["<part>"] * in_parts, *["<class>"] * labelled])
            what = f"{file.path} lies in no class folder ({wanted})"
            bad_rows.refuse(Fault(what, "move it into one, or take it away"))
        elif (text := _read_document(file, encoding, bad_rows)) is not None:
            yield Row(
                id=file.id,
                text=text,
                label=above[in_parts] if labelled else None,
                split=above[0] if in_parts else None,
            )
        done += file.size
        if progress and (done - told >= PROGRESS_STEP or done == total > told):
            told = done
            progress(done, total)


def _has_folders(folder: Path) -> bool:
    try:
        return any(entry.is_dir() for entry in folder.iterdir() if entry.name[0] != ".")
    except OSError:
        # Not there, not a folder, or closed to us; the last is told when its files are looked for.
        return False


def _find_files(root: Path, bad_rows: BadRows) -> Iterator[_File]:
    # Folders are known by device and number, for links may lead round in a circle.
    seen: dict[tuple[int, int], Path] = {}
    pending = [root]
    while pending:
        path = pending.pop()
        try:
            status = path.stat()
            if path.is_dir():
                first = seen.setdefault((status.st_dev, status.st_ino), path)
                if first is path:
                    inside = [entry for entry in path.iterdir() if not entry.name.startswith(".")]
                    pending += sorted(inside, key=lambda entry: entry.name, reverse=True)
                    continue
                what = f"{path} is a link to the folder {first}, which is read already"
            elif path.is_file():
                yield _File(path.relative_to(root).as_posix(), path, status.st_size)
                continue
            else:
                what = f"{path} is neither a file nor a folder"
        except OSError as error:
            what = f"{path} cannot be read: {error.strerror or error}"
        bad_rows.refuse(Fault(what, "take it away"))


def _read_document(file: _File, encoding: str, bad_rows: BadRows) -> str | None:
    try:
        file.id.encode()
        with open_bytes(file.path) as content:
            lines = Lines(content, os.fspath(file.path), encoding)
            text = "".join(lines)
        fault = lines.flaw
    except UnicodeEncodeError:
        fault = Fault(f"the name {os.fspath(file.path)!a} is not text", "rename the file")
    except DataError as error:
        fault = Fault(str(error), "mend the file")
    if fault is not None:
        bad_rows.refuse(fault)
        return None
    return text
