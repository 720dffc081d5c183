"""
The words of the classes
========================

Which words characterize a class, and which argue against it?
"""

# %%
# ``explain_classes`` looks at how words contribute to predictions of texts that the model was not
# trained on. It finds words that give a label away by accident, too.

import numpy as np

from cordwood import TextClassifier
from cordwood.datasets import load_dataset

corpus = load_dataset("docstrings")
chosen = np.isin(corpus.labels, ["asyncio", "dates", "logging", "mail"])
training = corpus.select(np.random.default_rng(0).permutation(np.flatnonzero(chosen))[:500])
model = TextClassifier("nbsvm").fit(training)
words = model.explain_classes(training.texts, training.labels)
for label in model.classes_:
    found = words.words_for(label)[:6]
    print(f"{label:8}", ", ".join(str(word.word) for word in found))

# %%
# As a table:

words
