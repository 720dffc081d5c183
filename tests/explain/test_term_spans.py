"""Spans of terms in texts."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.pipeline import FeatureUnion

from cordwood.explain._term_spans import TermLocator
from cordwood.text.vectorizer import TextVectorizer

TEXTS = [
    "The Cat sat on the mat, didn't it? :-) <3",
    "Not the best cat, don't run. No fast foxes!",
    "foxes and CATS running  ran\tfast!!",
    "İstanbul'da ÇOK güzel Straße café 👍🏽 x",
    "a bb ccc dddd a bb",
]
VECTORIZERS = {
    "social": {"preset": "social"},
    "pairs": {"preset": "social", "ngram_range": (1, 3)},
    "negation": {"preset": "social", "mark_negation": True, "ngram_range": (1, 2)},
    "negation, stop words": {"preset": "social", "mark_negation": True, "stop_words": "smart"},
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
    if params.get("preset") == "icml03" or {"strip_accents", "mark_negation"} & params.keys():
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
