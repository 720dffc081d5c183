"""Configuration of a comparison: plans, protocols and the learners they name."""
