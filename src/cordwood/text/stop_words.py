"""Stop word lists.

SMART is the list of Salton's retrieval system as distributed with RCV1-v2 [1]_. It has 571 lines
and 570 distinct words ("would" is listed twice), of which 47 are contractions such as "don't". The
other 523 are the list that is used by the preset ``icml03``.

Languages other than English have the lists of the package stopwordsiso [2]_.

References
----------
.. [1] D. D. Lewis, Y. Yang, T. G. Rose, F. Li, "RCV1: A New Benchmark Collection for Text
   Categorization Research", JMLR 5, 2004, online appendix 11.
.. [2] Stopwords ISO, https://github.com/stopwords-iso/stopwords-iso.
"""

from functools import cache
from importlib.resources import files

import stopwordsiso
from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

from cordwood.text.languages import LANGUAGES, UNSPACED

STOP_WORD_LISTS = ("smart", "smart523", "english")
"""Names of English lists that `get_stop_words` accepts, besides codes of languages."""


def has_stop_words(name: object) -> bool:
    """Return whether `get_stop_words` accepts a name.

    Languages without spaces have no stop words, because their terms are n-grams of characters.
    """
    if not isinstance(name, str) or name in STOP_WORD_LISTS:
        return name in STOP_WORD_LISTS
    codes = name.split("+")
    return not UNSPACED.intersection(codes) and all(
        code in LANGUAGES and stopwordsiso.has_lang(code) for code in codes
    )


@cache
def get_stop_words(name: str) -> frozenset[str]:
    """Return a stop word list.

    Parameters
    ----------
    name : {"smart", "smart523", "english"} or str
        SMART with its contractions, SMART without them, the list of scikit-learn, or the codes of
        languages such as "de" or "de+fr". The list of "en" is "smart".

    Returns
    -------
    frozenset of str
        Words in lowercase.

    Examples
    --------
    >>> len(get_stop_words("smart")), len(get_stop_words("smart523"))
    (570, 523)
    >>> sorted(get_stop_words("smart") - get_stop_words("smart523"))[:3]
    ["a's", "ain't", "aren't"]
    >>> sorted(get_stop_words("de"))[:3]
    ['a', 'ab', 'aber']
    """
    if name not in STOP_WORD_LISTS:
        lists = (
            get_stop_words("smart") if code == "en" else stopwordsiso.stopwords(code)
            for code in name.split("+")
        )
        return frozenset(word.lower() for words in lists for word in words)
    if name == "english":
        return frozenset(ENGLISH_STOP_WORDS)
    words = files("cordwood.text").joinpath("smart.txt").read_text("utf-8").split()
    return frozenset(word for word in words if name == "smart" or "'" not in word)
