"""Shift between the training texts and new texts: terms whose frequency differs.

If new texts are drawn like the training texts, the texts with a term are divided between the two at
random. A term whose division is less probable than chance explains, among all terms, shows that the
texts differ: in time, in source, or in the shares of the classes.
"""

import math
import random
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import bdtr, bdtrc

from cordwood.text.analyzer import build_analyzer
from cordwood.text.counting import count_terms
from cordwood.text.vectorizer import TextVectorizer

# Probability that texts drawn like the training texts are found to differ.
_LEVEL = 0.01
# New texts that are compared, at random; more would take as long as their prediction.
_MAX_TEXTS = 2000
_N_SHOWN = 3


class ShiftedTerm(NamedTuple):
    """A term that is more frequent or less frequent in new texts than in the training texts."""

    term: str
    share: float  # of the new texts that contain it
    training_share: float  # at most, for a term that is not in the vocabulary


@dataclass(frozen=True)
class DatasetShift:
    """How new texts differ from the training texts.

    Parameters
    ----------
    terms : tuple of ShiftedTerm
        Terms whose frequency differs by more than chance explains, the most significant first.
    n_texts : int
        Number of new texts that were compared.
    """

    terms: tuple[ShiftedTerm, ...]
    n_texts: int

    def __str__(self) -> str:
        first, *others = [
            f"{each.term!r}{{}} in {_percent(each.share)}{{}} instead of "
            f"{_percent(each.training_share)}"
            for each in self.terms[:_N_SHOWN]
        ]
        shown = [first.format(" is", " of them"), *(each.format("", "") for each in others)]
        return f"the texts differ from the training texts: {', '.join(shown)}"


@dataclass
class ShiftDetector:
    """Compares texts, which may come in parts, with the training texts."""

    vectorizer: TextVectorizer
    frequencies: NDArray[np.int32]  # number of training texts with each term of the vocabulary
    n_training: int
    _texts: list[str] = field(default_factory=list, init=False)
    _n_added: int = field(default=0, init=False)
    _random: random.Random = field(default_factory=lambda: random.Random(0), init=False)

    def add(self, texts: Iterable[str]) -> None:
        """Add new texts; a random sample of all of them is kept (reservoir sampling)."""
        for text in texts:
            self._n_added += 1
            if len(self._texts) < _MAX_TEXTS:
                self._texts.append(text)
            elif (position := self._random.randrange(self._n_added)) < _MAX_TEXTS:
                self._texts[position] = text

    def detect(self) -> DatasetShift | None:
        """Return how the texts differ from the training texts; None if chance explains it."""
        n_texts, n_training = len(self._texts), self.n_training
        if not n_texts:
            return None
        terms, before, after = self._count()
        is_known = np.arange(len(terms)) < len(self.frequencies)
        p_values = shift_p_values(before, after, n_texts / (n_texts + n_training), is_known)
        share, training_share = after / n_texts, before / n_training
        found = np.flatnonzero(p_values <= _LEVEL)
        order = np.lexsort([-np.abs(share - training_share)[found], p_values[found]])
        shifted = [
            ShiftedTerm(terms[i], float(share[i]), float(training_share[i])) for i in found[order]
        ]
        return DatasetShift(tuple(shifted), n_texts) if shifted else None

    def _count(self) -> tuple[list[str], NDArray[np.int64], NDArray[np.int64]]:
        """Return terms, and the numbers of training and of new texts with them.

        The terms of the vocabulary are followed by those of new texts only.
        """
        params, vocabulary = self.vectorizer.resolved_params_, self.vectorizer.vocabulary_
        found = count_terms(self._texts, build_analyzer(params))
        names = found.term_names(np.arange(found.counts.shape[1]))
        columns = np.array([vocabulary.get(name, -1) for name in names], np.intp)
        n_texts = np.bincount(found.counts.indices, minlength=len(names))
        known = np.zeros(len(self.frequencies), np.int64)
        known[columns[columns >= 0]] = n_texts[columns >= 0]
        # Frequent terms are not in the vocabulary either if it has a limit.
        has_limit = params.max_features is not None or params.max_df != 1.0
        new = np.flatnonzero(columns < 0)[: 0 if has_limit else None]
        min_df = params.min_df
        least = min_df * self.n_training if isinstance(min_df, float) else min_df
        before = np.append(self.frequencies, np.full(len(new), max(math.ceil(least) - 1, 0)))
        terms = [*self.vectorizer.get_feature_names_out(), *(names[i] for i in new)]
        return terms, before, np.append(known, n_texts[new])


def shift_p_values(
    before: NDArray[np.int64],
    after: NDArray[np.int64],
    share: float,
    is_known: NDArray[np.bool_],
) -> NDArray[np.float64]:
    """Return p-values of the frequencies of terms, corrected for their number (Bonferroni).

    Of the texts with a term, `before` are training texts and `after` new ones; `share` of all texts
    are new. For terms that are not known, `before` is a limit, so that they may only be too
    frequent. A binomial test, which is conservative: texts are drawn without replacement.
    """
    total = before + after
    too_many = np.where(after > 0, bdtrc(after - 1, total, share), 1.0)
    too_few = np.where(is_known, bdtr(after, total, share), 1.0)
    return np.asarray(2 * len(total) * np.minimum(too_many, too_few))


def _percent(share: float) -> str:
    return f"{share:.0%}" if share >= 0.1 else f"{share:.1%}"
