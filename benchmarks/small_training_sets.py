"""How accurate are stacks with an encoder if there are only 1,000 labelled texts?

    python dev.py bench small_training_sets [--sets 20ng,r52] [--draws 5] [--samples 1000]
        [--encoders use,minilm] [--static FOLDER] [--setfit FOLDER]

Draws training texts from a data set several times, with at most 2,000 other texts for testing, and
compares the recipe `quick`, alone and with an encoder, with:

- logistic regression on TF-IDF of words and pairs of words,
- logistic regression on the vectors of each encoder,
- the classifier of model2vec, a neural network on static vectors that it trains as well,
- SetFit, which fine-tunes a transformer on pairs of texts, for `--setfit-steps` batches of 16.

Encoders and packages that are not installed are left out; `--static` is the folder of a model2vec
model, such as `cordwood encoders distill` writes, `--setfit` that of a sentence-transformers model.
Prints accuracy / macro-F1 in percent, means over the draws, and the CPU seconds of one fit with
cached vectors. The last line is the smallest difference of accuracy, over the data sets, between
`quick` with its best encoder and the best of the others.
"""

import argparse
import tempfile
import time
import warnings
from collections import defaultdict
from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score, f1_score
from sklearn.model_selection import StratifiedShuffleSplit
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline

from cordwood import EmbeddingVectorizer, recipes
from cordwood.encoders.catalog import list_encoders
from corpora import load_single_label
from options import at_least
from stopwatch import measure, print_head, print_row, print_run

SETS = "tweets,amazon,webkb,r52,20ng"
MAX_TEST = 2_000


def main(
    names: list[str],
    n_draws: int,
    n_samples: int,
    encoders: list[str],
    static: str | None,
    setfit: str | None,
    setfit_steps: int,
) -> None:
    print_run()
    models = list_models(encoders, static)
    if setfit:
        models["SetFit"] = lambda: SetFitClassifier(setfit, setfit_steps)
    print_head("data set", *models)
    leads = []
    for name in names:
        scores = score_models(models, encoders, name, n_draws, n_samples)
        print_row(name, *(f"{100 * a:.1f} / {100 * f:.1f}" for a, f, _ in scores.values()))
        print_row("", *(f"{seconds:.1f} s" for *_, seconds in scores.values()))
        ours = max(each[0] for model, each in scores.items() if model.startswith("quick +"))
        others = max(each[0] for model, each in scores.items() if not model.startswith("quick"))
        leads.append(100 * (ours - others))
    print(f"\nsmallest difference in percentage points: {min(leads):+.1f}")


def list_models(encoders: list[str], static: str | None) -> dict[str, Callable[[], Any]]:
    """Return functions that make each model, by name."""
    models: dict[str, Callable[[], Any]] = {"TF-IDF + LR": make_tfidf}
    for encoder in [*encoders, *([static] if static else [])]:
        label = "static" if encoder == static else encoder
        models[f"{label} + LR"] = lambda encoder=encoder: recipes.make(
            "embeddings", encoder=encoder
        )
    if static and find_spec("model2vec") and find_spec("torch"):
        models["model2vec"] = lambda: make_model2vec(static)
    models["quick"] = lambda: recipes.make("quick", random_state=0)
    for encoder in encoders:
        models[f"quick + {encoder}"] = lambda encoder=encoder: recipes.make(
            "quick", random_state=0, encoder=encoder
        )
    return models


def make_tfidf() -> Any:
    vectorizer = TfidfVectorizer(sublinear_tf=True, ngram_range=(1, 2), token_pattern=r"\w+")
    # With many classes and features, the dual takes a small part of the time of the primal.
    logistic = LogisticRegression(C=10, solver="liblinear", dual=True, max_iter=1000)
    return make_pipeline(vectorizer, OneVsRestClassifier(logistic))


def make_model2vec(folder: str) -> Any:
    model2vec = import_module("model2vec.train")
    return model2vec.StaticModelForClassification.from_pretrained(path=folder)


class SetFitClassifier:
    """A sentence encoder that is fine-tuned on pairs of texts, with logistic regression."""

    def __init__(self, folder: str, n_steps: int) -> None:
        self.folder = folder
        self.n_steps = n_steps

    def fit(self, texts: list[str], labels: list[str]) -> Any:
        """Fit the model and return it."""
        setfit, datasets = import_module("setfit"), import_module("datasets")
        classes = sorted(set(labels))
        model = setfit.SetFitModel.from_pretrained(self.folder, labels=classes)
        codes = [classes.index(label) for label in labels]
        samples = datasets.Dataset.from_dict({"text": texts, "label": codes})
        with tempfile.TemporaryDirectory() as checkpoints:
            arguments = setfit.TrainingArguments(
                output_dir=checkpoints,
                batch_size=16,
                max_steps=self.n_steps,
                num_iterations=5,
                show_progress_bar=False,
                save_strategy="no",
                report_to="none",
            )
            setfit.Trainer(model, arguments, train_dataset=samples).train()
        return model


def score_models(
    models: dict[str, Callable[[], Any]],
    encoders: list[str],
    name: str,
    n_draws: int,
    n_samples: int,
) -> dict[str, tuple[float, float, float]]:
    """Return accuracy, macro-F1 and CPU seconds of `fit` of each model, means over the draws."""
    texts, labels = load_texts(name)
    scores = defaultdict(list)
    n_test = min(MAX_TEST, len(labels) - n_samples)
    splitter = StratifiedShuffleSplit(
        n_draws, train_size=n_samples, test_size=n_test, random_state=42
    )
    for train, test in splitter.split(texts, labels):
        for encoder in encoders:
            EmbeddingVectorizer(encoder).fit(texts[[*train, *test]].tolist())  # fills the cache
        for model_name, make in models.items():
            seconds, model = measure(
                make().fit, texts[train].tolist(), labels[train].tolist(), clock=time.process_time
            )
            predicted = np.asarray(model.predict(texts[test].tolist()))
            scores[model_name].append(
                (
                    accuracy_score(labels[test], predicted),
                    f1_score(labels[test], predicted, average="macro", zero_division=0.0),
                    seconds,
                )
            )
    return {model: tuple(np.mean(each, axis=0)) for model, each in scores.items()}


def load_texts(name: str) -> tuple[Any, Any]:
    """Return texts and labels, without the classes that cannot be in every draw."""
    corpus = load_single_label(name)
    texts, labels = np.array(corpus.texts, object), np.array(corpus.labels)
    classes, counts = np.unique(labels, return_counts=True)
    kept = np.isin(labels, classes[counts >= 10])
    return texts[kept], labels[kept]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sets", default=SETS)
    parser.add_argument("--draws", type=at_least(1), default=5)
    parser.add_argument("--samples", type=at_least(50), default=1000)
    parser.add_argument("--encoders", help="default: all that are installed")
    parser.add_argument("--static", help="folder of a model2vec model")
    parser.add_argument("--setfit", help="folder of a sentence-transformers model")
    parser.add_argument("--setfit-steps", type=at_least(1), default=100)
    arguments = parser.parse_args()
    warnings.filterwarnings("ignore", category=ConvergenceWarning)
    installed = [info.name for info in list_encoders() if info.install is None]
    main(
        arguments.sets.split(","),
        arguments.draws,
        arguments.samples,
        arguments.encoders.split(",") if arguments.encoders else installed,
        arguments.static,
        arguments.setfit,
        arguments.setfit_steps,
    )
