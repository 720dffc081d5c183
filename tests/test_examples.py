"""The examples of the gallery run as written, and the gallery lists them."""

import importlib.util
import runpy
from pathlib import Path

import matplotlib
import pytest
from matplotlib import pyplot as plt

ROOT = Path(__file__).parents[1]
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_example_runs_and_prints(path, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    with matplotlib.rc_context():
        matplotlib.use("agg")
        runpy.run_path(str(path))
        plt.close("all")
    assert capsys.readouterr().out
    assert not list(tmp_path.iterdir())


def test_gallery_orders_all_examples():
    file = ROOT / "docs" / "_extensions" / "example_order.py"
    spec = importlib.util.spec_from_file_location("example_order", file)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert sorted(module.ORDER) == [path.stem for path in EXAMPLES]
    assert sorted(module.ORDER, key=lambda name: module.position(f"{name}.py")) == module.ORDER
