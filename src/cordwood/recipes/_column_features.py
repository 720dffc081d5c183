"""The `ColumnTransformer` of a recipe: features of texts, categories and numbers."""

from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.preprocessing import OneHotEncoder

from cordwood.columns.converter import TableConverter, list_outputs
from cordwood.columns.numeric import NumericEncoder
from cordwood.columns.roles import ColumnRoles


class ColumnParams(NamedTuple):
    """How a recipe encodes columns that are not texts. See docs/columns.md for the evidence."""

    n_knots: int | None = None  # of `NumericEncoder`
    weight: float = 1.0  # of the features; rows of texts have length one, or are counts
    weighting: str | None = None  # of texts beside other columns, if it differs


class TableSettings(NamedTuple):
    """Columns of a table, and how their texts are vectorized."""

    roles: ColumnRoles
    join_text: bool

    @property
    def is_mixed(self) -> bool:
        """Whether there are texts and other columns."""
        return bool(self.roles.text) and self.roles.text != self.roles.names

    def make_converter(self) -> TableConverter:
        """Make the first step of the pipeline."""
        roles = {role: list(names) for role, names in self.roles._asdict().items()}
        return TableConverter(**roles, join_text=self.join_text)

    def make_transformer(
        self, vectorizer: Any | None, params: ColumnParams, *, only_text: bool = False
    ) -> ColumnTransformer:
        """Make the step that follows the `TableConverter`."""
        _, positions, _ = list_outputs(self.roles, join_text=self.join_text)
        transformers: list[tuple[str, Any, Any]] = []
        if vectorizer is not None:
            transformers += [
                ("vectorizer" if not i else f"vectorizer_{i + 1}", clone(vectorizer), position)
                for i, position in enumerate(positions["text"])
            ]
        encoders = {
            "categorical": OneHotEncoder(handle_unknown="ignore", dtype=np.float32),
            "numeric": NumericEncoder(n_knots=params.n_knots),
        }
        encoded = [role for role in encoders if positions[role] and not only_text]
        transformers += [(role, encoders[role], positions[role]) for role in encoded]
        weights = dict.fromkeys(encoded, params.weight) if params.weight != 1 else {}
        return ColumnTransformer(
            transformers, sparse_threshold=1.0, transformer_weights=weights or None
        )
