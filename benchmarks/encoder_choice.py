"""Which encoder should `encoder="auto"` prefer, and how long does each take?

    python dev.py bench encoder_choice [--sets amazon,nyt] [--encoders use,minilm] [--recipe quick]
        [--folds 5] [--max-texts 2500] [--timed 64]

Cross-validates a recipe with each encoder that is installed, or with `none`, on the same folds, and
prints accuracy / macro-F1 in percent. Of larger data sets, every second, third ... text is used.
`--timed` texts of each are encoded in one thread without the cache: the second table has CPU
milliseconds per text, and microseconds per character of texts that are cut at 1,500 characters. The
last line has the means of the accuracies.
"""

import argparse
import time
from collections import defaultdict
from typing import Any

import numpy as np
from sklearn.metrics import accuracy_score, f1_score
from sklearn.model_selection import StratifiedKFold

from cordwood import recipes
from cordwood.encoders import load_encoder
from cordwood.encoders.catalog import list_encoders
from cordwood.encoders.choice import MAX_CHARACTERS
from corpora import load_single_label
from options import at_least
from stopwatch import measure, print_head, print_row, print_run

SETS = "amazon,bbc,debate,myspace,nyt,tweets,twitter,youtube"
ENCODERS = "use,minilm,mpnet,potion"


def main(
    names: list[str], wanted: list[str], recipe: str, n_folds: int, max_texts: int, n_timed: int
) -> None:
    print_run()
    installed = {"none", *(info.name for info in list_encoders() if info.install is None)}
    encoders = [name for name in wanted if name in installed]
    means = defaultdict(list)
    costs: dict[str, list[str]] = {}
    print_head(recipe, "texts", "classes", *encoders)
    for name in names:
        corpus = load_single_label(name)
        step = -(-len(corpus.texts) // max_texts)
        texts, labels = corpus.texts[::step], np.array(corpus.labels[::step])
        costs[name] = [time_encoder(each, texts, n_timed) for each in encoders]
        cells = []
        for encoder in encoders:
            predicted = cross_predict(recipe, encoder, texts, labels, n_folds)
            accuracy = 100 * accuracy_score(labels, predicted)
            macro = 100 * f1_score(labels, predicted, average="macro")
            means[encoder].append((accuracy, macro))
            cells.append(f"{accuracy:.1f} / {macro:.1f}")
        print_row(name, f"{len(texts):,}", str(len(set(labels))), *cells)
    averages = {encoder: np.mean(scores, axis=0) for encoder, scores in means.items()}
    print_row("mean", "", "", *(f"{a:.1f} / {f:.1f}" for a, f in averages.values()))
    print()
    print_head("ms per text; µs per character", *encoders)
    for name, row in costs.items():
        print_row(name, *row)
    print("\n" + ", ".join(f"{encoder} {a:.2f}" for encoder, (a, _) in averages.items()))


def time_encoder(name: str, texts: list[str], n_timed: int) -> str:
    if name == "none":
        return ""
    encoder = load_encoder(name)
    sample = sorted(texts[:: max(1, len(texts) // n_timed)][:n_timed], key=len)
    encoder.encode(sample[:2])  # loads the weights
    seconds, _ = measure(encoder.encode, sample, clock=time.process_time)
    n_characters = sum(min(len(text), MAX_CHARACTERS) for text in sample)
    return f"{1e3 * seconds / len(sample):.2f}; {1e6 * seconds / n_characters:.1f}"


def cross_predict(recipe: str, encoder: str, texts: list[str], labels: Any, n_folds: int) -> Any:
    X = np.array(texts, object)
    predicted = np.empty_like(labels)
    folds = StratifiedKFold(n_folds, shuffle=True, random_state=42)
    for train, test in folds.split(X, labels):
        used = None if encoder == "none" else encoder
        model = recipes.make(recipe, encoder=used, random_state=0)
        predicted[test] = model.fit(X[train], labels[train]).predict(X[test])
    return predicted


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Compare encoders by accuracy and time.")
    parser.add_argument("--sets", default=SETS)
    parser.add_argument("--encoders", default=ENCODERS)
    parser.add_argument("--recipe", default="embeddings")
    parser.add_argument("--folds", type=at_least(2), default=5)
    parser.add_argument("--max-texts", type=at_least(1), default=2_500)
    parser.add_argument("--timed", type=at_least(1), default=64)
    options = parser.parse_args()
    main(
        options.sets.split(","),
        options.encoders.split(","),
        options.recipe,
        options.folds,
        options.max_texts,
        options.timed,
    )
