"""Suggestions before the first label: classes whose names and descriptions have words of a text."""

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from cordwood.classifier.class_names import to_words

_WORD = re.compile(r"[^\W_]+")


class WordOverlap:
    """Compares texts with the words of classes; words that are rare in the texts count more.

    Examples
    --------
    >>> overlap = WordOverlap({"delivery": "late, parcel", "price": None}, ["a late parcel", "hi"])
    >>> found = overlap.suggest("The parcel was late")
    >>> found["labels"][0]["label"], [word["start"] for word in found["words"]]
    ('delivery', [4, 15])
    """

    def __init__(self, descriptions: Mapping[str, str | None], texts: Iterable[str]) -> None:
        self._words = {
            label: set(_split(f"{to_words(label)} {description or ''}"))
            for label, description in descriptions.items()
        }
        counts: Counter[str] = Counter()
        n_texts = 0
        for text in texts:
            counts.update(set(_split(text)))
            n_texts += 1
        self._weights = {
            word: math.log((1 + n_texts) / (1 + counts[word])) + 0.01
            for words in self._words.values()
            for word in words
        }

    def suggest(self, text: str) -> dict[str, Any] | None:
        """Suggest the class with most words of a text; None if none has any."""
        found = [
            (match.span(), match[0].casefold())
            for match in _WORD.finditer(text)
            if match[0].casefold() in self._weights
        ]
        present = {word for _, word in found}
        scores = {
            label: sum(self._weights[word] for word in words & present)
            for label, words in self._words.items()
        }
        best = max(scores, key=scores.__getitem__, default=None)
        if best is None or not scores[best]:
            return None
        largest = max(self._weights[word] for word in present & self._words[best])
        words = [
            {"start": start, "end": end, "share": self._weights[word] / largest, "label": best}
            for (start, end), word in found
            if word in self._words[best]
        ]
        labels = [{"label": best, "probability": None}]
        return {"source": "classes", "labels": labels, "words": words}


def _split(text: str) -> list[str]:
    return [word.casefold() for word in _WORD.findall(text)]
