import pytest

from cordwood.exceptions import CordwoodError
from cordwood.text.presets import (
    PRESETS,
    apply_language,
    choose_params,
    choose_preset,
    resolve_params,
)


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


def test_east_asian_characters_count_as_three():
    assert choose_preset(["字" * 116] * 100)[0] == "social"
    assert choose_preset(["かな" * 58 + "カ"] * 100)[0] == "sigir17"
    assert choose_preset(["ไทย" * 100] * 100)[0] == "social"


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


LONG_NGRAMS = {"stop_words": False, "min_df": 2}


@pytest.mark.parametrize(
    ("length", "n_texts", "analyzer", "changes"),
    [
        (400, 100, "word", LONG_NGRAMS),
        (400, 100, "char_wb", LONG_NGRAMS),
        (50, 100, "char_wb", LONG_NGRAMS),
        (400, 99, "char_wb", LONG_NGRAMS),
        (49, 100, "word", {}),
        (49, 100, "char_wb", {"ngram_range": (1, 5)}),
        (49, 99, "char_wb", {"ngram_range": (1, 5)}),
    ],
)
def test_ngrams_of_very_short_texts_keep_all_terms(length, n_texts, analyzer, changes):
    given = {"analyzer": analyzer}
    _, _, params = choose_params(["x" * length] * n_texts, "linear_ngrams", given)
    assert params == {**given, **changes}


def test_very_short_texts_without_spaces_have_ngrams_of_up_to_five_characters():
    # A Han character counts as three.
    for n_characters, ngram_range in ((16, (1, 5)), (17, (1, 3))):
        texts = ["字" * n_characters] * 100
        _, reason, params = choose_params(texts, "linear_ngrams", {"analyzer": "char_wb"})
        assert params["ngram_range"] == ngram_range
        assert f"ngram_range={ngram_range}" in reason


def test_given_ngram_range_of_very_short_texts_is_kept():
    given = {"analyzer": "char_wb", "ngram_range": (2, 3)}
    assert choose_params(SHORT, "linear_ngrams", given)[2] == given


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


GERMAN = ["Das ist nicht so einfach, wie es auf den ersten Blick aussieht. " * 8] * 100


def test_stop_words_are_of_the_detected_language():
    preset, reason, params = choose_params(GERMAN, "trees", {})
    assert (preset, params) == ("sigir17", {"stop_words": "de"})
    assert reason.endswith("350 or more; stop_words='de' for German")
    french = ["Ce n'est pas aussi simple que cela, mais vous avez le temps. " * 8] * 100
    _, reason, params = choose_params([*GERMAN, *french], "naive_bayes", {})
    assert params == {"min_df": 2, "stop_words": "de+fr"}
    assert reason.endswith("min_df=2 for naive_bayes; stop_words='de+fr' for German and French")


def test_given_language_takes_precedence_over_detection():
    assert choose_params(GERMAN, "trees", {}, "nl")[2] == {"stop_words": "nl"}
    assert choose_params(GERMAN, "trees", {}, "en")[2] == {}
    # There are no stop words of Khmer.
    assert choose_params(GERMAN, "trees", {}, "km")[2] == {"stop_words": False}
    assert choose_params(GERMAN, "trees", {}, "km+de")[2] == {"stop_words": "de"}
    assert choose_params(["我们不知道他们现在在哪里。" * 30] * 100, "trees", {})[2] == {
        "stop_words": False
    }


@pytest.mark.parametrize("params", [{"stop_words": "smart"}, {"stop_words": False}])
def test_given_stop_words_take_precedence_over_the_language(params):
    assert choose_params(GERMAN, "trees", params)[2] == params
    assert apply_language("icml03", [], {**params, "stemmer": False}, "de")[1] == []


def test_language_is_not_detected_if_it_has_no_effect(monkeypatch):
    def fail(texts):
        raise AssertionError

    monkeypatch.setattr("cordwood.text.presets.detect_language", fail)
    choose_params(SHORT, "trees", {"mark_negation": False})
    choose_params(SHORT, "trees", {"analyzer": "char"})
    choose_params(SHORT, "trees", {}, "de")
    choose_params(LONG, "linear", {})
    choose_params(LONG, "trees", {"analyzer": "char"})
    for texts in (LONG, SHORT):
        with pytest.raises(AssertionError):
            choose_params(texts, "trees", {})


ENGLISH = ["This is not what we had seen there."]


@pytest.mark.parametrize(
    ("texts", "params", "language", "expected"),
    [
        (ENGLISH, {}, None, True),
        (ENGLISH, {"mark_negation": False}, None, False),
        (ENGLISH, {"analyzer": "char_wb"}, None, None),
        (ENGLISH, {"token_pattern": "word"}, None, None),
        (ENGLISH, {}, "pt", None),
        (ENGLISH, {}, "pt+en", True),
        (["Isto não é o que vimos no caminho."], {}, None, None),
        (ENGLISH * 500, {}, None, True),
        ([ENGLISH[0] * 20] * 500, {}, None, None),
    ],
)
def test_negation_is_marked_in_short_english_texts(texts, params, language, expected):
    found = choose_params(texts, "trees", params, language)[2]
    assert found.get("mark_negation") is expected
    resolve_params(choose_params(texts, "trees", params, language)[0], found)


def test_automatic_stemmer_is_that_of_the_language():
    assert apply_language("social", GERMAN, {"stemmer": "auto"}, None)[0] == {"stemmer": "de"}
    assert apply_language("social", LONG, {"stemmer": "auto"}, None)[0] == {"stemmer": "en"}
    assert apply_language("social", [], {"stemmer": "auto"}, "zh")[0] == {"stemmer": False}
    assert apply_language("icml03", [], {}, "fr")[0] == {"stop_words": "fr", "stemmer": "fr"}


def test_html_is_detected():
    pages = [f"<p>page&nbsp;{number}</p>" for number in range(20)]
    _, reason, params = choose_params([*pages, *["plain"] * 80], "trees", {})
    assert params == {"strip_html": True}
    assert reason.endswith("strip_html=True, because 20% of the texts contain HTML")
    assert choose_params([*pages, *["plain"] * 81], "trees", {})[2] == {}
    assert choose_params(pages, "trees", {"strip_html": False})[2] == {"strip_html": False}


def test_length_and_language_are_those_of_the_text_without_html():
    head = "<html><head>" + "<meta name='the and of with not is'>" * 50 + "</head>"
    short = [f"{head}<p>Das ist nicht so.</p>"] * 100
    assert choose_params(short, "trees", {})[0] == "social"
    assert choose_params([head + text for text in GERMAN], "trees", {})[2] == {
        "stop_words": "de",
        "strip_html": True,
    }
    reason = choose_params([f"{head}日本"] * 9, "trees", {})[1]
    assert "because 100% of the letters" in reason


def test_share_of_scripts_without_spaces_is_reported():
    _, reason, params = choose_params(["日本語 abc"], "trees", {})
    assert reason.endswith(
        "; n-grams of 1 to 3 characters, because 50% of the letters are of scripts without spaces"
    )
    assert not params
    assert "letters" not in choose_params(["日本語" + "abc" * 300], "trees", {})[1]


def test_character_ngrams_are_short_in_scripts_without_spaces():
    given = {"analyzer": "char_wb"}
    _, reason, params = choose_params(["日本語 abc"], "trees", given)
    assert params == {**given, "ngram_range": (1, 3)}
    assert reason.endswith(
        "; ngram_range=(1, 3), because 50% of the letters are of scripts without spaces"
    )
    assert choose_params(["日本語 abcd"], "trees", given)[2] == given
    given["ngram_range"] = (2, 4)
    assert choose_params(["日本語 abc"], "trees", given)[2] == given
