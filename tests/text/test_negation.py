"""Negation marking."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_matrix

from cordwood.exceptions import CordwoodError
from cordwood.text.negation import PREFIX, mark_negation
from cordwood.text.token_patterns import build_tokenizer
from cordwood.text.vectorizer import TextVectorizer

tokenize = build_tokenizer("social")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("all is good", "all is good"),
        ("not good , but fine", "not not_good , but fine"),
        ("i don't like it at all. fine", "i don ' t not_like not_it not_at not_all . fine"),
        ("can’t say", "can ’ t not_say"),
        ("isnt it ?", "isnt not_it ?"),
        # A negation in the scope of another one is not marked, and neither is its first part.
        ("never didn't never work", "never didn ' t never not_work"),
        # Punctuation and emoji within the scope, and an emoticon that ends it.
        ('not "so" 👍 good', 'not " not_so " 👍 not_good'),
        ("no fun :) yes", "no not_fun :) yes"),
        # Not contractions of "not".
        ("t shirt , it ' t x", "t shirt , it ' t x"),
        ("", ""),
    ],
)
def test_words_up_to_the_next_punctuation_are_marked(text, expected):
    assert mark_negation(tokenize(text)) == expected.split()


def test_stop_words_are_not_marked():
    assert mark_negation(["not", "the", "best"], {"the"}) == ["not", "the", "not_best"]


@given(st.lists(st.sampled_from(["not", "don", "'", "t", "good", ",", "no", "👍", "it"])))
def test_only_the_prefix_differs(tokens):
    marked = mark_negation(tokens)
    assert [token.removeprefix(PREFIX) for token in marked] == tokens
    # No word before the first negation, or directly after punctuation, is marked.
    for before, token in zip(["."] + tokens, marked, strict=False):
        assert not (before in ".," and token.startswith(PREFIX))


@pytest.mark.parametrize("ngram_range", [(1, 1), (1, 2)])
def test_counts_are_those_of_marked_texts(ngram_range):
    texts = ["not a good film, a bad one", "I don't know the film", "the best film"]
    params = {"preset": "social", "stop_words": ["the"], "ngram_range": ngram_range}
    vectorizer = TextVectorizer(mark_negation=True, **params)
    X = vectorizer.fit_transform(texts)
    written = [" ".join(mark_negation(tokenize(text.lower()), {"the"})) for text in texts]
    reference = TextVectorizer(**params)
    assert_same(X, reference.fit_transform(written))
    assert vectorizer.vocabulary_ == reference.vocabulary_
    assert_same(vectorizer.transform(texts), X)
    assert ("not_good" in vectorizer.vocabulary_) and "not_the" not in vectorizer.vocabulary_


def assert_same(X: csr_matrix, expected: csr_matrix) -> None:
    np.testing.assert_array_equal(X.toarray(), expected.toarray())


@pytest.mark.parametrize(
    "params", [{"token_pattern": "word"}, {"analyzer": "char_wb"}, {"preset": "sigir17"}]
)
def test_tokens_without_punctuation_raise(params):
    vectorizer = TextVectorizer(**{"preset": "social", "mark_negation": True, **params})
    with pytest.raises(CordwoodError, match="mark_negation=True requires"):
        vectorizer.fit(["not good"])
