"""The option --encoder: which sentence encoder is used, and how long it takes."""

from typing import Any

from cordwood.cli.console import Console
from cordwood.datasets.corpus import Corpus, FeatureMatrix
from cordwood.encoders.choice import choose_encoder
from cordwood.text.languages import detect_language
from cordwood.text.presets import choose_preset


def find_encoder(
    console: Console, encoder: Any, samples: Corpus | FeatureMatrix, language: str | None
) -> Any:
    """Return the name of the encoder, a list of several, or None; show which one "auto" is."""
    if encoder != "auto":
        return None if encoder == "none" else encoder
    if not isinstance(samples, Corpus):
        return None
    choice = choose_encoder(samples.texts, language or detect_language(samples.texts))
    # A missing encoder is mentioned for short texts only, where embeddings bring most.
    is_missing = choice.name is None and not choice.seconds
    if not is_missing or choose_preset(samples.texts)[0] == "social":
        console.field("encoder", choice.reason)
    return choice.name
