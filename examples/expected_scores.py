"""
Scores without a test set
=========================

How good will the model be on new texts, if all labelled texts are used for training?
"""

# %%
# A stack predicts each training text without having been trained on it. These out-of-fold
# predictions give the scores to expect, with 95 % intervals.

import numpy as np
from matplotlib import pyplot as plt

from cordwood import TextClassifier
from cordwood.datasets import load_dataset

corpus = load_dataset("docstrings")
chosen = np.isin(corpus.labels, ["asyncio", "dates", "logging", "mail", "numbers", "testing"])
corpus = corpus.select(np.random.default_rng(0).permutation(np.flatnonzero(chosen))[:600])
model = TextClassifier().fit(corpus)
evaluation = model.evaluation_
for name in ("accuracy", "macro_f1", "log_loss"):
    print(f"{name:9} {getattr(evaluation, name)}")

# %%
# The same predictions are available for each text, and per class:

print(model.oof_.proba.shape)
print(evaluation.to_frame().round(2))

# %%
# Which classes are confused?

figure, axes = plt.subplots(layout="constrained")
axes.imshow(evaluation.confusion, cmap="Blues")
axes.set(xlabel="predicted", ylabel="true")
axes.set_xticks(range(len(model.classes_)), model.classes_, rotation=90)
axes.set_yticks(range(len(model.classes_)), model.classes_)
for (row, column), count in np.ndenumerate(evaluation.confusion):
    axes.text(column, row, int(count), ha="center", va="center", color="tab:orange")
plt.show()
