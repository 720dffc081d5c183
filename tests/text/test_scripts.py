import re
import sys
import unicodedata

import pytest

from cordwood.text import scripts as _scripts


def test_all_marks_of_the_basic_multilingual_plane():
    found = set(re.findall(f"[{_scripts.marks()}]", "".join(map(chr, range(0x10000)))))
    expected = {
        chr(code)
        for code in range(0x10000)
        if unicodedata.category(chr(code)) in ("Mn", "Mc", "Me")
    }
    assert found == expected


def test_the_fast_test_misses_no_special_character():
    special = re.compile(
        f"[{_scripts.marks()}{_scripts.EMOJI}{_scripts.EMOJI_ENDING}{_scripts.JOINERS}"
        f"{_scripts.REGIONAL_INDICATORS}{_scripts._UNSPACED}]"
    )
    for code in range(sys.maxunicode + 1):
        if special.match(chr(code)):
            assert _scripts.has_special_characters(chr(code))


def test_scripts_without_spaces_are_letters_marks_and_digits():
    # Punctuation and symbols separate sequences.
    categories = {
        unicodedata.category(chr(code))[0]
        for code in range(sys.maxunicode + 1)
        if re.match(f"[{_scripts._UNSPACED}]", chr(code))
        and unicodedata.category(chr(code)) != "Cn"
    }
    assert categories <= {"L", "M", "N"}


@pytest.mark.parametrize(
    ("text", "characters"),
    [
        ("我爱你", ["我", "爱", "你"]),
        ("パーティー", ["パ", "ー", "テ", "ィ", "ー"]),
        ("ภาษาไทย", ["ภ", "า", "ษ", "า", "ไ", "ท", "ย"]),
        ("ที่นี่", ["ที่", "นี่"]),
        ("ភាសា", ["ភា", "សា"]),
        ("မြန်မာ", ["မြ", "န်", "မာ"]),
        ("葛\U000e0100城", ["葛\U000e0100", "城"]),
    ],
)
def test_characters(text, characters):
    assert _scripts.find_unspaced(text) == [text]
    assert _scripts.split_characters(text) == characters


@pytest.mark.parametrize(
    "text", ["English", "Ελληνικά", "한국어", "हिन्दी", "עברית", "👍", "", "。、！"]
)
def test_scripts_with_spaces(text):
    assert _scripts.find_unspaced(text) == []
    assert not _scripts.is_unspaced(text)


def test_share():
    assert _scripts.unspaced_share(["日本 ab", "cdef"]) == 0.25
    assert _scripts.unspaced_share(["123", ""]) == 0
