import json

from reproduction.figure_files import add_figures


def test_other_data_sets_are_kept(tmp_path, monkeypatch):
    monkeypatch.setattr("sys.argv", ["/somewhere/combiner_cost.py", "--set", "webkb"])
    add_figures("cost", "webkb", {"ours": "1"}, tmp_path)
    add_figures("cost", "20ng", {"ours": "2"}, tmp_path)
    path = add_figures("cost", "webkb", {"ours": "3"}, tmp_path)
    content = json.loads(path.read_text("utf-8"))
    assert content["webkb"] == {"ours": "3"}
    assert content["20ng"] == {"ours": "2"}
    assert content["runs"]["webkb"]["command"] == "python dev.py bench combiner_cost --set webkb"
    assert set(content["runs"]) == {"webkb", "20ng"}
