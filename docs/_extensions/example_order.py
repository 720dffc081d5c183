"""The order of the examples in the gallery."""

ORDER = [
    "first_classifier",
    "expected_scores",
    "explain_prediction",
    "words_of_classes",
    "prediction_sets",
    "thresholds_and_costs",
    "label_errors",
    "learning_curve",
    "few_labels",
    "table",
    "several_labels",
    "compare_recipes",
    "grid_search",
    "boosted_forest",
    "lazy_forest",
    "stacking_diversity",
    "rare_classes",
    "batch_prediction",
    "model_files",
]


def position(filename: str) -> int:
    """Return the place of an example; a new one must be added to the list."""
    return ORDER.index(filename.removesuffix(".py"))
