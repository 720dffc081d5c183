import subprocess
import sys

import pytest

from cordwood import recipes
from cordwood.cli import commands
from cordwood.cli.main import COMMANDS, load_command, main

HEAVY = ("numba", "numpy", "pandas", "scipy", "sklearn")


def test_help_imports_nothing_heavy():
    code = (
        "import sys; from cordwood.cli.main import COMMANDS, main\n"
        "for name in COMMANDS: assert main([name, '--help']) == 0\n"
        f"sys.exit(', '.join(sys.modules.keys() & set({HEAVY})) or 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, encoding="utf-8")
    assert (done.returncode, done.stderr) == (0, "")
    assert all(f"Usage: cordwood {name} " in done.stdout for name in COMMANDS)


@pytest.mark.parametrize("command", ["train", "audit", "curve"])
def test_a_missing_column_is_found_before_anything_heavy_is_imported(command, tmp_path):
    path = tmp_path / "data.csv"
    path.write_text("text,label\na,x\nb,y\n", encoding="utf-8")
    code = (
        "import sys; from cordwood.cli.main import main\n"
        "assert main(sys.argv[1:]) == 1\n"
        f"sys.exit(', '.join(sys.modules.keys() & set({HEAVY}) - {{'numpy'}}) or 0)"
    )
    arguments = [command, str(path), "--text", "nosuch"]
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments], capture_output=True, encoding="utf-8"
    )
    assert done.returncode == 0, done.stderr
    assert f'{path} has no column "nosuch"; its columns are: text, label' in done.stderr


def test_recipes_in_the_help_are_complete():
    savable = [name for name in recipes.names() if recipes.find(name).savable]
    expected = {name: recipes.describe(name) for name in savable}
    assert list(commands.SAVABLE_RECIPES.items()) == list(expected.items())
    assert {*commands.SAVABLE_RECIPES, *commands.UNSAVABLE_RECIPES} == set(recipes.names())
    assert commands.DEFAULT_RECIPE == recipes.DEFAULT


@pytest.mark.parametrize("name", COMMANDS)
def test_help_starts_with_the_summary(name, capsys):
    assert main(["--help"]) == 0
    listed = " ".join(capsys.readouterr().out.split())
    assert main([name, "-h"]) == 0
    own = " ".join(capsys.readouterr().out.split())
    assert f"{name} {COMMANDS[name]}" in listed
    assert own.startswith(f"Usage: cordwood {name} [OPTIONS]")
    assert COMMANDS[name] in own


@pytest.mark.parametrize("name", COMMANDS)
def test_command_receives_the_parsed_record(name, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "MODEL").touch()
    (tmp_path / "DATA").mkdir()
    params = [param for param in load_command(name).params if param.required]
    required = [param.metavar for param in params if param.param_type_name == "argument"]
    options = [f"{param.opts[0]}={name}.csv" for param in params if param.metavar not in required]
    received = []
    monkeypatch.setattr(f"cordwood.cli.{name}.{name}", received.append)
    assert main([name, *required, *options, "--json"]) == 0
    (record,) = received
    assert type(record) is commands.RECORDS[name]
    assert record.json is True
    values = [getattr(record, metavar.lower()) for metavar in required]
    # An argument that may be repeated is a list.
    assert [str(*value) if isinstance(value, list) else str(value) for value in values] == required
