"""Material: a data set of a plan, loaded, fingerprinted and divided."""

import os
from dataclasses import dataclass

from cordwood.errors import DataError
from cordwood.experiment.plan import Dataset, Evaluation, Plan
from cordwood.experiment.splits import Split, fingerprint, shrink, split
from cordwood.experiment.units import Unit
from cordwood.text.corpus import Corpus, Matrix

DataDir = str | os.PathLike[str] | None


@dataclass(frozen=True, kw_only=True)
class Material:
    """The rows of a data set, and how a plan divides them.

    Parameters
    ----------
    rows : Corpus or Matrix
        With one label for each row.
    fingerprint : str
        Of all in the rows that a result can depend on.
    evaluation : Evaluation
        The plan's.
    divisions : tuple of Split
        For each fold of each repeat.
    """

    rows: Corpus | Matrix
    fingerprint: str
    evaluation: Evaluation
    divisions: tuple[Split, ...]

    def divide(self, unit: Unit) -> Split:
        """Give the rows that a unit learns from and those that it is asked about."""
        division = self.divisions[unit.repeat * self.evaluation.folds + unit.fold]
        if unit.share == 1:
            return division
        return shrink(self.rows, division, unit.share, unit.seed)


# The one that was last used in this process: units come data set by data set.
_at_hand: dict[tuple[str, str, int], Material] = {}


def load(dataset: Dataset, plan: Plan, data_dir: DataDir) -> Material:
    """Load a data set as it is now, and keep it at hand in the place of the last one.

    Raises
    ------
    DataError
        If it cannot be loaded, or cannot be divided as the plan wants; it names the data set.
    """
    rows = dataset.load(data_dir=data_dir)
    try:
        divisions = tuple(split(rows, plan.evaluation, plan.seed))
    except DataError as error:
        raise DataError(f"data set {dataset.name!r}: {error}") from error
    material = Material(
        rows=rows,
        fingerprint=fingerprint(rows, plan.evaluation),
        evaluation=plan.evaluation,
        divisions=divisions,
    )
    put_away()
    _at_hand[_place(material.fingerprint, plan)] = material
    return material


def fetch(dataset: Dataset, plan: Plan, data_dir: DataDir, expected: str) -> Material:
    """Give a data set that is known by its fingerprint, loading it if it is not at hand.

    Raises
    ------
    DataError
        If it is no longer the same.
    """
    material = _at_hand.get(_place(expected, plan)) or load(dataset, plan, data_dir)
    if material.fingerprint != expected:
        raise DataError(
            f"data set {dataset.name!r} has changed while the plan was under way; run it again"
        )
    return material


def put_away() -> None:
    """Give back the memory of the data set at hand."""
    _at_hand.clear()


def _place(fingerprint: str, plan: Plan) -> tuple[str, str, int]:
    return fingerprint, plan.evaluation.model_dump_json(), plan.seed
