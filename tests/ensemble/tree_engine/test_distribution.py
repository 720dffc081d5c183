"""Do our forests have the distribution of scikit-learn's? Asked of many seeds.

Each test rejects equal distributions by mistake with a probability of 1e-4; seeds are fixed, so
that a test which passes here fails only when the trees change.

Power, for the 600 trees of each kind: Welch's t test finds, nine times in ten, means that differ
by (z(1 - 1e-4 / 2) + z(0.9)) * sqrt(2 / 600) = 0.3 standard deviations. That is three leaves of 45
to 85, three quarters of a level of 12 to 18, and a point and a half in the accuracy of a single
tree. For the 15 forests of each kind it is 2.1 standard deviations, or one point of accuracy. For
the 100 trees on real data it is 0.73 standard deviations.
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

from cordwood.ensemble._tree_engine.grower import vote
from cordwood.ensemble._tree_engine.importances import unfold
from cordwood.ensemble.forests import ExtraTreesClassifier, RandomForestClassifier

ROOT = Path(__file__).parents[2]
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
def data(words):
    X, codes = words(500, 150, N_CLASSES, 12)
    X = sp.csr_matrix(X)
    return X[:250], codes[:250], X[250:], codes[250:]


@pytest.fixture(scope="module", params=PAIRS)
def both(request, data):
    """What is measured of trees and of forests: ours, and scikit-learn's."""
    X, codes, X_test, codes_test = data
    ours, theirs, bootstrap = PAIRS[request.param]

    def fit(kind, seed):
        return kind(N_TREES, bootstrap=bootstrap, oob_score=bootstrap, random_state=seed).fit(
            X, codes
        )

    samples = []
    for kind, measure in ((ours, measure_ours), (theirs, measure_theirs)):
        forests = [fit(kind, seed) for seed in range(N_FORESTS)]
        sample = {
            name: np.concatenate([of_forest[name] for of_forest in map_all(measure, forests, data)])
            for name in ("root", "leaves", "depth", "accuracy")
        }
        sample["forest accuracy"] = [forest.score(X_test, codes_test) for forest in forests]
        if bootstrap:
            sample["oob score"] = [forest.oob_score_ for forest in forests]
        samples.append(sample)
    return samples


def map_all(measure, forests, data):
    return [measure(forest, *data[2:]) for forest in forests]


def measure_ours(model, X_test, codes_test):
    trees = [unfold(model.forest_, tree, N_CLASSES) for tree in range(N_TREES)]
    accuracy = []
    for tree in range(N_TREES):
        # All other trees see every row, as `bags` have it, and do not vote.
        bags = np.full((N_TREES, -(-X_test.shape[0] // 8)), 255, np.uint8)
        bags[tree] = 0
        votes, _ = vote(model.forest_, X_test.astype(np.float32), N_CLASSES, bags=bags)
        accuracy.append((votes.argmax(axis=1) == codes_test).mean())
    return {
        "root": [nodes.feature[0] for nodes in trees],
        "leaves": [(nodes.left < 0).sum() for nodes in trees],
        "depth": [nodes.depth.max() for nodes in trees],
        "accuracy": accuracy,
    }


def measure_theirs(model, X_test, codes_test):
    trees = [member.tree_ for member in model.estimators_]
    return {
        "root": [tree.feature[0] for tree in trees],
        "leaves": [tree.n_leaves for tree in trees],
        "depth": [tree.max_depth for tree in trees],
        "accuracy": [(member.predict(X_test) == codes_test).mean() for member in model.estimators_],
    }


def test_roots_ask_for_the_same_words_equally_often(both):
    """Chi-square of two samples; words that are rare at the root are pooled."""
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
    # Not only the means: the ranks are mixed evenly from the lowest to the highest.
    assert stats.ks_2samp(ours, theirs).pvalue > ALPHA


def test_forests_are_equally_accurate_on_new_rows_and_out_of_bag(both):
    for name in {"forest accuracy", "oob score"} & both[0].keys():
        ours, theirs = (sample[name] for sample in both)
        assert stats.ttest_ind(ours, theirs, equal_var=False).pvalue > ALPHA, name


def read_words(path):
    with gzip.open(path, "rt", encoding="utf-8") as file:
        documents = [json.loads(line) for line in file]
    X = CountVectorizer(min_df=6).fit_transform(document["text"] for document in documents)
    return X.astype(np.float32), np.array([document["label"] for document in documents])


def read_numbers(path):
    with np.load(path) as arrays:
        return sp.csr_matrix(arrays["X"], dtype=np.float32), arrays["y"]


@pytest.mark.parametrize(
    ("name", "read"), [("bbc.jsonl.gz", read_words), ("spambase.npz", read_numbers)]
)
@pytest.mark.parametrize("pair", ["RF", "ET with bootstrap"])
def test_trees_on_real_data_have_the_same_size_and_depth(name, read, pair):
    path = Path(os.environ.get("CORDWOOD_DATA") or ROOT.parent / "shared" / "datasets", name)
    if not path.is_file():
        pytest.skip(f"{name} is not here: name its folder with CORDWOOD_DATA")
    X, labels = read(path)
    chosen = np.random.default_rng(0).permutation(X.shape[0])[:1000]
    codes = np.unique(labels[chosen], return_inverse=True)[1]
    ours, theirs, bootstrap = PAIRS[pair]
    n_classes = codes.max() + 1
    sizes, depths = [], []
    model = ours(100, bootstrap=bootstrap, random_state=0).fit(X[chosen], codes)
    trees = [unfold(model.forest_, tree, n_classes) for tree in range(100)]
    sizes.append([(nodes.left < 0).sum() for nodes in trees])
    depths.append([nodes.depth.max() for nodes in trees])
    model = theirs(100, bootstrap=bootstrap, random_state=0).fit(X[chosen], codes)
    sizes.append([member.tree_.n_leaves for member in model.estimators_])
    depths.append([member.tree_.max_depth for member in model.estimators_])
    for both in (sizes, depths):
        assert stats.ttest_ind(*both, equal_var=False).pvalue > ALPHA


@pytest.mark.parametrize("forest", [RandomForestClassifier, ExtraTreesClassifier])
def test_on_labels_at_random_the_out_of_bag_accuracy_is_chance(words, forest):
    """Correct answers are binomial around a third: 900 rows allow 0.273 to 0.397."""
    X, _ = words(900, 150, N_CLASSES, 3)
    labels = np.random.default_rng(5).integers(0, 3, 900)
    model = forest(60, bootstrap=True, oob_score=True, random_state=0).fit(X, labels)
    n_right = round(model.oob_score_ * 900)
    assert stats.binomtest(n_right, 900, 1 / 3).pvalue > ALPHA
    assert model.score(X, labels) > 0.95  # it is not the trees that cannot learn
