"""Does fine-tuning the last layers of an encoder pay, with a few labelled texts on a CPU?

    python dev.py bench fine_tuning [--sets tweets,r8] [--draws 3] [--per-class 8]
        [--loss supcon] [--layers 1] [--steps 40] [--rate 1e-4] [--ledger FILE] [--check]

The last layers of `minilm` are tuned by AdamW in plain numpy, with one of three losses of the
normalized mean vectors of a batch: `cosine` brings the cosine similarity of two texts near 1 if
they have the same label and near 0 otherwise, as SetFit does; `supcon` is the supervised
contrastive loss; `softmax` is the cross-entropy of a linear layer. States below these layers are
computed once per text. Texts are truncated at 96 tokens for all models.

With the draws of few_labels, compares (a) `quick` with the encoder, (b) the same with the tuned
encoder, (c) logistic regression on the vectors of the encoder (C=10) and (d) on tuned ones. For
(b), the out-of-fold probabilities of the member on embeddings are those of encoders that were tuned
without the fold; the other members are those of (a), and the combiner is fitted anew. Results are
appended to the ledger, if there is one, and not computed again.

Prints mean accuracies in percent, the differences b - a and d - c with their standard errors over
the draws, and CPU seconds of a fit, with the encoding of the training texts. ``--only-lr`` leaves
out (a) and (b), to choose settings. ``--check`` compares gradients with finite differences and
vectors with those of the library instead. The last line is the mean of b - a over the sets, its
standard error and the p-value of a paired t-test.
"""

import argparse
import json
import os
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

os.environ.setdefault("OMP_NUM_THREADS", "1")  # CPU seconds are those of one thread

import numpy as np
from scipy.special import erf, log_softmax, softmax
from scipy.stats import ttest_1samp
from sklearn.base import clone

from cordwood import TextClassifier
from cordwood.classifier.class_names import to_words
from cordwood.encoders.catalog import load_encoder
from cordwood.encoders.encoder import normalize_rows
from cordwood.encoders.model_folder import tokenize
from cordwood.linear_model import EmbeddingClassifier
from cordwood.oof.folds import choose_n_folds, make_folds
from cordwood.oof.proba import predict_proba
from few_labels import SETS, draw_samples, load_texts
from options import at_least
from stopwatch import measure, print_head, print_row, print_run

MAX_TOKENS, BATCH, ENCODE_BATCH = 96, 32, 32
WEIGHT_DECAY, BETAS, EPSILON, WARMUP = 0.01, (0.9, 0.999), 1e-8, 0.1
MODELS = ("quick", "quick, tuned", "LR", "LR, tuned")

Params = dict[str, Any]  # arrays by name
Loss = Callable[[Any, Any, Any], tuple[float, Any, Any]]


class Top(NamedTuple):
    """The last layers of a transformer, which are tuned, with its number of attention heads."""

    layers: list[Params]
    n_heads: int
    epsilon: float

    def forward(self, states: Sequence[Any]) -> tuple[Any, list[Any]]:
        """Return the normalized mean vectors of texts, and what the backward pass needs."""
        lengths = np.array([len(each) for each in states])
        mask = np.arange(lengths.max()) < lengths[:, None]
        X, tape = np.concatenate(states), []
        for params in self.layers:
            X, record = forward_layer(params, X, mask, self)
            tape.append(record)
        starts = np.r_[0, np.cumsum(lengths)[:-1]]
        means = np.add.reduceat(X, starts, axis=0) / lengths[:, None].astype(X.dtype)
        norms = np.linalg.norm(means, axis=1, keepdims=True)
        return means / norms, [*tape, (means / norms, norms, lengths)]

    def backward(self, gradient: Any, tape: list[Any]) -> list[Params]:
        """Return the gradients of the layers, from the one of the vectors."""
        vectors, norms, lengths = tape[-1]
        gradient = (gradient - vectors * (gradient * vectors).sum(1, keepdims=True)) / norms
        dX = np.repeat(gradient / lengths[:, None].astype(gradient.dtype), lengths, axis=0)
        found = []
        for params, record in zip(self.layers[::-1], tape[-2::-1], strict=True):
            dX, own = backward_layer(params, dX, record, self)
            found.append(own)
        return found[::-1]

    def encode(self, states: Sequence[Any]) -> Any:
        """Return the normalized mean vectors of texts."""
        order = np.argsort([len(each) for each in states], kind="stable")
        vectors = np.empty((len(states), states[0].shape[1]), states[0].dtype)
        for i in range(0, len(order), ENCODE_BATCH):
            batch = order[i : i + ENCODE_BATCH]
            vectors[batch] = self.forward([states[j] for j in batch])[0]
        return vectors


def forward_layer(p: Params, X: Any, mask: Any, top: Top) -> tuple[Any, tuple[Any, ...]]:
    qkv = split_heads(X @ p["qkv"] + p["qkv_bias"], mask, 3, top.n_heads)
    scores = qkv[0] @ qkv[1].swapaxes(2, 3) * X.dtype.type(qkv.shape[-1] ** -0.5)
    # Padding is no key.
    shares = softmax(np.where(mask[:, None, None, :], scores, -np.inf), axis=3)
    attended = join_heads((shares @ qkv[2])[None], mask)
    U, first = normalize(attended @ p["out"] + p["out_bias"] + X, p, "norm1", top.epsilon)
    H = U @ p["wide"] + p["wide_bias"]
    cdf = (1 + erf(H * X.dtype.type(0.5**0.5))) / 2
    G = H * cdf
    Y, second = normalize(G @ p["narrow"] + p["narrow_bias"] + U, p, "norm2", top.epsilon)
    return Y, (X, mask, qkv, shares, attended, first, U, H, cdf, G, second)


def backward_layer(
    p: Params, dY: Any, record: tuple[Any, ...], top: Top
) -> tuple[Any, Params]:
    X, mask, qkv, shares, attended, first, U, H, cdf, G, second = record
    found: Params = {}
    dT = denormalize(dY, p, "norm2", second, found)
    dG = linear_gradients(dT, p, "narrow", G, found)
    dH = dG * (cdf + H * np.exp(-H * H / 2) * X.dtype.type((2 * np.pi) ** -0.5))
    dU = linear_gradients(dH, p, "wide", U, found) + dT
    dR = denormalize(dU, p, "norm1", first, found)
    dA = split_heads(linear_gradients(dR, p, "out", attended, found), mask, 1, top.n_heads)[0]
    queries, keys, values = qkv
    d_shares = dA @ values.swapaxes(2, 3)
    d_scores = shares * (d_shares - (d_shares * shares).sum(3, keepdims=True))
    d_scores *= X.dtype.type(qkv.shape[-1] ** -0.5)
    d_qkv = d_scores @ keys, d_scores.swapaxes(2, 3) @ queries, shares.swapaxes(2, 3) @ dA
    dX = linear_gradients(join_heads(np.stack(d_qkv), mask), p, "qkv", X, found) + dR
    return dX, found


def split_heads(X: Any, mask: Any, n_parts: int, n_heads: int) -> Any:
    """Return padded arrays of shape (n_parts, n_texts, n_heads, length, size)."""
    padded = np.zeros((*mask.shape, X.shape[1]), X.dtype)
    padded[mask] = X
    parts = padded.reshape(*mask.shape, n_parts, n_heads, -1).transpose(2, 0, 3, 1, 4)
    return np.ascontiguousarray(parts)


def join_heads(heads: Any, mask: Any) -> Any:
    """Invert `split_heads`."""
    return heads.transpose(1, 3, 0, 2, 4).reshape(*mask.shape, -1)[mask]


def linear_gradients(dY: Any, p: Params, name: str, X: Any, found: Params) -> Any:
    found[name], found[f"{name}_bias"] = X.T @ dY, dY.sum(0)
    return dY @ p[name].T


def normalize(X: Any, p: Params, name: str, epsilon: float) -> tuple[Any, tuple[Any, Any]]:
    centered = X - X.mean(1, keepdims=True)
    scale = 1 / np.sqrt((centered * centered).mean(1, keepdims=True) + X.dtype.type(epsilon))
    unit = centered * scale
    return unit * p[f"{name}_scale"] + p[f"{name}_shift"], (unit, scale)


def denormalize(dY: Any, p: Params, name: str, record: tuple[Any, Any], found: Params) -> Any:
    unit, scale = record
    found[f"{name}_scale"], found[f"{name}_shift"] = (dY * unit).sum(0), dY.sum(0)
    d_unit = dY * p[f"{name}_scale"]
    mean = d_unit.mean(1, keepdims=True)
    return scale * (d_unit - mean - unit * (d_unit * unit).mean(1, keepdims=True))


def cosine_loss(Z: Any, codes: Any, head: Any) -> tuple[float, Any, Any]:
    """Return the squared error of similarities, its gradient, and none of the head.

    Pairs of the same class together weigh as much as the others.
    """
    same = codes[:, None] == codes
    pairs = ~np.eye(len(codes), dtype=bool)
    weight = (same & pairs) / max((same & pairs).sum(), 1) + ~same / max((~same).sum(), 1)
    errors = (Z @ Z.T - same) * weight.astype(Z.dtype) / 2
    return float((errors * (Z @ Z.T - same)).sum()), 4 * errors @ Z, None


def supcon_loss(Z: Any, codes: Any, head: Any, temperature: float = 0.1) -> tuple[float, Any, Any]:
    """Return the supervised contrastive loss, its gradient, and none of the head."""
    itself = np.eye(len(codes), dtype=bool)
    logs = log_softmax(np.where(itself, -np.inf, Z @ Z.T / Z.dtype.type(temperature)), axis=1)
    same = (codes[:, None] == codes) & ~itself
    counts = np.maximum(same.sum(1, keepdims=True), 1)
    target = (same / counts).astype(Z.dtype)
    has_pair = same.any(1, keepdims=True) / max(same.any(1).sum(), 1)
    loss = -(np.where(same, logs, 0) * target * has_pair).sum()
    d_scores = ((np.exp(logs) - target) * has_pair / temperature).astype(Z.dtype)
    return float(loss), (d_scores + d_scores.T) @ Z, None


def softmax_loss(Z: Any, codes: Any, head: Any) -> tuple[float, Any, Any]:
    """Return the cross-entropy of a linear layer, and the gradients of vectors and layer."""
    logs = log_softmax(Z @ head.T, axis=1)
    d_scores = np.exp(logs)
    d_scores[np.arange(len(codes)), codes] -= 1
    d_scores /= len(codes)
    return float(-logs[np.arange(len(codes)), codes].mean()), d_scores @ head, d_scores.T @ Z


LOSSES: dict[str, Loss] = {"cosine": cosine_loss, "supcon": supcon_loss, "softmax": softmax_loss}


def tune(top: Top, states: Sequence[Any], codes: Any, options: argparse.Namespace) -> Top:
    """Return the layers after some steps of AdamW on batches with equally many texts per class."""
    tuned = top._replace(layers=[{k: v.copy() for k, v in p.items()} for p in top.layers])
    Z, classes = top.encode(states), np.unique(codes)
    codes = np.searchsorted(classes, codes)
    # A linear layer begins with the means of the classes.
    head = np.stack([Z[codes == code].mean(0) for code in range(len(classes))])
    trained = [*tuned.layers, {"head": 10 * normalize_rows(head)}]
    moments = [{k: (np.zeros_like(v), np.zeros_like(v)) for k, v in p.items()} for p in trained]
    rng, step_rate = np.random.default_rng(0), options.rate
    for step in range(options.steps):
        done = (step + 0.5) / options.steps
        step_rate = options.rate * min(done / WARMUP, (1 - done) / (1 - WARMUP))
        batch = draw_batch(codes, len(classes), rng)
        Z, tape = tuned.forward([states[i] for i in batch])
        _, dZ, d_head = LOSSES[options.loss](Z, codes[batch], trained[-1]["head"])
        gradients = tuned.backward(dZ.astype(Z.dtype), tape)
        if d_head is not None:
            gradients.append({"head": d_head})
        for p, own, moment in zip(trained, gradients, moments, strict=False):
            for name, gradient in own.items():
                # The head begins near its optimum, and its elements are larger.
                rate = step_rate * (100 if name == "head" else 1)
                update(p[name], gradient, moment[name], rate, step + 1)
    return tuned


def update(weight: Any, gradient: Any, moment: tuple[Any, Any], rate: float, step: int) -> None:
    for average, beta, value in zip(moment, BETAS, (gradient, gradient**2), strict=True):
        average += (1 - beta) * (value - average)
    first, second = (m / (1 - beta**step) for m, beta in zip(moment, BETAS, strict=True))
    if weight.ndim == 2:
        weight *= 1 - rate * WEIGHT_DECAY
    weight -= (rate * first / (np.sqrt(second) + EPSILON)).astype(weight.dtype)


def draw_batch(codes: Any, n_classes: int, rng: Any) -> Any:
    """Draw at least two texts of each of some classes."""
    chosen = rng.permutation(n_classes)[: BATCH // 2]
    rows = [rng.permutation(np.flatnonzero(codes == c))[: BATCH // len(chosen)] for c in chosen]
    return np.concatenate(rows)


class Tunable:
    """Encoder whose last layers can be tuned: states below them, and these layers."""

    def __init__(self, n_layers: int) -> None:
        self.encoder: Any = load_encoder("minilm", max_tokens=MAX_TOKENS)
        whole = self.encoder._transformer
        self._lower = replace(whole, layers=whole.layers[:-n_layers])
        layers = [unpack_layer(layer) for layer in whole.layers[-n_layers:]]
        self.top = Top(layers, whole.n_heads, whole.norm.epsilon)

    def states(self, texts: Sequence[str]) -> list[Any]:
        """Return the states of the tokens of each text below the layers to be tuned."""
        ids = [np.array(tokenize(self.encoder.tokenizer, text).ids) for text in texts]
        return [self._lower.hidden_states([each])[0] for each in ids]


def unpack_layer(layer: Any) -> Params:
    found: Params = {}
    names = ("qkv", "attention_output", "intermediate", "output")
    for name, own in zip(names, ("qkv", "out", "wide", "narrow"), strict=True):
        linear = getattr(layer, name)
        panels, n_columns = linear.weight
        matrix = panels.transpose(1, 0, 2).reshape(panels.shape[1], -1)[:, :n_columns]
        found[own], found[f"{own}_bias"] = np.ascontiguousarray(matrix), linear.bias
    for own, norm in (("norm1", layer.attention_norm), ("norm2", layer.output_norm)):
        found[f"{own}_scale"], found[f"{own}_shift"] = norm.scale, norm.shift
    return found


def run_draw(texts: Any, labels: Any, draw: int, options: argparse.Namespace) -> dict[str, Any]:
    """Return the accuracies and CPU seconds of all models."""
    train, test = draw_samples(labels, options.per_class, draw)
    X, y = texts[train].tolist(), labels[train]
    tunable = Tunable(options.layers)
    top, classes = tunable.top, np.unique(y)
    lower, states = timed(tunable.states, X)
    encoding, Z = timed(top.encode, states)
    encoding += lower
    test_states = tunable.states(texts[test].tolist())
    Z_test = top.encode(test_states)
    tuning, tuned = timed(tune, top, states, np.searchsorted(classes, y), options)
    T, T_test = tuned.encode(states), tuned.encode(test_states)
    frozen_lr, frozen = timed(EmbeddingClassifier(C=10).fit, Z, y)
    tuned_lr, moved = timed(EmbeddingClassifier(C=10).fit, T, y)
    probas = {"LR": predict_proba(frozen, Z_test, classes)}
    probas["LR, tuned"] = predict_proba(moved, T_test, classes)
    seconds = {"LR": encoding + frozen_lr, "LR, tuned": encoding + tuning + tuned_lr}
    if not options.only_lr:
        model = TextClassifier(
            encoder="minilm", recipe_params={"embeddings__vectorizer__max_tokens": MAX_TOKENS}
        )
        tunable.encoder.encode(X[:1])
        fitting, _ = timed(model.fit, X, y.tolist())
        stack = model.pipeline_.steps[-1][1]
        meta, meta_test = stack.meta_features_, stack.transform(texts[test].tolist())
        probas["quick"] = stack.final_estimator_.predict_proba(meta_test)
        assert (classes[probas["quick"].argmax(1)] == model.predict(texts[test].tolist())).all()
        head = stack.named_estimators_["embeddings"].steps[-1][1]
        refitting, (own, own_test) = timed(
            predict_tuned, tunable, states, y, (tuned, T, T_test), head, options
        )
        first = stack._names.index("embeddings") * len(classes)
        columns = slice(first, first + len(classes))
        meta, meta_test = meta.copy(), meta_test.copy()
        meta[:, columns], meta_test[:, columns] = own, own_test
        final = clone(stack.final_estimator_).fit(meta, y)
        probas["quick, tuned"] = final.predict_proba(meta_test)
        seconds |= {"quick": fitting, "quick, tuned": fitting + tuning + refitting}
    accuracy = {
        name: float((classes[proba.argmax(1)] == labels[test]).mean())
        for name, proba in probas.items()
    }
    return {"n_train": len(y), "accuracy": accuracy, "seconds": seconds}


def timed(function: Callable[..., Any], *arguments: Any) -> tuple[float, Any]:
    return measure(function, *arguments, clock=time.process_time)


def predict_tuned(
    tunable: Tunable,
    states: list[Any],
    y: Any,
    whole: tuple[Top, Any, Any],
    head: Any,
    options: argparse.Namespace,
) -> tuple[Any, Any]:
    """Return the probabilities of the member on tuned embeddings, out of fold and of test texts."""
    classes, codes = np.unique(y, return_inverse=True)
    # Names of the classes are used if they are in the stack.
    name_states = tunable.states([to_words(str(label)) for label in classes])

    def fit(top: Top, vectors: Any, labels: Any) -> Any:
        fresh = clone(head)
        if head.class_vectors is not None:
            names = top.encode(name_states)
            fresh.set_params(class_vectors=dict(zip(classes.tolist(), names, strict=True)))
        return fresh.fit(vectors, labels)

    proba = np.empty((len(y), len(classes)))
    n_folds = choose_n_folds(len(y), of_stack=True)
    for train, test in make_folds(n_folds, codes, None, seed=0):
        own = [states[i] for i in train]
        tuned = tune(tunable.top, own, codes[train], options)
        fitted = fit(tuned, tuned.encode(own), y[train])
        proba[test] = predict_proba(fitted, tuned.encode([states[i] for i in test]), classes)
    top, vectors, test_vectors = whole
    return proba, predict_proba(fit(top, vectors, y), test_vectors, classes)


def main(options: argparse.Namespace) -> None:
    if options.check:
        check_gradients()
        return
    print_run()
    names = MODELS[2:] if options.only_lr else MODELS
    settings = {
        name: getattr(options, name)
        for name in ("per_class", "loss", "layers", "steps", "rate", "only_lr")
    }
    ledger, known = options.ledger, {}
    if ledger is not None and ledger.exists():
        for run in map(json.loads, ledger.read_text(encoding="utf-8").splitlines()):
            if run["settings"] == settings:
                known[run["set"], run["draw"]] = run
    print_head("data set", *names, "b - a", "d - c", *(f"s, {name}" for name in names))
    differences = []
    for name in options.sets.split(","):
        runs, loaded = [], None
        for draw in range(options.draws):
            run = known.get((name, draw))
            if run is None:
                loaded = loaded or load_texts(name)
                run = {"set": name, "draw": draw, "settings": settings}
                run |= run_draw(*loaded, draw, options)
                if ledger is not None:
                    with ledger.open("a", encoding="utf-8") as file:
                        file.write(json.dumps(run) + "\n")
            runs.append(run)
        differences.append(print_set(name, runs, names))
    values = np.array(differences)[:, 0 if "quick" in names else 1]
    p = ttest_1samp(values, 0).pvalue if len(values) > 1 else np.nan
    error = values.std(ddof=1) / np.sqrt(len(values)) if len(values) > 1 else np.nan
    print(f"\nmean difference: {values.mean():+.2f} ± {error:.2f}, p = {p:.3f}")


def print_set(name: str, runs: list[dict[str, Any]], names: Sequence[str]) -> list[float]:
    """Print the means of a set; return the mean differences b - a and d - c."""
    found: dict[str, list[float]] = defaultdict(list)
    for run in runs:
        accuracy = defaultdict(lambda: np.nan, run["accuracy"])
        found["b - a"].append(100 * (accuracy["quick, tuned"] - accuracy["quick"]))
        found["d - c"].append(100 * (accuracy["LR, tuned"] - accuracy["LR"]))
    errors = {k: np.std(v, ddof=1) / len(v) ** 0.5 if len(v) > 1 else 0 for k, v in found.items()}
    print_row(
        name,
        *(f"{100 * np.mean([run['accuracy'][each] for run in runs]):.1f}" for each in names),
        *(f"{np.mean(v):+.1f} ± {errors[k]:.1f}" for k, v in found.items()),
        *(f"{np.mean([run['seconds'][each] for run in runs]):.1f}" for each in names),
    )
    return [float(np.mean(values)) for values in found.values()]


def check_gradients() -> None:
    """Compare gradients with finite differences, and vectors with those of the library."""
    rng = np.random.default_rng(0)
    size, wide = 8, 12
    shapes = {"qkv": (size, 3 * size), "out": (size, size), "wide": (size, wide)}
    shapes["narrow"] = wide, size
    shapes |= {f"{name}_bias": shape[1:] for name, shape in shapes.items()}
    shapes |= {f"norm{i}_{part}": (size,) for i in (1, 2) for part in ("scale", "shift")}
    layers = [{name: rng.normal(size=shape) for name, shape in shapes.items()} for _ in range(2)]
    top = Top(layers, 2, 1e-12)
    states = [rng.normal(size=(length, size)) for length in (3, 5, 1, 4, 5, 2)]
    codes, head = np.array([0, 0, 1, 1, 2, 2]), rng.normal(size=(3, size))
    worst = 0.0
    for name, loss in LOSSES.items():
        Z, tape = top.forward(states)
        _, dZ, d_head = loss(Z, codes, head)
        found = [*top.backward(dZ, tape), {} if d_head is None else {"head": d_head}]
        for params, gradients in zip([*layers, {"head": head}], found, strict=True):
            for key, gradient in gradients.items():
                direction, before = rng.normal(size=params[key].shape), params[key].copy()
                values = []
                for sign in (1, -1):
                    params[key][...] = before + sign * 1e-5 * direction
                    values.append(loss(top.forward(states)[0], codes, head)[0])
                params[key][...] = before
                expected = (values[0] - values[1]) / 2e-5
                error = abs((gradient * direction).sum() - expected) / max(abs(expected), 1e-3)
                worst = max(worst, error)
        print(f"{name}: relative error up to {worst:.1e}")
    tunable, texts = Tunable(2), ["a great day", "worst service ever", "no"]
    distance = np.abs(tunable.top.encode(tunable.states(texts)) - tunable.encoder.encode(texts))
    print(f"vectors differ by at most {distance.max():.1e}")
    if worst > 1e-4 or distance.max() > 1e-5:
        raise SystemExit("gradients or vectors are wrong")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sets", default=SETS)
    parser.add_argument("--draws", type=at_least(1), default=3)
    parser.add_argument("--per-class", type=at_least(2), default=8)
    parser.add_argument("--loss", choices=LOSSES, default="supcon")
    parser.add_argument("--layers", type=at_least(1), default=1)
    parser.add_argument("--steps", type=at_least(1), default=40)
    parser.add_argument("--rate", type=float, default=1e-4)
    parser.add_argument("--ledger", type=Path, help="file of results, to go on with")
    parser.add_argument("--only-lr", action="store_true")
    parser.add_argument("--check", action="store_true")
    main(parser.parse_args())
