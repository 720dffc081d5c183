"""Words that argue for and against each class, over many texts or the whole vocabulary."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import logit

from cordwood._base.csr import to_csr
from cordwood._base.param_validation import check_number
from cordwood._view import ModelView
from cordwood.exceptions import CordwoodError, DataError
from cordwood.explain._path_integrals import Floats
from cordwood.explain._term_spans import TermLocator
from cordwood.explain.explainer import Explainer, check_texts
from cordwood.explain.explanation import Explanation, find_class
from cordwood.explain.html import render_class_words
from cordwood.neighbors.base import BaseNeighborsClassifier
from cordwood.oof.folds import make_folds
from cordwood.oof.proba import align_columns
from cordwood.text.vectorizer import TextVectorizer

_EXAMPLE_LENGTH = 80
_FOLD_SEED = 0
# Words of the vocabulary are ranked as if this many more texts had shown no contribution; see
# docs/explanations.md.
_PRIOR_TEXTS = 10
_BATCH_SIZE = 1000
# Probabilities of zero and one have no finite log-odds.
_MIN_PROBABILITY = 1e-12

Progress = Callable[[int, int | None], None]


@dataclass(frozen=True, kw_only=True)
class ClassWord:
    """A word and its contribution to a class.

    Parameters
    ----------
    word : str
        The word, in lower case.
    contribution : float
        Mean contribution in the texts that contain the word; without texts, the change of the
        output by a text that consists of this word.
    n_texts : int or None
        Number of texts that contain the word; None if it is unknown.
    example : str
        Part of the text in which the contribution is largest, or of a training text that is mainly
        about the word; empty if neither is given.
    """

    word: str
    contribution: float
    n_texts: int | None
    example: str


@dataclass(frozen=True, kw_only=True)
class ClassWords:
    """Words that argue for and against each class.

    Parameters
    ----------
    classes : ndarray of shape (n_classes,)
        Class labels of the model.
    output : {"log_odds", "probability"}
        Quantity that contributions are part of.
    note : str
        How the words were found.
    positive, negative : list of tuple of ClassWord
        Words for and against each class, the strongest first.

    Examples
    --------
    >>> from cordwood import TextClassifier
    >>> texts = ["good film", "great film", "bad film", "awful film"] * 5
    >>> labels = ["+", "+", "-", "-"] * 5
    >>> words = TextClassifier("nbsvm").fit(texts, labels).explain_classes(texts, labels)
    >>> [word.word for word in words.words_for("+")[:2]]
    ['great', 'good']
    """

    classes: NDArray[Any]
    output: str
    note: str
    positive: list[tuple[ClassWord, ...]]
    negative: list[tuple[ClassWord, ...]]

    def words_for(self, label: Any) -> tuple[ClassWord, ...]:
        """Return the words that argue for a class, the strongest first.

        Parameters
        ----------
        label : object
            One of `classes`.

        Returns
        -------
        tuple of ClassWord
        """
        return self.positive[find_class(self.classes, label)]

    def words_against(self, label: Any) -> tuple[ClassWord, ...]:
        """Return the words that argue against a class, the strongest first.

        Parameters
        ----------
        label : object
            One of `classes`.

        Returns
        -------
        tuple of ClassWord
        """
        return self.negative[find_class(self.classes, label)]

    def to_dict(self) -> dict[str, Any]:
        """Convert to built-in types that `json.dumps` accepts.

        Returns
        -------
        dict
        """
        labels = self.classes.tolist()
        return {
            "output": self.output,
            "note": self.note,
            "classes": [
                {
                    "label": label,
                    "for": [vars(word).copy() for word in positive],
                    "against": [vars(word).copy() for word in negative],
                }
                for label, positive, negative in zip(
                    labels, self.positive, self.negative, strict=True
                )
            ],
        }

    def _repr_html_(self) -> str:
        return render_class_words(self)


def explain_classes(
    explainer: Explainer,
    texts: Iterable[str] | None,
    labels: ArrayLike | None,
    *,
    refit: Callable[[list[str], NDArray[Any]], Explainer],
    training: Any,
    cv: int,
    n_words: int,
    min_texts: int,
    progress: Progress | None,
) -> ClassWords:
    """Find the words that argue for and against each class; see `TextClassifier`.

    With labels, each text is explained by an explainer that `refit` fits on the texts of other
    folds.
    """
    if explainer.takes_table:
        raise CordwoodError(
            "only models of texts have words of classes; explain rows of a table with explain"
        )
    if texts is None:
        if labels is not None:
            raise ValueError("y requires X; pass both or none")
        found = _explain_vocabulary(explainer, n_words, min_texts, progress)
        if training is None:
            return found
        return _add_examples(found, explainer.view, list(check_texts(training)))
    totals = _WordTotals(explainer.classes)
    values: Any = getattr(texts, "texts", texts)
    how = ""
    if labels is None:
        n_texts = len(values) if hasattr(values, "__len__") else None
        explanations = explainer.explain_each(check_texts(values))
    else:
        values = list(check_texts(values))
        n_texts = len(values)
        explanations = _explain_out_of_fold(explainer, values, np.asarray(labels), cv, refit)
        how = ", each explained by a model that was not trained on it"
    for done, explanation in enumerate(explanations, start=1):
        totals.add(explanation)
        if progress is not None:
            progress(done, n_texts)
    if not totals.n_texts:
        raise DataError("there are no texts to explain; pass at least one")
    note = (
        f"mean contributions to the {explanation.output.replace('_', '-')} in {totals.n_texts:,} "
        f"texts{how}; words in fewer than {min_texts} of them are omitted"
    )
    return _select(
        explainer.classes, explanation.output, note, totals.summarize(min_texts), n_words
    )


def _explain_out_of_fold(
    explainer: Explainer,
    texts: list[str],
    labels: NDArray[Any],
    cv: int,
    refit: Callable[[list[str], NDArray[Any]], Explainer],
) -> Iterator[Explanation]:
    """Explain each text by a model that is fitted on the texts of other folds."""
    check_number("cv", cv, 2)
    if labels.shape != (len(texts),):
        raise ValueError(
            f"y must have one label per text; got {len(texts)} texts and labels of shape "
            f"{labels.shape}"
        )
    if unknown := set(labels.tolist()) - set(explainer.classes.tolist()):
        raise DataError(
            f"y contains {next(iter(unknown))!r}, which is no class of the model; pass its "
            "training texts"
        )
    codes = np.unique(labels, return_inverse=True)[1]
    for train, test in make_folds(cv, codes, None, _FOLD_SEED):
        fitted = refit([texts[i] for i in train.tolist()], labels[train])
        yield from fitted.explain_each([texts[i] for i in test.tolist()])


class _WordTable(NamedTuple):
    """Words and their contributions.

    Parameters
    ----------
    words : list of str
    contributions : float64 array of shape (n_words, n_classes)
    ranks : float64 array of shape (n_words, n_classes)
        Words are selected by the largest and the smallest ranks.
    n_texts : list of int or None
    examples : list of str
    """

    words: list[str]
    contributions: Floats
    ranks: Floats
    n_texts: Sequence[int | None]
    examples: list[str]


class _WordTotals:
    """Sums of the contributions of words over texts."""

    def __init__(self, classes: NDArray[Any]) -> None:
        self.n_texts = 0
        self._classes = classes
        self._sums: dict[str, Floats] = {}
        self._counts: dict[str, int] = {}
        # By word: the largest absolute contribution in a text, to each class, and the text.
        self._largest: dict[str, tuple[float, str]] = {}

    def add(self, explanation: Explanation) -> None:
        """Add the explanation of one text."""
        text, words, spans = explanation.text, explanation.words, explanation.spans
        contributions = explanation.word_contributions
        if len(explanation.classes) < len(self._classes):  # a fold may lack a class
            contributions = align_columns(contributions, explanation.classes, self._classes)
        self.n_texts += 1
        found: dict[str, tuple[Floats, tuple[int, int]]] = {}
        for word, span, values in zip(words, spans, contributions, strict=True):
            key = word.lower()
            found[key] = (found[key][0] + values, found[key][1]) if key in found else (values, span)
        for key, (values, span) in found.items():
            self._sums[key] = self._sums.get(key, 0.0) + values
            self._counts[key] = self._counts.get(key, 0) + 1
            size = float(np.abs(values).max())
            if size > self._largest.get(key, (-1.0, ""))[0]:
                self._largest[key] = size, _excerpt(text, span)

    def summarize(self, min_texts: int) -> _WordTable:
        """Return the mean contributions of words, ranked by their sums."""
        words = [word for word, n in self._counts.items() if n >= min_texts]
        sums = np.array([self._sums[word] for word in words]).reshape(-1, len(self._classes))
        counts = np.array([self._counts[word] for word in words]).reshape(-1, 1)
        examples = [self._largest[word][1] for word in words]
        return _WordTable(words, sums / counts, sums, counts[:, 0].tolist(), examples)


def _explain_vocabulary(
    explainer: Explainer, n_words: int, min_texts: int, progress: Progress | None
) -> ClassWords:
    """Explain each word of the vocabulary as a text of its own."""
    model = explainer.view.whole
    counts = _count_training_texts(explainer.view)
    has_counts = bool(counts)
    words = [word for word, n in counts.items() if n >= min_texts] or _list_words(explainer.view)
    if not words:
        raise CordwoodError(
            "the model has no vocabulary of words; pass texts to explain its classes"
        )
    blocks = []
    for first in range(0, len(words), _BATCH_SIZE):
        blocks.append(model.predict_proba(words[first : first + _BATCH_SIZE]))
        if progress is not None:
            progress(min(first + _BATCH_SIZE, len(words)), len(words))
    output = explainer.explain("").output
    transform = _to_log_odds if output == "log_odds" else np.asarray
    change = transform(np.vstack(blocks)) - transform(model.predict_proba([""]))
    omitted = f"; words in fewer than {min_texts} training texts are omitted" if has_counts else ""
    note = (
        f"change of the {output.replace('_', '-')} by a text of this word alone, for "
        f"{len(words):,} words of the vocabulary{omitted}"
    )
    n_texts = [counts.get(word) for word in words]
    ranks = change
    if has_counts:
        frequency = np.array([counts.get(word, 0) for word in words], np.float64)[:, None]
        ranks = change * (frequency / (frequency + _PRIOR_TEXTS))
    table = _WordTable(words, change, ranks, n_texts, [""] * len(words))
    return _select(explainer.classes, output, note, table, n_words)


def _add_examples(found: ClassWords, view: ModelView, texts: list[str]) -> ClassWords:
    """Add an example of each word: of all texts, the one of which it is the largest part."""
    words = {word.word for each in (*found.positive, *found.negative) for word in each}
    examples: dict[str, str] = {}
    for vectorizer in _list_word_vectorizers(view):
        counts = to_csr(vectorizer.transform(texts)).tocsc()
        locate = TermLocator(vectorizer).locate
        for word in [word for word in words - examples.keys() if word in vectorizer.vocabulary_]:
            column = vectorizer.vocabulary_[word]
            start, end = counts.indptr[column : column + 2].tolist()
            if start == end:
                continue
            text = texts[counts.indices[start + int(np.argmax(counts.data[start:end]))]]
            spans = [each.spans[0] for each in locate(text) if each.term == word]
            if spans:
                examples[word] = _excerpt(text, spans[0])

    def complete(by_class: list[tuple[ClassWord, ...]]) -> list[tuple[ClassWord, ...]]:
        return [
            tuple(replace(word, example=examples.get(word.word, "")) for word in each)
            for each in by_class
        ]

    return replace(found, positive=complete(found.positive), negative=complete(found.negative))


def _to_log_odds(proba: Any) -> Floats:
    return np.asarray(logit(np.clip(proba, _MIN_PROBABILITY, 1 - _MIN_PROBABILITY)))


def _list_words(view: ModelView) -> list[str]:
    """List the words in the vocabularies of all members."""
    words = {
        term
        for vectorizer in _list_word_vectorizers(view)
        for term in vectorizer.vocabulary_
        if " " not in term
    }
    return sorted(words)


def _list_word_vectorizers(view: ModelView) -> list[TextVectorizer]:
    return [
        vectorizer
        for vectorizer in view.vectorizers
        if isinstance(vectorizer, TextVectorizer) and vectorizer.resolved_params_.analyzer == "word"
    ]


def _count_training_texts(view: ModelView) -> dict[str, int]:
    """Count the training texts that contain each word, if a member stores them."""
    for member in view.members:
        parts = member.vectorizers
        if len(parts) == 1 and isinstance(member.classifier, BaseNeighborsClassifier):
            n_texts = np.bincount(
                member.classifier.get_training_samples().indices,
                minlength=member.classifier.n_features_in_,
            )
            return {
                term: int(n_texts[column])
                for term, column in parts[0].vocabulary_.items()
                if " " not in term
            }
    return {}


def _select(
    classes: NDArray[Any], output: str, note: str, table: _WordTable, n_words: int
) -> ClassWords:
    """Select the words of the largest and of the smallest rank for each class."""

    def take(column: int, sign: int) -> tuple[ClassWord, ...]:
        ranks = sign * table.ranks[:, column]
        order = np.argsort(-ranks, kind="stable")[:n_words].tolist()
        return tuple(
            ClassWord(
                word=table.words[i],
                contribution=float(table.contributions[i, column]),
                n_texts=table.n_texts[i],
                example=table.examples[i],
            )
            for i in order
            if ranks[i] > 0
        )

    columns = range(len(classes))
    return ClassWords(
        classes=classes,
        output=output,
        note=note,
        positive=[take(column, 1) for column in columns],
        negative=[take(column, -1) for column in columns],
    )


def _excerpt(text: str, span: tuple[int, int]) -> str:
    """Return the part of a text around a word, on one line."""
    start = max(0, (span[0] + span[1] - _EXAMPLE_LENGTH) // 2)
    end = start + _EXAMPLE_LENGTH
    part = " ".join(text[start:end].split())
    return f"{'…' if text[:start].strip() else ''}{part}{'…' if text[end:].strip() else ''}"
