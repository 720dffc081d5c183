"""From files to words, and from words to sparse numbers."""
