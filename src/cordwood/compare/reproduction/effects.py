"""Effects: what each switch of a plan's learners does, on each of its data sets."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from typing import Any

import numpy as np

from cordwood import recipes
from cordwood.compare.config.schema import Learner
from cordwood.compare.reproduction.factorial import FactorialEffects, factorial_effects
from cordwood.exceptions import CordwoodError


def find_effects(
    factors: Sequence[str],
    learners: Sequence[Learner],
    records: Sequence[Mapping[str, Any]],
    metric: str,
) -> dict[str, FactorialEffects]:
    """Take the scores of a factorial design apart, each test part being a replication.

    Parameters
    ----------
    factors : sequence of str
        Names of parameters that are True or False.
    learners : sequence of Learner
        Among them one for each combination of the factors.
    records : sequence of mappings
        Of the ledger.
    metric : str
        Which scores.

    Returns
    -------
    dict of str to FactorialEffects
        By data set; without those that have nothing of the design.
    """
    cells = {name: cell for cell, names in _find_cells(factors, learners).items() for name in names}
    scores: dict[str, dict[tuple[int, int], dict[tuple[bool, ...], float]]] = {}
    for record in records:
        unit = record["unit"]
        if unit["learner"] in cells and "scores" in record:
            parts = scores.setdefault(unit["dataset"], {})
            part = parts.setdefault((unit["repeat"], unit["fold"]), {})
            part[cells[unit["learner"]]] = record["scores"][metric]
    found = {}
    for dataset, parts in scores.items():
        responses = np.full((2,) * len(factors) + (len(parts),), np.nan)
        for number, part in enumerate(parts.values()):
            for cell, value in part.items():
                responses[(*map(int, cell), number)] = value
        found[dataset] = factorial_effects(responses, factors)
    return found


def find_gaps(factors: Sequence[str], learners: Sequence[Learner]) -> Iterator[str]:
    """Yield a sentence for each combination that has no learner, or several."""
    cells = _find_cells(factors, learners)
    for cell in product((False, True), repeat=len(factors)):
        names = cells.get(cell, [])
        if len(names) != 1:
            wanted = ", ".join(
                f"{factor} = {str(on).lower()}" for factor, on in zip(factors, cell, strict=True)
            )
            yield (
                f"factors: {' and '.join(map(repr, names)) or 'no learner'} "
                f"{'have' if names else 'has'} {wanted} in params; one must"
            )


def _find_cells(
    factors: Sequence[str], learners: Sequence[Learner]
) -> dict[tuple[bool, ...], list[str]]:
    """Find the learners that say of all factors whether they are on."""
    cells: dict[tuple[bool, ...], list[str]] = {}
    for learner in learners:
        try:
            values = [
                learner.params.get(recipes.full_name(learner.recipe, factor)) for factor in factors
            ]
        except CordwoodError:  # its recipe has no such parameter
            continue
        cell = tuple(value for value in values if isinstance(value, bool))
        if len(cell) == len(factors):
            cells.setdefault(cell, []).append(learner.name)
    return cells
