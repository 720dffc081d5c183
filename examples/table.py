"""
A table with text, categories and numbers
=========================================

The text is one column among others: do the others help?
"""

# %%
# Reviews of which the text names the product, and the number of stars decides the label.

import numpy as np
import pandas as pd

from cordwood import TextClassifier
from cordwood.columns import detect_columns

rng = np.random.default_rng(0)
n = 300
product = rng.choice(["radio", "lamp", "kettle"], n)
stars = rng.integers(1, 6, n)
table = pd.DataFrame(
    {
        "text": [f"I bought this {name} in week {week}" for week, name in enumerate(product)],
        "country": rng.choice(["DE", "FR", "PL"], n),
        "stars": stars,
        "queue": np.where(stars <= 2, "refund", np.where(product == "lamp", "light", "other")),
    }
)
print(table.head(3))

# %%
# The roles of the columns are guessed from their values, or given by ``columns``.

print(detect_columns(table, exclude=["queue"]))
model = TextClassifier().fit(table, "queue")
print("all columns:  ", model.evaluation_.accuracy)
print("text only:    ", TextClassifier().fit(table["text"], table["queue"]).evaluation_.accuracy)

# %%
# Explanations name columns and their values beside the words of the text.

[explanation] = model.explain(table.iloc[[0]])
print(explanation.prediction)
for column, contribution in explanation.top_columns():
    print(f"{contribution:+.2f}  {column}")
