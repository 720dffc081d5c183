"""A trial: one unit of a plan carried out, from rows to scores and predictions.

What comes out follows from the rows, the unit and the seed alone, but for times and memory: every
library works in one thread, so that neither other work nor the machine has a say in it.
"""

import re
import warnings
from collections.abc import Mapping
from contextlib import suppress
from itertools import islice
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import has_fit_parameter
from threadpoolctl import threadpool_limits

from cordwood import recipes
from cordwood.api import predict, score
from cordwood.compare.config.schema import Evaluation
from cordwood.compare.runner.cv_splits import Split, split
from cordwood.compare.runner.fit_cache import MEMBERS
from cordwood.compare.runner.resources import PeakMemory, timed
from cordwood.compare.runner.thresholds import category_scores, take_votes
from cordwood.compare.runner.transform_cache import content, prepare
from cordwood.compare.runner.trials import Unit
from cordwood.compare.runner.tuning import (
    Aim,
    Build,
    Choice,
    choose_by_folds,
    choose_by_own_votes,
    choose_by_test,
    resolve_kind,
    sample_rows,
)
from cordwood.datasets.corpus import Corpus, FeatureMatrix
from cordwood.exceptions import CordwoodError

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
        The fields of a record that tell of it; see `cordwood.compare.runner.run`. With `error` alone
        if it failed.
    predictions : dict of str to ndarray
        `rows` (positions of the test rows in the data), `codes` (the chosen class of each),
        `votes` (its probabilities, in single precision) and `classes`; empty if it failed.
    """

    outcome: dict[str, Any]
    predictions: dict[str, NDArray[Any]]


def carry_out(unit: Unit, rows: Corpus | FeatureMatrix, division: Split, seed: int) -> Trial:
    """Tune, fit, predict and score, and measure what it takes.

    Parameters
    ----------
    unit : Unit
        What to do.
    rows : Corpus or FeatureMatrix
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


def _attempt(unit: Unit, rows: Corpus | FeatureMatrix, division: Split, seed: int) -> Trial:
    learnt, asked = rows.select(division.train), rows.select(division.test)
    build = _builder(unit, rows, seed)
    _warm_up(unit.recipe, build, learnt)
    memory = PeakMemory()
    with timed() as tuning:
        choice = _tune(unit, build, learnt, asked)
    pipeline = build(choice.params)
    prepared = prepare(pipeline, learnt, asked)
    classifier = pipeline[-1]
    if recipes.find(unit.recipe).members:
        classifier.set_params(memory=MEMBERS)
        MEMBERS.turn_to((unit.dataset, unit.repeat, unit.fold, unit.share, unit.positives))
    with timed() as fitting, MEMBERS.saving() as saved_in_fitting:
        classifier.fit(
            prepared.X, np.asarray(learnt.labels), **_find_groups(unit, classifier, learnt)
        )
    with timed() as predicting, MEMBERS.saving() as saved_in_predicting:
        votes = classifier.predict_proba(prepared.X_asked)
    peak = memory.read()
    classes = np.asarray(classifier.classes_)
    codes = _decide(votes, classes, unit.category, choice.threshold)
    times = {
        "tune": (tuning,),
        "fit": (prepared.fitting, fitting, saved_in_fitting),
        "predict": (prepared.applying, predicting, saved_in_predicting),
    }
    outcome = {
        "scores": _score(asked.labels, classes[codes], classes, unit.category),
        "params": choice.params,
        "tuning_score": choice.score,
        "tuned_by": choice.kind,
        **({} if choice.threshold is None else {"threshold": choice.threshold}),
        **{f"{part}_cpu_seconds": round(sum(t.cpu for t in times[part]), 6) for part in times},
        **{f"{part}_wall_seconds": round(sum(t.wall for t in times[part]), 6) for part in times},
        "peak_memory": peak,
        "n_train": len(learnt),
        "n_test": len(asked),
        **_tell_rules(classifier),
        **_score_rounds(unit, classifier, (prepared.X, learnt), (prepared.X_asked, asked)),
    }
    predictions: dict[str, NDArray[Any]] = {
        "rows": division.test,
        "codes": codes.astype(np.int32),
        "votes": votes.astype(np.float32),
        "classes": classes,
    }
    return Trial(outcome, predictions)


def _find_groups(unit: Unit, classifier: Any, learnt: Corpus | FeatureMatrix) -> dict[str, Any]:
    """Give groups to a learner that keeps them together, where the evaluation does."""
    if unit.evaluation["kind"] == "grouped" and has_fit_parameter(classifier, "groups"):
        return {"groups": learnt.groups}
    return {}


def _decide(
    votes: NDArray[Any], classes: NDArray[Any], category: str | None, threshold: float | None
) -> NDArray[np.intp]:
    """Give the code of the most voted class, or of the category where it is above a threshold."""
    if threshold is None:
        return np.asarray(np.argmax(votes, axis=1))
    is_category = classes == category
    found = take_votes(votes, classes, category) > threshold
    return np.where(found, np.argmax(is_category), np.argmin(is_category))


def _score(
    labels: Any, predicted: NDArray[Any], classes: NDArray[Any], category: str | None
) -> dict[str, float]:
    scores = score(list(labels), predicted.tolist(), classes.tolist())
    found = {"micro_f1": scores.micro_f1, "macro_f1": scores.macro_f1}
    if category is None:
        return found
    of_category = category_scores(np.asarray(labels) == category, predicted == category)
    return {**found, **of_category._asdict()}


def _tell_rules(classifier: Any) -> dict[str, int]:
    """Count the words that rules are about, for learners that have rules."""
    if not hasattr(classifier, "rules_"):
        return {}
    return {"n_words": len({rule.feature for rules in classifier.rules_ for rule in rules})}


def _score_rounds(
    unit: Unit, classifier: Any, *parts: tuple[Any, Corpus | FeatureMatrix]
) -> dict[str, Any]:
    """Score training and test rows after some rounds and after the last, where a learner can."""
    wanted = unit.evaluation.get("rounds", ())
    if not wanted or not hasattr(classifier, "staged_predict"):
        return {}
    classes = np.asarray(classifier.classes_)
    told: dict[str, Any] = {}
    for name, (X, rows) in zip(("train", "test"), parts, strict=True):
        stages: dict[int, dict[str, float]] = {}
        predicted, n = classes, 0
        for n, predicted in enumerate(islice(classifier.staged_predict(X), wanted[-1]), start=1):
            if n in wanted:
                stages[n] = _score(rows.labels, predicted, classes, unit.category)
        if n not in stages:
            stages[n] = _score(rows.labels, predicted, classes, unit.category)
        told["n"] = list(stages)
        told[name] = {
            metric: [scores[metric] for scores in stages.values()] for metric in stages[n]
        }
    return {"rounds": told}


def _builder(unit: Unit, rows: Corpus | FeatureMatrix, seed: int) -> Build:
    given = {
        param: value
        for param, value in unit.params.items()
        if param.rpartition("__")[2] != "n_jobs"
    }
    input_type: recipes.InputType = "text" if isinstance(rows, Corpus) else "numeric"
    # Of the plan, where it is that of members as well, which stacks can only share if they draw
    # alike.
    seed = unit.seed if recipes.find(unit.recipe).members else seed
    # As `workflow.train` has it: sparse rows are comparable as they are.
    scale = isinstance(rows, FeatureMatrix) and not sp.issparse(rows.X)

    def build(params: Mapping[str, Any]) -> Pipeline:
        return recipes.make(
            unit.recipe,
            input=input_type,
            scale=scale,
            vectorizer_params=unit.text,
            random_state=seed,
            n_jobs=1,
            **{**given, **params},
        )

    return build


def _warm_up(recipe: str, build: Build, learnt: Corpus | FeatureMatrix) -> None:
    """Let a recipe work on a few rows, once in a process, so that nobody measures compilation."""
    if (recipe, type(learnt)) in _warm:
        return
    _warm.add((recipe, type(learnt)))
    few = learnt.select(np.linspace(0, len(learnt) - 1, min(len(learnt), _N_WARM_UP), dtype=int))
    with suppress(Exception):  # what is wrong here will be wrong with all the rows, or is not
        predict(build({}).fit(content(few), np.asarray(few.labels)), few)


def _tune(
    unit: Unit, build: Build, learnt: Corpus | FeatureMatrix, asked: Corpus | FeatureMatrix
) -> Choice:
    if not unit.tuning:
        return Choice({}, None, None)
    aim = Aim(unit.tuning["metric"], unit.category, unit.tuning.get("threshold", False))
    if unit.tuning["kind"] == "test":
        return choose_by_test(build, unit.grid, learnt, asked, aim)
    grouped = unit.evaluation["kind"] == "grouped"
    kind = resolve_kind(unit.tuning["kind"], build, unit.grid, grouped=grouped)
    if kind != "cv":
        n_most = unit.tuning.get("sample") if kind == "loo" else None
        sample = sample_rows(learnt, n_most, unit.seed)
        return choose_by_own_votes(kind, build, unit.grid, learnt, aim, sample, grouped=grouped)
    inner = Evaluation(kind="grouped" if grouped else "stratified", folds=unit.tuning["folds"])
    return choose_by_folds(build, unit.grid, learnt, split(learnt, inner, unit.seed), aim)


def _describe(error: BaseException | Warning | str) -> str:
    """Say it in one line, which holds no place on this machine."""
    kind = [] if isinstance(error, CordwoodError | str) else [type(error).__name__]
    message = str(error).strip().splitlines()[:1]
    return ": ".join([*kind, *(_ABSOLUTE_PATH.sub("<path>", line) for line in message)])
