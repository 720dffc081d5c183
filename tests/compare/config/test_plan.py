import json
import re
import shutil
from pathlib import Path

import pandas as pd
import pytest
from pydantic import ValidationError

from cordwood import recipes
from cordwood.compare.config.external_estimator import load_factory, make_pipeline
from cordwood.compare.config.plan import Plan, load_plan, parse_plan
from cordwood.compare.config.schema import (
    READ_KEYS,
    DatasetConfig,
    EvaluationConfig,
    LearnerConfig,
    TuningConfig,
)
from cordwood.compare.runner.procedure import list_trials
from cordwood.compare.runner.trials import trial_key
from cordwood.datasets.corpus import Corpus, FeatureMatrix
from cordwood.exceptions import CordwoodError, DataError

TEXT = {"name": "docstrings"}
NUMBERS = {"name": "sklearn:iris"}


@pytest.fixture(autouse=True)
def no_data_folder(monkeypatch):
    monkeypatch.delenv("CORDWOOD_DATA", raising=False)


@pytest.fixture
def without_packages(monkeypatch):
    """Make the optional packages of recipes unavailable."""

    def fail(package):
        raise ModuleNotFoundError(package)

    monkeypatch.setattr("cordwood.recipes._table.import_module", fail)


def plan(datasets=(TEXT,), learners=({"recipe": "svm"},), **tables):
    return parse_plan({"datasets": list(datasets), "learners": list(learners), **tables})


def error_of(*arguments, **tables):
    with pytest.raises(CordwoodError) as caught:
        plan(*arguments, **tables)
    return str(caught.value)


FULL = """
name = "webkb baselines"
protocol = "protocol.toml"
seed = 7
metric = "macro_f1"

[evaluation]
kind = "grouped"
folds = 3
train_fractions = [0.1, 0.5, 1.0]

[tuning]
folds = 4

[vectorizer]
min_df = 2

[[datasets]]
name = "docstrings"
[datasets.vectorizer]
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
grid = "default"
"""

PROTOCOL = """
[evaluation]
folds = 10

[tuning]
folds = 10

[vectorizer]
preset = "sigir15"
weighting = "tfidf"

[[datasets]]
names = ["amazon", "sklearn:*"]
vectorizer = {preset = "social"}

[recipes.nb]
params = {vectorizer__weighting = "tf"}
grid = {alpha = [0.1, 1.0]}
"""


@pytest.fixture
def protocol(tmp_path):
    path = tmp_path / "protocol.toml"
    path.write_text(PROTOCOL, encoding="utf-8")
    return str(path)


def test_load_plan_reads_all_tables(tmp_path):
    rows = {"body": ["a b"] * 4, "topic": ["x", "y"] * 2, "author": list("ppqq")}
    pd.DataFrame(rows).to_csv(tmp_path / "mine.csv", index=False)
    (tmp_path / "plan.toml").write_text(FULL, encoding="utf-8")
    (tmp_path / "protocol.toml").write_text(PROTOCOL, encoding="utf-8")
    found = load_plan(tmp_path / "plan.toml")
    assert (found.name, found.seed, found.metric) == ("webkb baselines", 7, "macro_f1")
    assert found.evaluation == EvaluationConfig(
        kind="grouped", folds=3, train_fractions=(0.1, 0.5, 1.0)
    )
    assert (found.tuning.kind, found.tuning.folds) == ("cv", 4)
    first, second = found.datasets
    assert first.vectorizer == {"preset": "social", "weighting": "tfidf", "min_df": 2}
    assert second.vectorizer == {"preset": "sigir15", "weighting": "tfidf", "min_df": 2}
    assert (second.read.text, second.read.label, second.read.group) == (
        ("body",),
        "topic",
        "author",
    )
    assert second.name == "mine"
    loaded = second.load()
    assert isinstance(loaded, Corpus)
    assert (loaded.labels, loaded.groups) == (("x", "y", "x", "y"), tuple("ppqq"))
    forest, svm = found.learners
    assert (forest.name, svm.name) == ("RF", "svm")
    assert forest.params == {"classifier__n_estimators": 20}
    assert forest.grid == {"classifier__max_features": ["sqrt", "log2", 0.08]}
    assert svm.grid == {"classifier__C": list(recipes.grid("svm")["C"])}


def test_name_defaults_to_the_stem_of_the_file(tmp_path):
    file = tmp_path / "my baselines.toml"
    file.write_text('datasets = [{name = "docstrings"}]\nlearners = [{recipe = "svm"}]\n')
    assert load_plan(file).name == "my baselines"


def test_defaults():
    found = plan()
    assert found.evaluation == EvaluationConfig(
        kind="stratified", folds=5, repeats=1, train_fractions=(1.0,)
    )
    assert (found.seed, found.metric, found.tuning.folds) == (42, "micro_f1", 5)
    assert found.datasets[0].vectorizer == {}
    assert found.learners[0].grid == {}


def test_plan_is_immutable():
    with pytest.raises(ValidationError):
        plan().seed = 3


def test_kind_of_data_set_is_detected(tmp_path):
    (tmp_path / "rows.svm").write_text("1 1:0.5\n2 2:1\n")
    found = parse_plan(
        {
            "vectorizer": {"min_df": 2},
            "datasets": [TEXT, NUMBERS, {"path": "rows.svm"}],
            "learners": [{"recipe": "svm"}],
        },
        folder=tmp_path,
    )
    assert [dataset.kind for dataset in found.datasets] == ["text", "numeric", "numeric"]
    assert [dataset.vectorizer for dataset in found.datasets] == [{"min_df": 2}, {}, {}]
    assert isinstance(found.datasets[1].load(), FeatureMatrix)
    assert found.datasets[2].load().X.shape[0] == 2


def test_file_may_have_text_columns_and_vectorizer_params(tmp_path):
    pd.DataFrame({"head": ["a"], "body": ["b"], "label": ["x"]}).to_csv(tmp_path / "d.csv")
    for columns in ("body", ["head", "body"]):
        dataset = {
            "path": str(tmp_path / "d.csv"),
            "text": columns,
            "vectorizer": {"preset": "social"},
        }
        (found,) = plan([dataset]).datasets
        assert found.vectorizer == {"preset": "social"}
        assert found.read.text == ((columns,) if isinstance(columns, str) else tuple(columns))


def test_files_of_a_list_are_concatenated(tmp_path):
    for name, label in (("a", "x;y"), ("b", "x")):
        (tmp_path / f"{name}.csv").write_text(f"text,label\none,{label}\ntwo,\n")
    (found,) = parse_plan(
        {
            "datasets": [{"path": ["a.csv", "b.csv"], "label_separator": ";"}],
            "learners": [{"recipe": "svm"}],
        },
        folder=tmp_path,
    ).datasets
    assert found.name == "a and 1 more"
    loaded = found.load()
    assert loaded.labels == (("x", "y"), (), ("x",), ())
    assert loaded.texts == ("one", "two") * 2


def test_group_pattern_groups_samples_by_id(tmp_path):
    rows = {"id": ["1:a", "1:b", "2:a"], "text": list("xyz"), "label": list("aba")}
    pd.DataFrame(rows).to_csv(tmp_path / "d.csv", index=False)
    dataset = {"path": str(tmp_path / "d.csv"), "group_pattern": "^[^:]*"}
    grouped = {"kind": "grouped"}
    (found,) = plan([dataset], evaluation=grouped).datasets
    assert found.load().groups == ("1", "1", "2")
    (found,) = plan([{**dataset, "group_pattern": "^x"}], evaluation=grouped).datasets
    with pytest.raises(DataError, match="'1:a'"):
        found.load()


@pytest.mark.parametrize("kind", ["stratified", "time", "fixed", "holdout"])
@pytest.mark.parametrize("key", ["group", "group_pattern"])
def test_groups_need_a_grouped_evaluation(kind, key):
    grouped = {"name": "posts", "source": "docstrings", key: "x"}
    assert error_of([TEXT, grouped], evaluation={"kind": kind}) == (
        f"data set 'posts' has a {key}, which needs evaluation.kind = 'grouped'; "
        f"the kind is {kind!r}"
    )
    (found,) = plan([grouped], evaluation={"kind": "grouped"}).datasets
    assert (found.group_pattern or found.read.group) == "x"


def test_protocol_fills_what_the_plan_leaves_open(protocol):
    found = plan(protocol=protocol)
    assert (found.evaluation.folds, found.tuning.folds) == (10, 10)
    assert found.datasets[0].vectorizer == {"preset": "sigir15", "weighting": "tfidf"}
    found = plan(protocol=protocol, evaluation={"folds": 3}, vectorizer={"preset": "social"})
    assert (found.evaluation.folds, found.tuning.folds) == (3, 10)
    assert found.datasets[0].vectorizer == {"preset": "social", "weighting": "tfidf"}


def test_language_of_the_vectorizer():
    found = plan(vectorizer={"language": "de", "stemmer": "auto"})
    assert found.datasets[0].vectorizer == {"language": "de", "stemmer": "auto"}
    with pytest.raises(CordwoodError, match="vectorizer: language must be"):
        plan(vectorizer={"language": "german"})


def test_protocol_path_is_relative_to_the_plan(tmp_path, protocol):
    (tmp_path / "plans").mkdir()
    (tmp_path / "plans" / "plan.toml").write_text(
        'protocol = "../protocol.toml"\n'
        'datasets = [{name = "docstrings"}]\nlearners = [{recipe = "svm"}]\n'
    )
    assert load_plan(tmp_path / "plans" / "plan.toml").evaluation.folds == 10


def test_folds_of_a_protocol_do_not_apply_to_another_kind_of_evaluation(protocol):
    assert plan(protocol=protocol, evaluation={"kind": "grouped"}).evaluation.folds == 5
    assert plan(protocol=protocol, evaluation={"kind": "fixed"}).evaluation.folds == 1


def test_folds_of_a_protocol_may_be_repeated(protocol):
    found = plan(protocol=protocol, evaluation={"kind": "repeated", "repeats": 3}).evaluation
    assert (found.kind, found.folds, found.repeats) == ("stratified", 10, 3)


@pytest.mark.parametrize("name", ["amazon", "webkb"])
def test_names_of_data_sets_have_no_effect_without_a_protocol_that_lists_them(
    tmp_path, protocol, name
):
    pd.DataFrame({"text": ["a", "b"], "label": ["x", "y"]}).to_csv(tmp_path / f"{name}.csv")
    mapping = {"datasets": [{"name": name}], "learners": [{"recipe": "svm"}]}
    (found,) = parse_plan(mapping, data_dir=tmp_path).datasets
    assert (found.vectorizer, found.kind) == ({}, "text")
    (found,) = parse_plan({**mapping, "protocol": protocol}, data_dir=tmp_path).datasets
    assert found.vectorizer["preset"] == ("social" if name == "amazon" else "sigir15")
    # Parameters that the entry does not set are those of the protocol.
    assert found.vectorizer["weighting"] == "tfidf"


def test_protocol_params_apply_unless_the_learner_sets_or_tunes_them(protocol):
    learners = [
        {"recipe": "nb"},
        {"recipe": "nb", "name": "own", "params": {"weighting": "binary"}},
        {"recipe": "nb", "name": "tuned", "grid": {"weighting": ["tf", "tfidf"]}},
    ]
    params = [learner.params for learner in plan(learners=learners, protocol=protocol).learners]
    assert params == [{"vectorizer__weighting": "tf"}, {"vectorizer__weighting": "binary"}, {}]


def test_default_grid_is_that_of_the_protocol_or_else_of_the_recipe(protocol):
    learners = [{"recipe": "nb", "grid": "default"}, {"recipe": "svm", "grid": "default"}]
    nb, svm = plan(learners=learners, protocol=protocol).learners
    assert nb.grid == {"classifier__alpha": [0.1, 1.0]}
    assert svm.grid == {"classifier__C": list(recipes.grid("svm")["C"])}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("folds = 3", "there is no key 'folds'"),
        ("[evaluation]\nfold = 3", "evaluation: there is no key 'fold'; did you mean 'folds'?"),
        ("[evaluation]\nfolds = 1", "evaluation folds must be at least 2; got 1"),
        ("[tuning]\nkind = 'bag'", "tuning.kind must be 'cv', 'oob', 'loo' or 'auto'"),
        ("[recipes.smv]\nparams = {C = 1}", "unknown recipe 'smv'; did you mean 'svm'?"),
        ("[recipes.svm]\ngrid = {C = 1}", "must list the values of C; got 1"),
        ("[[datasets]]\nvectorizer = {min_df = 2}", "names is missing"),
        ("vectorizer = 3", "vectorizer must be a table; got 3"),
        ("[vectorizer", "is not valid TOML"),
    ],
)
def test_invalid_protocol_is_reported_with_its_file(tmp_path, content, message):
    (tmp_path / "bad.toml").write_text(content)
    found = error_of(protocol=str(tmp_path / "bad.toml"))
    assert "bad.toml" in found
    assert message in found


def test_invalid_vectorizer_params_of_a_protocol_are_reported(tmp_path):
    (tmp_path / "bad.toml").write_text("vectorizer = {mindf = 2}")
    assert error_of(protocol=str(tmp_path / "bad.toml")) == (
        "data set 1, vectorizer: there is no key 'mindf'; did you mean 'min_df'?"
    )


LEARNERS = """
from sklearn.naive_bayes import MultinomialNB
from sklearn.pipeline import make_pipeline
from sklearn.feature_extraction.text import CountVectorizer

def bayes():
    return MultinomialNB(alpha=0.5)

def pipeline():
    return make_pipeline(CountVectorizer(), MultinomialNB())
"""


def test_estimator_may_be_any_importable_classifier():
    learner = {"estimator": "sklearn.naive_bayes:MultinomialNB", "grid": {"alpha": [1, 2]}}
    (found,) = plan(learners=[{**learner, "params": {"min_df": 2}}]).learners
    assert found.name == "MultinomialNB"
    assert found.params == {"vectorizer__min_df": 2}
    assert found.grid == {"classifier__alpha": [1, 2]}


def test_estimator_may_be_a_function_of_a_file_beside_the_plan(tmp_path):
    (tmp_path / "learners.py").write_text(LEARNERS)
    (tmp_path / "plans").mkdir()
    mapping = {
        "datasets": [TEXT],
        "learners": [{"estimator": "../learners.py:bayes", "params": {"alpha": 2}}],
    }
    found = parse_plan(mapping, folder=tmp_path / "plans")
    (trial, *_) = list_trials(found)
    assert trial.estimator == "learners.py:bayes"
    assert trial.params == {"classifier__alpha": 2}
    assert trial.estimator_folder == str(tmp_path)
    # Results do not depend on where the file is.
    assert str(tmp_path) not in json.dumps(trial.to_json())
    moved = shutil.move(tmp_path, f"{tmp_path} moved")
    again = parse_plan(mapping, folder=Path(moved, "plans"))
    assert trial_key(list_trials(again)[0], "data") == trial_key(trial, "data")
    assert found.fingerprint() == again.fingerprint()


def test_files_of_the_same_name_in_different_folders_are_different_modules(tmp_path):
    for folder, alpha in (("a", 0.25), ("b", 0.75)):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "learners.py").write_text(LEARNERS.replace("0.5", str(alpha)))
    alphas = [
        load_factory("learners.py:bayes", str(tmp_path / folder))().alpha for folder in ("a", "b")
    ]
    assert alphas == [0.25, 0.75]


def test_pipeline_is_used_as_it_is(tmp_path):
    (tmp_path / "learners.py").write_text(LEARNERS)
    learner = {"estimator": "learners.py:pipeline", "params": {"alpha": 2}}
    found = parse_plan({"datasets": [TEXT], "learners": [learner]}, folder=tmp_path)
    assert found.learners[0].params == {"multinomialnb__alpha": 2}


def test_pipeline_of_an_estimator_has_its_vectorizer_scaler_and_random_state():
    forest = "sklearn.ensemble:RandomForestClassifier"
    given = {"random_state": 3, "n_jobs": 1}
    text = make_pipeline(forest, weighting="tf", vectorizer_params={"min_df": 2}, **given)
    assert (text["vectorizer"].weighting, text["vectorizer"].min_df) == ("tf", 2)
    assert (text["classifier"].random_state, text["classifier"].n_jobs) == (3, 1)
    # What the plan sets overrides the learner's default.
    other = make_pipeline(forest, weighting="tf", vectorizer_params={"weighting": "tfidf"})
    assert other["vectorizer"].weighting == "tfidf"
    scaled = make_pipeline(forest, input="numeric", scaler="minmax")
    assert list(scaled.named_steps) == ["scaler", "classifier"]
    plain = make_pipeline(forest, input="numeric", scaler="minmax", scale=False)
    assert list(plain.named_steps) == ["classifier"]


@pytest.mark.parametrize(
    ("given", "complete"),
    [
        ({"kind": "repeated"}, ("stratified", 5, 5, None)),
        ({"kind": "repeated", "repeats": 2, "folds": 3}, ("stratified", 3, 2, None)),
        ({"kind": "grouped"}, ("grouped", 5, 1, None)),
        ({"kind": "fixed"}, ("fixed", 1, 1, None)),
        ({"kind": "holdout"}, ("holdout", 1, 1, 0.2)),
        ({"kind": "holdout", "repeats": 3, "test_size": 0.5}, ("holdout", 1, 3, 0.5)),
    ],
)
def test_evaluation_defaults_depend_on_the_kind(given, complete):
    found = plan(evaluation=given).evaluation
    assert (found.kind, found.folds, found.repeats, found.test_size) == complete


@pytest.mark.parametrize(
    ("evaluation", "sentence"),
    [
        ({"kind": "stratifed"}, "evaluation.kind must be 'stratified', "),
        ({"fold": 3}, "evaluation: there is no key 'fold'; did you mean 'folds'?"),
        ({"folds": 1}, "evaluation folds must be at least 2; got 1"),
        ({"folds": "5"}, "evaluation.folds must be an integer; got '5'"),
        ({"folds": True}, "evaluation.folds must be an integer; got True"),
        ({"kind": "fixed", "folds": 5}, "evaluation folds has no effect with kind = 'fixed'"),
        ({"kind": "fixed", "repeats": 2}, "evaluation repeats has no effect with kind = 'fixed'"),
        (
            {"kind": "repeated", "repeats": 1},
            "evaluation repeats must be at least 2 with kind = 'repeated'",
        ),
        ({"test_size": 0.3}, "evaluation test_size needs kind = 'holdout'"),
        (
            {"kind": "holdout", "test_size": 1.5},
            "evaluation.test_size must be less than 1; got 1.5",
        ),
        ({"repeats": 0}, "evaluation.repeats must be greater than or equal to 1; got 0"),
        ({"train_fractions": [0.5, 0.1]}, "evaluation train_fractions must be strictly increasing"),
        ({"train_fractions": [0.0, 1.0]}, "evaluation train_fractions must be numbers in (0, 1]"),
        ({"train_fractions": []}, "evaluation train_fractions must be numbers in (0, 1]"),
        ({"train_fractions": 0.5}, "evaluation.train_fractions must be a list; got 0.5"),
        (5, "evaluation must be a table; got 5"),
    ],
)
def test_invalid_evaluation_raises(evaluation, sentence):
    assert error_of(evaluation=evaluation).startswith(sentence)


@pytest.mark.parametrize(
    ("tables", "sentence"),
    [
        ({"protcol": "x.toml"}, "there is no key 'protcol'; did you mean 'protocol'?"),
        ({"protocol": "absent.toml"}, "the protocol absent.toml cannot be read: No such file"),
        ({"protocol": 17}, "protocol must be a string; got 17"),
        ({"seed": -1}, "seed must be greater than or equal to 0; got -1"),
        ({"metric": "micro"}, "metric must be 'micro_f1', 'macro_f1', 'f1', 'samples_f1', 'sub"),
        (
            {"tuning": {"kind": "bag"}},
            "tuning.kind must be 'cv', 'oob', 'loo' or 'auto'; got 'bag'",
        ),
        ({"tuning": {"folds": 1}}, "tuning.folds must be greater than or equal to 2; got 1"),
        (
            {"tuning": {"kind": "loo", "sample": 1}},
            "tuning.sample must be greater than or equal to 2; got 1",
        ),
        (
            {"tuning": {"kind": "loo", "sample": 0.1}},
            "tuning.sample must be an integer; got 0.1",
        ),
        (
            {"tuning": {"sample": 1000}},
            "tuning sample needs kind = 'loo' or 'auto'; the kind is 'cv'",
        ),
        ({"tuning": {"kind": "oob", "sample": 1000}}, "tuning sample needs kind = 'loo'"),
        (
            {"vectorizer": {"mindf": 2}},
            "vectorizer: there is no key 'mindf'; did you mean 'min_df'?",
        ),
        (
            {"vectorizer": {"preset": "socail"}},
            "vectorizer: there is no preset 'socail'; did you mean 'social'?",
        ),
        (
            {"vectorizer": {"auto_for": "forest"}},
            "vectorizer: auto_for must be 'trees', 'linear', 'linear_ngrams', 'naive_bayes' or ",
        ),
        ({"vectorizer": {"min_df": -1}}, "vectorizer: min_df "),
        ({"vectorizer": 3}, "vectorizer must be a table; got 3"),
        ({"datasets": []}, "datasets must have at least one entry"),
        ({"learners": {"recipe": "svm"}}, "learners must be a list; got {'recipe': 'svm'}"),
    ],
)
def test_invalid_key_or_value_raises(tables, sentence):
    with pytest.raises(CordwoodError) as caught:
        parse_plan({"datasets": [TEXT], "learners": [{"recipe": "svm"}], **tables})
    assert str(caught.value).startswith(sentence)


@pytest.mark.parametrize(
    ("dataset", "sentence"),
    [
        ({"name": "docstring"}, "data set 1: there is no data set 'docstring'; did you mean 'docs"),
        ({}, "data set 1 needs a name or a path"),
        ({"nam": "docstrings", "path": "x"}, "data set 1: there is no key 'nam'; did you mean 'na"),
        ({"path": "absent.csv"}, "data set 1: there is no file "),
        ({"path": ["absent.csv", "x.csv"]}, "data set 1: there is no file "),
        ({"path": [3]}, "data set 1, path.0 must be a string; got 3"),
        ({"path": []}, "data set 1 needs a name or a path"),
        (
            {"name": "docstrings", "label_separator": ";"},
            "data set 1: label_separator applies to files only; add a path",
        ),
        ({"name": "docstrings", "label": "topic"}, "data set 1: label names a column, which needs"),
        ({"name": "docstrings", "text": "body"}, "data set 1: text names a column, which needs a "),
        (
            {**TEXT, "vectorizer": {"mindf": 2}},
            "data set 1, vectorizer: there is no key 'mindf'; did you mean",
        ),
        ({**TEXT, "text": {"preset": "social"}}, "data set 1, text must be a column or a list of"),
        ({**TEXT, "group_pattern": "("}, "data set 1, group_pattern is not a regular expression"),
        (
            {"path": "x.csv", "group": "g", "group_pattern": "^."},
            "data set 1 has both a group and a group_pattern",
        ),
        ({**TEXT, "kind": "numeric"}, "data set 1: kind is 'numeric', but the data set is text"),
        ({"name": 3}, "data set 1, name must be a string; got 3"),
        ("docstrings", "data set 1 must be "),
    ],
)
def test_invalid_data_set_raises(dataset, sentence):
    assert error_of([dataset]).startswith(sentence)


def test_file_of_unknown_format_raises(tmp_path):
    (tmp_path / "rows.xyz").write_text("")
    assert "rows.xyz" in error_of([{"path": str(tmp_path / "rows.xyz")}])


@pytest.mark.parametrize(
    ("learner", "sentence"),
    [
        ({"recipe": "smv"}, "learner 1: unknown recipe 'smv'; did you mean 'svm'?"),
        ({"name": "RF"}, "learner 1 needs either a recipe or an estimator"),
        ({"recipe": "svm", "gird": {}}, "learner 1: there is no key 'gird'; did you mean 'grid'?"),
        (
            {"recipe": "svm", "params": {"c": 1}},
            "learner 1, params: recipe 'svm' has no parameter 'c'; did you mean 'C'?",
        ),
        (
            {"recipe": "rf", "grid": {"n_estimator": [1, 2]}},
            "learner 1, grid: recipe 'rf' has no parameter 'n_estimator'; did you mean 'n_est",
        ),
        ({"recipe": "svm", "grid": {"C": 1}}, "learner 1, grid must list the values of C; got 1"),
        ({"recipe": "svm", "grid": {"C": []}}, "learner 1, grid must list the values of C; got []"),
        (
            {"recipe": "svm", "grid": "papers"},
            "learner 1, grid must be a table of lists, or 'default'; got 'papers'",
        ),
        (
            {"recipe": "nb", "numeric_grid": "default"},
            "learner 1, numeric_grid must be a table of lists; got 'default'",
        ),
        (
            {"recipe": "nb", "params": {"alpha": 1}, "numeric_grid": {"alpha": [1, 2]}},
            "learner 1: classifier__alpha is both in params and in grid",
        ),
        (
            {"recipe": "svm", "params": {"C": float("inf")}},
            "learner 1, params has C = inf; use strings, finite numbers",
        ),
        (
            {"recipe": "svm", "params": {"C": 1}, "grid": {"classifier__C": [1, 2]}},
            "learner 1: classifier__C is both in params and in grid",
        ),
        (
            {"recipe": "svm", "params": {"C": 1, "classifier__C": 2}},
            "learner 1, params: classifier__C is given twice",
        ),
        (
            {"recipe": "svm", "estimator": "sklearn.svm:SVC"},
            "learner 1 needs either a recipe or an estimator",
        ),
        ({"recipe": "svm", "weighting": "tf"}, "learner 1 weighting needs an estimator"),
        ({"estimator": "sklearn.svm.SVC"}, "learner 1, estimator must be 'package.module:Class'"),
        ({"estimator": "no_such:SVC"}, "learner 1: estimator 'no_such:SVC' cannot be imported"),
        ({"estimator": "absent.py:SVC"}, "learner 1: estimator 'absent.py:SVC' cannot be imported"),
        (
            {"estimator": "sklearn.svm:SCV"},
            "learner 1: estimator 'sklearn.svm:SCV': sklearn.svm has",
        ),
        (
            {"estimator": "sklearn.svm:SVC", "params": {"c": 1}},
            "learner 1, params: the estimator has no parameter 'c'; did you mean 'C'?",
        ),
        (
            {"estimator": "sklearn.svm:SVC", "grid": "default"},
            "learner 1: grid = 'default' needs a recipe",
        ),
    ],
)
def test_invalid_learner_raises(learner, sentence):
    assert error_of(learners=[learner]).startswith(sentence)


def test_all_errors_are_reported_at_once():
    message = error_of([{"name": "docstring"}], [{"recipe": "smv"}, {"recipe": "svm"}])
    assert message.startswith("2 errors in the plan: (1) data set 1: ")
    assert "; (2) learner 1: unknown recipe 'smv'" in message


def test_conflict_of_vectorizer_params_is_reported_with_the_data_set():
    dataset = {**TEXT, "vectorizer": {"analyzer": "char"}}
    message = error_of([dataset, NUMBERS], vectorizer={"stop_words": "smart"})
    assert message.startswith("data set 1, vectorizer: stop_words ")
    message = error_of([TEXT, NUMBERS], vectorizer={"mindf": 2})
    assert message.count("mindf") == 1


def test_names_must_be_unique():
    assert error_of([TEXT, TEXT]) == "2 data sets have the name 'docstrings'; names must be unique"
    learners = [{"recipe": "svm"}, {"recipe": "svm", "params": {"C": 2}}]
    assert error_of(learners=learners) == "2 learners have the name 'svm'; names must be unique"


def test_missing_package_raises_when_the_plan_is_loaded(without_packages):
    assert error_of(learners=[{"recipe": "xgboost"}]).endswith("pip install xgboost")


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"seed = \n", "is not valid TOML: .*line 1"),
        (b"name = '\xff'", "is not UTF-8 at byte 9"),
        (b"sead = 1", "plan.toml: .*there is no key 'sead'; did you mean 'seed'"),
    ],
)
def test_invalid_file_raises(content, sentence, tmp_path):
    (tmp_path / "plan.toml").write_bytes(content)
    with pytest.raises(CordwoodError, match=sentence):
        load_plan(tmp_path / "plan.toml")


def test_missing_file_raises(tmp_path):
    with pytest.raises(CordwoodError, match=r"absent\.toml cannot be read: No such file"):
        load_plan(tmp_path / "absent.toml")


def test_dates_are_rejected_as_parameters(tmp_path):
    (tmp_path / "plan.toml").write_text(
        'datasets = [{name = "docstrings"}]\n'
        'learners = [{recipe = "svm", params = {C = 2020-01-01}}]\n'
    )
    with pytest.raises(CordwoodError, match="params has C = datetime"):
        load_plan(tmp_path / "plan.toml")


def test_fingerprint_depends_on_content_and_not_on_location(tmp_path):
    prints = []
    for folder, seed in (("one", 1), ("two", 1), ("two", 2)):
        (tmp_path / folder).mkdir(exist_ok=True)
        pd.DataFrame({"text": ["a"], "label": ["x"]}).to_csv(tmp_path / folder / "d.csv")
        dataset = {"path": str(tmp_path / folder / "d.csv")}
        prints.append(plan([dataset], seed=seed).fingerprint())
    assert prints[0] == prints[1] != prints[2]


def test_numeric_grid_replaces_entries_on_numeric_data():
    learners = [
        {"recipe": "nb", "name": "default", "grid": "default"},
        {"recipe": "nb", "name": "own", "grid": {"alpha": [1, 2]}, "numeric_grid": {"alpha": [3]}},
        {"recipe": "svm", "grid": "default"},
    ]
    evaluation = {"kind": "holdout"}
    trials = list_trials(plan([TEXT, NUMBERS], learners, evaluation=evaluation))
    grids = {(trial.dataset, trial.learner): trial.grid for trial in trials}
    variants = ["multinomial", "complement"]
    assert grids["docstrings", "default"]["classifier__variant"] == variants
    assert grids["sklearn:iris", "default"]["classifier__variant"] == [*variants, "gaussian"]
    assert grids["docstrings", "own"] == {"classifier__alpha": [1, 2]}
    assert grids["sklearn:iris", "own"] == {"classifier__alpha": [3]}
    assert grids["sklearn:iris", "svm"] == grids["docstrings", "svm"]


def test_lookup_only_needs_no_data():
    mapping = {
        "vectorizer": {"min_df": 2},
        "datasets": [
            {"name": "webkb"},
            {"name": "my numbers", "kind": "numeric"},
            {"path": "absent.csv", "text": "body"},
            NUMBERS,
        ],
        "learners": [{"recipe": "svm"}],
    }
    with pytest.raises(CordwoodError, match="^3 errors in the plan"):
        parse_plan(mapping)
    found = parse_plan(mapping, lookup_only=True).datasets
    assert [dataset.kind for dataset in found] == ["text", "numeric", "text", "numeric"]
    assert [dataset.vectorizer for dataset in found[:2]] == [{"min_df": 2}, {}]
    # The kind of data that are available must agree with the plan.
    wrong = {**mapping, "datasets": [{**NUMBERS, "kind": "text"}]}
    with pytest.raises(CordwoodError, match="kind is 'text', but the data set is numeric"):
        parse_plan(wrong, lookup_only=True)


def test_lookup_only_needs_no_packages_of_learners(without_packages):
    learners = [
        {"recipe": "xgboost", "grid": {"classifier__estimator__max_depth": [3, 5]}},
        {"recipe": "quick", "params": {"members": ["nb", "lightgbm"], "combiner": "pool"}},
    ]
    mapping = {"datasets": [TEXT], "learners": learners}
    with pytest.raises(CordwoodError, match="pip install xgboost"):
        parse_plan(mapping)
    found = parse_plan(mapping, lookup_only=True).learners
    assert found[0].grid == {"classifier__estimator__max_depth": [3, 5]}
    assert found[1].params == {"members": ["nb", "lightgbm"], "combiner": "pool"}


@pytest.mark.parametrize(
    ("table", "sentence"),
    [
        (
            {"name": "docstrings", "categories": "mail"},
            "categories must be a list of labels; got 'mail'",
        ),
        ({"name": "docstrings", "categories": []}, "categories must be a list of labels; got []"),
        ({"categories": ["mail"]}, "a data set with categories needs a name or a path"),
        ({"name": "docstrings", "catgories": ["mail"]}, "did you mean 'categories'?"),
    ],
)
def test_invalid_categories_raise(table, sentence):
    assert sentence in error_of([table])


def test_booleans_must_be_booleans():
    message = error_of([{**TEXT, "header": "yes"}])
    assert "data set 1, header must be true or false; got 'yes'" in message


PROCEDURE = """
from cordwood.compare.runner.procedure import Procedure

class Every(Procedure):
    def check(self, plan):
        if "every" not in plan.options:
            yield "options.every is missing"

    def list_trials(self, plan):
        return super().list_trials(plan)[:: plan.options["every"]]
"""


def test_protocol_names_the_procedure_of_its_plans(tmp_path):
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "every.py").write_text(PROCEDURE)
    protocol = tmp_path / "own" / "protocol.toml"
    protocol.write_text('procedure = "every.py:Every"\n')
    found = plan(protocol=str(protocol), options={"every": 2})
    assert [trial.fold for trial in list_trials(found)] == [0, 2, 4]
    usual = list_trials(plan())
    assert [trial_key(t, "") for t in list_trials(found)] == [trial_key(t, "") for t in usual[::2]]
    assert error_of(protocol=str(protocol)) == "options.every is missing"
    assert "has no class or function 'No'" in error_of(procedure=f"{tmp_path}/own/every.py:No")
    assert error_of(options={"every": 2}) == "options need a procedure, and the plan has none"


PAGE = Path(__file__).parents[3] / "docs" / "plans.md"


def test_every_key_is_documented():
    page = PAGE.read_text(encoding="utf-8")
    tables = (Plan, EvaluationConfig, TuningConfig, DatasetConfig, LearnerConfig)
    keys = {key for table in tables for key in table.model_fields} | {"categories", *READ_KEYS}
    keys -= {"read"}  # whose fields are keys beside the others
    shown = set(re.findall(r"`\[*(\w+)\]*`", page))
    assert keys - shown == set()
