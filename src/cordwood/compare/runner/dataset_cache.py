"""Material: a data set of a plan, loaded, fingerprinted and divided."""

import os
from dataclasses import dataclass

from cordwood.compare.config.plan import Plan
from cordwood.compare.config.schema import Dataset, Evaluation
from cordwood.compare.runner.cv_splits import Split, discard, fingerprint, shrink, split
from cordwood.compare.runner.fit_cache import MEMBERS
from cordwood.compare.runner.transform_cache import forget
from cordwood.compare.runner.trials import Trial
from cordwood.datasets.corpus import Corpus, FeatureMatrix
from cordwood.exceptions import DataError

DataDir = str | os.PathLike[str] | None

# Names material: the fingerprint of its rows, the evaluation as JSON, the seed.
Name = tuple[str, str, int]


@dataclass(frozen=True, kw_only=True)
class Material:
    """The rows of a data set, and how a plan divides them.

    Parameters
    ----------
    rows : Corpus or FeatureMatrix
        With one label for each row.
    fingerprint : str
        Of all in the rows that a result can depend on.
    evaluation : Evaluation
        The plan's.
    seed : int
        The plan's.
    divisions : tuple of Split
        For each fold of each repeat.
    """

    rows: Corpus | FeatureMatrix
    fingerprint: str
    evaluation: Evaluation
    seed: int
    divisions: tuple[Split, ...]

    @property
    def name(self) -> Name:
        """What tells it from all other material, on every machine."""
        return _name(self.fingerprint, self.evaluation, self.seed)

    def divide(self, trial: Trial) -> Split:
        """Give the rows that a unit learns from and those that it is asked about."""
        division = self.divisions[trial.repeat * self.evaluation.folds + trial.fold]
        if trial.category is not None and trial.max_positives is not None:
            kept = trial.max_positives
            return discard(self.rows, division, trial.category, kept, trial.repeat, trial.seed)
        if trial.train_fraction == 1:
            return division
        return shrink(self.rows, division, trial.train_fraction, trial.seed)


# The one that was last used in this process: units come data set by data set.
_at_hand: dict[Name, Material] = {}


def load(dataset: Dataset, plan: Plan, data_dir: DataDir) -> Material:
    """Load a data set as it is now, and keep it at hand in the place of the last one.

    Raises
    ------
    DataError
        If it cannot be loaded, or cannot be divided as the plan wants; it names the data set.
    """
    try:
        rows = dataset.load(data_dir=data_dir)
        divisions = tuple(split(rows, plan.evaluation, plan.seed))
    except DataError as error:
        raise DataError(f"data set {dataset.name!r}: {error}") from error
    material = Material(
        rows=rows,
        fingerprint=fingerprint(rows, plan.evaluation),
        evaluation=plan.evaluation,
        seed=plan.seed,
        divisions=divisions,
    )
    keep(material)
    return material


def fetch(dataset: Dataset, plan: Plan, data_dir: DataDir, expected: str) -> Material:
    """Give a data set that is known by its fingerprint, loading it if it is not at hand.

    Raises
    ------
    DataError
        If it is no longer the same.
    """
    material = find(_name(expected, plan.evaluation, plan.seed)) or load(dataset, plan, data_dir)
    if material.fingerprint != expected:
        raise DataError(
            f"data set {dataset.name!r} has changed while the plan was under way; run it again"
        )
    return material


def keep(material: Material) -> None:
    """Keep material at hand, in the place of what was there."""
    put_away()
    _at_hand[material.name] = material


def find(name: Name) -> Material | None:
    """Give the material of this name if it is at hand."""
    return _at_hand.get(name)


def put_away() -> None:
    """Give back the memory of the data set at hand, and of all that was made of it."""
    _at_hand.clear()
    forget()
    MEMBERS.turn_to(None)


def _name(fingerprint: str, evaluation: Evaluation, seed: int) -> Name:
    return fingerprint, evaluation.model_dump_json(), seed
