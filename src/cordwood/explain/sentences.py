"""Explanations in sentences, for readers who do not know log-odds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy.special import expit

from cordwood._base.wording import format_probability

if TYPE_CHECKING:
    from cordwood.explain.explanation import Explanation, Neighbor

# At most this many words are named, and none that contributes less than this share of the largest.
_MAX_WORDS = 3
_MIN_SHARE = 0.3
_MAX_SHARED = 8


class Part(NamedTuple):
    """Part of a sentence: a word of the text, a label, or what joins them."""

    text: str
    kind: str = ""  # "word", "label", or empty


Sentence = list[Part]


def to_plain(sentence: Sentence) -> str:
    """Return a sentence as text, with words of the explained text in quotation marks."""
    return "".join(f"“{part.text}”" if part.kind == "word" else part.text for part in sentence)


def describe_prediction(explanation: Explanation) -> Sentence:
    """Say what is predicted, how sure it is, and which words are the reason."""
    if not explanation.has_evidence:
        return [Part(_describe_nothing(explanation))]
    if isinstance(explanation.prediction, tuple):
        if not explanation.prediction:
            best = explanation.top_classes(1)[0]
            sure = format_probability(explanation.proba[explanation.class_index(best)])
            return [
                Part("No label is predicted; the most probable one is "),
                Part(str(best), "label"),
                Part(f", {sure}."),
            ]
        sentences = [describe_class(explanation, label) for label in explanation.prediction]
        return [part for sentence in sentences for part in (*sentence, Part(" "))][:-1]
    return describe_class(explanation, explanation.prediction)


def describe_class(explanation: Explanation, label: Any) -> Sentence:
    """Say which words speak for a class and against it, and how sure the class is."""
    supporting, opposing = _find_words(explanation, label)
    sure = format_probability(explanation.proba[explanation.class_index(label)])
    sentence = _join_words(supporting) or [Part("No word")]
    predicate = " speak for " if len(supporting) > 1 else " speaks for "
    sentence += [Part(predicate), Part(str(label), "label"), Part(f"; {sure} sure.")]
    if opposing:
        predicate = " speak against it." if len(opposing) > 1 else " speaks against it."
        sentence += [Part(" "), *_join_words(opposing), Part(predicate)]
    return sentence


def describe_runner_up(explanation: Explanation) -> Sentence | None:
    """Say which class is the next, and what speaks for it; None if there is no evidence."""
    predicted = explanation.prediction
    chosen = predicted if isinstance(predicted, tuple) else (predicted,)
    others = [each for each in explanation.top_classes(len(chosen) + 1) if each not in chosen]
    if not explanation.has_evidence or not others:
        return None
    [label, *_] = others
    proba = explanation.proba[explanation.class_index(label)]
    supporting, _ = _find_words(explanation, label)
    words = _join_words(supporting) or [Part("no word")]
    predicate = "speak" if len(supporting) > 1 else "speaks"
    sentence = [
        Part(str(label), "label"),
        Part(f", {format_probability(proba)}: "),
        *words,
        Part(f" {predicate} for it."),
    ]
    if chosen and proba > explanation.proba[explanation.class_index()]:
        sentence.append(Part(" It is more probable, but the decision of the model is another."))
    return sentence


def list_shared_words(neighbor: Neighbor) -> list[str]:
    """Return what a training sample shares with the text, without punctuation, the first eight."""
    return [term for term in neighbor.shared_terms if any(map(str.isalnum, term))][:_MAX_SHARED]


def _describe_nothing(explanation: Explanation) -> str:
    """Say that there is nothing to explain."""
    start = explanation.baseline
    proba = expit(start) if explanation.output == "log_odds" else start
    index = int(np.argmax(proba))
    guess = f"{explanation.classes[index]}, {format_probability(proba[index])}"
    is_empty = not explanation.text.strip()
    reason = "The text is empty" if is_empty else "The model knows no word of it"
    return f"No words, no label. {reason}; without any text, the guess would be {guess}."


def _find_words(explanation: Explanation, label: Any) -> tuple[list[str], list[str]]:
    """Return the words and columns that speak for a class, and those against it."""
    found = [*explanation.top_words(label), *explanation.top_columns(label)]
    # A single punctuation mark means little to a reader; longer ones are emoticons.
    found = [pair for pair in found if len(pair[0]) > 1 or pair[0].isalnum()] or found
    found.sort(key=lambda pair: -abs(pair[1]))
    least = _MIN_SHARE * max((abs(value) for _, value in found), default=0.0)
    supporting = [name for name, value in found if value > 0 and value >= least]
    opposing = [name for name, value in found if value < 0 and -value >= least]
    return supporting[:_MAX_WORDS], opposing[:_MAX_WORDS]


def _join_words(words: list[str]) -> Sentence:
    parts: Sentence = []
    for number, word in enumerate(words):
        if number:
            parts.append(Part(" and " if number == len(words) - 1 else ", "))
        parts.append(Part(word, "word"))
    return parts
