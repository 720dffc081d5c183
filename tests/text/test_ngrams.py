"""N-gram counts compared with a plain loop."""

from collections import Counter

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from cordwood.text._count_matrix import remap_columns
from cordwood.text.ngrams import NgramIndex, Sequences, count_ngrams
from cordwood.text.vectorizer import TextVectorizer
from cordwood.text.vocabulary import UNKNOWN

symbols = st.integers(0, 3)
sequences = st.lists(st.lists(symbols, max_size=7), min_size=1, max_size=6)
ranges = st.sampled_from([(1, 1), (1, 3), (2, 2), (3, 5)])


def concatenate(lists):
    bounds = np.cumsum([0, *map(len, lists)], dtype=np.int64)
    return Sequences(np.array([s for each in lists for s in each], dtype=np.int64), bounds)


def list_ngrams(each, min_n, max_n, keep_short):
    if keep_short and 0 < len(each) < min_n:
        return [tuple(each)]
    return [
        tuple(each[start : start + n])
        for n in range(min_n, max_n + 1)
        for start in range(len(each) - n + 1)
    ]


@settings(max_examples=60, deadline=None)
@given(sequences, ranges, st.booleans())
def test_count_ngrams_matches_loop(lists, ngram_range, keep_short):
    concatenated = concatenate(lists)
    ngrams = count_ngrams(concatenated, *ngram_range, keep_short=keep_short)
    found = [
        tuple(concatenated.symbols[start : start + n])
        for start, n in zip(ngrams.start, ngrams.length, strict=True)
    ]
    assert len(set(found)) == len(found) == ngrams.counts.shape[1]
    for each, row in zip(lists, ngrams.counts.toarray(), strict=True):
        expected = Counter(list_ngrams(each, *ngram_range, keep_short))
        assert {ngram: n for ngram, n in zip(found, row, strict=True) if n} == expected


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.lists(symbols, min_size=1, max_size=4).map(tuple), min_size=1, unique=True),
    st.lists(st.lists(st.integers(UNKNOWN, 5), max_size=8), min_size=1, max_size=5),
)
def test_index_counts_match_loop_with_unknown_symbols(ngrams, lists):
    counts = NgramIndex(concatenate(ngrams)).count(concatenate(lists)).toarray()
    for each, row in zip(lists, counts, strict=True):
        expected = Counter(list_ngrams(each, 1, 4, keep_short=False))
        assert row.tolist() == [expected[ngram] for ngram in ngrams]


def test_tokens_may_contain_spaces():
    texts = ["new york city", "york city new york"]
    vectorizer = TextVectorizer(
        preset="social", token_pattern="new york|[a-z]+", ngram_range=(1, 2)
    ).fit(texts)
    assert list(vectorizer.get_feature_names_out()) == [
        "city", "city new york", "new york", "new york city", "york", "york city",
    ]  # fmt: skip
    assert vectorizer.transform(texts).toarray().tolist() == [
        [1, 0, 1, 1, 0, 0],
        [1, 1, 1, 0, 1, 1],
    ]


@pytest.mark.parametrize("analyzer", ["char_wb", "char"])
def test_default_lengths_of_character_ngrams(analyzer):
    def lengths(preset):
        vectorizer = TextVectorizer(preset=preset, analyzer=analyzer, min_df=1).fit(["timber"])
        return {len(term) for term in vectorizer.get_feature_names_out()}

    assert lengths("social") == {3, 4, 5}
    assert lengths("sigir17") == {4}


@pytest.mark.parametrize(
    "new_column", [[2, 0, 1, 3, 4], [1, UNKNOWN, 1, 0, UNKNOWN], [UNKNOWN] * 5]
)
@pytest.mark.parametrize("block_rows", [1, 3, 100])
def test_columns_are_moved_merged_and_dropped_in_blocks(monkeypatch, new_column, block_rows):
    monkeypatch.setattr("cordwood.text._count_matrix._BLOCK_ROWS", block_rows)
    counts = sp.random(10, 5, 0.5, format="csr", dtype=np.float32, random_state=0)
    expected = np.zeros((10, 5), np.float32)
    for old, new in enumerate(new_column):
        if new != UNKNOWN:
            expected[:, new] += counts.toarray()[:, old]
    remapped = remap_columns(counts.copy(), np.array(new_column, np.int32), 5)
    np.testing.assert_allclose(remapped.toarray(), expected)
    assert remapped.has_canonical_format
