"""
Likely label errors
===================

Which labels of the training set are wrong?
"""

# %%
# Every twentieth label of handwritten digits is changed, so that the errors are known.

import numpy as np
from matplotlib import pyplot as plt
from sklearn.datasets import load_digits

from cordwood import RandomForestClassifier, TextClassifier
from cordwood.audit import find_label_errors

X, y = load_digits(return_X_y=True)
rng = np.random.default_rng(0)
changed = rng.choice(len(y), len(y) // 20, replace=False)
given = y.copy()
given[changed] = (y[changed] + rng.integers(1, 10, len(changed))) % 10

# %%
# The audit compares each label with the prediction of a model that was not trained on it.

model = TextClassifier(RandomForestClassifier(200, random_state=0), oof=True).fit(X, given)
errors = find_label_errors(model.oof_)
found = np.isin(errors.ranking, changed)
print(f"{len(errors.ranking)} suspects, {found.sum()} of the {len(changed)} changed labels")

# %%
# The most suspect ones come first. ``cordwood.audit_dataset`` does this for texts, and finds
# duplicates, leakage and revealing words as well.

figure, axes = plt.subplots(1, 6, figsize=(8, 2), layout="constrained")
for axis, sample in zip(axes, errors.ranking[:6], strict=True):
    axis.imshow(X[sample].reshape(8, 8), cmap="gray_r")
    axis.set_title(f"labelled {given[sample]}", fontsize=9)
    axis.axis("off")
plt.show()
