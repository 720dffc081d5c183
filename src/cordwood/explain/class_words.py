"""Words that argue for and against each class, over many texts or the whole vocabulary."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import logit
from sklearn.base import clone

from cordwood._base.param_validation import check_number
from cordwood.exceptions import CordwoodError, DataError
from cordwood.explain._path_integrals import Floats
from cordwood.explain._term_spans import split_vectorizer
from cordwood.explain.explainer import Explainer, check_texts, split_model, split_pipeline
from cordwood.explain.explanation import Explanation, find_class
from cordwood.explain.html import render_class_words
from cordwood.neighbors.base import BaseNeighborsClassifier
from cordwood.oof.engine import align_columns, make_folds

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
        Part of the text in which the contribution is largest; empty without texts.
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
    model: Any,
    texts: Iterable[str] | None = None,
    labels: ArrayLike | None = None,
    *,
    cv: int = 3,
    n_words: int = 10,
    min_texts: int = 3,
    output: str = "auto",
    progress: Progress | None = None,
) -> ClassWords:
    """Find the words that argue for and against each class.

    Parameters
    ----------
    model : fitted classifier
        Model returned by `cordwood.train` or `cordwood.load`.
    texts : iterable of str, or Corpus, default=None
        Texts whose explanations are aggregated. In the training texts of the model, rare words
        look more important than they are: use other texts, or pass the `labels` as well. If None,
        each word of the vocabulary is explained as a text of its own.
    labels : array-like of shape (n_texts,), default=None
        Labels of the texts. If given, clones of the model are fitted on these texts in a
        cross-validation, and each text is explained by a model that was not trained on it.
    cv : int, default=3
        Number of folds of this cross-validation.
    n_words : int, default=10
        Maximum number of words for, and of words against a class.
    min_texts : int, default=3
        Minimum number of texts that contain a word. Without texts, these are training texts, if the
        model stores them: models with nearest neighbors or lazy forests do.
    output : {"auto", "log_odds", "probability"}, default="auto"
        Quantity that contributions add up to; see `cordwood.explain`.
    progress : callable, default=None
        Called with the number of explained texts or words, and with their total number or None.

    Returns
    -------
    ClassWords

    See Also
    --------
    cordwood.explain : Explain the predictions of single texts.

    Notes
    -----
    Words are ranked by the sum of their contributions over all texts, so that frequent words come
    before rare ones with the same mean. Without texts, they are ranked by their contribution, times
    n / (n + 10) if it is known that n training texts contain the word.

    Examples
    --------
    >>> from cordwood import recipes
    >>> texts = ["so good", "good", "so bad", "bad"]
    >>> model = recipes.make("svm").fit(texts, ["+", "+", "-", "-"])
    >>> found = explain_classes(model, texts, min_texts=2)
    >>> [(word.word, word.n_texts) for word in found.words_for("+")]
    [('good', 2)]
    """
    explainer = Explainer(model, output=output)
    if explainer.takes_table:
        raise CordwoodError(
            "only models of texts have words of classes; explain rows of a table with explain"
        )
    if texts is None:
        if labels is not None:
            raise ValueError("labels require texts; pass both or none")
        return _explain_vocabulary(model, explainer, n_words, min_texts, progress)
    totals = _WordTotals(explainer.classes)
    values: Any = getattr(texts, "texts", texts)
    how = ""
    if labels is None:
        n_texts = len(values) if hasattr(values, "__len__") else None
        explanations = explainer.explain_each(check_texts(values))
    else:
        values = list(check_texts(values))
        n_texts = len(values)
        explanations = _explain_out_of_fold(model, values, np.asarray(labels), cv, output)
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
    model: Any, texts: list[str], labels: NDArray[Any], cv: int, output: str
) -> Iterator[Explanation]:
    """Explain each text by a clone of the model that is fitted on the texts of other folds."""
    check_number("cv", cv, 2)
    if labels.shape != (len(texts),):
        raise ValueError(
            f"labels must have one label per text; got {len(texts)} texts and labels "
            f"of shape {labels.shape}"
        )
    if unknown := set(labels.tolist()) - set(np.asarray(model.classes_).tolist()):
        raise DataError(
            f"labels contain {next(iter(unknown))!r}, which is no class of the model; pass its "
            "training texts"
        )
    codes = np.unique(labels, return_inverse=True)[1]
    for train, test in make_folds(cv, codes, None, _FOLD_SEED):
        fitted = clone(model).fit([texts[i] for i in train.tolist()], labels[train])
        yield from Explainer(fitted, output=output).explain_each([texts[i] for i in test.tolist()])


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
    model: Any, explainer: Explainer, n_words: int, min_texts: int, progress: Progress | None
) -> ClassWords:
    """Explain each word of the vocabulary as a text of its own."""
    counts = _count_training_texts(model)
    has_counts = bool(counts)
    words = [word for word, n in counts.items() if n >= min_texts] or _list_words(model)
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


def _to_log_odds(proba: Any) -> Floats:
    return np.asarray(logit(np.clip(proba, _MIN_PROBABILITY, 1 - _MIN_PROBABILITY)))


def _list_words(model: Any) -> list[str]:
    """List the words in the vocabularies of all members."""
    words = {
        term
        for _, member in split_model(model)[1]
        for vectorizer in split_vectorizer(split_pipeline(member)[0])
        if vectorizer.resolved_params_.analyzer == "word"
        for term in vectorizer.vocabulary_
        if " " not in term
    }
    return sorted(words)


def _count_training_texts(model: Any) -> dict[str, int]:
    """Count the training texts that contain each word, if a member stores them."""
    for _, member in split_model(model)[1]:
        vectorizer, classifier = split_pipeline(member)
        parts = split_vectorizer(vectorizer)
        if len(parts) == 1 and isinstance(classifier, BaseNeighborsClassifier):
            n_texts = np.bincount(classifier._indices, minlength=classifier.n_features_in_)
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
    return " ".join(text[start : start + _EXAMPLE_LENGTH].split())
