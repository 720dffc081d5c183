"""Names of recipes, of the members of stacks, and of their parameters."""

from collections.abc import Collection
from difflib import get_close_matches

from sklearn.pipeline import Pipeline

from cordwood.exceptions import CordwoodError
from cordwood.recipes._table import RECIPES, Recipe

# Members of a stack that are added to those of its recipe.
EMBEDDINGS, LEXICON, COLUMNS = "embeddings", "lexicon", "columns"
# Recipe of the member for the columns that are not texts.
COLUMNS_RECIPE = "rf"


def find(name: str) -> Recipe:
    """Return the definition of a recipe.

    Examples
    --------
    >>> find("quick").members
    ('nbsvm', 'nb', 'knn', 'rf')
    """
    if name not in RECIPES:
        raise CordwoodError(f"unknown recipe {name!r}; {nearest(name, RECIPES)}")
    return RECIPES[name]


def nearest(wanted: str, candidates: Collection[str]) -> str:
    """Suggest the candidate with the most similar spelling, or list all candidates.

    Examples
    --------
    >>> nearest("fold", ["folds", "repeats"])
    "did you mean 'folds'?"
    >>> nearest("xyz", ["folds", "repeats"])
    'valid names: folds, repeats'
    """
    spellings = {candidate.lower(): candidate for candidate in candidates}
    matches = get_close_matches(wanted.lower(), spellings, n=1)
    if matches:
        return f"did you mean {spellings[matches[0]]!r}?"
    return f"valid names: {', '.join(sorted(set(candidates)))}"


def recipe_of(member: str) -> str:
    """Return the recipe of a member, such as "embeddings" for "embeddings_2" of a stack."""
    if member == COLUMNS:
        return COLUMNS_RECIPE
    stem, _, number = member.rpartition("_")
    return stem if stem == EMBEDDINGS and number.isdigit() else member


def step_params(pipeline: Pipeline) -> list[str]:
    """List the full names of the parameters of the steps."""
    return [full for full in pipeline.get_params() if "__" in full]


def ending(full_names: list[str], last: str) -> list[str]:
    """List the full names whose last part is `last`."""
    return [full for full in full_names if full.rpartition("__")[2] == last]


def resolve(name: str, param: str, pipeline: Pipeline, *, prefer_classifier: bool = False) -> str:
    """Return the full name of a parameter of the pipeline or of a member of the stack."""
    full_names = step_params(pipeline)
    if find(name).members:
        members = dict(pipeline["classifier"].estimators)
        member, _, rest = param.removeprefix("classifier__").partition("__")
        if rest and member in members:
            full = resolve(
                recipe_of(member), rest, members[member], prefer_classifier=prefer_classifier
            )
            return f"classifier__{member}__{full}"
        owners = sorted({full.split("__")[1] for full in ending(full_names, param)} & set(members))
        full_names = [full for full in full_names if full.count("__") == 1]
        if owners and f"classifier__{param}" not in full_names:
            options = " or ".join(f"{owner}__{param}" for owner in owners)
            raise CordwoodError(
                f"recipe {name!r} has no parameter {param!r}, but its members have; use {options}"
            )
    if prefer_classifier and (preferred := f"classifier__{param}") in full_names:
        return preferred
    return _match(name, param, full_names)


def _match(recipe: str, param: str, full_names: list[str]) -> str:
    """Return the only full name that matches a full or a short name."""
    short = [full.split("__", 1)[1] for full in full_names]
    matches = [full for full, rest in zip(full_names, short, strict=True) if param in (full, rest)]
    # A wrapper such as OneVsRestClassifier nests the parameter: classifier__estimator__C.
    matches = matches or ending(full_names, param)
    if len(matches) > 1:
        raise CordwoodError(
            f"recipe {recipe!r}: parameter {param!r} is ambiguous; use {' or '.join(matches)}"
        )
    if not matches:
        candidates = full_names if "__" in param else short
        raise CordwoodError(
            f"recipe {recipe!r} has no parameter {param!r}; {nearest(param, candidates)}"
        )
    return matches[0]
