"""Forests as arrays: training data encoded once, trees grown from it, votes taken of them."""
