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
# neighbor and tree classifiers. ``groups`` keeps the docstrings of a module together when the model
# estimates how good it is: they resemble each other, and new texts are of other modules.

model = TextClassifier(n_jobs=-1).fit(training, groups=training.groups)
print(model.predict(["Send a message to an SMTP server.", "Return the day of the week of a date."]))

# %%
# The accuracy to expect, from the training set alone, and the accuracy on the test set, which has
# other modules:

print("expected:", model.evaluation_.accuracy)
print("test set:", model.evaluate(test).accuracy)

# %%
# The whole evaluation, as it is displayed in a notebook:

model.evaluation_
