"""The page of claims: what the papers claim and what was found, as Markdown."""

import re
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import get_args

from cordwood.exceptions import CordwoodError
from reproduction.claim_figures import Figures
from reproduction.claims import ClaimTable, Paper, Verdict, load_paper
from reproduction.results_page import Section

_VERDICTS: tuple[str, ...] = get_args(Verdict)


def make_claims_page(head: str, folder: str | Path, sections: Sequence[Section]) -> str:
    """Generate the page of claims.

    Parameters
    ----------
    head : str
        Markdown at the top.
    folder : path
        Folder with ``claims/PAPER.toml`` and ``figures/NAME.json``.
    sections : sequence of Section
        Plans and their results, from `reproduction.results_page.make_page`.

    Returns
    -------
    str
        Markdown.

    Raises
    ------
    CordwoodError
        If a file of claims is invalid, or a figure has no results; it names the file and the claim.
    """
    folder = Path(folder)
    figures = Figures(sections, folder / "figures")
    paths = sorted((folder / "claims").glob("*.toml"))
    papers = [load_paper(path) for path in paths]
    blocks = [head.strip(), _format_overview(papers)]
    for path, paper in zip(paths, papers, strict=True):
        blocks.append(_format_paper(paper, figures, str(path)))
    return "\n\n".join(blocks) + "\n"


def _format_overview(papers: Sequence[Paper]) -> str:
    rows = []
    for paper in papers:
        counts = [sum(claim.verdict == name for claim in paper.claims) for name in _VERDICTS]
        rows.append([paper.title, *map(str, [len(paper.claims), *counts])])
    return _format_table(["paper", "claims", *_VERDICTS], rows, n_text_columns=1)


def _format_paper(paper: Paper, figures: Figures, file: str) -> str:
    rows = []
    for number, claim in enumerate(paper.claims, start=1):
        fill = partial(_fill, paper=paper, figures=figures, where=f"{file}, claim {number}")
        verdict = f"**{claim.verdict}**"
        rows.append([claim.place, claim.claim, fill(claim.found), verdict, fill(claim.why)])
    header = ["place", "claim", "what we found", "verdict", "why"]
    blocks = [f"## {paper.title}", paper.source, _format_table(header, rows, n_text_columns=5)]
    for number, table in enumerate(paper.tables, start=1):
        fill = partial(_fill, paper=paper, figures=figures, where=f"{file}, table {number}")
        blocks.append(_format_claim_table(table, fill))
    return "\n\n".join(blocks)


def _format_claim_table(table: ClaimTable, fill: Callable[[str], str]) -> str:
    rows = [[fill(cell.replace("{item}", item)) for cell in table.row] for item in table.items]
    grid = _format_table(table.header, rows, n_text_columns=1)
    return "\n\n".join([f"### {table.title}", fill(table.text), grid])


def _fill(text: str, *, paper: Paper, figures: Figures, where: str) -> str:
    """Replace the expressions of a text by figures."""
    try:
        return re.sub(r"\{([^{}]*)\}", lambda match: figures.format(match[1], paper.lists), text)
    except CordwoodError as error:
        raise CordwoodError(f"{where}: {error}") from error


def _format_table(header: Sequence[str], rows: Sequence[Sequence[str]], n_text_columns: int) -> str:
    alignment = ["|:--"] * n_text_columns + ["|--:"] * (len(header) - n_text_columns)
    lines = [["", *header, ""], *(["", *row, ""] for row in rows)]
    formatted = [" | ".join(" ".join(cell.split()) for cell in line).strip() for line in lines]
    return "\n".join([formatted[0], "".join(alignment) + "|", *formatted[1:]])
