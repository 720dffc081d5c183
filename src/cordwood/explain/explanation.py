"""Results of explanations: contributions of members, words, terms and training samples."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, overload

import numpy as np
from numpy.typing import NDArray

from cordwood.datasets.corpus import Corpus
from cordwood.exceptions import CordwoodError, DataError
from cordwood.explain._path_integrals import Floats
from cordwood.explain._word_folding import FoldedTerms
from cordwood.explain.html import render_list
from cordwood.explain.sentences import describe_prediction, describe_runner_up, to_plain


class LocatedTerms(NamedTuple):
    """Contributions of terms, whose names and spans are looked up only if they are needed."""

    folded: FoldedTerms
    rows: NDArray[np.intp]  # positions of the terms in folded
    contributions: Floats  # (n_terms, n_classes)


@dataclass(frozen=True, kw_only=True)
class Neighbor:
    """Contribution of one training sample.

    Parameters
    ----------
    index : int
        Index of the sample in the training set.
    label : object
        Its class label.
    similarity : float
        Its cosine similarity to the text, or minus its Euclidean distance.
    contributions : ndarray of shape (n_classes,)
        Contributions to the output. Those of all neighbors of a nearest-neighbors member add up to
        the contribution of the member.
    shared_terms : tuple of str
        Terms that the sample shares with the text, the most similar first.
    id, text : str or None
        Its id and its text, if the training samples were given.
    """

    index: int
    label: Any
    similarity: float
    contributions: Floats
    shared_terms: tuple[str, ...]
    id: str | None = None
    text: str | None = None


@dataclass(frozen=True, kw_only=True)
class MemberExplanation:
    """Contribution of one member of a stack, or of the only classifier of a model.

    Parameters
    ----------
    name : str
        Name of the member.
    method : str
        How contributions of its terms were computed.
    is_exact : bool
        Whether they are exact Shapley values of the scores of the member.
    contributions : ndarray of shape (n_classes,)
        Contributions of the member to the output.
    neighbors : tuple of Neighbor
        Nearest training samples, the nearest first, if the member uses them.
    located : LocatedTerms
        Terms of the text with a contribution; see `terms`, `term_spans` and `term_contributions`.
    """

    name: str
    method: str
    is_exact: bool
    contributions: Floats
    neighbors: tuple[Neighbor, ...]
    located: LocatedTerms = field(repr=False)

    @property
    def terms(self) -> tuple[str, ...]:
        """Terms of the text: words, n-grams of words, or n-grams of characters."""
        return tuple(self.located.folded.names[row] for row in self.located.rows.tolist())

    @property
    def term_spans(self) -> tuple[tuple[tuple[int, int], ...], ...]:
        """Character spans of each term in the text."""
        return tuple(self.located.folded.spans[row] for row in self.located.rows.tolist())

    @property
    def term_contributions(self) -> Floats:
        """Contributions of the terms to the output through this member: (n_terms, n_classes)."""
        return self.located.contributions


@dataclass(frozen=True, kw_only=True)
class Explanation:
    """Explanation of the prediction of one text.

    For each class, the baseline and the contributions of all members add up to the output in
    `values`; so do the baseline, the contributions of all words, those of other columns, and those
    of absent terms.

    Parameters
    ----------
    text : str
        The text.
    classes : ndarray of shape (n_classes,)
        Class labels of the model.
    prediction : object
        The predicted label, or a tuple of several labels.
    output : {"log_odds", "probability"}
        Quantity that contributions add up to.
    proba : ndarray of shape (n_classes,)
        Class probabilities.
    baseline : ndarray of shape (n_classes,)
        Output for the empty text.
    values : ndarray of shape (n_classes,)
        Output for the text.
    words : tuple of str
        Words of the text, in their order.
    spans : tuple of (int, int)
        Character spans of the words.
    word_contributions : ndarray of shape (n_words, n_classes)
        Contributions of the words.
    absent_terms : tuple of str
        Terms with a contribution that are not in the text; only lazy forests have such terms.
    absent_contributions : ndarray of shape (n_absent, n_classes)
        Their contributions.
    members : tuple of MemberExplanation
        Contributions of the members.
    columns : dict of str to str
        Values of the columns of a table that are not texts, and have a contribution.
    column_contributions : ndarray of shape (n_columns, n_classes)
        Their contributions.
    id : str or None
        The id of the text, if it is known.
    label : object
        The true label of the text, or None if it is unknown.

    Examples
    --------
    >>> from cordwood import TextClassifier
    >>> texts = ["good film", "great film", "bad film", "awful film"] * 5
    >>> labels = ["+", "+", "-", "-"] * 5
    >>> [explanation] = TextClassifier("nbsvm").fit(texts, labels).explain(["a great film"])
    >>> explanation.prediction, explanation.top_words()[0][0]
    ('+', 'great')
    """

    text: str
    classes: NDArray[Any]
    prediction: Any
    output: str
    proba: Floats
    baseline: Floats
    values: Floats
    words: tuple[str, ...]
    spans: tuple[tuple[int, int], ...]
    word_contributions: Floats
    absent_terms: tuple[str, ...]
    absent_contributions: Floats
    members: tuple[MemberExplanation, ...]
    columns: dict[str, str]
    column_contributions: Floats
    id: str | None = None
    label: Any = None

    @property
    def has_evidence(self) -> bool:
        """Whether any word or column of the text is known to the model.

        If not, the probabilities are about those of the empty text, and there is nothing to
        explain.
        """
        # The blank around an unknown word is an n-gram of characters that a model may know.
        return bool(self.column_contributions.any()) or any(
            term.strip() and values.any()
            for member in self.members
            for term, values in zip(member.terms, member.term_contributions, strict=True)
        )

    @property
    def sentence(self) -> str:
        """What is predicted, how sure it is, and which words are the reason."""
        return to_plain(describe_prediction(self))

    @property
    def runner_up(self) -> str | None:
        """The most probable class that is not predicted, and what speaks for it, in a sentence.

        None if there is none, or if nothing is known of the text.
        """
        found = describe_runner_up(self)
        return None if found is None else to_plain(found)

    @property
    def neighbors(self) -> tuple[Neighbor, ...]:
        """Most similar training samples, of the first member that uses them; often empty."""
        return next((member.neighbors for member in self.members if member.neighbors), ())

    def class_index(self, label: Any = None) -> int:
        """Return the position of a class in `classes`.

        Parameters
        ----------
        label : object, default=None
            A class label; None is the predicted one, or of several labels the most probable.

        Returns
        -------
        int
        """
        if label is None and isinstance(self.prediction, tuple):
            return int(np.argmax(self.proba))
        return find_class(self.classes, self.prediction if label is None else label)

    def top_classes(self, n: int = 3) -> list[Any]:
        """Return the most probable classes, the most probable first.

        Parameters
        ----------
        n : int, default=3
            Maximum number of classes.

        Returns
        -------
        list
        """
        order = np.argsort(-self.proba, kind="stable")[:n]
        return [self.classes.tolist()[i] for i in order]

    def top_words(self, label: Any = None, n: int = 10) -> list[tuple[str, float]]:
        """Return the words with the largest contributions.

        Parameters
        ----------
        label : object, default=None
            A class label; None as in `class_index`.
        n : int, default=10
            Maximum number of words.

        Returns
        -------
        list of (str, float)
            Words in lower case, with the sum of the contributions of all occurrences, the largest
            absolute value first. Words without contribution are omitted.
        """
        column = self.word_contributions[:, self.class_index(label)]
        totals: dict[str, float] = {}
        for word, value in zip(self.words, column.tolist(), strict=True):
            totals[word.lower()] = totals.get(word.lower(), 0.0) + value
        found = [(word, value) for word, value in totals.items() if value]
        return sorted(found, key=lambda pair: -abs(pair[1]))[:n]

    def top_columns(self, label: Any = None, n: int = 10) -> list[tuple[str, float]]:
        """Return the columns with the largest contributions, such as ``price = 3``.

        Parameters
        ----------
        label : object, default=None
            A class label; None as in `class_index`.
        n : int, default=10
            Maximum number of columns.

        Returns
        -------
        list of (str, float)
            Columns that are not texts with their values, the largest absolute value first.
        """
        names = [f"{name} = {value}" for name, value in self.columns.items()]
        values = self.column_contributions[:, self.class_index(label)].tolist()
        found = [pair for pair in zip(names, values, strict=True) if pair[1]]
        return sorted(found, key=lambda pair: -abs(pair[1]))[:n]

    def to_dict(self) -> dict[str, Any]:
        """Convert to built-in types that `json.dumps` accepts.

        Returns
        -------
        dict
            Contributions are lists in the order of ``classes``.
        """
        return {
            "id": self.id,
            "text": self.text,
            "label": self.label,
            "sentence": self.sentence,
            "runner_up": self.runner_up,
            "has_evidence": self.has_evidence,
            "classes": self.classes.tolist(),
            "output": self.output,
            "prediction": self.prediction,
            "probabilities": self.proba.tolist(),
            "baseline": self.baseline.tolist(),
            "values": self.values.tolist(),
            "members": [_member_to_dict(member) for member in self.members],
            "words": [
                {"word": word, "start": start, "end": end, "contributions": values}
                for word, (start, end), values in zip(
                    self.words, self.spans, self.word_contributions.tolist(), strict=True
                )
            ],
            "columns": [
                {"column": name, "value": value, "contributions": values}
                for (name, value), values in zip(
                    self.columns.items(), self.column_contributions.tolist(), strict=True
                )
            ],
            "absent_terms": [
                {"term": term, "contributions": values}
                for term, values in zip(
                    self.absent_terms, self.absent_contributions.tolist(), strict=True
                )
            ],
        }

    def __str__(self) -> str:
        index = self.class_index()
        name = self.output.replace("_", "-")
        head = (
            f"{self.classes[index]}: probability {self.proba[index]:.3f}, {name} "
            f"{self.values[index]:+.3f}, of which baseline {self.baseline[index]:+.3f}"
        )
        found = [*self.top_words(), *self.top_columns()]
        return "\n".join([self.sentence, head, *(f"{value:+.3f}  {name}" for name, value in found)])

    def _repr_html_(self) -> str:
        return render_list([self])


class Explanations(Sequence[Explanation]):
    """Explanations of several texts.

    Parameters
    ----------
    explanations : tuple of Explanation

    Examples
    --------
    >>> from cordwood import TextClassifier
    >>> texts = ["good film", "great film", "bad film", "awful film"] * 5
    >>> labels = ["+", "+", "-", "-"] * 5
    >>> found = TextClassifier("nb").fit(texts, labels).explain(["a great film", "awful"])
    >>> [explanation.prediction for explanation in found]
    ['+', '-']
    """

    def __init__(self, explanations: tuple[Explanation, ...]) -> None:
        self._explanations = explanations

    @overload
    def __getitem__(self, index: int) -> Explanation: ...

    @overload
    def __getitem__(self, index: slice) -> "Explanations": ...

    def __getitem__(self, index: int | slice) -> "Explanation | Explanations":
        if isinstance(index, slice):
            return Explanations(self._explanations[index])
        return self._explanations[index]

    def __len__(self) -> int:
        return len(self._explanations)

    def __repr__(self) -> str:
        return f"<{len(self)} explanations>"

    def to_dict(self) -> list[dict[str, Any]]:
        """Convert to a list of the explanations' `to_dict`.

        Returns
        -------
        list of dict
        """
        return [explanation.to_dict() for explanation in self]

    def _repr_html_(self) -> str:
        return render_list(self._explanations)


def add_sources(
    explanations: Iterable[Explanation], samples: Any, training: Any
) -> Iterator[Explanation]:
    """Add ids and true labels of explained samples, and ids and texts of training samples."""
    known = samples if isinstance(samples, Corpus) else None
    for i, explanation in enumerate(explanations):
        if known is not None:
            label = None if known.labels is None else known.labels[i]
            explanation = replace(explanation, id=known.ids[i], label=label)
        if training is not None:
            members = tuple(_add_texts(member, training) for member in explanation.members)
            explanation = replace(explanation, members=members)
        yield explanation


def _add_texts(member: MemberExplanation, training: Any) -> MemberExplanation:
    """Add the ids and texts of training samples to the neighbors of a member."""
    is_corpus = isinstance(training, Corpus)
    texts: Sequence[str] = training.texts if is_corpus else training
    labels = training.labels if is_corpus and not training.multilabel else None
    found = []
    for neighbor in member.neighbors:
        index = neighbor.index
        is_missing = index >= len(texts)
        if is_missing or (labels is not None and str(labels[index]) != str(neighbor.label)):
            raise DataError(
                "training must be the training samples of the model, in their order; sample "
                f"{index + 1:,} of the model has the label {neighbor.label!r}"
            )
        name = training.ids[index] if is_corpus else None
        found.append(replace(neighbor, id=name, text=texts[index]))
    return replace(member, neighbors=tuple(found))


def find_class(classes: NDArray[Any], label: Any) -> int:
    """Return the position of a label in the classes; raise an error if it is not one of them."""
    labels = classes.tolist()
    if label not in labels:
        shown = ", ".join(map(repr, labels[:10]))
        raise CordwoodError(f"label must be one of the classes {shown}; got {label!r}")
    return int(labels.index(label))


def _member_to_dict(member: MemberExplanation) -> dict[str, Any]:
    return {
        "name": member.name,
        "method": member.method,
        "is_exact": member.is_exact,
        "contributions": member.contributions.tolist(),
        "terms": [
            {"term": term, "spans": [list(span) for span in spans], "contributions": values}
            for term, spans, values in zip(
                member.terms, member.term_spans, member.term_contributions.tolist(), strict=True
            )
        ],
        "neighbors": [
            {
                **vars(neighbor),
                "contributions": neighbor.contributions.tolist(),
                "shared_terms": list(neighbor.shared_terms),
            }
            for neighbor in member.neighbors
        ],
    }
