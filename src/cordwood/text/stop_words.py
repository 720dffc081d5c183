"""Lists of words that say little about a document's subject.

SMART is the list of Salton's retrieval system as distributed with RCV1-v2 [1]_. It has 571 lines
and 570 different words ("would" stands there twice); 47 of them are contractions such as
"don't". The other 523 are the list used at ICML 2003 (preset ``icml03``).

References
----------
.. [1] D. D. Lewis, Y. Yang, T. G. Rose, F. Li, "RCV1: A New Benchmark Collection for Text
   Categorization Research", JMLR 5, 2004, online appendix 11.
"""

from functools import cache
from importlib.resources import files

from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

STOP_LISTS = ("smart", "smart523", "english")


@cache
def stop_list(name: str) -> frozenset[str]:
    """Return a list of stop words by its name.

    Parameters
    ----------
    name : {"smart", "smart523", "english"}
        SMART with and without its contractions, or the list of scikit-learn.

    Returns
    -------
    frozenset of str
        Lower-case words.

    Examples
    --------
    >>> len(stop_list("smart")), len(stop_list("smart523"))
    (570, 523)
    >>> sorted(stop_list("smart") - stop_list("smart523"))[:3]
    ["a's", "ain't", "aren't"]
    """
    if name == "english":
        return frozenset(ENGLISH_STOP_WORDS)
    words = files("cordwood.text").joinpath("smart.txt").read_text("utf-8").split()
    return frozenset(word for word in words if name == "smart" or "'" not in word)
