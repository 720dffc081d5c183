"""Load and use damaged and crafted model files, each with bounded memory and CPU time.

A `TextClassifier` of every recipe, decision and kind of samples and labels is saved and then
changed in one of four ways:

- damaged: bytes of the file are flipped, deleted, inserted, repeated or cut off;
- edited: values of the object tree or of an array are replaced, and the archive is written again
  with valid checksums and a valid digest, as an attacker would;
- forged: the tree is replaced by, or extended with, types and values from a list of attacks;
- structured: estimators are nested, repeated and exchanged, arrays referred to and enlarged, keys
  repeated, the model card changed, and files of a bundled encoder changed.

A file that is damaged must be rejected or predict the same. Any other one must be rejected, or be a
valid model: predict finite probabilities that sum to one, with a decision, out-of-fold predictions,
scores and a reference of known samples that can be used. Anything else is a failure: a signal, an
exception at prediction, more than 512 MB of memory or 10 seconds of CPU time. Of classes that the
caller trusts, exceptions at prediction are not a failure. The files of failures are kept.

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
import scipy.sparse as sp
from sklearn.base import BaseEstimator, clone
from sklearn.linear_model import LogisticRegression
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import FeatureUnion, make_pipeline
from sklearn.preprocessing import MaxAbsScaler

from cordwood import (
    Decision,
    LinearSVMClassifier,
    NeighborsClassifier,
    TextClassifier,
    TextVectorizer,
    load,
    persist,
)
from cordwood.datasets.corpus import Corpus
from cordwood.exceptions import DataError, ModelFileError
from cordwood.persist.registry import Interfaces
from cordwood.reports.confusion_summary import summarize_confusion
from cordwood.reports.model_scores import summarize_evaluation
from cordwood.reports.scored_samples import score_samples
from model_file_mutations import KINDS, mutate
from options import at_least

MEMORY = 2**29
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
    trusted: tuple[type, ...] = ()


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
    with tempfile.TemporaryDirectory() as cache:
        os.environ["CORDWOOD_CACHE_DIR"] = cache
        return _run_all(arguments)


def _run_all(arguments: argparse.Namespace) -> int:
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
        if number % 500 == 0:
            print(f"{number:,} of {len(cases):,}, {len(failures)} failures", flush=True)
    for kind in arguments.kinds:
        row = ", ".join(f"{counts[kind, group]:,} {group}" for group in (*OK, "FAILURE"))
        print(f"{kind:8} {row}")
    print(f"{len(cases):,} files, {len(failures)} failures")
    return bool(failures)


_COLUMNS = {
    "text": ["text"],
    "categorical": ["kind"],
    "numeric": ["size"],
    "date": ["day"],
}
_COSTS = [[0.0, 1.0, 2.0], [3.0, 0.0, 1.0], [1.0, 1.0, 0.0]]

# Parameters that make a small model of each recipe: a mutation then hits every part of it. The
# second word of a name is the kind of samples or labels.
SMALL_PARAMS: dict[str, dict[str, Any]] = {
    "svm": {},
    "svm_ngrams": {},
    "nbsvm": {},
    "nb": {"decision": Decision("cost", cost_matrix=_COSTS)},
    "knn": {},
    "rf": {"recipe_params": {"n_estimators": 4}},
    "et": {"recipe_params": {"n_estimators": 3}},
    "boosted_rf": {"recipe_params": {"n_estimators": 3, "trees_per_round": 2}},
    "boosted_et": {"recipe_params": {"n_estimators": 3, "trees_per_round": 2}},
    "adarf": {"recipe_params": {"n_estimators": 3, "trees_per_round": 2}},
    "lazy_rf": {"recipe_params": {"n_estimators": 3, "n_neighbors": 5}},
    "lazy_et": {"recipe_params": {"n_estimators": 3, "n_neighbors": 5}},
    "adaboost": {},
    "adauboost": {},
    "lpboost": {},
    "lpuboost": {},
    "adaboost_m2": {"recipe_params": {"n_estimators": 3}},
    "adaboost_m2_trees": {"recipe_params": {"n_estimators": 3}},
    "logistic": {},
    "logistic_ngrams": {
        "recipe_params": {"vectorizer__word__min_df": 1, "vectorizer__char__min_df": 1}
    },
    "quick": {},
    "stack_forests": {},
    **{
        f"stack_sigir17 {combiner}": {
            "recipe_params": {"members": ["svm", "nb", "rf"], "combiner": combiner}
        }
        for combiner in ("pool", "rf", "least_squares", "mlr", "templates", "scann", "vig", "mean")
    },
    "quick numeric": {},
    "nb sparse": {"oof": True},
    **{f"{name} columns": {"columns": _COLUMNS} for name in ("svm", "rf", "quick")},
    "svm columns multilabel": {"columns": _COLUMNS},
    "svm decision": {"decision": "macro_f1"},
    "rf decision": {"decision": "macro_f1", "recipe_params": {"n_estimators": 3}},
    "nb binary": {"decision": "f1"},
    "svm binary": {"decision": Decision("precision", precision=0.7, pos_label="bee")},
    "pipeline": {
        "estimator": make_pipeline(TextVectorizer(), LinearSVMClassifier()),
        "decision": "macro_f1",
    },
    "trusted": {
        "estimator": make_pipeline(TextVectorizer(), MaxAbsScaler(), LinearSVMClassifier()),
    },
    "ovr": {
        "estimator": make_pipeline(TextVectorizer(), OneVsRestClassifier(LogisticRegression()))
    },
    "union": {
        "estimator": make_pipeline(
            FeatureUnion([("a", TextVectorizer()), ("b", TextVectorizer())]), NeighborsClassifier(3)
        ),
    },
    "embeddings static": {},
    "embeddings bert": {},
    **{f"{name} multilabel": {} for name in ("svm", "nb", "knn", "rf", "lpuboost", "quick")},
    "nb indicators": {"decision": Decision(min_labels=1)},
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
    samples: dict[str, Any] = {
        "numeric": rng.normal(size=(42, 4)) + 2 * (labels == "bee")[:, None],
        "sparse": sp.csr_array(rng.poisson(0.5, (42, 9)) + 1.0 * (labels == "bee")[:, None]),
        "columns": _make_table(texts, rng),
    }
    lists = [[label, *("dog" for _ in range(i % 2))] for i, label in enumerate(labels)]
    targets: dict[str, Any] = {
        "binary": np.where(labels == "cat", "bee", labels),
        "multilabel": lists,
        "indicators": np.array([[label == "bee", i % 2] for i, label in enumerate(labels)]) * 1,
    }
    models = []
    with tempfile.TemporaryDirectory() as folder:
        for name in names:
            recipe, *kinds = name.split()
            X = next((samples[kind] for kind in kinds if kind in samples), texts)
            y = next((targets[kind] for kind in kinds if kind in targets), labels)
            encoder = _find_encoder(kinds, words, Path(folder)) if recipe == "embeddings" else None
            params = {"estimator": recipe, "encoder": encoder, "oof": True, **SMALL_PARAMS[name]}
            trusted = (MaxAbsScaler,) if recipe == "trusted" else ()
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                model = TextClassifier(**params).fit(X, y)
            record = persist.TrainingRecord(recipe=recipe)
            file = persist.save(
                model,
                Path(folder, "model.cordwood"),
                provenance=record,
                bundle_encoder=encoder is not None,
                trusted=trusted,
            )
            inputs = X.select(range(8)) if isinstance(X, Corpus) else X[:8]
            probabilities = load(file, trusted=trusted).predict_proba(inputs)
            models.append(Model(name, file.read_bytes(), inputs, probabilities, trusted))
    return models


def _find_encoder(kinds: Sequence[str], words: Sequence[str], folder: Path) -> str:
    """Return the folder of a small transformer of the tests, or of a new static encoder."""
    if "bert" in kinds:
        return str(Path(__file__).parents[1] / "tests" / "encoders" / "models" / "bert")
    tokenizers, safetensors = import_module("tokenizers"), import_module("safetensors.numpy")
    vocabulary = {word: code for code, word in enumerate(["[UNK]", *words])}
    tokenizer = tokenizers.Tokenizer(tokenizers.models.WordPiece(vocabulary, unk_token="[UNK]"))
    tokenizer.normalizer = tokenizers.normalizers.BertNormalizer()
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.BertPreTokenizer()
    tokenizer.save(str(folder / "tokenizer.json"))
    vectors = np.random.default_rng(0).normal(size=(len(vocabulary), 5)).astype(np.float32)
    safetensors.save_file({"embeddings": vectors}, folder / "model.safetensors")
    (folder / "config.json").write_text('{"model_type": "model2vec"}')
    return str(folder)


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
        loaded = load(file, trusted=model.trusted)
    except ModelFileError as error:
        message = str(error)
        if "\n" in message or len(message) > _MAX_MESSAGE:
            return f"rejected by a message that is not one sentence: {message[:200]!r}"
        return "rejected"
    except BaseException as error:
        return f"{type(error).__name__} at load: {str(error)[:200]!r}"
    if not isinstance(loaded, TextClassifier):
        return _classify_part(loaded, model)
    try:
        inputs = _match_inputs(loaded, model.inputs)
        probabilities, labels = loaded.predict_proba(inputs), loaded.predict(inputs)
        classes = loaded.classes_.tolist()
        persist.read_model_card(file)
    except DataError:
        # A model that takes other columns of a table is valid.
        is_valid = (isinstance(model.inputs, Corpus) or model.trusted) and not is_damaged
        return "other valid model" if is_valid else "DataError at prediction"
    except BaseException as error:
        if model.trusted and isinstance(error, Exception) and not isinstance(error, MemoryError):
            return "other valid model"
        return f"{type(error).__name__} at prediction: {str(error)[:200]!r}"
    n_samples = inputs.shape[0] if hasattr(inputs, "shape") else len(inputs)
    if loaded.target_kind_ == "label":
        problem = find_invalid(probabilities, labels, classes, n_samples)
    else:
        indicators = loaded.classify(inputs).indicators
        problem = find_invalid_indicators(probabilities, indicators, classes, n_samples)
    if problem and model.trusted:
        return "other valid model"
    problem = problem or _find_invalid_records(loaded, inputs, classes)
    if problem:
        return problem
    same_shape = probabilities.shape == model.probabilities.shape
    if same_shape and np.array_equal(probabilities, model.probabilities):
        return "same prediction"
    return "silently different prediction" if is_damaged else "other valid model"


def _classify_part(loaded: Any, model: Model) -> str:
    """Use a part of a model that is in its place."""
    if not isinstance(loaded, BaseEstimator):
        return "not a model"
    inputs = model.inputs
    if Interfaces().of(loaded).takes_text and not hasattr(inputs, "shape"):
        method = getattr(loaded, "predict_proba", getattr(loaded, "transform", None))
        try:
            method(list(getattr(inputs, "texts", inputs)))
        except BaseException as error:
            return f"{type(error).__name__} of a part: {str(error)[:200]!r}"
    return "other valid model"


def _match_inputs(loaded: TextClassifier, inputs: Any) -> Any:
    """Return samples of the kind of the model; one of a part of a text model takes numbers."""
    if loaded.input_kind_ != "numeric" or hasattr(inputs, "shape"):
        return inputs
    return np.zeros((len(inputs), loaded.n_features_in_))


def _find_invalid_records(loaded: TextClassifier, inputs: Any, classes: list[Any]) -> str:
    """Use everything that a model knows beside its pipeline; describe what is wrong."""
    oof = loaded.oof_
    if oof is not None and (problem := find_invalid(oof.proba, oof.y_true, classes, len(oof.y))):
        return f"out-of-fold predictions: {problem}"
    try:
        texts = [loaded.decision_.describe(), repr(loaded), repr(loaded.members_)]
        clone(loaded)
        if loaded.evaluation_ is not None:
            texts += [str(loaded.evaluation_), json.dumps(loaded.evaluation_.to_dict())]
            loaded.evaluation_.confused_pairs()
        if loaded.target_kind_ == "label":
            # The scores of the report, without explanations, which take long.
            samples = score_samples(loaded, None, None)
            if loaded.evaluation_ is not None:
                summarize_evaluation(loaded.evaluation_)
            if samples is not None:
                summarize_confusion(samples, [str(label) for label in classes])
    except BaseException as error:
        return f"{type(error).__name__} of the records: {str(error)[:200]!r}"
    for rule in ({"coverage": 0.9}, {"max_error": 0.2}, {"unknown": 0.1}):
        try:
            loaded.classify(inputs, **rule)
        except DataError:
            pass  # too few samples, several labels, or a reference of another model
        except BaseException as error:
            return f"{type(error).__name__} with {rule}: {str(error)[:200]!r}"
    return ""


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
