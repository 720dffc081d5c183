"""How many labels does each way to choose the texts to label need?

    python dev.py bench active_learning [--sets r8,tweets] [--strategies cordwood,random]
        [--seeds 10] [--budget 200] [--batch 10] [--ledger FILE] [--model embeddings]
        [--encoder use] [--only-print]

Simulates annotators: labels are those of the data set. Of up to 2,400 texts, each seed draws 800
for testing (a third of smaller sets); the others are unlabelled at first. `--batch` labels at a
time are added, and the same classifier is fitted for all strategies: `EmbeddingClassifier` on the
vectors of the encoder, or `TextClassifier` with `--model quick`. All strategies begin with the
same random batch, except for "cordwood", which begins with `choose_diverse`; without a second
class, those that need a model choose at random. Results are appended to the ledger, if there is
one, and not computed again; `--only-print` shows those of the ledger.

Prints the mean macro F1 over the learning curve (its area) in percent, the difference of each
strategy to "random" over the same seeds with its 95 % t-interval, and the number of labels at which
the curve first reaches 95 % of the macro F1 with all labels (median over the seeds). The last line
is the lowest upper end of an interval of "cordwood": if it is negative, it is significantly worse
than random on a set.

"margin", "least confident" and "entropy" are uncertainty sampling of scikit-activeml 1.0.1, whose
coreset, badge, typiclust and discriminative are the other ones, with their defaults, except for
`DiscriminativeAL(greedy_selection=True)` and fast k-means for typiclust; "breaking ties",
"lightweight coreset" and "k-means" are of small-text 1.4.1. Strategies of packages that are not
installed are an error: name others in `--strategies`.
"""

import argparse
import json
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache, partial
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import t as student
from sklearn.cluster import MiniBatchKMeans
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score
from threadpoolctl import threadpool_limits

from cordwood import EmbeddingClassifier, EmbeddingVectorizer, TextClassifier
from cordwood.labelling.choice import choose_diverse, choose_next
from few_labels import load_texts
from options import at_least
from stopwatch import print_head, print_row, print_run

SETS = "amazon,nyt,tweets,yelp,r8,r8:title,20ng,20ng:subject"
# On which the constants of `choose_next` were chosen; they share no texts with the sets above.
TUNING_SETS = "debate,youtube,webkb,ohsumed:title"
MAX_TEXTS, MAX_TEST = 2400, 800
TARGET = 0.95

# Macro F1 in percent after each batch, by data set and strategy, and by seed.
Curves = dict[tuple[str, str], dict[int, Any]]


@dataclass(frozen=True)
class Pool:
    """What a strategy sees."""

    vectors: Any
    y: Any  # codes of the classes; NaN is unlabelled
    n_classes: int
    proba: Any  # None before there is a model
    n: int
    seed: int

    @property
    def labelled(self) -> Any:
        """Return the mask of labelled texts."""
        return ~np.isnan(self.y)


def main(options: argparse.Namespace) -> None:
    print_run()
    # Few labels of many classes look like a regression problem.
    warnings.filterwarnings("ignore", message="The number of unique classes")
    sets = options.sets.split(",")
    strategies = list(dict.fromkeys(["random", *options.strategies.split(",")]))
    with threadpool_limits(1):
        runs = list(run_all(sets, strategies, options))
    curves: Curves = {}
    full: dict[tuple[str, int], float] = {}
    for run in runs:
        curves.setdefault((run["set"], run["strategy"]), {})[run["seed"]] = 100 * np.array(
            run["f1"]
        )
        full[run["set"], run["seed"]] = 100 * run["full"]
    print_areas(curves, full, sets, strategies)
    ends = print_differences(curves, sets, strategies[1:])
    print_needed(curves, full, sets, strategies, options)
    if "cordwood" in ends:
        print(f"\nlowest upper end of an interval of cordwood: {min(ends['cordwood']):+.1f}")


def print_areas(
    curves: Curves, full: dict[tuple[str, int], float], sets: list[str], strategies: list[str]
) -> None:
    """Print the mean of each curve, averaged over the seeds, and its standard deviation."""
    print("Mean macro F1 over the curve ± standard deviation")
    print_head("data set", *strategies, "all labels")
    for name in sets:
        areas = [[curve.mean() for curve in curves[name, each].values()] for each in strategies]
        everything = np.mean([value for (each, _), value in full.items() if each == name])
        cells = [f"{np.mean(area):.1f} ± {np.std(area):.1f}" for area in areas]
        print_row(name, *cells, f"{everything:.1f}")


def print_differences(
    curves: Curves, sets: list[str], strategies: list[str]
) -> dict[str, list[float]]:
    """Print the differences to "random"; return the upper ends of the intervals by strategy."""
    print("\nDifference to random")
    print_head("data set", *strategies)
    ends = defaultdict(list)
    means = defaultdict(list)
    for name in sets:
        cells = []
        for strategy in strategies:
            pairs = curves[name, strategy], curves[name, "random"]
            seeds = pairs[0].keys() & pairs[1].keys()
            mean, half = interval([(pairs[0][i] - pairs[1][i]).mean() for i in seeds])
            cells.append(f"{mean:+.1f} ± {half:.1f}")
            means[strategy].append(mean)
            ends[strategy].append(mean + half)
        print_row(name, *cells)
    print_row("mean", *(f"{np.mean(means[strategy]):+.1f}" for strategy in strategies))
    return ends


def print_needed(
    curves: Curves,
    full: dict[tuple[str, int], float],
    sets: list[str],
    strategies: list[str],
    options: argparse.Namespace,
) -> None:
    """Print how many labels reach the target, as the median over the seeds."""
    print(f"\nLabels for {TARGET:.0%} of the macro F1 with all labels")
    print_head("data set", *strategies)
    for name in sets:
        cells = []
        for strategy in strategies:
            needed = []
            for seed, curve in curves[name, strategy].items():
                reached = curve >= TARGET * full[name, seed]
                n_batches = reached.argmax() + 1 if reached.any() else np.inf
                needed.append(n_batches * options.batch)
            median = np.median(needed)
            cells.append(f"{median:.0f}" if np.isfinite(median) else f">{options.budget}")
        print_row(name, *cells)


def interval(values: list[float]) -> tuple[float, float]:
    """Return the mean and half the length of its 95 % interval."""
    n = len(values)
    half = student.ppf(0.975, n - 1) * np.std(values, ddof=1) / np.sqrt(n) if n > 1 else np.nan
    return float(np.mean(values)), float(half)


def run_all(
    sets: list[str], strategies: list[str], options: argparse.Namespace
) -> Iterator[dict[str, Any]]:
    """Yield the results of all seeds, from the ledger or computed now."""
    settings = {name: getattr(options, name) for name in ("batch", "budget", "model", "encoder")}
    ledger = Path(options.ledger) if options.ledger else None
    known = {}
    if ledger is not None and ledger.exists():
        for line in ledger.read_text(encoding="utf-8").splitlines():
            run = json.loads(line)
            if {key: run[key] for key in settings} == settings:
                known[run["set"], run["strategy"], run["seed"]] = run
    # Seed by seed, so that an interrupted run has results of all sets and strategies.
    for seed in range(options.seeds):
        for name in sets:
            for strategy in strategies:
                run = known.get((name, strategy, seed))
                if run is None and not options.only_print:
                    run = {"set": name, "strategy": strategy, "seed": seed, **settings}
                    run |= simulate(name, strategy, seed, options)
                    if ledger is not None:
                        with ledger.open("a", encoding="utf-8") as file:
                            file.write(json.dumps(run) + "\n")
                if run is not None:
                    yield run


def simulate(name: str, strategy: str, seed: int, options: argparse.Namespace) -> dict[str, Any]:
    """Return the macro F1 after each batch, and with all labels."""
    texts, vectors, codes = load_vectors(name, options.encoder)
    order = np.random.default_rng(seed).permutation(len(codes))
    n_test = min(MAX_TEST, len(codes) // 3)
    test, rows = order[:n_test], order[n_test:]
    truth = codes[rows]
    X = vectors if options.model == "embeddings" else texts
    make = partial(make_model, options.model, options.encoder)
    y = np.full(len(rows), np.nan)
    first = np.arange(options.batch)  # of a random order
    if strategy.startswith("cordwood"):
        first = choose_diverse(vectors[rows], options.batch, seed=seed)
    y[first] = truth[first]
    scores = []
    while True:
        known = np.flatnonzero(~np.isnan(y))
        is_model = len(np.unique(truth[known])) > 1
        model = make().fit(X[rows[known]], truth[known]) if is_model else None
        predicted = model.predict(X[test]) if is_model else np.repeat(truth[known[0]], n_test)
        scores.append(macro_f1(codes[test], predicted))
        if len(known) >= options.budget:
            break
        proba = model.predict_proba(X[rows]) if is_model and strategy not in NO_MODEL else None
        pool = Pool(vectors[rows], y, codes.max() + 1, proba, options.batch, seed)
        choose = STRATEGIES[strategy] if is_model or strategy in NO_MODEL else choose_random
        chosen = np.asarray(choose(pool))
        if len(np.unique(chosen)) != options.batch or pool.labelled[chosen].any():
            raise SystemExit(f"{strategy} chose labelled texts, or fewer than {options.batch}")
        y[chosen] = truth[chosen]
    return {"f1": scores, "full": full_score(name, seed, options.model, options.encoder)}


@cache
def full_score(name: str, seed: int, model: str, encoder: str) -> float:
    """Return the macro F1 with all labels."""
    texts, vectors, codes = load_vectors(name, encoder)
    order = np.random.default_rng(seed).permutation(len(codes))
    n_test = min(MAX_TEST, len(codes) // 3)
    test, rows = order[:n_test], order[n_test:]
    X = vectors if model == "embeddings" else texts
    return macro_f1(
        codes[test], make_model(model, encoder).fit(X[rows], codes[rows]).predict(X[test])
    )


def macro_f1(truth: Any, predicted: Any) -> float:
    """Return the mean F1 of the classes of the test texts."""
    return float(f1_score(truth, predicted, average="macro", labels=np.unique(truth)))


def make_model(model: str, encoder: str) -> Any:
    """Return the classifier, unfitted."""
    return EmbeddingClassifier() if model == "embeddings" else TextClassifier(encoder=encoder)


@cache
def load_vectors(name: str, encoder: str) -> tuple[Any, Any, Any]:
    """Return texts, their vectors and the codes of their classes."""
    texts, labels = load_texts(name)
    rows = np.random.default_rng(0).permutation(len(texts))[:MAX_TEXTS]
    vectors = EmbeddingVectorizer(encoder=encoder).fit_transform(texts[rows].tolist())
    return texts[rows], vectors, np.unique(labels[rows], return_inverse=True)[1]


def choose_random(pool: Pool) -> Any:
    """Choose by a uniform draw."""
    rng = np.random.default_rng([pool.seed, np.count_nonzero(pool.labelled)])
    return rng.choice(np.flatnonzero(~pool.labelled), pool.n, replace=False)


def choose_ours(pool: Pool, random_share: float = 0.2) -> Any:
    """Choose by `choose_next`."""
    arguments = pool.proba, pool.vectors, pool.labelled
    found = choose_next(*arguments, n=pool.n, seed=pool.seed, random_share=random_share)
    return [chosen.index for chosen in found]


def query_skactiveml(pool: Pool, strategy: str, parameters: dict[str, Any], model: str = "") -> Any:
    """Choose by a strategy of scikit-activeml, whose argument `model` is a classifier."""
    made = getattr(import_module("skactiveml.pool"), strategy)(random_state=pool.seed, **parameters)
    arguments: dict[str, Any] = {}
    if model:
        wrapper = import_module("skactiveml.classifier").SklearnClassifier
        estimator = EmbeddingClassifier() if model == "clf" else LogisticRegression()
        classes = range(pool.n_classes) if model == "clf" else [0, 1]
        arguments[model] = wrapper(estimator, classes=list(classes), random_state=pool.seed)
    return made.query(X=pool.vectors, y=pool.y, batch_size=pool.n, **arguments)


class KnownProba:
    """A classifier of small-text whose probabilities are those given."""

    def __init__(self, proba: Any) -> None:
        self.proba = proba

    def predict_proba(self, dataset: Any) -> Any:
        """Return the probabilities of all texts."""
        return self.proba


def query_small_text(pool: Pool, strategy: str) -> Any:
    """Choose by a strategy of small-text, which uses the global random state of numpy."""
    made = getattr(import_module("small_text"), strategy)()
    np.random.seed(pool.seed + np.count_nonzero(pool.labelled))
    unlabelled, labelled = np.flatnonzero(~pool.labelled), np.flatnonzero(pool.labelled)
    arguments: dict[str, Any] = {"n": pool.n}
    if strategy != "BreakingTies":  # expects the rows in this order
        arguments["embeddings"] = pool.vectors[np.concatenate([unlabelled, labelled])]
        arguments["pbar"] = None
    texts = np.arange(len(pool.y))
    return made.query(
        KnownProba(pool.proba),
        texts,
        unlabelled,
        labelled,
        pool.y[labelled].astype(int),
        **arguments,
    )


_TYPICLUST = {"cluster_algo": MiniBatchKMeans, "cluster_algo_dict": {"n_init": 1}}
STRATEGIES: dict[str, Callable[[Pool], Any]] = {
    "cordwood": choose_ours,
    "cordwood 0 % random": partial(choose_ours, random_share=0),
    "random": choose_random,
    "breaking ties": partial(query_small_text, strategy="BreakingTies"),
    "lightweight coreset": partial(query_small_text, strategy="LightweightCoreset"),
    "k-means": partial(query_small_text, strategy="EmbeddingKMeans"),
    **{
        name: partial(
            query_skactiveml,
            strategy="UncertaintySampling",
            parameters={"method": method},
            model="clf",
        )
        for name, method in (
            ("least confident", "least_confident"),
            ("margin", "margin_sampling"),
            ("entropy", "entropy"),
        )
    },
    "coreset": partial(query_skactiveml, strategy="CoreSet", parameters={}),
    "badge": partial(query_skactiveml, strategy="Badge", parameters={}, model="clf"),
    "typiclust": partial(query_skactiveml, strategy="TypiClust", parameters=_TYPICLUST),
    "discriminative": partial(
        query_skactiveml,
        strategy="DiscriminativeAL",
        parameters={"greedy_selection": True},
        model="discriminator",
    ),
}
NO_MODEL = {"random", "coreset", "typiclust", "lightweight coreset", "k-means", "discriminative"}


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sets", default=SETS, help=f"constants were chosen on {TUNING_SETS}")
    parser.add_argument("--strategies", default=",".join(STRATEGIES))
    parser.add_argument("--seeds", type=at_least(1), default=10)
    parser.add_argument("--budget", type=at_least(20), default=200)
    parser.add_argument("--batch", type=at_least(1), default=10)
    parser.add_argument("--model", choices=["embeddings", "quick"], default="embeddings")
    parser.add_argument("--encoder", default="use")
    parser.add_argument("--ledger", help="file of results, to go on with")
    parser.add_argument("--only-print", action="store_true")
    main(parser.parse_args())
