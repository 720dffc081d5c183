"""
A boosted forest and its out-of-bag error
=========================================

How accurate is boosting after each round, without a validation set?
"""

# %%
# ``BoostedForestClassifier`` boosts small forests. The weights of the samples follow out-of-bag
# predictions, which also estimate the accuracy after each round.

from matplotlib import pyplot as plt
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from cordwood import BoostedForestClassifier, RandomForestClassifier

X, y = load_digits(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)
boosted = BoostedForestClassifier(40, random_state=0).fit(X_train, y_train)
forest = RandomForestClassifier(boosted.forest_.n_trees, random_state=0).fit(X_train, y_train)
print(f"boosted forest {boosted.score(X_test, y_test):.3f}")
print(f"random forest  {forest.score(X_test, y_test):.3f}, as many trees")

# %%
# The out-of-bag score after each round, and the final scores on the test set:

figure, axes = plt.subplots(figsize=(5, 3), layout="constrained")
axes.plot(boosted.staged_oob_score_, label="boosted forest, out of bag")
axes.axhline(boosted.score(X_test, y_test), linestyle="--", label="boosted forest, test set")
axes.axhline(forest.score(X_test, y_test), linestyle=":", label="random forest, test set")
axes.set(xlabel="rounds", ylabel="accuracy")
axes.legend()
plt.show()
