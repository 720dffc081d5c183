"""Generate docs/api/index.md from the public names: python docs/generate_api.py.

The names of a package are in its `__all__`; those of `cordwood` itself are listed by that name.
"""

import inspect
from collections.abc import Iterable
from pathlib import Path
from types import ModuleType

import cordwood
from cordwood.stacking import combiners, diversity

PAGE = Path(__file__).with_name("api") / "index.md"

HEADER = """\
# API reference

Every public name, generated from the docstrings by `python docs/generate_api.py`. Names of
`cordwood` can be imported from their package, too. Estimators follow the conventions of
scikit-learn.
"""

# The most used packages; the others follow in alphabetical order.
FIRST = ("classifier", "datasets", "persist")


def page() -> str:
    """Return the page as Markdown."""
    packages = [name for name in cordwood.__all__ if inspect.ismodule(getattr(cordwood, name))]
    order = [*FIRST, *(name for name in packages if name not in FIRST)]
    modules = [getattr(cordwood, name) for name in order]
    where = order.index("stacking") + 1
    modules[where:where] = [combiners, diversity]
    listed: set[str] = set()
    sections = []
    for module in modules:
        names = [name for name in _list_names(module) if name not in listed]
        listed.update(names)
        summary = (inspect.getdoc(module) or "").partition("\n")[0]
        sections.append(_section(module.__name__, summary, names))
    top = (name for name in cordwood.__all__ if name not in packages)
    rest = [f"cordwood.{name}" for name in top if f"cordwood.{name}" not in listed]
    return "\n".join([HEADER, *sections, _section("cordwood", "Clusters and compilation.", rest)])


def _list_names(module: ModuleType) -> list[str]:
    """Return the full names of the classes and functions of a package."""
    things = {name: value for name, value in vars(module).items() if not name.startswith("_")}
    names = getattr(module, "__all__", sorted(things))
    return [
        f"cordwood.{name}" if name in cordwood.__all__ else f"{module.__name__}.{name}"
        for name in names
        if not inspect.ismodule(getattr(module, name))
    ]


def _section(name: str, summary: str, names: Iterable[str]) -> str:
    lines = "\n".join(f"   {name}" for name in names)
    table = f".. autosummary::\n   :toctree: generated\n\n{lines}"
    return f"## {name}\n\n{summary}\n\n```{{eval-rst}}\n{table}\n```\n"


if __name__ == "__main__":
    PAGE.parent.mkdir(exist_ok=True)
    PAGE.write_text(page(), encoding="utf-8", newline="\n")
