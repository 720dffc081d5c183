"""Folding of contributions of terms onto words."""

import numpy as np

from cordwood.explain._term_spans import TermLocator
from cordwood.explain._word_folding import Words
from cordwood.text.vectorizer import TextVectorizer


def test_contributions_of_a_pair_are_shared_by_its_words():
    vectorizer = TextVectorizer(preset="social", ngram_range=(2, 2)).fit(["not good"])
    text = "not good, not good"
    words = Words(text)
    folded = words.fold(np.array([0]), TermLocator(vectorizer).locate(text))
    assert folded.to_words(np.array([[1.0]]))[:, 0].tolist() == [0.25, 0.25, 0.0, 0.25, 0.25]
    assert folded.names == {0: "not good"}
    assert folded.spans == {0: ((0, 3), (4, 8), (10, 13), (14, 18))}


def test_character_ngrams_are_folded_to_their_word():
    vectorizer = TextVectorizer(preset="social", analyzer="char_wb", ngram_range=(3, 3))
    vectorizer.fit(["cat hat"])
    text = "Cat hat"
    columns = np.arange(len(vectorizer.vocabulary_))
    folded = Words(text).fold(columns, TermLocator(vectorizer).locate(text))
    values = np.eye(len(columns))
    shares = folded.to_words(values)
    names = sorted(vectorizer.vocabulary_)
    assert shares[:, names.index(" ca")].tolist() == [1.0, 0.0]
    assert shares[:, names.index("hat")].tolist() == [0.0, 1.0]
    assert shares[:, names.index("at ")].tolist() == [0.5, 0.5]
    np.testing.assert_allclose(shares.sum(axis=0), 1.0)


def test_words_keep_contractions_and_emoticons_together():
    text = "I don't care :-) ok"
    tokens = TermLocator(TextVectorizer(preset="social").fit([text])).tokens(text, {})
    words = [text[start:end] for start, end in Words(text, tokens).spans]
    assert words == ["I", "don't", "care", ":-)", "ok"]
