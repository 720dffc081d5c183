"""Scores of recipes on generated texts, by which a change of their defaults is noticed."""

from datetime import UTC, datetime

import pytest

import stale


@pytest.mark.parametrize("name", stale.RECIPES)
def test_defaults_are_those_of_the_last_recorded_change(name):
    last = stale.read_changes()[name][-1]
    assert not stale.is_changed(stale.score_recipe(name), last), (
        f"the recipe {name} has other scores than {last}; if its defaults were changed on purpose, "
        "run `python dev.py stale --record REASON`"
    )


def test_tables_and_trials_before_a_change_are_listed(tmp_path, monkeypatch):
    change = stale.Change(datetime(2026, 11, 18, 12, tzinfo=UTC), 0.5, 1.0, "more trees")
    monkeypatch.setattr(stale, "ROOT", tmp_path)
    times = {"aaaaaaa": change.time.replace(hour=11), "bbbbbbb": change.time.replace(hour=13)}
    monkeypatch.setattr(stale, "_find_time", times.__getitem__)
    page = tmp_path / "page.md"
    page.write_text(
        "<!-- measured at aaaaaaa by `python dev.py bench x`: quick, rf -->\n| a |\n|--:|\n"
        "<!-- measured at bbbbbbb by `python dev.py bench x`: quick -->\n| a |\n|--:|\n"
        "<!-- measured at aaaaaaa by `python dev.py bench x`: no recipe -->\n| a |\n|--:|\n"
    )
    ledger = tmp_path / "plan.jsonl"
    ledger.write_text(
        "".join(
            f'{{"key": "{hour}", "trial": {{"recipe": "{recipe}"}}, '
            f'"time": "2026-11-18T{hour}:00:00+00:00"}}\n'
            for hour, recipe in ((10, "quick"), (11, "rf"), (13, "quick"))
        )
    )
    changes = {"quick": [change]}
    assert [tuple(finding) for finding in stale._check_page(page, changes)] == [
        ("page.md:2", "aaaaaaa by `python dev.py bench x`", "quick changed: more trees")
    ]
    assert [tuple(finding) for finding in stale._check_ledger(ledger, changes)] == [
        ("plan", "1 of 3 trials", "quick changed: more trees")
    ]
