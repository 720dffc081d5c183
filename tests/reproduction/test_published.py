from pathlib import Path

import pytest

from cordwood.compare.config.plan import parse_plan
from cordwood.compare.config.schema import LearnerConfig
from reproduction.published import FIGURES, PAPER_NAMES, find_figure, list_figures

PROTOCOLS = Path(__file__).parents[2] / "benchmarks" / "reproduction" / "protocols"
TOPIC = {"20ng", "webkb", "acm", "reut90", "spambase", "med"}
SENTIMENT = {
    *("amazon", "bbc", "debate", "digg", "myspace", "nyt", "tweets", "twitter", "yelp", "youtube"),
}
LEARNERS = {"BERT", "SVM", "BROOF", "XGBoost", "LazyNN_RF", "NB", "KNN", "XT", "LXT", "RF"}


@pytest.mark.parametrize("name", ["icml03", "sigir15", "sigir17"])
def test_every_protocol_is_valid(name):
    plan = parse_plan(
        {
            "protocol": str(PROTOCOLS / f"{name}.toml"),
            "datasets": [{"name": "docstrings"}],
            "learners": [{"recipe": "svm"}, {"recipe": "nb"}],
        }
    )
    assert plan.datasets[0].vectorizer["preset"] == name


@pytest.mark.parametrize("name", ["sigir15", "sigir17"])
def test_sentiment_has_another_preset(name, tmp_path):
    for dataset in SENTIMENT:
        (tmp_path / f"{dataset}.csv").write_text("text,label\na,x\nb,y\n")
    plan = parse_plan(
        {
            "protocol": str(PROTOCOLS / f"{name}.toml"),
            "datasets": [{"name": dataset} for dataset in sorted(SENTIMENT)],
            "learners": [{"recipe": "svm"}],
        },
        data_dir=tmp_path,
    )
    assert {dataset.vectorizer["preset"] for dataset in plan.datasets} == {"social"}


def test_tables_1_and_2_are_complete():
    singles = {key: f for key, f in FIGURES["sigir17"].items() if "," not in key[1]}
    assert set(singles) == {(d, learner) for d in TOPIC | SENTIMENT for learner in LEARNERS}
    for (dataset, _), figure in singles.items():
        assert 0.2 < figure.macro_f1 <= figure.micro_f1 < 1
        assert figure.source == f"SIGIR 2017, table {2 if dataset in SENTIMENT else 1}"


def test_tables_of_stacks_are_complete():
    figures = {key: f for key, f in FIGURES["sigir17"].items() if "," in key[1]}
    stacks = {"stack,rf", "forests,rf", "SVM+NB+KNN,rf", "SVM+BERT,rf"}
    combiners = {f"stack,{name}" for name in ("mlr", "templates", "voting", "scann", "vig")}
    assert set(figures) == (
        {(dataset, stack) for dataset in TOPIC | SENTIMENT for stack in stacks}
        | {(dataset, "stack,rf,cv") for dataset in TOPIC}
        | {(dataset, stack) for dataset in TOPIC - {"spambase", "med"} for stack in combiners}
    )


# Corners of both tables, and scores that the paper's text repeats or that are easily recognized.
@pytest.mark.parametrize(
    ("dataset", "recipe", "micro", "macro"),
    [
        ("20ng", "boosted_et", 89.45, 89.13),
        ("20ng", "rf", 83.64, 83.08),
        ("med", "boosted_et", 83.68, 74.25),
        ("med", "rf", 81.61, 70.41),
        ("webkb", "nb", 62.63, 51.38),
        ("reut90", "svm", 68.19, 31.95),
        ("amazon", "boosted_et", 75.76, 74.16),
        ("amazon", "knn", 69.86, 67.64),
        ("youtube", "boosted_et", 79.85, 76.47),
        ("youtube", "knn", 75.74, 67.27),
        ("myspace", "svm", 86.23, 67.94),
        ("nyt", "xgboost", 61.06, 60.08),
    ],
)
def test_scores_of_single_learners(dataset, recipe, micro, macro):
    figure = find_figure("sigir17", dataset, LearnerConfig(recipe=recipe))
    assert (figure.micro_f1, figure.macro_f1) == (round(micro / 100, 4), round(macro / 100, 4))


@pytest.mark.parametrize(
    ("recipe", "params", "micro", "table"),
    [
        ("stack_sigir17", {"combiner": "rf"}, 86.87, 7),
        ("stack_sigir17", {"combiner": "rf", "classifier__use_oob": False}, 86.85, 4),
        ("stack_sigir17", {"combiner": "rf", "members": ["svm", "boosted_et"]}, 86.65, 4),
        ("stack_sigir17", {"combiner": "mlr"}, 85.34, 7),
        ("stack_forests", {"combiner": "rf"}, 86.79, 4),
    ],
)
def test_scores_of_stacks_depend_on_members_and_combiner(recipe, params, micro, table):
    figure = find_figure("sigir17", "webkb", LearnerConfig(recipe=recipe, params=params))
    assert figure.micro_f1 == round(micro / 100, 4)
    assert figure.source == f"SIGIR 2017, table {table}"


@pytest.mark.parametrize(
    "params", [{}, {"combiner": "pool"}, {"combiner": "rf", "members": ["svm", "rf"]}]
)
def test_stacks_that_the_paper_lacks_have_no_scores(params):
    learner = LearnerConfig(recipe="stack_sigir17", params=params)
    assert find_figure("sigir17", "webkb", learner) is None


@pytest.mark.parametrize(("function", "recipe"), [("random_forest", "rf"), ("extra_trees", "et")])
def test_forests_of_scikit_learn_have_the_scores_of_the_same_algorithm(function, recipe):
    learner = LearnerConfig(estimator=f"../learners.py:{function}")
    expected = find_figure("sigir17", "webkb", LearnerConfig(recipe=recipe))
    assert find_figure("sigir17", "webkb", learner) == expected is not None


def test_other_data_sets_and_protocols_have_no_scores():
    svm = LearnerConfig(recipe="svm")
    assert find_figure("sigir17", "ohsumed", svm) is None
    assert find_figure("sigir15", "webkb", svm) is None
    assert find_figure(None, "webkb", svm) is None
    assert find_figure("sigir17", "webkb", LearnerConfig(estimator="sklearn.svm:SVC")) is None


def test_scores_of_a_plan_have_the_names_of_its_learners():
    plan = parse_plan(
        {
            "protocol": str(PROTOCOLS / "sigir17.toml"),
            "datasets": [{"name": "webkb"}, {"name": "ohsumed"}],
            "learners": [{"recipe": "rf", "name": "forest"}, {"recipe": "quick"}],
        },
        lookup_only=True,
    )
    figures = list_figures(plan)
    assert list(figures) == [("webkb", "forest")]
    assert figures["webkb", "forest"].micro_f1 == 0.8152


def test_paper_names_are_those_of_the_tables():
    assert set(PAPER_NAMES.values()) >= LEARNERS


def test_mixture_of_forests_has_no_published_score():
    mixture = LearnerConfig(recipe="boosted_et", params={"classifier__base": 0.4})
    assert find_figure("sigir17", "webkb", LearnerConfig(recipe="boosted_et")) is not None
    assert find_figure("sigir17", "webkb", mixture) is None
