"""Are planted label errors found, compared with cleanlab?

    python dev.py bench label_errors --cleanlab /path/to/python [--sets tweets yelp r8 webkb ohsumed
        20ng] [--max-samples 2000] [--seeds 1]

Replaces 5 % of the labels of each data set by other classes, drawn uniformly. Out-of-fold
probabilities are those of `quick`, and as a baseline those of a logistic regression on TF-IDF in
five folds. Let k be the number of planted errors. The first table has the share of planted errors
among the first k samples of a ranking, which is the precision and the recall at k: of
`find_label_errors`, of the best ranking of cleanlab with the same probabilities, chosen for each
data set after the fact, and of the best one with those of the baseline. The second table has the
precision and the recall of the samples that are reported without knowing k, by
`find_label_errors` and by cleanlab's `find_label_issues` with each of its filters, as means over
the data sets; and the share of the labels of `--relabel` that are right.

Labels of the data sets are taken as right before 5 % of them are replaced; they are not, which
makes all figures too low. `--cleanlab` is the interpreter of an environment with cleanlab, which is
not needed by any other benchmark. The last line is our mean share at k divided by that of the best
ranking of cleanlab on the baseline.
"""

import argparse
import json
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from cordwood import recipes
from cordwood.audit import find_label_errors
from cordwood.audit.dataset_audit import RELABEL_CONFIDENCE
from cordwood.oof.fit import fit_with_oof
from cordwood.oof.records import OOFPredictions
from corpora import load_single_label
from options import at_least
from stopwatch import print_head, print_row, print_run

SHARE = 0.05
MIN_CLASS_SIZE = 10

CLEANLAB = """
import json, sys
import numpy as np
from cleanlab.filter import find_label_issues
from cleanlab.rank import get_label_quality_scores
file = np.load(sys.argv[1])
y, proba = file["y"], np.clip(file["proba"], 1e-12, None)
proba = proba / proba.sum(axis=1, keepdims=True)
scores = {
    name: get_label_quality_scores(y, proba, method=name).tolist()
    for name in ("self_confidence", "normalized_margin", "confidence_weighted_entropy")
}
filters = (
    "prune_by_noise_rate", "prune_by_class", "both", "confident_learning", "predicted_neq_given",
    "low_self_confidence", "low_normalized_margin",
)
issues = {
    name: np.flatnonzero(find_label_issues(y, proba, filter_by=name, n_jobs=1)).tolist()
    for name in filters
}
print(json.dumps({"scores": scores, "issues": issues}))
"""


def run_cleanlab(python: str, oof: OOFPredictions) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "oof.npz")
        np.savez(path, y=oof.y, proba=oof.proba)
        done = subprocess.run(
            [python, "-c", CLEANLAB, str(path)], capture_output=True, text=True, check=True
        )
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def plant(name: str, max_samples: int, seed: int) -> tuple[tuple[str, ...], Any, Any]:
    """Return texts, their labels as codes, and the codes with errors."""
    corpus = load_single_label(name)
    rng = np.random.default_rng(seed)
    corpus = corpus.select(rng.permutation(len(corpus))[:max_samples])
    labels = np.asarray(corpus.labels)
    kept = [i for i, label in enumerate(labels) if (labels == label).sum() >= MIN_CLASS_SIZE]
    classes, true = np.unique(labels[kept], return_inverse=True)
    y = true.copy()
    wrong = rng.choice(len(y), round(SHARE * len(y)), replace=False)
    y[wrong] = (true[wrong] + rng.integers(1, len(classes), len(wrong))) % len(classes)
    return corpus.select(kept).texts, true, y


def share_at_k(order: Any, is_wrong: Any) -> float:
    return float(is_wrong[order[: is_wrong.sum()]].mean())


def main(python: str, names: list[str], max_samples: int, n_seeds: int) -> None:
    print_run()
    print_head("data set", "k", "`quick`", "cleanlab, same", "TF-IDF + LR", "cleanlab, TF-IDF + LR")
    means, reported, relabelled = [], {}, []
    for name in names:
        for seed in range(n_seeds):
            texts, true, y = plant(name, max_samples, seed)
            is_wrong = y != true
            baseline = make_pipeline(
                TfidfVectorizer(sublinear_tf=True), LogisticRegression(max_iter=300)
            )
            row = []
            for model in (recipes.make("quick", random_state=0), baseline):
                _, oof = fit_with_oof(model, texts, y)
                found = find_label_errors(oof)
                order = np.argsort(found.self_confidence, kind="stable")
                row.append(share_at_k(order, is_wrong))
                theirs = run_cleanlab(python, oof)
                row.append(
                    max(
                        share_at_k(np.argsort(scores, kind="stable"), is_wrong)
                        for scores in theirs["scores"].values()
                    )
                )
                if model is baseline:
                    continue
                for method, chosen in {"ours": found.ranking, **theirs["issues"]}.items():
                    hits = is_wrong[chosen].sum()
                    reported.setdefault(method, []).append(
                        (hits / max(len(chosen), 1), hits / is_wrong.sum(), len(chosen) / len(y))
                    )
                sure = found.ranking[found.confidence[found.ranking] >= RELABEL_CONFIDENCE]
                relabelled += (found.suggested[sure] == true[sure]).tolist()
            means.append(row)
            print_row(name, str(is_wrong.sum()), *(f"{share:.3f}" for share in row))
    mean = np.mean(means, axis=0)
    print_row("mean", "", *(f"{share:.3f}" for share in mean))
    print()
    print_head("reported by", "precision", "recall", "share of all samples")
    for method, figures in reported.items():
        print_row(method, *(f"{figure:.3f}" for figure in np.mean(figures, axis=0)))
    print(
        f"\n{len(relabelled)} new labels of probability {RELABEL_CONFIDENCE:g} or more, "
        f"{np.mean(relabelled):.1%} of them right"
    )
    print(f"\nratio: {mean[0] / mean[3]:.2f}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Find planted label errors.")
    parser.add_argument("--cleanlab", required=True, metavar="PYTHON")
    parser.add_argument(
        "--sets", nargs="+", default=["tweets", "yelp", "r8", "webkb", "ohsumed", "20ng"]
    )
    parser.add_argument("--max-samples", type=at_least(100), default=2000)
    parser.add_argument("--seeds", type=at_least(1), default=1)
    options = parser.parse_args()
    main(options.cleanlab, options.sets, options.max_samples, options.seeds)
