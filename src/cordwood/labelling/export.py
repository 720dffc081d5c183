"""Export of the labels in the formats of other tools."""

import tempfile
from pathlib import Path
from typing import Literal, NamedTuple, get_args

from cordwood.labelling.formats import doccano, label_studio, prodigy
from cordwood.labelling.project import Project

ExportFormat = Literal["csv", "xlsx", "jsonl", "label-studio", "prodigy", "doccano"]
EXPORT_FORMATS: tuple[ExportFormat, ...] = get_args(ExportFormat)
_TYPES = {
    ".csv": "text/csv",
    ".xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    ".jsonl": "application/x-ndjson",
    ".json": "application/json",
}


class Exported(NamedTuple):
    """A file."""

    name: str
    media_type: str
    content: bytes


def export_labels(project: Project, format: ExportFormat) -> Exported:
    """Return the labels in a format."""
    settings = project.settings
    stem = settings.output.stem
    if format in ("csv", "xlsx", "jsonl"):
        name = f"{stem}.{format}"
        columns, rows = project.make_table()
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, f"labels.{format}")
            settings.write_table(path, columns, iter(rows))
            content = path.read_bytes()
    else:
        name, content = _convert(project, format, stem)
    return Exported(name, _TYPES[Path(name).suffix], content)


def _convert(project: Project, format: str, stem: str) -> tuple[str, bytes]:
    rows = project.export_rows()
    is_multilabel = project.settings.is_multilabel
    if format == "label-studio":
        text = label_studio.write(rows)
    elif format == "prodigy":
        text = prodigy.write(rows, list(project.state.classes), is_multilabel=is_multilabel)
    else:
        text = doccano.write(rows)
    suffix = "json" if format == "label-studio" else "jsonl"
    return f"{stem}-{format}.{suffix}", text.encode()
