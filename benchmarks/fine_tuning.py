"""Does fine-tuning the last layers of an encoder pay, with a few labelled texts on a CPU?

    python dev.py bench fine_tuning [--sets tweets,r8] [--draws 3] [--per-class 8] [--tests 1000]
        [--loss cosine] [--layers 1] [--steps 40] [--rate 1e-4] [--ledger FILE] [--check]

Tunes the last layers of `minilm` in plain numpy, by AdamW on batches of 32 texts. The loss is one
of three: `cosine` brings the similarity of two texts near 1 if they have the same label and near 0
otherwise, as SetFit does; `supcon` is the supervised contrastive loss; `softmax` is the
cross-entropy of a linear layer. Texts are truncated at 96 tokens, for all models.

On the draws of few_labels, compares (a) `quick` with the encoder, (b) the same with the tuned one,
(c) logistic regression on vectors (C=10) and (d) on tuned ones. The out-of-fold probabilities of
(b) are those of encoders that were tuned without the fold. Its other members are those of (a).
Results are appended to the ledger, if there is one, and not computed again. ``--check`` compares
gradients with finite differences, and vectors with those of the library, instead.

Prints accuracies in percent, differences with standard errors over draws, and CPU seconds of a fit,
with the encoding of the training texts. The last lines are the means of the differences over the
sets, their standard errors and the p-values of paired t-tests.
"""

import argparse
import json
import os
import time
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")  # CPU seconds are those of one thread

import numpy as np
from scipy.stats import ttest_1samp
from sklearn.base import clone

from cordwood import TextClassifier
from cordwood.classifier.class_names import to_words
from cordwood.linear_model import EmbeddingClassifier
from cordwood.oof.folds import choose_n_folds, make_folds
from cordwood.oof.proba import predict_proba
from few_labels import SETS, draw_samples, load_texts
from options import at_least
from stopwatch import measure, print_head, print_row, print_run
from tunable_layers import LOSSES, Top, Tunable, check, tune

MAX_TOKENS = 96
SETTINGS = ("per_class", "tests", "loss", "layers", "steps", "rate")


def run_draw(texts: Any, labels: Any, draw: int, options: argparse.Namespace) -> dict[str, Any]:
    """Return accuracy and CPU seconds of all models."""
    train, test = draw_samples(labels, options.per_class, draw)
    test = np.random.RandomState(draw).permutation(test)[: options.tests]
    X, y, X_test, y_test = texts[train].tolist(), labels[train], texts[test].tolist(), labels[test]
    classes, codes = np.unique(y, return_inverse=True)
    tunable = Tunable(options.layers, MAX_TOKENS)
    lowering, states = timed(tunable.states, X)
    encoding, _ = timed(tunable.top.encode, states)
    tuning, tuned = timed(tune, tunable.top, states, codes, options)
    test_states = tunable.states(X_test)
    found = {}
    for name, top, cost in (("c", tunable.top, 0.0), ("d", tuned, tuning)):
        fitting, lr = timed(EmbeddingClassifier(C=10).fit, top.encode(states), y)
        predicted = lr.predict(top.encode(test_states))
        found[name] = np.mean(predicted == y_test), lowering + encoding + fitting + cost
    name = "embeddings__vectorizer__max_tokens"
    model = TextClassifier(encoder="minilm", recipe_params={name: MAX_TOKENS})
    fitting, _ = timed(model.fit, X, y.tolist())
    stack = model.estimator_.steps[-1][1]
    meta, meta_test = stack.meta_features_.copy(), stack.transform(X_test)
    predicted = stack.final_estimator_.predict(meta_test)
    assert (predicted == model.predict(X_test)).all()
    found["a"] = np.mean(predicted == y_test), fitting
    head = stack.named_estimators_["embeddings"].steps[-1][1]
    refitting, (own, member) = timed(fit_member, tunable, states, y, tuned, head, options)
    first = [name for name, _ in stack.estimators].index("embeddings") * len(classes)
    columns = slice(first, first + len(classes))
    meta[:, columns] = own
    meta_test[:, columns] = predict_proba(member, tuned.encode(test_states), classes)
    predicted = clone(stack.final_estimator_).fit(meta, y).predict(meta_test)
    found["b"] = np.mean(predicted == y_test), fitting + tuning + refitting
    return {name: [float(value) for value in found[name]] for name in sorted(found)}


def timed(function: Any, *arguments: Any) -> tuple[float, Any]:
    return measure(function, *arguments, clock=time.process_time)


def fit_member(
    tunable: Tunable, states: list[Any], y: Any, whole: Top, head: Any, options: argparse.Namespace
) -> tuple[Any, Any]:
    """Return out-of-fold probabilities of the member on tuned embeddings, and the fitted one."""
    classes, codes = np.unique(y, return_inverse=True)
    name_states = tunable.states([to_words(str(label)) for label in classes])

    def fit(top: Top, rows: Any) -> Any:
        own = clone(head)
        if head.class_vectors is not None:  # names are used if they do not harm frozen vectors
            names = top.encode(name_states)
            own.set_params(class_vectors=dict(zip(classes.tolist(), names, strict=True)))
        return own.fit(top.encode([states[i] for i in rows]), y[rows])

    proba = np.empty((len(y), len(classes)))
    n_folds = choose_n_folds(len(y), of_stack=True)
    for train, test in make_folds(n_folds, codes, None, seed=0):
        top = tune(tunable.top, [states[i] for i in train], codes[train], options)
        vectors = top.encode([states[i] for i in test])
        proba[test] = predict_proba(fit(top, train), vectors, classes)
    return proba, fit(whole, np.arange(len(y)))


def main(options: argparse.Namespace) -> None:
    if options.check:
        check()
        return
    print_run()
    settings = {name: getattr(options, name) for name in SETTINGS}
    names, runs = options.sets.split(","), {}
    if options.ledger is not None and options.ledger.exists():
        for run in map(json.loads, options.ledger.read_text(encoding="utf-8").splitlines()):
            if run["settings"] == settings:
                runs[run["set"], run["draw"]] = run["found"]
    for draw in range(options.draws):
        for name in names:
            if (name, draw) not in runs:
                runs[name, draw] = run_draw(*load_texts(name), draw, options)
                run = {"set": name, "draw": draw, "settings": settings, "found": runs[name, draw]}
                if options.ledger is not None:
                    with options.ledger.open("a", encoding="utf-8") as file:
                        file.write(json.dumps(run) + "\n")
    print_head("data set", *"abcd", "b - a", "d - c", *(f"{model}, seconds" for model in "abcd"))
    gains = []
    for name in names:
        found = np.array([list(runs[name, draw].values()) for draw in range(options.draws)])
        accuracy, seconds = 100 * found[:, :, 0], found[:, :, 1].mean(0)
        gain = accuracy[:, [1, 3]] - accuracy[:, [0, 2]]
        gains.append(gain.mean(0))
        errors = gain.std(0) / np.sqrt(max(options.draws - 1, 1))
        cells = [f"{value:.1f}" for value in accuracy.mean(0)]
        cells += [f"{g:+.1f} ± {e:.1f}" for g, e in zip(gains[-1], errors, strict=True)]
        print_row(name, *cells, *(f"{value:.0f}" for value in seconds))
    for title, values in zip(("b - a", "d - c"), np.transpose(gains), strict=True):
        error, p = values.std(ddof=1) / np.sqrt(len(values)), ttest_1samp(values, 0).pvalue
        print(f"\n{title}: {values.mean():+.2f} ± {error:.2f}, p = {p:.3f}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sets", default=SETS)
    parser.add_argument("--draws", type=at_least(1), default=3)
    parser.add_argument("--per-class", type=at_least(2), default=8)
    parser.add_argument("--tests", type=at_least(1), default=1000)
    parser.add_argument("--loss", choices=LOSSES, default="cosine")
    parser.add_argument("--layers", type=at_least(1), default=1)
    parser.add_argument("--steps", type=at_least(1), default=40)
    parser.add_argument("--rate", type=float, default=1e-4)
    parser.add_argument("--ledger", type=Path, help="file of results, to go on with")
    parser.add_argument("--check", action="store_true")
    main(parser.parse_args())
