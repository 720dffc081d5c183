"""Negation marking: words after a negation are terms of their own.

A bag of words has the same features for "good, not bad" and "bad, not good". With marks, the words
from a negation to the next punctuation have the prefix ``not_``, as in [1]_ and [2]_, so that
"good" and "not_good" are different terms. docs/presets.md has the figures.

References
----------
.. [1] S. Das and M. Chen, "Yahoo! for Amazon: Extracting Market Sentiment from Stock Message
   Boards", Asia Pacific Finance Association Annual Conference, 2001.
.. [2] B. Pang, L. Lee and S. Vaithyanathan, "Thumbs up?", EMNLP 2002.
"""

from collections.abc import Collection, Sequence

PREFIX = "not_"

_CONTRACTIONS = (
    "aint arent cant couldnt didnt doesnt dont hadnt hasnt havent isnt shouldnt wasnt werent wont "
    "wouldnt"
)
_NEGATIONS = frozenset(
    "barely cannot hardly neither never no nobody none nor not nothing nowhere without".split()
    + _CONTRACTIONS.split()
)
_APOSTROPHES = frozenset("'’")
_END_OF_SCOPE = frozenset(".,;:!?")


def mark_negation(tokens: Sequence[str], unmarked: Collection[str] = ()) -> list[str]:
    """Add a prefix to the words between a negation and the next punctuation.

    >>> mark_negation(["it", "isn", "'", "t", "all", "bad", ",", "but", "no", "fun"])
    ['it', 'isn', "'", 't', 'not_all', 'not_bad', ',', 'but', 'no', 'not_fun']
    """
    # Contractions are split at the apostrophe, as by the token pattern "social": "don't" is three
    # tokens.
    marked = list(tokens)
    if "t" not in marked and _NEGATIONS.isdisjoint(marked):
        return marked
    is_negated = False
    for i, token in enumerate(tokens):
        if token == "t" and _ends_contraction(tokens, i):
            marked[i - 2] = tokens[i - 2]  # marked if it is in the scope of another negation
            is_negated = True
        elif token in _NEGATIONS:
            is_negated = True
        elif not token[0].isalnum():
            is_negated = is_negated and _END_OF_SCOPE.isdisjoint(token)
        elif is_negated and token not in unmarked:
            marked[i] = PREFIX + token
    return marked


def _ends_contraction(tokens: Sequence[str], i: int) -> bool:
    """Return whether the token "t" is the end of a contraction of "not", such as "don't"."""
    return i >= 2 and tokens[i - 1] in _APOSTROPHES and tokens[i - 2][-1:] == "n"
