"""Load and use damaged and crafted model files, each with bounded memory and CPU time.

Models of every recipe are saved and then changed in one of three ways:

- damaged: bytes of the file are flipped, deleted, inserted, repeated or cut off;
- edited: values of the object tree or of an array are replaced, and the archive is written again
  with valid checksums and a valid digest, as an attacker would;
- forged: the tree is replaced by, or extended with, types and values from a list of attacks.

A file that is damaged must be rejected or predict the same. One that is edited or forged must be
rejected, or be a valid model: predict finite probabilities that sum to one. Anything else is a
failure: a signal, an exception at prediction, more than 1 GB of memory or 10 seconds of CPU time.
The files of failures are kept.

python dev.py bench fuzz_model_files [--mutations 20000] [--seed 0] [--keep FOLDER]
"""

import argparse
import json
import os
import signal
import sys
import tempfile
import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from cordwood import TextClassifier, load, persist
from cordwood.confidence.scope import scope_p_values
from cordwood.datasets.corpus import Corpus
from cordwood.exceptions import DataError, ModelFileError
from model_file_mutations import KINDS, mutate
from options import at_least

MEMORY = 2**30
CPU_SECONDS = 10
WALL_SECONDS = 120

# Files that one child process loads, which takes longer to start than to load a file.
_BATCH = 100
_MAX_MESSAGE = 600

OK = ("rejected", "same prediction", "other valid model")


class Model(NamedTuple):
    """A model file, and what its pristine copy predicts."""

    name: str
    data: bytes
    inputs: Any
    probabilities: Any


class Case(NamedTuple):
    """A mutation of a model file."""

    model: Model
    kind: str
    seed: int

    def make(self) -> tuple[bytes, str]:
        """Return the content of the mutated file and a description of the mutation."""
        return mutate(self.model.data, self.kind, np.random.default_rng(self.seed))

    def describe(self) -> str:
        """Return the model and the mutation as text."""
        return f"{self.model.name}, {self.kind} {self.seed}: {self.make()[1]}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--mutations", type=at_least(1), default=20_000)
    parser.add_argument("--seed", type=at_least(0), default=0)
    parser.add_argument("--recipes", nargs="+", default=list(SMALL_PARAMS))
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=list(KINDS))
    parser.add_argument("--keep", type=Path, help="folder for the files that caused a failure")
    arguments = parser.parse_args()
    models = make_models(arguments.recipes)
    cases = draw_cases(models, arguments.kinds, arguments.mutations, arguments.seed)
    counts: Counter[tuple[str, str]] = Counter()
    failures = []
    for number, (case, outcome) in enumerate(run(cases), 1):
        group = outcome if outcome in OK else "FAILURE"
        counts[case.kind, group] += 1
        if group == "FAILURE":
            failures.append(outcome)
            print(f"{case.describe()}\n    {outcome}", flush=True)
            if arguments.keep:
                arguments.keep.mkdir(parents=True, exist_ok=True)
                name = f"{case.model.name}-{case.kind}-{case.seed}.cordwood"
                (arguments.keep / name).write_bytes(case.make()[0])
        if number % 1000 == 0:
            print(f"{number:,} of {len(cases):,}, {len(failures)} failures", flush=True)
    for kind in arguments.kinds:
        row = ", ".join(f"{counts[kind, group]:,} {group}" for group in (*OK, "FAILURE"))
        print(f"{kind:8} {row}")
    print(f"{len(cases):,} files, {len(failures)} failures")
    return bool(failures)


# Parameters that make a small model of each recipe: a mutation then hits every part of it.
SMALL_PARAMS: dict[str, dict[str, Any]] = {
    "svm": {},
    "svm_ngrams": {},
    "nbsvm": {},
    "nb": {},
    "knn": {},
    "rf": {"n_estimators": 4},
    "et": {"n_estimators": 3},
    "boosted_rf": {"n_estimators": 3, "trees_per_round": 2},
    "boosted_et": {"n_estimators": 3, "trees_per_round": 2},
    "adarf": {"n_estimators": 3, "trees_per_round": 2},
    "lazy_rf": {"n_estimators": 3, "n_neighbors": 5},
    "lazy_et": {"n_estimators": 3, "n_neighbors": 5},
    "adaboost": {},
    "adauboost": {},
    "lpboost": {},
    "lpuboost": {},
    "adaboost_m2": {"n_estimators": 3},
    "adaboost_m2_trees": {"n_estimators": 3},
    "logistic": {},
    "logistic_ngrams": {"vectorizer__word__min_df": 1, "vectorizer__char__min_df": 1},
    "quick": {},
    "stack_forests": {},
    **{
        f"stack_sigir17 {combiner}": {"members": ["svm", "nb", "rf"], "combiner": combiner}
        for combiner in ("pool", "rf", "least_squares", "mlr", "templates", "scann", "vig", "mean")
    },
    "quick numeric": {},
    **{
        f"{name} columns": {
            "columns": {
                "text": ["text"],
                "categorical": ["kind"],
                "numeric": ["size"],
                "date": ["day"],
            }
        }
        for name in ("svm", "rf", "quick")
    },
    # Parameters of `TextClassifier`.
    "svm decision": {"decision": "macro_f1"},
    "rf decision": {"decision": "macro_f1", "n_estimators": 3},
    **{f"{name} multilabel": {} for name in ("svm", "nb", "knn", "rf", "lpuboost", "quick")},
}


def make_models(names: Sequence[str]) -> list[Model]:
    """Train small models and save them."""
    rng = np.random.default_rng(0)
    words = [f"{first}{second}" for first in "bcdfgm" for second in ("an", "ole", "it", "üs")]
    labels = np.array(["ant", "bee", "cat"] * 14)
    texts = [
        " ".join(
            np.char.add(rng.choice(words[8 * code : 8 * code + 10], 8), rng.choice(["", "s"], 8))
        )
        for code in np.arange(len(labels)) % 3
    ]
    models = []
    with tempfile.TemporaryDirectory() as folder:
        for name in names:
            recipe_params = dict(SMALL_PARAMS[name])
            params = {key: recipe_params.pop(key, None) for key in ("columns", "decision")}
            recipe = name.partition(" ")[0]
            X: Any = texts
            if name.endswith("numeric"):
                X = rng.normal(size=(42, 4)) + 2 * (labels == "bee")[:, None]
            elif name.endswith("columns"):
                X = _make_table(texts, rng)
            y: Any = labels
            if name.endswith("multilabel"):
                y = [[label, *("dog" for _ in range(i % 2))] for i, label in enumerate(y)]
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                model = TextClassifier(
                    recipe, encoder=None, recipe_params=recipe_params, oof=True, **params
                ).fit(X, y)
            record = persist.TrainingRecord(recipe=recipe)
            file = persist.save(model, Path(folder, "model.cordwood"), provenance=record)
            inputs = X.select(range(8)) if isinstance(X, Corpus) else X[:8]
            loaded = load(file)
            models.append(Model(name, file.read_bytes(), inputs, loaded.predict_proba(inputs)))
    return models


def _make_table(texts: Sequence[str], rng: np.random.Generator) -> Corpus:
    n_samples = len(texts)
    sizes = [float(size) if size < 2 else None for size in rng.normal(size=n_samples)]
    return Corpus(
        texts=texts,
        ids=[str(number) for number in range(n_samples)],
        columns={
            "kind": rng.choice(np.array(["big", "small", None], dtype=object), n_samples),
            "size": sizes,
            "day": [f"2024-05-{day:02}" for day in rng.integers(1, 30, n_samples)],
        },
    )


def draw_cases(
    models: Sequence[Model], kinds: Sequence[str], n_cases: int, seed: int
) -> list[Case]:
    """Draw mutations: each model and each kind has the same number."""
    first = seed * n_cases
    return [
        Case(
            models[number % len(models)], kinds[number // len(models) % len(kinds)], first + number
        )
        for number in range(n_cases)
    ]


def run(cases: Sequence[Case]) -> Iterator[tuple[Case, str]]:
    """Load and use each file in a child process, and yield its outcome."""
    remaining = list(cases)
    while remaining:
        batch = remaining[:_BATCH]
        outcomes, death = _run_in_child(batch)
        if death is not None:
            outcomes.append(death)
        yield from zip(batch, outcomes, strict=False)
        remaining = remaining[len(outcomes) :]


def _run_in_child(batch: Sequence[Case]) -> tuple[list[str], str | None]:
    """Return the outcomes of the first files, and how the child died if it did."""
    sys.stdout.flush()
    read_end, write_end = os.pipe()
    pid = os.fork()
    if pid == 0:
        status = 1
        try:
            os.close(read_end)
            with os.fdopen(write_end, "w") as pipe:
                _limit_memory()
                for case in batch:
                    print(json.dumps(_run_limited(case)), file=pipe, flush=True)
            status = 0
        finally:
            os._exit(status)
    os.close(write_end)
    with os.fdopen(read_end) as pipe:
        outcomes = [json.loads(line) for line in pipe if line.endswith("\n")]
    _, status = os.waitpid(pid, 0)
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        if number == signal.SIGPROF:
            return outcomes, f"more than {CPU_SECONDS} s of CPU time"
        return outcomes, f"signal {signal.Signals(number).name}"
    if len(outcomes) < len(batch):
        return outcomes, f"child ended with status {os.WEXITSTATUS(status)}"
    return outcomes, None


def _limit_memory() -> None:
    resource = import_module("resource")  # not on Windows, which has no fork either
    # The address space of the parent, most of which is libraries, is not what the file uses.
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + MEMORY, used + MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _run_limited(case: Case) -> str:
    signal.setitimer(signal.ITIMER_PROF, CPU_SECONDS)
    signal.alarm(WALL_SECONDS)
    outcome = _classify(case)
    signal.setitimer(signal.ITIMER_PROF, 0)
    signal.alarm(0)
    return outcome


def _classify(case: Case) -> str:
    """Load a file, use the model, and return the outcome."""
    data, _ = case.make()
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        file = Path(folder, "model.cordwood")
        file.write_bytes(data)
        return _classify_file(file, case.model, is_damaged=case.kind == "damaged")


def _classify_file(file: Path, model: Model, *, is_damaged: bool) -> str:
    try:
        loaded = load(file)
    except ModelFileError as error:
        message = str(error)
        if "\n" in message or len(message) > _MAX_MESSAGE:
            return f"rejected by a message that is not one sentence: {message[:200]!r}"
        return "rejected"
    except BaseException as error:
        return f"{type(error).__name__} at load: {str(error)[:200]!r}"
    try:
        probabilities, labels = _predict(loaded, model.inputs)
        classes = list(loaded.classes_)
        persist.read_model_card(file)
    except DataError:
        # A model that takes other columns of a table, or numbers instead of texts, is valid.
        return "DataError at prediction" if is_damaged else "other valid model"
    except BaseException as error:
        return f"{type(error).__name__} at prediction: {str(error)[:200]!r}"
    if np.ndim(labels) == 2:
        problem = find_invalid_indicators(probabilities, labels, classes, len(model.inputs))
    else:
        problem = find_invalid(probabilities, labels, classes, len(model.inputs))
    if problem:
        return problem
    oof = getattr(loaded, "oof_", None)
    if oof is not None:
        find = find_invalid_indicators if oof.is_multilabel else find_invalid
        true = oof.y if oof.is_multilabel else oof.y_true
        if problem := find(oof.proba, true, classes, len(oof.y)):
            return f"out-of-fold predictions: {problem}"
    has_scope = getattr(loaded, "scope_", None) is not None
    if has_scope and (problem := _check_scope(loaded, model.inputs, probabilities)):
        return f"out-of-scope samples: {problem}"
    same_shape = probabilities.shape == model.probabilities.shape
    if same_shape and np.array_equal(probabilities, model.probabilities):
        return "same prediction"
    return "silently different prediction" if is_damaged else "other valid model"


def _check_scope(loaded: Any, inputs: Any, probabilities: Any) -> str | None:
    """Return what is wrong with the p-values; a reference of another model may be rejected."""
    try:
        converter = loaded.view.converter
        X = inputs if converter is None else converter.transform(inputs)
        p_values = scope_p_values(loaded.scope_, loaded.view, X, probabilities)
    except DataError:
        return None
    except BaseException as error:
        return f"{type(error).__name__}: {str(error)[:200]!r}"
    return None if ((p_values > 0) & (p_values <= 1)).all() else f"p-values {p_values}"


def _predict(model: Any, inputs: Any) -> tuple[Any, Any]:
    """Return probabilities, and labels or label indicators."""
    if isinstance(model, TextClassifier):
        found = model.classify(inputs)
        return found.proba, found.labels if found.indicators is None else found.indicators
    try:
        return model.predict_proba(inputs), model.predict(inputs)
    except ValueError as error:
        if "could not convert string" not in str(error):
            raise
        # A model of texts without its vectorizer is a valid model of numbers.
        numbers = np.zeros((len(inputs), model.n_features_in_))
        return model.predict_proba(numbers), model.predict(numbers)


def find_invalid(probabilities: Any, labels: Any, classes: list[Any], n_samples: int) -> str:
    """Describe what is wrong with predictions; empty if nothing is."""
    if not isinstance(probabilities, np.ndarray):
        return f"probabilities are a {type(probabilities).__name__}"
    if probabilities.shape != (n_samples, len(classes)):
        return f"probabilities have shape {probabilities.shape}"
    in_range = (probabilities >= 0) & (probabilities <= 1 + 1e-9)
    if not in_range.all() or not np.allclose(probabilities.sum(axis=1), 1, atol=1e-6):
        return f"invalid probabilities {probabilities[0]}"
    if len(set(classes)) < len(classes) or not set(labels) <= set(classes):
        return f"predicted labels are not among the classes {classes[:5]}"
    return ""


def find_invalid_indicators(
    probabilities: Any, indicators: Any, classes: list[Any], n_samples: int
) -> str:
    """Describe what is wrong with predictions of several labels; empty if nothing is."""
    shape = (n_samples, len(classes))
    if np.shape(probabilities) != shape or np.shape(indicators) != shape:
        return f"shapes {np.shape(probabilities)} and {np.shape(indicators)} instead of {shape}"
    if not ((probabilities >= 0) & (probabilities <= 1 + 1e-9)).all():
        return f"invalid probabilities {probabilities[0]}"
    if not np.isin(indicators, (0, 1)).all() or len(set(classes)) < len(classes):
        return f"invalid indicators {indicators[0]} of the classes {classes[:5]}"
    return ""


if __name__ == "__main__":
    sys.exit(main())
