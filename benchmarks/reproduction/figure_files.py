"""Figures that benchmarks measure and pages of the documentation show: the JSON files `figures/`.

A file has an entry for each data set, and under `runs` the command, date and versions of each.
"""

import json
import platform
import shlex
import sys
from collections.abc import Mapping
from datetime import date
from importlib.metadata import version
from pathlib import Path
from typing import Any

from cordwood._base import atomic

FOLDER = Path(__file__).parent / "figures"
_LIBRARIES = ("cordwood", "scikit-learn", "numpy", "scipy", "numba")


def add_figures(name: str, dataset: str, figures: Mapping[str, Any], folder: Path = FOLDER) -> Path:
    """Write the figures of a data set to a file, and keep those of other data sets.

    Parameters
    ----------
    name : str
        Name of the file, without its suffix.
    dataset : str
        Name of the entry.
    figures : mapping
        Numbers and texts as the pages show them.
    folder : path
        Folder of the file.

    Returns
    -------
    Path
        The file.
    """
    path = folder / f"{name}.json"
    content = json.loads(path.read_text("utf-8")) if path.exists() else {"runs": {}}
    content["runs"][dataset] = {
        "command": shlex.join(["python", "dev.py", "bench", Path(sys.argv[0]).stem, *sys.argv[1:]]),
        "date": date.today().isoformat(),
        "versions": {
            "python": platform.python_version(),
            **{library: version(library) for library in _LIBRARIES},
        },
    }
    content[dataset] = dict(figures)
    folder.mkdir(exist_ok=True)
    with atomic.write(path, newline="\n") as file:
        file.write(json.dumps(content, indent=1, ensure_ascii=False) + "\n")
    return path
