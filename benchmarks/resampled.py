"""Collections of any size with the statistics of real texts, made from the data sets.

    python dev.py bench resampled [--shape short|abstracts] [--texts 100000]

A generated text has the length of an original one and is joined from parts of four words on average
of it and its neighbors: originals shortly before or after it, which have the same class and often
the same subject. Half of the words that occur once or twice among the originals are joined from the
halves of two such words, so that the vocabulary grows with the collection, as it does in real
ones. Texts are generated in blocks that depend on the seed and on their number only: a shorter
collection is the beginning of a longer one. Prints the lengths, the class shares, Zipf's exponent
and the numbers of distinct words and pairs of words beside those of as many originals.
"""

import argparse
from collections import Counter
from collections.abc import Iterator
from itertools import islice, pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

import corpora
from options import at_least
from stopwatch import print_head, print_row

_BLOCK_SIZE = 10_000
_SWITCH = 0.25  # probability that the next word is of another neighbor
_WINDOW = 50  # how far neighbors are apart at most
_RENEWED = 0.5  # share of the rare words that are joined from two


class Shape(NamedTuple):
    """Which texts a collection resembles."""

    dataset: str
    n_classes: int  # the largest ones
    # Mean number of characters of a text, which is a part of an original; None for whole ones.
    n_characters: int | None
    description: str


SHAPES = {
    "short": Shape("20ng", 10, 80, "lines of about 80 characters of ten newsgroups"),
    "abstracts": Shape("ohsumed", 7, None, "MEDLINE: abstracts of seven classes"),
}


class Originals(NamedTuple):
    """Texts as words, sorted by class and neighbors side by side."""

    words: list[str]
    tokens: NDArray[np.int32]  # all texts, one after the other
    bounds: NDArray[np.int64]  # of the tokens of each text
    codes: NDArray[np.intp]  # class of each text
    is_rare: NDArray[np.bool_]  # by word
    classes: list[str]

    def text(self, i: int) -> str:
        """Return an original text."""
        tokens = self.tokens[self.bounds[i] : self.bounds[i + 1]]
        return " ".join(map(self.words.__getitem__, tokens))


def read_originals(shape: Shape) -> Originals:
    """Read the texts of the largest classes of a data set."""
    corpus = corpora.load_single_label(shape.dataset)
    largest = Counter(corpus.labels).most_common(shape.n_classes)
    classes = sorted(label for label, _ in largest)
    rng = np.random.default_rng(0)
    texts: list[list[str]] = []
    codes = []
    for code, label in enumerate(classes):
        own = [
            text for text, each in zip(corpus.texts, corpus.labels, strict=True) if each == label
        ]
        for text in own:
            # The first paragraph of a post is its header.
            body = text.partition("\n\n")[2] if shape.n_characters else text
            parts = list(_divide(body.split(), shape.n_characters, rng))
            texts += parts
            codes += [code] * len(parts)
    numbers: dict[str, int] = {}
    tokens = np.array(
        [numbers.setdefault(word, len(numbers)) for text in texts for word in text], np.int32
    )
    return Originals(
        list(numbers),
        tokens,
        np.concatenate(([0], np.cumsum([len(text) for text in texts]))),
        np.array(codes),
        np.bincount(tokens) <= 2,
        classes,
    )


def _divide(
    words: list[str], n_characters: int | None, rng: np.random.Generator
) -> Iterator[list[str]]:
    """Divide a text into parts, whose lengths vary like those of tweets, or yield the whole."""
    if n_characters is None:
        yield words
        return
    part: list[str] = []
    wanted = size = 0
    for word in words:
        if not part:
            wanted, size = 15 + rng.gamma(2.0, (n_characters - 15) / 2), 0
        if len(word) > 40:  # of an encoded file
            continue
        part.append(word)
        size += len(word) + 1
        if size >= wanted:
            yield part
            part = []


def generate(originals: Originals, n_texts: int, seed: int = 0) -> Iterator[tuple[str, str]]:
    """Yield texts and their labels."""
    for block in range(-(-n_texts // _BLOCK_SIZE)):
        rng = np.random.default_rng([seed, block])
        pairs = _generate_block(originals, rng)
        yield from islice(pairs, n_texts - block * _BLOCK_SIZE)


def _generate_block(originals: Originals, rng: np.random.Generator) -> Iterator[tuple[str, str]]:
    words, tokens, bounds, codes, is_rare, classes = originals
    drawn = rng.integers(len(codes), size=_BLOCK_SIZE)
    lengths = np.diff(bounds)
    ends = np.cumsum(lengths[drawn])
    starts = ends - lengths[drawn]
    position = np.arange(ends[-1]) - np.repeat(starts, lengths[drawn])
    text = np.repeat(np.arange(_BLOCK_SIZE), lengths[drawn])
    # The source of a word is that of the word before it, unless a part begins.
    is_start = rng.random(len(position)) < _SWITCH
    is_start[starts] = True
    near = drawn[text] + rng.integers(-_WINDOW, _WINDOW + 1, len(position))
    near = np.clip(near, 0, len(codes) - 1)
    near = np.where(codes[near] == codes[drawn][text], near, drawn[text])
    source = near[np.flatnonzero(is_start)[np.cumsum(is_start) - 1]]
    chosen = tokens[bounds[source] + position % lengths[source]]
    strings = list(map(words.__getitem__, chosen.tolist()))
    renewed = np.flatnonzero(is_rare[chosen] & (rng.random(len(chosen)) < _RENEWED))
    partners = rng.choice(np.flatnonzero(is_rare), len(renewed))
    for i, partner in zip(renewed.tolist(), partners.tolist(), strict=True):
        one, other = strings[i], words[partner]
        strings[i] = one[: (len(one) + 1) // 2] + other[len(other) // 2 :]
    for i, (start, end) in enumerate(pairwise([0, *ends.tolist()])):
        yield " ".join(strings[start:end]), classes[codes[drawn[i]]]


def zipf_exponent(frequencies: NDArray[np.int64]) -> float:
    """Return the negative slope of log frequency by log rank, for ranks from 10 to 5,000."""
    ranks = np.unique(np.geomspace(10, min(5000, len(frequencies)), 50).astype(int))
    ordered = np.sort(frequencies)[::-1]
    return -float(np.polyfit(np.log(ranks), np.log(ordered[ranks - 1]), 1)[0])


def describe(texts: list[str], labels: list[str]) -> list[str]:
    """Return statistics as cells of a table."""
    words: Counter[str] = Counter()
    bigrams: set[tuple[str, str]] = set()
    for text in texts:
        tokens = text.split()
        words.update(tokens)
        bigrams.update(pairwise(tokens))
    sizes = np.array(list(map(len, texts)))
    shares = np.array(sorted(Counter(labels).values())) / len(labels)
    return [
        f"{len(texts):,}",
        f"{sizes.mean():.1f}",
        " / ".join(f"{q:.0f}" for q in np.quantile(sizes, [0.1, 0.5, 0.9])),
        f"{shares[0]:.4f} to {shares[-1]:.4f}",
        f"{zipf_exponent(np.array(list(words.values()))):.3f}",
        f"{len(words):,}",
        f"{len(bigrams):,}",
    ]


def main(names: list[str], n_texts: int) -> None:
    print_head(
        "collection",
        "texts",
        "characters, mean",
        "deciles 1 / 5 / 9",
        "class shares",
        "Zipf's exponent",
        "distinct words",
        "distinct pairs",
    )
    for name in names:
        originals = read_originals(SHAPES[name])
        n_same = min(n_texts, len(originals.codes))
        chosen = np.random.default_rng(0).permutation(len(originals.codes))[:n_same]
        labels = [originals.classes[code] for code in originals.codes[chosen]]
        print_row(f"{name}, original", *describe([originals.text(i) for i in chosen], labels))
        for size in sorted({n_same, n_texts}):
            texts, drawn = zip(*generate(originals, size), strict=True)
            print_row(f"{name}, generated", *describe(list(texts), list(drawn)))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--shape", choices=[*SHAPES, "all"], default="all")
    parser.add_argument("--texts", type=at_least(1), default=100_000)
    options = parser.parse_args()
    main(list(SHAPES) if options.shape == "all" else [options.shape], options.texts)
