"""Conversion of the files of an encoder to smaller ones, to the same bytes on every computer."""

import json
import os
from pathlib import Path
from typing import Any

import numpy as np

from cordwood._base import strict_json


def round_to_float16(path: Path) -> None:
    """Round the float32 arrays of a safetensors file, which must be valid, to float16 in place."""
    # The format is the length of the header in 8 bytes, the header, and the arrays.
    with path.open("rb") as file:
        length = int.from_bytes(file.read(8), "little")
        header: dict[str, Any] = strict_json.parse(file.read(length))
    entries = [entry for name, entry in header.items() if name != "__metadata__"]
    entries.sort(key=lambda entry: entry["data_offsets"])
    n_bytes, sources = 0, []
    for entry in entries:
        start, stop = entry["data_offsets"]
        is_rounded = entry["dtype"] == "F32"
        sources.append((8 + length + start, stop - start, is_rounded))
        size = (stop - start) // 2 if is_rounded else stop - start
        entry["data_offsets"] = [n_bytes, n_bytes + size]
        entry["dtype"] = "F16" if is_rounded else entry["dtype"]
        n_bytes += size
    described = json.dumps(header, separators=(",", ":")).encode()
    described += b" " * (-len(described) % 8)
    target = path.with_name(f"{path.name}.float16")
    with path.open("rb") as file, target.open("wb") as output:
        output.write(len(described).to_bytes(8, "little"))
        output.write(described)
        for start, size, is_rounded in sources:
            file.seek(start)
            data = file.read(size)
            output.write(np.frombuffer(data, "<f4").astype("<f2").tobytes() if is_rounded else data)
    os.replace(target, path)


def compact_json(path: Path) -> None:
    """Remove the white space between the elements of a JSON file."""
    content = strict_json.parse(path.read_text(encoding="utf-8"))
    compact = json.dumps(content, ensure_ascii=False, separators=(",", ":"))
    path.write_text(compact, encoding="utf-8")
