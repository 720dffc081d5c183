"""Transformer encoders in numpy: weights of four architectures, and their forward pass.

BERT, DistilBERT, RoBERTa (also XLM-RoBERTa) and MPNet differ in the names of their weights, in the
numbering of positions, and in the relative position bias that MPNet adds to attention scores. The
layers are the same: self-attention and a feed-forward network, each with a residual connection and
layer normalization after it.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from cordwood.encoders._layers import Floats, LayerNorm, Linear
from cordwood.encoders.activations import add_bias_and_gelu
from cordwood.encoders.matmul import matmul, pack
from cordwood.exceptions import CordwoodError

TokenIds: TypeAlias = NDArray[np.int64]


@dataclass(frozen=True)
class Layer:
    """Weights of one layer; `qkv` has the columns of queries, keys and values."""

    qkv: Linear
    attention_output: Linear
    attention_norm: LayerNorm
    intermediate: Linear
    output: Linear
    output_norm: LayerNorm


@dataclass(frozen=True)
class Transformer:
    """Weights of a transformer encoder."""

    tokens: Floats  # (n_tokens, n_hidden): token embeddings
    # (n_positions, n_hidden): position embeddings, with the embedding of the first token type
    # added.
    positions: Floats
    norm: LayerNorm  # normalization of the sum of the embeddings
    layers: tuple[Layer, ...]
    n_heads: int  # number of attention heads
    padding_id: int | None  # positions are numbered from the one after this id on; from 0 if None
    # (n_heads, n_positions, n_positions): relative position bias of MPNet.
    position_bias: Floats | None

    @property
    def n_hidden(self) -> int:
        """Number of elements of a hidden state."""
        return int(self.tokens.shape[1])

    def hidden_states(self, texts: Sequence[TokenIds]) -> list[Floats]:
        """Return the last hidden states of the tokens of each text."""
        # Token matrices are concatenated and not padded. All matrix products with weights are over
        # the tokens of all texts; attention is computed for each text.
        lengths = [len(ids) for ids in texts]
        X = self.tokens[np.concatenate(texts)]
        X += self.positions[np.concatenate([self._number(ids) for ids in texts])]
        self.norm(X)
        ends = np.cumsum(lengths)
        spans = [slice(end - length, end) for end, length in zip(ends, lengths, strict=True)]
        for layer in self.layers:
            attended = self._attend(layer.qkv(X), spans)
            attended = layer.attention_output(attended)
            attended += X
            X = layer.attention_norm(attended)
            wide = matmul(X, layer.intermediate.weight)
            add_bias_and_gelu(wide, layer.intermediate.bias)
            narrow = layer.output(wide)
            narrow += X
            X = layer.output_norm(narrow)
        return [X[span] for span in spans]

    def _number(self, ids: TokenIds) -> TokenIds:
        if self.padding_id is None:
            return np.arange(len(ids))
        # As in the original models, a padding token has no number of its own.
        present = ids != self.padding_id
        numbers: TokenIds = np.cumsum(present) * present + self.padding_id
        return numbers

    def _attend(self, qkv: Floats, spans: Sequence[slice]) -> Floats:
        n_hidden, size = self.n_hidden, self.n_hidden // self.n_heads
        attended = np.empty((len(qkv), n_hidden), np.float32)
        for span in spans:
            # Of shape (3, n_heads, length, size).
            heads = qkv[span].reshape(-1, 3, self.n_heads, size).transpose(1, 2, 0, 3)
            queries, keys, values = np.ascontiguousarray(heads)
            scores = queries @ keys.transpose(0, 2, 1)
            scores *= np.float32(1 / math.sqrt(size))
            if self.position_bias is not None:
                length = scores.shape[1]
                scores += self.position_bias[:, :length, :length]
            scores -= scores.max(axis=2, keepdims=True)
            np.exp(scores, out=scores)
            weighted = scores @ values
            weighted /= scores.sum(axis=2, keepdims=True)
            attended[span] = weighted.transpose(1, 0, 2).reshape(-1, n_hidden)
        return attended


@dataclass(frozen=True)
class _Names:
    """Names of the weights and settings of an architecture; `{}` is the number of the layer."""

    qkv: tuple[str, str, str]
    attention_output: str
    attention_norm: str
    intermediate: str
    output: str
    output_norm: str
    n_layers: str = "num_hidden_layers"
    n_heads: str = "num_attention_heads"
    activation: str = "hidden_act"


_BERT = _Names(
    qkv=(
        "encoder.layer.{}.attention.self.query",
        "encoder.layer.{}.attention.self.key",
        "encoder.layer.{}.attention.self.value",
    ),
    attention_output="encoder.layer.{}.attention.output.dense",
    attention_norm="encoder.layer.{}.attention.output.LayerNorm",
    intermediate="encoder.layer.{}.intermediate.dense",
    output="encoder.layer.{}.output.dense",
    output_norm="encoder.layer.{}.output.LayerNorm",
)
_DISTILBERT = _Names(
    qkv=(
        "transformer.layer.{}.attention.q_lin",
        "transformer.layer.{}.attention.k_lin",
        "transformer.layer.{}.attention.v_lin",
    ),
    attention_output="transformer.layer.{}.attention.out_lin",
    attention_norm="transformer.layer.{}.sa_layer_norm",
    intermediate="transformer.layer.{}.ffn.lin1",
    output="transformer.layer.{}.ffn.lin2",
    output_norm="transformer.layer.{}.output_layer_norm",
    n_layers="n_layers",
    n_heads="n_heads",
    activation="activation",
)
_MPNET = replace(
    _BERT,
    qkv=(
        "encoder.layer.{}.attention.attn.q",
        "encoder.layer.{}.attention.attn.k",
        "encoder.layer.{}.attention.attn.v",
    ),
    attention_output="encoder.layer.{}.attention.attn.o",
    attention_norm="encoder.layer.{}.attention.LayerNorm",
)
ARCHITECTURES = {
    "bert": _BERT,
    "camembert": _BERT,
    "distilbert": _DISTILBERT,
    "mpnet": _MPNET,
    "roberta": _BERT,
    "xlm-roberta": _BERT,
}
_NUMBERED_FROM_PADDING = ("camembert", "mpnet", "roberta", "xlm-roberta")
_DISTILBERT_EPSILON = 1e-12
_MAX_BIAS_SIZE = 2**26


def check_config(config: Mapping[str, Any], where: str) -> None:
    """Raise CordwoodError if the configuration of a transformer is not supported."""
    kind = config.get("model_type")
    if kind not in ARCHITECTURES:
        supported = ", ".join(ARCHITECTURES)
        raise CordwoodError(
            f"{where}: model_type {kind!r} is not supported; supported are {supported}"
        )
    activation = config.get(ARCHITECTURES[kind].activation, "gelu")
    if activation != "gelu":
        raise CordwoodError(f"{where}: activation {activation!r} is not supported, only 'gelu'")
    position = config.get("position_embedding_type", "absolute")
    if position != "absolute":
        raise CordwoodError(
            f"{where}: position_embedding_type {position!r} is not supported, only 'absolute'"
        )


def max_length(config: Mapping[str, Any]) -> int:
    """Return the largest number of tokens of a text for which there are position embeddings."""
    padding_id = _padding_id(config)
    n_positions: int = config["max_position_embeddings"]
    return n_positions if padding_id is None else n_positions - padding_id - 1


def n_heads(config: Mapping[str, Any]) -> int:
    """Return the number of attention heads."""
    heads: int = config[ARCHITECTURES[config["model_type"]].n_heads]
    return heads


def _padding_id(config: Mapping[str, Any]) -> int | None:
    return config.get("pad_token_id", 1) if config["model_type"] in _NUMBERED_FROM_PADDING else None


def build_transformer(
    config: Mapping[str, Any], tensors: Mapping[str, NDArray[Any]], where: str
) -> Transformer:
    """Assemble a transformer from the arrays of a model file."""
    names = ARCHITECTURES[config["model_type"]]
    # Models that were saved with a head have a prefix, such as "bert.".
    word = "embeddings.word_embeddings.weight"
    prefixes = [key.removesuffix(word) for key in tensors if key.endswith(word)]
    prefix = prefixes[0] if prefixes else ""

    def array(name: str) -> Floats:
        try:
            return np.ascontiguousarray(tensors[prefix + name], np.float32)
        except KeyError:
            raise CordwoodError(f"{where} has no array {prefix + name!r}") from None

    def linear(*parts: str) -> Linear:
        # Stored as (n_out, n_in).
        weight = np.concatenate([array(f"{part}.weight") for part in parts]).T
        bias = np.concatenate([array(f"{part}.bias") for part in parts])
        return Linear(pack(weight), bias)

    epsilon = config.get("layer_norm_eps", _DISTILBERT_EPSILON)

    def norm(name: str) -> LayerNorm:
        return LayerNorm(array(f"{name}.weight"), array(f"{name}.bias"), epsilon)

    positions = array("embeddings.position_embeddings.weight")
    if f"{prefix}embeddings.token_type_embeddings.weight" in tensors:
        positions = positions + array("embeddings.token_type_embeddings.weight")[0]
    bias = None
    if config["model_type"] == "mpnet":
        table = array("encoder.relative_attention_bias.weight")
        bias = _relative_position_bias(table, len(positions))
    return Transformer(
        tokens=array(word),
        positions=positions,
        norm=norm("embeddings.LayerNorm"),
        layers=tuple(
            Layer(
                qkv=linear(*(name.format(i) for name in names.qkv)),
                attention_output=linear(names.attention_output.format(i)),
                attention_norm=norm(names.attention_norm.format(i)),
                intermediate=linear(names.intermediate.format(i)),
                output=linear(names.output.format(i)),
                output_norm=norm(names.output_norm.format(i)),
            )
            for i in range(config[names.n_layers])
        ),
        n_heads=n_heads(config),
        padding_id=_padding_id(config),
        position_bias=bias,
    )


def _relative_position_bias(table: Floats, n_positions: int) -> Floats:
    """Return the bias of each pair of positions, from one of each bucket of distances."""
    # Half of the buckets are for keys after the query. Half of these are for single distances, the
    # others for logarithmically growing ranges up to 128.
    if table.shape[1] * n_positions**2 > _MAX_BIAS_SIZE:
        raise CordwoodError(f"a position bias of {n_positions} positions is too large")
    n_buckets = len(table) // 2
    n_exact = n_buckets // 2
    distance = np.arange(n_positions)[None, :] - np.arange(n_positions)[:, None]
    far = np.maximum(np.abs(distance), 1).astype(np.float32)
    growth = np.log(far / n_exact) / math.log(128 / n_exact) * (n_buckets - n_exact)
    logarithmic = np.minimum(n_exact + growth.astype(np.int64), n_buckets - 1)
    bucket = np.where(np.abs(distance) < n_exact, np.abs(distance), logarithmic)
    bucket += np.where(distance > 0, n_buckets, 0)
    return np.ascontiguousarray(table[bucket].transpose(2, 0, 1))
