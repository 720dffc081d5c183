"""Data sets and file formats."""

from cordwood.datasets.registry import load_dataset

__all__ = ["load_dataset"]
