"""A trial: one unit of a plan carried out, from rows to scores and predictions.

What comes out follows from the rows, the unit and the seed alone, but for times and memory: every
library works in one thread, so that neither other work nor the machine has a say in it.
"""

import re
import warnings
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.pipeline import Pipeline
from threadpoolctl import threadpool_limits

from cordwood import recipes
from cordwood.errors import CordwoodError
from cordwood.experiment.effort import PeakMemory, timed
from cordwood.experiment.parts import Evaluation
from cordwood.experiment.splits import Split, split
from cordwood.experiment.tuning import (
    Build,
    Choice,
    choose_by_folds,
    choose_by_own_votes,
    resolve_kind,
)
from cordwood.experiment.units import Unit
from cordwood.text.corpus import Corpus, Matrix
from cordwood.workflow import predict, score

_N_WARM_UP = 200  # rows
_warm: set[tuple[str, type]] = set()

# Of no concern to a result.
_OF_NO_CONCERN = (DeprecationWarning, PendingDeprecationWarning, FutureWarning, ResourceWarning)

_ABSOLUTE_PATH = re.compile(r"(?<![\w.:/\\])(?:[A-Za-z]:)?[/\\](?:[^\s'\"/\\:]+[/\\])+[^\s'\":,;]*")


class Trial(NamedTuple):
    """What a unit came to.

    Parameters
    ----------
    outcome : dict
        The fields of a record that tell of it; see `cordwood.experiment.run`. With `error` alone
        if it failed.
    predictions : dict of str to ndarray
        `rows` (positions of the test rows in the data), `codes` (the chosen class of each),
        `votes` (its probabilities, in single precision) and `classes`; empty if it failed.
    """

    outcome: dict[str, Any]
    predictions: dict[str, NDArray[Any]]


def carry_out(unit: Unit, rows: Corpus | Matrix, division: Split, seed: int) -> Trial:
    """Tune, fit, predict and score, and measure what it takes.

    Parameters
    ----------
    unit : Unit
        What to do.
    rows : Corpus or Matrix
        The whole data set.
    division : Split
        The rows to learn from and those to ask about.
    seed : int
        Of all learners.

    Returns
    -------
    Trial
        Also if a learner fails: the trial then tells why.
    """
    with warnings.catch_warnings(record=True) as caught, threadpool_limits(1):
        warnings.simplefilter("default")
        for category in _OF_NO_CONCERN:
            warnings.simplefilter("ignore", category)
        try:
            outcome, predictions = _attempt(unit, rows, division, seed)
        except Exception as error:  # whatever a learner raises is a result of the comparison
            return Trial({"error": _describe(error)}, {})
    told = sorted({_describe(warning.message) for warning in caught})
    return Trial({**outcome, "warnings": told}, predictions)


def _attempt(unit: Unit, rows: Corpus | Matrix, division: Split, seed: int) -> Trial:
    learnt, asked = rows.select(division.train), rows.select(division.test)
    build = _builder(unit, rows, seed)
    _warm_up(unit.recipe, build, learnt)
    memory = PeakMemory()
    with timed() as tuning:
        choice = _tune(unit, build, learnt)
    model = build(choice.params)
    with timed() as fitting:
        model.fit(_content(learnt), np.asarray(learnt.labels))
    with timed() as predicting:
        predicted = predict(model, asked)
    peak = memory.read()
    parts = {"tune": tuning, "fit": fitting, "predict": predicting}
    scores = score(list(asked.labels or ()), predicted.labels.tolist(), predicted.classes.tolist())
    outcome = {
        "scores": {"micro_f1": scores.micro_f1, "macro_f1": scores.macro_f1},
        "params": choice.params,
        "tuning_score": choice.score,
        "tuned_by": choice.kind,
        **{f"{name}_cpu_seconds": round(part.cpu, 6) for name, part in parts.items()},
        **{f"{name}_wall_seconds": round(part.wall, 6) for name, part in parts.items()},
        "peak_memory": peak,
        "n_train": len(learnt),
        "n_test": len(asked),
    }
    predictions: dict[str, NDArray[Any]] = {
        "rows": division.test,
        "codes": np.searchsorted(predicted.classes, predicted.labels).astype(np.int32),
        "votes": predicted.probabilities.astype(np.float32),
        "classes": predicted.classes,
    }
    return Trial(outcome, predictions)


def _builder(unit: Unit, rows: Corpus | Matrix, seed: int) -> Build:
    given = {
        param: value
        for param, value in unit.params.items()
        if param.rpartition("__")[2] != "n_jobs"
    }
    words = isinstance(rows, Corpus)
    # As `workflow.train` has it: sparse rows are comparable as they are.
    scale = isinstance(rows, Matrix) and not sp.issparse(rows.X)

    def build(params: Mapping[str, Any]) -> Pipeline:
        return recipes.make(
            unit.recipe,
            words=words,
            scale=scale,
            text=unit.text,
            seed=seed,
            n_jobs=1,
            **{**given, **params},
        )

    return build


def _warm_up(recipe: str, build: Build, learnt: Corpus | Matrix) -> None:
    """Let a recipe work on a few rows, once in a process, so that nobody measures compilation."""
    if (recipe, type(learnt)) in _warm:
        return
    _warm.add((recipe, type(learnt)))
    few = learnt.select(np.linspace(0, len(learnt) - 1, min(len(learnt), _N_WARM_UP), dtype=int))
    with suppress(Exception):  # what is wrong here will be wrong with all the rows, or is not
        predict(build({}).fit(_content(few), np.asarray(few.labels)), few)


def _tune(unit: Unit, build: Build, learnt: Corpus | Matrix) -> Choice:
    if not unit.grid:
        return Choice({}, None, None)
    metric = unit.tuning["metric"]
    grouped = unit.evaluation["kind"] == "grouped"
    kind = resolve_kind(unit.tuning["kind"], build, unit.grid, grouped=grouped)
    if kind != "cv":
        return choose_by_own_votes(kind, build, unit.grid, learnt, metric)
    inner = Evaluation(kind="grouped" if grouped else "stratified", folds=unit.tuning["folds"])
    return choose_by_folds(build, unit.grid, learnt, split(learnt, inner, unit.seed), metric)


def _content(rows: Corpus | Matrix) -> Any:
    return rows.texts if isinstance(rows, Corpus) else rows.X


def _describe(error: BaseException | Warning | str) -> str:
    """Say it in one line, which holds no place on this machine."""
    kind = [] if isinstance(error, CordwoodError | str) else [type(error).__name__]
    message = str(error).strip().splitlines()[:1]
    return ": ".join([*kind, *(_ABSOLUTE_PATH.sub("<path>", line) for line in message)])
