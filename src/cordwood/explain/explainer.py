"""Explanations of the predictions of fitted text classifiers."""

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from cordwood._base.csr import to_csr
from cordwood.columns.converter import TableConverter
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
from cordwood.explain._occlusion import METHOD, occlude
from cordwood.explain._path_integrals import Floats
from cordwood.explain._table_rows import (
    ColumnLocator,
    RowClassifier,
    TableRow,
    is_explainable,
    iter_rows,
)
from cordwood.explain._term_spans import TermLocator, WordCache, split_vectorizer
from cordwood.explain._word_folding import FoldedTerms, Words
from cordwood.explain.explanation import (
    Explanation,
    Explanations,
    LocatedTerms,
    MemberExplanation,
    Neighbor,
)
from cordwood.stacking.oob_stacking import OOBStackingClassifier

_BLOCK_SIZE = 32

_ATTRIBUTORS = (
    make_linear_attributor,
    make_forest_attributor,
    make_neighbors_attributor,
    make_lazy_attributor,
)


def explain(model: Any, texts: Any, *, output: str = "auto") -> Explanations:
    """Explain the predictions of texts by contributions of members, words and training samples.

    Parameters
    ----------
    model : fitted classifier
        Model returned by `cordwood.train` or `cordwood.load`, or any classifier of texts with
        `predict_proba`.
    texts : iterable of str, Corpus or dataframe
        Texts to explain; for a model of a table, rows with its columns.
    output : {"auto", "log_odds", "probability"}, default="auto"
        Quantity that contributions add up to: the log-odds of each class against all others, or
        its probability. "auto" is "log_odds" for linear models, naive Bayes, rules and stacks with
        the default combiner, and "probability" for all others, whose probabilities may be zero.

    Returns
    -------
    Explanations
        One `Explanation` per text.

    See Also
    --------
    Explainer : Prepares a model once, to explain texts one after another.
    explain_classes : Words that argue for and against each class, over many texts.

    Notes
    -----
    The baseline is the prediction for the empty text; in a table, for a row whose numbers are the
    medians and whose categories are unknown. For each class, the baseline and the
    contributions of all members add up to the output, and so do the baseline and the contributions
    of all words.

    Contributions of terms to the scores of a member are exact for linear models, naive Bayes and
    rules (coefficient times value), and for forests and boosted forests (Shapley values). For
    nearest neighbors and lazy forests they are approximate: the vote of a neighbor is shared by the
    terms that it has in common with the text, and a split on the path of a lazy tree counts for its
    feature. Any other classifier is explained by removing one word at a time. The field `is_exact`
    of each member states which. Members are joined by the rescale rule of G-DeepSHAP [1]_; where a
    function has several arguments, such as the softmax function, by integrated gradients [2]_. The
    contributions of a member to the output of the default combiner are exact for two classes and
    Aumann-Shapley values for more.

    Contributions of n-grams of words and characters are distributed equally over the words that
    they cover.

    References
    ----------
    .. [1] Chen, Lundberg, Lee (2022). Explaining a series of models by propagating Shapley values.
       Nature Communications 13.
    .. [2] Sundararajan, Taly, Yan (2017). Axiomatic attribution for deep networks. ICML.

    Examples
    --------
    >>> from cordwood import recipes
    >>> model = recipes.make("nb").fit(["so good", "good", "so bad", "bad"], ["+", "+", "-", "-"])
    >>> [explanation] = explain(model, ["so very good"])
    >>> explanation.prediction, explanation.words
    ('+', ('so', 'very', 'good'))
    >>> explanation.word_contributions[:, 0].round(2)
    array([0. , 0. , 1.1])
    """
    explainer = Explainer(model, output=output)
    values = texts if explainer.takes_table else check_texts(texts)
    return Explanations(tuple(explainer.explain_each(values)))


class Explainer:
    """Explains the predictions of one model.

    Parameters
    ----------
    model : fitted classifier
        Model returned by `cordwood.train` or `cordwood.load`, or any classifier of texts with
        `predict_proba`.
    output : {"auto", "log_odds", "probability"}, default="auto"
        Quantity that contributions add up to; see `explain`.

    Attributes
    ----------
    classes : ndarray of shape (n_classes,)
        Class labels of the model.
    takes_table : bool
        Whether the model predicts rows of a table.

    Examples
    --------
    >>> from cordwood import recipes
    >>> model = recipes.make("nb").fit(["so good", "good", "so bad", "bad"], ["+", "+", "-", "-"])
    >>> [(word, weight)] = Explainer(model).explain("bad").top_words("-")
    >>> word, round(weight, 3)
    ('bad', 1.099)
    """

    def __init__(self, model: Any, *, output: str = "auto") -> None:
        if output not in ("auto", *OUTPUTS):
            raise CordwoodError(
                f"output must be 'auto', 'log_odds' or 'probability'; got {output!r}"
            )
        check_is_fitted(
            model, msg="this %(name)s is not fitted; call its fit method, or cordwood.train"
        )
        if hasattr(model, "n_features_in_"):
            raise DataError(
                "the model was trained on numeric features; only models of texts can be explained"
            )
        self.classes: NDArray[Any] = np.asarray(model.classes_)
        self._output = output
        self._converter: TableConverter | None = None
        if isinstance(model, Pipeline) and isinstance(model.steps[0][1], TableConverter):
            self._converter, model = model.steps[0][1], model[1:]
        self.takes_table = self._converter is not None
        self._final_estimator, members = split_model(model)
        self._locators: dict[int, TermLocator | ColumnLocator] = {}
        self._members = [self._make_member(name, member) for name, member in members]

    def explain(self, text: str) -> Explanation:
        """Explain the prediction of one text.

        Parameters
        ----------
        text : str

        Returns
        -------
        Explanation
        """
        [explanation] = self.explain_each([text])
        return explanation

    def explain_each(self, texts: Any) -> Iterator[Explanation]:
        """Explain the predictions of texts, one after another.

        Parameters
        ----------
        texts : iterable of str; a dataframe or Corpus if the model takes a table

        Yields
        ------
        Explanation
        """
        samples: Iterator[Any]
        if self._converter is None:
            samples = iter(texts)
        else:
            samples = iter_rows(self._converter, texts)
        # Texts are vectorized in blocks, which takes half of the time of one by one.
        while block := list(islice(samples, _BLOCK_SIZE)):
            inputs: Any = block
            if self._converter is not None:
                inputs = np.array([row.cells for row in block], dtype=object)
            rows = {key: each.transform(inputs) for key, each in self._locators.items()}
            for i, sample in enumerate(block):
                features = {key: to_csr(row[i]) for key, row in rows.items()}
                if isinstance(sample, TableRow):
                    yield self._explain(sample.text, features, sample)
                else:
                    yield self._explain(sample, features)

    def _explain(
        self, text: str, features: dict[int, Any], row: TableRow | None = None
    ) -> Explanation:
        """Explain one text, given its features by the key of their vectorizer."""
        cache: WordCache = {}
        tokens = {
            span for locator in self._locators.values() for span in locator.tokens(text, cache)
        }
        words = Words(text, tokens)
        folded = {
            key: words.fold(features[key].indices, locator.locate(text, cache))
            for key, locator in self._locators.items()
        }
        if any(member.attributor is None for member in self._members):
            folded[-1] = words.fold_words()
        attributions = [
            member.attributor.attribute(features[member.locator])
            if member.attributor is not None
            else occlude(_to_text_classifier(member.model, row), text, words)
            for member in self._members
        ]
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
            text=text,
            classes=self.classes,
            output=output,
            probabilities=probabilities,
            baseline=combination.start,
            values=combination.end,
            words=tuple(text[start:end] for start, end in words.spans),
            spans=tuple(words.spans),
            word_contributions=contributions,
            absent_terms=tuple(absent),
            absent_contributions=np.array(list(absent.values())).reshape(-1, len(self.classes)),
            members=tuple(members),
            columns={name: row.values[name] for name in columns} if row is not None else {},
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

    def _make_member(self, name: str, model: Any) -> "_Member":
        classes = np.asarray(model.classes_)
        if self._converter is None:
            vectorizer, classifier = split_pipeline(model)
        else:
            vectorizer, classifier = model.steps[0][1], model.steps[-1][1]
            vectorizer = vectorizer if is_explainable(vectorizer) else None
        attributor = _make_attributor(classifier) if vectorizer is not None else None
        if attributor is None:
            return _Member(name, classes, -1, None, model, METHOD, False)
        key = id(vectorizer)
        if key not in self._locators:
            self._locators[key] = (
                TermLocator(vectorizer)
                if self._converter is None
                else ColumnLocator(vectorizer, self._converter)
            )
        return _Member(
            name, classes, key, attributor, model, attributor.method, attributor.is_exact
        )


def _to_text_classifier(model: Any, row: TableRow | None) -> Any:
    """Return a classifier of texts that keeps the other columns of a row."""
    return model if row is None else RowClassifier(model, row.cells, row.n_texts)


class _Member(NamedTuple):
    """A classifier of the model.

    Parameters
    ----------
    name : str
    classes : array
    locator : int
        Key of its term locator; -1 if it has none.
    attributor : Attributor or None
        None if it is explained by occlusion.
    model : fitted classifier of texts
    method : str
    is_exact : bool
    """

    name: str
    classes: NDArray[Any]
    locator: int
    attributor: Attributor | None
    model: Any
    method: str
    is_exact: bool


class _ExplainedMember(NamedTuple):
    """Contributions of a member to the output of the model.

    Parameters
    ----------
    terms : LocatedTerms
    word_contributions : float64 array of shape (n_words, n_classes)
    absent : list of (int, float64 array)
        Columns of terms that are not in the text, and their contributions.
    neighbors : tuple of Neighbor
    """

    terms: LocatedTerms
    word_contributions: Floats
    absent: list[tuple[int, Floats]]
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
    position = np.searchsorted(indices, columns)
    is_located = position < len(indices)
    is_located[is_located] = indices[position[is_located]] == columns[is_located]
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


def split_model(model: Any) -> tuple[Any, list[tuple[str, Any]]]:
    """Return the final estimator of a stack and its members; None and the model if it is none."""
    last = model.steps[-1][1] if isinstance(model, Pipeline) else model
    is_only_step = not isinstance(model, Pipeline) or len(model.steps) == 1
    if isinstance(last, OOBStackingClassifier) and is_only_step and not last.passthrough:
        return last.final_estimator_, list(last.named_estimators_.items())
    name = type(last).__name__
    return None, [(name, model)]


def split_pipeline(model: Any) -> tuple[Any, Any]:
    """Return the vectorizer and the classifier of a pipeline; None if it is another pipeline."""
    if isinstance(model, Pipeline) and len(model.steps) == 2:
        vectorizer, classifier = model.steps[0][1], model.steps[1][1]
        if split_vectorizer(vectorizer):
            return vectorizer, classifier
    return None, model


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
