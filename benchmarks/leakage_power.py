"""How often does a stack warn of leakage by pairs of duplicates, and how often without reason?

    python dev.py bench leakage_power [--samples 1500 600] [--repeats 24]

Training sets with random labels of three classes and 30 count features, in which pairs of equal or
nearly equal samples with the same label cover a fraction of the samples. Near-duplicates differ by
one in one feature. The members are a random forest, nearest neighbors and naive Bayes. Printed is
the number of training sets for which `OOBStackingClassifier` warns; the first line, without pairs,
counts false alarms. The table in docs/stacking.md has these figures.
"""

import argparse
import warnings

import numpy as np
from numpy.typing import NDArray
from sklearn.naive_bayes import MultinomialNB

from cordwood import NeighborsClassifier, OOBStackingClassifier, RandomForestClassifier
from options import at_least

N_FEATURES, N_CLASSES = 30, 3
FRACTIONS = (0.0, 0.1, 0.2, 0.4, 0.8)


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure the power of the leakage check.")
    parser.add_argument("--samples", type=at_least(100), nargs="+", default=[1500, 600])
    parser.add_argument("--repeats", type=at_least(1), default=24)
    options = parser.parse_args()
    print(f"{'samples':>7} {'pairs cover':>11} {'exact':>9} {'near':>9}")
    for n_samples in options.samples:
        for fraction in FRACTIONS:
            counts = [
                sum(
                    warns_of_leakage(*make_pairs(n_samples, fraction, near, seed))
                    for seed in range(options.repeats)
                )
                for near in (False, True)
            ]
            cells = " ".join(f"{count:>3} of {options.repeats:<2}" for count in counts)
            print(f"{n_samples:>7} {fraction:>11.0%} {cells}", flush=True)


def make_pairs(
    n_samples: int, fraction: float, near: bool, seed: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return samples with random labels, a fraction of them in pairs of (near-)duplicates."""
    rng = np.random.default_rng(seed)
    n_pairs = int(n_samples * fraction / 2)
    X = rng.poisson(0.7, size=(n_samples - n_pairs, N_FEATURES))
    y = rng.integers(N_CLASSES, size=n_samples - n_pairs)
    copies = X[:n_pairs].copy()
    if near:
        copies[np.arange(n_pairs), rng.integers(N_FEATURES, size=n_pairs)] += 1
    return np.vstack([X, copies]), np.concatenate([y, y[:n_pairs]])


def warns_of_leakage(X: NDArray[np.int64], y: NDArray[np.int64]) -> bool:
    """Fit a stack and return whether it warns."""
    members = [
        ("forest", RandomForestClassifier(50, random_state=0)),
        ("knn", NeighborsClassifier(15)),
        ("bayes", MultinomialNB()),
    ]
    stack = OOBStackingClassifier(members, cv=3, random_state=0)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        stack.fit(X, y)
    return any("out-of-fold" in str(warning.message) for warning in caught)


if __name__ == "__main__":
    main()
