"""Vectorization of texts: term counts, tf-idf and binary presence as sparse matrices."""

import logging
import reprlib
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import fields
from numbers import Integral
from types import MappingProxyType
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.preprocessing import normalize
from sklearn.utils.sparsefuncs_fast import inplace_csr_row_normalize_l2
from sklearn.utils.validation import check_is_fitted

from cordwood._base.csr import count_columns
from cordwood._base.samples import check_fitted
from cordwood.exceptions import CordwoodError, DataError
from cordwood.text._count_matrix import remap_columns
from cordwood.text.analyzer import build_analyzer
from cordwood.text.counting import build_counter, count_terms
from cordwood.text.languages import check_language
from cordwood.text.presets import (
    AUTO_PARAMS,
    PRESETS,
    apply_language,
    check_auto_for,
    choose_params,
    resolve_params,
)
from cordwood.text.text_input import TextTransformer, check_texts
from cordwood.text.vectorizer_params import VectorizerParams
from cordwood.text.vocabulary import UNKNOWN

logger = logging.getLogger(__name__)

_PARAMS = tuple(field.name for field in fields(VectorizerParams))

# Stored entries that are weighted at once, so that temporary arrays are small.
_BLOCK_SIZE = 2**20


# Output is always sparse, which no dataframe container supports: like scikit-learn's vectorizers,
# this one ignores `sklearn.set_config(transform_output=...)`.
class TextVectorizer(  # type: ignore[call-arg]  # mypy does not know the mixin's keyword
    TextTransformer, auto_wrap_output_keys=None
):
    """Convert texts to a sparse matrix of term counts, tf-idf values or term presence.

    Does the work of scikit-learn's `CountVectorizer` and `TfidfVectorizer`, with stemming, stop
    words of many languages and presets for common kinds of text, in any script.

    Every parameter except `preset` and `auto_for` is None by default, which means the value of the
    preset. False disables a step that the preset enables. The resulting values are in
    `resolved_params_`.

    Parameters
    ----------
    preset : {"auto", "sigir15", "sigir17", "icml03", "social"}, default="auto"
        Default values of the other parameters:

        - "sigir15": SMART stop words, ``min_df=6``, tf-idf.
        - "sigir17": SMART stop words, ``min_df=6``, term counts.
        - "icml03": SMART stop words without contractions, words of letters only, Porter's
          stemmer, ``min_df=4``, binary term presence.
        - "social": no stop words, term counts, tokens that include emoticons, emoji and
          punctuation; for short, informal texts.
        - "auto": "social" if the median text has fewer than 350 characters (Han characters and
          kana count as three) or if there are fewer than 100 texts, otherwise "sigir17" with the
          changes of `auto_for` and the stop words of the language. Marks negation in short English
          texts, and removes HTML if a fifth of the texts contain it. The choice is logged and in
          `preset_reason_`.
    auto_for : {"trees", "linear", "linear_ngrams", "naive_bayes", "neighbors"}, default="trees"
        Kind of the classifier that the terms are for. With ``preset="auto"`` and long texts,
        "linear" keeps stop words and all terms (``stop_words=False, min_df=1``), "naive_bayes" and
        "neighbors" keep rarer terms than "trees" does (``min_df=2`` instead of 6). "linear_ngrams"
        keeps stop words and has ``min_df=2`` for long and short texts; if the median text has fewer
        than 50 characters, it has ``min_df=1`` and n-grams of 1 to 5 characters. Other presets
        ignore it, except that "linear_ngrams" has ``min_df=2``. `cordwood.recipes` set it.
    language : str, default=None
        Language of the texts as ISO 639-1 code, such as "de", or several joined by "+", such as
        "de+fr". If the preset removes stop words or stems words, it uses the stop words of these
        languages and the stemmer of the first one, and none for a language without them. If None,
        the preset "auto" and ``stemmer="auto"`` detect the language, and other presets are for
        English.
    weighting : {"tf", "tfidf", "binary"}, default=None
        Values of the matrix: the number of occurrences of a term in the text (term frequency,
        tf), tf times the inverse document frequency (idf) of the term, or 1 for each term of the
        text.
    sublinear_tf : bool, default=None
        Whether to replace tf by ``1 + ln(tf)``. If None, True for ``weighting="tfidf"`` and False
        otherwise.
    smooth_idf : bool, default=None
        For ``weighting="tfidf"``: whether idf is ``ln((1 + n) / (1 + df)) + 1`` instead of
        ``ln(n / df) + 1``, where df of n training texts contain the term.
    norm : {"l1", "l2", "max", False}, default=None
        Norm to which each row is scaled. If None, "l2" for ``weighting="tfidf"`` and False
        otherwise.
    stop_words : {"smart", "smart523", "english", False}, str or collection of str, default=None
        Words to remove: the SMART list with or without its 47 contractions, the list of
        scikit-learn, the lists of languages such as "de" or "de+fr", or the given words. Words are
        compared before stemming. If a stop word contains an apostrophe, the parts into which the
        tokenizer splits it are removed as well.
    stemmer : {"porter", "auto", False} or str, default=None
        Porter's stemming algorithm, or the Snowball stemmer of a language such as "de"; "auto" is
        that of `language`. Ten times faster if PyStemmer is installed, with the same stems.
    analyzer : {"word", "char", "char_wb"}, default=None
        Whether terms are n-grams of words, of characters, or of characters inside word boundaries
        (n-grams at the edges of words are padded with space).
    token_pattern : str, default=None
        Name of a pattern: "word" (two or more letters or digits, and emoji), "letters" or "social";
        see `cordwood.text.token_patterns`. They are for texts in any script, which are normalized
        to NFC. Otherwise, the regular expression of a word; if it has a capturing group, the group
        is the word.
    ngram_range : tuple (min_n, max_n), default=None
        Smallest and largest n of the n-grams. If None, (1, 1) for words; for characters, (3, 5)
        with the preset "social", (4, 4) with the others, and (1, 3) with "auto" if most letters
        are of scripts without spaces.
    min_df : int or float, default=None
        Ignore terms with a lower document frequency: a number of training texts if int, a
        fraction of them if float.
    max_df : int or float, default=None
        Ignore terms with a higher document frequency: a number of training texts if int, a
        fraction of them if float.
    max_features : int, default=None
        Keep only this number of terms: the most frequent ones in the training texts, in
        alphabetical order among equally frequent ones. If None, keep all.
    lowercase : bool, default=None
        Whether to convert texts to lowercase. All presets do.
    strip_accents : {"ascii", "unicode", False}, default=None
        How to remove accents, as in scikit-learn. No preset does.
    max_token_length : int, default=None
        Number of characters after which a word is truncated; 10,000 in all presets. It bounds the
        memory for words that are no words, such as encoded files: without it, the memory of
        character n-grams is about 100 bytes per character.
    strip_html : bool, default=None
        Whether to remove HTML tags, comments and scripts, and to replace entities such as
        ``&nbsp;`` by characters. The preset "auto" does if a fifth of the texts contain HTML.
    mark_negation : bool, default=None
        Whether the words from an English negation, such as "not" or "don't", to the next
        punctuation have the prefix "not_", so that "good" and "not_good" are different terms. The
        preset "auto" does for short texts in English. Requires ``token_pattern="social"``.

    Attributes
    ----------
    preset_ : {"sigir15", "sigir17", "icml03", "social"}
        The preset that was used.
    preset_reason_ : str
        The preset and why it was chosen.
    resolved_params_ : VectorizerParams
        The values of all parameters after applying the preset.
    vocabulary_ : mapping of str to int
        The column of each term. Columns are in alphabetical order.
    idf_ : ndarray of shape (n_terms,) or None
        Inverse document frequencies; None unless ``weighting="tfidf"``.

    See Also
    --------
    sklearn.feature_extraction.text.CountVectorizer : Term counts, without presets or stemming.
    sklearn.feature_extraction.text.TfidfVectorizer : The tf-idf values of the same counts.
    cordwood.text.presets : Presets; docs/presets.md has the experiments behind "auto".

    Notes
    -----
    With ``weighting="tfidf"`` and defaults otherwise, the value of term t in text d is proportional
    to ``(1 + ln tf(t, d)) * (ln((1 + n) / (1 + df(t))) + 1)`` with rows of unit Euclidean norm.

    Texts are counted with the steps in this order: stop words, stemming, n-grams, `min_df` and
    `max_df`, `max_features`.

    In scripts that are written without spaces, such as Chinese, Japanese and Thai, the terms of the
    word analyzer are n-grams of 1 to 3 characters, whatever `ngram_range`; other words of the same
    text are words. A regular expression as `token_pattern` disables this.

    Examples
    --------
    >>> vectorizer = TextVectorizer(preset="social", stop_words="smart", stemmer="porter")
    >>> X = vectorizer.fit_transform(["The cat saw cats", "A dog!!"])
    >>> vectorizer.get_feature_names_out()
    array(['!!', 'cat', 'dog'], dtype=object)
    >>> X.toarray()
    array([[0., 2., 0.],
           [1., 0., 1.]], dtype=float32)

    Without a preset, the texts decide:

    >>> vectorizer = TextVectorizer().fit(["so good :)", "so bad :("])
    >>> vectorizer.preset_reason_
    'preset social: there are 2 texts, fewer than 100; mark_negation=True for English'
    >>> sorted(vectorizer.vocabulary_)
    [':(', ':)', 'bad', 'good', 'so']
    """

    def __init__(
        self,
        *,
        preset: str = "auto",
        auto_for: str = "trees",
        language: str | None = None,
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
        max_token_length: int | None = None,
        strip_html: bool | None = None,
        mark_negation: bool | None = None,
    ) -> None:
        self.preset = preset
        self.auto_for = auto_for
        self.language = language
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
        self.max_token_length = max_token_length
        self.strip_html = strip_html
        self.mark_negation = mark_negation

    def fit(self, X: Iterable[str], y: object = None) -> Self:
        """Learn the vocabulary and the idf values.

        Parameters
        ----------
        X : iterable of str of length n_samples
            The training texts: a list, an array, or a column of a dataframe.
        y : None
            Ignored.

        Returns
        -------
        self : TextVectorizer
            The fitted vectorizer.

        Raises
        ------
        DataError
            If `X` is not a list of texts, or if no term is left.
        """
        self.fit_transform(X)
        return self

    def fit_transform(self, X: Iterable[str], y: object = None) -> sp.csr_matrix:
        """Learn the vocabulary and the idf values, and transform the training texts.

        Parameters
        ----------
        X : iterable of str of length n_samples
            The training texts: a list, an array, or a column of a dataframe.
        y : None
            Ignored.

        Returns
        -------
        X_new : CSR matrix of float32, shape (n_samples, n_terms)
            Indices are sorted, and 32-bit integers unless there are more than 2**31 - 1 entries.

        Raises
        ------
        DataError
            If `X` is not a list of texts, or if no term is left.
        """
        texts = check_texts(X)
        if not texts:
            raise DataError("X is empty; fit needs at least one text")
        preset, reason, params = self._choose_params(texts)
        # Unpacked, so that the counts of all terms are released when those of the vocabulary exist.
        counts, term_names, make_counter = count_terms(texts, build_analyzer(params))
        n_found = counts.shape[1]
        kept = _select_by_document_frequency(counts, params)
        if not len(kept):
            raise _no_terms_error(params, n_found)
        terms = term_names(kept)
        order = np.array(sorted(range(len(kept)), key=terms.__getitem__))
        new_column = np.full(n_found, UNKNOWN)
        new_column[kept[order]] = np.arange(len(kept))
        counts = remap_columns(counts, new_column.astype(np.int32), len(kept))
        if params.max_features is not None and len(kept) > params.max_features:
            frequent = _select_most_frequent(counts, params.max_features)
            counts, order = counts[:, frequent], order[frequent]
            new_column[:] = UNKNOWN
            new_column[kept[order]] = np.arange(len(order))
        self.preset_, self.preset_reason_, self.resolved_params_ = preset, reason, params
        # In order of first occurrence, because that makes lookups faster (see `ColumnLookup`).
        pairs = zip(terms, new_column[kept].tolist(), strict=True)
        self._vocabulary = {term: column for term, column in pairs if column != UNKNOWN}
        self._count_terms = make_counter(self._vocabulary, new_column)
        self.idf_ = _compute_idf(counts, params)
        return self._apply_weighting(counts)

    def transform(self, X: Iterable[str]) -> sp.csr_matrix:
        """Transform texts with the fitted vocabulary and idf values.

        Parameters
        ----------
        X : iterable of str of length n_samples
            The texts: a list, an array, or a column of a dataframe.

        Returns
        -------
        X_new : CSR matrix of float32, shape (n_samples, n_terms)
            Terms that are not in the vocabulary are ignored; a text without known terms is a row
            of zeros.

        Raises
        ------
        DataError
            If `X` is not a list of texts.
        """
        check_fitted(self)
        return self._apply_weighting(self._count_terms(check_texts(X)))

    def get_feature_names_out(self, input_features: object = None) -> NDArray[np.object_]:
        """Return the terms in the order of the columns.

        Parameters
        ----------
        input_features : None
            Ignored.

        Returns
        -------
        feature_names_out : ndarray of str objects, shape (n_terms,)
        """
        check_is_fitted(self)
        return np.array(sorted(self.vocabulary_), dtype=object)

    def set_output(self, *, transform: str | None = None) -> Self:
        """Accept the default output only, because the output is always sparse.

        Parameters
        ----------
        transform : {"default"} or None, default=None
            Dataframe containers do not support sparse matrices.

        Returns
        -------
        self : TextVectorizer

        Raises
        ------
        CordwoodError
            If `transform` is another container, such as "pandas".
        """
        if transform not in (None, "default"):
            raise CordwoodError(
                "transform must be 'default', because TextVectorizer returns sparse matrices; "
                f"got {transform!r}"
            )
        return self

    @property
    def vocabulary_(self) -> Mapping[str, int]:
        """The column of each term."""
        check_is_fitted(self)
        return MappingProxyType(self._vocabulary)

    def _choose_params(self, texts: Sequence[str]) -> tuple[str, str, VectorizerParams]:
        """Return the preset, the reason for it, and the values of all parameters."""
        check_auto_for(self.auto_for)
        if self.language is not None:
            check_language(self.language)
        params = {name: getattr(self, name) for name in _PARAMS}
        if self.preset == "auto":
            preset, reason, params = choose_params(texts, self.auto_for, params, self.language)
            logger.info(reason)
            return preset, reason, resolve_params(preset, params)
        if self.preset not in tuple(PRESETS):
            *first, last = map(repr, PRESETS)
            raise CordwoodError(
                f"preset must be 'auto', {', '.join(first)} or {last}; got {self.preset!r}"
            )
        reasons = [f"preset {self.preset}: set by the user"]
        if self.auto_for == "linear_ngrams" and params["min_df"] is None:
            # Presets are for words, most of which are more frequent than n-grams.
            params["min_df"] = AUTO_PARAMS[self.auto_for]["min_df"]
        # Otherwise, the texts must not change a preset that was set by the user.
        if self.language is not None or self.stemmer == "auto":
            params, changes = apply_language(self.preset, texts, params, self.language)
            reasons += changes
        return self.preset, "; ".join(reasons), resolve_params(self.preset, params)

    def _apply_weighting(self, counts: sp.csr_matrix) -> sp.csr_matrix:
        """Replace counts by the values of the weighting, in place."""
        params = self.resolved_params_
        if params.weighting == "binary":
            counts.data.fill(1)
        if params.sublinear_tf:
            np.log(counts.data, out=counts.data)
            counts.data += 1
        if self.idf_ is not None:
            for start in range(0, counts.nnz, _BLOCK_SIZE):
                block = slice(start, start + _BLOCK_SIZE)
                # In double precision, which is rounded by the assignment.
                counts.data[block] = counts.data[block] * self.idf_[counts.indices[block]]
        if params.norm == "l2":
            # What `normalize` calls, whose checks take longer than a short text.
            inplace_csr_row_normalize_l2(counts)
        elif params.norm and counts.nnz:
            normalize(counts, norm=params.norm, copy=False)
        return counts

    def __getstate__(self) -> dict[str, Any]:
        state: dict[str, Any] = dict(super().__getstate__())
        if "_vocabulary" in state:
            # The counter is built again, and a list of terms is pickled faster than a mapping.
            del state["_count_terms"]
            state["_vocabulary"] = sorted(self._vocabulary)
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        if "_vocabulary" in state:
            self._vocabulary = {term: i for i, term in enumerate(state["_vocabulary"])}
            analyzer = build_analyzer(self.resolved_params_)
            self._count_terms = build_counter(self._vocabulary, analyzer)


def _select_by_document_frequency(
    counts: sp.csr_matrix, params: VectorizerParams
) -> NDArray[np.intp]:
    """Return the columns whose document frequency is between `min_df` and `max_df`."""
    low, high = (
        bound if isinstance(bound, Integral) else bound * counts.shape[0]
        for bound in (params.min_df, params.max_df)
    )
    frequency = count_columns(counts)
    return np.flatnonzero((frequency >= low) & (frequency <= high))


def _select_most_frequent(counts: sp.csr_matrix, n_terms: int) -> NDArray[np.intp]:
    """Return the columns with the largest sums, in ascending order; ties go to the first."""
    total = np.bincount(counts.indices, weights=counts.data, minlength=counts.shape[1])
    return np.sort(np.argsort(-total, kind="stable")[:n_terms])


def _no_terms_error(params: VectorizerParams, n_found: int) -> DataError:
    if n_found == 0:
        return DataError("the texts contain no terms; check the texts and token_pattern")
    return DataError(
        f"none of the {n_found} terms of the texts is left after applying min_df={params.min_df},"
        f" max_df={params.max_df} and stop_words={reprlib.repr(params.stop_words)};"
        " lower min_df, raise max_df or disable stop_words"
    )


def _compute_idf(counts: sp.csr_matrix, params: VectorizerParams) -> NDArray[np.float64] | None:
    if params.weighting != "tfidf":
        return None
    n_samples = counts.shape[0]
    frequency = count_columns(counts)
    smoothing = int(params.smooth_idf)
    return 1 + np.log((n_samples + smoothing) / (frequency + smoothing))
