"""HTML of explanations: self-contained fragments for notebooks and web pages.

Colors are translucent, so that they suit light and dark themes: blue speaks for a class, orange
against it, which color-blind readers can distinguish. Nothing depends on colors alone:
words against the class are underlined, strong ones are bold. The text itself can be copied.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from importlib.resources import files
from typing import TYPE_CHECKING, Any

import numpy as np

from cordwood._base.wording import shorten, show_label
from cordwood.explain.sentences import (
    Sentence,
    describe_prediction,
    describe_runner_up,
    list_shared_words,
)

if TYPE_CHECKING:
    from cordwood.explain.class_words import ClassWord, ClassWords
    from cordwood.explain.explanation import Explanation, MemberExplanation, Neighbor

_FOR, _AGAINST = "46,125,220", "230,120,20"
_MAX_ALPHA = 0.6
# Shares of the largest contribution: fainter colors only distract, and from here words are bold.
_MIN_SHOWN, _STRONG = 0.08, 0.5
_MAX_CLASSES = 3
_MAX_NEIGHBORS = 3
_MAX_LIST = 20
_MAX_TRAINING_TEXT = 2000

_STYLE = (
    f"<style>\n{files('cordwood.explain').joinpath('explanation.css').read_text('utf-8')}</style>"
)


def render_list(explanations: Sequence[Explanation]) -> str:
    """Return explanations as one HTML fragment, at most twenty."""
    shown = explanations[:_MAX_LIST]
    first = next((number for number, each in enumerate(shown) if each.has_evidence), -1)
    bodies = "".join(_body(each, has_legend=i == first) for i, each in enumerate(shown))
    n_more = len(explanations) - _MAX_LIST
    more = f'<p class="note">and {n_more:,} more</p>' if n_more > 0 else ""
    return f'{_STYLE}<div class="cordwood-explanation">{bodies}{more}</div>'


def render_page(fragment: str, title: str) -> str:
    """Return a fragment as a complete HTML page, which follows the theme of the browser."""
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width,initial-scale=1">'
        f"<title>{escape(title)}</title>"
        "<style>:root{color-scheme:light dark}body{font-family:system-ui,sans-serif;"
        "margin:2em auto;padding:0 1.2em;max-width:60em}h1{font-size:150%;line-height:1.25;"
        f"overflow-wrap:anywhere}}</style></head><body><h1>{escape(title)}</h1>{fragment}"
        "</body></html>\n"
    )


def render_class_words(found: ClassWords) -> str:
    """Return the words of each class as an HTML fragment."""
    parts = [_STYLE, '<div class="cordwood-explanation">']
    parts.append(f'<p class="note">{escape(found.note)}</p>')
    for label in found.classes:
        words = (*found.words_for(label), *found.words_against(label))
        parts.append(f"<h2>{_label(label)}</h2>{_class_table(words)}")
    return "".join([*parts, "</div>"])


def _class_table(words: Sequence[ClassWord]) -> str:
    """Return the table of the words of one class, without columns that are empty."""
    columns: dict[str, list[str]] = {
        "": [_number(word.contribution) for word in words],
        "word": [escape(word.word) for word in words],
        "texts": ["" if word.n_texts is None else f"{word.n_texts:,}" for word in words],
        "example": [escape(word.example) for word in words],
    }
    columns = {name: cells for name, cells in columns.items() if any(cells)}
    head = "".join(f"<th>{name}</th>" for name in columns)
    rows = "".join(map(_row, zip(*columns.values(), strict=True)))
    return f'<div class="scroll"><table><tr>{head}</tr>{rows}</table></div>'


def _body(explanation: Explanation, *, has_legend: bool) -> str:
    """Return one explanation: the text, sentences, similar texts, and the numbers in a fold."""
    shown = explanation.top_classes(_MAX_CLASSES)
    columns = [explanation.class_index(label) for label in shown]
    # One scale for all classes, so that colors can be compared.
    largest = float(np.abs(explanation.word_contributions[:, columns]).max(initial=0.0))
    column = explanation.class_index()
    parts = [_facts(explanation), _text(explanation, column)]
    parts.append(f"<p>{_sentence(describe_prediction(explanation))}</p>")
    if has_legend:
        parts.append(_legend(explanation.classes[column]))
    if (runner_up := describe_runner_up(explanation)) is not None:
        parts.append(f"<h3>Runner-up</h3><p>{_sentence(runner_up)}</p>")
    parts.append(_similar_texts(explanation.neighbors))
    parts.append(f"<details><summary>Numbers</summary>{_table(explanation, shown, columns)}")
    for label, each in zip(shown, columns, strict=True):
        parts.append(f'<div class="note">Words for and against {_label(label)}</div>')
        parts.append(_text(explanation, each, largest))
    parts += [_neighbors(member, columns[0]) for member in explanation.members if member.neighbors]
    return f"<article>{''.join(parts)}</details></article>"


def _facts(explanation: Explanation) -> str:
    """Return the id and the true label, where they are known."""
    facts = [] if explanation.id is None else [f"id {explanation.id}"]
    if explanation.label is not None:
        facts.append(f"true label {_join_labels(explanation.label)}")
        given = explanation.label
        is_correct = (
            set(map(str, given)) == set(map(str, explanation.prediction))
            if isinstance(given, tuple) and isinstance(explanation.prediction, tuple)
            else str(given) == str(explanation.prediction)
        )
        if explanation.has_evidence:
            facts.append("predicted correctly" if is_correct else "predicted wrongly")
    return f'<p class="note">{escape(" · ".join(facts))}</p>' if facts else ""


def _join_labels(label: Any) -> str:
    return ", ".join(map(show_label, label if isinstance(label, tuple) else (label,)))


def _label(label: Any) -> str:
    return escape(show_label(label))


def _sentence(parts: Sentence) -> str:
    tags = {"word": "em", "label": "strong"}
    return "".join(
        f"<{tags[part.kind]}>{_label(part.text)}</{tags[part.kind]}>"
        if part.kind
        else escape(part.text)
        for part in parts
    )


def _legend(label: Any) -> str:
    return (
        f'<p class="legend note"><span style="background:rgba({_FOR},{_MAX_ALPHA})">blue</span> '
        f'speaks for {_label(label)}, <span class="against" style="background:'
        f'rgba({_AGAINST},{_MAX_ALPHA})">orange and underlined</span> against it; the stronger '
        "the color, the more, and the strongest words are bold.</p>"
    )


def _similar_texts(neighbors: Sequence[Neighbor]) -> str:
    """Return the most similar training samples: their texts, or what is known without these."""
    if not neighbors:
        return ""
    items = []
    for neighbor in neighbors[:_MAX_NEIGHBORS]:
        name = f"number {neighbor.index + 1:,}" if neighbor.id is None else neighbor.id
        shared = ", ".join(list_shared_words(neighbor))
        facts = f"training text {name}" + (f"; in common: {shared}" if shared else "")
        text = ""
        if neighbor.text is not None:
            text = f"<q>{escape(shorten(neighbor.text, _MAX_TRAINING_TEXT, '…'))}</q><br>"
        items.append(
            f"<li><strong>{_label(neighbor.label)}</strong>: {text}"
            f'<span class="note">{escape(facts)}</span></li>'
        )
    note = ""
    if neighbors[0].text is None:
        note = (
            '<p class="note">The model contains no training texts. Give them to read them here: '
            "<code>--training FILE</code>, or <code>explain(texts, training=...)</code>.</p>"
        )
    return f"<h3>Similar training texts</h3><ul>{''.join(items)}</ul>{note}"


def _table(explanation: Explanation, shown: list[Any], columns: list[int]) -> str:
    """Return the table of the contributions of the members to the most probable classes."""
    rows = ["<tr><th></th>" + "".join(f"<th>{_label(label)}</th>" for label in shown) + "</tr>"]

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
    return f'<div class="scroll"><table>{"".join(rows)}</table></div>'


def _text(explanation: Explanation, column: int, largest: float | None = None) -> str:
    """Return the text with words colored by their contributions to a class."""
    text = explanation.text
    values = explanation.word_contributions[:, column].tolist()
    if largest is None:
        largest = max(map(abs, values), default=0.0)
    if not text.strip():
        return '<div class="text" dir="auto"><span class="note">(no text)</span></div>'
    parts, end = [], 0
    for (start, stop), value in zip(explanation.spans, values, strict=True):
        parts.append(escape(text[end:start]))
        word = escape(text[start:stop])
        share = abs(value) / (largest or 1.0)
        if share >= _MIN_SHOWN:
            color, name = (_FOR, "for") if value > 0 else (_AGAINST, "against")
            name += " strong" if share >= _STRONG else ""
            parts.append(
                f'<span class="{name}" style="background:rgba({color},{_MAX_ALPHA * share:.2f})" '
                f'title="{value:+.3f}">{word}</span>'
            )
        else:
            parts.append(word)
        end = stop
    return f'<div class="text" dir="auto">{"".join([*parts, escape(text[end:])])}</div>'


def _neighbors(member: MemberExplanation, column: int) -> str:
    """Return the table of the nearest training samples of a member."""
    rows = [
        _row(
            [
                _number(neighbor.contributions[column]),
                _label(neighbor.label),
                f"number {neighbor.index + 1:,}, similarity {neighbor.similarity:.2f}",
            ]
        )
        for neighbor in member.neighbors[:_MAX_NEIGHBORS]
    ]
    title = f"{member.name}: nearest of {len(member.neighbors)} training samples"
    return f'<div class="note">{escape(title)}</div><table>{"".join(rows)}</table>'


def _row(cells: Sequence[str]) -> str:
    first, *rest = cells
    return f'<tr><td class="n">{first}</td>{"".join(f"<td>{cell}</td>" for cell in rest)}</tr>'


def _number(value: float) -> str:
    return f"{value:+.3f}"
