from itertools import combinations

import numpy as np
import pytest

pytest.importorskip("matplotlib", reason="the plots of the papers need matplotlib")

from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.text import Text

from cordwood.exceptions import CordwoodError
from reproduction.canvas import save
from reproduction.pareto_plot import draw_subsets
from reproduction.subsets import SubsetScore


def make_subset(members, double_fault, macro_f1, micro_f1=0.5):
    return SubsetScore(tuple(members), len(members), double_fault, micro_f1, macro_f1)


SUBSETS = [
    make_subset(["svm", "nb"], 0.10, 0.70),
    make_subset(["rf", "nb"], 0.12, 0.80, micro_f1=0.9),
    make_subset(["rf", "svm"], 0.14, 0.75),
    make_subset(["rf", "svm", "nb"], 0.13, 0.85),
]


def make_many(names="abcdefghi", seed=0):
    """Return all subsets with similar random scores."""
    rng = np.random.default_rng(seed)
    subsets = [s for size in range(2, len(names) + 1) for s in combinations(names, size)]
    return [
        make_subset(subset, fault, 0.9 + 0.2 * fault + 0.01 * rng.random())
        for subset, fault in zip(subsets, 0.05 + 0.02 * rng.random(len(subsets)), strict=True)
    ]


def labels_of(figure):
    """Return the labels of the dots and their bounding boxes in pixels."""
    renderer = FigureCanvasAgg(figure).get_renderer()
    return [(t.get_text(), Text.get_window_extent(t, renderer)) for t in figure.axes[0].texts]


def test_plot_shows_all_subsets_and_the_pareto_front():
    above, _ = draw_subsets(SUBSETS, title="set").axes
    dots, line, front, all_members = (drawn.get_xydata() for drawn in above.lines)
    assert dots == pytest.approx(np.array([[10, 70], [12, 80], [14, 75], [13, 85]]))
    corners = [[10, 70], [12, 70], [12, 80], [13, 80], [13, 85]]
    assert line == pytest.approx(np.array(corners))
    assert front == pytest.approx(np.array([[10, 70], [12, 80], [13, 85]]))
    assert all_members == pytest.approx(np.array([[13, 85]]))
    assert above.get_ylabel() == "macro-F1, %"
    assert above.get_title(loc="left") == "set"


def test_lower_panel_shows_the_members_of_each_number():
    above, below = draw_subsets(SUBSETS).axes
    assert [text.get_text() for text in above.texts] == ["1", "2", "3, all"]
    members = [label.get_text() for label in below.get_yticklabels()]
    assert members == ["svm", "nb", "rf"]
    present = below.lines[1].get_xydata().astype(int).tolist()
    found = [{members[line] for n, line in present if n == number} for number in (1, 2, 3)]
    assert found == [{"svm", "nb"}, {"rf", "nb"}, {"rf", "svm", "nb"}]
    assert below.lines[0].get_xydata().astype(int).tolist() == [[1, 2], [2, 0]]


def test_front_depends_on_the_metric():
    above, _ = draw_subsets(SUBSETS, metric="micro_f1").axes
    assert above.lines[2].get_xydata() == pytest.approx(np.array([[10, 50], [12, 90]]))
    assert [text.get_text() for text in above.texts] == ["1", "2", "all"]
    assert above.get_ylabel() == "micro-F1, %"


def test_diamond_needs_the_subset_of_all_members():
    above, _ = draw_subsets(SUBSETS[:3]).axes
    assert len(above.lines) == 3
    assert [text.get_text() for text in above.texts] == ["1", "2"]


def test_plot_of_a_single_subset():
    above, below = draw_subsets([SUBSETS[3]]).axes
    assert [text.get_text() for text in above.texts] == ["1, all"]
    assert len(below.lines[0].get_xydata()) == 3


def test_labels_of_502_subsets_do_not_overlap():
    figure = draw_subsets(make_many())
    figure.draw_without_rendering()
    labels = labels_of(figure)
    assert len(labels) > 5
    for position, (name, box) in enumerate(labels):
        for other, other_box in labels[:position]:
            assert not box.overlaps(other_box), f"{name!r} hides {other!r}"
    above = figure.axes[0]
    front = above.transData.transform(above.lines[2].get_xydata())
    for name, box in labels:
        assert not any(box.contains(*dot) for dot in front), name


def test_equal_plots_make_equal_files(tmp_path):
    for name in ("one.svg", "two.svg"):
        save(draw_subsets(SUBSETS), tmp_path / name)
    assert (tmp_path / "one.svg").read_bytes() == (tmp_path / "two.svg").read_bytes()


def test_dollar_signs_are_not_math():
    figure = draw_subsets([make_subset([r"$\frac$", "b"], 0.1, 0.7)], title="$x$")
    figure.draw_without_rendering()
    assert figure.axes[1].get_yticklabels()[0].get_text() == r"$\frac$"


def test_invalid_arguments_raise():
    with pytest.raises(CordwoodError, match="subsets must not be empty"):
        draw_subsets([])
    with pytest.raises(CordwoodError, match="metric must be .*; got 'accuracy'"):
        draw_subsets(SUBSETS, metric="accuracy")
