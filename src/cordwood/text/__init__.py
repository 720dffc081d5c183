"""Text vectorization.

`TextVectorizer` converts texts to a sparse matrix of term counts or tf-idf values,
`LexiconVectorizer` to scores from a lexicon of positive and negative words.
`cordwood.text.presets` describes its presets and `cordwood.text.stop_words` its stop word lists.
"""

from cordwood.text.lexicon import LexiconVectorizer
from cordwood.text.presets import PRESETS
from cordwood.text.stop_words import get_stop_words
from cordwood.text.vectorizer import TextVectorizer

__all__ = ["PRESETS", "LexiconVectorizer", "TextVectorizer", "get_stop_words"]
