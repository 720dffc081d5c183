from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cordwood.text._html_removal import html_share, strip_html


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('<a href="x.html">Text</a>', ["Text"]),
        ("a&nbsp;b&amp;c &lt;p&gt; &#26085;&#x672c;", ["a", "b&c", "<p>", "日本"]),
        ("one<br/>two<BR>three", ["one", "two", "three"]),
        ("<!-- no <b>text</b> -->yes<!-- no -->", ["yes"]),
        ("<!DOCTYPE html><html><head><style>p {}</style></head>x</html>", ["x"]),
        ("<SCRIPT>if (a < b) x()</Script >y<script src=z></script>", ["y"]),
        ("1 < 2 and 3 > 2", ["1", "<", "2", "and", "3", ">", "2"]),
        ("a <- b <3 x", ["a", "<-", "b", "<3", "x"]),
        ("<script>unclosed <b>text</b>", ["unclosed", "text"]),
        ("<!-- unclosed", ["<!--", "unclosed"]),
        ("AT&T &unknown; & x", ["AT&T", "&unknown;", "&", "x"]),
    ],
)
def test_strip(text, words):
    assert strip_html(text).split() == words


class _Text(HTMLParser):
    """Text of a document by the standard library."""

    def __init__(self):
        super().__init__()
        self.parts = []

    def handle_data(self, data):
        if self.lasttag not in ("script", "style") or self.get_starttag_text() is None:
            self.parts.append(data)


TREES = st.recursive(
    st.sampled_from(["word", "naïve", "a &amp; b", "x&nbsp;y", "日本"]),
    lambda inner: st.tuples(
        st.sampled_from(["p", "div", "b", "a"]),
        st.sampled_from(["", ' href="#"', " class=c id='d'"]),
        st.lists(inner, max_size=4),
    ).map(lambda tree: f"<{tree[0]}{tree[1]}>{' '.join(tree[2])}</{tree[0]}>"),
)


@given(TREES)
def test_strip_agrees_with_the_parser_of_the_standard_library(document):
    parser = _Text()
    parser.feed(document)
    parser.close()
    assert "".join(strip_html(document).split()) == "".join("".join(parser.parts).split())


@given(st.text("<>!-/abscript &;#1", max_size=60))
def test_any_text_can_be_stripped(text):
    assert isinstance(strip_html(text), str)


@pytest.mark.parametrize(
    "part", ["<!--", "<script>", "<a ", "<", "&", "<!--<script><style>", "</script"]
)
def test_time_is_linear(part):
    # Quadratic time would be hours.
    assert strip_html(part * 1_000_000) is not None


def test_share():
    assert (
        html_share(["<td>x</td>", "&nbsp;", "<a@b.org>", "x <y> z", "a < b > c", "AT&T;"]) == 2 / 6
    )
    assert html_share([]) == 0
