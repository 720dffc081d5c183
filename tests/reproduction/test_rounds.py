from xml.etree import ElementTree

from reproduction.rounds import RoundCurve, draw_rounds


def test_round_curves_have_lines_for_test_and_training_samples():
    curves = {
        "ada": RoundCurve((1, 10, 300), (0.5, 0.6, 0.7), (0.5, 0.6, 0.7)),
        "lp": RoundCurve((1, 4), (0.5, 0.6), (0.5, 0.6)),
    }
    svg = draw_rounds("d", "f1", curves).svg
    classes = [node.get("class") for node in ElementTree.fromstring(svg).iter("path")]
    assert classes == ["thin s0", "line s0", "thin s1", "line s1"]
