import re

import pytest

from cordwood.exceptions import CordwoodError
from cordwood.text.presets import PRESETS, choose, resolve


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("so good!!! ...", ["so", "good", "!!!", "..."]),
        (":d ;-p :) :'( <3 </3 ^_^", [":d", ";-p", ":)", ":'(", "<3", "</3", "^_^"]),
        (
            "http://a.b 10:30 re:do",
            ["http", "://", "a", ".", "b", "10", ":", "30", "re", ":", "do"],
        ),
        ("😀😀👍🏽!", ["😀", "😀", "👍🏽", "!"]),
        ("👨\u200d👩\u200d👧 ❤\ufe0f", ["👨\u200d👩\u200d👧", "❤\ufe0f"]),
        ("🇩🇪🇫🇷", ["🇩🇪", "🇫🇷"]),
        ("don't", ["don", "'", "t"]),
    ],
)
def test_social_keeps_what_carries_feeling(text, tokens):
    assert re.findall(PRESETS["social"].token_pattern, text) == tokens


@pytest.mark.parametrize(
    ("n_documents", "length", "preset"),
    [(100, 349, "social"), (100, 350, "sigir17"), (99, 350, "social"), (1, 1, "social")],
)
def test_choice_by_length_and_number(n_documents, length, preset):
    name, reason = choose(["x" * length] * n_documents)
    assert name == preset
    assert reason.startswith(f"preset {preset}: ")


def test_choice_goes_by_the_median_and_not_by_the_mean():
    assert choose(["x" * 10] * 51 + ["x" * 100_000] * 49)[0] == "social"
    assert choose(["x" * 10] * 49 + ["x" * 400] * 51)[0] == "sigir17"


def test_weighting_brings_its_own_norm_and_logarithm():
    plain, weighted = resolve("sigir15", {"weighting": "tf"}), resolve("sigir17", {})
    assert (plain.norm, plain.sublinear_tf) == (weighted.norm, weighted.sublinear_tf)
    assert (plain.norm, plain.sublinear_tf) == (False, False)
    tfidf = resolve("social", {"weighting": "tfidf", "norm": False})
    assert (tfidf.norm, tfidf.sublinear_tf) == (False, True)
    assert all(resolve(name, {}) == preset for name, preset in PRESETS.items())


def test_own_stop_words_are_kept_sorted_and_once():
    assert resolve("social", {"stop_words": {"b", "a"}}).stop_words == ("a", "b")
    assert resolve("social", {"stop_words": ["b", "b"]}).stop_words == ("b",)
    with pytest.raises(CordwoodError, match="stop_words"):
        resolve("social", {"stop_words": ["a", 1]})
