import gzip
import json

import pytest

from cordwood.cli.main import main


@pytest.fixture(autouse=True)
def in_own_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = b"text,label\n" + b"good food,a\nbad soup,b\n" * 4
    (tmp_path / "rows.csv.gz").write_bytes(gzip.compress(rows))
    (tmp_path / "rows.svm").write_bytes(b"1 1:1\n2 2147483646:1\n" * 4)


def train(data, *options):
    return main(["train", data, "-o", "model.cordwood", "--recipe", "nb", "--json", *options])


@pytest.mark.parametrize(
    ("data", "options", "message"),
    [
        ("rows.csv.gz", ("--max-bytes", "50"), "more than 50 bytes after decompression"),
        ("rows.csv.gz", ("--max-row-length", "11"), "line 2: the row has more than 11 characters"),
        ("rows.svm", ("--n-features", "9"), "feature 2147483646 is out of range for 9 features"),
        ("rows.csv.gz", ("--n-features", "9"), "n_features applies to svmlight files only"),
    ],
)
def test_limits_of_files_are_options(data, options, message, capsys):
    assert train(data, *options) == 1
    assert message in capsys.readouterr().err
    assert train(data) == 0
    assert json.loads(capsys.readouterr().out)["n_samples"] == 8


@pytest.mark.parametrize("option", ["--max-bytes", "--max-row-length", "--n-features"])
def test_limits_do_not_apply_to_named_data_sets(option, capsys):
    assert train("dataset:sklearn:iris", option, "9") == 2
    assert f"{option} does not apply to dataset:sklearn:iris" in capsys.readouterr().err


@pytest.mark.parametrize("option", ["--max-bytes", "--max-row-length"])
def test_limits_apply_to_quick_comparisons(option, capsys):
    assert main(["compare", "--quick", "rows.csv.gz", option, "1"]) == 1
    assert "more than 1 " in capsys.readouterr().err
