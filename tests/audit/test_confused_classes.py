import numpy as np
import scipy.sparse as sp
from sklearn.feature_extraction.text import CountVectorizer

from cordwood.audit.confused_classes import find_confused_classes
from cordwood.oof import OOFPredictions


def make_oof(y, predicted, n_classes):
    proba = np.eye(n_classes)[predicted]
    return OOFPredictions(
        proba=proba, y=np.asarray(y), classes=np.array(list("abcd"[:n_classes])), sources={}
    )


def test_pairs_are_ordered_by_their_errors():
    y = np.repeat([0, 1, 2], 100)
    predicted = y.copy()
    predicted[:8] = 1  # a as b
    predicted[100:106] = 0  # b as a
    predicted[110:140] = 2  # b as c
    predicted[200:204] = 0  # c as a: too few
    first, second = find_confused_classes(make_oof(y, predicted, 3), None, [])
    assert (first.labels, first.n_errors, first.error_rate) == (("b", "c"), (30, 0), 0.15)
    assert (second.labels, second.n_errors, second.error_rate) == (("a", "b"), (8, 6), 0.07)
    assert first.words == ((), ())


def test_words_differ_between_the_classes():
    rng = np.random.default_rng(0)
    y = np.arange(200) % 2
    common = [f"w{i}" for i in range(30)]
    texts = [
        " ".join([*rng.choice(common, 6), ("left" if k else "right") if i % 3 else ""])
        for i, k in enumerate(y)
    ]
    vectorizer = CountVectorizer()
    X = sp.csr_matrix(vectorizer.fit_transform(texts))
    predicted = np.where(np.arange(200) < 40, 1 - y, y)
    names = vectorizer.get_feature_names_out()
    [pair] = find_confused_classes(make_oof(y, predicted, 2), X, names)
    assert pair.words[0][0] == "right"
    assert pair.words[1][0] == "left"


def test_no_errors():
    y = np.arange(20) % 2
    assert find_confused_classes(make_oof(y, y, 2), None, []) == ()
