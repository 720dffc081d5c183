"""Files beside a ledger."""

import numpy as np


def read_predictions(ledger, key):
    """Read the predictions of a trial."""
    folder = ledger.path.with_name(f"{ledger.path.stem}.predictions")
    with np.load(folder / f"{key}.npz", allow_pickle=False) as file:
        return {name: file[name] for name in file.files}
