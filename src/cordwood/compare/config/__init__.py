"""Plans: what a comparison runs."""
