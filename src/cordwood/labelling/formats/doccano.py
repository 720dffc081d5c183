"""Lines of JSON of doccano; to be read, they are a table with lists of labels."""

import json
from collections.abc import Iterable

from cordwood.labelling.samples import Row


def write(rows: Iterable[Row]) -> str:
    """Return one line per text that is labelled, with its columns as metadata."""
    lines = (
        {**row.columns, "id": number, "text": row.text, "label": list(row.labels), "Comments": []}
        for number, row in enumerate(rows, 1)
        if row.labels is not None
    )
    return "".join(json.dumps(line) + "\n" for line in lines)
