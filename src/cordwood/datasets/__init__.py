"""Data sets: readers of files and dataframes, and loaders of named data sets.

- `read_dataset` reads a file, a folder or a dataframe into memory, `stream_dataset` reads a file
  one row at a time.
- `load_dataset` loads a data set by name: a built-in one, one of scikit-learn, or a file of a data
  folder. `list_datasets` lists them.
- `Corpus` (texts) and `FeatureMatrix` (numeric features) hold the data.
"""

from cordwood.datasets.corpus import Corpus, Dataset, FeatureMatrix, with_groups
from cordwood.datasets.lines import Progress
from cordwood.datasets.readers import detect_format, read_dataset, stream_dataset
from cordwood.datasets.registry import (
    DatasetInfo,
    binarize_labels,
    list_datasets,
    load_dataset,
)
from cordwood.datasets.rows import Row, RowStream

__all__ = [
    "Corpus",
    "Dataset",
    "DatasetInfo",
    "FeatureMatrix",
    "Progress",
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
