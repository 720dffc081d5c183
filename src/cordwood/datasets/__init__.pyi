from .corpus import Corpus, Dataset, FeatureMatrix, with_groups
from .file_source import detect_format
from .lines import Progress
from .options import ReadOptions
from .readers import read_dataset, stream_dataset
from .registry import DatasetInfo, binarize_labels, list_datasets, load_dataset
from .rows import Row, RowStream

__all__ = [
    "Corpus",
    "Dataset",
    "DatasetInfo",
    "FeatureMatrix",
    "Progress",
    "ReadOptions",
    "Row",
    "RowStream",
    "binarize_labels",
    "detect_format",
    "list_datasets",
    "load_dataset",
    "read_dataset",
    "stream_dataset",
    "with_groups",
]
