"""Labels that are probably one class in several spellings.

Case, blanks, hyphens and underscores never distinguish classes. A typo of one letter is assumed
only if a rare label is close to a frequent one: never in digits, and in short words or at the
beginning of a word only if the label is long and no text has the word. An audit merges such labels
if the model takes the texts of the rare one for those of the frequent one.
"""

import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from cordwood.oof.records import OOFPredictions

# Between letters or digits: the sign of "-1" and of the grade "A-" is no separator.
_SEPARATOR = re.compile(r"(?<=[^\W_])[\s_\-\u2010-\u2015]+(?=[^\W_])")
_INVISIBLE = re.compile("[\u00ad\u200b\u200e\u200f\u2060\ufeff]")
_DIGITS = re.compile(r"\d+")
_WORD = re.compile(r"\w+")

# Of labels that are compared: more are not names of classes, and take long.
_MAX_CLASSES = 5_000
_MAX_LENGTH = 100

_MIN_RATIO = 3  # of the sizes of the frequent and the rare spelling
_MIN_FREQUENT = 3
_MIN_WORD = 5  # letters of the longer one of two words that differ
_MIN_LONG = 9  # letters of a label in which a short word, a first letter or a blank may be wrong
_ROMAN = re.compile("[ivx]+")

# Mean probability of the frequent spelling for texts of the rare one, between its mean for other
# classes (0) and for its own texts (1); of one or two texts, little is known.
_MIN_AGREEMENT = 0.25
_MIN_AGREEMENT_OF_FEW = 0.02
_FEW = 2


@dataclass(frozen=True)
class Spelling:
    """A label that is probably another spelling of a more frequent one.

    Parameters
    ----------
    label : object
        The most frequent spelling.
    variant : object
        The other spelling.
    n_samples : int
        Number of samples with the other spelling.
    is_typo : bool
        Whether a letter differs, and not only case, blanks, hyphens or underscores.
    is_confirmed : bool
        Whether the labels are merged: no letter differs, or a model does not distinguish them.
    """

    label: Any
    variant: Any
    n_samples: int
    is_typo: bool
    is_confirmed: bool


def find_spellings(counts: Mapping[Any, int], texts: Iterable[str] = ()) -> tuple[Spelling, ...]:
    """Find labels that may be spellings of others, by their letters and frequencies.

    A word of the texts, such as "typical" beside "atypical", is no typo.
    """
    joined = defaultdict(list)
    # The most frequent first; of equally frequent ones, a plain one, such as "Food" and not "FOOD".
    for label in sorted(counts, key=lambda each: (-counts[each], *_rank(str(each)))):
        joined[_join(_words(str(label)))].append(label)
    sizes = {labels[0]: sum(counts[each] for each in labels) for labels in joined.values()}
    typos = _find_typos(sizes, texts)
    found = []
    for labels in joined.values():
        target = typos.get(labels[0], labels[0])
        for label in labels:
            if label != target:
                is_typo = target not in labels
                found.append(Spelling(target, label, counts[label], is_typo, not is_typo))
    return tuple(found)


def confirm_spellings(
    found: Sequence[Spelling], oof: OOFPredictions | None
) -> tuple[Spelling, ...]:
    """Confirm typos if the out-of-fold predictions do not distinguish the two labels."""
    if oof is None:
        return tuple(found)
    classes = {label: position for position, label in enumerate(oof.classes.tolist())}
    return tuple(
        replace(each, is_confirmed=_agree(oof, classes[each.label], classes[each.variant]))
        if each.is_typo
        else each
        for each in found
    )


def merge_spellings(labels: Sequence[Any], spellings: Sequence[Spelling]) -> tuple[Any, ...]:
    """Return the labels in their most frequent spellings, where these are confirmed."""
    target = {each.variant: each.label for each in spellings if each.is_confirmed}
    return tuple(target.get(label, label) for label in labels)


def _rank(label: str) -> tuple[bool, str]:
    return label != label.strip(), label.swapcase()


def _agree(oof: OOFPredictions, frequent: int, rare: int) -> bool:
    proba, is_rare = oof.proba, oof.y == rare
    of_rare = float(proba[is_rare, frequent].mean())
    if float(proba[is_rare, rare].mean()) > of_rare:
        return False
    own = float(proba[oof.y == frequent, frequent].mean())
    is_other = (oof.y != frequent) & ~is_rare
    other = float(proba[is_other, frequent].mean()) if is_other.any() else 0.0
    few = np.count_nonzero(is_rare) <= _FEW
    share = _MIN_AGREEMENT_OF_FEW if few else _MIN_AGREEMENT
    return of_rare >= other + share * (own - other)


def _words(label: str) -> tuple[str, ...]:
    folded = unicodedata.normalize("NFKC", _INVISIBLE.sub("", label)).casefold().strip()
    return tuple(_SEPARATOR.sub(" ", folded).split())


def _join(words: tuple[str, ...]) -> str:
    """Join words, but not two numbers, as in "2-3" and "23"."""
    return re.sub(r"(?<!\d) | (?!\d)", "", " ".join(words))


def _find_typos(counts: Mapping[Any, int], texts: Iterable[str]) -> dict[Any, Any]:
    """Return the frequent label by the rare one that differs from it by a letter."""
    labels = [label for label in counts if len(str(label)) <= _MAX_LENGTH]
    if len(labels) > _MAX_CLASSES:
        return {}
    words = {label: _words(str(label)) for label in labels}
    # Strings that differ by one letter are equal after a deletion in one or both.
    near = defaultdict(list)
    for label in labels:
        for shortened in _delete_one(_join(words[label])):
            near[shortened].append(label)
    pairs: dict[tuple[Any, Any], str] = {}
    for same in near.values():
        # The most frequent first.
        ranked = sorted(same, key=lambda label: (-counts[label], str(label)))
        for position, rare in enumerate(ranked):
            for label in ranked[:position]:
                if counts[label] < max(_MIN_FREQUENT, _MIN_RATIO * counts[rare]):
                    break
                found = _find_misspelled(words[label], words[rare])
                if found is not None:
                    pairs[rare, label] = found
    known = _find_known(set(pairs.values()), texts)
    # The most frequent label last, so that it is chosen.
    chosen = {
        rare: label
        for (rare, label), word in sorted(pairs.items(), key=lambda item: counts[item[0][1]])
        if not word or word not in known
    }
    return {rare: label for rare, label in chosen.items() if label not in chosen}


def _delete_one(word: str) -> Iterator[str]:
    yield word
    yield from {word[:i] + word[i + 1 :] for i in range(len(word))}


def _find_known(words: set[str], texts: Iterable[str]) -> set[str]:
    """Return those of the words that the texts contain."""
    known: set[str] = set()
    for text in texts if words - {""} else ():
        known |= words.intersection(_WORD.findall(text.casefold()))
    return known


def _find_misspelled(words: tuple[str, ...], others: tuple[str, ...]) -> str | None:
    """Return "" if the others are the same words with a typo; None if they are not.

    A word means that they are, unless there is such a word.
    """
    a, b = _join(words), _join(others)
    if _DIGITS.findall(a) != _DIGITS.findall(b) or not _differ_by_one(a, b):
        return None
    if len(words) != len(others):
        return "" if min(len(a), len(b)) >= _MIN_LONG and a[0] == b[0] else None
    is_long = min(len(a), len(b)) >= _MIN_LONG
    pairs = [(x, y) for x, y in zip(words, others, strict=True) if x != y]
    if len(pairs) == 2 and is_long:
        # A separator has been moved by a letter.
        return ""
    if len(pairs) != 1:
        return None
    ((a, b),) = pairs
    if max(len(a), len(b)) >= _MIN_WORD and a[0] == b[0]:
        return ""
    is_numeral = _ROMAN.fullmatch(a) and _ROMAN.fullmatch(b)
    return b if is_long and len(words) > 1 and min(len(a), len(b)) > 1 and not is_numeral else None


def _differ_by_one(a: str, b: str) -> bool:
    """Return whether one letter is inserted, missing, replaced, or swapped with the next."""
    pairs = enumerate(zip(a, b, strict=False))
    start = next((i for i, (x, y) in pairs if x != y), min(len(a), len(b)))
    a, b = a[start:], b[start:]
    return a[1:] == b or a == b[1:] or a[1:] == b[1:] or (a[:2] == b[1::-1] and a[2:] == b[2:])
