"""Texts as the input of transformers."""

import reprlib
from collections.abc import Iterable, Mapping

from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils import Tags

from cordwood.exceptions import DataError


class TextTransformer(TransformerMixin, BaseEstimator):
    """Base class of transformers of texts."""

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = True
        tags.input_tags.two_d_array = False
        tags.transformer_tags.preserves_dtype = []
        return tags


def check_texts(X: Iterable[str]) -> list[str]:
    """Return the texts as a list, after checking that each is a string."""
    if isinstance(X, str):
        raise DataError("X must be a list of texts; got a single string, so pass [text] instead")
    is_column = isinstance(X, Iterable) and not isinstance(X, Mapping | bytes)
    if not is_column or len(getattr(X, "shape", (None,))) != 1:
        raise DataError(
            f"X must be a list or a single column of texts; got an object of type "
            f"{type(X).__name__}"
        )
    # The elements of a pyarrow array are not strings.
    texts = list(X.to_pylist() if hasattr(X, "to_pylist") else X)
    for position, text in enumerate(texts):
        if not isinstance(text, str):
            raise DataError(
                f"X[{position}] must be a string; got {reprlib.repr(text)} of type "
                f"{type(text).__name__}"
            )
    return texts
