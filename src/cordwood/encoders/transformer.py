"""Encoders in the folder layout of sentence-transformers, computed by numpy."""

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from cordwood.encoders._architectures import (
    TokenIds,
    Transformer,
    build_transformer,
    check_config,
    max_length,
    n_heads,
)
from cordwood.encoders._layers import Floats
from cordwood.encoders.blas import single_threaded_blas
from cordwood.encoders.encoder import (
    EncodedTexts,
    compute_fingerprint,
    group_by_tokens,
    normalize_rows,
)
from cordwood.encoders.folder_encoder import FolderEncoder
from cordwood.encoders.model_folder import TOKENIZER, WEIGHTS, ModelFolder
from cordwood.exceptions import CordwoodError

# Tokens that are encoded together. Larger groups are not faster, and need more memory.
_GROUP_TOKENS = 512

_POOLING: dict[str, Callable[[Floats], Floats]] = {
    "cls": lambda states: states[0],
    "mean": lambda states: states.mean(axis=0),
    "max": lambda states: states.max(axis=0),
    "mean_sqrt_len_tokens": lambda states: states.sum(axis=0) / np.float32(len(states) ** 0.5),
}
_FORMER_POOLING = {
    "pooling_mode_cls_token": "cls",
    "pooling_mode_mean_tokens": "mean",
    "pooling_mode_max_tokens": "max",
    "pooling_mode_mean_sqrt_len_tokens": "mean_sqrt_len_tokens",
}


class TransformerEncoder(FolderEncoder):
    """Transformer in a local folder in the layout of sentence-transformers.

    Supports BERT, DistilBERT, RoBERTa, XLM-RoBERTa and MPNet, such as all-MiniLM, all-mpnet, BGE,
    E5 and GTE in their small and base sizes. Pooling, maximum length, lower-casing and the default
    prompt are those of the folder's own files.
    """

    def _read_settings(self) -> None:
        top = self._top
        try:
            modules = _list_modules(top)
            self._folder = top.subfolder(modules["Transformer"])
            self._config = self._folder.read_json("config.json")
            check_config(self._config, str(self._folder.path / "config.json"))
            self._pooling = _read_pooling(top, modules.get("Pooling"))
            settings = self._folder.read_json("sentence_bert_config.json", {})
            self._lowercase = bool(settings.get("do_lower_case", False))
            self._prompt = _read_prompt(top)
            limit = settings.get("max_seq_length") or self._tokenizer_limit()
            self._length = min(self.max_tokens, max_length(self._config), limit or self.max_tokens)
        except (AttributeError, KeyError, TypeError) as error:
            raise CordwoodError(
                f"encoder folder {top.path} has an invalid configuration: {error!r}"
            ) from None

    @property
    def dimension(self) -> int:
        """Number of elements of a vector."""
        return int(self._config.get("hidden_size") or self._config["dim"])

    @property
    def n_scores(self) -> int:
        """Number of attention scores of a text of maximum length."""
        return int(self._length**2 * n_heads(self._config))

    @cached_property
    def fingerprint(self) -> str:
        """Hexadecimal digest of everything that vectors depend on."""
        return compute_fingerprint(
            kind="transformer",
            config=self._config,
            weights=self._folder.digest(WEIGHTS),
            tokenizer=self._folder.digest(TOKENIZER),
            pooling=self._pooling,
            lowercase=self._lowercase,
            prompt=self._prompt,
            max_tokens=self._length,
            precision="float32",
        )

    def encode_texts(self, texts: Sequence[str]) -> EncodedTexts:
        """Encode texts, and return which of them were truncated."""
        prepared = [self._prompt + (text.lower() if self._lowercase else text) for text in texts]
        tokenized, truncated = self._tokenize(prepared)
        token_ids = [np.array(ids, np.int64) for ids in tokenized]
        return EncodedTexts(normalize_rows(self.pool_token_ids(token_ids)), truncated)

    def pool_token_ids(self, token_ids: Sequence[TokenIds]) -> Floats:
        """Return the pooled hidden states of texts, given as token ids, before normalization."""
        vectors = np.empty((len(token_ids), self.dimension), np.float32)
        pool = _POOLING[self._pooling]
        with single_threaded_blas():
            for group in group_by_tokens([len(ids) for ids in token_ids], _GROUP_TOKENS):
                states = self._transformer.hidden_states([token_ids[i] for i in group])
                vectors[group] = [pool(text) for text in states]
        return vectors

    @cached_property
    def tokenizer(self) -> Any:
        """Tokenizer of the library tokenizers."""
        tokenizer = self._folder.read_tokenizer(TOKENIZER)
        special = tokenizer.num_special_tokens_to_add(False)
        if self._length <= special:
            raise CordwoodError(
                f"max_tokens must be greater than {special}, the number of special tokens of the "
                f"encoder; got {self.max_tokens}"
            )
        tokenizer.enable_truncation(self._length)
        return tokenizer

    @cached_property
    def _transformer(self) -> Transformer:
        where = str(self._folder.path / WEIGHTS)
        transformer = build_transformer(self._config, self._folder.read_tensors(WEIGHTS), where)
        n_tokens = self.tokenizer.get_vocab_size()
        if len(transformer.tokens) < n_tokens:
            raise CordwoodError(
                f"{where} has embeddings of {len(transformer.tokens)} tokens, but the tokenizer "
                f"has {n_tokens}"
            )
        return transformer

    def _tokenizer_limit(self) -> int | None:
        limit = self._folder.read_json("tokenizer_config.json", {}).get("model_max_length")
        # Tokenizers without a limit have an extremely large one.
        return int(limit) if limit is not None and limit < 1_000_000 else None


def _list_modules(top: ModelFolder) -> dict[str, str]:
    """Return the subfolder of each module of the model."""
    default = [{"type": "Transformer", "path": ""}]
    modules = {
        str(module["type"]).rpartition(".")[2]: str(module["path"])
        for module in top.read_json("modules.json", default)
    }
    unsupported = sorted(set(modules) - {"Transformer", "Pooling", "Normalize"})
    if unsupported or "Transformer" not in modules:
        found = unsupported[0] if unsupported else "other than a Transformer"
        raise CordwoodError(
            f"{top.path / 'modules.json'}: module {found} is not supported; supported are "
            "Transformer, Pooling and Normalize"
        )
    return modules


def _read_pooling(top: ModelFolder, subfolder: str | None) -> str:
    """Return the pooling mode; like sentence-transformers, the mean if there is no module."""
    if subfolder is None:
        return "mean"
    file = f"{subfolder}/config.json"
    config = top.read_json(file)
    mode = config.get("pooling_mode")
    if mode is None:  # written by sentence-transformers before version 6
        mode = [_FORMER_POOLING.get(key, key) for key in config if _is_pooling_flag(config, key)]
    modes = [mode] if isinstance(mode, str) else list(mode)
    if len(modes) != 1 or modes[0] not in _POOLING:
        raise CordwoodError(
            f"{top.path / file}: pooling mode {' and '.join(modes) or 'none'} is not supported; "
            f"supported are {', '.join(_POOLING)}"
        )
    if not config.get("include_prompt", True) and _read_prompt(top):
        raise CordwoodError(f"{top.path / file}: include_prompt=false is not supported")
    return modes[0]


def _is_pooling_flag(config: dict[str, Any], key: str) -> bool:
    return key.startswith("pooling_mode_") and bool(config[key])


def _read_prompt(top: ModelFolder) -> str:
    """Return the default prompt, which is put before each text."""
    file = "config_sentence_transformers.json"
    config = top.read_json(file, {})
    name = config.get("default_prompt_name")
    if name is None:
        return ""
    prompts = config.get("prompts") or {}
    if name not in prompts:
        raise CordwoodError(
            f"{top.path / file}: the default prompt {name!r} is not among the prompts: "
            f"{', '.join(prompts) or 'there are none'}; add it, or set default_prompt_name to null"
        )
    return str(prompts[name])
