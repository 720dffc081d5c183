"""Choice of an encoder for ``encoder="auto"``: the most accurate one that fits texts and time."""

import math
from collections.abc import Mapping, Sequence
from itertools import takewhile
from typing import NamedTuple

from cordwood.encoders import universal_sentence
from cordwood.encoders.catalog import list_encoders

BUDGET = 300.0
"""Maximum time in seconds to encode the training texts, if no encoder is requested by name."""

MAX_CHARACTERS = 1500
"""Characters of a text that count for the time; about 256 tokens."""


class _Encoder(NamedTuple):
    """What is known about an encoder from benchmarks/notes/embeddings.md."""

    accuracy: float  # of `quick` with the encoder, in percent: mean of three sets of short texts
    # Approximate time per character on one core. It is a constant, and not measured when it is
    # needed, because the same data must give the same model on every computer.
    seconds: float


_ENCODERS = {
    "mpnet": _Encoder(88.2, 500e-6),
    "minilm": _Encoder(86.4, 70e-6),
    "use": _Encoder(85.3, 15e-6),
    "potion": _Encoder(84.5, 1e-6),
}
_WITHOUT = 81.9  # accuracy without an encoder

# On longer texts, encoders add less, so none is recommended. Characters of a text on average.
_SHORT = 400


class EncoderChoice(NamedTuple):
    """The encoder for some texts."""

    name: str | None  # name of the encoder; None for no embeddings
    # Approximate time in which one core encodes the texts; 0 if no encoder is installed.
    seconds: float
    reason: str  # why, as a phrase for users


def choose_encoder(texts: Sequence[str], language: str | None) -> EncoderChoice:
    """Choose the encoder of ``encoder="auto"`` for training texts.

    `language` is the result of `cordwood.text.languages.detect_language`.
    """
    install = {info.name: info.install for info in list_encoders()}
    ranked = _rank(language)
    installed = [name for name in ranked if install.get(name, "") is None]
    if not installed:
        return EncoderChoice(None, 0.0, _describe_missing(install))
    n_characters = sum(min(len(text), MAX_CHARACTERS) for text in texts)
    seconds = {name: n_characters * _ENCODERS[name].seconds for name in ranked}
    too_slow = list(takewhile(lambda each: seconds[each] > BUDGET, installed))
    fastest = min(too_slow, key=seconds.__getitem__, default="")
    name = next((each for each in installed if each not in too_slow), None)
    if name is None:
        reason = f"none, {_describe_excess(fastest, seconds[fastest])}"
        return EncoderChoice(None, seconds[fastest], reason)
    reason = (
        f"{name} turns each text into a vector, beside its words, in about "
        f"{max(seconds[name], 1):.0f} s on one core; it was chosen "
    )
    if too_slow:
        reason += _describe_excess(fastest, seconds[fastest])
    elif name == universal_sentence.NAME and language != "en":
        reason += "because it is multilingual"
    else:
        reason += "because it is the most accurate that is installed"
        better = [other for other in ranked[: ranked.index(name)] if seconds[other] <= BUDGET]
        if better and n_characters <= _SHORT * len(texts):
            reason += _describe_gain(better[0], name, seconds[better[0]])
    return EncoderChoice(name, seconds[name], reason)


def _rank(language: str | None) -> list[str]:
    """Return the encoders for texts in a language, the preferred first."""
    ranked = sorted(_ENCODERS, key=lambda name: -_ENCODERS[name].accuracy)
    if language == "en":
        return ranked
    multilingual = universal_sentence.NAME
    if language is not None:
        return [multilingual]
    # Unknown, as of texts of one word: the others may be right as well.
    return [multilingual, *(name for name in ranked if name != multilingual)]


def _describe_missing(install: Mapping[str, str | None]) -> str:
    is_english = any(install.get(name, "") is None for name in _ENCODERS)
    which = "those that are installed are for English" if is_english else "none is installed"
    gain = _ENCODERS[universal_sentence.NAME].accuracy - _WITHOUT
    return (
        f"{which}; on short texts, sentence embeddings add about {gain:.0f} points of accuracy: "
        f"{install[universal_sentence.NAME]}"
    )


def _describe_excess(name: str, seconds: float) -> str:
    return (
        f"because {name} would take about {math.ceil(seconds / 60)} minutes on one core, more than "
        f"{BUDGET / 60:.0f}; to use it anyway, choose the encoder {name}"
    )


def _describe_gain(better: str, name: str, seconds: float) -> str:
    gain = _ENCODERS[better].accuracy - _ENCODERS[name].accuracy
    return (
        f"; {better} would add about {gain:.1f} points of accuracy on short texts and take about "
        f"{max(seconds, 1):.0f} s: cordwood encoders install {better}"
    )
