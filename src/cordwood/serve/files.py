"""Data files that the page sends, as lines of JSON: the browser cannot read Excel."""

import asyncio
import json
import os
import tempfile
from pathlib import Path

from starlette.responses import Response

from cordwood.datasets.options import ReadOptions
from cordwood.datasets.readers import stream_dataset
from cordwood.exceptions import CordwoodError
from cordwood.serve.calls import Call
from cordwood.serve.errors import RequestError

PAGE = Path(__file__).parent / "page"

SUFFIXES = (".csv", ".tsv", ".jsonl", ".json", ".xlsx", ".parquet")


async def read_rows(call: Call) -> Response:
    """Handle `POST /rows?name=FILE`: each row of a data file as an object of JSON."""
    name = call.request.query_params.get("name", "")
    suffix = os.path.splitext(name.lower())[1]
    if suffix not in SUFFIXES:
        raise RequestError(415, f"the name of the file must end in one of {', '.join(SUFFIXES)}")
    body = await call.read()
    try:
        lines = await asyncio.to_thread(_convert, body, suffix)
    except (CordwoodError, OSError) as error:
        raise RequestError(422, str(error)) from None
    return Response(lines, media_type="application/x-ndjson")


def _convert(body: bytes, suffix: str) -> str:
    with tempfile.TemporaryDirectory() as folder:
        # The name of the client is not used: errors name the file as the user sees it.
        path = Path(folder, f"file{suffix}")
        path.write_bytes(body)
        options = ReadOptions(
            text=(), extra_columns="all", require_labels=False, max_bytes=64 * len(body) + 2**20
        )
        try:
            rows = [
                json.dumps(dict(row.columns), default=str) for row in stream_dataset(path, options)
            ]
        except CordwoodError as error:
            raise CordwoodError(str(error).replace(str(path), "the file")) from None
    return "\n".join(rows) + "\n"
