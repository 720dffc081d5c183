"""Where do log-count ratios help, and does `nb_scaling="auto"` know it?

    python dev.py bench count_ratio_share [--sets maintainer,bbc] [--folds 1]

Compares the classifier of the recipe `nbsvm` with `nb_scaling` 0, which is `svm_ngrams`, 0.5 and
"auto" in stratified folds of a third. `maintainer` and `section` are Debian package descriptions
with many classes; `name:n` draws n training texts of another data set. The last line is the
smallest difference in accuracy of "auto" from the better of the two fixed values, in percentage
points.
"""

import argparse
import warnings

import numpy as np
from sklearn.metrics import accuracy_score, f1_score
from sklearn.model_selection import StratifiedKFold

from cordwood import recipes
from corpora import load_single_label
from many_classes import CLASSES, load_descriptions
from options import at_least
from stopwatch import print_head, print_row, print_run

SETS = "maintainer,section,bbc,myspace,youtube,debate,twitter,tweets:500,tweets,20ng:2000,ohsumed"
VALUES = (0.0, 0.5, "auto")


def main(names: list[str], n_folds: int) -> None:
    print_run()
    print_head("data set", "classes", "texts", *(f"nb_scaling={value}" for value in VALUES))
    differences = []
    for entry in names:
        name, _, n_texts = entry.partition(":")
        texts, labels = load_texts(name)
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "The least populated class", UserWarning)
            folds = list(StratifiedKFold(3, shuffle=True, random_state=42).split(labels, labels))
        scores = []
        for train, test in folds[:n_folds]:
            if n_texts:
                train = np.random.default_rng(0).permutation(train)[: int(n_texts)]
            vectorizer, classifier = recipes.make("nbsvm", random_state=0, temperature=1.0)
            X, X_test = vectorizer.fit_transform(texts[train]), vectorizer.transform(texts[test])
            scores.append([])
            for value in VALUES:
                classifier.set_params(nb_scaling=value).fit(X, labels[train])
                predicted = classifier.predict(X_test)
                macro = f1_score(labels[test], predicted, average="macro")
                scores[-1].append((accuracy_score(labels[test], predicted), macro))
        means = 100 * np.mean(scores, axis=0)
        differences.append(means[2, 0] - means[:2, 0].max())
        cells = [f"{accuracy:.2f} / {macro:.2f}" for accuracy, macro in means]
        print_row(entry, str(len(set(labels))), f"{len(train):,}", *cells)
    print(f"\nsmallest difference: {min(differences):.2f}")


def load_texts(name: str) -> tuple[np.ndarray, np.ndarray]:
    if name in CLASSES:
        return load_descriptions(name)
    corpus = load_single_label(name)
    return np.array(corpus.texts, object), np.array(corpus.labels)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Compare strengths of log-count ratios.")
    parser.add_argument("--sets", default=SETS)
    parser.add_argument("--folds", type=at_least(1), default=1)
    options = parser.parse_args()
    main(options.sets.split(","), options.folds)
