"""HTML of explanations: self-contained fragments for notebooks and web pages.

Colors are translucent, so that they suit light and dark themes: blue argues for a class, orange
against it, which color-blind readers can distinguish. The text itself can be copied.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from cordwood.explain.class_words import ClassWords
    from cordwood.explain.explanation import Explanation, MemberExplanation

_FOR, _AGAINST = "46,125,220", "230,120,20"
_MAX_ALPHA = 0.75
_MAX_CLASSES = 3
_MAX_NEIGHBORS = 3
_MAX_SHARED_TERMS = 8
_MAX_LIST = 20

_STYLE = """<style>
.cordwood-explanation{font-family:inherit;line-height:1.5;max-width:60em}
.cordwood-explanation .text{white-space:pre-wrap;overflow-wrap:anywhere;margin:.3em 0 .8em}
.cordwood-explanation .text span{border-radius:.2em;padding:.05em 0}
.cordwood-explanation table{border-collapse:collapse;margin:.3em 0 .8em}
.cordwood-explanation td,.cordwood-explanation th{padding:.1em .8em .1em 0;text-align:left;
vertical-align:top;border:0;background:none;color:inherit}
.cordwood-explanation td.n{text-align:right;font-variant-numeric:tabular-nums}
.cordwood-explanation .note{opacity:.7;font-size:90%}
</style>"""


def render_explanation(explanation: Explanation) -> str:
    """Return an explanation as an HTML fragment."""
    return f'{_STYLE}<div class="cordwood-explanation">{_body(explanation)}</div>'


def render_list(explanations: Sequence[Explanation]) -> str:
    """Return explanations as one HTML fragment, at most twenty."""
    bodies = "<hr>".join(map(_body, explanations[:_MAX_LIST]))
    n_more = len(explanations) - _MAX_LIST
    more = f'<p class="note">and {n_more:,} more</p>' if n_more > 0 else ""
    return f'{_STYLE}<div class="cordwood-explanation">{bodies}{more}</div>'


def render_page(fragment: str, title: str) -> str:
    """Return a fragment as a complete HTML page, which follows the theme of the browser."""
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width,initial-scale=1">'
        f"<title>{escape(title)}</title>"
        "<style>:root{color-scheme:light dark}body{font-family:system-ui,sans-serif;margin:2em}"
        f"</style></head><body>{fragment}</body></html>\n"
    )


def render_class_words(found: ClassWords) -> str:
    """Return the words of each class as an HTML fragment."""
    parts = [_STYLE, '<div class="cordwood-explanation">']
    parts.append(f'<p class="note">{escape(found.note)}</p>')
    for label in found.classes:
        parts.append(f"<p><b>{escape(str(label))}</b></p><table>")
        parts.append("<tr><th></th><th>word</th><th>texts</th><th>example</th></tr>")
        for word in (*found.words_for(label), *found.words_against(label)):
            n_texts = "" if word.n_texts is None else f"{word.n_texts:,}"
            parts.append(
                _row([_number(word.contribution), escape(word.word), n_texts, escape(word.example)])
            )
        parts.append("</table>")
    return "".join([*parts, "</div>"])


def _body(explanation: Explanation) -> str:
    shown = explanation.top_classes(_MAX_CLASSES)
    columns = [explanation.class_index(label) for label in shown]
    # One scale for all classes, so that colors can be compared.
    largest = float(np.abs(explanation.word_contributions[:, columns]).max(initial=0.0))
    parts = [_head(explanation, shown, columns)]
    for label, column in zip(shown, columns, strict=True):
        values = explanation.word_contributions[:, column].tolist()
        parts.append(f'<div class="note">{escape(str(label))}</div>')
        parts.append(f'<div class="text">{_highlight(explanation, values, largest)}</div>')
    parts += [_neighbors(member, columns[0]) for member in explanation.members if member.neighbors]
    return "".join(parts)


def _head(explanation: Explanation, shown: list[Any], columns: list[int]) -> str:
    """Return the table of the contributions of the members to the most probable classes."""
    rows = [
        "<tr><th></th>" + "".join(f"<th>{escape(str(label))}</th>" for label in shown) + "</tr>"
    ]

    def add(name: str, values: Any, number: Any = _number, note: str = "") -> None:
        cells = "".join(f'<td class="n">{number(values[column])}</td>' for column in columns)
        rows.append(f'<tr><td>{name}</td>{cells}<td class="note">{escape(note)}</td></tr>')

    add("probability", explanation.proba, lambda value: f"{value:.3f}")
    if explanation.output == "log_odds":
        add("log-odds", explanation.values)
    add("baseline", explanation.baseline, note="prediction for the empty text")
    for member in explanation.members:
        add(escape(member.name), member.contributions, note=member.method)
    pairs = zip(explanation.columns.items(), explanation.column_contributions, strict=True)
    for (name, value), contributions in pairs:
        add(escape(f"{name} = {value}"), contributions, note="column")
    return f"<table>{''.join(rows)}</table>"


def _highlight(explanation: Explanation, values: list[float], largest: float) -> str:
    """Return the text with words colored by their contributions."""
    parts, end = [], 0
    text = explanation.text
    for (start, stop), value in zip(explanation.spans, values, strict=True):
        parts.append(escape(text[end:start]))
        word = escape(text[start:stop])
        if value:
            color = _FOR if value > 0 else _AGAINST
            alpha = _MAX_ALPHA * abs(value) / largest
            parts.append(
                f'<span style="background:rgba({color},{alpha:.2f})" title="{value:+.3f}">'
                f"{word}</span>"
            )
        else:
            parts.append(word)
        end = stop
    return "".join([*parts, escape(text[end:])])


def _neighbors(member: MemberExplanation, column: int) -> str:
    """Return the table of the nearest training samples of a member."""
    rows = [
        _row(
            [
                _number(neighbor.contributions[column]),
                escape(str(neighbor.label)),
                f"training sample {neighbor.index:,}, similarity {neighbor.similarity:.2f}",
                escape(", ".join(neighbor.shared_terms[:_MAX_SHARED_TERMS])),
            ]
        )
        for neighbor in member.neighbors[:_MAX_NEIGHBORS]
    ]
    title = f"{member.name}: nearest of {len(member.neighbors)} neighbors, with shared terms"
    return f'<div class="note">{escape(title)}</div><table>{"".join(rows)}</table>'


def _row(cells: list[str]) -> str:
    first, *rest = cells
    return f'<tr><td class="n">{first}</td>{"".join(f"<td>{cell}</td>" for cell in rest)}</tr>'


def _number(value: float) -> str:
    return f"{value:+.3f}"
