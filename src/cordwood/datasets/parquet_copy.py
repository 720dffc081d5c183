"""Copies of Parquet files whose columns are changed, one batch of rows at a time."""

import os
from collections.abc import Callable
from typing import Any

from cordwood._base import atomic
from cordwood.datasets._arrow import iter_parquet_tables
from cordwood.datasets._optional import import_extra
from cordwood.datasets.lines import PathLike, Progress

__all__ = ["copy_parquet", "import_extra"]

# Of a row group: a reader skips whole groups, and the writer has one in memory.
_GROUP_ROWS = 20_000
_GROUP_BYTES = 16 << 20


def copy_parquet(
    source: PathLike,
    target: str | os.PathLike[str],
    transform: Callable[[Any], Any],
    *,
    progress: Progress | None = None,
    max_bytes: int | None = None,
) -> None:
    """Write the transformed tables of a file; that of an empty table determines the schema."""
    arrow = import_extra("pyarrow", "Parquet files")
    parquet = import_extra("pyarrow.parquet", "Parquet files", package="pyarrow")
    tables = map(transform, iter_parquet_tables(source, progress=progress, max_bytes=max_bytes))
    group, n_samples, n_bytes = [next(tables)], 0, 0
    with (
        atomic.write(target, "wb") as file,
        parquet.ParquetWriter(file, group[0].schema) as writer,
    ):
        for table in tables:
            group.append(table)
            n_samples, n_bytes = n_samples + table.num_rows, n_bytes + table.nbytes
            if n_samples >= _GROUP_ROWS or n_bytes >= _GROUP_BYTES:
                writer.write_table(arrow.concat_tables(group))
                group, n_samples, n_bytes = [], 0, 0
        if group:
            writer.write_table(arrow.concat_tables(group))
