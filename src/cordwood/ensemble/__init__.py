"""Everything that learns: scikit-learn estimators, one to a file."""
