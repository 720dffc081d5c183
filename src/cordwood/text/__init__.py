"""Text vectorization.

`TextVectorizer` converts texts to a sparse matrix of term counts or tf-idf values,
`EmbeddingVectorizer` to dense vectors by a pretrained sentence encoder, and `LexiconVectorizer` to
scores from a lexicon of positive and negative words. `cordwood.text.presets` describes the presets
of `TextVectorizer` and `cordwood.text.stop_words` its stop word lists.
"""

from cordwood.text.embedding import EmbeddingVectorizer
from cordwood.text.lexicon import LexiconVectorizer
from cordwood.text.vectorizer import TextVectorizer

__all__ = ["EmbeddingVectorizer", "LexiconVectorizer", "TextVectorizer"]
