"""Reproduction of the papers' experiments: protocols, published scores, plans, ledgers, results."""
