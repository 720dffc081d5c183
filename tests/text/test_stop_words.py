from importlib.resources import files

from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

from cordwood.text.stop_words import get_stop_words, has_stop_words


def test_smart_has_the_published_sizes():
    lines = files("cordwood.text").joinpath("smart.txt").read_text("utf-8").splitlines()
    assert lines == sorted(lines)
    assert len(lines) == 571
    assert len(get_stop_words("smart")) == 570
    assert len(get_stop_words("smart523")) == 523


def test_smart523_is_smart_without_contractions():
    missing = get_stop_words("smart") - get_stop_words("smart523")
    assert {"don't", "it's", "we're"} < missing
    assert all("'" in word for word in missing)
    assert not any("'" in word for word in get_stop_words("smart523"))
    assert {"the", "would", "z", "zero"} < get_stop_words("smart523")


def test_english_equals_scikit_learn():
    assert get_stop_words("english") == ENGLISH_STOP_WORDS


def test_lists_of_languages():
    assert {"und", "nicht", "die"} < get_stop_words("de")
    assert get_stop_words("de+fr") == get_stop_words("de") | get_stop_words("fr")
    assert get_stop_words("en") == get_stop_words("smart")
    assert all(word == word.lower() for word in get_stop_words("de+fr+tr"))


def test_names_of_lists():
    assert all(map(has_stop_words, ["smart", "english", "de", "en+hi"]))
    assert not any(
        map(has_stop_words, ["", "xx", "de+", "km", "zh", "de+km", True, False, 7, None])
    )
