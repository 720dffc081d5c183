"""
Would more labels help?
=======================

How accurate would the model be with twice as many labelled samples?
"""

# %%
# The score is measured for growing parts of the training set, and a power law is fitted to it.

from matplotlib import pyplot as plt
from sklearn.datasets import load_digits

from cordwood import NaiveBayesClassifier
from cordwood.metrics import estimate_learning_curve

X, y = load_digits(return_X_y=True)
half = slice(None, None, 2)
curve = estimate_learning_curve(NaiveBayesClassifier(), X[half], y[half])
for size, score in zip(curve.sizes, curve.scores.mean(axis=0), strict=True):
    print(f"{size:4} samples: {score:.3f}")

# %%
# A forecast has an interval. Here the other half of the labels is known, so that it can be checked.

forecast = curve.forecast(len(y))
print("forecast:", forecast)
truth = estimate_learning_curve(NaiveBayesClassifier(), X, y)
print("measured:", truth.sizes[-1], "samples,", truth.scores.mean(axis=0)[-1].round(3))

# %%
# The measured scores, and the forecasts beyond them:

figure, axes = plt.subplots(figsize=(5, 3), layout="constrained")
axes.errorbar(curve.sizes, curve.scores.mean(axis=0), curve.scores.std(axis=0), fmt="o")
sizes = [900, 1200, 1800, 3600]
axes.plot(sizes, [float(curve.forecast(size)) for size in sizes], linestyle="--")
axes.set(xscale="log", xlabel="training samples", ylabel="accuracy")
plt.show()
