"""Attributions of lazy forests: by the neighbors, and by the splits on the query's paths."""

from typing import Any

import numpy as np
import scipy.sparse as sp

from cordwood._base.csr import csr_arrays
from cordwood.ensemble.lazy_forest import LazyForestClassifier
from cordwood.ensemble.tree_engine.lazy_trees import allocate_lazy_workspace
from cordwood.explain._attribution import Attribution, Attributor
from cordwood.explain._lazy_paths import trace_paths
from cordwood.explain._neighbor_terms import baseline, find_neighbors, share_votes

_METHOD = "approximate: neighbors, shared by their similar terms, and splits on the paths of trees"


def make_lazy_attributor(estimator: Any) -> Attributor | None:
    """Return the attributor of a lazy forest; None if the estimator is another one."""
    # With very many features, each query has its own numbers of columns.
    if not isinstance(estimator, LazyForestClassifier) or estimator._columns is not None:
        return None
    n_classes = len(estimator.classes_)
    n_neighbors = estimator._count_neighbors(estimator.n_neighbors)
    params = estimator._tree_params(n_neighbors, estimator.n_features_in_, is_loo=False)
    workspace = allocate_lazy_workspace(estimator._rows, n_classes, n_neighbors)
    start = baseline(estimator)

    def attribute(X: sp.csr_matrix) -> Attribution:
        neighbors, distances = find_neighbors(estimator, X)
        if not len(neighbors) or not len(X.indices):
            return Attribution(X.indices[:0], np.zeros((0, n_classes)), start, start, "identity")
        # The class frequencies in the roots of the trees are those of the neighbors, and are
        # attributed as in nearest neighbors. Each split on the path to a leaf changes them; the
        # change is attributed to its feature, which may be absent from the text.
        paths = trace_paths(
            estimator._rows,
            params,
            workspace,
            csr_arrays(X),
            neighbors,
            estimator.seed_,
            n_classes,
        )
        found, shared = share_votes(estimator, X, neighbors, distances, paths.sample_weights, start)
        columns, row = np.unique(np.concatenate((X.indices, paths.features)), return_inverse=True)
        values = np.zeros((len(columns), n_classes))
        np.add.at(values, row, np.vstack((shared, paths.changes)))
        end = start + values.sum(axis=0)
        return Attribution(columns, values, start, end, "identity", neighbors=found)

    return Attributor(attribute, _METHOD, False)
