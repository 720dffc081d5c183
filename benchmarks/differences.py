"""Which choices of preprocessing and parameters bring our scores closer to the paper's?

    python dev.py bench differences --set twitter --learner RF [--only stems "min_df 2"]

Changes one choice of the protocol `sigir17` at a time, on its five folds and with its seed. Nothing
is tuned, to save time: scores differ by about one point from those of docs/results.md, and those of
forests by as much between seeds. *paper* is the score of SIGIR 2017. The data set must be in the
folder that the environment variable CORDWOOD_DATA names.
"""

import argparse
import tempfile
from collections.abc import Collection
from pathlib import Path
from typing import Any

from cordwood.compare.config.plan import parse_plan
from cordwood.compare.config.schema import LearnerConfig
from cordwood.compare.report.rendering import to_markdown
from cordwood.compare.runner.ledger import Ledger
from cordwood.compare.runner.run import run
from cordwood.compare.stats.comparison import compare
from cordwood.exceptions import CordwoodError
from reproduction.published import find_figure
from stopwatch import print_run

FOLDER = Path(__file__).parent / "reproduction"

Choices = dict[str, dict[str, Any]]

# Closest to the paper on sentiment, with SVM and forests.
STEMMED = {"stemmer": "porter", "token_pattern": r"\w+", "min_df": 2}
TEXT: Choices = {
    "TF": {"weighting": "tf"},
    "TF-IDF": {"weighting": "tfidf"},
    "TF-IDF, not normalized": {"weighting": "tfidf", "norm": False},
    "binary": {"weighting": "binary"},
    "min_df 1": {"min_df": 1},
    "min_df 2": {"min_df": 2},
    "min_df 4": {"min_df": 4},
    "min_df 6": {"min_df": 6},
    "all words": {"stop_words": False},
    "SMART list": {"stop_words": "smart"},
    "SMART list, min_df 6": {"stop_words": "smart", "min_df": 6},
    "no punctuation": {"token_pattern": r"\w+"},
    "stems": {"stemmer": "porter"},
    "stems, min_df 2": {"stemmer": "porter", "min_df": 2},
    "stems, no punctuation, min_df 2": STEMMED,
    "word bigrams": {"ngram_range": [1, 2]},
}
FOREST: Choices = {
    "log2 features": {"classifier__max_features": "log2"},
    "log2 features, stems, no punctuation, min_df 2": {
        "classifier__max_features": "log2",
        **STEMMED,
    },
    "0.08 of features": {"classifier__max_features": 0.08},
    "0.3 of features": {"classifier__max_features": 0.3},
    "entropy": {"criterion": "entropy"},
    "1,000 trees": {"n_estimators": 1000},
    "balanced": {"class_weight": "balanced"},
    "bootstrap": {"bootstrap": True},
    "no bootstrap": {"bootstrap": False},
}
LEARNERS: dict[str, dict[str, Any]] = {
    "NB": {"recipe": "nb"},
    "SVM": {"recipe": "svm"},
    "KNN": {"recipe": "knn"},
    "RF": {"recipe": "rf"},
    "XT": {"recipe": "et"},
    # Slow; they show that our implementation is not the cause of differences.
    "RF (scikit-learn)": {"estimator": "learners.py:random_forest", "weighting": "tf"},
    "XT (scikit-learn)": {"estimator": "learners.py:extra_trees", "weighting": "tf"},
}
PARAMS: dict[str, Choices] = {
    "NB": {
        "multinomial": {"variant": "multinomial"},
        "complement": {"variant": "complement"},
        "alpha 0.001": {"alpha": 0.001},
    },
    "SVM": {f"C {C}": {"C": C} for C in (0.125, 0.25, 0.5, 1.0, 2.0, 4.0, 16.0)},
    "KNN": {
        "10 neighbors": {"n_neighbors": 10},
        "300 neighbors": {"n_neighbors": 300},
        "uniform weights": {"weights": "uniform"},
        "TF, 10 neighbors": {"weighting": "tf", "n_neighbors": 10},
        "TF, stems, no punctuation": {
            "weighting": "tf",
            "stemmer": "porter",
            "token_pattern": r"\w+",
        },
        "Euclidean, not normalized": {"metric": "euclidean", "norm": False},
    },
    "RF": FOREST,
    "XT": FOREST,
}


def main(dataset: str, learner: str, only: Collection[str]) -> None:
    choices = {"unchanged": {}, **TEXT, **PARAMS.get(learner, {})}
    unknown = set(only) - choices.keys()
    if unknown:
        raise SystemExit(f"there is no choice {min(unknown)!r}; there are: {'; '.join(choices)}")
    print_run()
    plan = parse_plan(
        {
            "protocol": "protocols/sigir17.toml",
            "datasets": [{"name": dataset}],
            "learners": [
                {**LEARNERS[learner], "name": name, "params": params}
                for name, params in choices.items()
                if not only or name in only
            ],
        },
        folder=FOLDER,
    )
    figure = find_figure("sigir17", dataset, LearnerConfig(**LEARNERS[learner]))
    with tempfile.TemporaryDirectory() as scratch:
        summary = run(plan, Ledger(Path(scratch, "trials.jsonl")))
    print(to_markdown(compare(summary.records, summary.planned)))
    if figure is not None:
        micro, macro = 100 * figure.micro_f1, 100 * figure.macro_f1
        print(f"Published: micro-F1 {micro:.2f}, macro-F1 {macro:.2f}.")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Change one choice of the protocol at a time.")
    parser.add_argument("--set", default="twitter")
    parser.add_argument("--learner", default="RF", choices=LEARNERS)
    parser.add_argument("--only", nargs="+", default=(), metavar="CHOICE")
    options = parser.parse_args()
    try:
        main(options.set, options.learner, options.only)
    except CordwoodError as error:
        raise SystemExit(str(error)) from error
