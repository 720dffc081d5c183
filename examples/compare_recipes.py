"""
Compare recipes
===============

Which recipe is the best one for my data, and is the difference more than chance?
"""

# %%
# A recipe is a named pipeline of scikit-learn. All have the same methods.

import numpy as np
from matplotlib import pyplot as plt
from sklearn.model_selection import StratifiedKFold, cross_val_score

from cordwood import recipes
from cordwood.datasets import load_dataset

corpus = load_dataset("docstrings")
chosen = np.isin(corpus.labels, ["asyncio", "logging", "mail", "numbers"])
corpus = corpus.select(np.random.default_rng(0).permutation(np.flatnonzero(chosen))[:300])

# %%
# The same folds for each recipe make differences comparable.

folds = StratifiedKFold(3, shuffle=True, random_state=0)
scores = {
    name: cross_val_score(recipes.make(name), list(corpus.texts), corpus.labels, cv=folds)
    for name in ("nb", "knn", "svm", "nbsvm", "rf", "quick")
}
for name, values in scores.items():
    print(f"{name:6} {values.mean():.3f} ± {values.std():.3f}  {recipes.describe(name)[:60]}")

# %%
# ``cordwood compare`` tunes the learners by nested cross-validation, tests the differences and
# writes a report; see :doc:`/plans`.

figure, axes = plt.subplots(figsize=(5, 3), layout="constrained")
axes.boxplot(list(scores.values()), tick_labels=list(scores))
axes.set_ylabel("accuracy of the folds")
plt.show()
