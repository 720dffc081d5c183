"""
Model files and their safety
============================

Can a model file from somebody else be loaded without risk?
"""

# %%
# A model file contains arrays and a description, and no code. What it is can be read without
# loading it.

import pickle
from pathlib import Path
from tempfile import TemporaryDirectory

from cordwood import ModelFileError, TextClassifier, load
from cordwood.persist import read_model_card

texts = ["good film", "great film", "bad film", "awful film"] * 50
model = TextClassifier("nbsvm").fit(texts, ["+", "+", "-", "-"] * 50)
folder = TemporaryDirectory()
path = Path(folder.name) / "films.cordwood"
model.save(path)
print(path.stat().st_size, "bytes,", len(pickle.dumps(model)), "as a pickle")
card = read_model_card(path)
print(card.classes, sorted(card.versions))

# %%
# The loaded model gives the same predictions.

print(load(path).predict(["a great film"]))

# %%
# A file that was changed is rejected, and so is a pickle, which could run any program.

content = bytearray(path.read_bytes())
content[len(content) // 2] ^= 1
path.write_bytes(content)
try:
    load(path)
except ModelFileError as error:
    print(str(error).replace(str(path), "films.cordwood"))

path.write_bytes(pickle.dumps(model))
try:
    load(path)
except ModelFileError as error:
    print(str(error).replace(str(path), "films.cordwood"))
folder.cleanup()
