"""Generate docs/limits.md from the matrix of features in the tests: python docs/generate_limits.py.

`tests/test_matrix.py` runs every cell of it, so that the page states all limits and no other.
"""

import sys
from importlib import import_module
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "limits.md"

HEADER = """\
# Limits

Everything that one does with a `TextClassifier` works with every way to train it, except for the
cells below, which raise an error that states the limit in one sentence, or are None. The tests run
all {n_cells} combinations of {n_ways} ways to train and {n_uses} things to do, and this page is
generated from them by `python docs/generate_limits.py`.

| to do | way to train | limit |
| :-- | :-- | :-- |
"""


def page() -> str:
    """Return the page as Markdown: one row per use and limit, with the ways that have it."""
    sys.path.insert(0, str(ROOT / "tests"))
    matrix = import_module("matrix")
    sys.path.pop(0)
    cells: dict[tuple[str, str], list[str]] = {}
    for use in matrix.CALLS:
        for way in matrix.WAYS:
            if (way, use) in matrix.LIMITS:
                limit = matrix.LIMITS[way, use] or "None; train it with oof=True"
                cells.setdefault((use, limit), []).append(way)
    header = HEADER.format(
        n_cells=len(matrix.WAYS) * len(matrix.CALLS),
        n_ways=len(matrix.WAYS),
        n_uses=len(matrix.CALLS),
    )
    rows = [
        f"| {use}: `{matrix.CALLS[use]}` | {'; '.join(ways)} | {limit} |\n"
        for (use, limit), ways in cells.items()
    ]
    return "".join([header, *rows])


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8", newline="\n")
