"""Effects of boolean parameters on the scores of a factorial design, for each data set."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from typing import Any

import numpy as np

from cordwood import recipes
from cordwood.compare.config.schema import LearnerConfig
from cordwood.exceptions import CordwoodError
from reproduction.factorial import FactorialEffects, factorial_effects


def estimate_effects(
    factors: Sequence[str],
    learners: Sequence[LearnerConfig],
    records: Sequence[Mapping[str, Any]],
    metric: str,
) -> dict[str, FactorialEffects]:
    """Estimate the effects of factors on a score, with the test sets as replications.

    Parameters
    ----------
    factors : sequence of str
        Names of boolean parameters.
    learners : sequence of LearnerConfig
        Among them one for each combination of the factors.
    records : sequence of mappings
        Records of the ledger.
    metric : str
        Name of the score.

    Returns
    -------
    dict of str to FactorialEffects
        By data set; data sets without records of the design are left out.
    """
    design = _find_design(factors, learners)
    cells = {name: cell for cell, names in design.items() for name in names}
    scores: dict[str, dict[tuple[int, int], dict[tuple[bool, ...], float]]] = {}
    for record in records:
        trial = record["trial"]
        if trial["learner"] in cells and "scores" in record:
            splits = scores.setdefault(trial["dataset"], {})
            responses_of = splits.setdefault((trial["repeat"], trial["fold"]), {})
            responses_of[cells[trial["learner"]]] = record["scores"][metric]
    effects = {}
    for dataset, splits in scores.items():
        responses = np.full((2,) * len(factors) + (len(splits),), np.nan)
        for replication, responses_of in enumerate(splits.values()):
            for cell, value in responses_of.items():
                responses[(*map(int, cell), replication)] = value
        effects[dataset] = factorial_effects(responses, factors)
    return effects


def check_design(factors: Sequence[str], learners: Sequence[LearnerConfig]) -> Iterator[str]:
    """Yield an error for each combination of the factors without exactly one learner."""
    design = _find_design(factors, learners)
    for cell in product((False, True), repeat=len(factors)):
        names = design.get(cell, [])
        if len(names) != 1:
            combination = ", ".join(
                f"{factor} = {str(on).lower()}" for factor, on in zip(factors, cell, strict=True)
            )
            found = " and ".join(map(repr, names)) or "no learner"
            yield f"exactly one learner must have {combination} in params; found {found}"


def _find_design(
    factors: Sequence[str], learners: Sequence[LearnerConfig]
) -> dict[tuple[bool, ...], list[str]]:
    """List the learners that set all factors, by their combination of values."""
    design: dict[tuple[bool, ...], list[str]] = {}
    for learner in learners:
        if learner.recipe is None:
            continue
        try:
            values = [
                learner.params.get(recipes.full_name(learner.recipe, factor)) for factor in factors
            ]
        except CordwoodError:  # the recipe has no such parameter
            continue
        cell = tuple(value for value in values if isinstance(value, bool))
        if len(cell) == len(factors):
            design.setdefault(cell, []).append(learner.name)
    return design
