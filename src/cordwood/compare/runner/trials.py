"""Units: the smallest pieces of a comparison, each one learner on one division of one data set.

A unit says all that decides its result but the data themselves, and is plain JSON.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Self

from cordwood import recipes
from cordwood.compare.config.plan import Plan
from cordwood.compare.config.schema import Dataset, Learner

# Part of every key: raised when the same unit would come to another result by a changed rule.
_SCHEME = 1

_LABELS = ("dataset", "learner")

# Defaults that recipes once had, and those that they have. Keys are of the time of the former:
# they leave it out where it is given, and tell the present one where none is, so that records of
# both stay what they are.
_FORMER_DEFAULTS = {
    ("boosted_rf", "classifier__update"): ("aggregate", "majority"),
    ("boosted_et", "classifier__update"): ("aggregate", "majority"),
    ("quick", "classifier__cv"): (5, 3),
}
# Told where they are set only, so that units which are older than they are keep their keys.
_TOLD_IF_SET = ("category", "positives")


@dataclass(frozen=True, kw_only=True)
class Unit:
    """One learner on one division of one data set into training and test rows.

    Parameters
    ----------
    dataset, learner : str
        Labels, by which the plan knows them.
    repeat, fold : int
        Which division, both from 0; see `cordwood.compare.runner.cv_splits.split`.
    share : float
        Share of the training rows that is learnt from.
    recipe : str
        Name of the recipe.
    params : dict
        Parameters for `cordwood.recipes.make`, by their full names; those of words are left out
        for rows of numbers.
    grid : dict of str to list
        Values to choose among, likewise; empty where nothing is tuned.
    text : dict
        Parameters of `TextVectorizer`, for `cordwood.recipes.make`; empty for rows of numbers and
        for recipes that prepare text in a way of their own.
    evaluation : dict
        `kind`, `folds` and `test_share` of the plan's evaluation, and `rounds` if there are any.
    tuning : dict
        `kind` and `folds` of the plan's tuning, and the `metric`, `threshold` if it is true, and
        `sample` if there is one; empty where nothing is tuned.
    seed : int
        The plan's.
    category : str, optional
        The class whose own F1 is scored, if the data set has one.
    positives : int, optional
        How many training rows of the category are learnt from at most.

    Examples
    --------
    >>> from cordwood.compare.config.plan import parse_plan
    >>> plan = parse_plan(
    ...     {"datasets": [{"name": "docstrings"}], "learners": [{"recipe": "svm"}]}
    ... )
    >>> unit = expand(plan)[0]
    >>> unit.dataset, unit.learner, unit.repeat, unit.fold, unit.share
    ('docstrings', 'svm', 0, 0, 1.0)
    >>> Unit.from_json(unit.to_json()) == unit
    True
    """

    dataset: str
    learner: str
    repeat: int
    fold: int
    share: float
    recipe: str
    params: dict[str, Any]
    grid: dict[str, list[Any]]
    text: dict[str, Any]
    evaluation: dict[str, Any]
    tuning: dict[str, Any]
    seed: int
    category: str | None = None
    positives: int | None = None

    def to_json(self) -> dict[str, Any]:
        """Give all fields as plain JSON, without the optional ones that are not set."""
        fields = asdict(self)
        return {k: v for k, v in fields.items() if k not in _TOLD_IF_SET or v is not None}

    @classmethod
    def from_json(cls, fields: Mapping[str, Any]) -> Self:
        """Make the unit that `to_json` described."""
        return cls(**fields)


def expand(plan: Plan) -> tuple[Unit, ...]:
    """List the units of a plan.

    All learners meet a division of the data before the next division has its turn, so that a
    comparison which is stopped half-way is still a fair one.

    Parameters
    ----------
    plan : Plan

    Returns
    -------
    tuple of Unit
        By data set, repeat, fold, share or number of positives, and learner.
    """
    evaluation = plan.evaluation
    return tuple(
        _make_unit(plan, dataset, learner, repeat, fold, share, positives)
        for dataset in plan.datasets
        for repeat in range(evaluation.repeats)
        for fold in range(evaluation.folds)
        for share in evaluation.shares
        for positives in evaluation.positives or (None,)
        for learner in plan.learners
    )


def key(unit: Unit, fingerprint: str) -> str:
    """Name the result of a unit on certain data.

    Labels and `n_jobs` leave the key alone, and so does what the unit does not use: how many
    repeats or shares the plan has, or the metric of tuning where nothing is tuned.

    Parameters
    ----------
    unit : Unit
    fingerprint : str
        Of the data, from `cordwood.compare.runner.cv_splits.fingerprint`, which knows of groups and of
        official splits where they matter.

    Returns
    -------
    str
        64 hexadecimal digits.
    """
    content = {name: value for name, value in unit.to_json().items() if name not in _LABELS}
    for name in ("params", "grid"):
        content[name] = {
            param: value
            for param, value in content[name].items()
            if param.rpartition("__")[2] != "n_jobs"
        }
    _tell_former_defaults(unit.recipe, content["params"], content["grid"])
    content.update(data=fingerprint, scheme=_SCHEME)
    canonical = json.dumps(content, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(canonical.encode()).hexdigest()


def _tell_former_defaults(recipe: str, params: dict[str, Any], grid: dict[str, Any]) -> None:
    for (name, param), (former, present) in _FORMER_DEFAULTS.items():
        if name != recipe or param in grid:
            continue
        if params.setdefault(param, present) == former:
            del params[param]


def _make_unit(
    plan: Plan,
    dataset: Dataset,
    learner: Learner,
    repeat: int,
    fold: int,
    share: float,
    positives: int | None,
) -> Unit:
    recipe = recipes.find(learner.recipe)
    numeric = dataset.kind == "numeric"
    grid = _fitting({**learner.grid, **(learner.numeric_grid if numeric else {})}, numeric)
    tuned = bool(grid) or plan.tuning.threshold
    return Unit(
        dataset=dataset.name,
        learner=learner.name,
        repeat=repeat,
        fold=fold,
        share=float(share),
        recipe=learner.recipe,
        params=_fitting(learner.params, numeric),
        grid=grid,
        text=dict(dataset.text) if recipe.vectorizer is None else {},
        evaluation=plan.evaluation.model_dump(
            mode="json", include={"kind", "folds", "test_share", "rounds"}
        ),
        tuning={**plan.tuning.model_dump(), "metric": plan.metric} if tuned else {},
        seed=plan.seed,
        category=dataset.category,
        positives=positives,
    )


def _fitting(params: Mapping[str, Any], numeric: bool) -> dict[str, Any]:
    """Leave out the parameters of words where there are none."""
    return {
        param: value
        for param, value in params.items()
        if not numeric or "vectorizer" not in param.split("__")[:-1]
    }
