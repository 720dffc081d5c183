"""`cordwood train`: from labelled rows to a model file."""

import time
from collections import Counter
from pathlib import Path
from typing import Annotated

import typer

from cordwood import persist, recipes, workflow
from cordwood.cli import options
from cordwood.cli.console import Console
from cordwood.cli.sink import check_target
from cordwood.cli.source import Source
from cordwood.errors import CordwoodError
from cordwood.text.lines import STANDARD_INPUT

SUFFIX = ".cordwood"

Output = Annotated[
    Path | None,
    typer.Option(
        "--output",
        "-o",
        metavar="MODEL",
        help="The model file to write; one that stands there is replaced. "
        "[default: DATA's name with .cordwood]",
        show_default=False,
    ),
]
Settings = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="NAME=VALUE",
        help="Set a parameter of the recipe, such as C=0.5 or words__min_df=2; may be repeated.",
        show_default=False,
    ),
]
Recipe = Annotated[
    str,
    typer.Option(
        "--recipe",
        metavar="NAME",
        help="How to learn: "
        + "; ".join(
            f"{name}, {recipes.describe(name)}"
            for name in recipes.names()
            if recipes.find(name).savable
        )
        + ".",
    ),
]
Seed = Annotated[
    int, typer.Option("--seed", metavar="NUMBER", help="The same seed gives the same model.")
]


def train(
    data: options.Data,
    output: Output = None,
    text: options.TextColumns = None,
    label: options.LabelColumn = None,
    id: options.IdColumn = None,
    part: options.Part = None,
    recipe: Recipe = recipes.DEFAULT,
    set: Settings = None,
    seed: Seed = 0,
    encoding: options.Encoding = "utf-8",
    format: options.Format = None,
    delimiter: options.Delimiter = None,
    on_bad_rows: options.BadRows = options.OnBadRows.RAISE,
    data_dir: options.DataDir = None,
    json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """The model remembers the columns that it was trained on; `predict` and `evaluate` look for
    the same ones.

    Example: cordwood train reviews.csv --text body --label topic -o reviews.cordwood
    """
    console = Console(as_json=json, quiet=quiet)
    _check_savable(recipe)
    source = Source(
        data=data,
        text=text,
        label=label,
        id=id,
        part=part,
        encoding=encoding,
        format=format,
        delimiter=delimiter,
        on_bad_rows=on_bad_rows,
        data_dir=data_dir,
    )
    target = output or _default_target(source)
    check_target(target, inputs=[data])
    params = {"seed": seed, **options.parse_settings(set)}
    rows = source.read(console, two_classes=True)
    source.show(console, rows)
    start = time.perf_counter()
    with console.progress("training"):
        fitted = workflow.train(rows, recipe=recipe, **params)
    seconds = time.perf_counter() - start
    persist.save(
        fitted, target, fingerprint=rows.fingerprint(), recipe=recipe, columns=source.columns
    )
    size = target.stat().st_size
    words = fitted.named_steps.get("words")
    if words is not None:
        console.fact("words", f"{words.choice_}; {len(words.vocabulary_):,} terms")
    console.fact("trained", f"recipe {recipe}, in {seconds:.1f} s")
    console.fact("wrote", f"{target} ({size / 1e6:,.2f} MB)")
    console.fact("next", f"cordwood predict {target} NEW-DATA")
    console.answer(
        {
            "data": data,
            "part": part,
            "rows": len(rows),
            "skipped": len(rows.skipped),
            "classes": dict(Counter(rows.labels or ()).most_common()),
            "recipe": recipe,
            "words": None if words is None else words.choice_,
            "seconds": round(seconds, 3),
            "model": str(target),
            "bytes": size,
        }
    )


def _check_savable(recipe: str) -> None:
    """Refuse before training what could not be written after it."""
    if not recipes.find(recipe).savable:
        savable = [name for name in recipes.names() if recipes.find(name).savable]
        raise CordwoodError(
            f"models of recipe {recipe!r} cannot be kept in a model file, which holds nothing that "
            f"could harm whoever opens it; choose one of: {', '.join(savable)}"
        )


def _default_target(source: Source) -> Path:
    """Name the model after the data, in the folder where the command is run."""
    if source.data == STANDARD_INPUT:
        raise typer.BadParameter("name the model with -o where DATA is standard input")
    if source.dataset is not None:
        # Colons, as in sklearn:wine, are not for file names.
        return Path(source.dataset.rpartition(":")[2] + SUFFIX)
    path = Path(source.data).resolve()
    stem = path.name if path.is_dir() else Path(path.name.removesuffix(".gz")).stem
    return Path(stem + SUFFIX)
