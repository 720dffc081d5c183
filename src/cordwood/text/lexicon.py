"""Features of texts from a lexicon of scored words, such as the polarity of sentiment."""

import csv
import hashlib
import math
import os
import string
from collections.abc import Callable, Iterable, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from cordwood.exceptions import CordwoodError, DataError, ModelFileError
from cordwood.text.text_input import TextTransformer, check_texts

VADER = "vader"

_FEATURES = ("negative", "neutral", "positive", "compound")

# Of Hutto and Gilbert (2014): scores are between -4 and 4, and a sum of 15 ** 0.5 has a compound
# score of about 0.7.
MAX_SCORE = 4.0
_COMPOUND_ALPHA = 15.0


class LexiconVectorizer(TextTransformer):
    """Convert texts to four scores from a lexicon of positive and negative words.

    Parameters
    ----------
    lexicon : "vader", str, path-like or mapping of str to float, default="vader"
        The lexicon:

        - "vader": the lexicon and rules of VADER for English, which know negations, intensifiers,
          emoticons and emoji. Needs the package vaderSentiment.
        - path of a CSV file: a word and its score in each row, and optionally a header.
        - mapping: the score of each word.

        Scores may be on any scale with zero as neutral. Words are compared in lowercase.

    Attributes
    ----------
    scores_ : dict of str to float or None
        Scores of the words, scaled to a largest magnitude of 4; None for "vader".
    fingerprint_ : str
        SHA-256 digest of the lexicon.

    See Also
    --------
    TextVectorizer : Term counts and tf-idf values.

    Notes
    -----
    With scores s of the words of a text, of which n are not in the lexicon, let p be the sum of
    s + 1 over the positive scores and q the sum of 1 - s over the negative ones. The features are
    q, n and p divided by q + n + p, and the compound score ``t / sqrt(t**2 + 15)`` of the sum t of
    all scores. VADER first changes the scores by its rules.

    References
    ----------
    C. Hutto and E. Gilbert. VADER: A parsimonious rule-based model for sentiment analysis of social
    media text. ICWSM 2014.

    Examples
    --------
    >>> vectorizer = LexiconVectorizer({"good": 2, "awful": -4}).fit(["any text"])
    >>> vectorizer.get_feature_names_out().tolist()
    ['negative', 'neutral', 'positive', 'compound']
    >>> vectorizer.transform(["Good food, good wine.", "An awful place."]).round(2)
    array([[ 0.  ,  0.25,  0.75,  0.72],
           [ 0.71,  0.29,  0.  , -0.72]], dtype=float32)
    """

    def __init__(self, lexicon: str | os.PathLike[str] | Mapping[str, float] = VADER) -> None:
        self.lexicon = lexicon

    def fit(self, X: Iterable[str], y: object = None) -> Self:
        """Read the lexicon; nothing is learned from the texts.

        Parameters
        ----------
        X : iterable of str of length n_samples
            Texts.
        y : None
            Ignored.

        Returns
        -------
        self : LexiconVectorizer
            The fitted vectorizer.

        Raises
        ------
        CordwoodError
            If the lexicon is not valid or vaderSentiment is not installed.
        """
        check_texts(X)
        scores = self.scores_ = read_lexicon(self.lexicon)
        self.fingerprint_ = _vader_fingerprint() if scores is None else _fingerprint(scores)
        return self

    def transform(self, X: Iterable[str]) -> NDArray[np.float32]:
        """Score texts.

        Parameters
        ----------
        X : iterable of str of length n_samples
            Texts. The scores of a text without words are zero.

        Returns
        -------
        X_new : ndarray of float32, shape (n_samples, 4)
            Negative, neutral, positive and compound score.

        Raises
        ------
        ModelFileError
            If the installed version of VADER is not the one the vectorizer was fitted with.
        """
        check_is_fitted(self)
        texts = check_texts(X)
        if self.scores_ is None and _vader_fingerprint() != self.fingerprint_:
            raise ModelFileError(
                "the lexicon of the installed vaderSentiment is not the one that the model was "
                "trained with; install that version, or train the model again"
            )
        score = _make_vader() if self.scores_ is None else self._score
        rows = [score(text) for text in texts]
        return np.array(rows, dtype=np.float32).reshape(len(texts), len(_FEATURES))

    def _score(self, text: str) -> tuple[float, ...]:
        assert self.scores_ is not None
        negative = neutral = positive = total = 0.0
        for word in text.lower().split():
            # Emoticons are words of punctuation.
            score = self.scores_.get(word) or self.scores_.get(word.strip(string.punctuation), 0.0)
            total += score
            if score > 0:
                positive += score + 1
            elif score < 0:
                negative += 1 - score
            else:
                neutral += 1
        size = (negative + neutral + positive) or 1.0
        compound = total / math.sqrt(total**2 + _COMPOUND_ALPHA)
        return negative / size, neutral / size, positive / size, compound

    def get_feature_names_out(self, input_features: object = None) -> NDArray[np.object_]:
        """Return the names of the scores.

        Parameters
        ----------
        input_features : None
            Ignored.

        Returns
        -------
        feature_names_out : ndarray of str objects, shape (4,)
        """
        check_is_fitted(self)
        return np.array(_FEATURES, dtype=object)


def _import_vader() -> Any:
    try:
        return import_module("vaderSentiment.vaderSentiment")
    except ImportError as error:
        raise CordwoodError(
            "lexicon='vader' requires the package vaderSentiment; install it with: "
            'pip install "cordwood[lexicon]"'
        ) from error


def _make_vader() -> Callable[[str], tuple[float, ...]]:
    analyzer = _import_vader().SentimentIntensityAnalyzer()

    def score(text: str) -> tuple[float, ...]:
        scores = analyzer.polarity_scores(text)
        return scores["neg"], scores["neu"], scores["pos"], scores["compound"]

    return score


def _vader_fingerprint() -> str:
    """Hash the lexicon and the rules, both of which the scores depend on."""
    folder = Path(_import_vader().__file__).parent
    digest = hashlib.sha256()
    for name in ("vader_lexicon.txt", "emoji_utf8_lexicon.txt", "vaderSentiment.py"):
        digest.update((folder / name).read_bytes())
    return digest.hexdigest()


def _fingerprint(scores: Mapping[str, float]) -> str:
    lines = (f"{word}\t{score!r}\n" for word, score in sorted(scores.items()))
    return hashlib.sha256("".join(lines).encode()).hexdigest()


def read_lexicon(lexicon: str | os.PathLike[str] | Mapping[Any, Any]) -> dict[str, float] | None:
    """Return scores by lowercase word, scaled to a largest magnitude of 4; None for "vader"."""
    if isinstance(lexicon, Mapping):
        return _check_scores(lexicon, "lexicon")
    if lexicon == VADER:
        _import_vader()
        return None
    if not isinstance(lexicon, str | os.PathLike):
        raise CordwoodError(
            f"lexicon must be {VADER!r}, the path of a CSV file or a mapping of words to scores; "
            f"got {lexicon!r}"
        )
    return _check_scores(_read_scores(lexicon), f"lexicon {os.fspath(lexicon)}")


def _read_scores(path: str | os.PathLike[str]) -> dict[str, float]:
    """Read words and scores from a CSV file."""
    try:
        with Path(path).open(encoding="utf-8-sig", newline="") as file:
            rows = [(number, row) for number, row in enumerate(csv.reader(file), 1) if row]
    except UnicodeDecodeError:
        raise DataError(f"the lexicon {path} is not encoded in UTF-8; save it as UTF-8") from None
    except (OSError, csv.Error) as error:
        reason = getattr(error, "strerror", None) or error
        raise CordwoodError(f"cannot read the lexicon {path}: {reason}") from error
    scores: dict[str, float] = {}
    for number, row in rows:
        if len(row) != 2:
            raise DataError(
                f"{path}, row {number}: a lexicon has a word and a score, separated by a comma, in "
                f"each row; got {row!r}"
            )
        word, score = row[0].strip(), row[1].strip()
        try:
            value = float(score)
        except ValueError:
            if number == rows[0][0]:
                continue  # header
            raise DataError(
                f"{path}, row {number}: the score of {word!r} must be a number; got {score!r}"
            ) from None
        if word.lower() in scores:
            raise DataError(f"{path}, row {number}: the word {word!r} occurs twice")
        scores[word.lower()] = value
    return scores


def _check_scores(scores: Mapping[Any, Any], name: str) -> dict[str, float]:
    """Return the scores by lowercase word, scaled to a largest magnitude of 4."""
    checked: dict[str, float] = {}
    for word, score in scores.items():
        if not isinstance(word, str) or not word.strip() or len(word.split()) > 1:
            raise CordwoodError(f"{name} must contain single words; got {word!r}")
        if isinstance(score, bool) or not isinstance(score, int | float | np.number):
            raise CordwoodError(f"{name}: the score of {word!r} must be a number; got {score!r}")
        if not math.isfinite(score):
            raise CordwoodError(f"{name}: the score of {word!r} must be finite; got {score!r}")
        checked[word.lower().strip()] = float(score)
    largest = max(map(abs, checked.values()), default=0.0)
    if largest == 0:
        raise CordwoodError(f"{name} must contain at least one word whose score is not zero")
    return {word: score / largest * MAX_SCORE for word, score in checked.items()}
