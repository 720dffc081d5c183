import gzip
import json
import logging
import os
import pickle
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
import skops.io
import snowballstemmer
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from sklearn.model_selection import cross_val_score
from sklearn.naive_bayes import MultinomialNB
from sklearn.pipeline import make_pipeline
from sklearn.utils import estimator_checks

from cordwood.exceptions import CordwoodError, DataError, ModelFileError
from cordwood.text import counts, vocabulary
from cordwood.text.presets import PRESETS
from cordwood.text.stop_words import stop_list
from cordwood.text.vectorizer import TextVectorizer

PETS = ["The cat saw the cats", "a dog!!", "cat and dog and dog", ""]
PLAIN = {"preset": "social", "token_pattern": r"\w\w+"}
# Forms of one stem, words that look like another word's stem, stop words that share a stem.
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


def same(ours, theirs, learn, apply=(), tolerance=0.0):
    """Fit both, or see both refuse; compare names and values on both sets of documents."""
    try:
        expected = theirs.fit_transform(learn)
    except ValueError:
        with pytest.raises(DataError):
            ours.fit(learn)
        return
    found = ours.fit_transform(learn)
    assert ours.get_feature_names_out().tolist() == theirs.get_feature_names_out().tolist()
    assert dict(ours.vocabulary_) == theirs.vocabulary_
    pairs = [(found, expected), (ours.transform(learn), expected)]
    if apply:
        pairs.append((ours.transform(apply), theirs.transform(apply)))
    for left, right in pairs:
        well_formed(left)
        np.testing.assert_allclose(left.toarray(), right.toarray(), rtol=tolerance, atol=tolerance)


def well_formed(X):
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
def test_counts_equal_those_of_scikit_learn(learn, apply, options):
    same(TextVectorizer(**PLAIN, **options), CountVectorizer(**options), learn, apply)


@quickly
@given(texts, texts, st.sampled_from(["char", "char_wb"]), st.sampled_from([(1, 1), (2, 4)]))
def test_characters_equal_those_of_scikit_learn(learn, apply, analyzer, ngram_range):
    options = {"analyzer": analyzer, "ngram_range": ngram_range}
    same(TextVectorizer(**PLAIN, **options), CountVectorizer(**options), learn, apply)


@quickly
@given(
    texts,
    texts,
    st.booleans(),
    st.booleans(),
    st.sampled_from([("l1", "l1"), ("l2", "l2"), (False, None)]),
)
def test_tfidf_equals_that_of_scikit_learn(learn, apply, sublinear, smooth, norm):
    switches = {"sublinear_tf": sublinear, "smooth_idf": smooth}
    ours = TextVectorizer(**PLAIN, weighting="tfidf", norm=norm[0], **switches)
    theirs = TfidfVectorizer(norm=norm[1], **switches)
    same(ours, theirs, learn, apply, tolerance=1e-5)


def test_tfidf_by_default_is_logarithmic_smooth_and_of_length_one():
    ours = TextVectorizer(**PLAIN, weighting="tfidf")
    same(ours, TfidfVectorizer(sublinear_tf=True), PETS, ["cat cat dog"], tolerance=1e-6)
    assert TextVectorizer(**PLAIN).fit(PETS).idf_ is None


@pytest.mark.parametrize(("smooth", "factor"), [(True, 1 + np.log(3 / 2)), (False, 1 + np.log(2))])
def test_idf_is_smooth_or_not(smooth, factor):
    ours = TextVectorizer(**PLAIN, weighting="tfidf", smooth_idf=smooth).fit(["cat dog", "cat"])
    np.testing.assert_allclose(ours.idf_, [1, factor])


@quickly
@given(texts, texts)
def test_binary_equals_that_of_scikit_learn(learn, apply):
    same(TextVectorizer(**PLAIN, weighting="binary"), CountVectorizer(binary=True), learn, apply)


def test_max_norm_divides_by_the_largest_value():
    X = TextVectorizer(**PLAIN, norm="max").fit_transform(PETS)
    assert X.max(axis=1).toarray().ravel().tolist() == [1, 1, 1, 0]
    assert X[2].data.tolist() == [1, 0.5, 1]


def test_logarithm_works_without_idf():
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
def test_stems_equal_those_of_stemming_each_word(learn, apply, ngram_range, min_df, stop_words):
    find = CountVectorizer().build_tokenizer()
    slow = CountVectorizer(
        tokenizer=lambda text: [stem(word) for word in find(text) if word not in stop_words],
        token_pattern=None,
        ngram_range=ngram_range,
        min_df=min_df,
    )
    options = {"ngram_range": ngram_range, "min_df": min_df, "stop_words": stop_words}
    same(TextVectorizer(**PLAIN, stemmer="porter", **options), slow, learn, apply)


def test_the_stemmer_is_porters_first():
    # "english" (Porter 2) makes "gener" and "dying" -> "die" of these.
    names = TextVectorizer(**PLAIN, stemmer="porter").fit(["generously dying skies"])
    assert names.get_feature_names_out().tolist() == ["dy", "gener", "ski"]


def test_a_word_that_looks_like_a_stem_is_stemmed_too():
    ours = TextVectorizer(**PLAIN, stemmer="porter").fit(["abuse", "abused"])
    assert ours.get_feature_names_out().tolist() == ["abus"]
    assert ours.transform(["abus"]).nnz == 0
    assert ours.transform(["abusing"]).toarray().tolist() == [[1]]


def test_stop_words_are_compared_before_stemming():
    ours = TextVectorizer(**PLAIN, stemmer="porter", stop_words=["does"]).fit(["does doe"])
    assert ours.transform(["does does doe"]).toarray().tolist() == [[1]]


@pytest.mark.parametrize("options", [{}, {"stemmer": "porter"}])
def test_memory_for_new_forms_is_bounded(monkeypatch, options):
    monkeypatch.setattr(vocabulary, "_MOST_REMEMBERED", 3)
    ours = TextVectorizer(**PLAIN, **options).fit(["cat dog cow"])
    known = len(ours._count._columns)
    documents = [f"cats{number} cat dog" for number in range(20)]
    assert ours.transform(documents).sum(axis=1).ravel().tolist() == [[2] * 20]
    assert len(ours._count._columns) <= max(known, 3)


def test_threads_may_share_a_vectorizer():
    ours = TextVectorizer(**PLAIN, stemmer="porter").fit(["nation relation cat"])
    documents = [f"nations{n} nationality{n} relational cats relating{n}" for n in range(200)]
    expected = clone(ours).fit(["nation relation cat"]).transform(documents)
    with ThreadPoolExecutor(4) as pool:
        for found in pool.map(ours.transform, [documents] * 8):
            assert (found != expected).nnz == 0


@quickly
@given(texts, st.sampled_from([{}, {"stemmer": "porter"}, {"ngram_range": (1, 2)}]), st.randoms())
def test_the_order_of_documents_orders_rows_and_nothing_else(learn, options, random):
    assume(any(len(word) > 1 for text in learn for word in text.split() if word.isalnum()))
    order = list(range(len(learn)))
    random.shuffle(order)
    ours, shuffled = TextVectorizer(**PLAIN, **options), TextVectorizer(**PLAIN, **options)
    X, Y = ours.fit_transform(learn), shuffled.fit_transform([learn[row] for row in order])
    assert ours.vocabulary_ == shuffled.vocabulary_
    assert (X[order] != Y).nnz == 0


def test_counting_in_blocks_changes_nothing(monkeypatch):
    whole = TextVectorizer(**PLAIN, stemmer="porter", min_df=2)
    X = whole.fit_transform(PETS)
    monkeypatch.setattr(counts, "_BLOCK", 2)
    parts = clone(whole)
    assert (X != parts.fit_transform(PETS)).nnz == 0
    assert parts.vocabulary_ == whole.vocabulary_
    assert (X != parts.transform(PETS)).nnz == 0


def test_max_features_keeps_the_most_frequent_and_then_the_first_by_spelling():
    documents = ["dog dog cow ant bee", "dog cow"]
    ours = TextVectorizer(**PLAIN, max_features=3).fit(documents)
    assert ours.get_feature_names_out().tolist() == ["ant", "cow", "dog"]
    rare = TextVectorizer(**PLAIN, max_features=3, max_df=1).fit(documents)
    assert rare.get_feature_names_out().tolist() == ["ant", "bee"]


def test_min_df_counts_documents_and_not_words():
    ours = TextVectorizer(**PLAIN, min_df=2).fit(["dog dog dog cat", "cat"])
    assert ours.get_feature_names_out().tolist() == ["cat"]


def test_own_stop_words_are_prepared_as_documents_are():
    ours = TextVectorizer(**PLAIN, stop_words={"Éclair"}, strip_accents="unicode")
    assert ours.fit(["an éclair"]).get_feature_names_out().tolist() == ["an"]


@pytest.mark.parametrize("ngram_range", [(1, 1), (1, 2)])
def test_a_contraction_in_the_stop_list_stands_for_its_pieces(ngram_range):
    documents = ["don't they'll I've stone"]
    options = {**PLAIN, "ngram_range": ngram_range}
    whole = TextVectorizer(**options, stop_words="smart").fit(documents)
    assert whole.get_feature_names_out().tolist() == ["stone"]
    words = TextVectorizer(**options, stop_words="smart523").fit(documents)
    assert {"don", "ll", "ve", "stone"} <= set(words.vocabulary_)


def test_other_stop_words_are_not_cut_into_pieces():
    ours = TextVectorizer(**PLAIN, stop_words=["new york"]).fit(["new york"])
    assert ours.get_feature_names_out().tolist() == ["new", "york"]


def test_stop_words_leave_before_bigrams_are_made():
    ours = TextVectorizer(**PLAIN, stop_words=["of"], ngram_range=(2, 2)).fit(["out of town"])
    assert ours.get_feature_names_out().tolist() == ["out town"]


def test_documents_without_known_terms_are_empty_rows():
    ours = TextVectorizer(**PLAIN).fit(PETS)
    X = ours.transform(["", "unheard", "cat"])
    well_formed(X)
    assert X.getnnz(axis=1).tolist() == [0, 0, 1]
    for weighting in ("tf", "tfidf", "binary"):
        none = clone(ours).set_params(weighting=weighting).fit(PETS).transform([])
        assert none.shape == (0, len(ours.vocabulary_))


@pytest.mark.parametrize("wrap", [list, tuple, iter, pd.Series, np.array])
def test_any_column_of_strings_will_do(wrap):
    expected = TextVectorizer(**PLAIN).fit_transform(PETS)
    assert (TextVectorizer(**PLAIN).fit_transform(wrap(PETS)) != expected).nnz == 0


@pytest.mark.parametrize(
    ("documents", "named"),
    [
        ("a cat", "one string"),
        (b"a cat", "bytes"),
        (7, "int"),
        ({"a": "cat"}, "dict"),
        (pd.DataFrame({"text": ["a cat"]}), "DataFrame"),
        (np.array([["a cat"]]), "ndarray"),
        (["a", None], "document 1 (the first is 0) is None of type NoneType"),
        (pd.Series(["a", "b", np.nan], dtype=object), "document 2 (the first is 0) is nan"),
        ([b"cat"], "document 0 (the first is 0) is b'cat' of type bytes"),
        ([["a"]], "of type list"),
    ],
)
def test_what_is_not_documents_is_refused_by_name(documents, named):
    fitted = TextVectorizer(**PLAIN).fit(PETS)
    for act in (TextVectorizer().fit, fitted.transform):
        with pytest.raises(DataError) as caught:
            act(documents)
        assert named in str(caught.value)


def test_nothing_to_learn_is_said_with_what_to_do():
    with pytest.raises(DataError, match="no documents"):
        TextVectorizer().fit([])
    with pytest.raises(DataError, match="token_pattern"):
        TextVectorizer().fit(["", " "])
    with pytest.raises(DataError, match=r"min_df=6.*stop_words='smart'.*lower min_df"):
        TextVectorizer(preset="sigir17").fit(["a cat", "the dog"])


def test_before_fit_everything_says_so():
    unfitted = TextVectorizer()
    for act in (unfitted.transform, unfitted.get_feature_names_out):
        with pytest.raises(NotFittedError):
            act(PETS)
    assert not hasattr(unfitted, "vocabulary_")


@pytest.mark.parametrize(
    "parameters",
    [
        {"preset": "sigir"},
        {"preset": ["social"]},
        {"weighting": "TF"},
        {"norm": True},
        {"stemmer": "english"},
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
        {"analyzer": "char", "stemmer": "porter"},
        {"analyzer": "char_wb", "stop_words": "smart"},
    ],
)
def test_wrong_parameters_are_refused_by_name(parameters):
    with pytest.raises(CordwoodError) as caught:
        TextVectorizer(**parameters).fit(PETS)
    for name, value in parameters.items():
        assert name in str(caught.value)
        assert len(parameters) > 1 or str(value).strip("[]") in str(caught.value)


def test_parameters_are_never_rewritten():
    own = ["the"]
    vectorizer = TextVectorizer(stop_words=own, ngram_range=[1, 2])
    before = vectorizer.get_params()
    vectorizer.fit(PETS)
    assert vectorizer.get_params() == before
    assert vectorizer.stop_words is own
    assert vectorizer.settings_.ngram_range == (1, 2)


def test_characters_need_no_words_of_the_preset():
    ours = TextVectorizer(preset="icml03", analyzer="char", min_df=1).fit(PETS)
    assert (ours.settings_.stop_words, ours.settings_.stemmer) == (False, False)
    assert ours.settings_.weighting == "binary"


def test_auto_says_what_it_chose(caplog):
    short, long = ["so good :)"] * 100, ["a very long document " * 30] * 100
    with caplog.at_level(logging.INFO, logger="cordwood"):
        ours = TextVectorizer().fit(short)
    assert (ours.preset_, ours.preset) == ("social", "auto")
    assert "10 characters" in ours.preset_reason_
    assert [record.getMessage() for record in caplog.records] == [ours.preset_reason_]
    assert ":)" in ours.vocabulary_
    assert TextVectorizer().fit(long).preset_ == "sigir17"
    assert TextVectorizer().fit(long[:99]).preset_ == "social"
    caplog.clear()
    with caplog.at_level(logging.INFO, logger="cordwood"):
        assert TextVectorizer(preset="social").fit(long).preset_reason_ == "preset social: as asked"
    assert not caplog.records


def save_and_load(vectorizer):
    data = skops.io.dumps(vectorizer)
    name = "cordwood.text.vectorizer.TextVectorizer"
    assert skops.io.get_untrusted_types(data=data) == [name]
    return skops.io.loads(data, trusted=[name])


@pytest.mark.parametrize("keep", [save_and_load, lambda model: pickle.loads(pickle.dumps(model))])
@pytest.mark.parametrize(
    "parameters",
    [
        {},
        {"weighting": "tfidf", "stemmer": "porter"},
        {"stop_words": ["cat"], "analyzer": "word"},
        # Known runs are taken from the documents they were found in, or read from their terms.
        {"ngram_range": (1, 3)},
        {"ngram_range": (1, 2), "stemmer": "porter", "max_features": 7},
        {"analyzer": "char_wb", "ngram_range": (2, 4), "max_features": 30},
    ],
)
def test_a_kept_vectorizer_is_the_same(keep, parameters):
    documents = [*PETS, "naïve 東京 😀 \ud800"]
    ours = TextVectorizer(**parameters).fit(documents)
    kept = keep(ours)
    assert kept.get_params() == ours.get_params()
    assert (kept.settings_, kept.preset_reason_) == (ours.settings_, ours.preset_reason_)
    assert kept.vocabulary_ == ours.vocabulary_
    new = ["cats and dogs", *documents]
    assert (kept.transform(new) != ours.transform(new)).nnz == 0
    assert keep(TextVectorizer(**parameters)).get_params() == ours.get_params()


def test_a_kept_vectorizer_holds_arrays_and_no_long_mappings():
    ours = TextVectorizer(**PLAIN, stemmer="porter").fit([" ".join(map(str, range(10, 5000)))])
    ours.transform(["unseen"])
    small = [value for value in ours.__getstate__().values() if hasattr(value, "__len__")]
    assert all(len(value) < 100 for value in small)


LETTERS = np.array([99, 97], np.uint8)


@pytest.mark.parametrize(
    "change",
    [
        {"_packed_terms": None},
        {"_packed_terms": ([99, 97], [0, 1, 2])},
        {"_packed_terms": (LETTERS, np.array([], np.int64))},
        {"_packed_terms": (LETTERS, np.array([0, 1, 7]))},
        {"_packed_terms": (LETTERS, np.array([1, 1, 2]))},
        {"_packed_terms": (LETTERS, np.array([0, 3, 2]))},
        {"_packed_terms": (LETTERS, np.array([0.0, 1.0, 2.0]))},
        {"_packed_terms": (np.array([99, 99], np.uint8), np.array([0, 1, 2]))},
        {"_packed_terms": (np.array([255, 97], np.uint8), np.array([0, 1, 2]))},
        {"idf_": None},
        {"idf_": np.ones(3)},
        {"idf_": np.ones((2, 2))},
        {"idf_": np.array(["a", "b"])},
        {"settings_": {"weighting": "tfidf", "colour": "red"}},
        {"settings_": {"weighting": "tf"}},
        {"settings_": {"weighting": "tfidf", "ngram_range": "12"}},
        {"settings_": 7},
    ],
)
def test_a_damaged_state_is_refused(change):
    state = TextVectorizer(**PLAIN, weighting="tfidf").fit(["cat dog"]).__getstate__()
    TextVectorizer().__setstate__(state)
    with pytest.raises(CordwoodError) as caught:
        TextVectorizer().__setstate__(state | change)
    assert isinstance(caught.value, ModelFileError) or "ngram_range" in str(caught.value)


# scikit-learn's suite refuses estimators of strings as a whole; these of its checks need no data.
@pytest.mark.parametrize(
    "check",
    [
        estimator_checks.check_estimator_cloneable,
        estimator_checks.check_estimator_repr,
        estimator_checks.check_get_params_invariance,
        estimator_checks.check_no_attributes_set_in_init,
        estimator_checks.check_parameters_default_constructible,
        estimator_checks.check_set_params,
        estimator_checks.check_valid_tag_types,
    ],
)
def test_scikit_learn_checks(check):
    check("TextVectorizer", TextVectorizer())


def test_it_works_in_a_pipeline_under_cross_validation():
    documents = pd.Series(["good film :)", "bad film :("] * 20)
    labels = ["positive", "negative"] * 20
    model = make_pipeline(TextVectorizer(), MultinomialNB())
    assert cross_val_score(model, documents, labels, cv=4).mean() == 1


def reuters():
    folder = os.environ.get("CORDWOOD_DATA")
    root = Path(__file__).resolve().parents[2]
    path = Path(folder or root.parent / "shared" / "datasets") / "reuters21578.jsonl.gz"
    if not path.exists():
        pytest.skip("Reuters-21578 is not here; name its folder in CORDWOOD_DATA")
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        rows = map(json.loads, lines)
        return [row["text"] for row in rows if row["split"] == "train"]


def test_icml03_finds_the_terms_of_the_paper():
    documents = reuters()
    ours = TextVectorizer(preset="icml03").fit(documents)
    assert (len(documents), len(ours.vocabulary_)) == (9603, 6319)
    assert abs(len(ours.vocabulary_) / 6242 - 1) < 0.03


def test_presets_follow_the_papers():
    rare, common = [f"rare{n % 5} it's common" for n in range(5)], ["common"] * 2
    for name in ("sigir15", "sigir17"):
        assert list(TextVectorizer(preset=name).fit(rare + common).vocabulary_) == ["common"]
    assert PRESETS["sigir15"].weighting == "tfidf"
    assert PRESETS["sigir17"].weighting == "tf"
    ours = TextVectorizer(preset="icml03").fit(["Running, the 42 dogs-dogs! We've"] * 4)
    assert ours.get_feature_names_out().tolist() == ["dog", "run", "ve"]
    assert set(ours.transform(["dogs dogs run"]).data) == {1}
    with pytest.raises(DataError, match="min_df=4"):
        clone(ours).fit(["Running dogs"] * 3)
    assert stop_list("smart523").isdisjoint(ours.vocabulary_)
