"""
Few labels and class descriptions
=================================

Can a model be trained without labelled texts, from descriptions of the classes?
"""

# %%
# A sentence encoder knows the meaning of words from other texts. ``use`` is installed by
# ``pip install "cordwood[embeddings]"``.

from cordwood import TextClassifier

descriptions = {
    "billing": ["Invoices, payments and refunds", "I was charged twice"],
    "delivery": ["Parcels that are late, lost or damaged", "The package has not arrived"],
    "account": ["Passwords, sign-in and personal data", "I forgot my password"],
}
model = TextClassifier(encoder="use", class_descriptions=descriptions).fit([], [])
new = ["where is my parcel?", "my card was debited again", "I cannot log in"]
for text, label in zip(new, model.predict(new), strict=True):
    print(f"{label:9} {text}")

# %%
# Labelled texts are added as soon as there are some; each text counts as one sample, the
# descriptions of a class as twelve.

texts = ["the box is broken", "wrong amount on the bill", "please delete my profile"] * 3
labels = ["delivery", "billing", "account"] * 3
model.fit(texts, labels)
print(model.predict(["remove my data", "the vase came in pieces"]))
