"""Presets of `TextVectorizer`: parameter combinations from papers, and one for informal text.

================  ======================  ========  =======  =========  ==========================
preset            stop words              stemming  min_df   weighting  use
================  ======================  ========  =======  =========  ==========================
``sigir15``       SMART                   no        6        tfidf      topics, SIGIR 2015
``sigir17``       SMART                   no        6        tf         topics, SIGIR 2017
``icml03``        SMART, no contractions  Porter    4        binary     rules of words, ICML 2003
``social``        none                    no        1        tf         short, informal texts
================  ======================  ========  =======  =========  ==========================

"tfidf" is ``(1 + ln tf) * (ln((1 + n) / (1 + df)) + 1)`` with rows scaled to unit Euclidean norm.
Stop words are removed before words are stemmed, then n-grams are formed, and ``min_df`` and
``max_df`` select among the resulting terms. docs/presets.md has the papers, and the experiments
behind the preset "auto".
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from statistics import median_low
from types import MappingProxyType
from typing import Any

from cordwood.exceptions import CordwoodError
from cordwood.text._html_removal import html_share, strip_html
from cordwood.text.languages import LANGUAGES, detect_language, name_languages, sample_texts
from cordwood.text.scripts import count_characters, unspaced_share
from cordwood.text.stop_words import has_stop_words
from cordwood.text.vectorizer_params import VectorizerParams

PRESETS: Mapping[str, VectorizerParams] = MappingProxyType(
    {
        "sigir15": VectorizerParams(
            stop_words="smart", min_df=6, weighting="tfidf", sublinear_tf=True, norm="l2"
        ),
        "sigir17": VectorizerParams(stop_words="smart", min_df=6),
        "icml03": VectorizerParams(
            stop_words="smart523",
            stemmer="porter",
            token_pattern="letters",
            min_df=4,
            weighting="binary",
        ),
        "social": VectorizerParams(token_pattern="social"),
    }
)

# Default lengths of character n-grams. On long texts, 4-grams are as accurate as 3- to 5-grams in
# half the time (OHSUMED 75.8 and 75.9 %, WebKB 85.2 and 85.2 %); on short texts they lose half a
# percentage point.
_CHAR_NGRAM_RANGES = {"social": (3, 5)}
_DEFAULT_CHAR_NGRAM_RANGE = (4, 4)

# Stop word removal and a high `min_df` hurt on texts of fewer characters, or on fewer texts.
_MIN_MEDIAN_LENGTH = 350
_MIN_TEXTS = 100
# Texts are very short if their median length is below this.
_VERY_SHORT_LENGTH = 50
_VERY_SHORT_CHAR_NGRAM_RANGE = (1, 5)
# Texts about HTML contain a tag now and then, as do up to 7 % of the texts of the data sets of
# docs/presets.md.
_MIN_HTML_SHARE = 0.2
# Shares of letters in scripts without spaces: n-grams of characters must be shorter there. With
# 1 to 3 characters instead of the default, the accuracy of `nbsvm` is 51.8 instead of 49.7 % on
# short texts in Chinese, 48.8 instead of 47.7 % in Khmer (docs/languages.md).
_MIN_UNSPACED_SHARE = 0.5
_UNSPACED_CHAR_NGRAM_RANGE = (1, 3)
_MIN_REPORTED_SHARE = 0.005

# What preset "auto" changes of "sigir17" for each kind of classifier. For "linear_ngrams", it
# changes "social" as well, unless texts are very short.
AUTO_PARAMS: Mapping[str, Mapping[str, Any]] = MappingProxyType(
    {
        "trees": {},
        "linear": {"stop_words": False, "min_df": 1},
        "linear_ngrams": {"stop_words": False, "min_df": 2},
        "naive_bayes": {"min_df": 2},
        "neighbors": {"min_df": 2},
    }
)


def choose_params(
    texts: Sequence[str], auto_for: str, params: Mapping[str, Any], language: str | None = None
) -> tuple[str, str, dict[str, Any]]:
    """Choose a preset by the texts, and changes of it by the kind of classifier and the texts.

    >>> preset, reason, params = choose_params(["word " * 80] * 500, "naive_bayes", {})
    >>> params
    {'min_df': 2}
    >>> reason
    'preset sigir17: the median text has 400 characters, 350 or more; min_df=2 for naive_bayes'
    >>> preset, reason, params = choose_params(["Das ist nicht so. " * 20] * 500, "trees", {})
    >>> params
    {'stop_words': 'de'}
    """
    params = dict(params)
    html_reason = []
    if params.get("strip_html") is None and (share := html_share(sample_texts(texts))) >= (
        _MIN_HTML_SHARE
    ):
        params["strip_html"] = True
        html_reason = [f"strip_html=True, because {share:.0%} of the texts contain HTML"]
    if params.get("strip_html"):
        # Tags have no length and no language. The analyzer strips the texts again, because storing
        # them would double the memory.
        texts = list(map(strip_html, texts))
    length = _median_length(texts)
    preset, reason = _choose_preset(len(texts), length)
    is_very_short = auto_for == "linear_ngrams" and length < _VERY_SHORT_LENGTH
    is_changed = preset == "sigir17" or (auto_for == "linear_ngrams" and not is_very_short)
    changes = AUTO_PARAMS[auto_for] if is_changed else {}
    changes = {name: value for name, value in changes.items() if params.get(name) is None}
    reasons = [reason]
    if changes:
        reasons.append(f"{_list_params(changes)} for {auto_for}")
    params, language_reason = apply_language(preset, texts, {**params, **changes}, language)
    reasons += [*language_reason, *html_reason]
    if _can_mark_negation(preset, params) and _contains_english(texts, language):
        params["mark_negation"] = True
        reasons.append("mark_negation=True for English")
    share = unspaced_share(sample_texts(texts))
    letters = f"{share:.0%} of the letters are of scripts without spaces"
    if params.get("analyzer") in (None, "word"):
        if share >= _MIN_REPORTED_SHARE:
            reasons.append(f"n-grams of 1 to 3 characters, because {letters}")
    elif params.get("ngram_range") is None:
        if is_very_short:
            params["ngram_range"] = _VERY_SHORT_CHAR_NGRAM_RANGE
            reasons.append(
                f"ngram_range={_VERY_SHORT_CHAR_NGRAM_RANGE} for {auto_for}, because the median "
                f"text has fewer than {_VERY_SHORT_LENGTH} characters"
            )
        elif share >= _MIN_UNSPACED_SHARE:
            params["ngram_range"] = _UNSPACED_CHAR_NGRAM_RANGE
            reasons.append(f"ngram_range={_UNSPACED_CHAR_NGRAM_RANGE}, because {letters}")
    return preset, "; ".join(reasons), params


def apply_language(
    preset: str, texts: Sequence[str], params: Mapping[str, Any], language: str | None
) -> tuple[dict[str, Any], list[str]]:
    """Replace the English stop words and stemmer of a preset by those of the language.

    >>> apply_language("icml03", [], {"stop_words": None}, "de")
    ({'stop_words': 'de', 'stemmer': 'de'}, ["stop_words='de', stemmer='de' for German"])
    """
    base = PRESETS[preset]
    params = dict(params)
    is_word = params.get("analyzer") in (None, "word")
    replaced = [
        name
        for name in ("stop_words", "stemmer")
        if is_word and params.get(name) is None and getattr(base, name)
    ]
    if params.get("stemmer") == "auto":
        replaced.append("stemmer")
        params["stemmer"] = "en"
    if not replaced:
        return params, []
    codes = (language or detect_language(texts) or "en").split("+")
    if codes == ["en"]:
        return params, []
    with_list = "+".join(filter(has_stop_words, codes))
    own: dict[str, Any] = {
        "stop_words": with_list or False,
        "stemmer": codes[0] if LANGUAGES[codes[0]].stemmer else False,
    }
    changes = {name: own[name] for name in replaced}
    return {**params, **changes}, [f"{_list_params(changes)} for {name_languages('+'.join(codes))}"]


def _contains_english(texts: Sequence[str], language: str | None) -> bool:
    codes = language or detect_language(texts) or ""
    return "en" in codes.split("+")


def _can_mark_negation(preset: str, params: Mapping[str, Any]) -> bool:
    """Return whether "auto" decides on negation, and tokens of the preset include punctuation."""
    is_undecided = params.get("mark_negation") is None and params.get("token_pattern") is None
    return is_undecided and preset == "social" and params.get("analyzer") in (None, "word")


def _list_params(params: Mapping[str, Any]) -> str:
    return ", ".join(f"{name}={value!r}" for name, value in params.items())


def check_auto_for(value: object) -> None:
    """Raise CordwoodError unless the value is a key of `AUTO_PARAMS`."""
    if value not in tuple(AUTO_PARAMS):
        *first, last = map(repr, AUTO_PARAMS)
        raise CordwoodError(f"auto_for must be {', '.join(first)} or {last}; got {value!r}")


def choose_preset(texts: Sequence[str]) -> tuple[str, str]:
    """Choose a preset by the number of texts and their median length; return it and the reason."""
    return _choose_preset(len(texts), _median_length(texts))


def _median_length(texts: Sequence[str]) -> int:
    return median_low(map(count_characters, texts))


def _choose_preset(n_texts: int, length: int) -> tuple[str, str]:
    if n_texts < _MIN_TEXTS:
        return "social", f"preset social: there are {n_texts} texts, fewer than {_MIN_TEXTS}"
    median = f"the median text has {length:,} characters"
    if length < _MIN_MEDIAN_LENGTH:
        return "social", f"preset social: {median}, fewer than {_MIN_MEDIAN_LENGTH}"
    return "sigir17", f"preset sigir17: {median}, {_MIN_MEDIAN_LENGTH} or more"


def resolve_params(preset: str, params: Mapping[str, Any]) -> VectorizerParams:
    """Combine a preset with parameters that override it."""
    # A field that is None has the value of the preset, with three exceptions: `sublinear_tf` and
    # `norm` depend on the weighting, and `ngram_range` depends on the analyzer if that is not
    # "word".
    given = {name: value for name, value in params.items() if value is not None}
    base = PRESETS[preset]
    is_tfidf = given.get("weighting", base.weighting) == "tfidf"
    values: dict[str, Any] = {"sublinear_tf": is_tfidf, "norm": "l2" if is_tfidf else False}
    values.update(given)
    if (analyzer := values.get("analyzer", base.analyzer)) != "word":
        for name in ("stop_words", "stemmer"):
            if values.setdefault(name, False):
                raise CordwoodError(
                    f"{name} requires analyzer='word'; got {name}={values[name]!r} with"
                    f" analyzer={analyzer!r}"
                )
        default = _CHAR_NGRAM_RANGES.get(preset, _DEFAULT_CHAR_NGRAM_RANGE)
        values.setdefault("ngram_range", default)
    if isinstance(values.get("ngram_range"), list):
        values["ngram_range"] = tuple(values["ngram_range"])
    if isinstance(values.get("stop_words"), Collection) and not isinstance(
        values["stop_words"], str
    ):
        values["stop_words"] = tuple(sorted(set(values["stop_words"]), key=str))
    return replace(base, **values)
