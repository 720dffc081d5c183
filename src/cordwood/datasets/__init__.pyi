from .corpus import Corpus, FeatureMatrix
from .options import ReadOptions
from .readers import read_dataset, stream_dataset
from .registry import list_datasets, load_dataset

__all__ = [
    "Corpus",
    "FeatureMatrix",
    "ReadOptions",
    "list_datasets",
    "load_dataset",
    "read_dataset",
    "stream_dataset",
]
