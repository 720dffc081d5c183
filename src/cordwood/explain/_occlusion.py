"""Attributions of any classifier of texts, by removing one word at a time."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cordwood.explain._attribution import Attribution
from cordwood.explain._path_integrals import Floats
from cordwood.explain._word_folding import Words
from cordwood.oof.proba import predict_proba

MAX_WORDS = 16
"""Words of a text that are removed at most; see docs/explanations.md."""

METHOD = (
    "approximate: change of the probability without each word, scaled to the sum; in longer texts "
    f"only the {MAX_WORDS} words whose own probabilities differ most"
)


def occlude(model: Any, texts: Sequence[str], words: Sequence[Words]) -> list[Attribution]:
    """Attribute the probabilities of texts to their words, by the difference that each makes."""
    # An encoder takes as long for a text without one word as for the text, and much less for a
    # word. All texts are predicted at once, because many have words in common.
    alone = [_list_words(each) if len(each) > MAX_WORDS else [] for each in words]
    found = _predict(model, ["", *texts, *(word for each in alone for word in each)])
    start = found[""]
    removed = [
        _find_different(np.array([found[word] for word in own]))
        if own
        else np.arange(len(each), dtype=np.intp)
        for own, each in zip(alone, words, strict=True)
    ]
    reduced = [
        [text[: span[0]] + text[span[1] :] for span in (each.spans[i] for i in chosen.tolist())]
        for text, each, chosen in zip(texts, words, removed, strict=True)
    ]
    found |= _predict(model, [text for each in reduced for text in each])
    attributions = []
    for text, each, chosen, parts in zip(texts, words, removed, reduced, strict=True):
        end = found[text] if len(each) else start
        values = np.zeros((len(each), len(start)))
        if parts:
            values[chosen] = end - np.array([found[part] for part in parts])
        attributions.append(_attribute(complete(values, end - start), start, end))
    return attributions


def freeze(model: Any, texts: Sequence[str], words: Sequence[Words]) -> list[Attribution]:
    """Attribute nothing to the words of texts, whose probabilities are constants."""
    found = _predict(model, texts)
    return [
        _attribute(np.zeros((len(each), len(found[text]))), found[text], found[text])
        for text, each in zip(texts, words, strict=True)
    ]


def _attribute(values: Floats, start: Floats, end: Floats) -> Attribution:
    columns = np.arange(len(values))
    return Attribution(columns, values, start, end, link="identity", of_words=True)


def _list_words(words: Words) -> list[str]:
    return [words.text[start:end] for start, end in words.spans]


def _predict(model: Any, texts: Sequence[str]) -> dict[str, Floats]:
    """Predict the probabilities of distinct texts."""
    distinct = list(dict.fromkeys(texts))
    if not distinct:
        return {}
    return dict(zip(distinct, predict_proba(model, distinct, model.classes_), strict=True))


def _find_different(proba: Floats) -> NDArray[np.intp]:
    """Return the positions of the words whose probabilities differ most from their mean."""
    difference = np.abs(proba - proba.mean(axis=0)).max(axis=1)
    return np.sort(np.argsort(-difference, kind="stable")[:MAX_WORDS])


def complete(values: Floats, total: Floats) -> Floats:
    """Distribute what is missing to a given sum of each column in proportion to absolute values.

    Examples
    --------
    >>> complete(np.array([[0.2], [-0.1]]), np.array([0.4]))
    array([[0.4],
           [0. ]])
    """
    missing = total - values.sum(axis=0)
    size = np.abs(values)
    sums = size.sum(axis=0)
    equal = 1 / max(len(values), 1)
    shares = np.where(sums > 0, size / np.where(sums > 0, sums, 1.0), equal)
    return np.asarray(values + shares * missing)
