"""Render a page as HTML and a chart as SVG, in one file without references to other files."""

import base64
import hashlib
import re
from functools import cache
from html import escape
from importlib.resources import files
from typing import Any

from jinja2 import Environment, FunctionLoader, StrictUndefined

from cordwood._base.wording import shorten_line
from cordwood.reports.blocks import Chart, Page
from cordwood.reports.svg import printable

# Of single figures, in pixels of the chart.
_MARGIN, _TITLE_HEIGHT, _TITLE_LETTER = 12.0, 36.0, 8.5
_ZOOM = 1.4


def render_html(page: Page) -> str:
    """Render a page as HTML.

    All texts are escaped, and the content security policy of the document permits neither requests
    nor other scripts.
    """
    script = _read("report.js")
    digest = hashlib.sha256(script.encode()).digest()
    return (
        _environment()
        .get_template("report.html")
        .render(
            page=page,
            sections=page.list_sections(),
            style=_read("report.css") + _read("chart.css"),
            script=script,
            script_hash=base64.b64encode(digest).decode(),
        )
    )


def render_svg(chart: Chart) -> str:
    """Render a chart with its title as an SVG file, in the light theme."""
    found = re.match(r'<svg viewBox="0 0 (\S+) (\S+)"', chart.svg)
    assert found is not None
    width, height = float(found[1]) + 2 * _MARGIN, float(found[2]) + _TITLE_HEIGHT + _MARGIN
    title = escape(printable(shorten_line(chart.title, int(width / _TITLE_LETTER), "…")))
    # The chart keeps its place: title and margins have negative coordinates.
    inner = chart.svg.replace("<svg ", f'<svg width="{found[1]}" height="{found[2]}" ', 1)
    return f"""<?xml version="1.0" encoding="utf-8"?>
<svg xmlns="http://www.w3.org/2000/svg" font-family="sans-serif" \
width="{_ZOOM * width:g}" height="{_ZOOM * height:g}" \
viewBox="{-_MARGIN:g} {-_TITLE_HEIGHT:g} {width:g} {height:g}">
<style>{_svg_style()}</style>
<rect x="{-_MARGIN:g}" y="{-_TITLE_HEIGHT:g}" width="100%" height="100%" fill="#fff"/>
<text y="-14" class="title">{title}</text>
{inner}
</svg>
"""


@cache
def _svg_style() -> str:
    # CSS variables are known to browsers only, not to programs that convert or edit SVG.
    light_theme = _read("report.css").split("}", 1)[0]
    colors = dict(re.findall(r"--(\w+): (#\w+)", light_theme))
    return re.sub(r"var\(--(\w+)\)", lambda name: colors[name[1]], _read("chart.css"))


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
