"""The code blocks of the pages run as written, and print what is shown below them."""

from pathlib import Path

import pytest
import sklearn

from doc_blocks import check_output, read_blocks, run_block

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", *sorted(DOCS.glob("*.md")), *sorted(DOCS.glob("howto/*.md"))]

# Pages with blocks that do not run yet, and have no marker. The list must only shrink.
NOT_CONVERTED = frozenset(
    f"docs/{name}"
    for name in (
        *("clusters", "embeddings", "few-labels", "gallery", "input", "languages"),
        *("large-data", "plans", "releasing", "results", "serving"),
    )
)


def name_page(path):
    return path.relative_to(ROOT).with_suffix("").as_posix()


@pytest.fixture
def namespace(tmp_path, monkeypatch):
    """An empty folder and no names: a page defines what it uses."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "120")  # of the terminal
    return {}


@pytest.mark.parametrize("path", PAGES, ids=name_page)
@pytest.mark.filterwarnings("ignore::UserWarning")  # about similar samples
def test_blocks_of_a_page_run_and_print_the_shown_output(path, namespace):
    with sklearn.config_context():  # a page enables metadata routing
        for block in () if name_page(path) in NOT_CONVERTED else read_blocks(path):
            run_block(block, namespace)


def test_list_of_pages_shrinks():
    assert {name_page(path) for path in PAGES} >= NOT_CONVERTED
    assert len(NOT_CONVERTED) <= 11


@pytest.mark.parametrize(
    ("page", "message"),
    [
        ("```python\nprint(1)\n```\n```\n3\n```\n", "printed:\n1\n"),
        ("```python\nprint('a')\n```\n\n```\nb\n```\n", "printed:\na\n"),
        ("```python\n1 / 0\n```\n", "division"),
        ("```python\n>>> 1 + 1\n3\n```\n", "session of line"),
        ("```\ndocker run cordwood\n```\n", "no command of cordwood"),
        ("text\n\n```console\n$ cordwood serve a.cordwood\n```\n", "until it is stopped"),
        ("```console\n$ cordwood --version\ncordwood 99\n```\n", "shown:\ncordwood 99"),
        ("```\ncordwood predict missing.cordwood a.csv\n```\n", "missing.cordwood"),
    ],
)
def test_a_page_with_a_mistake_fails(tmp_path, page, message):
    path = tmp_path / "page.md"
    path.write_text(page, encoding="utf-8")
    with pytest.raises((AssertionError, ZeroDivisionError), match=message):
        for block in read_blocks(path):
            run_block(block, {})


def test_markers_and_data_are_not_run(tmp_path):
    path = tmp_path / "page.md"
    marked = "<!-- not run: needs a cluster -->\n```python\n1 / 0\n```\n\n```\n3\n```\n"
    path.write_text(f"{marked}\n```json\n{{\n```\n", encoding="utf-8")
    assert list(read_blocks(path)) == []


def test_numbers_have_a_tolerance():
    check_output("accuracy 0.71 (22 of 1,000)", "accuracy  0.69 (21 of 1,010)\n")
    check_output("a 7 b\nc 8\nd in 71.2 s", "a 7 ...\n... 8\nd in 3 s")
    with pytest.raises(AssertionError):
        check_output("accuracy 0.51", "accuracy 0.69")
