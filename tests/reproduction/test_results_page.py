import csv
import itertools
import json
import shutil
from dataclasses import replace
from pathlib import Path
from statistics import fmean, stdev

import pytest

import results
from cordwood.compare.config.plan import load_plan
from cordwood.compare.config.schema import LearnerConfig
from cordwood.compare.report.rendering import format_markdown_table
from cordwood.compare.runner.ledger import Ledger
from cordwood.compare.runner.run import run
from cordwood.compare.stats.comparison import compare
from cordwood.exceptions import CordwoodError
from reproduction.factorial import factorial_effects
from reproduction.published import find_figure
from reproduction.results_page import (
    _category_grid,
    format_effect,
    list_pictures,
    make_page,
    write_pictures,
)

REPRODUCTION = Path(results.__file__).parent / "reproduction"
SETS = ("webkb", "yelp")
WORDS = {"a": "iron zinc tin copper", "b": "gull wren owl robin", "c": "iron wren plum owl"}

PLAN = f"""
name = "Pages: small"
protocol = {json.dumps(str(REPRODUCTION / "protocols" / "sigir17.toml"))}
evaluation = {{folds = 3}}
vectorizer = {{min_df = 1}}
datasets = [{{name = "webkb"}}, {{name = "yelp"}}]

[[learners]]
recipe = "nb"
grid = {{alpha = [0.1, 1.0]}}

[[learners]]
name = "forest"
recipe = "rf"
params = {{n_estimators = 5}}
"""
LATER = """
[[learners]]
recipe = "knn"

[[learners]]
estimator = "sklearn.ensemble:AdaBoostClassifier"
name = "ada"
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
def folder(tmp_path_factory):
    """Return the folder of a plan that was run, except for one trial and two learners."""
    root = tmp_path_factory.mktemp("results")
    plans, ledgers, data = (root / name for name in ("plans", "ledgers", "data"))
    for path in (plans, ledgers, data):
        path.mkdir()
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
    (root / "explanations.toml").write_text(EXPLANATIONS)
    return root


def is_last_forest(line):
    return '"dataset":"yelp","learner":"forest","repeat":0,"fold":2' in line


@pytest.fixture
def page(folder, monkeypatch):
    monkeypatch.delenv("CORDWOOD_DATA", raising=False)
    return make_page("# Head\n", folder, links="../plans")


def table_of(text, title):
    """Return the rows of the first table under a title."""
    lines = text.partition(f"\n## {title}\n")[2].splitlines()
    lines = itertools.dropwhile(lambda line: not line.startswith("|"), lines)
    rows = itertools.takewhile(lambda line: line.startswith("|"), lines)
    return [[cell.strip() for cell in row.strip("|").split("|")] for row in rows]


def test_scores_are_those_of_the_records(page, folder):
    records = Ledger(folder / "ledgers" / "small.jsonl").records()
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
        recipe = {"forest": "rf", "ada": "quick"}.get(row[1], row[1])
        figure = find_figure("sigir17", dataset, LearnerConfig(recipe=recipe))
        for column, metric in ((2, "micro_f1"), (5, "macro_f1")):
            paper = None if figure is None else 100 * getattr(figure, metric)
            assert row[column + 1] == ("" if paper is None else f"{paper:.2f}")
            if not own:
                assert (row[column], row[column + 2]) == ("not run", "")
                continue
            scores = [100 * record["scores"][metric] for record in own]
            expected = f"{fmean(scores):.2f} ± {stdev(scores):.2f}"
            expected += " (2 of 3)" if len(own) == 2 else ""
            assert row[column].replace("*", "") == expected
            difference = float(row[column + 2].replace("\N{MINUS SIGN}", "-"))
            assert difference == pytest.approx(fmean(scores) - paper, abs=0.011)
            checked += 1
    assert checked == 2 * 2 * len(SETS)
    assert [row[1] for row in rows] == ["nb", "forest", "knn", "ada"] * 2


def test_section_describes_the_methods(page, folder):
    section = page.text.partition("\n## Pages: small\n")[2].partition("\n## ")[0]
    records = Ledger(folder / "ledgers" / "small.jsonl").records()
    assert "[`small.toml`](../plans/small.toml)" in section
    assert "(protocol `sigir17`): 3 stratified folds; seed 42" in section
    assert "Tuning: nb, by micro-F1 in 5 folds of the training set" in section
    assert "Vectorizer of webkb: preset `sigir17`, min_df `1`" in section
    assert "Vectorizer of yelp: preset `social`, min_df `1`" in section
    assert "SIGIR 2017, table 1, SIGIR 2017, table 2" in section
    assert "Run: 11 of 24 trials, " in section
    assert f"scikit-learn {records[0]['versions']['scikit-learn']}" in section
    assert records[0]["time"][:10] in section


def test_cpu_time_is_the_sum_over_trials(page, folder):
    records = Ledger(folder / "ledgers" / "small.jsonl").records()
    parts = ("tune_cpu_seconds", "fit_cpu_seconds", "predict_cpu_seconds")
    total = sum(record[part] for record in records for part in parts)
    assert total < 60
    assert f"| 2 | 4 | 11 of 24 | {total:.0f} s |" in page.text


def test_plan_without_ledger_is_marked_as_not_run(page):
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
    assert [explanation.text for explanation in page.unused] == ["Never needed."]


def test_means_and_ranks_are_over_complete_data_sets(page):
    # yelp lacks a trial of the forest.
    assert "mean micro-F1" not in page.text


def test_page_is_deterministic(page, folder):
    assert make_page("# Head\n", folder, links="../plans").text == page.text
    assert page.text.startswith("# Head\n\nScores are percentages")
    assert page.text.endswith("\n") and not page.text.endswith("\n\n")


def test_failures_are_reported(folder, tmp_path):
    shutil.copytree(folder / "plans", tmp_path / "plans")
    ledger = Ledger(tmp_path / "ledgers" / "small.jsonl")
    for record in Ledger(folder / "ledgers" / "small.jsonl").records():
        if record["trial"]["learner"] == "nb" and record["trial"]["dataset"] == "webkb":
            kept = ("key", "trial", "data", "versions", "time")
            record = {name: record[name] for name in kept} | {"error": "ValueError: a|b"}
        ledger.append(record)
    text = make_page("", tmp_path, links=".").text
    assert "Failed in 3 trials: nb on webkb: ValueError: a\\|b" in text
    assert "8 of 24 (3 failed)" in text
    assert "(0 of 3, 3 failed)" in text


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ("[[explanations]]\ntext = 'x'", "explanation 1: set at least one of plan,"),
        ("[[explanations]]\nplan = 'x'", "explanation 1: text: Field required"),
        ("[[explanations]]\nplan = 'x'\ntext = ' '", "explanation 1: text is empty"),
        ("[[explanations]]\nplan = 'x'\ntext = 'y'\nset = 'z'", "explanation 1: set: Extra inputs"),
        ("[[explanation]]\nplan = 'x'\ntext = 'y'", "may only contain tables [[explanations]]"),
        ("[[explanations]", "is not valid TOML"),
    ],
)
def test_invalid_explanations_raise(tmp_path, content, sentence):
    (tmp_path / "explanations.toml").write_text(content)
    with pytest.raises(CordwoodError, match=r"explanations\.toml") as caught:
        make_page("", tmp_path, links="")
    assert sentence in str(caught.value)


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ("[absent]\nfactors = ['a']", "there is no plan absent.toml"),
        ("[small]\nfactor = ['a']", "[small] must have the key factors and no other"),
        ("[small]\nfactors = ['depth']", "exactly one learner must have depth = false"),
        ("[small", "is not valid TOML"),
    ],
)
def test_invalid_designs_raise(folder, tmp_path, content, sentence):
    shutil.copytree(folder / "plans", tmp_path / "plans")
    (tmp_path / "designs.toml").write_text(content)
    with pytest.raises(CordwoodError) as caught:
        make_page("", tmp_path, links="")
    assert sentence in str(caught.value)


def test_page_without_differences(tmp_path):
    assert make_page("# Head", tmp_path, links="").text.endswith("There are none.\n")


@pytest.fixture(scope="module")
def current():
    """Return the page of all plans of the repository."""
    if not (REPRODUCTION / "ledgers").exists():
        pytest.skip("a source distribution has no ledgers")
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("CORDWOOD_DATA", raising=False)
        # Plans compare with packages that not every computer has; the page must not depend on them.
        patch.setattr("cordwood.recipes._table.import_module", fail_to_import)
        return results.make_results_page()


def test_results_page_is_current(current):
    assert current.text == results.TARGET.read_text(encoding="utf-8"), "run: python dev.py results"
    assert current.unused == ()


def test_page_of_claims_is_current(current):
    page = results.make_page_of_claims(current.sections)
    assert page == results.CLAIMS.read_text(encoding="utf-8"), "run: python dev.py results"


def fail_to_import(module):
    raise ModuleNotFoundError(module)


def test_every_ledger_belongs_to_a_plan():
    plans = {path.stem for path in (REPRODUCTION / "plans").glob("*.toml")}
    assert len(plans) > 20
    assert {path.stem for path in (REPRODUCTION / "ledgers").glob("*.jsonl")} <= plans


RARE = f"""
name = "Rare"
protocol = {json.dumps(str(REPRODUCTION / "protocols" / "icml03.toml"))}
metric = "f1"
vectorizer = {{min_df = 1}}
evaluation = {{kind = "holdout"}}
options = {{rounds = [1, 3]}}
datasets = [{{name = "webkb", categories = ["a", "b", "c"]}}]

[[learners]]
recipe = "adauboost"

[[learners]]
recipe = "nb"
"""


@pytest.fixture(scope="module")
def rare(folder, tmp_path_factory):
    """Return the page of a plan with categories, and its records."""
    root = tmp_path_factory.mktemp("rare")
    (root / "plans").mkdir()
    (root / "plans" / "rare.toml").write_text(RARE)
    data = folder / "data"
    ledger = Ledger(root / "ledgers" / "rare.jsonl")
    run(load_plan(root / "plans" / "rare.toml", data_dir=data), ledger, data_dir=data)
    page = make_page("# Head\n", root, links="../plans", pictures="drawn")
    return page, ledger.records()


def test_table_of_categories_by_learners(rare):
    page, records = rare
    header, _, *rows = table_of(page.text, "Rare")
    assert header == ["category", "adauboost", "nb"]
    records_of = {(r["trial"]["dataset"], r["trial"]["learner"]): r for r in records}
    for name, *scores in rows[:3]:
        for learner, text in zip(header[1:], scores, strict=True):
            f1 = records_of[name, learner]["scores"]["f1"]
            assert text.strip("*") == f"{100 * f1:.2f}"
    named = {row[0]: row[1:] for row in rows[3:]}
    assert list(named) == ["mean, 3 of 3", "average rank", "features used, median"]
    mean = fmean(records_of[name, "nb"]["scores"]["f1"] for name in "abc")
    assert named["mean, 3 of 3"][1] == f"{100 * mean:.2f}"
    n_words = sorted(records_of[name, "adauboost"]["n_words"] for name in "abc")[1]
    assert named["features used, median"] == [str(n_words), ""]


def test_more_learners_than_categories_are_in_rows(rare):
    (section,) = rare[0].sections
    records = [{**record, "trial": {**record["trial"]}} for record in section.summary.records]
    few = [record for record in records if record["trial"]["dataset"] == "a"]
    header, *rows = table_of(
        "\n## x\n" + format_markdown_table(_category_grid(compare(few), {})), "x"
    )
    assert header == ["learner", "a", "mean, 1 of 1", "average rank", "features used, median"]
    assert [row[0] for row in rows[1:]] == ["adauboost", "nb"]


def test_page_links_the_plots(rare, tmp_path):
    page, _ = rare
    written = write_pictures(page.sections, tmp_path / "drawn")
    assert [path.name for path in written] == [f"rare-{name}-f1-rounds.svg" for name in "abc"]
    for path in written:
        assert path.exists()
        assert f"(drawn/{path.name})" in page.text


def test_page_without_curves_has_no_plots(page):
    assert "![" not in page.text
    assert [p for section in page.sections for p in list_pictures(section)] == []


def test_effects_are_shown_as_fractions_and_points():
    # Jain's example has the mean 40 and the effects 20, 10 and 5.
    found = factorial_effects([[[15], [25]], [[45], [75]]], ["memory", "cache"])
    shown = [format_effect(replace(e, low=e.effect - 1, high=e.effect + 1)) for e in found.effects]
    assert shown == ["76% (+4000.00 ± 200.00)", "19% (+2000.00 ± 200.00)", "5% (+1000.00 ± 200.00)"]
    worse = replace(found.effects[0], effect=-0.01, low=-0.015, high=-0.005)
    assert format_effect(worse) == "76% (\N{MINUS SIGN}2.00 ± 1.00)"
