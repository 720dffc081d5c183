"""Sphinx extension: each page as Markdown beside its HTML, and `llms.txt`, which lists them.

Pages that are written in Markdown are copied. Those of the API are the docstrings, and examples are
their programs with the output.
"""

import inspect
import re
from importlib import import_module
from pathlib import Path
from textwrap import dedent

from docutils import nodes
from sphinx.application import Sphinx

SUMMARY = """\
# cordwood

> Text classification with forests, boosting, sentence embeddings and stacking, as scikit-learn
> estimators and a command. `cordwood.TextClassifier` is the model; it estimates its own accuracy
> from the training data, explains its predictions, and works offline.

All pages as one file: [llms-full.txt](llms-full.txt)
"""


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("build-finished", write_pages)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def write_pages(app: Sphinx, exception: Exception | None) -> None:
    if exception or app.builder.format != "html":
        return
    pages = {docname: convert(app, docname) for docname in list_pages(app, "index")}
    for docname, text in pages.items():
        path = Path(app.outdir, f"{docname}.md")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    sections = [
        "\n".join(
            [f"\n## {title(app, top)}\n", *(link(app, name) for name in list_pages(app, top))]
        )
        for top in app.env.toctree_includes["index"]
    ]
    Path(app.outdir, "llms.txt").write_text("\n".join([SUMMARY, *sections, ""]), encoding="utf-8")
    Path(app.outdir, "llms-full.txt").write_text("\n\n".join(pages.values()), encoding="utf-8")


def list_pages(app: Sphinx, top: str) -> list[str]:
    """Return a page and those below it, in the order of the tables of contents."""
    children = app.env.toctree_includes.get(top, [])
    return [top, *(page for child in children for page in list_pages(app, child))]


def title(app: Sphinx, docname: str) -> str:
    return app.env.titles[docname].astext()


def link(app: Sphinx, docname: str) -> str:
    paragraph = next(app.env.get_doctree(docname).findall(is_text), None)
    phrase = re.split(r"(?<=[.:]) ", " ".join(paragraph.astext().split()))[0] if paragraph else ""
    return f"- [{title(app, docname)}]({docname}.md): {phrase}".removesuffix(": ")


def is_text(node: nodes.Node) -> bool:
    return isinstance(node, nodes.paragraph) and isinstance(node.parent, nodes.section)


def convert(app: Sphinx, docname: str) -> str:
    """Return a page as Markdown."""
    source = Path(app.env.doc2path(docname))
    program = Path(app.srcdir).parent / docname
    if source.suffix == ".md":
        return include(source)
    if program.with_suffix(".py").exists():
        outputs = re.findall(r"code-block:: none\n\n(.*?)(?=^\S|\Z)", read(source), re.M | re.S)
        shown = [f"```\n{dedent(output).strip()}\n```\n" for output in outputs]
        head = f"# {title(app, docname)}\n\n```python\n{read(program.with_suffix('.py'))}```\n"
        return "\n".join([head, *(["Output:\n", *shown] if shown else [])])
    if docname.startswith("api/generated/"):
        return describe(source.stem)
    return f"# {title(app, docname)}\n"


def include(source: Path) -> str:
    """Return the source of a page, with the files that it includes, or parts of them."""
    return re.sub(
        r"```\{include\} (\S+)\n(.*?)```\n",
        lambda found: select_part(read(source.parent / found[1]), found[2]),
        read(source),
        flags=re.S,
    )


def select_part(text: str, options: str) -> str:
    """Return the part of a text that the options of a directive select."""
    ends = dict(re.findall(r':(start-after|end-before): "(.*)"', options))
    if "start-after" in ends:
        text = text.split(ends["start-after"], 1)[1].lstrip()
    return text.split(ends["end-before"], 1)[0] if "end-before" in ends else text


def describe(name: str) -> str:
    """Return the docstring of a public name and of its methods."""
    parts = name.split(".")
    module = ".".join(parts[:-1])
    thing = getattr(import_module(module), parts[-1])
    members = inspect.getmembers(thing, inspect.isfunction) if inspect.isclass(thing) else []
    described = [
        f"## {name}.{key}\n\n```text\n{inspect.getdoc(value)}\n```\n"
        for key, value in members
        if not key.startswith("_") and value.__module__.startswith("cordwood")
    ]
    return "\n".join([f"# {name}\n\n```text\n{inspect.getdoc(thing)}\n```\n", *described])


def read(path: Path) -> str:
    return path.read_text(encoding="utf-8")
