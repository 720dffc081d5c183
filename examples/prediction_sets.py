"""
Prediction sets and "I do not know"
===================================

Which predictions can be used without a look at them?
"""

# %%
# A prediction set contains the true label with a chosen probability. It has one label where the
# model is sure, and several where it is not.

import numpy as np
from matplotlib import pyplot as plt

from cordwood import TextClassifier
from cordwood.datasets import load_dataset

corpus = load_dataset("docstrings")
chosen = np.isin(corpus.labels, ["asyncio", "dates", "logging", "mail", "numbers", "testing"])
order = np.random.default_rng(0).permutation(np.flatnonzero(chosen))
training, test = corpus.select(order[:500]), corpus.select(order[500:900])
model = TextClassifier().fit(training)

found = model.classify(test.texts, coverage=0.95)
for text, labels in list(zip(test.texts, found.label_sets(), strict=True))[:5]:
    print(labels, "|", text[:60])
contains = [label in labels for label, labels in zip(test.labels, found.label_sets(), strict=True)]
print(f"{np.mean(contains):.3f} of {len(test)} sets contain the label")

# %%
# ``max_error`` decides only where at most this share of the decided texts is wrong, and
# ``unknown`` rejects texts that are unlike all training texts.

decided = model.classify(test.texts, max_error=0.05)
correct = np.asarray(decided.labels) == np.asarray(test.labels)
print(f"decided: {decided.is_decided.mean():.2f}")
print(f"of these, wrong: {1 - correct[decided.is_decided].mean():.3f}")

strange = ["Cook the rice for twenty minutes.", "Send an e-mail message to a list of recipients."]
print(model.classify(strange, unknown=0.02).is_in_scope)

# %%
# The higher the coverage, the larger the sets:

coverages = [0.8, 0.85, 0.9, 0.95, 0.98, 0.99]
sizes = [
    np.mean([len(labels) for labels in model.classify(test.texts, coverage=level).label_sets()])
    for level in coverages
]
figure, axes = plt.subplots(figsize=(5, 3), layout="constrained")
axes.plot(coverages, sizes, marker="o")
axes.set(xlabel="coverage", ylabel="mean size of the sets")
plt.show()
