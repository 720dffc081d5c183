import gzip
import json
import logging
import os
import pickle
import random
import re
import unicodedata
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp
import snowballstemmer
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from sklearn import config_context
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from sklearn.model_selection import cross_val_score
from sklearn.naive_bayes import MultinomialNB
from sklearn.pipeline import make_pipeline
from sklearn.utils import estimator_checks, get_tags

from cordwood import persist
from cordwood.exceptions import CordwoodError, DataError
from cordwood.text import _count_matrix, vocabulary
from cordwood.text.presets import PRESETS
from cordwood.text.stop_words import get_stop_words
from cordwood.text.vectorizer import TextVectorizer

PETS = ["The cat saw the cats", "a dog!!", "cat and dog and dog", ""]
PLAIN = {"preset": "social", "token_pattern": r"\w\w+"}
# Words with the same stem, words equal to the stem of another, stop words that share a stem.
WORDS = (
    "run runs running abuse abus abused does doe being bee cat cats Cat the The and x1 42 a I "
    "naïve NAÏVE éclairs strasse straße don't it's 東京 _ __x"
).split()
texts = st.lists(
    st.one_of(
        st.lists(st.sampled_from(WORDS), max_size=8).map(" ".join),
        st.text(max_size=12),
    ),
    min_size=1,
    max_size=8,
)
quickly = settings(deadline=None, max_examples=60)
stem = snowballstemmer.stemmer("porter").stemWord


def assert_same(vectorizer, reference, train, test=(), tolerance=0.0):
    """Fit both, or check that both raise; compare vocabularies and values."""
    try:
        expected = reference.fit_transform(train)
    except ValueError:
        with pytest.raises(DataError):
            vectorizer.fit(train)
        return
    found = vectorizer.fit_transform(train)
    assert vectorizer.get_feature_names_out().tolist() == reference.get_feature_names_out().tolist()
    assert dict(vectorizer.vocabulary_) == reference.vocabulary_
    pairs = [(found, expected), (vectorizer.transform(train), expected)]
    if test:
        pairs.append((vectorizer.transform(test), reference.transform(test)))
    for left, right in pairs:
        check_format(left)
        np.testing.assert_allclose(left.toarray(), right.toarray(), rtol=tolerance, atol=tolerance)


def check_format(X):
    assert isinstance(X, sp.csr_matrix)
    assert (X.dtype, X.indices.dtype, X.indptr.dtype) == (np.float32, np.int32, np.int32)
    for row in range(X.shape[0]):
        assert np.all(np.diff(X.indices[X.indptr[row] : X.indptr[row + 1]]) > 0)
    assert np.all(X.data != 0)


@quickly
@given(
    texts,
    texts,
    st.fixed_dictionaries(
        {},
        optional={
            "ngram_range": st.sampled_from([(1, 2), (2, 3), (1, 1)]),
            "min_df": st.sampled_from([1, 2, 0.3]),
            "max_df": st.sampled_from([3, 0.5, 1.0]),
            "lowercase": st.booleans(),
            "strip_accents": st.sampled_from(["ascii", "unicode"]),
            "stop_words": st.just(["the", "cat", "does"]),
        },
    ),
)
def test_counts_match_scikit_learn(train, test, options):
    assert_same(TextVectorizer(**PLAIN, **options), CountVectorizer(**options), train, test)


@quickly
@given(texts, texts, st.sampled_from(["char", "char_wb"]), st.sampled_from([(1, 1), (2, 4)]))
def test_character_ngrams_match_scikit_learn(train, test, analyzer, ngram_range):
    options = {"analyzer": analyzer, "ngram_range": ngram_range}
    assert_same(TextVectorizer(**PLAIN, **options), CountVectorizer(**options), train, test)


@quickly
@given(
    texts,
    texts,
    st.booleans(),
    st.booleans(),
    st.sampled_from([("l1", "l1"), ("l2", "l2"), (False, None)]),
)
def test_tfidf_matches_scikit_learn(train, test, sublinear, smooth, norm):
    switches = {"sublinear_tf": sublinear, "smooth_idf": smooth}
    vectorizer = TextVectorizer(**PLAIN, weighting="tfidf", norm=norm[0], **switches)
    reference = TfidfVectorizer(norm=norm[1], **switches)
    assert_same(vectorizer, reference, train, test, tolerance=1e-5)


def test_tfidf_defaults():
    vectorizer = TextVectorizer(**PLAIN, weighting="tfidf")
    assert_same(
        vectorizer, TfidfVectorizer(sublinear_tf=True), PETS, ["cat cat dog"], tolerance=1e-6
    )
    assert TextVectorizer(**PLAIN).fit(PETS).idf_ is None


@pytest.mark.parametrize(("smooth", "factor"), [(True, 1 + np.log(3 / 2)), (False, 1 + np.log(2))])
def test_smooth_idf(smooth, factor):
    vectorizer = TextVectorizer(**PLAIN, weighting="tfidf", smooth_idf=smooth).fit(
        ["cat dog", "cat"]
    )
    np.testing.assert_allclose(vectorizer.idf_, [1, factor])


@quickly
@given(texts, texts)
def test_binary_matches_scikit_learn(train, test):
    assert_same(
        TextVectorizer(**PLAIN, weighting="binary"), CountVectorizer(binary=True), train, test
    )


def test_max_norm():
    X = TextVectorizer(**PLAIN, norm="max").fit_transform(PETS)
    assert X.max(axis=1).toarray().ravel().tolist() == [1, 1, 1, 0]
    assert X[2].data.tolist() == [1, 0.5, 1]


def test_sublinear_tf_without_idf():
    X = TextVectorizer(**PLAIN, sublinear_tf=True).fit_transform(["cat cat dog"])
    np.testing.assert_allclose(X.toarray(), [[1 + np.log(2), 1]], rtol=1e-6)


@quickly
@given(
    texts,
    texts,
    st.sampled_from([(1, 1), (1, 2), (2, 2)]),
    st.sampled_from([1, 2]),
    st.sampled_from([[], ["does", "the", "runs"]]),
)
def test_stemming_matches_stemming_each_word(train, test, ngram_range, min_df, stop_words):
    find = CountVectorizer().build_tokenizer()
    slow = CountVectorizer(
        tokenizer=lambda text: [stem(word) for word in find(text) if word not in stop_words],
        token_pattern=None,
        ngram_range=ngram_range,
        min_df=min_df,
    )
    options = {"ngram_range": ngram_range, "min_df": min_df, "stop_words": stop_words}
    assert_same(TextVectorizer(**PLAIN, stemmer="porter", **options), slow, train, test)


def test_stemmer_is_the_original_porter_stemmer():
    # The stems of Porter 2 ("english") are "generous", "die" and "sky".
    names = TextVectorizer(**PLAIN, stemmer="porter").fit(["generously dying skies"])
    assert names.get_feature_names_out().tolist() == ["dy", "gener", "ski"]


def test_word_equal_to_a_stem_is_stemmed():
    vectorizer = TextVectorizer(**PLAIN, stemmer="porter").fit(["abuse", "abused"])
    assert vectorizer.get_feature_names_out().tolist() == ["abus"]
    assert vectorizer.transform(["abus"]).nnz == 0
    assert vectorizer.transform(["abusing"]).toarray().tolist() == [[1]]


def test_stop_words_are_compared_before_stemming():
    vectorizer = TextVectorizer(**PLAIN, stemmer="porter", stop_words=["does"]).fit(["does doe"])
    assert vectorizer.transform(["does does doe"]).toarray().tolist() == [[1]]


@pytest.mark.parametrize("options", [{}, {"stemmer": "porter"}])
def test_cache_of_word_forms_is_bounded(monkeypatch, options):
    monkeypatch.setattr(vocabulary, "_MAX_CACHED", 3)
    vectorizer = TextVectorizer(**PLAIN, **options).fit(["cat dog cow"])
    known = len(vectorizer._count_terms._columns)
    corpus = [f"cats{number} cat dog" for number in range(20)]
    assert vectorizer.transform(corpus).sum(axis=1).ravel().tolist() == [[2] * 20]
    assert len(vectorizer._count_terms._columns) <= max(known, 3)


def test_transform_is_thread_safe():
    vectorizer = TextVectorizer(**PLAIN, stemmer="porter").fit(["nation relation cat"])
    corpus = [f"nations{n} nationality{n} relational cats relating{n}" for n in range(200)]
    expected = clone(vectorizer).fit(["nation relation cat"]).transform(corpus)
    with ThreadPoolExecutor(4) as pool:
        for found in pool.map(vectorizer.transform, [corpus] * 8):
            assert (found != expected).nnz == 0


@quickly
@given(texts, st.sampled_from([{}, {"stemmer": "porter"}, {"ngram_range": (1, 2)}]), st.randoms())
def test_order_of_texts_changes_only_the_order_of_rows(train, options, random):
    assume(any(len(word) > 1 for text in train for word in text.split() if word.isalnum()))
    order = list(range(len(train)))
    random.shuffle(order)
    vectorizer, shuffled = TextVectorizer(**PLAIN, **options), TextVectorizer(**PLAIN, **options)
    X, Y = vectorizer.fit_transform(train), shuffled.fit_transform([train[row] for row in order])
    assert vectorizer.vocabulary_ == shuffled.vocabulary_
    assert (X[order] != Y).nnz == 0


def test_block_size_does_not_change_counts(monkeypatch):
    whole = TextVectorizer(**PLAIN, stemmer="porter", min_df=2)
    X = whole.fit_transform(PETS)
    monkeypatch.setattr(_count_matrix, "_BLOCK_SIZE", 2)
    parts = clone(whole)
    assert (X != parts.fit_transform(PETS)).nnz == 0
    assert parts.vocabulary_ == whole.vocabulary_
    assert (X != parts.transform(PETS)).nnz == 0


def test_max_features_keeps_the_most_frequent_terms():
    corpus = ["dog dog cow ant bee", "dog cow"]
    vectorizer = TextVectorizer(**PLAIN, max_features=3).fit(corpus)
    assert vectorizer.get_feature_names_out().tolist() == ["ant", "cow", "dog"]
    rare = TextVectorizer(**PLAIN, max_features=3, max_df=1).fit(corpus)
    assert rare.get_feature_names_out().tolist() == ["ant", "bee"]


def test_min_df_is_a_document_frequency():
    vectorizer = TextVectorizer(**PLAIN, min_df=2).fit(["dog dog dog cat", "cat"])
    assert vectorizer.get_feature_names_out().tolist() == ["cat"]


def test_custom_stop_words_are_preprocessed():
    vectorizer = TextVectorizer(**PLAIN, stop_words={"Éclair"}, strip_accents="unicode")
    assert vectorizer.fit(["an éclair"]).get_feature_names_out().tolist() == ["an"]


@pytest.mark.parametrize("ngram_range", [(1, 1), (1, 2)])
def test_parts_of_contractions_are_stop_words(ngram_range):
    corpus = ["don't they'll I've stone"]
    options = {**PLAIN, "ngram_range": ngram_range}
    whole = TextVectorizer(**options, stop_words="smart").fit(corpus)
    assert whole.get_feature_names_out().tolist() == ["stone"]
    words = TextVectorizer(**options, stop_words="smart523").fit(corpus)
    assert {"don", "ll", "ve", "stone"} <= set(words.vocabulary_)


def test_stop_words_without_apostrophe_are_not_tokenized():
    vectorizer = TextVectorizer(**PLAIN, stop_words=["new york"]).fit(["new york"])
    assert vectorizer.get_feature_names_out().tolist() == ["new", "york"]


def test_stop_words_are_removed_before_bigrams():
    vectorizer = TextVectorizer(**PLAIN, stop_words=["of"], ngram_range=(2, 2)).fit(["out of town"])
    assert vectorizer.get_feature_names_out().tolist() == ["out town"]


def test_texts_without_known_terms_are_zero_rows():
    vectorizer = TextVectorizer(**PLAIN).fit(PETS)
    X = vectorizer.transform(["", "unheard", "cat"])
    check_format(X)
    assert X.getnnz(axis=1).tolist() == [0, 0, 1]
    for weighting in ("tf", "tfidf", "binary"):
        none = clone(vectorizer).set_params(weighting=weighting).fit(PETS).transform([])
        assert none.shape == (0, len(vectorizer.vocabulary_))


@pytest.mark.parametrize("wrap", [list, tuple, iter, pd.Series, np.array, pl.Series, pa.array])
def test_accepts_any_iterable_of_strings(wrap):
    expected = TextVectorizer(**PLAIN).fit_transform(PETS)
    assert (TextVectorizer(**PLAIN).fit_transform(wrap(PETS)) != expected).nnz == 0


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        ("a cat", "got a single string, so pass [text]"),
        (b"a cat", "bytes"),
        (7, "int"),
        ({"a": "cat"}, "dict"),
        (pd.DataFrame({"text": ["a cat"]}), "DataFrame"),
        (pl.DataFrame({"text": ["a cat"]}), "DataFrame"),
        (pa.table({"text": ["a cat"]}), "Table"),
        (np.array([["a cat"]]), "ndarray"),
        (["a", None], "X[1] must be a string; got None of type NoneType"),
        (
            pd.Series(["a", "b", np.nan], dtype=object),
            "X[2] must be a string; got nan of type float",
        ),
        ([b"cat"], "X[0] must be a string; got b'cat' of type bytes"),
        ([["a"]], "of type list"),
    ],
)
def test_invalid_texts_raise(texts, message):
    fitted = TextVectorizer(**PLAIN).fit(PETS)
    for method in (TextVectorizer().fit, fitted.transform):
        with pytest.raises(DataError) as caught:
            method(texts)
        assert message in str(caught.value)


def test_no_terms_raises():
    with pytest.raises(DataError, match="X is empty"):
        TextVectorizer().fit([])
    with pytest.raises(DataError, match="token_pattern"):
        TextVectorizer().fit(["", " "])
    with pytest.raises(DataError, match=r"min_df=6.*stop_words='smart'.*lower min_df"):
        TextVectorizer(preset="sigir17").fit(["a cat", "the dog"])


def test_unfitted_raises():
    unfitted = TextVectorizer()
    for method in (unfitted.transform, unfitted.get_feature_names_out):
        with pytest.raises(NotFittedError):
            method(PETS)
    assert not hasattr(unfitted, "vocabulary_")


@pytest.mark.parametrize(
    "parameters",
    [
        {"preset": "sigir"},
        {"preset": ["social"]},
        {"auto_for": "forest"},
        {"auto_for": ["linear"]},
        {"weighting": "TF"},
        {"norm": True},
        {"stemmer": "english"},
        {"stemmer": "zh"},
        {"stemmer": True},
        {"language": "german"},
        {"stop_words": "km"},
        {"strip_html": 1},
        {"stop_words": "smrt"},
        {"stop_words": True},
        {"stop_words": [1]},
        {"analyzer": "words"},
        {"token_pattern": "("},
        {"token_pattern": "(a)(b)"},
        {"ngram_range": (2, 1)},
        {"ngram_range": 2},
        {"min_df": 0},
        {"min_df": True},
        {"max_df": 1.5},
        {"max_features": 0},
        {"lowercase": "no"},
        {"lowercase": 1},
        {"norm": 0},
        {"analyzer": "char", "stemmer": "porter"},
        {"analyzer": "char_wb", "stop_words": "smart"},
    ],
)
def test_invalid_parameters_raise(parameters):
    with pytest.raises(CordwoodError) as caught:
        TextVectorizer(**parameters).fit(PETS)
    for name, value in parameters.items():
        assert name in str(caught.value)
        assert len(parameters) > 1 or str(value).strip("[]") in str(caught.value)


def test_fit_does_not_change_parameters():
    own = ["the"]
    vectorizer = TextVectorizer(stop_words=own, ngram_range=[1, 2])
    before = vectorizer.get_params()
    vectorizer.fit(PETS)
    assert vectorizer.get_params() == before
    assert vectorizer.stop_words is own
    assert vectorizer.resolved_params_.ngram_range == (1, 2)


def test_character_analyzer_ignores_word_parameters_of_the_preset():
    vectorizer = TextVectorizer(preset="icml03", analyzer="char", min_df=1).fit(PETS)
    assert (vectorizer.resolved_params_.stop_words, vectorizer.resolved_params_.stemmer) == (
        False,
        False,
    )
    assert vectorizer.resolved_params_.weighting == "binary"


def count_by_oracle(text):
    """Count words of two or more letters, and n-grams of characters between other characters."""
    counts = Counter()
    for run in re.findall("[\u3040-\u30ff\u4e00-\u9fff]+", text):
        for n in (1, 2, 3):
            counts.update(run[i : i + n] for i in range(len(run) - n + 1))
    counts.update(re.findall("[a-z]{2,}", text))
    return counts


east_asian = st.lists(st.text("東京都はミa b。", max_size=12), min_size=1, max_size=6)


@quickly
@given(east_asian, east_asian)
def test_scripts_without_spaces_are_counted_by_ngrams(train, test):
    assume(any(len(count_by_oracle(text)) for text in train))
    vectorizer = TextVectorizer(preset="social", token_pattern="word")
    expected = [count_by_oracle(text) for text in train]
    X = vectorizer.fit_transform(train)
    check_format(X)
    terms = sorted(set().union(*expected))
    assert vectorizer.get_feature_names_out().tolist() == terms
    assert X.toarray().tolist() == [[counts[term] for term in terms] for counts in expected]
    loaded = pickle.loads(pickle.dumps(vectorizer))
    for model in (vectorizer, loaded):
        assert (model.transform(train) != X).nnz == 0
        Y = model.transform(test)
        check_format(Y)
        assert Y.toarray().tolist() == [
            [count_by_oracle(text)[term] for term in terms] for text in test
        ]


def test_scripts_without_spaces_do_not_take_part_in_word_ngrams():
    vectorizer = TextVectorizer(preset="social", ngram_range=(1, 2)).fit(["new york 東京 is big"])
    assert set(vectorizer.vocabulary_) == {
        *("new", "york", "is", "big", "new york", "york is", "is big", "東", "京", "東京")
    }
    loaded = pickle.loads(pickle.dumps(vectorizer))
    new = ["京東京 new york", "is 東 big"]
    assert (loaded.transform(new) != vectorizer.transform(new)).nnz == 0
    assert vectorizer.transform(new)[0, vectorizer.vocabulary_["京"]] == 2


@pytest.mark.parametrize("min_df", [1, 3])
def test_other_scripts_do_not_change_the_features_of_english_texts(min_df):
    english, foreign = [*PETS, "dog cat the"], ["東京都 の 天気", "หนังสือ", "हिन्दी किताब"]
    alone = TextVectorizer(preset="social", min_df=min_df).fit(english)
    mixed = TextVectorizer(preset="social", min_df=min_df).fit([*english, *foreign])
    assert set(alone.vocabulary_) == {term for term in mixed.vocabulary_ if term.isascii()}
    columns = [mixed.vocabulary_[term] for term in alone.get_feature_names_out()]
    assert (mixed.transform(english)[:, columns] != alone.transform(english)).nnz == 0


@pytest.mark.parametrize("preset", ["sigir15", "sigir17", "icml03", "social", "auto"])
def test_every_preset_keeps_emoji_marks_and_scripts_without_spaces(preset):
    corpus = ["आधुनिक मानक हिन्दी 👍🏽 東京 ไทย"] * 6
    vectorizer = TextVectorizer(preset=preset, min_df=2, stemmer=False).fit(corpus)
    expected = {
        "आधुनिक",
        "मानक",
        "हिन्दी",
        "👍🏽",
        "東",
        "京",
        "東京",
        "ไ",
        "ท",
        "ย",
        "ไท",
        "ทย",
        "ไทย",
    }
    assert set(vectorizer.vocabulary_) == expected


def test_decomposed_characters_are_composed():
    for options in ({}, {"analyzer": "char_wb", "ngram_range": (2, 3)}):
        vectorizer = TextVectorizer(**options).fit(["café 한국어"])
        decomposed = vectorizer.transform([unicodedata.normalize("NFD", "café 한국어")])
        assert (decomposed != vectorizer.transform(["café 한국어"])).nnz == 0


def test_html_is_removed():
    pages = ['<p class="x">Zürich&nbsp;&amp; Bern</p><br>', "<!-- no --> &#26085;"]
    vectorizer = TextVectorizer(preset="social", strip_html=True).fit(pages)
    assert set(vectorizer.vocabulary_) == {"zürich", "bern", "&", "日"}
    assert set(TextVectorizer().fit(pages).vocabulary_) == set(vectorizer.vocabulary_)
    assert "nbsp" in TextVectorizer(strip_html=False).fit(pages).vocabulary_
    assert "nbsp" in TextVectorizer(preset="social").fit(pages).vocabulary_
    characters = TextVectorizer(analyzer="char", ngram_range=(1, 1), strip_html=True).fit(pages)
    assert "<" not in characters.vocabulary_


@pytest.mark.parametrize(("code", "algorithm"), [("de", "german"), ("ru", "russian")])
def test_stemmers_match_snowball(code, algorithm):
    words = "häuser laufen gelaufen книга книги книгами kochbücher".split()
    vectorizer = TextVectorizer(**PLAIN, stemmer=code).fit([" ".join(words)])
    expected = set(snowballstemmer.stemmer(algorithm).stemWords(words))
    assert set(vectorizer.vocabulary_) == expected


def test_language_selects_stop_words_and_stemmer():
    corpus = ["Die Häuser und die Gärten sind nicht alt"] * 4
    vectorizer = TextVectorizer(preset="icml03", language="de").fit(corpus)
    assert set(vectorizer.vocabulary_) == {"haus", "gart", "alt"}
    assert vectorizer.preset_reason_ == (
        "preset icml03: set by the user; stop_words='de', stemmer='de' for German"
    )
    assert "und" in TextVectorizer(preset="icml03").fit(corpus).vocabulary_
    stemmed = TextVectorizer(stemmer="auto").fit(corpus)
    assert (stemmed.resolved_params_.stemmer, stemmed.resolved_params_.stop_words) == ("de", False)


def test_presets_set_by_the_user_detect_nothing(monkeypatch):
    def fail(*args):
        raise AssertionError

    for name in ("detect_language", "html_share", "unspaced_share"):
        monkeypatch.setattr(f"cordwood.text.presets.{name}", fail)
    corpus = ["<p>Das ist nicht so, und das 東京</p>"] * 100
    for preset in PRESETS:
        vectorizer = TextVectorizer(preset=preset).fit(corpus)
        assert vectorizer.resolved_params_ == PRESETS[preset]
        assert vectorizer.preset_reason_ == f"preset {preset}: set by the user"


def test_auto_logs_the_chosen_preset(caplog):
    short, long = ["so good :)"] * 100, ["a very long document " * 30] * 100
    with caplog.at_level(logging.INFO, logger="cordwood"):
        vectorizer = TextVectorizer().fit(short)
    assert (vectorizer.preset_, vectorizer.preset) == ("social", "auto")
    assert "10 characters" in vectorizer.preset_reason_
    assert [record.getMessage() for record in caplog.records] == [vectorizer.preset_reason_]
    assert ":)" in vectorizer.vocabulary_
    assert TextVectorizer().fit(long).preset_ == "sigir17"
    assert TextVectorizer().fit(long[:99]).preset_ == "social"
    caplog.clear()
    with caplog.at_level(logging.INFO, logger="cordwood"):
        assert (
            TextVectorizer(preset="social").fit(long).preset_reason_
            == "preset social: set by the user"
        )
    assert not caplog.records


@pytest.mark.parametrize("file_format", ["pickle", "cordwood"])
@pytest.mark.parametrize(
    "parameters",
    [
        {},
        {"weighting": "tfidf", "stemmer": "porter"},
        {"stop_words": ["cat"], "analyzer": "word"},
        # N-grams are indexed from the training texts in fit, and from their strings on loading.
        {"ngram_range": (1, 3)},
        {"ngram_range": (1, 2), "stemmer": "porter", "max_features": 7},
        {"analyzer": "char_wb", "ngram_range": (2, 4), "max_features": 30},
        {"stop_words": "de+fr", "stemmer": "de", "strip_html": True},
        {"language": "de", "preset": "icml03", "min_df": 1},
    ],
)
def test_serialization_round_trip(file_format, parameters, tmp_path):
    corpus = [*PETS, "naïve 東京都 😀 \ud800 हिन्दी ที่นี่ cat"]
    vectorizer = TextVectorizer(**parameters).fit(corpus)
    if file_format == "pickle":
        loaded = pickle.loads(pickle.dumps(vectorizer))
    else:
        loaded = persist.load(persist.save(vectorizer, tmp_path / "model"))
    assert loaded.get_params() == vectorizer.get_params()
    assert (loaded.resolved_params_, loaded.preset_reason_) == (
        vectorizer.resolved_params_,
        vectorizer.preset_reason_,
    )
    assert loaded.vocabulary_ == vectorizer.vocabulary_
    new = ["cats and dogs", *corpus]
    assert (loaded.transform(new) != vectorizer.transform(new)).nnz == 0


def test_unfitted_vectorizer_can_be_pickled():
    vectorizer = TextVectorizer(min_df=2)
    assert pickle.loads(pickle.dumps(vectorizer)).get_params() == vectorizer.get_params()


def test_pickles_do_not_grow_with_the_words_that_were_looked_up():
    vectorizer = TextVectorizer(**PLAIN, stemmer="porter").fit(["cats", "dogs"])
    pickled = pickle.dumps(vectorizer)
    vectorizer.transform([" ".join(f"word{i}" for i in range(1000))])
    assert len(pickle.dumps(vectorizer)) == len(pickled)


# check_estimator skips estimators of strings; these checks need no data.
@pytest.mark.parametrize(
    "check",
    [
        estimator_checks.check_estimator_cloneable,
        estimator_checks.check_estimator_repr,
        estimator_checks.check_estimator_tags_renamed,
        estimator_checks.check_get_params_invariance,
        estimator_checks.check_mixin_order,
        estimator_checks.check_no_attributes_set_in_init,
        estimator_checks.check_parameters_default_constructible,
        estimator_checks.check_set_params,
        estimator_checks.check_valid_tag_types,
    ],
)
def test_scikit_learn_checks(check):
    check("TextVectorizer", TextVectorizer())


def test_only_the_default_output_can_be_set():
    vectorizer = TextVectorizer(**PLAIN).set_output(transform="default")
    with config_context(transform_output="pandas"):
        assert sp.issparse(vectorizer.fit_transform(PETS))
    with pytest.raises(CordwoodError, match="returns sparse matrices; got 'pandas'"):
        vectorizer.set_output(transform="pandas")


def test_tags():
    tags = get_tags(TextVectorizer())
    assert tags.input_tags.string and not tags.input_tags.two_d_array
    assert tags.requires_fit and not tags.transformer_tags.preserves_dtype


def test_cross_validation_of_a_pipeline():
    corpus = pd.Series(["good film :)", "bad film :("] * 20)
    labels = ["positive", "negative"] * 20
    model = make_pipeline(TextVectorizer(), MultinomialNB())
    assert cross_val_score(model, corpus, labels, cv=4).mean() == 1


def reuters():
    folder = os.environ.get("CORDWOOD_DATA")
    root = Path(__file__).resolve().parents[2]
    path = Path(folder or root.parent / "shared" / "datasets") / "reuters21578.jsonl.gz"
    if not path.exists():
        pytest.skip("Reuters-21578 is not here; name its folder in CORDWOOD_DATA")
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        rows = map(json.loads, lines)
        return [row["text"] for row in rows if row["split"] == "train"]


def test_icml03_has_the_number_of_terms_of_the_paper():
    corpus = reuters()
    vectorizer = TextVectorizer(preset="icml03").fit(corpus)
    assert (len(corpus), len(vectorizer.vocabulary_)) == (9603, 6319)
    assert abs(len(vectorizer.vocabulary_) / 6242 - 1) < 0.03


def test_presets_of_papers():
    rare, common = [f"rare{n % 5} it's common" for n in range(5)], ["common"] * 2
    for name in ("sigir15", "sigir17"):
        assert list(TextVectorizer(preset=name).fit(rare + common).vocabulary_) == ["common"]
    assert PRESETS["sigir15"].weighting == "tfidf"
    assert PRESETS["sigir17"].weighting == "tf"
    vectorizer = TextVectorizer(preset="icml03").fit(["Running, the 42 dogs-dogs! We've"] * 4)
    assert vectorizer.get_feature_names_out().tolist() == ["dog", "run", "ve"]
    assert set(vectorizer.transform(["dogs dogs run"]).data) == {1}
    with pytest.raises(DataError, match="min_df=4"):
        clone(vectorizer).fit(["Running dogs"] * 3)
    assert get_stop_words("smart523").isdisjoint(vectorizer.vocabulary_)


@pytest.mark.parametrize("analyzer", ["word", "char_wb"])
@pytest.mark.parametrize("ngram_range", [(1, 1), (1, 2)])
@pytest.mark.parametrize("token_pattern", [r"\w+", r"[a-z]+"])
def test_long_words_are_truncated(analyzer, ngram_range, token_pattern):
    params = {"analyzer": analyzer, "ngram_range": ngram_range, "token_pattern": token_pattern}
    vectorizer = TextVectorizer(preset="social", max_token_length=5, **params)
    expected = TextVectorizer(preset="social", **params)
    texts = ["abcdefgh xy abcde", "abc"]
    X = vectorizer.fit_transform(texts)
    np.testing.assert_array_equal(
        X.toarray(), expected.fit_transform(["abcde xy abcde", "abc"]).toarray()
    )
    assert vectorizer.vocabulary_ == expected.vocabulary_
    np.testing.assert_array_equal(
        vectorizer.transform(["abcdexyz abc"]).toarray(),
        expected.transform(["abcde abc"]).toarray(),
    )


def test_one_long_word_does_not_become_the_vocabulary():
    word = "".join(random.Random(0).choices("abcdefgh", k=1_000_000))
    vectorizer = TextVectorizer(preset="social", analyzer="char_wb").fit([word, "spam ham"])
    assert sum(map(len, vectorizer.vocabulary_)) < 5 * 3 * 10_100
    assert vectorizer.resolved_params_.max_token_length == 10_000


@pytest.mark.parametrize("length", [0, -1, 1.5, "long", True])
def test_invalid_max_token_length_raises(length):
    with pytest.raises(CordwoodError, match="max_token_length must be a positive integer; got"):
        TextVectorizer(max_token_length=length).fit(["spam"])
