"""Distillation of a transformer to static token vectors, which are much faster.

Each token of the vocabulary is encoded alone. The vectors are projected to their principal
components and weighted by the expected frequency of the token, as in model2vec.
"""

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from cordwood._base import atomic
from cordwood.encoders.blas import single_threaded_blas
from cordwood.encoders.model_folder import import_extra
from cordwood.encoders.transformer import TransformerEncoder
from cordwood.exceptions import CordwoodError

# Tokens that are encoded between two reports of progress.
_CHUNK_TOKENS = 256


def distill(
    encoder: TransformerEncoder,
    target: str | Path,
    *,
    n_components: int = 256,
    sif_coefficient: float = 1e-4,
    progress: Callable[[int, int], None] | None = None,
) -> Path:
    """Write a static encoder, in the layout of model2vec, that approximates a transformer."""
    # The weight of a token with relative frequency p is a / (a + p), with the coefficient a of
    # smooth inverse frequency (Arora, Liang and Ma, 2017). Frequencies follow Zipf's law, because
    # vocabularies are sorted by frequency.
    target = Path(target)
    if not isinstance(encoder, TransformerEncoder):
        raise CordwoodError(f"only transformers can be distilled; got {encoder!r}")
    if target.is_file():
        raise CordwoodError(f"{target} is a file; give the name of a new folder")
    if target.exists() and any(target.iterdir()):
        raise CordwoodError(f"output folder {target} already exists and is not empty")
    # Before the work, which is lost if the folder cannot be created.
    target.mkdir(parents=True, exist_ok=True)
    tokens = _list_tokens(encoder)
    states = _encode_tokens(encoder, tokens, progress)
    vectors = _project(states, min(n_components, states.shape[1]))
    rank = np.arange(2, len(tokens) + 2)
    frequency = (1 / rank) / np.sum(1 / rank)
    vectors *= (sif_coefficient / (sif_coefficient + frequency))[:, None]
    # Special tokens do not occur in texts.
    table = np.zeros((encoder.tokenizer.get_vocab_size(), vectors.shape[1]), np.float16)
    table[tokens] = vectors
    _write_folder(target, encoder, table, sif_coefficient)
    return target


def _list_tokens(encoder: TransformerEncoder) -> list[int]:
    """Return the ids of the tokens that occur in texts, in the order of the vocabulary."""
    tokenizer = encoder.tokenizer
    special = {
        token_id
        for token_id, token in tokenizer.get_added_tokens_decoder().items()
        if token.special
    }
    unused = {i for token, i in tokenizer.get_vocab().items() if token.startswith("[unused")}
    return sorted(set(tokenizer.get_vocab().values()) - special - unused)


def _encode_tokens(
    encoder: TransformerEncoder,
    tokens: list[int],
    progress: Callable[[int, int], None] | None,
) -> NDArray[np.float32]:
    empty = encoder.tokenizer.encode("").ids  # special tokens at the start and the end
    start, end = empty[: (len(empty) + 1) // 2], empty[(len(empty) + 1) // 2 :]
    states = []
    for first in range(0, len(tokens), _CHUNK_TOKENS):
        chunk = tokens[first : first + _CHUNK_TOKENS]
        token_ids = [np.array([*start, token, *end], np.int64) for token in chunk]
        states.append(encoder.pool_token_ids(token_ids))
        if progress is not None:
            progress(min(first + _CHUNK_TOKENS, len(tokens)), len(tokens))
    return np.concatenate(states)


def _project(X: NDArray[np.float32], n_components: int) -> NDArray[np.float64]:
    """Project rows to their principal components."""
    centered = X.astype(np.float64) - X.mean(axis=0, dtype=np.float64)
    with single_threaded_blas():
        _, components = np.linalg.eigh(centered.T @ centered)
        projected: NDArray[np.float64] = centered @ components[:, ::-1][:, :n_components]
    return projected


def _write_folder(
    target: Path, encoder: TransformerEncoder, table: NDArray[np.float16], sif_coefficient: float
) -> None:
    safetensors = import_extra("safetensors.numpy")
    tokenizer = json.loads(encoder.tokenizer.to_str())
    tokenizer["truncation"] = tokenizer["padding"] = None
    config = {
        "model_type": "model2vec",
        "architectures": ["StaticModel"],
        "tokenizer_name": Path(encoder.name).name,
        "apply_pca": table.shape[1],
        "sif_coefficient": sif_coefficient,
        "hidden_dim": table.shape[1],
        "seq_length": 1_000_000,
        "normalize": True,
        "embedding_dtype": "float16",
    }
    with atomic.write(target / "tokenizer.json") as file:
        json.dump(tokenizer, file, ensure_ascii=False)
    with atomic.write(target / "model.safetensors", "wb") as file:
        file.write(safetensors.save({"embeddings": table}))
    # The last one: a folder without it is not an encoder.
    with atomic.write(target / "config.json") as file:
        json.dump(config, file, indent=2)
