"""Last layers of a transformer encoder that can be tuned: gradients, losses and AdamW in numpy."""

import argparse
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from scipy.special import erf, log_softmax, softmax

from cordwood.encoders.catalog import load_encoder
from cordwood.encoders.encoder import normalize_rows
from cordwood.encoders.model_folder import tokenize

BATCH, BLOCK = 32, 2**15
WEIGHT_DECAY, BETAS, EPSILON, WARMUP = 0.01, (0.9, 0.999), 1e-8, 0.1

Params = dict[str, Any]  # arrays by name


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
        for i in range(0, len(order), BATCH):
            batch = order[i : i + BATCH]
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


def backward_layer(p: Params, dY: Any, record: tuple[Any, ...], top: Top) -> tuple[Any, Params]:
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


LOSSES = {"cosine": cosine_loss, "supcon": supcon_loss, "softmax": softmax_loss}


def tune(top: Top, states: Sequence[Any], codes: Any, options: argparse.Namespace) -> Top:
    """Return the layers after some steps of AdamW on batches with equally many texts per class."""
    tuned = top._replace(layers=[{k: v.copy() for k, v in p.items()} for p in top.layers])
    Z = top.encode(states)
    # A linear layer begins with the means of the classes.
    head = 10 * normalize_rows(np.stack([Z[codes == code].mean(0) for code in np.unique(codes)]))
    trained = [*tuned.layers, {"head": head}]
    moments = [{k: (np.zeros_like(v), np.zeros_like(v)) for k, v in p.items()} for p in trained]
    rng = np.random.default_rng(0)
    for step in range(options.steps):
        done = (step + 0.5) / options.steps
        rate = options.rate * min(done / WARMUP, (1 - done) / (1 - WARMUP))
        batch = draw_batch(codes, rng)
        Z, tape = tuned.forward([states[i] for i in batch])
        _, dZ, d_head = LOSSES[options.loss](Z, codes[batch], head)
        gradients = [*tuned.backward(dZ, tape), {} if d_head is None else {"head": d_head}]
        for params, own, moment in zip(trained, gradients, moments, strict=True):
            for name, gradient in own.items():
                # Elements of the head are about a hundred times as large as others.
                own_rate = rate * (100 if name == "head" else 1)
                update(params[name], gradient, moment[name], own_rate, step + 1)
    return tuned


def update(weight: Any, gradient: Any, moment: tuple[Any, Any], rate: float, step: int) -> None:
    """Change weights by a step of AdamW, in blocks that fit into the cache of the processor."""
    decay = rate * WEIGHT_DECAY if weight.ndim == 2 else 0.0
    (beta1, beta2), (first, second) = BETAS, moment
    flat = [array.reshape(-1) for array in (weight, gradient, first, second)]
    for start in range(0, weight.size, BLOCK):
        w, g, m, v = (array[start : start + BLOCK] for array in flat)
        m += (1 - beta1) * (g - m)
        v += (1 - beta2) * (g * g - v)
        w *= 1 - decay
        w -= rate / (1 - beta1**step) * m / (np.sqrt(v / (1 - beta2**step)) + EPSILON)


def draw_batch(codes: Any, rng: Any) -> Any:
    """Draw at least two texts of each of some classes."""
    chosen = rng.permutation(np.unique(codes))[: BATCH // 2]
    rows = [rng.permutation(np.flatnonzero(codes == c))[: BATCH // len(chosen)] for c in chosen]
    return np.concatenate(rows)


class Tunable:
    """Encoder whose last layers can be tuned: states below them, and these layers."""

    def __init__(self, n_layers: int, max_tokens: int) -> None:
        self.encoder: Any = load_encoder("minilm", max_tokens=max_tokens)
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


def check() -> None:
    """Compare gradients with finite differences, and vectors with those of the library."""
    rng = np.random.default_rng(0)
    shapes: dict[str, Any] = {"qkv": (8, 24), "out": (8, 8), "wide": (8, 12), "narrow": (12, 8)}
    shapes |= {f"{name}_bias": shape[1:] for name, shape in shapes.items()}
    shapes |= {f"norm{i}_{part}": (8,) for i in (1, 2) for part in ("scale", "shift")}
    layers = [{name: rng.normal(size=shape) for name, shape in shapes.items()} for _ in range(2)]
    top = Top(layers, 2, 1e-12)
    states = [rng.normal(size=(length, 8)) for length in (3, 5, 1, 4, 5, 2)]
    codes, head, worst = np.array([0, 0, 1, 1, 2, 2]), rng.normal(size=(3, 8)), 0.0
    for loss in LOSSES.values():
        Z, tape = top.forward(states)
        _, dZ, d_head = loss(Z, codes, head)
        found = [*top.backward(dZ, tape), {} if d_head is None else {"head": d_head}]
        for params, gradients in zip([*layers, {"head": head}], found, strict=True):
            for name, gradient in gradients.items():
                direction, before = rng.normal(size=gradient.shape), params[name].copy()
                values = []
                for sign in (1, -1):
                    params[name][...] = before + sign * 1e-5 * direction
                    values.append(loss(top.forward(states)[0], codes, head)[0])
                params[name][...] = before
                expected = (values[0] - values[1]) / 2e-5
                error = abs((gradient * direction).sum() - expected)
                worst = max(worst, error / max(abs(expected), 1e-3))
    tunable, texts = Tunable(2, 96), ["a great day", "worst service ever", "no"]
    distance = np.abs(tunable.top.encode(tunable.states(texts)) - tunable.encoder.encode(texts))
    print(f"relative error of gradients {worst:.1e}, of vectors {distance.max():.1e}")
    if worst > 1e-5 or distance.max() > 1e-5:
        raise SystemExit("gradients or vectors are wrong")
