"""Render a report page as one HTML file without references to other files."""

import base64
import hashlib
from functools import cache
from importlib.resources import files
from typing import Any

from jinja2 import Environment, FunctionLoader, StrictUndefined

from cordwood.reports.blocks import Page
from cordwood.reports.svg import printable


def render_html(page: Page) -> str:
    """Render a page as HTML.

    Parameters
    ----------
    page : Page

    Returns
    -------
    str
        A complete document with its style sheet and its script. All texts are escaped, and the
        content security policy of the document permits neither requests nor other scripts.
    """
    script = _read("report.js")
    digest = hashlib.sha256(script.encode()).digest()
    return (
        _environment()
        .get_template("report.html")
        .render(
            page=page,
            sections=page.list_sections(),
            style=_read("report.css"),
            script=script,
            script_hash=base64.b64encode(digest).decode(),
        )
    )


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=FunctionLoader(_read), autoescape=True, undefined=StrictUndefined, trim_blocks=True
    )
    environment.globals["zip"] = zip
    environment.filters["clean"] = _clean
    return environment


@cache
def _read(name: str) -> str:
    # Browsers convert line breaks before they compute the hash of a script.
    content = files("cordwood.reports").joinpath("templates", name).read_text(encoding="utf-8")
    return content.replace("\r\n", "\n")


def _clean(value: Any) -> str:
    """Convert a value to a text without control characters; the template escapes it."""
    return printable(str(value))
