import re

import pytest

from cordwood.exceptions import CordwoodError
from cordwood.text.presets import PRESETS, choose_preset, resolve_params


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
def test_social_token_pattern(text, tokens):
    assert re.findall(PRESETS["social"].token_pattern, text) == tokens


@pytest.mark.parametrize(
    ("n_texts", "length", "preset"),
    [(100, 349, "social"), (100, 350, "sigir17"), (99, 350, "social"), (1, 1, "social")],
)
def test_choice_by_length_and_number_of_texts(n_texts, length, preset):
    name, reason = choose_preset(["x" * length] * n_texts)
    assert name == preset
    assert reason.startswith(f"preset {preset}: ")


def test_choice_depends_on_the_median_length():
    assert choose_preset(["x" * 10] * 51 + ["x" * 100_000] * 49)[0] == "social"
    assert choose_preset(["x" * 10] * 49 + ["x" * 400] * 51)[0] == "sigir17"


def test_defaults_of_norm_and_sublinear_tf_depend_on_weighting():
    counts, default = resolve_params("sigir15", {"weighting": "tf"}), resolve_params("sigir17", {})
    assert (counts.norm, counts.sublinear_tf) == (default.norm, default.sublinear_tf)
    assert (counts.norm, counts.sublinear_tf) == (False, False)
    tfidf = resolve_params("social", {"weighting": "tfidf", "norm": False})
    assert (tfidf.norm, tfidf.sublinear_tf) == (False, True)
    assert all(resolve_params(name, {}) == preset for name, preset in PRESETS.items())


def test_custom_stop_words_are_sorted_and_unique():
    assert resolve_params("social", {"stop_words": {"b", "a"}}).stop_words == ("a", "b")
    assert resolve_params("social", {"stop_words": ["b", "b"]}).stop_words == ("b",)
    with pytest.raises(CordwoodError, match="stop_words"):
        resolve_params("social", {"stop_words": ["a", 1]})
