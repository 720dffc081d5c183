"""How much time do out-of-bag predictions save, and how does scikit-learn's stack compare?

    python dev.py bench stacking_speed [--set 20ng] [--members nine|five] [--peer cv|sklearn]

Fits and predicts one fold, vectorization included, and reports CPU seconds of one thread. The peer
is, with ``--peer cv``, the same stack with cross-validation of all members; with ``--peer
sklearn``, scikit-learn's `StackingClassifier` with its own random forest, extra-trees, linear SVM,
naive Bayes and nearest neighbors, to be compared with ``--members five``. All stacks have five
folds and a random forest as final estimator. The last line is the quotient of the times.
"""

import argparse
from typing import Any

import numpy as np
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier, StackingClassifier
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.naive_bayes import MultinomialNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.svm import LinearSVC
from threadpoolctl import threadpool_limits

from cordwood import TextVectorizer, recipes
from cordwood._base.resources import PeakMemory
from cordwood.compare.config.schema import EvaluationConfig
from cordwood.compare.runner.cv_splits import split
from cordwood.datasets.registry import load_dataset
from stopwatch import load, measure, print_head, print_row, print_run

FIVE = ["rf", "et", "svm", "nb", "knn"]


def make_sklearn_stack(vectorizer_params: dict[str, Any], seed: int) -> Pipeline:
    def on_tfidf(classifier: Any) -> Pipeline:
        return make_pipeline(TfidfTransformer(sublinear_tf=True), classifier)

    estimators = [
        ("rf", RandomForestClassifier(200, random_state=seed)),
        ("et", ExtraTreesClassifier(200, random_state=seed)),
        ("svm", on_tfidf(LinearSVC(random_state=seed))),
        ("nb", MultinomialNB()),
        ("knn", on_tfidf(KNeighborsClassifier(30, metric="cosine", weights="distance"))),
    ]
    stack = StackingClassifier(estimators, RandomForestClassifier(200, random_state=seed))
    return make_pipeline(TextVectorizer(weighting="tf", **vectorizer_params), stack)


def main(name: str, members: str, peer: str, seed: int) -> None:
    print_run()
    corpus = load_dataset(name)
    fold = split(corpus, EvaluationConfig(), seed)[0]
    train, test = corpus.select(fold.train), corpus.select(fold.test)
    print(f"{name}: {len(train):,} training documents, {len(test):,} test documents{load()}\n")
    params: dict[str, Any] = {
        "vectorizer_params": {"preset": "sigir17"},
        "random_state": seed,
        "n_jobs": 1,
        "combiner": "rf",
        "check_leakage": False,
    }
    if members == "five":
        params["members"] = FIVE
    oob = recipes.make("stack_sigir17", **params)
    if peer == "cv":
        other = recipes.make("stack_sigir17", use_oob=False, **params)
    else:
        other = make_sklearn_stack(params["vectorizer_params"], seed)
    few = np.linspace(0, len(train) - 1, 300, dtype=int)
    oob.fit(train.select(few).texts, train.select(few).labels)  # compiles or loads kernels
    print_head("stack", "fit, s", "predict, s", "micro-F1")
    seconds = {}
    memory = PeakMemory()
    for title, model in (("out-of-bag", oob), (peer, other)):
        fit_seconds, _ = measure(model.fit, train.texts, np.array(train.labels))
        predict_seconds, predicted = measure(model.predict, test.texts)
        seconds[title] = fit_seconds + predict_seconds
        micro_f1 = float(np.mean(predicted == np.array(test.labels)))
        print_row(title, f"{fit_seconds:.1f}", f"{predict_seconds:.1f}", f"{100 * micro_f1:.2f}")
    print(f"\npeak memory of the process: {(memory.read() or 0) / 1e6:,.0f} MB")
    print(f"{peer} / out-of-bag: {seconds[peer] / seconds['out-of-bag']:.1f}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Time two stacks.")
    parser.add_argument("--set", default="20ng")
    parser.add_argument("--members", choices=("nine", "five"), default="nine")
    parser.add_argument("--peer", choices=("cv", "sklearn"), default="cv")
    parser.add_argument("--seed", type=int, default=42)
    options = parser.parse_args()
    with threadpool_limits(1):
        main(options.set, options.members, options.peer, options.seed)
