import numpy as np
import pytest


def simulate(n=600, n_members=3, n_classes=3, skill=1.5, seed=0):
    """Draw labels and probabilities of base estimators, more accurate with more skill."""
    rng = np.random.default_rng(seed)
    codes = np.arange(n) % n_classes
    logits = rng.normal(size=(n, n_members, n_classes))
    logits[np.arange(n), :, codes] += skill * np.linspace(0.5, 1.5, n_members)
    members = np.exp(logits)
    members /= members.sum(axis=2, keepdims=True)
    return members.reshape(n, -1), codes


@pytest.fixture(name="simulate")
def simulate_fixture():
    return simulate
