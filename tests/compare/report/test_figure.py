import xml.etree.ElementTree as ET

import numpy as np
import pytest

pytest.importorskip("matplotlib", reason="plots need matplotlib: pip install cordwood[plots]")

from cordwood.compare.report import _figure as canvas
from cordwood.compare.report.plots import draw_round_curves
from cordwood.compare.stats.curves import RoundCurve
from cordwood.exceptions import CordwoodError


def draw_rounds():
    curve = RoundCurve((1, 4), train=(0.6, 0.8), test=(0.5, 0.8))
    return draw_round_curves({"ada": curve, "lp": curve})


@pytest.mark.parametrize("draw", [draw_rounds])
def test_equal_figures_make_equal_files(draw, tmp_path):
    for name in ("one.svg", "two.SVG"):
        canvas.save(draw(), tmp_path / name)
    content = (tmp_path / "one.svg").read_bytes()
    assert content == (tmp_path / "two.SVG").read_bytes()
    assert ET.fromstring(content).tag == "{http://www.w3.org/2000/svg}svg"


def test_other_formats_are_refused(tmp_path):
    with pytest.raises(CordwoodError, match="plot.png: plots are SVG; end the name in .svg"):
        canvas.save(draw_rounds(), tmp_path / "plot.png")
    assert not list(tmp_path.iterdir())


def test_one_point_is_a_front_without_steps():
    assert canvas.steps([(3.0, 4.0)]).tolist() == [[3.0, 4.0]]


def test_steps_go_on_at_the_old_worth_until_the_next_is_paid_for():
    found = canvas.steps([(1, 70), (2, 80), (9, 90)])
    assert found.tolist() == [[1, 70], [2, 70], [2, 80], [9, 80], [9, 90]]


def test_boxes_hold_their_lines_whichever_way_these_go():
    starts, ends = np.array([(0, 0), (5, 9), (2, 2)]), np.array([(4, 0), (5, 1), (2, 2)])
    expected = [(-1, -1, 5, 1), (4, 0, 6, 10), (1, 1, 3, 3)]
    assert canvas.enclose(starts, ends, 1) == expected
    assert canvas.enclose(ends, starts, 1) == expected


def test_the_frame_is_measured_in_pixels_and_a_point_is_an_inch_by_72():
    figure = canvas.new_figure(4, 3)
    frame, scale = canvas.measure(figure, figure.add_subplot())
    assert scale == pytest.approx(figure.dpi / 72)
    assert 0 < frame.left < frame.right < 4 * figure.dpi
    assert 0 < frame.bottom < frame.top < 3 * figure.dpi
