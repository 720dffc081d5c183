"""Data sets by name; later, learners compared on them."""
