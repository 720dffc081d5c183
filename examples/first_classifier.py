"""
A first classifier
==================

How do I train a classifier of texts and use it?
"""

# %%
# The data set has docstrings of the libraries that are installed with cordwood; the label is the
# module. It needs no download. Five of its 22 classes are enough here.

import numpy as np

from cordwood import TextClassifier
from cordwood.datasets import load_dataset

corpus = load_dataset("docstrings")
chosen = np.isin(corpus.labels, ["asyncio", "dates", "logging", "mail", "network"])
corpus = corpus.select(np.flatnonzero(chosen))
training, test = corpus.subset("train"), corpus.subset("test")
print(len(training), "texts,", len(set(training.labels)), "classes")
print(training.labels[0], "|", training.texts[0][:70])

# %%
# ``fit`` takes a corpus, or texts and labels. The default recipe is a stack of linear, Bayesian,
# neighbor and tree classifiers.

model = TextClassifier(n_jobs=-1).fit(training)
print(model.predict(["Send a message to an SMTP server.", "Return the day of the week of a date."]))

# %%
# The test set has other modules than the training set, so that it is harder than what the model
# expects of new docstrings of the same modules.

print("expected:", model.evaluation_.accuracy)
print("test set:", model.evaluate(test).accuracy)

# %%
# The whole evaluation, as it is displayed in a notebook:

model.evaluation_
