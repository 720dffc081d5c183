"""`cordwood train`: from labelled rows to a model file."""

import time
from collections import Counter
from pathlib import Path

import typer
from sklearn.pipeline import Pipeline

from cordwood import persist, recipes, workflow
from cordwood.cli.commands import Train
from cordwood.cli.console import Console
from cordwood.cli.inputs import Source
from cordwood.cli.options import parse_settings
from cordwood.cli.outputs import check_target
from cordwood.datasets._lines import STANDARD_INPUT
from cordwood.exceptions import CordwoodError
from cordwood.text.vectorizer import TextVectorizer

SUFFIX = ".cordwood"


def train(asked: Train) -> None:
    """Learn from labelled rows and write the model."""
    console = Console(as_json=asked.json, quiet=asked.quiet)
    _check_savable(asked.recipe)
    source = Source.of(asked)
    target = asked.output or _default_target(source)
    check_target(target, inputs=[asked.data])
    params = {"random_state": asked.seed, **parse_settings(asked.set)}
    rows = source.read(console, two_classes=True)
    source.show(console, rows)
    start = time.perf_counter()
    with console.progress("training"):
        fitted = workflow.train(rows, recipe=asked.recipe, **params)
    seconds = time.perf_counter() - start
    persist.save(
        fitted,
        target,
        fingerprint=rows.fingerprint(),
        recipe=asked.recipe,
        columns=source.columns,
    )
    size = target.stat().st_size
    words = _find_words(fitted)
    if words is not None:
        console.fact("words", f"{words.preset_reason_}; {len(words.vocabulary_):,} terms")
    console.fact("trained", f"recipe {asked.recipe}, in {seconds:.1f} s")
    console.fact("wrote", f"{target} ({size / 1e6:,.2f} MB)")
    console.fact("next", f"cordwood predict {target} NEW-DATA")
    console.answer(
        {
            "data": asked.data,
            "part": asked.part,
            "rows": len(rows),
            "skipped": len(rows.skipped),
            "classes": dict(Counter(rows.labels or ()).most_common()),
            "recipe": asked.recipe,
            "words": None if words is None else words.preset_reason_,
            "seconds": round(seconds, 3),
            "model": str(target),
            "bytes": size,
        }
    )


def _find_words(fitted: Pipeline) -> TextVectorizer | None:
    """Find the step that prepares words, of a stack the first member's that has one."""
    for pipeline in (fitted, *getattr(fitted[-1], "estimators_", ())):
        words = getattr(pipeline, "named_steps", {}).get("vectorizer")
        if isinstance(words, TextVectorizer):
            return words
    return None


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
