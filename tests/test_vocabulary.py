"""The code base uses the standard terms of machine learning: one concept, one name."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]

# Pattern of a word that the code base does not use: the term to use instead.
WORDS = {
    r"n_(docs|rows|documents)": "n_samples",
    r'(?<!")answer(s|ed|ing)?': "prediction, predict",
    r"asked|asks": "requested, given, query",
    r"learnt": "fitted, trained, training data",
    r"whom|whoever|lest": "(rewrite the sentence)",
    r"(?<!vector )(?<!vector_)machines?(?! learning| code|-readable)": "classifier, computer",
    r"runs? of (words|characters)": "n-gram",
    r"cuts?|random_cut": "split, threshold",
    r"peel(s|ed)?": "sparse side of a split",
    r"twins?|are_twins": "duplicate",
    r"census": "leaf statistics",
    r"turned rows?|turn_rows": "row blocks, transposed",
    r"courses?": "boosting state, boosting run",
    r"n_chains|chains": "cross-fitted boosting runs, cross_fit",
    r"own_rows|own rows": "out-of-fold predictions",
    r"honest(ly|y)?": "unbiased, out-of-fold",
    r"seats?|seated": "shared steps",
    r"remember(s|ed)?": "cache",
    r"dear|dearer": "costly, higher cost",
    r"programmes?": "linear program",
    r"complain(s|ed|ts?)?": "raise, error message",
    r"refuse[sd]?|refusal": "reject, raise",
    r"tells?(?!\()|told|telling": "report, return, show",
    r"says|said|saying": "state, print, return",
    r"stairs?|rooms?|houses?|doors?|dress(es)?": "layer, package, entry point, format",
    r"strangers?": "untrusted source",
    r"hopeless": "pruned",
    r"anew|whither|thereof": "again, (rewrite the sentence)",
    r"in the place of|of other hands|as it were": "instead of, (rewrite the sentence)",
    r"slopes?(?<!log-log slope)": "temperature, coefficient",
    r"verbs?": "function, command",
    r"neighbour(s|hoods?)?|colours?|favour\w*|behaviours?|centred?": "American spelling",
    r"(normal|general|optim|summar|initial|recogn|penal|real|organ)is(e|ed|es|ing|ation)": (
        "American spelling"
    ),
}
PATTERNS = {
    re.compile(rf"(?<![A-Za-z])({word})(?![A-Za-z])", re.I): use for word, use in WORDS.items()
}


def list_files():
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    if listed.returncode:
        pytest.skip("not a git checkout")
    suffixes = {".py", ".md", ".toml"}
    tops = ("src/", "docs/", "tests/", "examples/", "README.md", "CONTRIBUTING.md")
    return [
        name
        for name in listed.stdout.splitlines()
        if name.startswith(tops) and Path(name).suffix in suffixes and (ROOT / name).exists()
    ]


def read_checked_text(name):
    """Return the lines that are checked: of a test module, only the names of its functions."""
    text = (ROOT / name).read_text(encoding="utf-8")
    if name.startswith("tests/"):
        return [line if re.match(r"\s*def ", line) else "" for line in text.splitlines()]
    return text.splitlines()


@pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
def test_code_uses_the_terms_of_the_field():
    found = [
        f"{name}:{number}: {match[1]!r}: use {use}"
        for name in list_files()
        for number, line in enumerate(read_checked_text(name), 1)
        for pattern, use in PATTERNS.items()
        for match in pattern.finditer(line)
    ]
    assert not found, "\n".join(["", *found])
