"""Which weights and knots of columns beside the text? Members of `quick` on Debian packages.

    python dev.py bench column_features [--packages 6000]

Trains on two thirds of the table of `mixed_table` and prints the accuracy on the rest. First each
member alone: texts only, with columns of several weights, and with numbers of several knots (0 is
the single rank). The row of the recipe has its own parameters. Then stacks: with joined or separate
texts, and without the member `columns`. Last, a stack with and without this member on synthetic
data whose label depends on two numbers, as an exclusive or.
"""

import argparse
from typing import Any

import numpy as np
from sklearn.model_selection import StratifiedGroupKFold

from cordwood import recipes
from cordwood.columns import ColumnRoles
from mixed_table import ROLES, load_packages, take_rows
from options import at_least
from stopwatch import print_head, print_row, print_run

WEIGHTS = (0.25, 0.5, 1.0, 2.0)
KNOTS = (0, 3, 5, 11)
TEXTS = ColumnRoles(text=ROLES.text)


def change_member(name: str, *, weight: float | None = None, knots: int | None = None) -> Any:
    model = recipes.make(name, columns=ROLES, random_state=0)
    transformer = model["preprocessor"]
    if weight is not None:
        transformer.transformer_weights = {"categorical": weight, "numeric": weight}
    if knots is not None:
        transformer.set_params(numeric__n_knots=knots or None)
    return model


def without_columns_member() -> Any:
    model = recipes.make("quick", columns=ROLES, random_state=0)
    model["classifier"].estimators.pop()
    return model


def make_exclusive_or(n_samples: int, seed: int) -> tuple[dict[str, Any], Any]:
    """Draw texts of which half contain a word of the class, and two numbers; 10 % are noise."""
    rng = np.random.default_rng(seed)
    a, b = rng.normal(size=(2, n_samples))
    y = ((a > 0) ^ (b > 0)) ^ (rng.random(n_samples) < 0.1)
    frequency = 1 / np.arange(1, 2001)
    words = rng.choice(2000, (n_samples, 12), p=frequency / frequency.sum())
    hints = np.where(rng.random(n_samples) < 0.5, rng.integers(30, size=n_samples), -1)
    texts = [
        " ".join([*(f"w{word}" for word in row), *([f"{label}{hint}"] if hint >= 0 else [])])
        for row, label, hint in zip(words.tolist(), y.tolist(), hints.tolist(), strict=True)
    ]
    return {"text": texts, "a": 1e4 * a, "b": np.exp(b)}, y


def main(n_packages: int) -> None:
    print_run()
    packages = load_packages(n_packages)
    y = packages.sections
    splitter = StratifiedGroupKFold(3, shuffle=True, random_state=0)
    train, test = next(splitter.split(y, y, packages.sources))
    X, X_test = take_rows(packages.columns, train), take_rows(packages.columns, test)

    def measure(model: Any) -> str:
        return f"{100 * (model.fit(X, y[train]).predict(X_test) == y[test]).mean():.1f}"

    print_head("member", "texts", *(f"weight {weight:g}" for weight in WEIGHTS), "recipe")
    for name in ("nbsvm", "nb", "knn"):
        texts = measure(recipes.make(name, columns=TEXTS, random_state=0))
        found = [measure(change_member(name, weight=weight)) for weight in WEIGHTS]
        print_row(name, texts, *found, measure(change_member(name)))
    print()
    print_head("member", *(f"{knots} knots" for knots in KNOTS))
    for name in ("nbsvm", "nb", "knn", "rf"):
        # Naive Bayes takes no negative numbers, and cosines of them are no similarities.
        allowed = [knots for knots in KNOTS if knots or name in ("nbsvm", "rf")]
        found = [measure(change_member(name, knots=knots)) for knots in allowed]
        print_row(name, *([""] * (len(KNOTS) - len(found))), *found)
    print()
    print_head("stack", "accuracy")
    print_row("joined texts", measure(recipes.make("quick", columns=ROLES, random_state=0)))
    separate = recipes.make("quick", columns=ROLES, text_views="separate", random_state=0)
    print_row("separate texts", measure(separate))
    print_row("without the member columns", measure(without_columns_member()))
    print()
    roles = {"text": ["text"], "numeric": ["a", "b"]}
    (table, label), (new, truth) = make_exclusive_or(1500, 1), make_exclusive_or(1500, 2)
    for is_kept in (True, False):
        model = recipes.make("quick", columns=roles, random_state=0)
        if not is_kept:
            model["classifier"].estimators.pop()
        accuracy = 100 * (model.fit(table, label).predict(new) == truth).mean()
        print(f"exclusive or, {'with' if is_kept else 'without'} the member: {accuracy:.1f}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Compare encodings of columns.")
    parser.add_argument("--packages", type=at_least(100), default=6000)
    main(parser.parse_args().packages)
