"""Data sets: readers of files and dataframes, and loaders of named data sets.

- `read_dataset` reads a file, a folder or a dataframe into memory, `stream_dataset` reads a file
  one row at a time; `ReadOptions` has their options.
- `load_dataset` loads a data set by name: a built-in one, one of scikit-learn, or a file of a data
  folder. `list_datasets` lists them.
- `Corpus` (texts) and `FeatureMatrix` (numeric features) hold the data.

The names are imported on first access, because the command line reads the options for its help.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
