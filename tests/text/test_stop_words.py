from importlib.resources import files

from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

from cordwood.text.stop_words import stop_list


def test_smart_has_the_sizes_that_are_cited():
    lines = files("cordwood.text").joinpath("smart.txt").read_text("utf-8").splitlines()
    assert lines == sorted(lines)
    assert len(lines) == 571
    assert len(stop_list("smart")) == 570
    assert len(stop_list("smart523")) == 523


def test_the_smaller_list_lacks_contractions_only():
    missing = stop_list("smart") - stop_list("smart523")
    assert {"don't", "it's", "we're"} < missing
    assert all("'" in word for word in missing)
    assert not any("'" in word for word in stop_list("smart523"))
    assert {"the", "would", "z", "zero"} < stop_list("smart523")


def test_english_is_the_list_of_scikit_learn():
    assert stop_list("english") == ENGLISH_STOP_WORDS
