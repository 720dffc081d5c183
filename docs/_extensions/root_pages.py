"""Sphinx extension: links to Markdown files outside of `docs` go to the pages that include them."""

import re

from sphinx.application import Sphinx

PAGES = {
    "CHANGELOG": "changelog",
    "CONTRIBUTING": "contributing",
    "README": "benchmarks",
    "SECURITY": "security",
}
LINK = re.compile(rf"\]\((?:\.\./)+({'|'.join(PAGES)})\.md")
NOTES = re.compile(r"\]\((?:\.\./)+benchmarks/notes/")


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("source-read", link_pages)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def link_pages(app: Sphinx, docname: str, source: list[str]) -> None:
    up = "../" * docname.count("/")
    linked = LINK.sub(lambda found: f"]({up}{PAGES[found[1]]}.md", source[0])
    source[0] = NOTES.sub(f"]({up}notes/", linked)
