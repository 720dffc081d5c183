"""Stop word lists.

SMART is the list of Salton's retrieval system as distributed with RCV1-v2 [1]_. It has 571 lines
and 570 distinct words ("would" is listed twice), of which 47 are contractions such as "don't". The
other 523 are the list that is used by the preset ``icml03``.

References
----------
.. [1] D. D. Lewis, Y. Yang, T. G. Rose, F. Li, "RCV1: A New Benchmark Collection for Text
   Categorization Research", JMLR 5, 2004, online appendix 11.
"""

from functools import cache
from importlib.resources import files

from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

STOP_WORD_LISTS = ("smart", "smart523", "english")
"""Names that `get_stop_words` accepts."""


@cache
def get_stop_words(name: str) -> frozenset[str]:
    """Return a stop word list.

    Parameters
    ----------
    name : {"smart", "smart523", "english"}
        SMART with its contractions, SMART without them, or the list of scikit-learn.

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
    """
    if name == "english":
        return frozenset(ENGLISH_STOP_WORDS)
    words = files("cordwood.text").joinpath("smart.txt").read_text("utf-8").split()
    return frozenset(word for word in words if name == "smart" or "'" not in word)
