"""Documents to a sparse matrix of term weights, the preparation of the papers included."""

import logging
import reprlib
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, fields
from numbers import Integral
from types import MappingProxyType
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.preprocessing import normalize
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from cordwood.exceptions import CordwoodError, DataError, ModelFileError
from cordwood.text._analyzer import analyze_by
from cordwood.text._counting import find_terms, make_counter
from cordwood.text._vectorizer_params import Settings
from cordwood.text.counts import document_frequency, move_columns
from cordwood.text.presets import PRESETS, choose, resolve
from cordwood.text.vocabulary import UNKNOWN, number, pack, unpack

logger = logging.getLogger(__name__)


class TextVectorizer(TransformerMixin, BaseEstimator):
    """Turn documents into a sparse matrix, a row for each document and a column for each term.

    Every parameter but `preset` may be None, which leaves it to the preset; False switches a step
    off. What came of it is in `settings_`.

    Parameters
    ----------
    preset : {"auto", "sigir15", "sigir17", "icml03", "social"}, default="auto"
        The preparation of a paper, or of short informal texts; `cordwood.text.presets` describes
        them. "auto" takes `social` for short or few documents, else `sigir17`, says so in
        `preset_reason_` and logs it.
    weighting : {"tf", "tfidf", "binary"}, optional
        How often a term is in the document; the same times the rarity of the term; or 1.
    sublinear_tf : bool, optional
        Put ``1 + ln(tf)`` in the place of tf. Left to itself, True with "tfidf" only.
    smooth_idf : bool, optional
        With "tfidf": True for the factor ``ln((1 + n) / (1 + df)) + 1``, False for
        ``ln(n / df) + 1``, with n documents, of which df hold the term.
    norm : {"l1", "l2", "max", False}, optional
        Scale each row to length one. Left to itself, "l2" with "tfidf" and else False.
    stop_words : {"smart", "smart523", "english", False} or collection of str, optional
        Words to leave out: SMART with and without its 47 contractions, scikit-learn's list, or
        your own. They are compared with words as written, before stemming. An entry with an
        apostrophe also stands for the pieces that the tokenizer makes of it.
    stemmer : {"porter", False}, optional
        Porter's stemmer; ten times faster where PyStemmer is installed, with the same stems.
    analyzer : {"word", "char", "char_wb"}, optional
        Features of words, of characters, or of characters that do not cross words.
    token_pattern : str, optional
        Regular expression of a word; with one group, the group is the word.
    ngram_range : (int, int), optional
        Shortest and longest run of words or characters that is a feature. Left to itself, single
        words; runs of 3 to 5 characters with the preset `social`, and of 4 with the others.
    min_df, max_df : int or float, optional
        Terms in fewer or more documents than this are left out; a float is a share of documents.
    max_features : int, optional
        Keep only this many terms, the most frequent; the first in order of spelling among equals.
    lowercase : bool, optional
        Ignore case.
    strip_accents : {"ascii", "unicode", False}, optional
        Take accents off, as scikit-learn does.

    Attributes
    ----------
    preset_ : str
        The preset that was used, never "auto".
    preset_reason_ : str
        A sentence that says which preset was used, and why.
    settings_ : Settings
        What the preset and the parameters come to.
    vocabulary_ : mapping of str to int
        From terms to columns; columns are in order of the terms' spelling.
    idf_ : ndarray of shape (n_terms,), or None
        The factor of each term, with "tfidf".

    Examples
    --------
    >>> vectorizer = TextVectorizer(preset="social", stop_words="smart", stemmer="porter")
    >>> X = vectorizer.fit_transform(["The cat saw cats", "A dog!!"])
    >>> vectorizer.get_feature_names_out()
    array(['!!', 'cat', 'dog'], dtype=object)
    >>> X.toarray()
    array([[0., 2., 0.],
           [1., 0., 1.]], dtype=float32)
    """

    def __init__(
        self,
        *,
        preset: str = "auto",
        weighting: str | None = None,
        sublinear_tf: bool | None = None,
        smooth_idf: bool | None = None,
        norm: str | bool | None = None,
        stop_words: str | bool | Collection[str] | None = None,
        stemmer: str | bool | None = None,
        analyzer: str | None = None,
        token_pattern: str | None = None,
        ngram_range: tuple[int, int] | None = None,
        min_df: int | float | None = None,
        max_df: int | float | None = None,
        max_features: int | None = None,
        lowercase: bool | None = None,
        strip_accents: str | bool | None = None,
    ) -> None:
        self.preset = preset
        self.weighting = weighting
        self.sublinear_tf = sublinear_tf
        self.smooth_idf = smooth_idf
        self.norm = norm
        self.stop_words = stop_words
        self.stemmer = stemmer
        self.analyzer = analyzer
        self.token_pattern = token_pattern
        self.ngram_range = ngram_range
        self.min_df = min_df
        self.max_df = max_df
        self.max_features = max_features
        self.lowercase = lowercase
        self.strip_accents = strip_accents

    def fit(self, X: Iterable[str], y: object = None) -> Self:
        """Learn the terms of the documents.

        Parameters
        ----------
        X : iterable of str
            The documents.
        y : None
            Ignored.

        Returns
        -------
        self
        """
        self.fit_transform(X)
        return self

    def fit_transform(self, X: Iterable[str], y: object = None) -> sp.csr_matrix:
        """Learn the terms of the documents and return their matrix.

        Parameters
        ----------
        X : iterable of str
            The documents.
        y : None
            Ignored.

        Returns
        -------
        CSR matrix of shape (n_documents, n_terms), float32
            Sorted indices of 32 bits, unless there are more than 2**31 - 1 entries.
        """
        documents = _check_documents(X)
        if not documents:
            raise DataError("there are no documents to learn terms from")
        preset, choice = self._choose(documents)
        settings = resolve(preset, {name: getattr(self, name) for name in _SETTINGS})
        analysis = analyze_by(settings)
        found = find_terms(documents, analysis)
        kept = _select_by_frequency(found.counts, settings)
        if not len(kept):
            raise _no_terms(settings, found.counts.shape[1])
        terms = found.spell(kept)
        # In order of spelling, without what `max_features` leaves out.
        order = np.array(sorted(range(len(kept)), key=terms.__getitem__))
        column = np.full(found.counts.shape[1], UNKNOWN)
        column[kept[order]] = np.arange(len(kept))
        counts = move_columns(found.counts, column, len(kept))
        if settings.max_features is not None and len(kept) > settings.max_features:
            chosen = _select_most(counts, settings.max_features)
            counts, order = counts[:, chosen], order[chosen]
            column[:] = UNKNOWN
            column[kept[order]] = np.arange(len(order))
        self.preset_, self.preset_reason_, self.settings_ = preset, choice, settings
        # In the order of reading.
        places = column[kept].tolist()
        of_terms = {t: at for t, at in zip(terms, places, strict=True) if at != UNKNOWN}
        self._of_terms, self._count = of_terms, found.know(of_terms, column)
        self.idf_ = _inverse_document_frequency(counts, settings)
        return self._weigh(counts)

    def transform(self, X: Iterable[str]) -> sp.csr_matrix:
        """Return the matrix of documents, by the terms that were learnt.

        Parameters
        ----------
        X : iterable of str
            The documents.

        Returns
        -------
        CSR matrix of shape (n_documents, n_terms), float32
            Terms that were not learnt are left out; a document of such terms is an empty row.
        """
        check_is_fitted(self)
        return self._weigh(self._count(_check_documents(X)))

    def get_feature_names_out(self, input_features: object = None) -> NDArray[np.object_]:
        """Return the terms in the order of their columns.

        Parameters
        ----------
        input_features : None
            Ignored.

        Returns
        -------
        ndarray of str, dtype object
        """
        check_is_fitted(self)
        return np.array(sorted(self.vocabulary_), dtype=object)

    @property
    def vocabulary_(self) -> Mapping[str, int]:
        """From terms to columns."""
        check_is_fitted(self)
        return MappingProxyType(self._of_terms)

    def _choose(self, documents: Sequence[str]) -> tuple[str, str]:
        if self.preset == "auto":
            preset, choice = choose(documents)
            logger.info(choice)
            return preset, choice
        if self.preset not in tuple(PRESETS):
            *known, last = map(repr, PRESETS)
            raise CordwoodError(
                f"preset is {self.preset!r}, but can be 'auto', {', '.join(known)} or {last}"
            )
        return self.preset, f"preset {self.preset}: as asked"

    def _weigh(self, counts: sp.csr_matrix) -> sp.csr_matrix:
        """Turn counts into the values asked for, in place."""
        settings = self.settings_
        if settings.weighting == "binary":
            counts.data.fill(1)
        if settings.sublinear_tf:
            counts.data = 1 + np.log(counts.data)
        if self.idf_ is not None:
            counts.data = (counts.data * self.idf_[counts.indices]).astype(np.float32)
        if settings.norm and counts.nnz:
            normalize(counts, norm=settings.norm, copy=False)
        return counts

    def __getstate__(self) -> dict[str, Any]:
        state: dict[str, Any] = dict(super().__getstate__())
        if "settings_" in state:
            # A file holds two arrays well, and a mapping of a hundred thousand words badly.
            for name in ("_of_terms", "_count"):
                del state[name]
            state["_packed_terms"] = pack(self.vocabulary_)
            state["settings_"] = asdict(self.settings_)
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        state = dict(state)
        packed, settings = state.pop("_packed_terms", None), state.pop("settings_", None)
        super().__setstate__(state)
        if settings is None:
            return
        try:
            self.settings_ = Settings(**settings)
            terms = unpack(*packed)
        except TypeError as error:
            raise ModelFileError(f"the vectorizer is damaged: {error}") from None
        if len(set(terms)) < len(terms) or not self._factors_fit(len(terms)):
            raise ModelFileError("the vectorizer is damaged: its terms and factors do not agree")
        self._of_terms = number(terms)
        self._count = make_counter(self._of_terms, analyze_by(self.settings_))

    def _factors_fit(self, n_terms: int) -> bool:
        factors = getattr(self, "idf_", None)
        if self.settings_.weighting != "tfidf":
            return factors is None
        if not isinstance(factors, np.ndarray):
            return False
        return (factors.shape, factors.dtype) == ((n_terms,), np.dtype(np.float64))

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = True
        tags.input_tags.two_d_array = False
        return tags


_SETTINGS = tuple(field.name for field in fields(Settings))


def _check_documents(X: Iterable[str]) -> list[str]:
    """Return the documents in a list, after looking at each."""
    if isinstance(X, str):
        raise DataError("the documents are one string; give a list, such as [text]")
    several = getattr(X, "ndim", 1) != 1 or isinstance(X, Mapping | bytes)
    if several or not isinstance(X, Iterable):
        raise DataError(
            f"the documents are of type {type(X).__name__}; give a list or one column of strings"
        )
    documents = list(X)
    for position, document in enumerate(documents):
        if not isinstance(document, str):
            shown = f"{reprlib.repr(document)} of type {type(document).__name__}"
            raise DataError(f"document {position} (the first is 0) is {shown}, not a string")
    return documents


def _select_by_frequency(counts: sp.csr_matrix, settings: Settings) -> NDArray[np.intp]:
    """Find the columns that `min_df` and `max_df` leave."""
    low, high = (
        bound if isinstance(bound, Integral) else bound * counts.shape[0]
        for bound in (settings.min_df, settings.max_df)
    )
    frequency = document_frequency(counts)
    return np.flatnonzero((frequency >= low) & (frequency <= high))


def _select_most(counts: sp.csr_matrix, n_most: int) -> NDArray[np.intp]:
    """Find the columns with the greatest sums, the first among equals."""
    total = np.bincount(counts.indices, weights=counts.data, minlength=counts.shape[1])
    return np.sort(np.argsort(-total, kind="stable")[:n_most])


def _no_terms(settings: Settings, n_features: int) -> DataError:
    if n_features == 0:
        return DataError(
            "no document holds a single term; look at the documents, or change token_pattern"
        )
    return DataError(
        f"none of the {n_features} different words or features is left with"
        f" min_df={settings.min_df}, max_df={settings.max_df} and"
        f" stop_words={reprlib.repr(settings.stop_words)};"
        " lower min_df, raise max_df, or switch stop_words off"
    )


def _inverse_document_frequency(
    counts: sp.csr_matrix, settings: Settings
) -> NDArray[np.float64] | None:
    if settings.weighting != "tfidf":
        return None
    n_documents = counts.shape[0]
    frequency = document_frequency(counts)
    smoothing = int(settings.smooth_idf)
    return 1 + np.log((n_documents + smoothing) / (frequency + smoothing))
