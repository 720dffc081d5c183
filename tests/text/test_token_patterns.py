import re
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cordwood.text.token_patterns import TOKEN_PATTERNS, build_tokenizer

# The tokens of each name in texts without marks, emoji and scripts without spaces.
ENGLISH = {
    "word": r"(?u)\b\w\w+\b",
    "letters": r"[^\W\d_]+",
    "social": r"(?<!\w)[<>]?[:;=][-o*'^]?[)(\]\[dpo3/\\|*@$}{]+(?!\w)|</?3+(?!\w)"
    r"|[-^>=]_+[-^<=]|\w+|[^\w\s]+",
}
european = st.text(
    st.characters(max_codepoint=0x2FF) | st.sampled_from("αβγЖщї“”–—…€™№ºﬁ\xad:;=<3^_)( "),
    max_size=40,
)


@pytest.mark.parametrize("name", TOKEN_PATTERNS)
@given(text=european)
def test_tokens_of_european_text(name, text):
    assert build_tokenizer(name)(text) == re.findall(ENGLISH[name], text)


@pytest.mark.parametrize("name", TOKEN_PATTERNS)
@given(text=european)
def test_full_pattern_finds_the_tokens_of_the_plain_one(name, text):
    # The emoji at the end selects the full pattern.
    assert build_tokenizer(name)(f"{text} 👍") == [*build_tokenizer(name)(text), "👍"]


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
def test_social_tokens(text, tokens):
    assert build_tokenizer("social")(text) == tokens


@pytest.mark.parametrize("name", ["word", "social"])
@pytest.mark.parametrize(
    "text",
    [
        "आधुनिक मानक हिन्दी",
        "தமிழ் மொழி",
        "বাংলা ভাষা",
        "ಕನ್ನಡ ಭಾಷೆ",
        "മലയാളം ഭാഷ",
        "العَرَبِيَّة مُحَمَّد",
        "می\u200cخواهم کتاب‌ها",
        "עִבְרִית שָׁלוֹם",
        "Tiếng Việt",
        unicodedata.normalize("NFD", "Tiếng Việt"),
        "한국어 띄어쓰기",
        "བོད སྐད",
        "i̇stanbul ünlü",
        "👍🏽 🇩🇪 👨\u200d👩\u200d👧 ❤\ufe0f",
        "🏴\U000e0067\U000e0062\U000e0073\U000e0063\U000e0074\U000e007f 🏴",
    ],
)
def test_marks_belong_to_their_letter(name, text):
    assert build_tokenizer(name)(text) == text.split()


def test_letters_without_digits():
    assert build_tokenizer("letters")("हिन्दी2 x_y a1b 👍") == ["हिन्दी", "x", "y", "a", "b", "👍"]


def test_scripts_without_spaces_have_no_tokens():
    tokenize = build_tokenizer("word")
    assert tokenize("Python3的GIL，版本3.11 ใน Linux") == ["Python3", "GIL", "11", "Linux"]
    assert build_tokenizer("social")("好!! ok") == ["!!", "ok"]
