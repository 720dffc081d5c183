"""How accurate and how fast is the default model beside what people use today?

    python dev.py bench headline [--sets docstrings,tweets] [--draws 2] [--samples 1000]
        [--ledger FILE]

Draws training texts from each data set, and half as many others for testing, of docstrings from
other modules. Compares the default model of cordwood, with and without its sentence encoder, with
TF-IDF and a linear classifier, forests, a stack, LightGBM, fastText, and an encoder with logistic
regression. Every model gets the raw texts and the settings below, none is tuned. "docstrings" is a
part of cordwood; the other sets are looked for in CORDWOOD_DATA, "sklearn:20newsgroups" is
downloaded. Sets and libraries that are missing are left out, which is printed. Results are appended
to the ledger, if there is one, and not computed again.

Prints the accuracy in percent, means over the draws, the mean macro F1 over the sets, and the mean
CPU seconds of one thread to fit the raw texts, encoding included. The last line is the accuracy
of cordwood with its encoder minus that of the best of the others, mean over the sets.
"""

import argparse
import json
import os
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier, StackingClassifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score, f1_score
from sklearn.model_selection import GroupShuffleSplit, StratifiedShuffleSplit
from sklearn.naive_bayes import MultinomialNB
from sklearn.pipeline import FeatureUnion, make_pipeline
from sklearn.svm import LinearSVC
from threadpoolctl import threadpool_limits

from cordwood import EmbeddingVectorizer, TextClassifier
from cordwood.datasets import load_dataset
from cordwood.encoders.catalog import list_encoders
from cordwood.exceptions import DataError
from corpora import load_single_label
from options import at_least
from stopwatch import measure, print_head, print_row, print_run

SETS = "docstrings,tweets,amazon,youtube,20ng"
MIN_CLASS = 10
ENCODER = "use"
OURS, OURS_ENCODED = "cordwood", "cordwood with its encoder"


def main(options: argparse.Namespace) -> None:
    models = list_models()
    print_run(*(name for name in ("lightgbm",) if find_spec(name)))
    sets = {}
    for name in options.sets.split(","):
        try:
            sets[name] = load_texts(name)
        except (DataError, SystemExit) as error:
            print(f"{name} is left out: {error}")
    # Loads or compiles the kernels, which later fits of a process do not have to.
    TextClassifier(encoder=None).fit(["a b", "b c", "c d", "d e"] * 3, [0, 1] * 6).predict(["a"])
    with threadpool_limits(1):
        runs = list(run_all(sets, models, options))
    print_head("classifier", *sets, "mean", "macro F1", "CPU s")
    means = {}
    for model in models:
        own = [run for run in runs if run["model"] == model]
        by_set = [100 * np.mean([r["accuracy"] for r in own if r["set"] == name]) for name in sets]
        means[model] = by_set
        others = (100 * np.mean([r["macro_f1"] for r in own]), np.mean([r["fit"] for r in own]))
        cells = [*by_set, np.mean(by_set), *others]
        print_row(model, *(f"{cell:.1f}" for cell in cells))
    ours = means.pop(OURS_ENCODED, means.pop(OURS))
    means.pop(OURS, None)
    lead = np.mean(ours) - max(map(np.mean, means.values()))
    print(f"\nmean accuracy minus that of the best of the others: {lead:+.1f} points")


def list_models() -> dict[str, Callable[[], Any]]:
    """Return functions that make each model, by name."""
    models: dict[str, Callable[[], Any]] = {
        "TF-IDF + LinearSVC": lambda: make_pipeline(words(), LinearSVC()),
        "TF-IDF + LogisticRegression": lambda: make_pipeline(words(), logistic()),
        "TF-IDF + LinearSVC, words and characters": lambda: make_pipeline(ngrams(), LinearSVC()),
        "TF-IDF + LogisticRegression, words and characters": (
            lambda: make_pipeline(ngrams(), logistic())
        ),
        "scikit-learn RandomForestClassifier": lambda: make_pipeline(words(), forest()),
        "scikit-learn ExtraTreesClassifier": (
            lambda: make_pipeline(words(), ExtraTreesClassifier(200, random_state=0))
        ),
        "scikit-learn StackingClassifier": lambda: make_pipeline(words(), make_stack()),
        "LightGBM": make_lightgbm,
        "fastText": FastText,
        "sentence encoder + LogisticRegression": (
            lambda: make_pipeline(EmbeddingVectorizer(ENCODER, cache=False), logistic())
        ),
        OURS: lambda: TextClassifier(encoder=None),
        OURS_ENCODED: lambda: TextClassifier(encoder=ENCODER),
    }
    for library, name in (("lightgbm", "LightGBM"), ("fasttext", "fastText")):
        if not find_spec(library):
            print(f"{name} is left out: it is not installed")
            del models[name]
    if not any(each.name == ENCODER and each.install is None for each in list_encoders()):
        print("models with a sentence encoder are left out: it is not installed")
        del models["sentence encoder + LogisticRegression"], models[OURS_ENCODED]
    return models


def words() -> Any:
    return TfidfVectorizer(sublinear_tf=True)


def ngrams() -> Any:
    pairs = TfidfVectorizer(sublinear_tf=True, ngram_range=(1, 2))
    # Without the rare n-grams of characters, which take most of the time of a fit.
    parts = TfidfVectorizer(sublinear_tf=True, analyzer="char_wb", ngram_range=(3, 5), min_df=3)
    return FeatureUnion([("words", pairs), ("characters", parts)])


def logistic() -> Any:
    return LogisticRegression(C=10, max_iter=1000)


def forest() -> Any:
    return RandomForestClassifier(200, random_state=0)


def make_stack() -> Any:
    members = [("svm", LinearSVC()), ("nb", MultinomialNB(alpha=0.1)), ("rf", forest())]
    return StackingClassifier(members, logistic(), cv=5)


def make_lightgbm() -> Any:
    lightgbm = import_module("lightgbm")
    frequent = TfidfVectorizer(sublinear_tf=True, min_df=5, dtype=np.float32)
    return make_pipeline(frequent, lightgbm.LGBMClassifier(n_jobs=1, verbose=-1))


class FastText:
    """fastText with pairs of words and the learning rate and epochs of its tutorial."""

    def fit(self, texts: list[str], labels: list[str]) -> Any:
        """Write the file that fastText reads, and fit the model."""
        fasttext = import_module("fasttext")
        self.classes_ = sorted(set(labels))
        codes = map(self.classes_.index, labels)
        lines = [f"__label__{c} {one_line(t)}" for c, t in zip(codes, texts, strict=True)]
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "train.txt"
            path.write_text("\n".join(lines), encoding="utf-8")
            self.model_ = fasttext.train_supervised(
                str(path), lr=1.0, epoch=25, wordNgrams=2, thread=1, seed=0, verbose=0
            )
        return self

    def predict(self, texts: list[str]) -> list[str]:
        """Return the most probable labels."""
        # The method that accepts the numpy of today; it returns pairs of probability and label.
        found = (self.model_.f.predict(one_line(text) + "\n", 1, 0.0, "strict") for text in texts)
        return [
            self.classes_[int(pairs[0][1].removeprefix("__label__")) if pairs else 0]
            for pairs in found
        ]


def one_line(text: str) -> str:
    return " ".join(text.lower().split())


class Texts(NamedTuple):
    """Texts, their labels, and the groups that a draw does not divide."""

    texts: Any
    labels: Any
    groups: Any

    def select(self, rows: Any) -> tuple[list[str], list[str]]:
        """Return some of the texts and their labels."""
        return self.texts[rows].tolist(), self.labels[rows].tolist()


def load_texts(name: str) -> Texts:
    """Load a data set, without the classes that cannot be in every draw."""
    is_public = name == "docstrings" or name.startswith("sklearn:")
    corpus = load_dataset(name) if is_public else load_single_label(name)
    texts, labels = np.array(corpus.texts, object), np.array(corpus.labels)
    classes, counts = np.unique(labels, return_counts=True)
    kept = np.isin(labels, classes[counts >= MIN_CLASS])
    groups = None if corpus.groups is None else np.array(corpus.groups)[kept]
    return Texts(texts[kept], labels[kept], groups)


def draw_rows(data: Texts, n_samples: int, draw: int) -> tuple[Any, Any]:
    """Return the rows of training and test texts, of other groups if there are any."""
    # Of small sets, two thirds are for training.
    n_train = min(n_samples, 2 * len(data.labels) // 3)
    if data.groups is None:
        splitter = StratifiedShuffleSplit(
            1, train_size=n_train, test_size=n_train // 2, random_state=draw
        )
        return next(splitter.split(data.texts, data.labels))
    whole = GroupShuffleSplit(1, train_size=2 / 3, random_state=draw)
    train, test = next(whole.split(data.texts, groups=data.groups))
    rng = np.random.default_rng(draw)
    return rng.permutation(train)[:n_train], rng.permutation(test)[: n_train // 2]


def run_all(
    sets: dict[str, Texts],
    models: dict[str, Callable[[], Any]],
    options: argparse.Namespace,
) -> Iterator[dict[str, Any]]:
    """Yield the results of all draws, from the ledger or computed now."""
    ledger = Path(options.ledger) if options.ledger else None
    lines = ledger.read_text(encoding="utf-8").splitlines() if ledger and ledger.exists() else ()
    fields = ("set", "draw", "samples", "model")
    known = {tuple(run[field] for field in fields): run for run in map(json.loads, lines)}
    for draw in range(options.draws):
        for name, data in sets.items():
            train, test = draw_rows(data, options.samples, draw)
            for model, make in models.items():
                key = (name, draw, len(train), model)
                run = known.get(key)
                if run is None:
                    scores = run_one(make, data.select(train), data.select(test))
                    run = dict(zip(fields, key, strict=True)) | scores
                    if ledger is not None:
                        with ledger.open("a", encoding="utf-8") as file:
                            file.write(json.dumps(run) + "\n")
                yield run


def run_one(
    make: Callable[[], Any], train: tuple[list[str], list[str]], test: tuple[list[str], list[str]]
) -> dict[str, float]:
    """Return the scores of a model and the CPU seconds of its fit and of its predictions."""
    # An empty cache of sentence vectors, because encoding is part of a fit.
    with tempfile.TemporaryDirectory() as folder:
        os.environ["CORDWOOD_CACHE_DIR"] = folder
        fit, model = measure(make().fit, *train, clock=time.process_time)
    predict, predicted = measure(model.predict, test[0], clock=time.process_time)
    return {
        "accuracy": float(accuracy_score(test[1], predicted)),
        "macro_f1": float(f1_score(test[1], predicted, average="macro", zero_division=0.0)),
        "fit": fit,
        "predict": predict,
    }


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sets", default=SETS)
    parser.add_argument("--draws", type=at_least(1), default=2)
    parser.add_argument("--samples", type=at_least(100), default=1000)
    parser.add_argument("--ledger", help="file of results, to go on with")
    warnings.filterwarnings("ignore", category=ConvergenceWarning)
    main(parser.parse_args())
