"""A trial of a loaded model on a few samples: parts that are valid alone may not fit together."""

import warnings
from collections.abc import Iterable
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.pipeline import Pipeline

from cordwood._schema.errors import Rejected
from cordwood._schema.interface import Interface
from cordwood.columns.converter import TableConverter
from cordwood.text.embedding import EmbeddingVectorizer
from cordwood.text.lexicon import LexiconVectorizer

_TEXTS = ("", "A word, and 2 more.")
_MAX_DENSE_FEATURES = 100_000


def try_model(model: Any, interface: Interface, parts: Iterable[Any]) -> None:
    """Raise an exception unless a model of known classes predicts or transforms samples."""
    if any(map(_needs_files, parts)):
        return
    samples = _make_samples(model, interface)
    method = getattr(model, "predict_proba", getattr(model, "transform", None))
    if samples is None or method is None:
        return
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        result: Any = method(samples)
        if hasattr(model, "predict"):
            model.predict(samples)
    n_columns = interface.n_outputs if interface.classes is None else len(interface.classes)
    values: Any = getattr(result, "data", result) if sp.issparse(result) else result
    if result.shape != (len(_TEXTS), n_columns) or not np.isfinite(values).all():
        raise Rejected("does not predict valid numbers")


def _needs_files(part: Any) -> bool:
    """Return whether predictions need files of an encoder or a lexicon that the model names."""
    if isinstance(part, EmbeddingVectorizer):
        return "encoder_files_" not in vars(part)
    return isinstance(part, LexiconVectorizer) and part.scores_ is None


def _make_samples(model: Any, interface: Interface) -> Any:
    if interface.is_table:
        first: Any = getattr(model, "estimator_", model)
        while isinstance(first, Pipeline):
            first = first.steps[0][1]
        roles = first.columns_ if isinstance(first, TableConverter) else None
        if roles is None:
            return None
        return {name: _TEXTS if name in roles.text else [None, None] for name in roles.names}
    if interface.takes_text or getattr(model, "input_kind_", None) == "text":
        return list(_TEXTS)
    if interface.n_features is None:
        return None
    shape = (len(_TEXTS), interface.n_features)
    return np.zeros(shape) if shape[1] <= _MAX_DENSE_FEATURES else sp.csr_matrix(shape)
