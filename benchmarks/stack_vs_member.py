"""Is the recipe `quick` ever less accurate than its best member, and which members matter?

    python dev.py bench stack_vs_member [--sets twitter,yelp,...] [--folds 1] [--max-train 3000]
        [--encoder use] [--prune-tol 0.001] [--clusters 20]

Fits `quick` on two thirds of each data set, at most `--max-train` texts, and compares it with the
member that is most accurate on the test texts, which only they show. `name@official` uses the
predefined split of a data set. `name@COLUMN` tests on the texts of one value of a column, such as
`webkb@university`, and trains on the others: once as usual, and once with the column as `groups`.
With `--clusters`, the groups of all splits are so many clusters of similar texts.

`p` is that of McNemar's exact test. The last line is the smallest difference from the best member
in standard errors.
"""

import argparse
import warnings
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binomtest
from sklearn.cluster import KMeans
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.model_selection import LeaveOneGroupOut, StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Normalizer

from cordwood import recipes
from corpora import load_single_label
from count_ratio_share import load_texts
from options import at_least
from stopwatch import print_head, print_row, print_run

SETS = (
    "twitter,yelp,bbc,myspace,youtube,debate,amazon,nyt,tweets,ohsumed,section,maintainer,"
    "20ng@official,r52@official,webkb@university"
)


class Split(NamedTuple):
    """Training and test texts; `groups` of the training texts, if they are used."""

    name: str
    texts: NDArray[Any]
    labels: NDArray[Any]
    groups: NDArray[Any] | None
    test_texts: NDArray[Any]
    test_labels: NDArray[Any]


def main(
    names: list[str], n_folds: int, max_train: int, n_clusters: int, params: dict[str, Any]
) -> None:
    print_run()
    print_head("data set", "best member", "which", "quick", "difference", "p", "weights")
    errors = []
    for name in names:
        for split in list_splits(name, n_folds, max_train):
            if n_clusters:
                split = split._replace(groups=find_clusters(split.texts, n_clusters))
            model = recipes.make("quick", random_state=0, check_leakage=False, **params)
            fit_params = {} if split.groups is None else {"classifier__groups": split.groups}
            model.fit(split.texts, split.labels, **fit_params)
            correct = model.predict(split.test_texts) == split.test_labels
            which, best = find_best_member(model["classifier"], split.test_texts, split.test_labels)
            difference = correct.astype(float) - best
            error = difference.std() / np.sqrt(len(difference))
            errors.append(difference.mean() / error if error else 0.0)
            n_better, n_worse = int((difference > 0).sum()), int((difference < 0).sum())
            n_changed = n_better + n_worse
            p = binomtest(n_better, n_changed).pvalue if n_changed else 1.0
            weights = model["classifier"].estimator_weights_
            print_row(
                split.name,
                f"{100 * best.mean():.2f}",
                which,
                f"{100 * correct.mean():.2f}",
                f"{100 * difference.mean():+.2f}",
                f"{p:.3f}",
                ", ".join(f"{member} {weight:.2f}" for member, weight in weights.items()),
            )
    print(f"\nsmallest difference in standard errors: {min(errors):.1f}")


def find_clusters(texts: NDArray[Any], n_clusters: int) -> NDArray[np.intp]:
    """Return the cluster of each text, by latent semantic analysis and k-means."""
    model = make_pipeline(
        TfidfVectorizer(sublinear_tf=True, min_df=2, stop_words="english"),
        TruncatedSVD(100, random_state=0),
        Normalizer(),
        KMeans(n_clusters, n_init=1, random_state=0),
    )
    return np.asarray(model.fit_predict(texts))


def find_best_member(
    stack: Any, texts: NDArray[Any], labels: NDArray[Any]
) -> tuple[str, NDArray[np.bool_]]:
    """Return the most accurate member, and for each text whether it classifies it correctly."""
    probas = stack.transform(texts).reshape(len(texts), -1, len(stack.classes_))
    correct = stack.classes_[probas.argmax(axis=2)] == labels[:, None]
    best = correct.mean(axis=0).argmax()
    return list(stack.named_estimators_)[best], correct[:, best]


def list_splits(name: str, n_folds: int, max_train: int) -> Iterator[Split]:
    """Return training and test texts with their labels, once for each fold."""
    dataset, _, kind = name.partition("@")
    values = None
    if kind == "official":
        corpus = load_single_label(dataset)
        texts, labels = np.array(corpus.texts, object), np.array(corpus.labels)
        parts = np.array(corpus.split)
        splits = [(np.flatnonzero(parts != "test"), np.flatnonzero(parts == "test"))]
    elif kind:
        corpus = load_single_label(dataset, group=kind)
        texts, labels = np.array(corpus.texts, object), np.array(corpus.labels)
        values = np.array(corpus.groups)
        splits = list(LeaveOneGroupOut().split(labels, labels, values))[:n_folds]
    else:
        texts, labels = load_texts(dataset)
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "The least populated class", UserWarning)
            splitter = StratifiedKFold(3, shuffle=True, random_state=42)
            splits = list(splitter.split(labels, labels))[:n_folds]
    for train, test in splits:
        train = np.random.default_rng(0).permutation(train)[:max_train]
        test = test[np.isin(labels[test], labels[train])]
        split = Split(name, texts[train], labels[train], None, texts[test], labels[test])
        if values is None:
            yield split
        else:
            split = split._replace(name=f"{dataset} of {values[test[0]]}")
            yield split
            yield split._replace(name=f"{split.name}, groups", groups=values[train])


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Compare quick with its best member.")
    parser.add_argument("--sets", default=SETS)
    parser.add_argument("--folds", type=at_least(1), default=1)
    parser.add_argument("--max-train", type=at_least(100), default=3000)
    parser.add_argument("--encoder")
    parser.add_argument("--prune-tol", type=float)
    parser.add_argument("--clusters", type=at_least(0), default=0)
    options = parser.parse_args()
    given = {"encoder": options.encoder, "prune_tol": options.prune_tol}
    main(
        options.sets.split(","),
        options.folds,
        options.max_train,
        options.clusters,
        {param: value for param, value in given.items() if value is not None},
    )
