"""
Grid search and pipelines
=========================

How do cordwood's estimators fit into code that uses scikit-learn?
"""

# %%
# They are scikit-learn estimators: in a pipeline, parameters have the usual names.

import numpy as np
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline

from cordwood import LinearSVMClassifier, TextClassifier, TextVectorizer
from cordwood.datasets import load_dataset

corpus = load_dataset("docstrings")
chosen = np.isin(corpus.labels, ["asyncio", "dates", "logging", "mail"])
corpus = corpus.select(np.random.default_rng(0).permutation(np.flatnonzero(chosen))[:400])
texts, labels = list(corpus.texts), np.asarray(corpus.labels)

pipeline = make_pipeline(TextVectorizer(weighting="tfidf"), LinearSVMClassifier())
grid = {
    "textvectorizer__ngram_range": [(1, 1), (1, 2)],
    "linearsvmclassifier__C": [0.1, 1, 10],
}
search = GridSearchCV(pipeline, grid, cv=3).fit(texts, labels)
print(f"{search.best_score_:.3f}", search.best_params_)

# %%
# ``TextClassifier`` takes the pipeline as it is, and adds out-of-fold scores, explanations and
# model files to it.

model = TextClassifier(search.best_estimator_, oof=True).fit(texts, labels)
print(model.evaluation_.accuracy)
print(model.explain(["Return the local date."])[0].sentence)

# %%
# The diagram of the pipeline:

pipeline
