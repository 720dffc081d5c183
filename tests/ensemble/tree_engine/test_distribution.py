"""Forests have the distribution of scikit-learn's forests, over many seeds.

Each test has a significance level of 1e-4; seeds are fixed, so a test that passes fails only if the
trees change.

Power, for 600 trees of each kind: Welch's t-test detects, with probability 0.9, means that differ
by (z(1 - 1e-4 / 2) + z(0.9)) * sqrt(2 / 600) = 0.3 standard deviations. That is 3 of 45 to 85
leaves, 0.75 of 12 to 18 levels, and 1.5 percentage points of the accuracy of a single tree. For 15
forests of each kind it is 2.1 standard deviations, or one percentage point of accuracy. For 100
trees on real data it is 0.73 standard deviations.
"""

import gzip
import json
import os
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from scipy import stats
from sklearn import ensemble
from sklearn.feature_extraction.text import CountVectorizer

from cordwood._base.csr import csr_arrays
from cordwood.ensemble.forests import ExtraTreesClassifier, RandomForestClassifier
from cordwood.ensemble.tree_engine.apply import vote
from cordwood.ensemble.tree_engine.importances import expand_tree
from synthetic_data import make_counts

ROOT = Path(__file__).parents[3]
ALPHA = 1e-4
N_FORESTS, N_TREES = 15, 40
N_CLASSES = 4
PAIRS = {
    "RF": (RandomForestClassifier, ensemble.RandomForestClassifier, True),
    "RF without bootstrap": (RandomForestClassifier, ensemble.RandomForestClassifier, False),
    "ET": (ExtraTreesClassifier, ensemble.ExtraTreesClassifier, False),
    "ET with bootstrap": (ExtraTreesClassifier, ensemble.ExtraTreesClassifier, True),
}


@pytest.fixture(scope="module")
def data():
    X, y = make_counts(500, 150, N_CLASSES, 12)
    X = sp.csr_matrix(X)
    return X[:250], y[:250], X[250:], y[250:]


@pytest.fixture(scope="module", params=PAIRS)
def both(request, data):
    """Measurements of trees and of forests: cordwood's, and scikit-learn's."""
    X, y, X_test, y_test = data
    ours, theirs, bootstrap = PAIRS[request.param]

    def fit(kind, seed):
        return kind(N_TREES, bootstrap=bootstrap, oob_score=bootstrap, random_state=seed).fit(X, y)

    samples = []
    for kind, measure in ((ours, measure_ours), (theirs, measure_theirs)):
        forests = [fit(kind, seed) for seed in range(N_FORESTS)]
        sample = {
            name: np.concatenate([of_forest[name] for of_forest in map_all(measure, forests, data)])
            for name in ("root", "leaves", "depth", "accuracy")
        }
        sample["forest accuracy"] = [forest.score(X_test, y_test) for forest in forests]
        if bootstrap:
            sample["oob score"] = [forest.oob_score_ for forest in forests]
        samples.append(sample)
    return samples


def map_all(measure, forests, data):
    return [measure(forest, *data[2:]) for forest in forests]


def measure_ours(model, X_test, y_test):
    trees = [expand_tree(model.forest_, tree, N_CLASSES) for tree in range(N_TREES)]
    accuracy = []
    for tree in range(N_TREES):
        # All samples are in bag for the other trees, which therefore do not vote.
        in_bag = np.full((N_TREES, -(-X_test.shape[0] // 8)), 255, np.uint8)
        in_bag[tree] = 0
        votes, _ = vote(model.forest_, csr_arrays(X_test), N_CLASSES, in_bag=in_bag)
        accuracy.append((votes.argmax(axis=1) == y_test).mean())
    return {
        "root": [nodes.feature[0] for nodes in trees],
        "leaves": [(nodes.left < 0).sum() for nodes in trees],
        "depth": [nodes.depth.max() for nodes in trees],
        "accuracy": accuracy,
    }


def measure_theirs(model, X_test, y_test):
    trees = [member.tree_ for member in model.estimators_]
    return {
        "root": [tree.feature[0] for tree in trees],
        "leaves": [tree.n_leaves for tree in trees],
        "depth": [tree.max_depth for tree in trees],
        "accuracy": [(member.predict(X_test) == y_test).mean() for member in model.estimators_],
    }


def test_roots_split_on_the_same_features_equally_often(both):
    """Chi-square test of two samples; features that are rare at the root are pooled."""
    counts = np.array([np.bincount(sample["root"], minlength=150) for sample in both])
    common = counts.sum(axis=0) >= 20
    table = np.column_stack([counts[:, common], counts[:, ~common].sum(axis=1)])
    assert common.sum() > 10
    assert stats.chi2_contingency(table).pvalue > ALPHA


@pytest.mark.parametrize("name", ["leaves", "depth", "accuracy"])
def test_trees_have_the_same_size_depth_and_accuracy(both, name):
    ours, theirs = (sample[name] for sample in both)
    assert len(ours) == len(theirs) == N_FORESTS * N_TREES
    assert stats.ttest_ind(ours, theirs, equal_var=False).pvalue > ALPHA
    # Not only the means: the whole distributions agree.
    assert stats.ks_2samp(ours, theirs).pvalue > ALPHA


def test_forests_have_the_same_test_and_oob_accuracy(both):
    for name in {"forest accuracy", "oob score"} & both[0].keys():
        ours, theirs = (sample[name] for sample in both)
        assert stats.ttest_ind(ours, theirs, equal_var=False).pvalue > ALPHA, name


def read_texts(path):
    with gzip.open(path, "rt", encoding="utf-8") as file:
        rows = [json.loads(line) for line in file]
    X = CountVectorizer(min_df=6).fit_transform(row["text"] for row in rows)
    return X.astype(np.float32), np.array([row["label"] for row in rows])


def read_numbers(path):
    with np.load(path) as arrays:
        return sp.csr_matrix(arrays["X"], dtype=np.float32), arrays["y"]


@pytest.mark.parametrize(
    ("name", "read"), [("bbc.jsonl.gz", read_texts), ("spambase.npz", read_numbers)]
)
@pytest.mark.parametrize("pair", ["RF", "ET with bootstrap"])
def test_trees_on_real_data_have_the_same_size_and_depth(name, read, pair):
    path = Path(os.environ.get("CORDWOOD_DATA") or ROOT.parent / "shared" / "datasets", name)
    if not path.is_file():
        pytest.skip(f"{name} not found; set CORDWOOD_DATA to its directory")
    X, labels = read(path)
    chosen = np.random.default_rng(0).permutation(X.shape[0])[:1000]
    y = np.unique(labels[chosen], return_inverse=True)[1]
    ours, theirs, bootstrap = PAIRS[pair]
    n_classes = y.max() + 1
    sizes, depths = [], []
    model = ours(100, bootstrap=bootstrap, random_state=0).fit(X[chosen], y)
    trees = [expand_tree(model.forest_, tree, n_classes) for tree in range(100)]
    sizes.append([(nodes.left < 0).sum() for nodes in trees])
    depths.append([nodes.depth.max() for nodes in trees])
    model = theirs(100, bootstrap=bootstrap, random_state=0).fit(X[chosen], y)
    sizes.append([member.tree_.n_leaves for member in model.estimators_])
    depths.append([member.tree_.max_depth for member in model.estimators_])
    for both in (sizes, depths):
        assert stats.ttest_ind(*both, equal_var=False).pvalue > ALPHA


@pytest.mark.parametrize("forest", [RandomForestClassifier, ExtraTreesClassifier])
def test_oob_accuracy_on_random_labels_is_chance(forest):
    """Correct predictions are binomial with p = 1/3: 900 samples allow 0.273 to 0.397."""
    X, _ = make_counts(900, 150, N_CLASSES, 3)
    labels = np.random.default_rng(5).integers(0, 3, 900)
    model = forest(60, bootstrap=True, oob_score=True, random_state=0).fit(X, labels)
    n_correct = round(model.oob_score_ * 900)
    assert stats.binomtest(n_correct, 900, 1 / 3).pvalue > ALPHA
    assert model.score(X, labels) > 0.95  # the trees do fit the training data
