"""How do LightGBM and XGBoost compare on text, in time and accuracy?

    python dev.py bench forest_peers [--set 20ng]

CPU time of one fit per model, with one thread, on the same sparse matrix of counts. LightGBM and
XGBoost grow one tree per class in each round. Their forests draw sqrt features at each node and
63.2 % of the documents for each tree, the expected fraction in a bootstrap sample; other parameters
have their defaults, except that "deep" forests may have 1,000 leaves per tree and one document per
leaf. LightGBM treats entries that the matrix does not store as zero. XGBoost treats them as
missing, and tries both directions for missing values at each split, so that it can split on the
presence of a word. The last line is the time of the most accurate of these models relative to our
random forest.
"""

import argparse
import time
from typing import Any

import lightgbm
import xgboost
from sklearn import ensemble

import corpora
from cordwood.ensemble import forests
from stopwatch import load, measure, print_head, print_row, print_run

BOOTSTRAP_FRACTION = 0.632


def main(name: str) -> None:
    print_run("lightgbm", "xgboost")
    split = corpora.load_split(name)
    print(split.describe())
    forests.RandomForestClassifier(1).fit(split.X, split.y)  # compiles or loads kernels
    print_head("model", "rounds", "fit, s", "accuracy")
    ours: dict[str, Any] = {
        "cordwood, random forest": forests.RandomForestClassifier(100),
        "cordwood, extra-trees": forests.ExtraTreesClassifier(100, bootstrap=True),
        "scikit-learn, random forest": ensemble.RandomForestClassifier(100),
        "scikit-learn, extra-trees": ensemble.ExtraTreesClassifier(100, bootstrap=True),
    }
    seconds, _ = [run(title, model, split) for title, model in ours.items()][0]
    fraction = split.X.shape[1] ** -0.5
    peers = {**list_lightgbm(fraction), **list_xgboost(fraction)}
    results = {title: run(title, model, split) for title, model in peers.items()}
    best = max(results, key=lambda title: results[title][1])
    print(f"\nload at the end{load()}")
    ratio = results[best][0] / seconds
    print(f"fit time of the most accurate peer relative to ours: {ratio:.0f} ({best})")


def list_lightgbm(fraction: float) -> dict[str, Any]:
    options: dict[str, Any] = {"n_jobs": 1, "verbose": -1}
    forest = {
        "boosting_type": "rf",
        "subsample": BOOTSTRAP_FRACTION,
        "subsample_freq": 1,
        "feature_fraction_bynode": fraction,
        **options,
    }
    return {
        "LightGBM, forest": lightgbm.LGBMClassifier(n_estimators=50, **forest),
        "LightGBM, deep forest": lightgbm.LGBMClassifier(
            n_estimators=5, num_leaves=1000, min_child_samples=1, **forest
        ),
        "LightGBM, boosting": lightgbm.LGBMClassifier(n_estimators=100, **options),
    }


def list_xgboost(fraction: float) -> dict[str, Any]:
    # XGBRFClassifier hands its rounds to XGBoost as num_parallel_tree.
    forest: dict[str, Any] = {
        "subsample": BOOTSTRAP_FRACTION,
        "colsample_bynode": fraction,
        "n_jobs": 1,
    }
    deep = {
        "grow_policy": "lossguide",
        "max_depth": 0,
        "max_leaves": 1000,
        "min_child_weight": 0,
    }
    return {
        "XGBoost, forest": xgboost.XGBRFClassifier(n_estimators=100, **forest),
        "XGBoost, deep forest": xgboost.XGBRFClassifier(n_estimators=5, **deep, **forest),
        "XGBoost, boosting": xgboost.XGBClassifier(n_estimators=100, n_jobs=1),
    }


def run(title: str, model: Any, split: corpora.Split) -> tuple[float, float]:
    """Fit a model, print a row, and return its seconds and its accuracy."""
    model.set_params(random_state=0)
    seconds, _ = measure(model.fit, split.X, split.y, clock=time.process_time)
    accuracy = float((model.predict(split.X_test) == split.y_test).mean())
    print_row(title, str(model.n_estimators), f"{seconds:.1f}", f"{accuracy:.3f}")
    return seconds, accuracy


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Compare other tree libraries with ours.")
    parser.add_argument("--set", default="20ng")
    main(parser.parse_args().set)
