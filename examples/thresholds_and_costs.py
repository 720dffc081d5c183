"""
Thresholds for F1 and for costs
===============================

The classes are unequal, or some errors cost more than others: which label to predict?
"""

# %%
# The most probable class is best for accuracy. With one faulty sample in twelve, it rarely is the
# faulty one.

from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import confusion_matrix, f1_score
from sklearn.model_selection import train_test_split

from cordwood import Decision, TextClassifier

X, y = make_classification(
    3000, n_features=12, n_informative=6, weights=[11 / 12], flip_y=0.02, random_state=1
)
X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)

# %%
# ``decision`` chooses thresholds on out-of-fold predictions, so that no data are held out. It
# changes predictions, not probabilities.

for decision in (None, "f1", Decision("precision", precision=0.9)):
    model = TextClassifier(LogisticRegression(), decision=decision, oof=True).fit(X_train, y_train)
    y_pred = model.predict(X_test)
    print(f"{model.decision_.describe()}\n    F1 on the test set: {f1_score(y_test, y_pred):.3f}")

# %%
# If a fault that is missed costs ten times as much as a false alarm:

costs = Decision("cost", cost_matrix=[[0, 1], [10, 0]])  # rows: the true class
model = TextClassifier(LogisticRegression(), decision=costs).fit(X_train, y_train)
print(model.decision_.describe())
print(confusion_matrix(y_test, model.predict(X_test)))
