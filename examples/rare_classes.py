"""
Rules for a rare class
======================

How to find the few texts of a rare class, with rules that one can read?
"""

# %%
# The class "dates" has about one in twenty of these docstrings.

import numpy as np
from sklearn.metrics import f1_score, recall_score
from sklearn.model_selection import train_test_split

from cordwood import AdaUBoostClassifier, LPUBoostClassifier, TextVectorizer
from cordwood.datasets import load_dataset

corpus = load_dataset("docstrings")
chosen = np.isin(corpus.labels, ["asyncio", "dates", "files", "logging", "mail", "network"])
corpus = corpus.select(np.flatnonzero(chosen))
is_date = np.asarray(corpus.labels) == "dates"
texts, test_texts, y, y_test = train_test_split(
    list(corpus.texts), is_date, stratify=is_date, random_state=0
)
vectorizer = TextVectorizer(min_df=3)
X, X_test = vectorizer.fit_transform(texts), vectorizer.transform(test_texts)
print(f"{y.sum()} of {len(y)} texts")

# %%
# ``beta`` is the cost of missing a text of the rare class. Without it, few are found.

for model in (
    AdaUBoostClassifier(beta=1),
    AdaUBoostClassifier(beta=8),
    LPUBoostClassifier(beta=8),
):
    y_pred = model.fit(X, y).predict(X_test)
    name = f"{type(model).__name__}(beta={model.beta})"
    recall, f1 = recall_score(y_test, y_pred), f1_score(y_test, y_pred)
    print(f"{name:28} recall {recall:.2f}, F1 {f1:.2f}, {len(model.rules_[0])} rules")

# %%
# The rules of the linear program:

print("\n".join(model.describe(True, vectorizer.get_feature_names_out()).splitlines()[:8]))
