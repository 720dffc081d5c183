"""Attributions of any classifier of texts, by removing one word at a time."""

from typing import Any

import numpy as np

from cordwood.explain._attribution import Attribution
from cordwood.explain._path_integrals import Floats
from cordwood.explain._word_folding import Words
from cordwood.oof.proba import predict_proba

METHOD = "approximate: change of the probability without each word, scaled to the sum"


def occlude(model: Any, text: str, words: Words) -> Attribution:
    """Attribute the probabilities of a text to its words, by the difference that each makes."""
    reduced = [text[:start] + text[end:] for start, end in words.spans]
    proba = predict_proba(model, ["", text, *reduced], model.classes_)
    start, end, without = proba[0], proba[1], proba[2:]
    return Attribution(
        columns=np.arange(len(words)),
        values=complete(end - without, end - start),
        start=start,
        end=end if len(words) else start,
        link="identity",
        of_words=True,
    )


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
