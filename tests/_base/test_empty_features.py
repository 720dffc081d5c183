import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.feature_selection import VarianceThreshold
from sklearn.utils.estimator_checks import parametrize_with_checks

from cordwood import TextClassifier, load
from cordwood._base.empty_features import EmptyFeatureRemover
from cordwood.compare.config.plan import parse_plan
from cordwood.compare.runner.ledger import Ledger
from cordwood.compare.runner.run import run
from cordwood.datasets.readers import read_dataset


@pytest.mark.parametrize("seed", range(5))
def test_result_equals_that_of_variance_threshold(seed):
    rng = np.random.default_rng(seed)
    X = sp.random_array((20, 60), density=0.03, format="csr", rng=rng)
    new = sp.random_array((10, 60), density=0.3, format="csr", rng=rng)
    ours, theirs = EmptyFeatureRemover().fit(X), VarianceThreshold().fit(X)
    np.testing.assert_array_equal(ours.transform(X).toarray(), theirs.transform(X).toarray())
    np.testing.assert_array_equal(ours.transform(new).toarray(), theirs.transform(new).toarray())
    assert ours.get_feature_names_out().tolist() == theirs.get_feature_names_out().tolist()


@parametrize_with_checks([EmptyFeatureRemover()])
def test_follows_the_estimator_contract(estimator, check):
    check(estimator)


def test_matrix_without_values_keeps_one_feature():
    assert EmptyFeatureRemover().fit_transform(sp.csr_array((3, 9))).shape == (3, 1)


# Twenty rows whose features are numbered by a hash, and the same rows numbered from 1.
ROWS = [(label, number % 3, number % 4) for number, label in enumerate("0101010101" * 2)]
HASHED = (7, 1_234_567_890, 2_147_483_646)


def write(path, features):
    path.write_text(
        "".join(
            f"{label} {features[0]}:{1 + i} {features[1]}:{2 * int(label) + 1} {features[2]}:{j}\n"
            for label, i, j in ROWS
        )
    )
    return path


@pytest.mark.parametrize("recipe", ["rf", "knn", "lazy_rf", "boosted_rf", "lpuboost", "svm", "nb"])
def test_huge_feature_indices_are_learned(recipe, tmp_path):
    hashed = read_dataset(write(tmp_path / "hashed.svm", HASHED))
    # Without column 0, which is empty in a file that counts from 1.
    plain = read_dataset(write(tmp_path / "plain.svm", (0, 1, 2)))
    model = TextClassifier(recipe).fit(hashed)
    expected = TextClassifier(recipe).fit(plain).predict_proba(plain)
    np.testing.assert_array_equal(model.predict_proba(hashed), expected)
    model.save(tmp_path / "model.cordwood")
    loaded = load(tmp_path / "model.cordwood")
    narrow = read_dataset(write(tmp_path / "narrow.svm", (7, 8, 9)))
    np.testing.assert_allclose(
        loaded.predict_proba(narrow),
        model.predict_proba(narrow),
        atol=1e-3,  # of compact files
    )


def test_huge_feature_indices_are_compared(tmp_path):
    write(tmp_path / "hashed.svm", HASHED)
    write(tmp_path / "plain.svm", (0, 1, 2))
    plan = parse_plan(
        {
            "evaluation": {"folds": 2},
            "datasets": [
                {"path": "hashed.svm", "kind": "numeric"},
                {"path": "plain.svm", "kind": "numeric"},
            ],
            "learners": [{"recipe": "knn"}],
        },
        folder=tmp_path,
    )
    summary = run(plan, Ledger(tmp_path / "ledger.jsonl"))
    assert (summary.n_done, summary.n_failed) == (4, 0)
    scores = {"hashed": [], "plain": []}
    for record in summary.records:
        scores[record["trial"]["dataset"]].append(record["scores"])
    assert scores["hashed"] == scores["plain"]
