"""Exact nearest neighbors by an inverted index, and the classifier based on them."""

from cordwood.neighbors.k_neighbors import NeighborsClassifier

__all__ = ["NeighborsClassifier"]
