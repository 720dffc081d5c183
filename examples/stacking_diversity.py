"""
Stacking and diversity
======================

Which classifiers are worth combining?
"""

# %%
# ``OOBStackingClassifier`` trains its final estimator on out-of-bag predictions, so that a forest
# is fitted once instead of once per fold.

from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.naive_bayes import GaussianNB

from cordwood import NeighborsClassifier, OOBStackingClassifier, RandomForestClassifier
from cordwood.stacking import diversity

X, y = load_digits(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(X / 16, y, test_size=0.5, random_state=0)
members = {
    "trees": RandomForestClassifier(100, random_state=0),
    "knn": NeighborsClassifier(5),
    "bayes": GaussianNB(),
    "logistic": LogisticRegression(max_iter=1000),
}
stack = OOBStackingClassifier(list(members.items()), random_state=0).fit(X_train, y_train)
print(stack.oof_source_)

predictions = {name: stack.named_estimators_[name].predict(X_test) for name in members}
for name in members:
    print(f"{name:9} {(predictions[name] == y_test).mean():.3f}")
print(f"stack     {stack.score(X_test, y_test):.3f}")

# %%
# Members that err on different samples correct each other. The disagreement of a pair is the share
# of samples that exactly one of the two predicts correctly.

print(list(members))
print(diversity.disagreement(predictions, y_test).round(3))
print("at least one is right:")
print(diversity.oracle_accuracy(predictions, y_test).round(3))
