"""Render a report page as Markdown."""

import re
from collections.abc import Iterator, Sequence

from cordwood._base.wording import shorten_line
from cordwood.reports.blocks import (
    Block,
    Chart,
    Charts,
    DataTable,
    Facts,
    Fold,
    HeatMap,
    Page,
    Prose,
    Samples,
    Steps,
    Tiles,
    WordLists,
)
from cordwood.reports.svg import printable

_MAX_TEXT = 300


def render_markdown(page: Page) -> str:
    """Render a page as Markdown, with the data and the sentence of each figure instead of it."""
    lines = [f"# {_text(page.title)}", _text(page.subtitle)]
    for section in page.list_sections():
        lines.append(f"## {_text(section.title)}")
        for block in section.blocks:
            lines += _render(block)
    lines.append("; ".join(f"{_text(name)}: {_text(v)}" for name, v in page.footer.items()))
    return "\n\n".join(line for line in lines if line) + "\n"


def _render(block: Block) -> Iterator[str]:
    match block:
        case Prose():
            yield f"> {_text(block.text)}" if block.role == "warning" else _text(block.text)
        case Steps():
            numbers = (f"{i}." if block.is_ordered else "-" for i, _ in enumerate(block.items, 1))
            pairs = zip(numbers, block.items, strict=True)
            yield "\n".join(f"{number} {_text(item)}" for number, item in pairs)
        case Tiles():
            rows = [(tile.name, tile.value, tile.note) for tile in block.items]
            yield _table(("", "value", ""), ("text", "number", "text"), rows)
        case Facts():
            yield _table(("", ""), ("text", "text"), list(block.items.items()))
        case DataTable():
            yield from _render_table(block)
        case Chart():
            yield from _render_chart(block)
        case Charts():
            for chart in block.items:
                yield from _render_chart(chart)
        case HeatMap():
            entries = [
                (label, *(entry.text for entry in row))
                for label, row in zip(block.labels, block.entries, strict=True)
            ]
            yield f"**{_text(block.caption)}**"
            kinds = ("text", *["number"] * len(block.labels))
            yield _table((block.corner, *block.labels), kinds, entries)
            yield _text(block.note)
        case Samples():
            yield f"**{_text(block.title)}**"
            yield "\n".join(
                f"- {'; '.join(f'{n}: {v}' for n, v in map(_pair, item.facts.items()))}: "
                f"{_text(shorten_line(''.join(text for text, _ in item.segments), _MAX_TEXT, '…'))}"
                for item in block.items
            )
        case Fold():
            yield f"**{_text(block.title)}**"
            for part in block.blocks:
                yield from _render(part)
        case WordLists():
            rows = [
                (
                    item.title,
                    ", ".join(word for word, _, _ in item.positive),
                    ", ".join(word for word, _, _ in item.negative),
                )
                for item in block.items
            ]
            yield _table(("class", "words for", "words against"), ("text",) * 3, rows)


def _render_chart(chart: Chart) -> Iterator[str]:
    yield f"**{_text(chart.title)}**"
    if chart.data is not None:
        yield _format_table(chart.data)
    yield _text(chart.sentence)


def _render_table(table: DataTable) -> Iterator[str]:
    yield f"**{_text(table.caption)}**"
    yield _format_table(table)
    yield _text(table.note)


def _format_table(table: DataTable) -> str:
    rows = []
    for row in table.rows:
        texts = [
            _text(f"{entry.text} ({entry.mark})" if entry.mark else entry.text) for entry in row
        ]
        rows.append(
            [f"**{t}**" if entry.strong else t for t, entry in zip(texts, row, strict=True)]
        )
    kinds = [column.kind for column in table.columns]
    return _join([_text(column.name) for column in table.columns], kinds, rows)


def _table(header: Sequence[str], kinds: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    return _join(list(map(_text, header)), kinds, [list(map(_text, row)) for row in rows])


def _join(header: Sequence[str], kinds: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    alignment = [":--" if kind in ("text", "prose") else "--:" for kind in kinds]
    lines = (header, alignment, *rows)
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _pair(item: tuple[str, str]) -> tuple[str, str]:
    return _text(item[0]), _text(item[1])


def _text(text: str) -> str:
    return escape_markdown(printable(text))


def escape_markdown(text: str) -> str:
    """Escape the special characters of Markdown, and put the text on one line."""
    return re.sub(r"([\\|*`<\[])", r"\\\1", " ".join(text.split()))
