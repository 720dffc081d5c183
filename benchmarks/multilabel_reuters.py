"""Multilabel F1 on Reuters-21578 compared with scikit-learn and LibMultiLabel.

    python dev.py bench multilabel_reuters [--recipes nbsvm quick] [--libmultilabel PYTHON]

Trains on the ModApte split with the 90 topics that have a training and a test document (7,770
training and 3,019 test documents with at least one of them), and prints micro and macro F1 on the
test documents with the CPU time of training and prediction. scikit-learn's one-vs-rest `LinearSVC`
and `LogisticRegression` use its `TfidfVectorizer` with sublinear term frequencies and the best of
four values of `C` by 3-fold cross-validated micro F1, whose time is not counted. `--libmultilabel`
is a Python interpreter that has LibMultiLabel; `--methods` are its linear classifiers: one-vs-rest
and thresholding by default, on the TF-IDF features of its own preprocessor (`train_cost_sensitive`
takes half a minute per topic). The last lines are the differences of micro and macro F1 to the best
of the others, for each recipe.
"""

import argparse
import json
import subprocess
import tempfile
import time
import warnings
from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score
from sklearn.model_selection import cross_val_predict
from sklearn.multiclass import OneVsRestClassifier
from sklearn.svm import LinearSVC

from cordwood import TextClassifier
from cordwood.datasets.corpus import Corpus
from corpora import load_multilabel
from stopwatch import measure, print_head, print_row, print_run

_C = (0.5, 1.0, 2.0, 8.0)
_WARMUP_SAMPLES = 300

# Runs in another interpreter: reads the two svmlight-like text files, writes the scores as JSON.
_LIBMULTILABEL = """
import json, sys, time
import numpy as np
from libmultilabel import linear
from libmultilabel.linear import linear as implementation
from sklearn.metrics import f1_score

class PatchedNumpy:
    # `train_thresholding` of 0.10.0 sums a matrix over axis 2, which scipy rejects.
    def __getattr__(self, name):
        return getattr(np, name)

    def sum(self, values, axis=None):
        return np.sum(values, 0 if axis == 2 else axis)


implementation.np = PatchedNumpy()
folder, *names = sys.argv[1:]
datasets = linear.load_dataset("txt", f"{folder}/train.txt", f"{folder}/test.txt")
start = time.process_time()
preprocessor = linear.Preprocessor()
datasets = preprocessor.fit_transform(datasets)
seconds = time.process_time() - start
train, test = datasets["train"], datasets["test"]
y_true = test["y"].toarray()
found = {}
for name in names:
    start = time.process_time()
    model = getattr(linear, name)(
        train["y"], train["x"], options="-s 2 -B 1 -e 0.0001 -q", verbose=False
    )
    y_pred = (linear.predict_values(model, test["x"]) > 0).astype(int)
    spent = seconds + time.process_time() - start
    averages = ("micro", "macro")
    scores = [f1_score(y_true, y_pred, average=each, zero_division=0) for each in averages]
    found[name] = [*scores, spent]
print("RESULT" + json.dumps(found))
"""


class Result(NamedTuple):
    """Scores and CPU time of training and prediction."""

    micro_f1: float
    macro_f1: float
    seconds: float


def main(recipe_names: list[str], libmultilabel: str | None, methods: Sequence[str]) -> None:
    print_run()
    training, test, topics = load_multilabel("reuters21578")
    Y, Y_test = indicators(training, topics), indicators(test, topics)
    print(f"{len(training):,} + {len(test):,} documents, {len(topics)} topics\n")
    others = iter_sklearn(training, Y, test, Y_test)
    if libmultilabel is not None:
        others = chain(others, iter_libmultilabel(libmultilabel, methods, training, test))
    print_head("classifier", "micro F1", "macro F1", "CPU time, s")
    other_results = [print_result(name, result) for name, result in others]
    # Loads kernels.
    TextClassifier(encoder=None).fit(training.select(range(_WARMUP_SAMPLES)))
    results = {}
    for name in recipe_names:
        result = run_recipe(name, training, test, topics, Y_test)
        results[name] = print_result(f"cordwood `{name}`", result)
    best_micro = max(result.micro_f1 for result in other_results)
    best_macro = max(result.macro_f1 for result in other_results)
    print()
    for name, result in results.items():
        micro, macro = result.micro_f1 - best_micro, result.macro_f1 - best_macro
        print(f"{name} minus the best of the others: micro F1 {micro:+.4f}, macro F1 {macro:+.4f}")


def print_result(name: str, result: Result) -> Result:
    print_row(name, f"{result.micro_f1:.4f}", f"{result.macro_f1:.4f}", f"{result.seconds:.1f}")
    return result


def run_recipe(
    name: str, training: Corpus, test: Corpus, topics: list[str], Y_test: NDArray[np.int64]
) -> Result:
    model = TextClassifier(name, encoder=None)
    fit_seconds, _ = measure(model.fit, training, clock=time.process_time)
    seconds, predictions = measure(model.classify, test, clock=time.process_time)
    assert predictions.classes.tolist() == topics
    return score(Y_test, predictions.indicators, fit_seconds + seconds)


def iter_sklearn(
    training: Corpus, Y: NDArray[np.int64], test: Corpus, Y_test: NDArray[np.int64]
) -> Iterator[tuple[str, Result]]:
    vectorizer = TfidfVectorizer(sublinear_tf=True)
    start = time.process_time()
    X, X_test = vectorizer.fit_transform(training.texts), vectorizer.transform(test.texts)
    seconds = time.process_time() - start
    for name, make in (("LinearSVC", make_svm), ("LogisticRegression", make_logistic)):
        scores = {C: cross_validate(make(C), X, Y) for C in _C}
        C = max(scores, key=scores.__getitem__)
        start = time.process_time()
        predicted = make(C).fit(X, Y).predict(X_test)
        spent = seconds + time.process_time() - start
        yield f"scikit-learn, {name}(C={C:g})", score(Y_test, predicted, spent)


def make_svm(C: float) -> Any:
    return OneVsRestClassifier(LinearSVC(C=C))


def make_logistic(C: float) -> Any:
    return OneVsRestClassifier(LogisticRegression(C=C, solver="liblinear"))


def cross_validate(model: Any, X: Any, Y: NDArray[np.int64]) -> float:
    with warnings.catch_warnings():
        # A topic with one document is in no training fold.
        warnings.filterwarnings("ignore", "Label not .* is present in all training examples")
        predicted = cross_val_predict(model, X, Y, cv=3)
    return float(f1_score(Y, predicted, average="micro"))


def iter_libmultilabel(
    interpreter: str, methods: Sequence[str], training: Corpus, test: Corpus
) -> Iterator[tuple[str, Result]]:
    with tempfile.TemporaryDirectory() as folder:
        for name, corpus in (("train", training), ("test", test)):
            lines = [
                f"{' '.join(labels)}\t{' '.join(text.split())}\n"
                for labels, text in zip(corpus.labels or (), corpus.texts, strict=True)
            ]
            Path(folder, f"{name}.txt").write_text("".join(lines), encoding="utf-8")
        for method in methods:
            command = [interpreter, "-c", _LIBMULTILABEL, folder, method]
            output = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout
            values = json.loads(output.rpartition("RESULT")[2])[method]
            yield f"LibMultiLabel, `{method}`", Result(*values)


def indicators(corpus: Corpus, topics: list[str]) -> NDArray[np.int64]:
    found = np.zeros((len(corpus), len(topics)), np.int64)
    for i, labels in enumerate(corpus.labels or ()):
        found[i, [topics.index(label) for label in labels]] = 1
    return found


def score(y_true: NDArray[np.int64], y_pred: Any, seconds: float) -> Result:
    micro, macro = (
        float(f1_score(y_true, y_pred, average=average, zero_division=0.0))
        for average in ("micro", "macro")
    )
    return Result(micro, macro, seconds)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Compare multilabel F1 on Reuters-21578.")
    parser.add_argument("--recipes", nargs="+", default=["nbsvm", "quick"])
    parser.add_argument("--libmultilabel", metavar="PYTHON")
    parser.add_argument("--methods", nargs="+", default=["train_1vsrest", "train_thresholding"])
    options = parser.parse_args()
    main(options.recipes, options.libmultilabel, options.methods)
