import csv
import importlib.util
import itertools
from dataclasses import replace
from pathlib import Path
from statistics import fmean, stdev

import pytest

from cordwood.compare.config.plan import load_plan
from cordwood.compare.report.rendering import format_markdown_table
from cordwood.compare.runner.ledger import Ledger
from cordwood.compare.runner.run import run
from cordwood.compare.stats.comparison import compare
from cordwood.exceptions import CordwoodError
from reproduction.factorial import factorial_effects
from reproduction.published import published
from reproduction.results_page import (
    _category_grid,
    _draw_effect,
    list_pictures,
    make_page,
)

ROOT = Path(__file__).parents[2]
SETS = ("webkb", "yelp")
WORDS = {"a": "iron zinc tin copper", "b": "gull wren owl robin", "c": "iron wren plum owl"}

PLAN = """
name = "Pages: small"
protocol = "sigir17"
evaluation = {folds = 3}
text = {min_df = 1}
datasets = [{name = "webkb"}, {name = "yelp"}]

[[learners]]
recipe = "nb"
grid = {alpha = [0.1, 1.0]}

[[learners]]
name = "forest"
recipe = "rf"
params = {n_estimators = 5}
"""
LATER = """
[[learners]]
recipe = "knn"

[[learners]]
recipe = "ada"
"""
EXPLANATIONS = """
[[explanations]]
dataset = "webkb"
text = "Other pages."

[[explanations]]
dataset = "webkb"
learner = "nb"
text = '''
Fewer
words.'''

[[explanations]]
learner = "knn"
text = "Never needed."
"""


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    """Plans and ledgers of a plan that was run, but for a unit and two learners."""
    root = tmp_path_factory.mktemp("results")
    plans, ledgers, data = (root / name for name in ("plans", "ledgers", "data"))
    for folder in (plans, ledgers, data):
        folder.mkdir()
    for number, name in enumerate(SETS):
        with open(data / f"{name}.csv", "w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file)
            writer.writerow(["text", "label"])
            for row in range(60 + number):
                label = "abc"[row % 3]
                words = WORDS[label].split()
                writer.writerow([f"{words[row % 4]} {words[row % 3]}", label])
    plan, ledger = plans / "small.toml", ledgers / "small.jsonl"
    plan.write_text(PLAN)
    run(load_plan(plan, data_dir=data), Ledger(ledger), data_dir=data)
    lines = ledger.read_text().splitlines(keepends=True)
    ledger.write_text("".join(line for line in lines if not is_last_forest(line)))
    plan.write_text(PLAN + LATER)
    (plans / "unrun.toml").write_text(PLAN.replace("Pages: small", "Not begun"))
    (plans / "explanations.toml").write_text(EXPLANATIONS)
    return plans, ledgers


def is_last_forest(line):
    return '"dataset":"yelp","learner":"forest","repeat":0,"fold":2' in line


@pytest.fixture
def page(folders, monkeypatch):
    monkeypatch.delenv("CORDWOOD_DATA", raising=False)
    return make_page("# Head\n", *folders, links="../plans")


def table_of(text, title):
    """Give the rows of the first table under a title."""
    lines = text.partition(f"\n## {title}\n")[2].splitlines()
    lines = itertools.dropwhile(lambda line: not line.startswith("|"), lines)
    rows = itertools.takewhile(lambda line: line.startswith("|"), lines)
    return [[cell.strip() for cell in row.strip("|").split("|")] for row in rows]


def test_figures_are_those_of_the_records(page, folders):
    records = Ledger(folders[1] / "small.jsonl").records()
    header, _, *rows = table_of(page.text, "Pages: small")
    assert header[:5] == ["data set", "learner", "micro-F1", "paper", "difference"]
    assert header[5:8] == ["macro-F1", "paper", "difference"]
    dataset = ""
    checked = 0
    for row in rows:
        dataset = row[0] or dataset
        own = [
            record
            for record in records
            if (record["trial"]["dataset"], record["trial"]["learner"]) == (dataset, row[1])
        ]
        recipe = {"forest": "rf"}.get(row[1], row[1])
        figure = published("sigir17", dataset, recipe)
        for column, metric in ((2, "micro_f1"), (5, "macro_f1")):
            paper = None if figure is None else 100 * getattr(figure, metric)
            assert row[column + 1] == ("" if paper is None else f"{paper:.2f}")
            if not own:
                assert (row[column], row[column + 2]) == ("not run", "")
                continue
            scores = [100 * record["scores"][metric] for record in own]
            told = f"{fmean(scores):.2f} ± {stdev(scores):.2f}"
            told += " (2 of 3)" if len(own) == 2 else ""
            assert row[column].replace("*", "") == told
            difference = float(row[column + 2].replace("\N{MINUS SIGN}", "-"))
            assert difference == pytest.approx(fmean(scores) - paper, abs=0.011)
            checked += 1
    assert checked == 2 * 2 * len(SETS)
    assert [row[1] for row in rows] == ["nb", "forest", "knn", "ada"] * 2


def test_a_section_says_how_it_was_made(page, folders):
    section = page.text.partition("\n## Pages: small\n")[2].partition("\n## ")[0]
    records = Ledger(folders[1] / "small.jsonl").records()
    assert "[`small.toml`](../plans/small.toml)" in section
    assert "(protocol `sigir17`): 3 stratified folds; seed 42" in section
    assert "Tuning: nb, by micro-F1 in 5 folds of the training rows" in section
    assert "Text of webkb: preset `sigir17`, min_df `1`" in section
    assert "Text of yelp: preset `social`, min_df `1`" in section
    assert "SIGIR 2017, table 1, SIGIR 2017, table 2" in section
    assert "Run: 11 of 24 units, " in section
    assert f"scikit-learn {records[0]['versions']['scikit-learn']}" in section
    assert records[0]["time"][:10] in section


def test_processor_time_is_the_sum_over_units(page, folders):
    records = Ledger(folders[1] / "small.jsonl").records()
    parts = ("tune_cpu_seconds", "fit_cpu_seconds", "predict_cpu_seconds")
    total = sum(record[part] for record in records for part in parts)
    assert total < 60
    assert f"| 2 | 4 | 11 of 24 | {total:.0f} s |" in page.text


def test_what_was_not_run_says_so(page):
    section = page.text.partition("\n## Not begun\n")[2].partition("\n## ")[0]
    assert "- Not run" in section
    assert "|" not in section
    assert "[Not begun](#not-begun) | 2 | 2 | 0 of 12 | 0 s |" in page.text


def test_large_differences_are_explained_or_open(page):
    title = "Differences of more than 2 points from a paper"
    _, _, *rows = table_of(page.text, title)
    _, _, *results = table_of(page.text, "Pages: small")
    large = [
        row[column]
        for column in (4, 7)
        for row in results
        if row[column] and abs(float(row[column].replace("\N{MINUS SIGN}", "-"))) > 2
    ]
    assert sorted(row[6] for row in rows) == sorted(large)
    numbers = {"Other pages.": "", "Fewer words.": ""}
    for line in page.text.partition(title)[2].splitlines():
        for text in numbers:
            if line.endswith(f". {text}"):
                numbers[text] = f"({line.partition('.')[0]})"
    why = {("webkb", "nb"): numbers["Fewer words."], ("webkb", "forest"): numbers["Other pages."]}
    for row in rows:
        assert row[7] == why.get((row[1], row[2]), "open")
    assert page.n_open == sum(row[7] == "open" for row in rows) > 0
    assert [explanation.text for explanation in page.idle] == ["Never needed."]


def test_means_and_ranks_are_over_complete_data_sets(page):
    # yelp lacks a unit of the forest.
    assert "mean micro-F1" not in page.text


def test_the_same_results_make_the_same_page(page, folders):
    assert make_page("# Head\n", *folders, links="../plans").text == page.text
    assert page.text.startswith("# Head\n\nScores are percentages")
    assert page.text.endswith("\n") and not page.text.endswith("\n\n")


def test_failures_are_told(folders, tmp_path):
    plans, ledgers = folders
    ledger = Ledger(tmp_path / "small.jsonl")
    for record in Ledger(ledgers / "small.jsonl").records():
        if record["trial"]["learner"] == "nb" and record["trial"]["dataset"] == "webkb":
            kept = ("key", "trial", "data", "versions", "time")
            record = {name: record[name] for name in kept} | {"error": "ValueError: a|b"}
        ledger.append(record)
    text = make_page("", plans, tmp_path, links=".").text
    assert "Failed in 3 units: nb on webkb: ValueError: a\\|b" in text
    assert "8 of 24 (3 failed)" in text
    assert "(0 of 3, 3 failed)" in text


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ("[[explanations]]\ntext = 'x'", "explanation 1: it names no place; give it one of plan,"),
        ("[[explanations]]\nplan = 'x'", "explanation 1: text: Field required"),
        ("[[explanations]]\nplan = 'x'\ntext = ' '", "explanation 1: its text is empty"),
        ("[[explanations]]\nplan = 'x'\ntext = 'y'\nset = 'z'", "explanation 1: set: Extra inputs"),
        ("[[explanation]]\nplan = 'x'\ntext = 'y'", "nothing but tables called"),
        ("[[explanations]", "is not TOML"),
    ],
)
def test_faulty_explanations_are_named(tmp_path, content, sentence):
    (tmp_path / "explanations.toml").write_text(content)
    with pytest.raises(CordwoodError, match=r"explanations\.toml") as caught:
        make_page("", tmp_path, tmp_path, links="")
    assert sentence in str(caught.value)


def test_no_differences_are_said_to_be_none(tmp_path):
    assert make_page("# Head", tmp_path, tmp_path, links="").text.endswith("There are none.\n")


def test_the_page_of_results_is_current():
    if not list((ROOT / "benchmarks" / "plans").glob("*.toml")):
        pytest.skip("there are no plans here")
    for package in ("lightgbm", "xgboost"):
        pytest.importorskip(package, reason=f"plans compare with {package}, which is not installed")
    spec = importlib.util.spec_from_file_location("results", ROOT / "benchmarks" / "results.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    found = module.TARGET.read_text(encoding="utf-8")
    assert found == module.page().text, "run: python dev.py results"


RARE = """
name = "Rare"
protocol = "icml03"
metric = "f1"
text = {min_df = 1}
evaluation = {kind = "holdout", rounds = [1, 3]}
datasets = [{name = "webkb", categories = ["a", "b", "c"]}]

[[learners]]
recipe = "adauboost"

[[learners]]
recipe = "nb"
"""


@pytest.fixture(scope="module")
def rare(folders, tmp_path_factory):
    """The page of a plan of categories, and its records."""
    plans, ledgers = (tmp_path_factory.mktemp(name) for name in ("plans", "ledgers"))
    (plans / "rare.toml").write_text(RARE)
    data = folders[0].parent / "data"
    ledger = Ledger(ledgers / "rare.jsonl")
    run(load_plan(plans / "rare.toml", data_dir=data), ledger, data_dir=data)
    page = make_page("# Head\n", plans, ledgers, links="../plans", pictures="drawn")
    return page, ledger.records()


def test_categories_and_learners_are_laid_out_crosswise(rare):
    page, records = rare
    header, _, *rows = table_of(page.text, "Rare")
    assert header == ["category", "adauboost", "nb"]
    places = {(r["trial"]["dataset"], r["trial"]["learner"]): r for r in records}
    for name, *scores in rows[:3]:
        for learner, text in zip(header[1:], scores, strict=True):
            f1 = places[name, learner]["scores"]["f1"]
            assert text.strip("*") == f"{100 * f1:.2f}"
    named = {row[0]: row[1:] for row in rows[3:]}
    assert list(named) == ["mean, 3 of 3", "average rank", "words, median"]
    mean = fmean(places[name, "nb"]["scores"]["f1"] for name in "abc")
    assert named["mean, 3 of 3"][1] == f"{100 * mean:.2f}"
    n_words = sorted(places[name, "adauboost"]["n_words"] for name in "abc")[1]
    assert named["words, median"] == [str(n_words), ""]


def test_more_learners_than_categories_go_downwards(rare):
    (section,) = rare[0].sections
    records = [{**record, "trial": {**record["trial"]}} for record in section.summary.records]
    few = [record for record in records if record["trial"]["dataset"] == "a"]
    header, *rows = table_of("\n## x\n" + format_markdown_table(_category_grid(compare(few))), "x")
    assert header == ["learner", "a", "mean, 1 of 1", "average rank", "words, median"]
    assert [row[0] for row in rows[1:]] == ["adauboost", "nb"]


def test_the_page_shows_the_pictures_that_are_drawn(rare, tmp_path):
    gallery = pytest.importorskip("cordwood.compare.report.write_plots")
    page, _ = rare
    written = gallery.write_pictures(page.sections, tmp_path / "drawn")
    assert [path.name for path in written] == [f"rare-{name}-f1-rounds.svg" for name in "abc"]
    for path in written:
        assert path.exists()
        assert f"(drawn/{path.name})" in page.text


def test_pages_without_curves_have_no_pictures(page):
    assert "![" not in page.text
    assert [p for section in page.sections for p in list_pictures(section)] == []


def test_effects_are_told_as_shares_and_as_points():
    # Jain's example: 15, 45, 25 and 75 are 40, and 20, 10 and 5 to either side of it.
    found = factorial_effects([[[15], [25]], [[45], [75]]], ["memory", "cache"])
    told = [_draw_effect(replace(e, low=e.effect - 1, high=e.effect + 1)) for e in found.effects]
    assert told == ["76% (+4000.00 ± 200.00)", "19% (+2000.00 ± 200.00)", "5% (+1000.00 ± 200.00)"]
    worse = replace(found.effects[0], effect=-0.01, low=-0.015, high=-0.005)
    assert _draw_effect(worse) == "76% (\N{MINUS SIGN}2.00 ± 1.00)"
