"""Languages of texts: their codes, Snowball stemmers, and detection by stop words.

Languages are named by their ISO 639-1 codes; several languages are joined by "+", as in "de+fr".

`detect_language` finds the language of a data set, not of a single short text: each of up to 200
texts has the language whose stop words it contains most often, where a stop word that belongs to
several languages counts less, and letters that do not occur in the stop words of a language count
against it. Scripts that only one language is written in decide alone. This needs no model, takes
some milliseconds, and is exact enough to choose a stop word list; see docs/languages.md.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import cache, lru_cache
from types import MappingProxyType
from typing import NamedTuple

import stopwordsiso

from cordwood.exceptions import CordwoodError
from cordwood.text.token_patterns import build_tokenizer


class Language(NamedTuple):
    """A language."""

    name: str  # in English
    stemmer: str | None = None  # name of the Snowball algorithm; None if there is none


LANGUAGES: Mapping[str, Language] = MappingProxyType(
    {
        "af": Language("Afrikaans"),
        "ar": Language("Arabic", "arabic"),
        "bg": Language("Bulgarian"),
        "bn": Language("Bengali"),
        "br": Language("Breton"),
        "ca": Language("Catalan", "catalan"),
        "cs": Language("Czech"),
        "da": Language("Danish", "danish"),
        "de": Language("German", "german"),
        "el": Language("Greek", "greek"),
        "en": Language("English", "english"),
        "eo": Language("Esperanto"),
        "es": Language("Spanish", "spanish"),
        "et": Language("Estonian"),
        "eu": Language("Basque", "basque"),
        "fa": Language("Persian"),
        "fi": Language("Finnish", "finnish"),
        "fr": Language("French", "french"),
        "ga": Language("Irish", "irish"),
        "gl": Language("Galician"),
        "gu": Language("Gujarati"),
        "ha": Language("Hausa"),
        "he": Language("Hebrew"),
        "hi": Language("Hindi", "hindi"),
        "hr": Language("Croatian"),
        "hu": Language("Hungarian", "hungarian"),
        "hy": Language("Armenian", "armenian"),
        "id": Language("Indonesian", "indonesian"),
        "it": Language("Italian", "italian"),
        "ja": Language("Japanese"),
        "km": Language("Khmer"),
        "ko": Language("Korean"),
        "ku": Language("Kurdish"),
        "la": Language("Latin"),
        "lo": Language("Lao"),
        "lt": Language("Lithuanian", "lithuanian"),
        "lv": Language("Latvian"),
        "mr": Language("Marathi"),
        "ms": Language("Malay"),
        "my": Language("Burmese"),
        "ne": Language("Nepali", "nepali"),
        "nl": Language("Dutch", "dutch"),
        "no": Language("Norwegian", "norwegian"),
        "pl": Language("Polish"),
        "pt": Language("Portuguese", "portuguese"),
        "ro": Language("Romanian", "romanian"),
        "ru": Language("Russian", "russian"),
        "sk": Language("Slovak"),
        "sl": Language("Slovenian"),
        "so": Language("Somali"),
        "sr": Language("Serbian", "serbian"),
        "st": Language("Sesotho"),
        "sv": Language("Swedish", "swedish"),
        "sw": Language("Swahili"),
        "ta": Language("Tamil", "tamil"),
        "th": Language("Thai"),
        "tl": Language("Tagalog"),
        "tr": Language("Turkish", "turkish"),
        "uk": Language("Ukrainian"),
        "ur": Language("Urdu"),
        "vi": Language("Vietnamese"),
        "yi": Language("Yiddish", "yiddish"),
        "yo": Language("Yoruba"),
        "zh": Language("Chinese"),
        "zu": Language("Zulu"),
    }
)
"""Languages by code. Stemmers are those of every supported version of snowballstemmer."""

UNSPACED = frozenset({"ja", "km", "lo", "my", "th", "zh"})
"""Languages that are written without spaces between words."""

# First and last letter of scripts that are used by one language of `LANGUAGES`.
_SCRIPTS = {
    "el": ("\u0370", "\u03ff"),
    "gu": ("\u0a80", "\u0aff"),
    "hy": ("\u0530", "\u058f"),
    "ja": ("\u3041", "\u30ff"),
    "km": ("\u1780", "\u17ff"),
    "ko": ("\uac00", "\ud7a3"),
    "lo": ("\u0e80", "\u0eff"),
    "my": ("\u1000", "\u109f"),
    "ta": ("\u0b80", "\u0bff"),
    "th": ("\u0e00", "\u0e7f"),
    "zh": ("\u3400", "\u9fff"),
}
# Japanese text is a mixture of kana and Han characters.
_MIN_KANA = 0.1

_MAX_TEXTS = 200
_MAX_LENGTH = 1000
# A word that is repeated is no evidence: "word" is a stop word of Dutch.
_MIN_WORDS = 2
# Languages with a smaller share of the texts are ignored: detection is wrong for up to a twentieth
# of short English texts, and for more texts of languages that resemble each other.
_MIN_SHARE = 0.2
# How much letters of other languages count. In Ukrainian texts, 0 detects Ukrainian in half of the
# texts and Russian in the other half; 8 detects Ukrainian in four of five.
_ALPHABET_POWER = 8


def check_language(language: object) -> list[str]:
    """Return the codes in a language parameter."""
    codes = language.split("+") if isinstance(language, str) else [""]
    for code in codes:
        if code not in LANGUAGES:
            named = [key for key, known in LANGUAGES.items() if known.name.lower() == code.lower()]
            hint = f", but the code of {LANGUAGES[named[0]].name} is {named[0]!r}" if named else ""
            raise CordwoodError(
                "language must be an ISO 639-1 code such as 'de', or several as in 'de+fr'; "
                f"got {language!r}{hint}"
            )
    return codes


def name_languages(language: str) -> str:
    """Return the English names of languages, such as "German and French" for "de+fr"."""
    return " and ".join(LANGUAGES[code].name for code in language.split("+"))


def sample_texts(texts: Sequence[str]) -> list[str]:
    """Return the beginnings of texts at regular distances, at most 200."""
    step = max(1, -(-len(texts) // _MAX_TEXTS))
    return [text[:_MAX_LENGTH] for text in texts[::step]]


def detect_language(texts: Sequence[str]) -> str | None:
    """Detect the languages of a data set.

    >>> detect_language(["Das ist ein Haus und kein Schiff", "Wer ist nicht dieser Meinung?"])
    'de'
    >>> detect_language(["This is not a pen", "これはペンです"])
    'en+ja'
    """
    # At most 200 texts are examined. A language counts if it is that of at least a fifth of them.
    return _detect_in_sample(tuple(sample_texts(texts)))


# The vectorizers of a stack are fitted on the same texts.
@lru_cache(maxsize=1)
def _detect_in_sample(texts: tuple[str, ...]) -> str | None:
    found = Counter(code for text in texts if (code := _detect_text(text)) is not None)
    total = found.total()
    codes = [code for code, count in found.most_common() if count >= _MIN_SHARE * total]
    return "+".join(codes) or None


class _StopWordIndex(NamedTuple):
    """Languages of each stop word, and the letters of each language."""

    languages: Mapping[str, Sequence[str]]
    alphabets: Mapping[str, frozenset[str]]


@cache
def _stop_word_index() -> _StopWordIndex:
    languages: dict[str, list[str]] = {}
    alphabets = {}
    for code in sorted(stopwordsiso.langs() & LANGUAGES.keys() - _SCRIPTS.keys()):
        words = {word.lower() for word in stopwordsiso.stopwords(code)}
        alphabets[code] = alphabet = _find_alphabet(words)
        for word in words:
            letters = {letter for letter in word if letter.isalpha()}
            if letters and letters <= alphabet:
                languages.setdefault(word, []).append(code)
    return _StopWordIndex(languages, alphabets)


def _find_alphabet(words: Iterable[str]) -> frozenset[str]:
    """Return the letters of words, without Latin letters if most letters are not Latin."""
    letters = Counter(letter for word in words for letter in word if letter.isalpha())
    n_latin = sum(count for letter, count in letters.items() if letter.isascii())
    is_latin = 2 * n_latin > letters.total()
    return frozenset(letter for letter in letters if is_latin or not letter.isascii())


def _detect_text(text: str) -> str | None:
    text = text.lower()
    # Filtering the distinct characters is faster than filtering all of them.
    letters = Counter({char: n for char, n in Counter(text).items() if char.isalpha()})
    code = None if text.isascii() else _detect_script(letters)
    if code is not None:
        return code
    index = _stop_word_index()
    weights: dict[str, list[float]] = {}
    for token, count in Counter(build_tokenizer("word")(text)).items():
        codes = index.languages.get(token, ())
        for code in codes:
            weights.setdefault(code, []).append(count / len(codes))
    totals = {code: sum(found) for code, found in weights.items() if len(found) >= _MIN_WORDS}
    n_letters = letters.total()
    scores: dict[str, float] = {}
    best = 0.0
    for code, total in sorted(totals.items(), key=lambda item: -item[1]):
        if total < best:  # an upper bound of the score
            break
        alphabet = index.alphabets[code]
        known = sum(count for letter, count in letters.items() if letter in alphabet)
        scores[code] = total * (known / n_letters) ** _ALPHABET_POWER
        best = max(best, scores[code])
    # Equal scores: the first code in alphabetical order, except that English comes first.
    return min(scores, key=lambda code: (-scores[code], code != "en", code), default=None)


def _detect_script(letters: Counter[str]) -> str | None:
    """Return the language if most letters are of a script that only one language uses."""
    counts = {
        code: sum(count for letter, count in letters.items() if first <= letter <= last)
        for code, (first, last) in _SCRIPTS.items()
    }
    if counts["ja"] >= _MIN_KANA * (counts["ja"] + counts["zh"]):
        counts["ja"] += counts.pop("zh")
    code = max(counts, key=counts.__getitem__)
    return code if 2 * counts[code] > letters.total() else None
