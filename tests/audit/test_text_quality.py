import base64
import random

import pytest

from cordwood.audit._text_quality import find_text_problem

SENTENCES = [
    "The food was fine, but we waited an hour for it.",
    "O pão de mel e a maçã são da avó; às vezes não há mais.",
    "Über Äpfel und Öl: »schön«, sagte er – naïve Façade …",
    "Это обычное предложение на русском языке.",
    "这是一个普通的句子，没有空格，但它是可以读的。",
    "วันนี้อากาศดีมากเราจึงไปเดินเล่นที่สวนสาธารณะ",
    "مرحبا بالعالم",
    "Ελλάδα, €5 “quoted” ‘text’ • 20 °C ±1 ½ ×",
    "great \U0001f600\U0001f44d\U0001f3fd!! \u200d fine\ufe0f",
    "tabs\tand\nnew lines\r\nand\x85others",
    "see https://example.com/a/very/long/path/that/has/more/than/forty/characters.html",
]


@pytest.mark.parametrize("text", SENTENCES)
def test_readable_text(text):
    assert find_text_problem(text) is None
    assert find_text_problem(f"{text} {SENTENCES[0]} " * 3) is None


@pytest.mark.parametrize("text", ["", " \n\t\u3000"])
def test_empty_text(text):
    assert find_text_problem(text).kind == "empty text"


@pytest.mark.parametrize("encoding", ["cp1252", "latin-1"])
@pytest.mark.parametrize("letters", ["é", "ü", "ñ", "д", "’", "中", "日本", "😀"])
def test_wrongly_decoded_utf8(letters, encoding):
    try:
        mojibake = letters.encode().decode(encoding)
    except UnicodeDecodeError:
        pytest.skip("cp1252 has no character for one of the bytes")
    problem = find_text_problem(f"{SENTENCES[0]} {mojibake} {SENTENCES[0]}")
    assert problem.kind == "encoding error"
    assert f"is probably {letters[0]!r}" in problem.reason
    assert find_text_problem(f"ab{mojibake}").kind == "garbled text"


def test_share_of_damaged_characters():
    assert find_text_problem("x" * 99 + "\ufffd").kind == "encoding error"
    problem = find_text_problem("x" * 80 + "\ufffd" * 20)
    assert problem.kind == "garbled text"
    assert problem.reason == "20% of the characters: 20 replacement characters, such as '\\ufffd'"
    assert "1 control character, such as '\\x00'" in find_text_problem("\x00bc").reason


@pytest.mark.parametrize("text", ["12.5 %", ":-)", "\U0001f600", "???"])
def test_no_letters(text):
    assert find_text_problem(text).kind == "no letters"


def test_repetitive_text():
    assert find_text_problem("spam " * 100).reason.startswith("repetitive: it compresses to")
    assert find_text_problem("haha " * 30) is None  # short texts may repeat a word


def test_encoded_data():
    data = base64.encodebytes(random.Random(0).randbytes(1000)).decode()
    assert find_text_problem(data).kind == "garbled text"
    assert "% of it are strings" in find_text_problem("Attachment:\n" + data).reason
