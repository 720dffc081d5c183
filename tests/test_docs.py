import ast
import importlib.util
import inspect
import pkgutil
import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

import cordwood
from cordwood import recipes
from cordwood.cli.main import COMMANDS, load_command
from cordwood.recipes._table import COMBINERS

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
README = (ROOT / "README.md").read_text(encoding="utf-8")


def load_script(name):
    spec = importlib.util.spec_from_file_location(name, DOCS / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("name", ["api", "cli", "layers", "limits"])
def test_generated_page_is_current(name):
    module = load_script(f"generate_{name}")
    current = module.PAGE.read_text(encoding="utf-8")
    assert current == module.page(), f"run: python docs/generate_{name}.py"


def test_layer_diagram_lists_every_module():
    listed = re.findall(r"^\| \d* \| `(\w+)` \|", load_script("generate_layers").diagram(), re.M)
    package = Path(cordwood.__file__).parent
    modules = {path.stem for path in package.iterdir() if path.suffix == ".py"}
    packages = {path.parent.name for path in package.glob("*/__init__.py")}
    assert set(listed) == (modules | packages) - {"__init__", "__main__"}


def test_tables_of_the_command_line_page_have_two_columns():
    page = (DOCS / "cli.md").read_text(encoding="utf-8")
    rows = [line for line in page.splitlines() if line.startswith("|")]
    assert all(len(re.findall(r"(?<!\\)\|", row)) == 3 for row in rows)
    assert "`--on-bad-rows raise\\|skip`" in page


@pytest.mark.parametrize("name", COMMANDS)
def test_every_option_is_documented(name):
    page = (DOCS / "cli.md").read_text(encoding="utf-8")
    section = page.partition(f"\n## cordwood {name}\n")[2].partition("\n## ")[0]
    assert COMMANDS[name] in section
    assert f"Example: cordwood {name}" in " ".join(section.split())
    for param in load_command(name).params:
        assert param.help, param.name
        shown = param.opts if param.param_type_name == "option" else [param.metavar]
        escaped = [flag.replace("|", "\\|") for flag in shown]  # in the cell of a table
        assert all(f"`{flag}" in section for flag in escaped), param.name


@pytest.mark.parametrize("name", cordwood.__all__)
def test_every_public_name_has_a_docstring(name):
    assert inspect.getdoc(getattr(cordwood, name))


def test_every_module_has_a_docstring():
    names = [
        info.name
        for info in pkgutil.walk_packages(cordwood.__path__, "cordwood.")
        if not info.name.endswith("__main__")
    ]
    assert "cordwood.cli.main" in names
    # Parsed, not imported: some modules need an extra.
    sources = {
        name: Path(importlib.util.find_spec(name).origin).read_text(encoding="utf-8")
        for name in names
    }
    assert [name for name in names if not ast.get_docstring(ast.parse(sources[name]))] == []


def test_dir_shows_public_names_only():
    assert dir(cordwood) == sorted(cordwood.__all__)
    assert not [name for name in dir(cordwood) if name.startswith("_")]


def test_stub_lists_the_public_names():
    stub = (Path(cordwood.__file__).parent / "__init__.pyi").read_text(encoding="utf-8")
    listed = re.findall(r'^    "(\w+)",$', stub.partition("__all__ = ")[2], re.M)
    assert sorted(listed) == sorted(cordwood.__all__)
    assert (Path(cordwood.__file__).parent / "py.typed").exists()


def test_import_is_lazy():
    code = (
        "import sys, cordwood; assert cordwood.__version__;"
        "dir(cordwood);"
        "heavy = {'numba', 'numpy', 'pandas', 'scipy', 'sklearn', 'typer'};"
        "assert not heavy & sys.modules.keys(), heavy & sys.modules.keys();"
        "assert cordwood.recipes.DEFAULT == 'quick';"
        "assert cordwood.recipes is sys.modules['cordwood.recipes']"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_unknown_attribute_raises():
    with pytest.raises(AttributeError, match="no_such_name"):
        _ = cordwood.no_such_name


def test_quick_start_is_short():
    code = README.partition("## Quick start\n")[2].partition("```python\n")[2].partition("```")[0]
    assert 5 < len(code.splitlines()) <= 14


def test_readme_has_the_commands_for_a_clone():
    section = README.partition("## Run from a clone\n")[2]
    assert "```\npython3 dev.py demo\n```" in section
    assert "```\npython3 dev.py test\n```" in section


@pytest.mark.parametrize(
    "page", ["README.md", "CONTRIBUTING.md", "CHANGELOG.md", "docs/glossary.md"]
)
def test_links_to_files_exist(page):
    text = (ROOT / page).read_text(encoding="utf-8")
    links = [link for link in re.findall(r"\]\(([^)#]+)[^)]*\)", text) if "://" not in link]
    missing = [link for link in links if not (ROOT / page).parent.joinpath(link).exists()]
    assert not missing


def test_glossary_names_existing_classes_and_recipes():
    table = (DOCS / "glossary.md").read_text(encoding="utf-8").partition("| paper |")[2]
    rows = [line.split(" | ") for line in table.splitlines() if line.startswith("| ")]
    assert len(rows) >= 12
    for _, classes, names in rows:
        for name in re.findall(r"`(\w+)[(`]", classes):
            homes = (cordwood, cordwood.naive_bayes, import_module("cordwood.stacking.combiners"))
            assert any(hasattr(home, name) for home in homes), name
        for name in re.findall(r"(?<!=)`(\w+)`", names):
            assert name in recipes.names(), name
        for name in re.findall(r'"(\w+)"', names):
            assert name in COMBINERS, name
