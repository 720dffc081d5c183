import xml.etree.ElementTree as ET

import numpy as np
import pytest

pytest.importorskip("matplotlib", reason="the plots of the papers need matplotlib")


from cordwood.exceptions import CordwoodError
from reproduction.canvas import bounding_boxes, measure_axes, new_figure, save, step_line
from reproduction.extra_trees_share import ShareScore, draw_shares


def draw():
    return draw_shares({"set": [ShareScore(0.0, 5, 0.6, 0.5), ShareScore(1.0, 5, 0.8, 0.7)]})


def test_equal_figures_give_equal_files(tmp_path):
    for name in ("one.svg", "two.SVG"):
        save(draw(), tmp_path / name)
    content = (tmp_path / "one.svg").read_bytes()
    assert content == (tmp_path / "two.SVG").read_bytes()
    assert ET.fromstring(content).tag == "{http://www.w3.org/2000/svg}svg"


def test_other_formats_raise(tmp_path):
    with pytest.raises(CordwoodError, match="plot.png: plots are written as SVG"):
        save(draw(), tmp_path / "plot.png")
    assert not list(tmp_path.iterdir())


def test_step_line_of_one_point():
    assert step_line([(3.0, 4.0)]).tolist() == [[3.0, 4.0]]


def test_step_line_keeps_the_score_until_the_next_point():
    found = step_line([(1, 70), (2, 80), (9, 90)])
    assert found.tolist() == [[1, 70], [2, 70], [2, 80], [9, 80], [9, 90]]


def test_bounding_boxes_do_not_depend_on_the_direction():
    starts, ends = np.array([(0, 0), (5, 9), (2, 2)]), np.array([(4, 0), (5, 1), (2, 2)])
    expected = [(-1, -1, 5, 1), (4, 0, 6, 10), (1, 1, 3, 3)]
    assert bounding_boxes(starts, ends, 1) == expected
    assert bounding_boxes(ends, starts, 1) == expected


def test_axes_are_measured_in_pixels():
    figure = new_figure(4, 3)
    frame, scale = measure_axes(figure, figure.add_subplot())
    assert scale == pytest.approx(figure.dpi / 72)
    assert 0 < frame.left < frame.right < 4 * figure.dpi
    assert 0 < frame.bottom < frame.top < 3 * figure.dpi
