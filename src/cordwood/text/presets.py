r"""How documents become numbers: every switch, and the combinations that papers and trials settled.

================  ==========================  =========  =======  ======  =========================
preset            stop words                  stems      min_df   values  for
================  ==========================  =========  =======  ======  =========================
``sigir15``       SMART                       no         6        tfidf   topics; BROOF [1]_
``sigir17``       SMART                       no         6        tf      topics; BERT, stacks [2]_
``icml03``        SMART, the 523 whole words  Porter     4        binary  word rules; LPUBoost [3]_
``social``        none                        no         1        tf      short, informal texts
================  ==========================  =========  =======  ======  =========================

"tfidf" is ``(1 + ln tf) * (ln((1 + n) / (1 + df)) + 1)`` with rows of Euclidean length one, which
is what the code of [2]_ computes; ``sublinear_tf``, ``smooth_idf`` and ``norm`` switch its parts.
Stop words leave first, by the word as written; then come stems, then n-grams, then ``min_df``,
counted on what the columns will be.

**The choice of** ``auto``. Short texts lose by a stop list and a frequency cut; with forests,
long ones gain. Micro-F1 in percent, 5 folds of at most 2,000 documents, `sigir17` / `social`:

=============  ======================  ==================  =====================
data set       characters, the median  linear SVM (tfidf)  random forest (tf)
=============  ======================  ==================  =====================
youtube        57                      73.7 / 82.0         73.2 / 77.5
myspace        67                      85.6 / 84.9         83.6 / 84.5
tweets         78                      76.5 / 81.3         74.6 / 78.5
amazon         79                      63.9 / 71.2         62.8 / 69.0
debate         85                      74.4 / 83.0         71.6 / 80.9
twitter        95                      68.2 / 74.2         64.6 / 70.7
nyt            99                      55.9 / 61.5         55.4 / 57.8
bbc            268                     86.4 / 86.8         83.0 / 87.0
Reuters R8     418                     96.2 / 95.3         93.0 / 88.3
Reuters R52    457                     92.9 / 91.4         85.2 / 80.5
yelp           488                     91.1 / 93.7         87.8 / 85.8
WebKB          1,020                   78.2 / 79.0         76.1 / 72.2
20 newsgroups  1,174                   79.3 / 81.3         71.2 / 68.0
OHSUMED        1,246                   60.4 / 60.7         56.2 / 52.7
=============  ======================  ==================  =====================

Of few long documents the frequency cut leaves too little, or nothing: with 20 to 80 documents of
four classes `social` was better in 13 trials and `sigir17` in 9; with 160 and 320 `sigir17` in
14 and `social` in none. So ``auto`` takes `social` where the median document has fewer than 350
characters, which is about 60 words, or where there are fewer than 100 documents.

**Terms of** ``icml03``. The paper counts 6,242 terms in the 9,603 training documents of the
ModApte split; it says that punctuation was removed, and nothing of numbers.

====================================================  =====  ===============
reading                                               terms  off the paper's
====================================================  =====  ===============
runs of letters (the preset)                          6,319  + 1.2 %
runs of letters and digits, without pure numbers      6,354  + 1.8 %
punctuation deleted, words of letters only            6,629  + 6.2 %
runs of letters and digits                            7,530  + 20.6 %
punctuation deleted, split at white space             8,382  + 34.3 %
====================================================  =====  ===============

**Contractions.** SMART holds "don't", but a tokenizer that splits at the apostrophe makes "don"
and "t" of it. An entry with an apostrophe therefore stands for its pieces as well. On 9,000
documents of 20 newsgroups `sigir17` has 17,945 terms so, and 17,963 without: "don", "ll", "ve",
"isn" and their like, but also "won" and "haven", which can be words of their own.

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
from cordwood.text._vectorizer_params import Settings

_LETTERS = r"[^\W\d_]+"
_EMOJI = "\u2300-\u23ff\u2600-\u27bf\u2b00-\u2bff\U0001f000-\U0001faff"
_EMOJI_ENDING = "[\ufe0f\U0001f3fb-\U0001f3ff]*"
_INFORMAL = "|".join(
    [
        # Emoticons with letters, digits or _ in them, which later branches would tear: :d <3 ^_^
        r"(?<!\w)[<>]?[:;=][-o*'^]?[)(\]\[dpo3/\\|*@$}{]+(?!\w)",
        r"</?3+(?!\w)",
        r"[-^>=]_+[-^<=]",
        # One emoji is one token, joined families and skin tones included; a flag is two signs.
        "[\U0001f1e6-\U0001f1ff]{2}",
        f"[{_EMOJI}]{_EMOJI_ENDING}(?:\u200d[{_EMOJI}]{_EMOJI_ENDING})*",
        r"\w+",
        rf"[^\w\s{_EMOJI}]+",
    ]
)

PRESETS: Mapping[str, Settings] = MappingProxyType(
    {
        "sigir15": Settings(
            stop_words="smart", min_df=6, weighting="tfidf", sublinear_tf=True, norm="l2"
        ),
        "sigir17": Settings(stop_words="smart", min_df=6),
        "icml03": Settings(
            stop_words="smart523",
            stemmer="porter",
            token_pattern=_LETTERS,
            min_df=4,
            weighting="binary",
        ),
        "social": Settings(token_pattern=_INFORMAL),
    }
)

# Runs of characters. Of four they do as well on long texts as of three to five, in half the time
# (Ohsumed 75.8 and 75.9 %, WebKB 85.2 and 85.2); on short ones they lose half a point.
_RUNS = {"social": (3, 5)}
_RUNS_ELSE = (4, 4)

_SHORT = 350
_FEW = 100


def choose(documents: Sequence[str]) -> tuple[str, str]:
    """Choose a preset by the length and the number of the documents.

    Parameters
    ----------
    documents : sequence of str
        At least one document.

    Returns
    -------
    preset : {"social", "sigir17"}
        The name of the choice.
    reason : str
        A sentence that says what was chosen and why.

    Examples
    --------
    >>> choose(["so good :)"] * 500)
    ('social', 'preset social: the median document has 10 characters, fewer than 350')
    """
    if len(documents) < _FEW:
        return "social", f"preset social: there are {len(documents)} documents, fewer than {_FEW}"
    length = median_low(map(len, documents))
    if length < _SHORT:
        shown = f"the median document has {length} characters, fewer than {_SHORT}"
        return "social", f"preset social: {shown}"
    shown = f"the median document has {length:,} characters, {_SHORT} or more"
    return "sigir17", f"preset sigir17: {shown}"


def resolve(preset: str, asked: Mapping[str, Any]) -> Settings:
    """Lay what was asked for over a preset.

    Parameters
    ----------
    preset : str
        A name in `PRESETS`.
    asked : mapping of str to object
        Fields of `Settings`; None leaves a field to the preset, for `sublinear_tf` and `norm` to
        the weighting, and for `ngram_range` to the analyzer too.

    Returns
    -------
    Settings
        Checked and complete.

    Examples
    --------
    >>> resolve("sigir17", {"weighting": "tfidf", "min_df": None}).norm
    'l2'
    """
    given = {name: value for name, value in asked.items() if value is not None}
    base = PRESETS[preset]
    weighted = given.get("weighting", base.weighting) == "tfidf"
    values: dict[str, Any] = {"sublinear_tf": weighted, "norm": "l2" if weighted else False}
    values.update(given)
    if (analyzer := values.get("analyzer", base.analyzer)) != "word":
        for name in ("stop_words", "stemmer"):
            if values.setdefault(name, False):
                raise CordwoodError(
                    f"{name} works on words, but analyzer is {analyzer!r}; leave out one of them"
                )
        values.setdefault("ngram_range", _RUNS.get(preset, _RUNS_ELSE))
    if isinstance(values.get("ngram_range"), list):
        values["ngram_range"] = tuple(values["ngram_range"])
    if isinstance(values.get("stop_words"), Collection) and not isinstance(
        values["stop_words"], str
    ):
        values["stop_words"] = tuple(sorted(set(values["stop_words"]), key=str))
    return replace(base, **values)
