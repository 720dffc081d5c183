import pytest

from reproduction.published import PAPER_NAMES
from reproduction.published_sigir17 import DISAGREEMENT, PARETO_FRONTS, STRATEGY_SECONDS

SIX = ("BERT", "BROOF", "LazyNN_RF", "SVM", "NB", "KNN")


@pytest.mark.parametrize("name", ["webkb", "20ng"])
def test_disagreement_has_all_pairs(name):
    pairs = {(a, b) for a, others in DISAGREEMENT[name].items() for b in others}
    assert pairs == {(a, b) for i, a in enumerate(SIX) for b in SIX[i + 1 :]}


def test_corners_of_table_3():
    assert DISAGREEMENT["webkb"]["BERT"] == {
        "BROOF": "0.12",
        "LazyNN_RF": "0.29",
        "SVM": "0.30",
        "NB": "0.32",
        "KNN": "0.33",
    }
    assert DISAGREEMENT["20ng"]["BROOF"]["KNN"] == "0.42"
    assert DISAGREEMENT["20ng"]["NB"]["KNN"] == "0.39"


def test_table_6_has_the_speedups_of_the_paper():
    assert set(STRATEGY_SECONDS) == {"20ng", "webkb", "reut90"}
    for seconds in STRATEGY_SECONDS.values():
        assert seconds["stack, voting"] < seconds["stack, rf"]
        assert all(2 < s / seconds["stack, rf"] < 3.2 for n, s in seconds.items() if "CV" in n)
    assert STRATEGY_SECONDS["reut90"]["stack, vig, CV"] == 30296


def test_fronts_name_members_of_the_nine():
    names = {PAPER_NAMES[name] for name in ("boosted_et", "boosted_rf", "lazy_rf", "lazy_et")}
    names |= {"SVM", "NB", "KNN", "RF", "XT"}
    for front in PARETO_FRONTS.values():
        assert len(set(front)) == len(front)
        for subset in front:
            assert 2 <= len(set(subset.split()) & names) == len(subset.split())
