"""Generate the small models with random weights in tests/encoders/models, and their vectors.

Run with torch and sentence-transformers installed:

    python benchmarks/encoder_models.py

Each model is saved by sentence-transformers in its folder, with the vectors that it computes for
the texts of `texts.json`. The tests compare the implementation in numpy with these vectors.
"""

import json
import shutil
from pathlib import Path

import numpy as np
import torch
from sentence_transformers import SentenceTransformer, models
from tokenizers import Tokenizer, decoders, normalizers, pre_tokenizers, processors, trainers
from tokenizers.models import BPE, WordPiece
from transformers import (
    AutoModel,
    BertConfig,
    DistilBertConfig,
    MPNetConfig,
    PreTrainedTokenizerFast,
    RobertaConfig,
)

FOLDER = Path(__file__).parents[1] / "tests" / "encoders" / "models"

TEXTS = [
    "",
    " ",
    "tree",
    "The quick brown fox jumps over the lazy dog.",
    "The Quick Brown FOX jumps!!! over the lazy dog?",
    "naïve café, 你好 and 😀",
    "a [MASK] or <mask>, [PAD] or <pad>, [UNK] or <unk>",
    "forests of decision trees classify noisy texts " * 5,
    "a very long text that is truncated " * 100,
    "wordwithoutspaces" * 12,
]

SMALL = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 4}
SMALL |= {"intermediate_size": 24, "max_position_embeddings": 150, "initializer_range": 0.5}


def train_wordpiece(lowercase, special):
    tokenizer = Tokenizer(WordPiece(unk_token=special["unk_token"]))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=lowercase)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    train(tokenizer, trainers.WordPieceTrainer, special)
    tokenizer.decoder = decoders.WordPiece()
    return tokenizer


def train_byte_level(special):
    tokenizer = Tokenizer(BPE(unk_token=special["unk_token"]))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    train(tokenizer, trainers.BpeTrainer, special)
    tokenizer.decoder = decoders.ByteLevel()
    return tokenizer


def train(tokenizer, trainer, special):
    tokenizer.train_from_iterator(
        TEXTS, trainer(vocab_size=120, special_tokens=[*special.values()])
    )
    start, end = special["cls_token"], special["sep_token"]
    tokenizer.post_processor = processors.TemplateProcessing(
        single=f"{start} $A {end}",
        special_tokens=[(name, tokenizer.token_to_id(name)) for name in (start, end)],
    )


BERT_TOKENS = {
    "pad_token": "[PAD]",
    "unk_token": "[UNK]",
    "cls_token": "[CLS]",
    "sep_token": "[SEP]",
    "mask_token": "[MASK]",
}
ROBERTA_TOKENS = {
    "cls_token": "<s>",
    "pad_token": "<pad>",
    "sep_token": "</s>",
    "unk_token": "<unk>",
    "mask_token": "<mask>",
}


def make_bert():
    tokenizer = train_wordpiece(True, BERT_TOKENS)
    config = BertConfig(**SMALL, vocab_size=tokenizer.get_vocab_size())
    return tokenizer, BERT_TOKENS, config, {"pooling_mode": "mean"}, {}


def make_distilbert():
    tokenizer = train_wordpiece(False, BERT_TOKENS)
    config = DistilBertConfig(
        dim=16,
        n_layers=2,
        n_heads=2,
        hidden_dim=24,
        max_position_embeddings=150,
        initializer_range=0.5,
        vocab_size=tokenizer.get_vocab_size(),
    )
    return tokenizer, BERT_TOKENS, config, {"pooling_mode": "cls"}, {}


def make_roberta():
    tokenizer = train_byte_level(ROBERTA_TOKENS)
    config = RobertaConfig(
        **SMALL, vocab_size=tokenizer.get_vocab_size(), type_vocab_size=1, layer_norm_eps=1e-5
    )
    prompts = {"prompts": {"query": "query: "}, "default_prompt_name": "query"}
    return tokenizer, ROBERTA_TOKENS, config, {"pooling_mode": "max"}, prompts


def make_mpnet():
    tokenizer = train_wordpiece(True, ROBERTA_TOKENS)
    config = MPNetConfig(**SMALL, vocab_size=tokenizer.get_vocab_size(), layer_norm_eps=1e-5)
    return tokenizer, ROBERTA_TOKENS, config, {"pooling_mode": "mean_sqrt_len_tokens"}, {}


def main():
    FOLDER.mkdir(exist_ok=True)
    (FOLDER / "texts.json").write_text(json.dumps(TEXTS, indent=1) + "\n")
    for seed, make in enumerate((make_bert, make_distilbert, make_roberta, make_mpnet)):
        torch.manual_seed(seed)
        target = FOLDER / make.__name__.removeprefix("make_")
        shutil.rmtree(target, ignore_errors=True)
        tokenizer, special, config, pooling, prompts = make()
        transformer = AutoModel.from_config(config)
        for parameter in transformer.parameters():  # also those that are initialized as constants
            torch.nn.init.normal_(parameter, std=0.5)
        plain = target.with_name(f"{target.name}-plain")
        transformer.save_pretrained(plain)
        PreTrainedTokenizerFast(tokenizer_object=tokenizer, **special).save_pretrained(plain)
        modules = [models.Transformer(str(plain), max_seq_length=140)]
        modules.append(models.Pooling(16, **pooling))
        modules.append(models.Normalize())
        model = SentenceTransformer(modules=modules, device="cpu", **prompts)
        model.save(str(target))
        shutil.rmtree(plain)
        for file in ("README.md", "special_tokens_map.json"):
            (target / file).unlink(missing_ok=True)
        loaded = SentenceTransformer(str(target), device="cpu")
        np.save(target / "expected.npy", loaded.encode(TEXTS))


if __name__ == "__main__":
    main()
