"""Drawing of charts as SVG text: scales, axes and marks.

Colors and fonts come from a style sheet by class names, so that figures follow the light and dark
themes of their page. Hand-written, because the SVG of matplotlib has fixed colors, is ten times as
large, and is another dependency.
"""

import math
import re
import unicodedata
from collections.abc import Callable, Sequence
from html import escape
from typing import NamedTuple

from cordwood._base.wording import show_character

FONT_SIZE = 12.0
N_SERIES = 8
"""Number of colors; further series use them again, with other markers."""

# Figures are scaled between these shares of their width, because texts are scaled with them; in
# narrower windows they scroll.
_MIN_SIZE, _MAX_SIZE = 0.85, 1.15

Scale = Callable[[float], float]


class Ticks(NamedTuple):
    """Positions on an axis."""

    values: tuple[float, ...]
    labels: tuple[str, ...]


class Frame(NamedTuple):
    """Area of a chart between its axes, in pixels."""

    left: float
    top: float
    right: float
    bottom: float


class Drawing:
    """An SVG element that is drawn from its marks; texts have their nominal size at its width."""

    def __init__(self, width: float, height: float) -> None:
        self.width = width
        self.height = height
        self._parts: list[str] = []

    def line(self, x1: float, y1: float, x2: float, y2: float, css: str) -> None:
        """Draw a straight line."""
        self._parts.append(
            f'<line x1="{_px(x1)}" y1="{_px(y1)}" x2="{_px(x2)}" y2="{_px(y2)}" class="{css}"/>'
        )

    def path(self, points: Sequence[tuple[float, float]], css: str) -> None:
        """Draw a line through points."""
        joined = "L".join(f"{_px(x)},{_px(y)}" for x, y in points)
        self._parts.append(f'<path d="M{joined}" class="{css}"/>')

    def rect(
        self, x: float, y: float, width: float, height: float, css: str, title: str = ""
    ) -> None:
        """Draw a rectangle; browsers show the title when the pointer is over it."""
        shape = (
            f'<rect x="{_px(x)}" y="{_px(y)}" width="{_px(max(width, 0))}" '
            f'height="{_px(max(height, 0))}" class="{css}"'
        )
        self._parts.append(_with_title(shape, "rect", title))

    def marker(
        self, x: float, y: float, shape: int, css: str, title: str = "", radius: float = 4.5
    ) -> None:
        """Draw a marker; shapes are numbered, and repeat after the last one."""
        points = _SHAPES[shape % len(_SHAPES)]
        if points is None:
            start = f'<circle cx="{_px(x)}" cy="{_px(y)}" r="{_px(radius)}" class="{css}"'
            self._parts.append(_with_title(start, "circle", title))
            return
        joined = " ".join(f"{_px(x + radius * dx)},{_px(y + radius * dy)}" for dx, dy in points)
        self._parts.append(
            _with_title(f'<polygon points="{joined}" class="{css}"', "polygon", title)
        )

    def text(self, x: float, y: float, text: str, *, anchor: str = "start", css: str = "") -> None:
        """Draw a text whose baseline starts, ends or has its middle at (x, y)."""
        name = f' class="{css}"' if css else ""
        self._parts.append(
            f'<text x="{_px(x)}" y="{_px(y)}" text-anchor="{anchor}"{name}>'
            f"{escape(printable(text))}</text>"
        )

    def axes(
        self,
        frame: Frame,
        x: Scale,
        y: Scale,
        x_ticks: Ticks,
        y_ticks: Ticks,
        x_label: str,
        y_label: str,
    ) -> None:
        """Draw grid lines, tick labels and the names of both axes."""
        for value, label in zip(*y_ticks, strict=True):
            self.line(frame.left, y(value), frame.right, y(value), "grid")
            self.text(frame.left - 6, y(value) + 4, label, anchor="end", css="tick")
        self.line(frame.left, frame.bottom, frame.right, frame.bottom, "axis")
        for value, label in zip(*x_ticks, strict=True):
            self.line(x(value), frame.bottom, x(value), frame.bottom + 4, "axis")
            self.text(x(value), frame.bottom + 17, label, anchor="middle", css="tick")
        middle = (frame.left + frame.right) / 2
        self.text(middle, frame.bottom + 36, x_label, anchor="middle")
        self.text(0, frame.top - 10, y_label)

    def legend(self, items: Sequence[tuple[str, int, str]], x: float, y: float) -> float:
        """Draw a row of markers or lines with their meaning; return the y of the next row.

        Each item has a class name, the number of a marker or -1 for a line, and a text.
        """
        start = x
        for css, shape, label in items:
            width = 24 + text_width(label) + 16
            if x + width > self.width and x > start:
                x, y = start, y + 18
            if shape < 0:
                self.line(x, y - 4, x + 18, y - 4, css)
            else:
                self.marker(x + 9, y - 4, shape, css)
            self.text(x + 24, y, label, css="tick")
            x += width
        return y + 18

    def render(self, title: str, description: str = "") -> str:
        """Return the SVG element; screen readers read the title and the description."""
        label = escape(printable(f"{title}. {description}" if description else title), quote=True)
        smallest, largest = (_px(share * self.width) for share in (_MIN_SIZE, _MAX_SIZE))
        return (
            f'<svg viewBox="0 0 {_px(self.width)} {_px(self.height)}" role="img" '
            f'aria-label="{label}" style="max-width:{largest}px;min-width:{smallest}px">'
            f"{''.join(self._parts)}</svg>"
        )


def linear_scale(low: float, high: float, start: float, end: float) -> Scale:
    """Map values from [low, high] to pixels."""
    span = (high - low) or 1.0
    return lambda value: start + (end - start) * (value - low) / span


def log_scale(low: float, high: float, start: float, end: float) -> Scale:
    """Map values from [low, high] to pixels by their logarithms."""
    inner = linear_scale(math.log(low), math.log(high), start, end)
    return lambda value: inner(math.log(value))


def linear_ticks(low: float, high: float, n: int = 5) -> Ticks:
    """Choose at most about n round values in a range, and at least two.

    >>> linear_ticks(0, 100).labels
    ('0', '20', '40', '60', '80', '100')
    >>> linear_ticks(0.912, 0.948, 4).labels
    ('0.92', '0.93', '0.94')
    >>> linear_ticks(86, 98, 2).labels
    ('90', '95')
    """
    span = high - low
    if not span > 0:
        return Ticks((low,), (f"{low:g}",))
    magnitude = 10.0 ** math.floor(math.log10(span / n))
    step = next(m * magnitude for m in (1, 2, 5, 10) if m * magnitude * (n + 1) >= span)
    digits = max(0, -math.floor(math.log10(step) + 1e-9))
    first = math.ceil(low / step - 1e-9)
    last = math.floor(high / step + 1e-9)
    if last <= first:
        return linear_ticks(low, high, n + 1)
    values = tuple(i * step for i in range(first, last + 1))
    return Ticks(values, tuple(f"{value:,.{digits}f}" for value in values))


def log_ticks(low: float, high: float) -> Ticks:
    """Choose powers of ten in a range, and their double and fivefold if there are few.

    >>> log_ticks(1, 2000).labels
    ('1', '10', '100', '1,000')
    >>> log_ticks(0.5, 20).labels
    ('0.5', '1', '2', '5', '10', '20')
    """
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    factors = (1, 2, 5) if math.log10(high / low) < 2 else (1,)
    values = [f * 10.0**e for e in range(first, last + 1) for f in factors]
    inside = tuple(v for v in values if low * 0.999 <= v <= high * 1.001)
    n_skipped = max(1, math.ceil(len(inside) / 6)) if len(factors) == 1 else 1
    inside = inside[::n_skipped]
    return Ticks(inside, tuple(f"{v:,.0f}" if v >= 1 else f"{v:g}" for v in inside))


def text_width(text: str) -> float:
    """Estimate the width of a text in pixels, from the mean widths of sans-serif letters."""
    wide = sum(unicodedata.east_asian_width(letter) in "WF" for letter in text)
    return FONT_SIZE * (0.58 * (len(text) - wide) + wide)


def printable(text: str) -> str:
    """Replace characters that neither HTML nor XML may contain, and show those nobody sees.

    >>> printable("a" + chr(0) + "b" + chr(0xD800) + "c" + chr(0x200B))
    'a�b�c<U+200B>'
    """
    if text.isprintable():
        return text
    letters = _FORBIDDEN.sub("�", text)
    return "".join(
        show_character(each) if unicodedata.category(each) == "Cf" else each for each in letters
    )


_FORBIDDEN = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufdd0-\ufdef\ufffe\uffff]"
)

# Corners of markers in units of their radius; None is a circle.
_SHAPES: tuple[tuple[tuple[float, float], ...] | None, ...] = (
    None,
    ((-0.85, -0.85), (0.85, -0.85), (0.85, 0.85), (-0.85, 0.85)),
    ((0, -1.1), (1.05, 0.8), (-1.05, 0.8)),
    ((0, -1.25), (1.25, 0), (0, 1.25), (-1.25, 0)),
    ((0, 1.1), (1.05, -0.8), (-1.05, -0.8)),
    ((-1.1, 0), (0.8, -1.05), (0.8, 1.05)),
    ((1.1, 0), (-0.8, -1.05), (-0.8, 1.05)),
)


def _px(value: float) -> str:
    """Format a coordinate with one decimal place at most."""
    return f"{value:.1f}".removesuffix(".0")


def _with_title(start: str, tag: str, title: str) -> str:
    if not title:
        return f"{start}/>"
    return f"{start}><title>{escape(printable(title))}</title></{tag}>"
