import pytest

from cordwood.compare.config.plan import parse_plan
from reproduction.published import PROTOCOLS, SENTIMENT, published

TOPIC = {"20ng", "webkb", "acm", "reut90", "spambase", "med"}
LEARNERS = {"bert", "svm", "broof", "xgboost", "lazy", "nb", "knn", "xt", "lxt", "rf"}


@pytest.mark.parametrize("name", PROTOCOLS)
def test_every_protocol_makes_a_plan(name):
    plan = parse_plan(
        {
            "protocol": name,
            "datasets": [{"name": "docstrings"}],
            "learners": [{"recipe": "svm"}, {"recipe": "nb"}],
        }
    )
    assert plan.datasets[0].text["preset"] == name


def test_both_tables_are_complete():
    figures = PROTOCOLS["sigir17"].figures
    singles = {key: figure for key, figure in figures.items() if "," not in key[1]}
    assert set(singles) == {
        (dataset, learner) for dataset in TOPIC | set(SENTIMENT) for learner in LEARNERS
    }
    for (dataset, _), figure in singles.items():
        assert 0.2 < figure.macro_f1 <= figure.micro_f1 < 1
        assert figure.source == f"SIGIR 2017, table {2 if dataset in SENTIMENT else 1}"


def test_tables_of_stacks_are_complete():
    figures = {key: f for key, f in PROTOCOLS["sigir17"].figures.items() if "," in key[1]}
    stacks = {"stack,rf", "forests,rf", "svm+nb+knn,rf", "svm+bert,rf"}
    combiners = {f"stack,{name}" for name in ("mlr", "templates", "voting", "scann", "vig")}
    assert set(figures) == (
        {(dataset, stack) for dataset in TOPIC | set(SENTIMENT) for stack in stacks}
        | {(dataset, "stack,rf,cv") for dataset in TOPIC}
        | {(dataset, stack) for dataset in TOPIC - {"spambase", "med"} for stack in combiners}
    )


# Corners of both tables, and figures that the paper's text repeats or that stand alone.
@pytest.mark.parametrize(
    ("dataset", "recipe", "micro", "macro"),
    [
        ("20ng", "bert", 89.45, 89.13),
        ("20ng", "rf", 83.64, 83.08),
        ("med", "bert", 83.68, 74.25),
        ("med", "rf", 81.61, 70.41),
        ("webkb", "nb", 62.63, 51.38),
        ("reut90", "svm", 68.19, 31.95),
        ("amazon", "bert", 75.76, 74.16),
        ("amazon", "knn", 69.86, 67.64),
        ("youtube", "bert", 79.85, 76.47),
        ("youtube", "knn", 75.74, 67.27),
        ("myspace", "svm", 86.23, 67.94),
        ("nyt", "xgboost", 61.06, 60.08),
    ],
)
def test_figures_are_in_their_places(dataset, recipe, micro, macro):
    figure = published("sigir17", dataset, recipe)
    assert (figure.micro_f1, figure.macro_f1) == (round(micro / 100, 4), round(macro / 100, 4))


@pytest.mark.parametrize(
    ("recipe", "params", "micro", "table"),
    [
        ("stack", {"combiner": "rf"}, 86.87, 7),
        ("stack", {"combiner": "rf", "classifier__use_oob": False}, 86.85, 4),
        ("stack", {"combiner": "rf", "members": ["svm", "bert"]}, 86.65, 4),
        ("stack", {"combiner": "mlr"}, 85.34, 7),
        ("forests", {"combiner": "rf"}, 86.79, 4),
    ],
)
def test_figures_of_stacks_go_by_members_and_combiner(recipe, params, micro, table):
    figure = published("sigir17", "webkb", recipe, params)
    assert figure.micro_f1 == round(micro / 100, 4)
    assert figure.source == f"SIGIR 2017, table {table}"


@pytest.mark.parametrize(
    "params", [{}, {"combiner": "pool"}, {"combiner": "rf", "members": ["svm", "rf"]}]
)
def test_stacks_that_the_paper_has_not_have_no_figure(params):
    assert published("sigir17", "webkb", "stack", params) is None


def test_the_same_algorithm_by_another_hand_has_the_same_figure():
    assert published("sigir17", "webkb", "sk_rf") == published("sigir17", "webkb", "rf")
    assert published("sigir17", "webkb", "sk_et") == published("sigir17", "webkb", "xt")


def test_what_no_paper_has_is_nothing():
    assert published("sigir17", "ohsumed", "svm") is None
    assert published("sigir15", "webkb", "svm") is None
