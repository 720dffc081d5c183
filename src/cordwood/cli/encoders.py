"""`cordwood encoders`: list, install and distill sentence encoders."""

import sys
import time
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import typer

from cordwood.cli.commands import EncoderAction, Encoders
from cordwood.cli.console import Console
from cordwood.encoders.catalog import EncoderInfo, list_encoders, load_encoder
from cordwood.encoders.distillation import distill
from cordwood.encoders.encoder import Encoder
from cordwood.encoders.model_folder import INSTALL_TOKENIZERS
from cordwood.encoders.transformer import TransformerEncoder
from cordwood.encoders.wheel_install import install_encoder
from cordwood.encoders.wheel_sources import INSTALLABLE
from cordwood.exceptions import CordwoodError

# Texts whose encoding is timed, of about 20 tokens each.
_TEXTS = [
    f"Review {i}: the battery of this camera lasts long, but the pictures are too dark at night."
    for i in range(32)
]
_MIN_SECONDS = 0.5


def encoders(args: Encoders) -> None:
    """List the encoders, or install or distill one."""
    console = Console(as_json=args.json, quiet=args.quiet)
    if args.action is not EncoderAction.DISTILL and args.output is not None:
        raise typer.BadParameter("--output requires the action distill")
    if args.action is None:
        _list(console)
    elif args.name is None:
        raise typer.BadParameter(f"{args.action} requires the name of an encoder, such as minilm")
    elif args.action is EncoderAction.INSTALL:
        _install(console, args.name)
    else:
        _distill(console, args.name, args.output)


def _list(console: Console) -> None:
    known = list_encoders()
    with console.progress("measuring speed") as progress:
        records = []
        for position, info in enumerate(known):
            records.append(_describe(info))
            if progress is not None:
                progress(position + 1, len(known))
    console.print_json({"encoders": records})
    columns = ("name", "installed", "dimension", "texts/s", "languages", "description")
    console.table(
        columns,
        [
            (
                record["name"],
                "yes" if record["installed"] else "no",
                *(
                    "" if record[key] is None else round(record[key])
                    for key in ("dimension", "texts_per_second")
                ),
                record["languages"],
                record["description"],
            )
            for record in records
        ],
    )
    console.print()
    for record in records:
        if record["install"] is not None:
            console.print(f"Install {record['name']}: {record['install']}")
        if record["error"] is not None:
            console.print(f"{record['name']} cannot be used: {record['error']}")
    console.print("texts/s: texts of 20 tokens on one core of this computer")


def _describe(info: EncoderInfo) -> dict[str, Any]:
    record: dict[str, Any] = {
        "name": info.name,
        "description": info.description,
        "languages": info.languages,
        "installed": info.install is None,
        "install": info.install,
        "dimension": None,
        "texts_per_second": None,
        "error": None,
    }
    if info.install is None:
        try:
            encoder = load_encoder(info.name)
            record["dimension"] = encoder.dimension
            record["texts_per_second"] = _measure_speed(encoder)
        except CordwoodError as error:
            record["error"] = str(error)
    return record


def _measure_speed(encoder: Encoder) -> float:
    encoder.encode(_TEXTS)  # loads the weights
    n_texts, seconds = 0, 0.0
    while seconds < _MIN_SECONDS:
        start = time.process_time()
        encoder.encode(_TEXTS)
        seconds += time.process_time() - start
        n_texts += len(_TEXTS)
    return n_texts / seconds


def _install(console: Console, name: str) -> None:
    folder = install_encoder(name, None if console.quiet or console.as_json else _announce)
    license_name = INSTALLABLE[name].license
    console.print_json({"name": name, "folder": str(folder), "license": license_name})
    console.field("installed", f"{name} in {folder}; the digests of its files are correct")
    console.field("license", license_name)
    if find_spec("tokenizers") is None:
        console.field("needs", INSTALL_TOKENIZERS)
    console.field("use it", _describe_use(name))


def _announce(line: str) -> None:
    # Between the lines of pip, also on a terminal.
    print(line, file=sys.stderr, flush=True)


def _distill(console: Console, name: str, output: Path | None) -> None:
    if output is None:
        raise typer.BadParameter("distill requires the folder to create; give it with -o")
    encoder = load_encoder(name)
    if not isinstance(encoder, TransformerEncoder):
        raise CordwoodError(
            f"encoder {name!r} is not a transformer and cannot be distilled; give minilm or the "
            "folder of a transformer"
        )
    start = time.perf_counter()
    with console.progress("encoding the vocabulary") as progress:
        folder = distill(encoder, output, progress=progress)
    seconds = time.perf_counter() - start
    n_bytes = sum(file.stat().st_size for file in folder.iterdir())
    console.print_json({"folder": str(folder), "bytes": n_bytes, "seconds": round(seconds, 3)})
    console.field("wrote", f"{folder} ({n_bytes / 1e6:,.1f} MB), in {seconds:.0f} s")
    console.field("use it", _describe_use(str(folder)))


def _describe_use(encoder: str) -> str:
    return f"cordwood train DATA --encoder {encoder}, or EmbeddingVectorizer({encoder!r})"
