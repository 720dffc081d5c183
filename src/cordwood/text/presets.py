r"""Presets of `TextVectorizer`: parameter combinations from papers, and one for informal text.

================  ======================  ========  =======  =========  ==========================
preset            stop words              stemming  min_df   weighting  use
================  ======================  ========  =======  =========  ==========================
``sigir15``       SMART                   no        6        tfidf      topics, as in [1]_
``sigir17``       SMART                   no        6        tf         topics, as in [2]_
``icml03``        SMART, no contractions  Porter    4        binary     rules of words, as in [3]_
``social``        none                    no        1        tf         short, informal texts
================  ======================  ========  =======  =========  ==========================

"tfidf" is ``(1 + ln tf) * (ln((1 + n) / (1 + df)) + 1)`` with rows scaled to unit Euclidean norm,
as computed by the code of [2]_; ``sublinear_tf``, ``smooth_idf`` and ``norm`` control its parts.
The steps are applied in this order: stop words are removed (compared before stemming), words are
stemmed, n-grams are formed, and ``min_df`` and ``max_df`` select among the resulting terms.

**Preset** ``auto``. Stop word removal and a high ``min_df`` hurt on short texts, and help forests
on long texts. Micro-F1 in percent, 5-fold cross-validation on at most 2,000 texts, `sigir17` /
`social`:

=============  ================  ==================  =====================
data set       median length     linear SVM (tfidf)  random forest (tf)
=============  ================  ==================  =====================
youtube        57                73.7 / 82.0         73.2 / 77.5
myspace        67                85.6 / 84.9         83.6 / 84.5
tweets         78                76.5 / 81.3         74.6 / 78.5
amazon         79                63.9 / 71.2         62.8 / 69.0
debate         85                74.4 / 83.0         71.6 / 80.9
twitter        95                68.2 / 74.2         64.6 / 70.7
nyt            99                55.9 / 61.5         55.4 / 57.8
bbc            268               86.4 / 86.8         83.0 / 87.0
Reuters R8     418               96.2 / 95.3         93.0 / 88.3
Reuters R52    457               92.9 / 91.4         85.2 / 80.5
yelp           488               91.1 / 93.7         87.8 / 85.8
WebKB          1,020             78.2 / 79.0         76.1 / 72.2
20 newsgroups  1,174             79.3 / 81.3         71.2 / 68.0
OHSUMED        1,246             60.4 / 60.7         56.2 / 52.7
=============  ================  ==================  =====================

Lengths are in characters. On small training sets of long texts, ``min_df=6`` leaves too few terms:
with 20 to 80 texts of four classes, `social` was better in 13 experiments and `sigir17` in 9; with
160 and 320 texts, `sigir17` was better in 14 and `social` in none. Therefore ``auto`` chooses
`social` if the median length is below 350 characters (about 60 words) or if there are fewer than
100 texts, and `sigir17` otherwise.

**Tokens of** ``icml03``. The paper reports 6,242 terms in the 9,603 training texts of the ModApte
split of Reuters-21578. It states that punctuation was removed and does not mention numbers:

====================================================  =====  ==========
token                                                 terms  difference
====================================================  =====  ==========
consecutive letters (the preset)                      6,319  + 1.2 %
consecutive letters and digits, not only digits       6,354  + 1.8 %
letters only, after deleting punctuation              6,629  + 6.2 %
consecutive letters and digits                        7,530  + 20.6 %
no white space, after deleting punctuation            8,382  + 34.3 %
====================================================  =====  ==========

**Contractions.** SMART contains "don't", but a tokenizer that splits at the apostrophe returns
"don" and "t". The parts of a stop word with an apostrophe are therefore stop words as well. On
9,000 texts of 20 newsgroups this removes 18 of 17,963 terms of `sigir17`: "don", "ll", "ve", "isn"
and the like, but also "won" and "haven", which can be words of their own.

References
----------
.. [1] T. Salles et al., "BROOF: Exploiting Out-of-Bag Errors, Boosting and Random Forests for
   Effective Automated Classification", SIGIR 2015.
.. [2] R. Campos et al., "Stacking Bagged and Boosted Forests for Effective Automated
   Classification", SIGIR 2017.
.. [3] J. Leskovec, J. Shawe-Taylor, "Linear Programming Boosting for Uneven Datasets", ICML 2003.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from statistics import median_low
from types import MappingProxyType
from typing import Any

from cordwood.exceptions import CordwoodError
from cordwood.text._vectorizer_params import VectorizerParams

_LETTERS = r"[^\W\d_]+"
_EMOJI = "\u2300-\u23ff\u2600-\u27bf\u2b00-\u2bff\U0001f000-\U0001faff"
_EMOJI_ENDING = "[\ufe0f\U0001f3fb-\U0001f3ff]*"
_INFORMAL = "|".join(
    [
        # Emoticons that contain letters, digits or _, before \w+ can split them: :d <3 ^_^
        r"(?<!\w)[<>]?[:;=][-o*'^]?[)(\]\[dpo3/\\|*@$}{]+(?!\w)",
        r"</?3+(?!\w)",
        r"[-^>=]_+[-^<=]",
        # An emoji is one token, with its joined emoji and skin tone; a flag is two code points.
        "[\U0001f1e6-\U0001f1ff]{2}",
        f"[{_EMOJI}]{_EMOJI_ENDING}(?:\u200d[{_EMOJI}]{_EMOJI_ENDING})*",
        r"\w+",
        rf"[^\w\s{_EMOJI}]+",
    ]
)

PRESETS: Mapping[str, VectorizerParams] = MappingProxyType(
    {
        "sigir15": VectorizerParams(
            stop_words="smart", min_df=6, weighting="tfidf", sublinear_tf=True, norm="l2"
        ),
        "sigir17": VectorizerParams(stop_words="smart", min_df=6),
        "icml03": VectorizerParams(
            stop_words="smart523",
            stemmer="porter",
            token_pattern=_LETTERS,
            min_df=4,
            weighting="binary",
        ),
        "social": VectorizerParams(token_pattern=_INFORMAL),
    }
)

# Default lengths of character n-grams. On long texts, 4-grams are as accurate as 3- to 5-grams in
# half the time (OHSUMED 75.8 and 75.9 %, WebKB 85.2 and 85.2 %); on short texts they lose half a
# percentage point.
_CHAR_NGRAM_RANGES = {"social": (3, 5)}
_DEFAULT_CHAR_NGRAM_RANGE = (4, 4)

_MIN_MEDIAN_LENGTH = 350
_MIN_TEXTS = 100


def choose_preset(texts: Sequence[str]) -> tuple[str, str]:
    """Choose a preset by the number of texts and their median length.

    Parameters
    ----------
    texts : sequence of str
        At least one text.

    Returns
    -------
    preset : {"social", "sigir17"}
        Name of the preset.
    reason : str
        The preset and why it was chosen.

    Examples
    --------
    >>> choose_preset(["so good :)"] * 500)
    ('social', 'preset social: the median text has 10 characters, fewer than 350')
    """
    if len(texts) < _MIN_TEXTS:
        return "social", f"preset social: there are {len(texts)} texts, fewer than {_MIN_TEXTS}"
    length = median_low(map(len, texts))
    median = f"the median text has {length:,} characters"
    if length < _MIN_MEDIAN_LENGTH:
        return "social", f"preset social: {median}, fewer than {_MIN_MEDIAN_LENGTH}"
    return "sigir17", f"preset sigir17: {median}, {_MIN_MEDIAN_LENGTH} or more"


def resolve_params(preset: str, params: Mapping[str, Any]) -> VectorizerParams:
    """Combine a preset with parameters that override it.

    Parameters
    ----------
    preset : str
        A key of `PRESETS`.
    params : mapping of str to object
        Fields of `VectorizerParams`. A field that is None has the value of the preset, with three
        exceptions: `sublinear_tf` and `norm` depend on the weighting, and `ngram_range` depends
        on the analyzer if that is not "word".

    Returns
    -------
    VectorizerParams

    Raises
    ------
    CordwoodError
        If a parameter is invalid.

    Examples
    --------
    >>> resolve_params("sigir17", {"weighting": "tfidf", "min_df": None}).norm
    'l2'
    """
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
