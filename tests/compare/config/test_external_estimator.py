import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import StratifiedKFold

from cordwood.compare.config.external_estimator import find_distributions, load_factory
from cordwood.compare.config.plan import parse_plan
from cordwood.compare.runner.ledger import Ledger
from cordwood.compare.runner.run import run
from cordwood.datasets.registry import load_dataset
from cordwood.exceptions import CordwoodError

# A class of its own, so that workers must be able to import the file.
LEARNERS = """
from sklearn.ensemble import RandomForestClassifier

class Forest(RandomForestClassifier):
    def __init__(self, n_estimators=7, random_state=None, n_jobs=None):
        super().__init__(n_estimators, random_state=random_state, n_jobs=n_jobs)
"""


@pytest.fixture
def plan(tmp_path):
    (tmp_path / "learners.py").write_text(LEARNERS)
    mapping = {
        "evaluation": {"folds": 2},
        "datasets": [{"name": "sklearn:iris"}],
        "learners": [
            {"estimator": "learners.py:Forest"},
            {
                "estimator": "sklearn.svm:SVC",
                "params": {"probability": True},
                "grid": {"C": [0.1, 1.0]},
                "scaler": "standard",
            },
        ],
    }
    return parse_plan(mapping, folder=tmp_path)


def scores_of(summary):
    assert summary.n_failed == 0, [record.get("error") for record in summary.records]
    return [record["scores"] for record in summary.records]


@pytest.mark.filterwarnings("ignore::FutureWarning")  # SVC's own probabilities
def test_estimators_run_like_recipes_and_in_worker_processes(plan, tmp_path):
    summary = run(plan, Ledger(tmp_path / "one.jsonl"))
    record = summary.records[0]
    assert record["trial"]["estimator"] == "learners.py:Forest"
    assert set(summary.records[1]["params"]) == {"classifier__C"}
    assert scores_of(run(plan, Ledger(tmp_path / "two.jsonl"), n_jobs=2)) == scores_of(summary)
    # The scores are those of the estimator itself, with the random state of the record.
    iris = load_dataset("sklearn:iris")
    train, test = next(StratifiedKFold(2, shuffle=True, random_state=42).split(iris.X, iris.labels))
    forest = RandomForestClassifier(7, random_state=record["random_state"])
    forest.fit(iris.X[train], [iris.labels[i] for i in train])
    accuracy = forest.score(iris.X[test], [iris.labels[i] for i in test])
    assert record["scores"]["micro_f1"] == pytest.approx(accuracy)


@pytest.mark.filterwarnings("ignore::FutureWarning")
def test_estimators_run_on_a_dask_cluster(plan, tmp_path):
    distributed = pytest.importorskip("distributed")
    expected = scores_of(run(plan, Ledger(tmp_path / "one.jsonl")))
    options = {"n_workers": 1, "threads_per_worker": 1, "dashboard_address": None}
    with distributed.LocalCluster(**options) as cluster:
        summary = run(plan, Ledger(tmp_path / "two.jsonl"), cluster=cluster.scheduler_address)
    assert scores_of(summary) == expected


def test_module_that_raises_is_reported_and_imported_again_when_it_is_mended(tmp_path):
    path = tmp_path / "broken.py"
    path.write_text("1 / 0")
    with pytest.raises(CordwoodError, match=r"'broken.py:make' cannot be imported: ZeroDivision"):
        load_factory("broken.py:make", str(tmp_path))
    path.write_text("make = dict")
    assert load_factory("broken.py:make", str(tmp_path)) is dict


def test_versions_of_the_estimators_package_are_recorded():
    assert find_distributions("pandas.io:x") == ("pandas",)
    assert find_distributions("no_such_package:x") == ()
