"""Words that give the label away: almost only in one class, and not because of its subject."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import bdtrc
from sklearn.feature_extraction.text import CountVectorizer

# Share of the texts with a word that are in one class. Not 1, because labels may be wrong.
_MIN_PRECISION = 0.95
_MIN_TEXTS = 5
# Share of the texts of the class that contain the word: of metadata, and of ordinary words.
_MIN_RECALL_OF_METADATA = 0.05
_MIN_RECALL = 0.5
# Expected number of words that are as concentrated in one class by chance.
_MAX_CHANCE = 0.01
_MAX_WORDS = 20
# Texts with headers have them at the start, and signatures at the end.
_MAX_TOKENS = 2000

_PUNCTUATION = "()[]{}<>\"'`.,;!?*\u201c\u201d\u2018\u2019\u00ab\u00bb\u2026"

# Tried in this order.
_METADATA = {
    "URL": re.compile(r"(?:https?://|www\.)\S+", re.I),
    "e-mail address": re.compile(r"[^@\s]+@[^@\s]+\.\w+"),
    "user name": re.compile(r"@\w+"),
    "date": re.compile(r"\d{4}[-/.]\d{1,2}[-/.]\d{1,2}\S*|\d{1,2}[-/.]\d{1,2}[-/.]\d{2,4}"),
    "number": re.compile(r"[-+#$\u20ac\u00a3]?\d[\d.,:/%-]*"),
    "header": re.compile(r"[A-Z][\w-]*:"),
    "id": re.compile(r"(?=[^\W\d]*\d)(?=\d*[^\W\d])[\w.:/-]{4,}|\w+_\w+"),
}


@dataclass(frozen=True, kw_only=True)
class RevealingWord:
    """A word that almost only texts of one class contain.

    Parameters
    ----------
    word : str
        The word, as it is spelled in the texts.
    kind : str
        What it looks like: "URL", "e-mail address", "user name", "date", "number", "header", "id"
        or "word".
    label : object
        The class.
    n_texts_in_class : int
        Number of texts of the class that contain the word.
    n_texts : int
        Number of all texts that contain the word.
    class_size : int
        Number of texts of the class.
    """

    word: str
    kind: str
    label: Any
    n_texts_in_class: int
    n_texts: int
    class_size: int


def find_revealing_words(
    texts: Sequence[str], y: NDArray[np.intp], classes: NDArray[Any]
) -> tuple[RevealingWord, ...]:
    """Find words that give the label away, the most frequent first."""
    vectorizer = CountVectorizer(analyzer=_split, binary=True)
    try:
        X = vectorizer.fit_transform(texts)
    except ValueError:  # no words
        return ()
    sizes = np.bincount(y, minlength=len(classes))
    counts = np.vstack(
        [np.bincount(X[y == k].indices, minlength=X.shape[1]) for k in range(len(sizes))]
    )
    n_texts = counts.sum(axis=0)
    best = counts.argmax(axis=0)
    n_best = counts.max(axis=0)
    recall = n_best / sizes[best]
    # With few texts of few classes, words are concentrated in one class by chance: the binomial
    # test, with the Bonferroni correction for the number of words, must reject this.
    chance = bdtrc(n_best - 1, n_texts, sizes[best] / len(y)) * len(n_texts)
    is_candidate = (
        (n_best >= _MIN_PRECISION * n_texts)
        & (n_best >= _MIN_TEXTS)
        & (recall >= _MIN_RECALL_OF_METADATA)
        & (chance < _MAX_CHANCE)
    )
    names = vectorizer.get_feature_names_out()
    labels = classes.tolist()
    found = [
        RevealingWord(
            word=str(names[i]),
            kind=kind,
            label=labels[best[i]],
            n_texts_in_class=int(n_best[i]),
            n_texts=int(n_texts[i]),
            class_size=int(sizes[best[i]]),
        )
        for i in np.flatnonzero(is_candidate)
        for kind in [_find_kind(str(names[i]))]
        if kind != "word" or recall[i] >= _MIN_RECALL
    ]
    return tuple(sorted(found, key=lambda word: -word.n_texts_in_class)[:_MAX_WORDS])


def _split(text: str) -> Iterator[str]:
    """Yield tokens without punctuation at their ends; emoticons are kept."""
    for token in text.split()[:_MAX_TOKENS]:
        yield token.strip(_PUNCTUATION) or token


def _find_kind(word: str) -> str:
    return next((kind for kind, pattern in _METADATA.items() if pattern.fullmatch(word)), "word")
