import re

import pytest

from cordwood.exceptions import CordwoodError
from cordwood.text.presets import PRESETS, choose_params, choose_preset, resolve_params


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


LONG, SHORT = ["word " * 80] * 100, ["word"] * 100


@pytest.mark.parametrize(
    ("auto_for", "changes", "ending"),
    [
        ("trees", {}, "350 or more"),
        ("linear", {"stop_words": False, "min_df": 1}, "; stop_words=False, min_df=1 for linear"),
        ("naive_bayes", {"min_df": 2}, "; min_df=2 for naive_bayes"),
        ("neighbors", {"min_df": 2}, "; min_df=2 for neighbors"),
    ],
)
def test_changes_of_long_texts_depend_on_the_classifier(auto_for, changes, ending):
    preset, reason, params = choose_params(LONG, auto_for, {"min_df": None})
    assert (preset, params) == ("sigir17", {"min_df": None, **changes})
    assert reason.endswith(ending)
    preset, reason, params = choose_params(SHORT, auto_for, {"min_df": None})
    assert (preset, params) == ("social", {"min_df": None})
    assert reason.endswith("fewer than 350")


def test_given_parameters_take_precedence_over_changes():
    _, reason, params = choose_params(LONG, "linear", {"min_df": 3, "stop_words": None})
    assert params == {"min_df": 3, "stop_words": False}
    assert reason.endswith("350 or more; stop_words=False for linear")


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
