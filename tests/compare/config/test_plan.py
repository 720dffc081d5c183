import pandas as pd
import pytest
from pydantic import ValidationError

from cordwood import recipes
from cordwood.compare.config.plan import load_plan, parse_plan
from cordwood.compare.config.schema import Evaluation
from cordwood.compare.runner.trials import expand
from cordwood.datasets.corpus import Corpus, FeatureMatrix
from cordwood.exceptions import CordwoodError

TEXT = {"name": "docstrings"}
NUMBERS = {"name": "sklearn:iris"}


@pytest.fixture(autouse=True)
def no_data_folder(monkeypatch):
    monkeypatch.delenv("CORDWOOD_DATA", raising=False)


def plan(datasets=(TEXT,), learners=({"recipe": "svm"},), **tables):
    return parse_plan({"datasets": list(datasets), "learners": list(learners), **tables})


def refusal(*arguments, **tables):
    with pytest.raises(CordwoodError) as caught:
        plan(*arguments, **tables)
    return str(caught.value)


FULL = """
name = "webkb baselines"
protocol = "sigir17"
seed = 7
metric = "macro_f1"

[evaluation]
folds = 3
shares = [0.1, 0.5, 1.0]

[tuning]
folds = 4

[text]
min_df = 2

[[datasets]]
name = "docstrings"
[datasets.text]
preset = "social"

[[datasets]]
path = "mine.csv"
text = "body"
label = "topic"
group = "author"

[[learners]]
name = "RF"
recipe = "rf"
params = { n_estimators = 20 }
grid = { max_features = ["sqrt", "log2", 0.08] }

[[learners]]
recipe = "svm"
grid = "paper"
"""


def test_a_whole_plan_is_read_from_a_file(tmp_path):
    rows = {"body": ["a b"] * 4, "topic": ["x", "y"] * 2, "author": list("ppqq")}
    pd.DataFrame(rows).to_csv(tmp_path / "mine.csv", index=False)
    (tmp_path / "plan.toml").write_text(FULL, encoding="utf-8")
    found = load_plan(tmp_path / "plan.toml")
    assert (found.name, found.seed, found.metric) == ("webkb baselines", 7, "macro_f1")
    assert found.evaluation == Evaluation(kind="stratified", folds=3, shares=(0.1, 0.5, 1.0))
    assert (found.tuning.kind, found.tuning.folds) == ("cv", 4)
    first, second = found.datasets
    assert first.text == {"preset": "social", "min_df": 2}
    assert second.text == {"preset": "sigir17", "min_df": 2}
    assert second.name == "mine"
    loaded = second.load()
    assert isinstance(loaded, Corpus)
    assert (loaded.labels, loaded.groups) == (("x", "y", "x", "y"), tuple("ppqq"))
    forest, machine = found.learners
    assert (forest.name, machine.name) == ("RF", "svm")
    assert forest.params == {"classifier__n_estimators": 20}
    assert forest.grid == {"classifier__max_features": ["sqrt", "log2", 0.08]}
    assert machine.grid == {"classifier__C": list(recipes.grid("svm")["C"])}


def test_a_plan_without_a_name_is_called_after_its_file(tmp_path):
    file = tmp_path / "my baselines.toml"
    file.write_text('datasets = [{name = "docstrings"}]\nlearners = [{recipe = "svm"}]\n')
    assert load_plan(file).name == "my baselines"


def test_what_is_not_said_has_its_default():
    found = plan()
    assert found.evaluation == Evaluation(kind="stratified", folds=5, repeats=1, shares=(1.0,))
    assert (found.seed, found.metric, found.tuning.folds) == (42, "micro_f1", 5)
    assert found.datasets[0].text == {}
    assert found.learners[0].grid == {}


def test_a_plan_cannot_be_changed():
    with pytest.raises(ValidationError):
        plan().seed = 3


def test_data_sets_know_what_they_hold(tmp_path):
    (tmp_path / "rows.svm").write_text("1 1:0.5\n2 2:1\n")
    found = parse_plan(
        {
            "text": {"min_df": 2},
            "datasets": [TEXT, NUMBERS, {"path": "rows.svm"}],
            "learners": [{"recipe": "svm"}],
        },
        folder=tmp_path,
    )
    assert [dataset.kind for dataset in found.datasets] == ["text", "numeric", "numeric"]
    assert [dataset.text for dataset in found.datasets] == [{"min_df": 2}, {}, {}]
    assert isinstance(found.datasets[1].load(), FeatureMatrix)
    assert found.datasets[2].load().X.shape[0] == 2


def test_a_file_may_have_columns_and_text_settings(tmp_path):
    pd.DataFrame({"head": ["a"], "body": ["b"], "label": ["x"]}).to_csv(tmp_path / "d.csv")
    for column in ("body", ["head", "body"]):
        dataset = {"path": str(tmp_path / "d.csv"), "text": {"column": column, "preset": "social"}}
        (found,) = plan([dataset]).datasets
        assert found.text == {"preset": "social"}
        assert found.text_columns == ((column,) if isinstance(column, str) else tuple(column))


def test_a_protocol_fills_what_the_plan_leaves_open():
    found = plan(protocol="sigir15")
    assert (found.evaluation.folds, found.tuning.folds) == (10, 10)
    assert found.datasets[0].text == {"preset": "sigir15", "weighting": "tfidf"}
    found = plan(protocol="sigir15", evaluation={"folds": 3}, text={"preset": "social"})
    assert (found.evaluation.folds, found.tuning.folds) == (3, 10)
    assert found.datasets[0].text == {"preset": "social", "weighting": "tfidf"}


def test_folds_of_a_protocol_do_not_reach_another_kind_of_evaluation():
    assert plan(protocol="sigir15", evaluation={"kind": "grouped"}).evaluation.folds == 5
    assert plan(protocol="sigir15", evaluation={"kind": "fixed"}).evaluation.folds == 1


def test_folds_of_a_protocol_may_be_repeated():
    found = plan(protocol="sigir15", evaluation={"kind": "repeated", "repeats": 3}).evaluation
    assert (found.kind, found.folds, found.repeats) == ("stratified", 10, 3)


def test_a_protocol_prepares_sentiment_sets_in_their_own_way(tmp_path):
    for name in ("amazon", "webkb"):
        pd.DataFrame({"text": ["a", "b"], "label": ["x", "y"]}).to_csv(tmp_path / f"{name}.csv")
    found = parse_plan(
        {
            "protocol": "sigir17",
            "datasets": [{"name": "amazon"}, {"name": "webkb"}],
            "learners": [{"recipe": "svm"}],
        },
        data_dir=tmp_path,
    )
    assert [dataset.text["preset"] for dataset in found.datasets] == ["social", "sigir17"]


def test_a_protocol_weighs_words_for_a_learner_unless_the_plan_does():
    learners = [
        {"recipe": "nb"},
        {"recipe": "nb", "name": "own", "params": {"weighting": "binary"}},
        {"recipe": "nb", "name": "tuned", "grid": {"weighting": ["tf", "tfidf"]}},
    ]
    params = [learner.params for learner in plan(learners=learners, protocol="sigir15").learners]
    assert params == [{"vectorizer__weighting": "tf"}, {"vectorizer__weighting": "binary"}, {}]


@pytest.mark.parametrize(
    ("given", "complete"),
    [
        ({"kind": "repeated"}, ("stratified", 5, 5, None)),
        ({"kind": "repeated", "repeats": 2, "folds": 3}, ("stratified", 3, 2, None)),
        ({"kind": "grouped"}, ("grouped", 5, 1, None)),
        ({"kind": "fixed"}, ("fixed", 1, 1, None)),
        ({"kind": "holdout"}, ("holdout", 1, 1, 0.2)),
        ({"kind": "holdout", "repeats": 3, "test_share": 0.5}, ("holdout", 1, 3, 0.5)),
    ],
)
def test_kinds_of_evaluation_are_completed(given, complete):
    found = plan(evaluation=given).evaluation
    assert (found.kind, found.folds, found.repeats, found.test_share) == complete


@pytest.mark.parametrize(
    ("evaluation", "sentence"),
    [
        ({"kind": "stratifed"}, "evaluation.kind is 'stratifed', but can be 'stratified', "),
        ({"fold": 3}, "evaluation: there is no key 'fold'; did you mean 'folds'?"),
        ({"folds": 1}, "evaluation folds is 1, but must be at least 2"),
        ({"folds": "5"}, "evaluation.folds is '5', but must be a whole number"),
        ({"folds": True}, "evaluation.folds is True, but must be a whole number"),
        ({"kind": "fixed", "folds": 5}, "evaluation folds has no meaning for kind 'fixed'"),
        ({"kind": "fixed", "repeats": 2}, "evaluation repeats has no meaning for kind 'fixed'"),
        ({"kind": "repeated", "repeats": 1}, "evaluation repeats is 1, but 'repeated' folds"),
        ({"test_share": 0.3}, "evaluation test_share belongs to kind 'holdout'"),
        ({"kind": "holdout", "test_share": 1.5}, "evaluation.test_share is 1.5, but should be"),
        ({"repeats": 0}, "evaluation.repeats is 0, but should be greater than or equal to 1"),
        ({"shares": [0.5, 0.1]}, "evaluation shares must be in rising order"),
        ({"shares": [0.0, 1.0]}, "evaluation shares must be numbers above 0 and up to 1"),
        ({"shares": []}, "evaluation shares must be numbers above 0"),
        ({"shares": 0.5}, "evaluation.shares is 0.5, but must be a list"),
        (5, "evaluation is 5, but must be a table"),
    ],
)
def test_a_wrong_evaluation_is_refused(evaluation, sentence):
    assert refusal(evaluation=evaluation).startswith(sentence)


@pytest.mark.parametrize(
    ("tables", "sentence"),
    [
        ({"protcol": "sigir17"}, "there is no key 'protcol'; did you mean 'protocol'?"),
        ({"protocol": "sigir71"}, "there is no protocol 'sigir71'; did you mean 'sigir17'?"),
        ({"protocol": 17}, "protocol is 17, but must be a string"),
        ({"seed": -1}, "seed is -1, but should be greater than or equal to 0"),
        ({"metric": "micro"}, "metric is 'micro', but can be 'micro_f1', 'macro_f1' or 'f1'"),
        (
            {"tuning": {"kind": "bag"}},
            "tuning.kind is 'bag', but can be 'cv', 'oob', 'loo', 'auto' or 'test'",
        ),
        ({"tuning": {"folds": 1}}, "tuning.folds is 1, but should be greater than or equal to 2"),
        (
            {"tuning": {"kind": "loo", "sample": 1}},
            "tuning.sample is 1, but should be greater than or equal to 2",
        ),
        (
            {"tuning": {"kind": "loo", "sample": 0.1}},
            "tuning.sample is 0.1, but must be a whole number",
        ),
        (
            {"tuning": {"sample": 1000}},
            "tuning sample is of leave-one-out votes, by kind 'loo' or 'auto', and the kind is "
            "'cv'; change one of them, or leave sample out",
        ),
        ({"tuning": {"kind": "oob", "sample": 1000}}, "tuning sample is of leave-one-out votes"),
        ({"tuning": {"kind": "test", "sample": 1000}}, "tuning sample is of leave-one-out votes"),
        ({"text": {"mindf": 2}}, "text: there is no key 'mindf'; did you mean 'min_df'?"),
        (
            {"text": {"preset": "socail"}},
            "text: there is no preset 'socail'; did you mean 'social'?",
        ),
        ({"text": {"min_df": -1}}, "text: min_df is -1, but can be"),
        ({"text": 3}, "text is 3, but must be a table"),
        ({"datasets": []}, "datasets is empty; give at least one"),
        ({"learners": {"recipe": "svm"}}, "learners is {'recipe': 'svm'}, but must be a list"),
    ],
)
def test_a_wrong_key_or_value_is_named(tables, sentence):
    with pytest.raises(CordwoodError) as caught:
        parse_plan({"datasets": [TEXT], "learners": [{"recipe": "svm"}], **tables})
    assert str(caught.value).startswith(sentence)


@pytest.mark.parametrize(
    ("dataset", "sentence"),
    [
        ({"name": "docstring"}, "data set 1: there is no data set 'docstring'; did you mean 'docs"),
        ({}, "data set 1 has neither a name nor a path"),
        ({"nam": "docstrings", "path": "x"}, "data set 1: there is no key 'nam'; did you mean 'na"),
        ({"path": "absent.csv"}, "data set 1: there is no file "),
        ({"name": "docstrings", "label": "topic"}, "data set 1: label names a column, which needs"),
        ({"name": "docstrings", "text": "body"}, "data set 1: text names a column, which needs a "),
        ({**TEXT, "text": {"mindf": 2}}, "data set 1, text: there is no key 'mindf'; did you mean"),
        ({**TEXT, "kind": "numeric"}, "data set 1: kind is 'numeric', but the rows are text"),
        ({"name": 3}, "data set 1, name is 3, but must be a string"),
        ("docstrings", "data set 1 is 'docstrings', but "),
    ],
)
def test_a_wrong_data_set_is_named(dataset, sentence):
    assert refusal([dataset]).startswith(sentence)


def test_a_file_of_an_unknown_format_is_refused(tmp_path):
    (tmp_path / "rows.xyz").write_text("")
    assert "rows.xyz" in refusal([{"path": str(tmp_path / "rows.xyz")}])


@pytest.mark.parametrize(
    ("learner", "sentence"),
    [
        ({"recipe": "smv"}, "learner 1: unknown recipe 'smv'; did you mean 'svm'?"),
        ({"name": "RF"}, "learner 1: recipe is missing"),
        ({"recipe": "svm", "gird": {}}, "learner 1: there is no key 'gird'; did you mean 'grid'?"),
        (
            {"recipe": "svm", "params": {"c": 1}},
            "learner 1, params: recipe 'svm' has no parameter 'c'; did you mean 'C'?",
        ),
        (
            {"recipe": "rf", "grid": {"n_estimator": [1, 2]}},
            "learner 1, grid: recipe 'rf' has no parameter 'n_estimator'; did you mean 'n_est",
        ),
        ({"recipe": "svm", "grid": {"C": 1}}, "learner 1, grid gives C as 1, but must list values"),
        ({"recipe": "svm", "grid": {"C": []}}, "learner 1, grid gives C as [], but must list val"),
        ({"recipe": "svm", "grid": "papers"}, "learner 1, grid is 'papers', but must be a table"),
        (
            {"recipe": "nb", "numeric_grid": "paper"},
            "learner 1, numeric_grid is 'paper', but must be a table of lists",
        ),
        (
            {"recipe": "nb", "params": {"alpha": 1}, "numeric_grid": {"alpha": [1, 2]}},
            "learner 1: classifier__alpha is both in params and in grid",
        ),
        (
            {"recipe": "svm", "params": {"C": float("inf")}},
            "learner 1, params gives C as inf; use text, finite numbers",
        ),
        (
            {"recipe": "svm", "params": {"C": 1}, "grid": {"classifier__C": [1, 2]}},
            "learner 1: classifier__C is both in params and in grid",
        ),
        (
            {"recipe": "svm", "params": {"C": 1, "classifier__C": 2}},
            "learner 1, params: classifier__C is given twice",
        ),
    ],
)
def test_a_wrong_learner_is_named(learner, sentence):
    assert refusal(learners=[learner]).startswith(sentence)


def test_all_that_is_wrong_is_said_at_once():
    message = refusal([{"name": "docstring"}], [{"recipe": "smv"}, {"recipe": "svm"}])
    assert message.startswith("2 things are wrong with the plan: (1) data set 1: ")
    assert "; (2) learner 1: unknown recipe 'smv'" in message


def test_settings_that_clash_with_a_data_sets_own_are_named():
    dataset = {**TEXT, "text": {"analyzer": "char"}}
    message = refusal([dataset, NUMBERS], text={"stop_words": "smart"})
    assert message.startswith("data set 1, text: stop_words works on words, but analyzer is 'char'")
    message = refusal([TEXT, NUMBERS], text={"mindf": 2})
    assert message.count("mindf") == 1


def test_names_are_unique():
    assert refusal([TEXT, TEXT]) == "2 data sets have the name 'docstrings'; give each its own"
    learners = [{"recipe": "svm"}, {"recipe": "svm", "params": {"C": 2}}]
    assert refusal(learners=learners) == "2 learners have the name 'svm'; give each its own"


def test_a_missing_package_is_said_before_anything_runs(monkeypatch):
    def refuse(package):
        raise ModuleNotFoundError(package)

    monkeypatch.setattr(recipes._table, "import_module", refuse)
    assert refusal(learners=[{"recipe": "xgboost"}]).endswith("pip install xgboost")


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"seed = \n", "is not TOML: .*line 1"),
        (b"name = '\xff'", "is not UTF-8 at byte 9"),
        (b"sead = 1", "plan.toml: .*there is no key 'sead'; did you mean 'seed'"),
    ],
)
def test_a_file_that_is_no_plan_is_named(content, sentence, tmp_path):
    (tmp_path / "plan.toml").write_bytes(content)
    with pytest.raises(CordwoodError, match=sentence):
        load_plan(tmp_path / "plan.toml")


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(CordwoodError, match=r"absent\.toml cannot be read: No such file"):
        load_plan(tmp_path / "absent.toml")


def test_dates_are_no_parameters(tmp_path):
    (tmp_path / "plan.toml").write_text(
        'datasets = [{name = "docstrings"}]\n'
        'learners = [{recipe = "svm", params = {C = 2020-01-01}}]\n'
    )
    with pytest.raises(CordwoodError, match="params gives C as datetime"):
        load_plan(tmp_path / "plan.toml")


def test_the_fingerprint_sees_the_plan_and_not_the_place(tmp_path):
    prints = []
    for folder, seed in (("one", 1), ("two", 1), ("two", 2)):
        (tmp_path / folder).mkdir(exist_ok=True)
        pd.DataFrame({"text": ["a"], "label": ["x"]}).to_csv(tmp_path / folder / "d.csv")
        dataset = {"path": str(tmp_path / folder / "d.csv")}
        prints.append(plan([dataset], seed=seed).fingerprint())
    assert prints[0] == prints[1] != prints[2]


def test_the_fingerprint_of_a_plan_is_the_same_for_ever():
    # Also where tables have got keys since that it does not set.
    learner = {"recipe": "svm", "grid": {"C": [1, 2]}}
    found = parse_plan({"datasets": [{"name": "docstrings"}], "learners": [learner]}).fingerprint()
    assert found == "c8865a71ab43d8484a6d497b26faf08c3280ca11195423e551b1f56ece6a5e6f"


def test_rows_of_numbers_have_entries_of_the_grid_of_their_own():
    learners = [
        {"recipe": "nb", "name": "paper", "grid": "paper"},
        {"recipe": "nb", "name": "own", "grid": {"alpha": [1, 2]}, "numeric_grid": {"alpha": [3]}},
        {"recipe": "svm", "grid": "paper"},
    ]
    evaluation = {"kind": "holdout"}
    units = expand(plan([TEXT, NUMBERS], learners, evaluation=evaluation))
    grids = {(unit.dataset, unit.learner): unit.grid for unit in units}
    variants = ["multinomial", "complement"]
    assert grids["docstrings", "paper"]["classifier__variant"] == variants
    assert grids["sklearn:iris", "paper"]["classifier__variant"] == [*variants, "gaussian"]
    assert grids["docstrings", "own"] == {"classifier__alpha": [1, 2]}
    assert grids["sklearn:iris", "own"] == {"classifier__alpha": [3]}
    assert grids["sklearn:iris", "svm"] == grids["docstrings", "svm"]


def test_a_plan_can_be_read_without_its_data():
    mapping = {
        "protocol": "sigir17",
        "text": {"min_df": 2},
        "datasets": [
            {"name": "webkb"},
            {"name": "spambase"},
            {"name": "my numbers", "kind": "numeric"},
            {"path": "absent.csv", "text": "body"},
            NUMBERS,
        ],
        "learners": [{"recipe": "svm"}],
    }
    with pytest.raises(CordwoodError, match="^4 things are wrong"):
        parse_plan(mapping)
    found = parse_plan(mapping, absent_data=True).datasets
    kinds = ["text", "numeric", "numeric", "text", "numeric"]
    assert [dataset.kind for dataset in found] == kinds
    assert found[0].text == {"preset": "sigir17", "min_df": 2}
    assert found[1].text == {}
    # What the data themselves say goes before what the plan says of them.
    wrong = {**mapping, "datasets": [{**NUMBERS, "kind": "text"}]}
    with pytest.raises(CordwoodError, match="kind is 'text', but the rows are numeric"):
        parse_plan(wrong, absent_data=True)


@pytest.mark.parametrize(
    ("table", "sentence"),
    [
        ({"name": "docstrings", "categories": "mail"}, "has categories = 'mail', but must list"),
        ({"name": "docstrings", "categories": []}, "has categories = [], but must list labels"),
        ({"categories": ["mail"]}, "has categories = ['mail'], but neither a name nor a path"),
        ({"name": "docstrings", "catgories": ["mail"]}, "did you mean 'categories'?"),
    ],
)
def test_wrong_categories_are_named(table, sentence):
    assert sentence in refusal([table])


def test_a_switch_is_true_or_false():
    message = refusal(tuning={"threshold": "yes"})
    assert "tuning.threshold is 'yes', but must be true or false" in message
