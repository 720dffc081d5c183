"""Explanations of the predictions of fitted text classifiers."""

from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from cordwood._base.csr import locate_columns, to_csr
from cordwood._view import Member, ModelView
from cordwood.exceptions import CordwoodError, DataError
from cordwood.explain._attribution import Attribution, Attributor
from cordwood.explain._combination import (
    OUTPUTS,
    Combination,
    OutputMap,
    combine_members,
    combine_single,
    default_output,
)
from cordwood.explain._forest_terms import make_forest_attributor
from cordwood.explain._lazy_terms import make_lazy_attributor
from cordwood.explain._linear_terms import make_linear_attributor
from cordwood.explain._neighbor_terms import make_neighbors_attributor
from cordwood.explain._occlusion import METHOD, freeze, occlude
from cordwood.explain._path_integrals import Floats
from cordwood.explain._table_rows import (
    ColumnLocator,
    Row,
    RowClassifier,
    is_explainable,
    iter_rows,
)
from cordwood.explain._term_spans import TermLocator, WordCache, split_vectorizer
from cordwood.explain._word_folding import FoldedTerms, Words
from cordwood.explain.explanation import (
    Explanation,
    LocatedTerms,
    MemberExplanation,
    Neighbor,
)
from cordwood.metrics.predictions import rank_labels

_BLOCK_SIZE = 32

_ATTRIBUTORS = (
    make_linear_attributor,
    make_forest_attributor,
    make_neighbors_attributor,
    make_lazy_attributor,
)


class Explainer:
    """Explains the predictions of one model; made by `TextClassifier.make_explainer`."""

    def __init__(
        self,
        view: ModelView,
        *,
        decide: Callable[[Floats], NDArray[Any]] = lambda proba: proba.argmax(axis=1),
        output: str = "auto",
    ) -> None:
        if output not in ("auto", *OUTPUTS):
            raise CordwoodError(
                f"output must be 'auto', 'log_odds' or 'probability'; got {output!r}"
            )
        self.view = view
        self.classes: NDArray[Any] = np.asarray(view.whole.classes_)
        self._decide = decide
        self._output = output
        self._converter = view.converter
        self.takes_table = self._converter is not None
        self._final_estimator = view.final_estimator
        self._locators: dict[int, TermLocator | ColumnLocator] = {}
        self._members = [self._make_member(member) for member in view.explained_members]

    @property
    def is_exact(self) -> dict[str, bool]:
        """Whether the contributions of terms to the scores of each member are exact, by name."""
        return {member.name: member.is_exact for member in self._members}

    @property
    def occluded(self) -> list[str]:
        """Names of the members that are explained by occlusion, such as those with an encoder."""
        return [member.name for member in self._members if member.attributor is None]

    def explain(self, text: str) -> Explanation:
        """Explain the prediction of one text."""
        [explanation] = self.explain_each([text])
        return explanation

    def explain_each(self, texts: Any, *, occlusion: bool = True) -> Iterator[Explanation]:
        """Explain the predictions of texts, or of the rows of a table, one after another.

        Without `occlusion`, members that only it explains, such as those with an encoder, are held
        at their predictions of the text; the others are explained in a fraction of the time.
        """
        samples = iter_rows(self._converter, texts)
        # Texts are vectorized in blocks, which takes half of the time of one by one.
        while block := list(islice(samples, _BLOCK_SIZE)):
            inputs: Any = [row.text for row in block]
            if self._converter is not None:
                inputs = np.array([row.cells for row in block], dtype=object)
            features = {key: each.transform(inputs) for key, each in self._locators.items()}
            read = [
                self._read(row, {key: to_csr(each[i]) for key, each in features.items()})
                for i, row in enumerate(block)
            ]
            occluded = {
                member.name: self._occlude(member.model, read, occlusion)
                for member in self._members
                if member.attributor is None
            }
            for i, sample in enumerate(read):
                attributions = [
                    occluded[member.name][i]
                    if member.attributor is None
                    else member.attributor.attribute(sample.features[member.locator])
                    for member in self._members
                ]
                yield self._explain(sample, attributions)

    def _read(self, row: Row, features: dict[int, Any]) -> "_Sample":
        """Find the words of a text, given its features by the key of their vectorizer."""
        cache: WordCache = {}
        tokens = {
            span for locator in self._locators.values() for span in locator.tokens(row.text, cache)
        }
        words = Words(row.text, tokens)
        folded = {
            key: words.fold(features[key].indices, locator.locate(row.text, cache))
            for key, locator in self._locators.items()
        }
        if self.occluded:
            folded[-1] = words.fold_words()
        return _Sample(row, features, words, folded)

    def _occlude(
        self, model: Any, samples: Sequence["_Sample"], is_explained: bool
    ) -> list[Attribution]:
        """Explain a member by occlusion, or hold it at its predictions."""
        if self._converter is None:
            parts = [(model, list(samples))]
        else:  # Rows differ in their other columns.
            parts = [
                (RowClassifier(model, sample.row.cells, sample.row.n_texts), [sample])
                for sample in samples
            ]
        attribute = occlude if is_explained else freeze
        return [
            attribution
            for classifier, part in parts
            for attribution in attribute(
                classifier, [each.row.text for each in part], [each.words for each in part]
            )
        ]

    def _explain(self, sample: "_Sample", attributions: list[Attribution]) -> Explanation:
        """Explain one text, given the attributions of the members."""
        row, features, words, folded = sample
        combination, output = self._combine(attributions)
        contributions = np.zeros((len(words), len(self.classes)))
        absent: dict[str, Floats] = {}
        columns: dict[str, Floats] = {}
        members = []
        for i, (member, attribution) in enumerate(zip(self._members, attributions, strict=True)):
            if attribution.of_words:
                key, indices = -1, attribution.columns
            else:
                key, indices = member.locator, features[member.locator].indices
            found = _explain_member(member, attribution, combination.maps[i], folded[key], indices)
            contributions += found.word_contributions
            for column, value in found.absent:
                locator = self._locators[member.locator]
                is_column = isinstance(locator, ColumnLocator) and locator.is_column(column)
                totals, term = columns if is_column else absent, locator.term(column)
                totals[term] = totals[term] + value if term in totals else value
            members.append(
                MemberExplanation(
                    name=member.name,
                    method=member.method,
                    is_exact=member.is_exact,
                    contributions=combination.contributions[i],
                    neighbors=found.neighbors,
                    located=found.terms,
                )
            )
        # Sums of votes may be below zero or above one by rounding.
        probabilities = (
            np.clip(combination.end, 0, 1) if output == "probability" else expit(combination.end)
        )
        return Explanation(
            text=row.text,
            classes=self.classes,
            prediction=self._find_prediction(probabilities),
            output=output,
            proba=probabilities,
            baseline=combination.start,
            values=combination.end,
            words=tuple(row.text[start:end] for start, end in words.spans),
            spans=tuple(words.spans),
            word_contributions=contributions,
            absent_terms=tuple(absent),
            absent_contributions=np.array(list(absent.values())).reshape(-1, len(self.classes)),
            members=tuple(members),
            columns={name: row.values[name] for name in columns},
            column_contributions=np.array(list(columns.values())).reshape(-1, len(self.classes)),
        )

    def _combine(self, attributions: list[Attribution]) -> tuple[Combination, str]:
        output = self._output
        if output == "auto":
            output = default_output(self._final_estimator, attributions[0].link)
        if self._final_estimator is None:
            return combine_single(attributions[0], output, self.classes), output
        classes = [member.classes for member in self._members]
        return (
            combine_members(self._final_estimator, attributions, classes, self.classes, output),
            output,
        )

    def _find_prediction(self, probabilities: Floats) -> Any:
        decided = self._decide(probabilities[None])[0]
        if np.ndim(decided):
            return rank_labels(decided[None], probabilities[None], self.classes)[0]
        return self.classes.tolist()[int(decided)]

    def _make_member(self, member: Member) -> "_Member":
        classes = np.asarray(member.whole.classes_)
        vectorizer = member.transformers[0] if len(member.transformers) == 1 else None
        if self._converter is None:
            vectorizer = vectorizer if split_vectorizer(vectorizer) else None
        else:
            vectorizer = vectorizer if is_explainable(vectorizer) else None
        attributor = _make_attributor(member.classifier) if vectorizer is not None else None
        if attributor is None:
            return _Member(member.name, classes, -1, None, member.whole, METHOD, False)
        key = id(vectorizer)
        if key not in self._locators:
            self._locators[key] = (
                TermLocator(vectorizer)
                if self._converter is None
                else ColumnLocator(vectorizer, self._converter)
            )
        return _Member(
            member.name,
            classes,
            key,
            attributor,
            member.whole,
            attributor.method,
            attributor.is_exact,
        )


class _Sample(NamedTuple):
    """A text to explain."""

    row: Row
    features: dict[int, Any]  # by the key of their vectorizer
    words: Words
    folded: dict[int, FoldedTerms]


class _Member(NamedTuple):
    """A classifier of the model, and how it is explained."""

    name: str
    classes: NDArray[Any]
    locator: int  # key of its term locator; -1 if it has none
    attributor: Attributor | None  # None if it is explained by occlusion
    model: Any
    method: str
    is_exact: bool


class _ExplainedMember(NamedTuple):
    """Contributions of a member to the output of the model."""

    terms: LocatedTerms
    word_contributions: Floats  # of shape (n_words, n_classes)
    absent: list[tuple[int, Floats]]  # columns of terms that are not in the text
    neighbors: tuple[Neighbor, ...]


def _explain_member(
    member: _Member,
    attribution: Attribution,
    to_output: OutputMap,
    folded: FoldedTerms,
    indices: NDArray[np.integer[Any]],
) -> _ExplainedMember:
    """Map the contributions of a member to the output, and fold them back to words."""
    values = to_output.apply(attribution.values)
    columns = attribution.columns
    position, is_located = locate_columns(columns, indices)
    is_located[is_located] = folded.is_located(len(indices))[position[is_located]]
    rows = position[is_located]
    dense = np.zeros((len(indices), values.shape[1]))
    dense[rows] = values[is_located]
    return _ExplainedMember(
        LocatedTerms(folded, rows, values[is_located]),
        folded.to_words(dense),
        [(int(columns[i]), values[i]) for i in np.flatnonzero(~is_located)],
        _explain_neighbors(member, attribution, to_output, folded),
    )


def _explain_neighbors(
    member: _Member, attribution: Attribution, to_output: OutputMap, folded: FoldedTerms
) -> tuple[Neighbor, ...]:
    found = attribution.neighbors
    if found is None:
        return ()
    values = to_output.apply(found.values)
    names, labels = folded.names, member.classes.tolist()
    return tuple(
        Neighbor(
            index=index,
            label=labels[code],
            similarity=similarity,
            contributions=contributions,
            shared_terms=tuple([names[row] for row in shared if row in names]),
        )
        for index, code, similarity, contributions, shared in zip(
            found.samples.tolist(),
            found.class_codes.tolist(),
            found.similarity.tolist(),
            values,
            found.shared,
            strict=True,
        )
    )


def _make_attributor(classifier: Any) -> Attributor | None:
    found = (make(classifier) for make in _ATTRIBUTORS)
    return next((each for each in found if each is not None), None)


def check_texts(texts: Any) -> Iterator[str]:
    """Yield texts after checking that they are strings."""
    if isinstance(texts, str):
        raise TypeError("texts must be a sequence of texts, not a single str; pass [text]")
    values: Sequence[Any] = getattr(texts, "texts", texts)
    for position, text in enumerate(values):
        if not isinstance(text, str):
            raise DataError(
                f"texts[{position}] is of type {type(text).__name__}, not str; convert it to str"
            )
        yield text
