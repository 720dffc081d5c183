import json

import pytest

from reproduction.extra_trees_share import draw_shares, read_shares


def record(fold, micro, recipe="boosted_et", **params):
    trial = {"recipe": recipe, "fold": fold, "params": params}
    scores = {"micro_f1": micro, "macro_f1": micro / 2}
    return {"key": f"{recipe}{fold}{params}", "trial": trial, "scores": scores}


@pytest.fixture
def ledgers(tmp_path):
    records = [
        record(0, 0.8, "boosted_rf"),
        record(1, 0.6, "boosted_rf"),
        record(0, 0.82, classifier__base=0.2),
        record(1, 0.64, classifier__base=0.2),
        record(0, 0.9),
        record(1, 0.7),
        record(2, 0.1),  # unfinished: the other shares lack this fold
    ]
    path = tmp_path / "sigir17-extra-trees-webkb.jsonl"
    path.write_text("".join(json.dumps(each) + "\n" for each in records))
    return tmp_path


def test_means_are_over_common_folds(ledgers):
    found = read_shares("webkb", ledgers)
    assert [score.share for score in found] == [0.0, 0.2, 1.0]
    assert [score.micro_f1 for score in found] == pytest.approx([0.7, 0.73, 0.8])
    assert [score.macro_f1 for score in found] == pytest.approx([0.35, 0.365, 0.4])
    assert {score.n_folds for score in found} == {2}


def test_plot_has_a_panel_per_metric(ledgers):
    figure = draw_shares({"WebKB": read_shares("webkb", ledgers)})
    micro, macro = (axes.get_lines()[0] for axes in figure.axes)
    assert micro.get_xdata().tolist() == [0, 20, 100]
    assert micro.get_ydata().tolist() == pytest.approx([70, 73, 80])
    assert macro.get_ydata().tolist() == pytest.approx([35, 36.5, 40])
    assert [axes.get_ylabel() for axes in figure.axes] == ["micro-F1, %", "macro-F1, %"]
