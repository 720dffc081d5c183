"""Records of results: predictions, scores, and what a model keeps of its training samples.

The functions of `cordwood.api` and `cordwood.inspection` return them, and model files contain them.
"""
