import csv
import json
import math
from statistics import fmean

import numpy as np
import pytest
from scipy import stats

from cordwood.compare.config.plan import load_plan
from cordwood.compare.runner.ledger import Ledger
from cordwood.compare.runner.run import run
from cordwood.exceptions import CordwoodError
from reproduction.claim_figures import Figures
from reproduction.claims import load_paper
from reproduction.claims_page import make_claims_page
from reproduction.results_page import make_page

SETS = ("webkb", "yelp")
PLAN = """
name = "Small"
evaluation = {folds = 3, train_fractions = [0.5, 1.0]}
vectorizer = {min_df = 1}
datasets = [{name = "webkb"}, {name = "yelp"}]

[[learners]]
recipe = "nb"

[[learners]]
name = "nearest, 1"
recipe = "knn"
params = {n_neighbors = 1}
"""
OTHER = """
name = "Other"
evaluation = {folds = 3}
vectorizer = {min_df = 1}
datasets = [{name = "webkb"}]

[[learners]]
recipe = "svm"
"""
NEVER_RUN = PLAN.replace('"Small"', '"Never run"')
PAPER = """
title = "A paper"
source = "By its authors."

[lists]
both = "small; other"

[[claims]]
place = "table 1"
claim = "Naive Bayes is good."
found = "It has {mean | small | * | nb}."
verdict = "holds"
why = "As {value | sizes | rows} rows show."

[[claims]]
place = "table 2"
claim = "So are others."
found = "SVM {mean | @both | webkb | svm | micro_f1}."
verdict = "not tested"

[[tables]]
title = "Means"
text = "All of them."
header = ["learner", "mean"]
items = ["nb", "nearest, 1"]
row = ["{item}", "{mean | small | webkb | {item} | macro_f1}"]
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Return the folder of two plans that were run and of one that was not."""
    root = tmp_path_factory.mktemp("claims")
    for name in ("plans", "ledgers", "data", "claims", "figures"):
        (root / name).mkdir()
    words = {"a": "iron zinc tin copper", "b": "gull wren owl robin", "c": "iron wren plum owl"}
    random = np.random.default_rng(0)
    for name in SETS:
        with open(root / "data" / f"{name}.csv", "w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file)
            writer.writerow(["text", "label"])
            for label in random.choice(list("abc"), 60):
                writer.writerow([" ".join(random.choice(words[label].split(), 2)), label])
    for name, text in (("small", PLAN), ("other", OTHER), ("never", NEVER_RUN)):
        plan = root / "plans" / f"{name}.toml"
        plan.write_text(text)
        if name != "never":
            ledger = Ledger(root / "ledgers" / f"{name}.jsonl")
            run(load_plan(plan, data_dir=root / "data"), ledger, data_dir=root / "data")
    (root / "claims" / "paper.toml").write_text(PAPER)
    (root / "figures" / "sizes.json").write_text(json.dumps({"rows": 1234, "by": {"a": "about 3"}}))
    return root


@pytest.fixture(scope="module")
def sections(folder):
    return make_page("", folder, links="").sections


@pytest.fixture(scope="module")
def figures(folder, sections):
    return Figures(sections, folder / "figures")


def read_scores(folder, dataset, learner, metric="micro_f1", fraction=1.0, plan="small"):
    records = Ledger(folder / "ledgers" / f"{plan}.jsonl").records()
    trials = [(record["trial"], record) for record in records]
    return np.array(
        [
            record["scores"][metric]
            for trial, record in sorted(trials, key=lambda pair: pair[0]["fold"])
            if (trial["dataset"], trial["learner"]) == (dataset, learner)
            and trial["train_fraction"] == fraction
        ]
    )


def test_means_are_those_of_the_records(figures, folder):
    micro, macro = (
        100 * read_scores(folder, "webkb", "nearest, 1", metric).mean()
        for metric in ("micro_f1", "macro_f1")
    )
    assert figures.format("mean | small | webkb | nearest, 1") == f"{micro:.1f} / {macro:.1f}"
    both = [100 * read_scores(folder, name, "nb").mean() for name in SETS]
    assert figures.format("mean | small | * | nb | micro_f1") == f"{fmean(both):.1f}"
    half = 100 * read_scores(folder, "yelp", "nb", fraction=0.5).mean()
    assert figures.format("at | small | yelp | nb | 0.5 | micro_f1") == f"{half:.1f}"
    svm = 100 * read_scores(folder, "webkb", "svm", plan="other").mean()
    highest = max(both[0], svm)
    found = figures.format("highest | small; other | webkb | nb; svm | micro_f1")
    assert found == f"{highest:.1f}"


def test_difference_on_one_data_set_has_the_corrected_interval(figures, folder):
    pairs = read_scores(folder, "webkb", "nb") - read_scores(folder, "webkb", "nearest, 1")
    error = math.sqrt((1 / 3 + 20 / 40) * pairs.var(ddof=1))
    half_width = 100 * stats.t.ppf(0.975, 2) * error
    found = figures.format("difference | small | webkb | nb | nearest, 1 | micro_f1")
    expected = f"{100 * pairs.mean():+.1f} ± {half_width:.1f}".replace("-", "\N{MINUS SIGN}")
    assert found == expected


def test_difference_over_data_sets_has_them_as_sample(figures, folder):
    means = [
        100 * (read_scores(folder, name, "nb") - read_scores(folder, name, "nearest, 1")).mean()
        for name in SETS
    ]
    low, high = stats.ttest_1samp(means, 0).confidence_interval(0.95)
    found = figures.format("difference | small | * | nb | nearest, 1 | micro_f1")
    assert found.endswith(f" ± {(high - low) / 2:.1f}")


def test_counts_of_data_sets(figures, folder):
    scores = {
        name: [read_scores(folder, each, name) for each in SETS] for name in ("nb", "nearest, 1")
    }
    wins = sum(a.mean() > b.mean() for a, b in zip(scores["nb"], scores["nearest, 1"], strict=True))
    assert figures.format("wins | small | * | nb | nearest, 1 | micro_f1") == f"{wins} of 2"
    for test, overlap in (("paired_t", 0.0), ("corrected_t", 0.5)):
        n_best = n_significant = 0
        for a, b in zip(scores["nb"], scores["nearest, 1"], strict=True):
            pairs = a - b
            t = pairs.mean() / math.sqrt((1 / 3 + overlap) * pairs.var(ddof=1))
            p_value = 2 * stats.t.sf(abs(t), 2)
            n_best += not (p_value < 0.05 and pairs.mean() < 0)
            n_significant += p_value < 0.05 and pairs.mean() > 0
        found = figures.format(f"best | small | * | nb | nb; nearest, 1 | {test} | micro_f1")
        assert found == f"{n_best} of 2"
    found = figures.format("significant | small | * | nb | nearest, 1 | micro_f1")
    assert found == f"{n_significant} of 2"


def test_gain_is_relative_and_names_the_data_set(figures, folder):
    gains = {
        each: 100
        * (
            read_scores(folder, each, "nb").mean() / read_scores(folder, each, "nearest, 1").mean()
            - 1
        )
        for each in SETS
    }
    best = max(gains, key=gains.get)
    sign = "+" if gains[best] > 0 else "\N{MINUS SIGN}"
    found = figures.format("gain | small | * | nb | nearest, 1 | micro_f1")
    assert found == f"{sign}{abs(gains[best]):.1f} % ({best})"


def test_sufficient_training_data(figures, folder):
    half, full = (
        read_scores(folder, "webkb", "nb", fraction=fraction).mean() for fraction in (0.5, 1.0)
    )
    expected = "50%" if half >= 0.95 * full else "100%"
    assert figures.format("sufficient | small | webkb | nb | micro_f1") == expected


def test_seconds_and_ratios(figures, folder):
    records = Ledger(folder / "ledgers" / "small.jsonl").records()
    fits = {
        name: fmean(
            record["fit_cpu_seconds"]
            for record in records
            if record["trial"]["dataset"] == "yelp"
            and record["trial"]["learner"] == name
            and record["trial"]["train_fraction"] == 1
        )
        for name in ("nb", "nearest, 1")
    }
    assert figures.format("seconds | small | yelp | nb | fit") == f"{fits['nb']:.1f}"
    ratio = fits["nb"] / fits["nearest, 1"]
    assert figures.format("ratio | small | yelp | nb | nearest, 1 | fit") == f"{ratio:.1f}"


def test_published_scores_and_values_of_files(figures):
    assert figures.format("paper | webkb | BROOF") == "84.4 / 73.2"
    assert figures.format("paper | webkb | BROOF | macro_f1") == "73.2"
    assert figures.format("value | sizes | rows") == "1,234"
    assert figures.format("value | sizes | by | a") == "about 3"


def test_rank_is_that_of_the_comparison(figures, sections):
    (small,) = [section for section in sections if section.stem == "small"]
    rank = small.comparison.summaries["micro_f1", "nb"].rank
    assert figures.format("rank | small | nb | micro_f1") == f"{rank:.1f}"


def test_effects_are_those_of_the_design(folder, sections):
    (small,) = [section for section in sections if section.stem == "small"]
    plan = load_plan(folder / "plans" / "small.toml", lookup_only=True)
    learners = [
        learner.model_copy(update={"recipe": "boosted_rf", "params": {"classifier__oob_error": on}})
        for learner, on in zip(plan.learners, (True, False), strict=True)
    ]
    design = small._replace(
        plan=plan.model_copy(update={"learners": tuple(learners)}), factors=("oob_error",)
    )
    found = Figures([design], folder).format("effect | small | yelp | oob_error | micro_f1")
    on, off = (read_scores(folder, "yelp", name) for name in ("nb", "nearest, 1"))
    pooled = np.concatenate([on, off])
    explained = 6 * ((on.mean() - off.mean()) / 2) ** 2 / ((pooled - pooled.mean()) ** 2).sum()
    change = f"{100 * (on.mean() - off.mean()):+.2f}".replace("-", "\N{MINUS SIGN}")
    assert found.startswith(f"{explained:.0%} ({change} ± ")


@pytest.mark.parametrize(
    ("expression", "sentence"),
    [
        ("median | small | webkb | nb", "there is no figure 'median'"),
        ("mean | small", "wrong number of arguments"),
        ("mean | absent | webkb | nb", "there is no plan 'absent'"),
        ("mean | small | absent | nb", "small has no data set 'absent'"),
        ("mean | small | webkb | rf", "small has no learner 'rf' on 'webkb'"),
        ("mean | small | webkb | nb | f1", "have no metric 'f1'"),
        ("mean | never | webkb | nb", "'nb' on 'webkb' lacks 3 of 3 results"),
        ("mean | @absent | webkb | nb", "there is no list 'absent'"),
        ("at | small | webkb | nb | 0.7", "no training set of size 0.7"),
        ("at | small | webkb | nb | half", "'half' is no number"),
        ("sufficient | other | webkb | svm", "other has a single size of the training set"),
        ("words | small | webkb | nb", "the records of 'nb' have no n_words"),
        ("rounds | small | webkb | nb | 1 | test", "small has no rounds of 'nb' on 'webkb'"),
        ("effect | small | webkb | oob_error", "small is no factorial design"),
        ("rank | small | rf", "small has no learner 'rf'"),
        ("rank | never | nb", "'nb' is complete on no data set of never"),
        ("best | small | * | nb | svm | paired_t", "'nb' is not one of the learners"),
        ("best | small | * | nb | nb | wilcoxon", "the test must be paired_t or corrected_t"),
        ("seconds | small | webkb | nb | score", "there is no phase 'score'"),
        ("paper | webkb | absent", "no paper reports a score of 'absent' on 'webkb'"),
        ("value | absent | rows", "there is no file"),
        ("value | sizes | columns", "has no entry 'columns'"),
    ],
)
def test_invalid_expressions_raise(figures, expression, sentence):
    with pytest.raises(CordwoodError) as caught:
        figures.format(expression)
    assert sentence in str(caught.value)
    assert str(caught.value).startswith(f"{{{expression}}}: ")


def test_plans_that_contradict_each_other_raise(figures):
    with pytest.raises(CordwoodError, match="two different results"):
        figures.format("mean | small; never | webkb | nb")


def test_page_has_a_row_per_claim(folder, sections, figures):
    page = make_claims_page("# Head", folder, sections)
    assert page.startswith("# Head\n\n| paper | claims | holds |")
    assert "| A paper | 2 | 1 | 0 | 0 | 1 |" in page
    mean = figures.format("mean | small | * | nb")
    assert (
        f"| table 1 | Naive Bayes is good. | It has {mean}. | **holds** | As 1,234 rows show. |"
    ) in page
    svm = figures.format("mean | other | webkb | svm | micro_f1")
    assert f"| table 2 | So are others. | SVM {svm}. | **not tested** |  |" in page
    nearest = figures.format("mean | small | webkb | nearest, 1 | macro_f1")
    assert "### Means\n\nAll of them.\n\n| learner | mean |\n|:--|--:|\n| nb | " in page
    assert page.endswith(f"| nearest, 1 | {nearest} |\n")


def test_errors_name_the_file_and_the_claim(folder, sections, tmp_path):
    (tmp_path / "claims").mkdir()
    path = tmp_path / "claims" / "paper.toml"
    path.write_text(PAPER.replace("mean | small | *", "mean | small | absent"))
    with pytest.raises(CordwoodError, match=r"paper\.toml, claim 1: .*no data set 'absent'"):
        make_claims_page("", tmp_path, sections)


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ("title", "is not valid TOML"),
        (PAPER.replace('verdict = "holds"', 'verdict = "maybe"'), "claims.0.verdict: Input should"),
        (PAPER.replace('place = "table 1"\n', ""), "claims.0.place: Field required"),
        (PAPER.replace('header = ["learner", "mean"]', "header = []"), "has 0 columns, but row 2"),
    ],
)
def test_invalid_files_raise(tmp_path, content, sentence):
    path = tmp_path / "paper.toml"
    path.write_text(content)
    with pytest.raises(CordwoodError, match=r"paper\.toml") as caught:
        load_paper(path)
    assert sentence in str(caught.value)


def test_best_agrees_with_the_comparison_of_the_plan(figures, sections):
    (small,) = [section for section in sections if section.stem == "small"]
    cells = [small.comparison.cells["macro_f1", name, "nb"] for name in SETS]
    n_best = sum(cell.mark in ("best", "tied", "undecided") for cell in cells)
    found = figures.format("best | small | * | nb | nb; nearest, 1 | paired_t | macro_f1")
    assert found == f"{n_best} of 2"


def test_results_page_tabulates_learning_curves(folder, sections):
    text = make_page("", folder, links="").text.partition("\n## Small\n")[2].partition("\n## ")[0]
    row = next(
        line for line in text.splitlines() if line.startswith("| yelp | nb |") and "%" in line
    )
    metrics = ("micro_f1", "macro_f1")
    half, full = (
        [100 * read_scores(folder, "yelp", "nb", metric, fraction).mean() for metric in metrics]
        for fraction in (0.5, 1.0)
    )
    sufficient = ["50%" if a >= 0.95 * b else "100%" for a, b in zip(half, full, strict=True)]
    expected = [*(" / ".join(f"{each:.1f}" for each in pair) for pair in (half, full))]
    assert row == f"| yelp | nb | {' | '.join(expected)} | {' / '.join(sufficient)} |"
