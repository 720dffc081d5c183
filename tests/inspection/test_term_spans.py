"""Spans of terms, and folding of contributions to words."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.pipeline import FeatureUnion

from cordwood.inspection._term_spans import TermLocator, Words
from cordwood.text.vectorizer import TextVectorizer

TEXTS = [
    "The Cat sat on the mat, didn't it? :-) <3",
    "foxes and CATS running  ran\tfast!!",
    "İstanbul'da ÇOK güzel Straße café 👍🏽 x",
    "a bb ccc dddd a bb",
]
VECTORIZERS = {
    "social": {"preset": "social"},
    "pairs": {"preset": "social", "ngram_range": (1, 3)},
    "stop words": {"preset": "sigir17", "min_df": 1, "ngram_range": (1, 2)},
    "stems": {"preset": "icml03", "min_df": 1},
    "stemmed pairs": {"preset": "icml03", "min_df": 1, "ngram_range": (1, 2)},
    "accents": {"preset": "social", "strip_accents": "unicode"},
    "case": {"preset": "social", "lowercase": False},
    "group": {"preset": "social", "token_pattern": r"(\w+)'"},
    "char_wb": {"preset": "social", "analyzer": "char_wb"},
    "char_wb of one": {"preset": "social", "analyzer": "char_wb", "ngram_range": (1, 7)},
    "char": {"preset": "social", "analyzer": "char", "ngram_range": (2, 4)},
}


def count_located(locator, vectorizer, text):
    counts = np.zeros(len(vectorizer.vocabulary_))
    for occurrence in locator.locate(text):
        counts[occurrence.column] += 1
    return counts


@pytest.mark.parametrize("params", VECTORIZERS.values(), ids=VECTORIZERS)
@given(st.text(alphabet=st.sampled_from("aAbcİß é'\u0301 \t\n.!:)<3👍xyz"), max_size=40))
@settings(max_examples=40, deadline=None)
def test_located_terms_are_counted_terms(params, extra):
    texts = [*TEXTS, extra]
    vectorizer = TextVectorizer(weighting="tf", sublinear_tf=False, norm=False, **params).fit(texts)
    locator = TermLocator(vectorizer)
    for text in texts:
        expected = vectorizer.transform([text]).toarray()[0]
        np.testing.assert_array_equal(count_located(locator, vectorizer, text), expected)


@pytest.mark.parametrize("params", VECTORIZERS.values(), ids=VECTORIZERS)
def test_spans_contain_their_terms(params):
    vectorizer = TextVectorizer(weighting="tf", **params).fit(TEXTS)
    if params.get("preset") == "icml03" or "strip_accents" in params:
        pytest.skip("terms are not parts of the text")
    for text in TEXTS:
        for occurrence in TermLocator(vectorizer).locate(text):
            spans, term = occurrence.spans, occurrence.term
            parts = term.split(" ") if len(spans) > 1 else [" ".join(term.split())]
            for (start, end), part in zip(spans, parts, strict=True):
                found = " ".join(text[start:end].split())
                found = found.lower() if params.get("lowercase", True) else found
                # More letters where a single letter of the text is two in lower case.
                assert part in found
                assert len(found) <= len(part) + 2


def test_columns_of_a_union_follow_each_other():
    union = FeatureUnion(
        [
            ("word", TextVectorizer(preset="social", ngram_range=(1, 2))),
            ("char", TextVectorizer(preset="social", analyzer="char_wb")),
        ]
    ).fit(TEXTS)
    locator = TermLocator(union)
    names = [name.split("__", 1)[1] for name in union.get_feature_names_out()]
    for text in TEXTS:
        for occurrence in locator.locate(text):
            assert names[occurrence.column] == occurrence.term == locator.term(occurrence.column)
        [found], expected = locator.transform([text]), union.transform([text])
        np.testing.assert_array_equal(found.toarray(), expected.toarray())


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
