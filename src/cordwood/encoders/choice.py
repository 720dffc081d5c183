"""Choice of an encoder for ``encoder="auto"``: what is installed, unless it takes too long."""

from collections.abc import Sequence
from typing import NamedTuple

from cordwood.encoders.catalog import AUTO, list_encoders

BUDGET = 600.0
"""Maximum time in seconds to encode the training texts, if no encoder is requested by name."""

# Approximate seconds per character on one core. They are constants, and not measured when they are
# needed, because the same data must give the same model on every computer.
_SECONDS_PER_CHARACTER = {"use": 12e-6, "minilm": 55e-6}
# About 256 tokens.
MAX_CHARACTERS = 1500


class EncoderChoice(NamedTuple):
    """The encoder for some texts."""

    name: str | None  # name of the encoder; None for no embeddings
    # Approximate time in which one core encodes the texts; 0 if no encoder is installed.
    seconds: float
    reason: str  # why, as a phrase for users


def choose_encoder(texts: Sequence[str]) -> EncoderChoice:
    """Choose the encoder of ``encoder="auto"`` for training texts."""
    missing = {info.name: info.install for info in list_encoders()}
    name = next((each for each in AUTO if missing.get(each, "") is None), None)
    if name is None:
        reason = (
            "none is installed; on short texts, sentence embeddings add about 3 points of accuracy:"
            f" {missing[AUTO[0]]}"
        )
        return EncoderChoice(None, 0.0, reason)
    n_characters = sum(min(len(text), MAX_CHARACTERS) for text in texts)
    seconds = n_characters * _SECONDS_PER_CHARACTER[name]
    if seconds > BUDGET:
        reason = (
            f"none, because {name} would take about {seconds / 60:.0f} minutes on one core, more "
            f"than {BUDGET / 60:.0f}; to use it anyway, choose the encoder {name}"
        )
        return EncoderChoice(None, seconds, reason)
    return EncoderChoice(name, seconds, f"{name}, about {max(seconds, 1):.0f} s on one core")
