"""Sphinx extension: names that end in an underscore, such as n_features_in_, are no references."""

import re

from sphinx.application import Sphinx

# Not in backticks or quotes, and not "[1]_".
NAME = re.compile(r"(?<![`\w\"'])([A-Za-z]\w*)_(?=[\s,.;:)]|$)|\"(\w+)_\"")


def setup(app: Sphinx) -> dict[str, bool]:
    app.setup_extension("sphinx.ext.autodoc")
    app.connect("autodoc-process-docstring", escape, priority=100)  # before numpydoc
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def escape(
    app: Sphinx, what: str, name: str, obj: object, options: object, lines: list[str]
) -> None:
    """Escape the underscores outside of examples and of the names of attributes."""
    for number, line in enumerate(lines):
        if line == "Examples" or line.startswith(">>>"):
            break
        head, colon, kind = line.partition(" : ")
        is_entry = colon and not line.startswith(" ")
        lines[number] = head + colon + replace(kind) if is_entry else replace(line)


def replace(text: str) -> str:
    return NAME.sub(lambda found: f"{found[1]}\\_" if found[1] else f'"{found[2]}\\_"', text)
