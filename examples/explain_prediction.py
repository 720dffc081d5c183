"""
Explain a prediction
====================

Why does the model predict this label?
"""

# %%
# A few requests to a help desk are enough to see how it works.

from cordwood import TextClassifier

texts = [
    "I was charged twice for the same invoice",
    "the refund has not arrived on my card",
    "please send the invoice for my last payment",
    "the price on my bill is wrong",
    "my parcel is late and the tracking does not change",
    "the box arrived broken",
    "where is my parcel, it was sent a week ago",
    "the courier left the parcel at the wrong address",
] * 3
labels = (["billing"] * 4 + ["delivery"] * 4) * 3
model = TextClassifier("nbsvm").fit(texts, labels)

[explanation] = model.explain(["The parcel came late, and I was charged twice."])
print(explanation.sentence)
print(model.classes_, explanation.proba.round(2))

# %%
# Contributions of words are parts of the log-odds: they add up to the prediction. Negative ones
# argue for another class.

for word, contribution in explanation.top_words():
    print(f"{contribution:+.2f}  {word}")

# %%
# In a notebook, the text is shown with its words colored:

explanation
