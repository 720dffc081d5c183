import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from cordwood.exceptions import CordwoodError, DataError, ModelFileError
from cordwood.text.lexicon import LexiconVectorizer

TEXTS = ["good food", "bad", "a table", "good wine but bad company", "", "  \n"]


def vader():
    return pytest.importorskip("vaderSentiment.vaderSentiment", reason="needs vaderSentiment")


def test_same_scores_as_vader():
    analyzer = vader().SentimentIntensityAnalyzer()
    texts = [*TEXTS, "NOT good at all!!!", "the best :)", "I don't like it", "😀 wow"]
    scores = LexiconVectorizer().fit_transform(texts)
    expected = [list(analyzer.polarity_scores(text).values()) for text in texts]
    np.testing.assert_allclose(scores, expected, atol=1e-7)


def test_own_lexicon_follows_the_formula_of_vader():
    # Without negation, intensifiers, capitals and punctuation, the rules of VADER do nothing. It
    # rounds to three and four digits.
    analyzer = vader().SentimentIntensityAnalyzer()
    lexicon = {word: analyzer.lexicon[word] for word in ("good", "bad", "love", "ugly")}
    texts = ["good food", "ugly table", "love good wine", "bad ugly good table", "table"]
    scores = LexiconVectorizer({**lexicon, "unused": 4.0}).fit_transform(texts)
    expected = [list(analyzer.polarity_scores(text).values()) for text in texts]
    np.testing.assert_allclose(scores, expected, atol=6e-4)


def test_scale_of_the_scores_does_not_matter():
    small = LexiconVectorizer({"good": 0.1, "bad": -0.2}).fit_transform(TEXTS)
    large = LexiconVectorizer({"good": 50, "bad": -100}).fit_transform(TEXTS)
    np.testing.assert_allclose(small, large, rtol=1e-6)


@pytest.mark.parametrize("header", ["", "word,score\n"])
def test_lexicon_from_a_file(tmp_path, header):
    file = tmp_path / "words.csv"
    file.write_text(f"{header}good,1\nBad,-2\n:),1.5\n", encoding="utf-8-sig")
    vectorizer = LexiconVectorizer(file).fit(TEXTS)
    same = LexiconVectorizer({"good": 1, "bad": -2, ":)": 1.5}).fit(TEXTS)
    assert vectorizer.scores_ == same.scores_
    assert vectorizer.fingerprint_ == same.fingerprint_
    assert vectorizer.transform(["BAD! :)"])[0, 3] < 0


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("good,1\nbad,x\n", r"row 2: the score of 'bad' must be a number; got 'x'"),
        ("good,1\nbad;-1\n", r"row 2: .* separated by a comma, in each row; got \['bad;-1'\]"),
        ("good,1\nGood,2\n", r"row 2: the word 'Good' occurs twice"),
        ("good,nan\n", r"lexicon .*words.csv: the score of 'good' must be finite"),
        ("very good,1\n", r"words.csv must contain single words; got 'very good'"),
        ("word,score\n", r"words.csv must contain at least one word"),
    ],
)
def test_invalid_file(tmp_path, content, message):
    file = tmp_path / "words.csv"
    file.write_text(content)
    with pytest.raises(CordwoodError, match=message):
        LexiconVectorizer(file).fit(TEXTS)


@pytest.mark.parametrize("lexicon", [{"good": "1"}, {1: 1.0}, {"": 1.0}, {"good": True}, {}, 5])
def test_invalid_mapping(lexicon):
    with pytest.raises(CordwoodError, match="lexicon"):
        LexiconVectorizer(lexicon).fit(TEXTS)


def test_file_that_is_not_encoded_in_utf8(tmp_path):
    (tmp_path / "words.csv").write_bytes("schön,1\n".encode("latin-1"))
    with pytest.raises(CordwoodError, match=r"words.csv is not encoded in UTF-8; save it as UTF-8"):
        LexiconVectorizer(tmp_path / "words.csv").fit(TEXTS)


def test_missing_file(tmp_path):
    with pytest.raises(
        CordwoodError, match=r"cannot read the lexicon .*none.csv: No such file or directory$"
    ):
        LexiconVectorizer(tmp_path / "none.csv").fit(TEXTS)


def test_single_string_is_rejected():
    with pytest.raises(DataError, match="pass \\[text\\]"):
        LexiconVectorizer({"good": 1}).fit("good")


def test_other_version_of_vader_is_rejected():
    vader()
    vectorizer = LexiconVectorizer().fit(TEXTS)
    vectorizer.fingerprint_ = "0" * 64
    with pytest.raises(ModelFileError, match="not the one that the model was trained with"):
        vectorizer.transform(TEXTS)


def test_in_a_pipeline():
    model = make_pipeline(LexiconVectorizer({"good": 1, "bad": -1}), LogisticRegression())
    model = pickle.loads(pickle.dumps(clone(model).fit(["good", "bad"] * 5, ["+", "-"] * 5)))
    assert model.predict(["a good table", "so bad"]).tolist() == ["+", "-"]


def test_output_as_dataframe():
    pytest.importorskip("pandas")
    vectorizer = LexiconVectorizer({"good": 1}).set_output(transform="pandas")
    frame = vectorizer.fit_transform(["good food"])
    assert list(frame.columns) == ["negative", "neutral", "positive", "compound"]


def test_no_texts_give_an_empty_matrix():
    assert LexiconVectorizer({"good": 1}).fit(["a"]).transform([]).shape == (0, 4)
