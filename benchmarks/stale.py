"""Which tables and ledgers are older than the defaults that they describe?

    python dev.py stale [--record REASON]

A recipe is measured on generated texts; if its scores differ from the last ones in defaults.toml,
its defaults have changed since, and tests/test_stale.py fails. ``--record`` adds the scores of
today, the time and the reason. A table of the documentation names the commit and the command that
made it, and the recipes it describes, in a comment above it:

    <!-- measured at 7b43e24 by `python dev.py bench few_labels`: quick -->

Records of ledgers have the time of the trial. Lists what was measured before the last change of one
of its recipes; the last line counts them.
"""

import argparse
import json
import re
import subprocess
import tomllib
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

import numpy as np
from sklearn.metrics import log_loss

from cordwood import recipes
from cordwood._base import atomic
from cordwood.compare.runner.ledger import Ledger

ROOT = Path(__file__).resolve().parent.parent
DEFAULTS = ROOT / "benchmarks" / "defaults.toml"
LEDGERS = ROOT / "benchmarks" / "reproduction" / "ledgers"
RECIPES = ("nbsvm", "nb", "knn", "rf", "quick")

# Smaller differences may be those of another processor.
TOL = 0.005

_COMMENT = re.compile(r"<!-- measured at (\w+) by (.+): (.*) -->")
_TOPICS = {
    "battery": "charger plug power cable socket volt adapter hours drain cell",
    "delivery": "parcel courier box late van address door tracking shipped driver",
    "screen": "pixel bright glare display colour scratch panel touch glass contrast",
}
_WORDS = {
    "positive": "great love excellent happy perfect works reliable solid",
    "negative": "terrible hate broken angry useless fails cheap returned",
}


class Change(NamedTuple):
    """Scores of a recipe on the generated texts since its defaults changed."""

    time: datetime
    accuracy: float
    log_loss: float
    reason: str


class Finding(NamedTuple):
    """A table or a ledger that is older than a recipe that it describes."""

    place: str
    measured: str
    reason: str


def make_texts(n_samples: int, seed: int) -> tuple[list[str], list[str]]:
    """Draw short English texts about a topic and with a polarity, some of them negated."""
    rng = np.random.default_rng(seed)
    texts, labels = [], []
    shared = "the a it this my and with for was is very after week order".split()
    for _ in range(n_samples):
        topic, polarity = rng.choice(list(_TOPICS)), rng.choice(list(_WORDS))
        is_negated = rng.random() < 0.3
        other = next(name for name in _WORDS if name != polarity)
        words = [*rng.choice(_TOPICS[topic].split(), 2), *rng.choice(shared, 5)]
        words += rng.choice(" ".join(_TOPICS.values()).split(), 2).tolist()
        rng.shuffle(words)
        end = rng.choice(_WORDS[other if is_negated else polarity].split())
        texts.append(f"{' '.join(words)} {'not ' if is_negated else ''}{end}.")
        labels.append(f"{topic}, {polarity}")
    return texts, labels


def score_recipe(name: str) -> tuple[float, float]:
    """Return accuracy and log loss on the generated texts."""
    texts, labels = make_texts(400, seed=0)
    new_texts, new_labels = make_texts(400, seed=1)
    model = recipes.make(name, random_state=0).fit(texts, labels)
    proba = model.predict_proba(new_texts)
    accuracy = np.mean(model.classes_[proba.argmax(axis=1)] == np.array(new_labels))
    return round(float(accuracy), 4), round(float(log_loss(new_labels, proba)), 4)


def read_changes() -> dict[str, list[Change]]:
    """Return the changes of each recipe, the last one last."""
    stored = tomllib.loads(DEFAULTS.read_text(encoding="utf-8"))
    return {name: [Change(**entry) for entry in entries] for name, entries in stored.items()}


def is_changed(scores: tuple[float, float], last: Change) -> bool:
    """Return whether scores are not those of the last change."""
    return not np.allclose(scores, (last.accuracy, last.log_loss), rtol=0, atol=TOL)


def record(reason: str) -> None:
    """Add the scores of the recipes that have changed."""
    text = DEFAULTS.read_text(encoding="utf-8")
    changes = tomllib.loads(text)
    now = datetime.now(UTC).isoformat(timespec="seconds")
    for name in RECIPES:
        accuracy, loss = score_recipe(name)
        if name not in changes or is_changed((accuracy, loss), Change(**changes[name][-1])):
            print(f"{name}: {accuracy} accuracy, {loss} log loss")
            entry = {"time": now, "accuracy": accuracy, "log_loss": loss}
            lines = [f"{key} = {value}" for key, value in entry.items()]
            text += "\n".join(["", f"[[{name}]]", *lines, f"reason = {json.dumps(reason)}", ""])
    with atomic.write(DEFAULTS, newline="\n") as file:
        file.write(text)


def list_findings(changes: dict[str, list[Change]]) -> Iterator[Finding]:
    """Find what is older than a recipe that it describes."""
    for path in sorted([ROOT / "README.md", *_list_pages()]):
        yield from _check_page(path, changes)
    for path in sorted(LEDGERS.glob("*.jsonl")):
        yield from _check_ledger(path, changes)


def _list_pages() -> Iterator[Path]:
    for folder in (ROOT / "docs", ROOT / "benchmarks" / "notes"):
        yield from folder.rglob("*.md")


def _check_page(path: Path, changes: dict[str, list[Change]]) -> Iterator[Finding]:
    lines = path.read_text(encoding="utf-8").splitlines()
    for number, line in enumerate(lines, 1):
        if match := _COMMENT.match(line):
            commit, command, names = match.groups()
            time = _find_time(commit)
            for name in names.split(", "):
                if name in changes and changes[name][-1].time > time:
                    place = f"{path.relative_to(ROOT)}:{number + 1}"
                    reason = f"{name} changed: {changes[name][-1].reason}"
                    yield Finding(place, f"{commit} by {command}", reason)


def _find_time(commit: str) -> datetime:
    command = ["git", "show", "--no-patch", "--format=%cI", commit]
    shown = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    return datetime.fromisoformat(shown.stdout.strip())


def _check_ledger(path: Path, changes: dict[str, list[Change]]) -> Iterator[Finding]:
    older: Counter[str] = Counter()
    n_trials = 0
    for entry in Ledger(path).records():
        n_trials += 1
        name = entry["trial"].get("recipe")
        if name in changes and datetime.fromisoformat(entry["time"]) < changes[name][-1].time:
            older[name] += 1
    for name, count in older.items():
        reason = f"{name} changed: {changes[name][-1].reason}"
        yield Finding(path.stem, f"{count:,} of {n_trials:,} trials", reason)


def main() -> None:
    parser = argparse.ArgumentParser(description="List results that are older than the defaults.")
    parser.add_argument("--record", metavar="REASON", help="why the defaults have changed")
    options = parser.parse_args()
    if options.record:
        record(options.record)
    findings = list(list_findings(read_changes()))
    for finding in findings:
        print("  ".join(finding))
    print(f"{len(findings)} tables or ledgers are older than the defaults they describe")


if __name__ == "__main__":
    main()
