"""Sentence encoders, which map texts to dense vectors.

`load_encoder` loads an encoder by name or from a folder, `list_encoders` lists those that are
available. `cordwood.text.EmbeddingVectorizer` is the scikit-learn transformer that uses them.
"""

from cordwood.encoders.catalog import list_encoders, load_encoder
from cordwood.encoders.encoder import Encoder

__all__ = ["Encoder", "list_encoders", "load_encoder"]
