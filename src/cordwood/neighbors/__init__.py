"""Nearest neighbours: exact, in blocks, and the same whatever is asked beside."""
