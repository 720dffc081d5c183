import pytest
import typer

from cordwood.cli.options import parse_settings


def test_settings_are_literals_or_strings():
    given = [
        "C=0.5",
        "vectorizer__ngram_range=(1, 2)",
        "a=TRUE",
        "b=none",
        "c=balanced",
        "d=x=y",
        "e='1'",
    ]
    assert parse_settings(given) == {
        "C": 0.5,
        "vectorizer__ngram_range": (1, 2),
        "a": True,
        "b": None,
        "c": "balanced",
        "d": "x=y",
        "e": "1",
    }


def test_no_settings():
    assert parse_settings(None) == {}


@pytest.mark.parametrize("setting", ["C", "C=", "=1", "not a name=1", ""])
def test_invalid_settings_raise(setting):
    with pytest.raises(typer.BadParameter, match="not of the form NAME=VALUE"):
        parse_settings([setting])
