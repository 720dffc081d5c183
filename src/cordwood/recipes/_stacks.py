"""Pipelines of stacks, and of calibrated recipes, which are stacks of one member."""

from typing import Any
from zlib import crc32

from sklearn.pipeline import Pipeline

from cordwood.exceptions import CordwoodError
from cordwood.recipes._names import (
    COLUMNS,
    COLUMNS_RECIPE,
    EMBEDDINGS,
    LEXICON,
    ending,
    find,
    nearest,
    recipe_of,
    step_params,
)
from cordwood.recipes._pipelines import Settings, make_pipeline, set_params
from cordwood.recipes._table import COMBINERS, DEFAULT_COMBINER, Recipe
from cordwood.stacking.combiners import LogarithmicPool
from cordwood.stacking.oob_stacking import OOBStackingClassifier

# Parameters of a stack that are not parameters of `OOBStackingClassifier`.
STACK_PARAMS = ("members", "combiner", "encoder", "lexicon")

# Most of the time of a prediction is that of the encoder. So it must lower the out-of-fold log loss
# by more than this fraction; where it lowered it less, it made the stack less accurate. Several
# encoders are kept: each brings little beyond the others, but all are needed for the best scores.
# See docs/embeddings.md.
_ENCODER_TOL = 0.015

# The best member with few texts, unless there is an encoder: its training on other texts counts
# most where there are few of one's own. See docs/few-labels.md.
_ANCHOR = "nbsvm"

# Penalty of the inverse temperature of a calibrated recipe. The default of 1 keeps it near 1, which
# is too weak a correction for AdaBoost.M2; less than 0.1 is worse with a hundred samples.
_CALIBRATION_ALPHA = 0.1


def make_stack(
    name: str,
    recipe: Recipe,
    settings: Settings,
    *,
    members: Any,
    combiner: Any,
    encoder: Any,
    lexicon: Any,
) -> Pipeline:
    """Make the pipeline of a stack."""
    stack = recipe.classifier()
    default = recipe.members if settings.has_text else recipe.numeric_members or recipe.members
    member_names = default if members is None else _check_members(name, members)
    pretrained = _list_pretrained(name, settings, encoder, lexicon)
    member_names = (*member_names, *(each for each in pretrained if each not in member_names))
    stack.estimators = [(member, _make_member(member, settings)) for member in member_names]
    if settings.table is not None and settings.table.is_mixed:
        stack.estimators.append((COLUMNS, _make_columns_member(settings)))
    for member, pipeline in stack.estimators:
        for param, value in pretrained.get(member, {}).items():
            pipeline.set_params(**dict.fromkeys(ending(step_params(pipeline), param), value))
    encoded = [member for member in member_names if recipe_of(member) == EMBEDDINGS]
    if len(encoded) == 1:
        stack.prune_tol = {encoded[0]: _ENCODER_TOL}
    if combiner in (None, DEFAULT_COMBINER):
        stack.anchor = encoded or [name for name in member_names if name == _ANCHOR] or None
    else:
        if not isinstance(combiner, str) or combiner not in COMBINERS:
            suggestion = nearest(str(combiner), COMBINERS)
            raise CordwoodError(f"recipe {name!r}: unknown combiner {combiner!r}; {suggestion}")
        stack.final_estimator = COMBINERS[combiner]()
        given = {"n_jobs": settings.n_jobs, "random_state": settings.random_state}
        accepted = stack.final_estimator.get_params()
        stack.final_estimator.set_params(
            **{
                param: value
                for param, value in given.items()
                if value is not None and param in accepted
            }
        )
    if settings.random_state is not None:
        stack.random_state = settings.random_state
    if settings.n_jobs is not None:
        stack.n_jobs = settings.n_jobs
    return Pipeline([("classifier", stack)])


def make_calibrated(name: str, recipe: Recipe, pipeline: Pipeline, settings: Settings) -> Pipeline:
    """Make a stack whose only member is the pipeline."""
    if recipe.members:
        raise CordwoodError(
            f"recipe {name!r} is a stack, which its combiner calibrates; omit calibrate"
        )
    stack = OOBStackingClassifier(
        [(name, pipeline)],
        LogarithmicPool(alpha=_CALIBRATION_ALPHA, shrinkage=0.0),
        check_leakage=False,
        n_jobs=settings.n_jobs,
        random_state=settings.random_state,
    )
    return Pipeline([("classifier", stack)])


def _list_pretrained(
    name: str, settings: Settings, encoder: Any, lexicon: Any
) -> dict[str, dict[str, Any]]:
    """Return the parameters of the vectorizers that `encoder` and `lexicon` add, by member."""
    for param, value in (("encoder", encoder), ("lexicon", lexicon)):
        if value is not None and not settings.has_text:
            raise CordwoodError(f"recipe {name!r}: {param} needs texts; leave it out")
    encoders = encoder if isinstance(encoder, list | tuple) else [encoder]
    if any(isinstance(each, str) and each == "none" for each in encoders):
        raise CordwoodError(f"recipe {name!r}: no encoder is None in Python, not 'none'")
    found: dict[str, dict[str, Any]] = {
        EMBEDDINGS if number == 1 else f"{EMBEDDINGS}_{number}": {"encoder": each}
        for number, each in enumerate(encoders, 1)
        if each is not None
    }
    if lexicon is not None:
        found[LEXICON] = {"lexicon": lexicon}
    return found


def _make_member(member: str, settings: Settings) -> Pipeline:
    """Make the pipeline of a member of a stack."""
    name = recipe_of(member)
    recipe = find(name)
    changes: dict[str, Any] = {"is_member": True}
    if recipe.vectorizer is not None:
        changes["vectorizer_params"] = None
    if settings.random_state is not None:
        # Members have different seeds, to draw different bootstrap samples. The seed depends on
        # the name only, so that it does not change with the other members.
        changes["random_state"] = (settings.random_state + crc32(member.encode())) % 2**31
    pipeline = make_pipeline(name, recipe, settings._replace(**changes))
    return set_params(name, pipeline, recipe.in_stacks)


def _make_columns_member(settings: Settings) -> Pipeline:
    """Make the member of a stack for the columns that are not texts."""
    assert settings.table is not None
    member = _make_member(COLUMNS, settings)
    transformer = settings.table.make_transformer(None, find(COLUMNS_RECIPE).columns)
    return member.set_params(preprocessor=transformer)


def _check_members(name: str, members: Any) -> tuple[str, ...]:
    is_list = isinstance(members, list | tuple) and all(isinstance(each, str) for each in members)
    if not is_list or not members:
        raise CordwoodError(
            f"recipe {name!r}: members must be a list of recipes, such as ['svm', 'rf']; "
            f"got {members!r}"
        )
    for member in members:
        if members.count(member) > 1:
            raise CordwoodError(f"recipe {name!r}: members contains {member!r} more than once")
        if find(member).members:
            raise CordwoodError(f"recipe {name!r}: member {member!r} is a stack")
    return tuple(members)
