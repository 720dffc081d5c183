"""Runs beside a loop that spells them out."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cordwood.text.ngrams import RunTable, Sequences, number_runs
from cordwood.text.vectorizer import TextVectorizer
from cordwood.text.vocabulary import UNKNOWN

symbols = st.integers(0, 3)
sequences = st.lists(st.lists(symbols, max_size=7), min_size=1, max_size=6)
ranges = st.sampled_from([(1, 1), (1, 3), (2, 2), (3, 5)])


def lay(lists):
    bounds = np.cumsum([0, *map(len, lists)], dtype=np.int64)
    return Sequences(np.array([s for each in lists for s in each], dtype=np.int64), bounds)


def spell_out(each, shortest, longest, whole):
    if whole and 0 < len(each) < shortest:
        return [tuple(each)]
    return [
        tuple(each[start : start + n])
        for n in range(shortest, longest + 1)
        for start in range(len(each) - n + 1)
    ]


@settings(max_examples=60, deadline=None)
@given(sequences, ranges, st.booleans())
def test_runs_are_those_that_a_loop_finds(lists, bounds, whole):
    laid = lay(lists)
    runs = number_runs(laid, *bounds, whole=whole)
    found = [
        tuple(laid.symbols[start : start + n])
        for start, n in zip(runs.start, runs.length, strict=True)
    ]
    assert len(set(found)) == len(found) == runs.counts.shape[1]
    for each, row in zip(lists, runs.counts.toarray(), strict=True):
        expected = Counter(spell_out(each, *bounds, whole))
        assert {run: n for run, n in zip(found, row, strict=True) if n} == expected


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.lists(symbols, min_size=1, max_size=4).map(tuple), min_size=1, unique=True),
    st.lists(st.lists(st.integers(UNKNOWN, 5), max_size=8), min_size=1, max_size=5),
)
def test_known_runs_are_found_among_strange_symbols(terms, lists):
    counts = RunTable(lay(terms)).count(lay(lists)).toarray()
    for each, row in zip(lists, counts, strict=True):
        everywhere = Counter(spell_out(each, 1, 4, whole=False))
        assert row.tolist() == [everywhere[term] for term in terms]


def test_words_that_hold_spaces_are_told_apart_all_the_same():
    texts = ["new york city", "york city new york"]
    ours = TextVectorizer(preset="social", token_pattern="new york|[a-z]+", ngram_range=(1, 2)).fit(
        texts
    )
    assert list(ours.get_feature_names_out()) == [
        "city", "city new york", "new york", "new york city", "york", "york city",
    ]  # fmt: skip
    assert ours.transform(texts).toarray().tolist() == [[1, 0, 1, 1, 0, 0], [1, 1, 1, 0, 1, 1]]


@pytest.mark.parametrize("analyzer", ["char_wb", "char"])
def test_runs_of_characters_are_longer_where_texts_are_short(analyzer):
    def spell(preset):
        terms = TextVectorizer(preset=preset, analyzer=analyzer, min_df=1).fit(["timber"])
        return {len(term) for term in terms.get_feature_names_out()}

    assert spell("social") == {3, 4, 5}
    assert spell("sigir17") == {4}
