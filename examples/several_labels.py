"""
Several labels per text
=======================

A text may have several labels, or none: how to train and evaluate?
"""

# %%
# The labels of a text are a list, which may be empty.

from cordwood import TextClassifier

topics = {
    "oil": "crude oil prices rose",
    "grain": "the wheat harvest begins",
    "ships": "ports wait for cargo ships",
}
names = list(topics)
texts, labels = [], []
for number in range(120):
    chosen = [name for bit, name in enumerate(names) if number % 8 >> bit & 1]
    texts.append(" and ".join([*(topics[name] for name in chosen), f"item {number}"]))
    labels.append(chosen)
print(texts[3], labels[3])

# %%
# A threshold for each label is chosen on out-of-fold probabilities.

model = TextClassifier("nbsvm").fit(texts, labels)
new = ["Wheat prices", "Tankers with crude oil leave the ports", "Nothing happened today"]
print(model.predict(new))
print(model.predict_proba(new).round(2))
print(model.decision_.describe())
