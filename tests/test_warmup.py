"""`cordwood warmup` compiles every kernel that estimators and recipes use."""

import json
import os
import subprocess
import sys

from cordwood._warmup import _make_steps, warmup
from cordwood.cli import compile_ahead

# Fits every recipe that needs no optional package, and forests of many features.
USE = """
import warnings
warnings.simplefilter("ignore")
import numpy as np, scipy.sparse as sp
from cordwood import *
from cordwood._view import view_model
from cordwood.cli.commands import SAVABLE_RECIPES
from cordwood.explain.explainer import Explainer

rng = np.random.default_rng(1)
y = np.arange(60) % 3
words = [f"word{i}" for i in range(60)]
texts = [" ".join(rng.choice(words[20 * k : 20 * k + 30], 20)) for k in y]
for name in SAVABLE_RECIPES:
    model = recipes.make(name, random_state=0).fit(texts, y)
    model.predict_proba(texts)
    if name in ("rf", "et", "boosted_rf", "lazy_rf"):
        Explainer(view_model(model)).explain(texts[0])
audit.find_near_duplicates(texts)

X = sp.random(60, 50_000, 0.01, "csr", random_state=rng)
for estimator in (
    RandomForestClassifier(2, oob_score=True, class_weight="balanced_subsample"),
    ExtraTreesClassifier(2, criterion="entropy"),
    BoostedForestClassifier(2, oob_error=False, oob_updates=False),
    BoostedForestClassifier(2, cross_fit=2, base="rf"),
    AdaBoostM2Classifier(2, bootstrap=False),
    LazyForestClassifier(5, 2),
    NeighborsClassifier(5, metric="euclidean"),
    LinearSVMClassifier(loss="hinge"),
    LinearSVMClassifier(nb_scaling=0.5),
):
    estimator.fit(X, y).predict_proba(X)
    for method in ("kneighbors", "loo_decision_function", "to_sklearn"):
        if hasattr(estimator, method):
            getattr(estimator, method)()
    getattr(estimator, "feature_importances_", None)
"""


def run_child(arguments, cache_dir):
    child = subprocess.run(
        [sys.executable, *arguments],
        env={**os.environ, "NUMBA_CACHE_DIR": str(cache_dir)},
        capture_output=True,
        text=True,
    )
    assert child.returncode == 0, child.stderr
    return child


def list_files(directory):
    return {path.name for path in directory.rglob("*") if path.is_file()}


def test_nothing_is_left_to_compile_after_warmup(tmp_path):
    for code in (compile_ahead._FOREST, compile_ahead._OTHERS):
        run_child(["-c", code], tmp_path)
    ahead = list_files(tmp_path)
    names = {name.split(".")[-3] for name in ahead}
    assert names >= {"grow_tree", "vote_range", "solve_dual", "find_by_cosine", "pool_loss"}
    child = run_child(["-m", "cordwood", "warmup", "--json"], tmp_path)
    record = json.loads(child.stdout)
    compiled = list_files(tmp_path)
    assert ahead < compiled
    assert record["n_files"] == len(compiled) > 20
    assert record["cache_dir"].startswith(str(tmp_path))
    assert child.stderr.count("the first time only") == 1
    child = run_child(["-c", USE], tmp_path)
    assert list_files(tmp_path) == compiled
    assert "Compiling" not in child.stderr


def test_progress_is_reported():
    calls = []
    warmup(lambda done, total: calls.append((done, total)))
    n_steps = len(list(_make_steps()))
    assert calls == [(done, n_steps) for done in range(n_steps + 1)]


def test_warmup_without_a_writable_directory_is_an_error():
    code = (
        "from cordwood import _warmup; _warmup.CACHE_DIR = None; _warmup._make_steps = list\n"
        "from cordwood.cli.main import run; import sys; sys.argv[1:] = ['warmup']; run()"
    )
    child = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert child.returncode == 1
    assert "set NUMBA_CACHE_DIR" in child.stderr
