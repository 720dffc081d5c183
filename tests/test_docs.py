import importlib.util
import inspect
import pkgutil
from importlib import import_module
from pathlib import Path

import pytest

import cordwood
from cordwood.cli.main import COMMANDS, load_command

DOCS = Path(__file__).parents[1] / "docs"


def generator():
    spec = importlib.util.spec_from_file_location("generate_cli", DOCS / "generate_cli.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_page_of_the_command_line_is_current():
    found = (DOCS / "cli.md").read_text(encoding="utf-8")
    assert found == generator().page(), "run: python docs/generate_cli.py"


@pytest.mark.parametrize("name", COMMANDS)
def test_every_option_says_what_it_does_and_is_on_the_page(name):
    page = (DOCS / "cli.md").read_text(encoding="utf-8")
    section = page.partition(f"\n## cordwood {name}\n")[2].partition("\n## ")[0]
    assert COMMANDS[name] in section
    assert f"Example: cordwood {name}" in " ".join(section.split())
    for param in load_command(name).params:
        assert param.help, param.name
        shown = param.opts if param.param_type_name == "option" else [param.metavar]
        assert all(f"`{flag}" in section for flag in shown), param.name


@pytest.mark.parametrize("name", cordwood.__all__)
def test_every_public_name_is_documented(name):
    assert inspect.getdoc(getattr(cordwood, name))


def test_every_module_says_what_it_is_for():
    names = [
        info.name
        for info in pkgutil.walk_packages(cordwood.__path__, "cordwood.")
        if not info.name.endswith("__main__")
    ]
    assert "cordwood.cli.main" in names
    undocumented = [name for name in names if not import_module(name).__doc__]
    assert undocumented == []
