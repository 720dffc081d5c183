"""
Predict columns of dataframes and SQL tables
============================================

How to predict texts where they are, in polars or in DuckDB?
"""

# %%
# A model file is all that the other process needs.

from pathlib import Path
from tempfile import TemporaryDirectory

import duckdb
import polars as pl

from cordwood import BatchPredictor, TextClassifier

texts = ["good film", "great film", "bad film", "awful film"] * 5
folder = TemporaryDirectory()
path = Path(folder.name) / "films.cordwood"
TextClassifier("nb").fit(texts, ["+", "+", "-", "-"] * 5).save(path)

# %%
# ``BatchPredictor`` takes a dataframe, a table or a column of any library, and returns the same
# kind. It loads the model when it is first called, in each process.

predictor = BatchPredictor(path)
frame = pl.DataFrame({"id": [1, 2, 3], "text": ["a great film", "a bad one", None]})
print(predictor(frame))

# %%
# As a function of SQL:

connection = duckdb.connect()
result = "STRUCT(label VARCHAR, probability DOUBLE)"
connection.create_function("classify", predictor, ["VARCHAR"], result, type="arrow")
query = "SELECT id, unnest(classify(text)) FROM frame WHERE text IS NOT NULL ORDER BY id"
print(connection.sql(query))
folder.cleanup()
