import numpy as np
import pytest

from cordwood.audit._revealing_words import _find_kind, find_revealing_words

CLASSES = np.array(["ham", "spam"])


def make_texts(n_samples, seed=0):
    rng = np.random.default_rng(seed)
    words = [f"{a}{b}" for a in ("ka", "lo", "mi", "nu") for b in ("ra", "ti", "son", "vel")]
    return [" ".join(rng.choice(words, 8)) for _ in range(n_samples)], np.arange(n_samples) % 2


def test_clean_texts():
    assert find_revealing_words(*make_texts(200), CLASSES) == ()


@pytest.mark.parametrize(
    ("word", "kind"),
    [
        ("<list@example.com>", "e-mail address"),
        ("(https://example.com/a?b=1)", "URL"),
        ("2024-03-05", "date"),
        ("X-Spam:", "header"),
        ("msg12345", "id"),
        ("@sender", "user name"),
        ("4711", "number"),
        ("batch_id", "id"),
    ],
)
def test_metadata_in_a_twentieth_of_a_class(word, kind):
    texts, y = make_texts(400)
    for i in np.flatnonzero(y == 1)[:12]:
        texts[i] += f" {word}"
    [found] = find_revealing_words(texts, y, CLASSES)
    assert (found.kind, found.label) == (kind, "spam")
    assert (found.n_texts_in_class, found.n_texts, found.class_size) == (12, 12, 200)
    assert found.word in word


@pytest.mark.parametrize("word", ["unsubscribe", ":-)", "[AD]"])
def test_words_in_half_of_a_class(word):
    texts, y = make_texts(400)
    spam = np.flatnonzero(y == 1)
    for i in spam[:90]:
        texts[i] = f"{word} {texts[i]}"
    assert find_revealing_words(texts, y, CLASSES) == ()
    for i in spam[90:120]:
        texts[i] = f"{word} {texts[i]}"
    [found] = find_revealing_words(texts, y, CLASSES)
    assert (found.kind, found.n_texts_in_class) == ("word", 120)


def test_words_that_other_classes_contain_as_well():
    texts, y = make_texts(400)
    for i in range(100):
        texts[i] += " id-12345"
    assert find_revealing_words(texts, y, CLASSES) == ()


def test_few_occurrences_are_chance():
    # Five of five in a class of half of the texts have a probability of 1/32.
    texts, y = make_texts(60)
    for i in np.flatnonzero(y == 1)[:5]:
        texts[i] += " msg12345"
    assert find_revealing_words(texts, y, CLASSES) == ()


def test_wrong_labels_do_not_hide_a_word():
    texts, y = make_texts(400)
    for i in np.flatnonzero(y == 1)[:100]:
        texts[i] += " msg12345"
    y[np.flatnonzero(y == 1)[:4]] = 0
    [found] = find_revealing_words(texts, y, CLASSES)
    assert (found.n_texts_in_class, found.n_texts) == (96, 100)


def test_texts_without_words():
    assert find_revealing_words(["", " "], np.array([0, 1]), CLASSES) == ()


@pytest.mark.parametrize(
    "word", ["hockey", "well-known", "U.S", "don't", "caf\u00e9", "4th", "Re:x"]
)
def test_ordinary_words(word):
    assert _find_kind(word) == "word"
