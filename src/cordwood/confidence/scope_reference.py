"""Reference distribution of the training samples, with which out-of-scope samples are detected."""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, kw_only=True)
class ScopeReference:
    """How unusual training samples are, by several signals and by their combination.

    Made by `cordwood.confidence.fit_scope`; `cordwood.train` stores it as `scope_` of the pipeline.

    Parameters
    ----------
    signals : tuple of {"entropy", "distance", "unknown_terms"}
        Signals that the model has.
    values : float32 array of shape (n_signals, n_samples)
        Values of each signal, sorted.
    scores : float32 array of shape (n_samples,)
        Scores of the combined signals, sorted.
    """

    signals: tuple[str, ...]
    values: NDArray[np.float32] = field(repr=False)
    scores: NDArray[np.float32] = field(repr=False)
