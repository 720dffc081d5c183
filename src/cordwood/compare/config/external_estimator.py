"""Learners that are not recipes: any scikit-learn classifier, named by its import path."""

import hashlib
import os
import sys
from collections.abc import Callable, Mapping
from functools import partial
from importlib import import_module
from importlib.metadata import packages_distributions
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any

from sklearn.pipeline import Pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler

from cordwood import recipes
from cordwood.exceptions import CordwoodError
from cordwood.text.vectorizer import TextVectorizer

_SCALERS: Mapping[str, Callable[[], Any]] = {
    # Without centering, which would make sparse data dense.
    "standard": partial(StandardScaler, with_mean=False),
    "minmax": partial(MinMaxScaler, clip=True),
}


def load_factory(
    reference: str, folder: str | None = None, *, what: str = "estimator"
) -> Callable[[], Any]:
    """Import the class or function that an `estimator` of a plan names, as ``module:name``.

    >>> load_factory("sklearn.tree:DecisionTreeClassifier")()
    DecisionTreeClassifier()
    """
    module_name, _, name = reference.rpartition(":")
    try:
        if module_name.endswith(".py"):
            module = _import_file(Path(folder or ".", module_name))
        else:
            module = import_module(module_name)
    except Exception as error:  # a module may raise anything
        raise CordwoodError(
            f"{what} {reference!r} cannot be imported: {type(error).__name__}: {error}"
        ) from error
    factory = getattr(module, name, None)
    if not callable(factory):
        raise CordwoodError(
            f"{what} {reference!r}: {module_name} has no class or function {name!r}"
        )
    return factory  # type: ignore[no-any-return]


def make_pipeline(
    reference: str,
    folder: str | None = None,
    *,
    input: recipes.InputType = "text",
    scale: bool = True,
    weighting: str | None = None,
    scaler: str | None = None,
    vectorizer_params: Mapping[str, Any] | None = None,
    random_state: int | None = None,
    n_jobs: int | None = None,
    **params: Any,
) -> Pipeline:
    """Build the unfitted pipeline of an `estimator`, as `cordwood.recipes.make` does for recipes.

    An estimator that is itself a `Pipeline` gets no further steps.

    >>> make_pipeline("sklearn.naive_bayes:MultinomialNB", weighting="tf", classifier__alpha=0.1)
    Pipeline(steps=[('vectorizer', TextVectorizer(weighting='tf')),
                    ('classifier', MultinomialNB(alpha=0.1))])
    """
    estimator = load_factory(reference, folder)()
    if isinstance(estimator, Pipeline):
        pipeline = estimator
    elif input == "text":
        vectorizer = TextVectorizer(weighting=weighting).set_params(**(vectorizer_params or {}))
        pipeline = Pipeline([("vectorizer", vectorizer), ("classifier", estimator)])
    elif scale and scaler is not None:
        pipeline = Pipeline([("scaler", _SCALERS[scaler]()), ("classifier", estimator)])
    else:
        pipeline = Pipeline([("classifier", estimator)])
    settable = [param for param in pipeline.get_params() if "__" in param]
    if random_state is not None:
        states = [param for param in settable if param.rpartition("__")[2] == "random_state"]
        pipeline.set_params(**dict.fromkeys(states, random_state))
    if n_jobs is not None:
        # Only the outermost, to avoid oversubscription by nested estimators.
        jobs = [param for param in settable if param.rpartition("__")[2] == "n_jobs"]
        outermost = sorted(jobs, key=lambda param: param.count("__"))[:1]
        pipeline.set_params(**dict.fromkeys(outermost, n_jobs))
    return pipeline.set_params(**params)


def full_name(pipeline: Pipeline, param: str) -> str:
    """Return the full name of a parameter; a short name is the classifier's if it has one.

    >>> pipeline = make_pipeline("sklearn.svm:LinearSVC")
    >>> full_name(pipeline, "C"), full_name(pipeline, "min_df")
    ('classifier__C', 'vectorizer__min_df')
    """
    settable = [name for name in pipeline.get_params() if "__" in name]
    steps = [step for step, _ in reversed(pipeline.steps)]
    for candidate in (param, *(f"{step}__{param}" for step in steps)):
        if candidate in settable:
            return candidate
    candidates = settable if "__" in param else [name.split("__", 1)[1] for name in settable]
    raise CordwoodError(
        f"the estimator has no parameter {param!r}; {recipes.nearest(param, candidates)}"
    )


def to_absolute(reference: str, folder: Path) -> str:
    """Complete the path of a file in an import path."""
    is_file = reference.rpartition(":")[0].endswith(".py")
    return os.path.abspath(folder / reference) if is_file else reference


def find_distributions(reference: str) -> tuple[str, ...]:
    """Return the names of the installed distributions that provide an estimator's module.

    >>> find_distributions("sklearn.svm:LinearSVC"), find_distributions("mine.py:make")
    (('scikit-learn',), ())
    """
    module_name = reference.rpartition(":")[0]
    if module_name.endswith(".py"):
        return ()
    return tuple(sorted(set(packages_distributions().get(module_name.partition(".")[0], ()))))


def _import_file(path: Path) -> ModuleType:
    """Import a file under a name that no other module has, once per process."""
    digest = hashlib.sha256(str(path.resolve()).encode()).hexdigest()[:12]
    name = f"{path.stem}_{digest}"
    if name in sys.modules:
        return sys.modules[name]
    spec = spec_from_file_location(name, path)
    if spec is None or spec.loader is None or not path.exists():
        raise FileNotFoundError(f"there is no file {path}")
    module = module_from_spec(spec)
    sys.modules[name] = module  # before it is executed, as pickle and dataclasses need it
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module
