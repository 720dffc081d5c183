"""
Lazy forests on noisy data
==========================

Do trees that are grown for each query help, if most features are noise?
"""

# %%
# ``LazyForestClassifier`` grows a forest on the nearest neighbors of a query. It needs no training,
# and its leave-one-out score costs no further fits.

import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from cordwood import LazyForestClassifier, NeighborsClassifier, RandomForestClassifier

X, y = load_digits(return_X_y=True)
noise = np.random.default_rng(0).poisson(1, size=(len(X), 200))
X_noisy = np.hstack([X, noise])

# %%
# The digits, and the same with 200 features of noise. Here the neighbors alone are better;
# :doc:`/lazy-forests` shows on which texts lazy forests are.

learners = {
    "5 neighbors": NeighborsClassifier(5),
    "random forest": RandomForestClassifier(100, random_state=0),
    "lazy forest": LazyForestClassifier(50, 100, random_state=0),
}
for name, learner in learners.items():
    scores = []
    for features in (X, X_noisy):
        X_train, X_test, y_train, y_test = train_test_split(
            features, y, test_size=200, random_state=0
        )
        scores.append(learner.fit(X_train, y_train).score(X_test, y_test))
    print(f"{name:14} {scores[0]:.3f} {scores[1]:.3f}")

# %%
# The neighbors behind a prediction can be inspected:

lazy = learners["lazy forest"]
distances, neighbors = lazy.kneighbors(X_test[:1])
print("true:", y_test[0], "predicted:", lazy.predict(X_test[:1])[0])
print("labels of the nearest samples:", y_train[neighbors[0, :12]])
