"""Speed of the recipe `nbsvm` compared with scikit-learn's `LinearSVC`, with many classes.

    python dev.py bench many_classes_speed [--classes 150] [--repeats 3]

Fits the classifier of `nbsvm`, with and without a fitted temperature, and `LinearSVC` with the same
`C` and tolerance on the same features: word and character n-grams of Debian package descriptions,
with the maintainer as the class. If there are fewer maintainers with enough packages, classes are
divided. Times are CPU times of one thread, the minimum over the repeats, measured in turn. The last
line is the time of `nbsvm`, temperature included, divided by that of `LinearSVC`.
"""

import argparse

import numpy as np
from sklearn.svm import LinearSVC

from cordwood import recipes
from many_classes import load_descriptions
from options import at_least
from stopwatch import load, measure, print_head, print_row, print_run


def main(n_classes: int, n_repeats: int) -> None:
    print_run()
    texts, labels = load_descriptions("maintainer", max_texts=200, max_classes=n_classes)
    y = divide(np.unique(labels, return_inverse=True)[1], n_classes)
    vectorizer, nbsvm = recipes.make("nbsvm", n_jobs=1, random_state=0)
    X = vectorizer.fit_transform(texts)
    fixed = recipes.make("nbsvm", n_jobs=1, random_state=0, temperature=0.25)["classifier"]
    reference = LinearSVC(C=nbsvm.C, tol=nbsvm.tol, random_state=0)
    print(f"{X.shape[0]:,} texts, {len(np.unique(y))} classes, {X.shape[1]:,} features{load()}")
    nbsvm.fit(X[::20], y[::20])  # compiles or loads the kernels
    models = {"nbsvm": nbsvm, "nbsvm, fixed temperature": fixed, "LinearSVC": reference}
    times = [[measure(model.fit, X, y)[0] for model in models.values()] for _ in range(n_repeats)]
    least = dict(zip(models, np.min(times, axis=0), strict=True))
    print_head("classifier", "fit, s", "relative to LinearSVC")
    for name, seconds in least.items():
        print_row(name, f"{seconds:.2f}", f"{seconds / least['LinearSVC']:.2f}")
    print(f"\nratio: {least['nbsvm'] / least['LinearSVC']:.2f}")


def divide(codes: np.ndarray, n_classes: int) -> np.ndarray:
    """Divide the largest classes in two until there are enough of them."""
    codes = codes.copy()
    while (n_found := codes.max() + 1) < n_classes:
        members = np.flatnonzero(codes == np.bincount(codes).argmax())
        codes[members[::2]] = n_found
    return codes


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Compare nbsvm with LinearSVC on many classes.")
    parser.add_argument("--classes", type=at_least(3), default=150)
    parser.add_argument("--repeats", type=at_least(1), default=3)
    options = parser.parse_args()
    main(options.classes, options.repeats)
