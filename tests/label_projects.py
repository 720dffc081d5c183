"""Labelling projects of the tests."""

import csv
import time
from contextlib import contextmanager

from cordwood.cli.outputs import WITH_LISTS, open_table, to_cell
from cordwood.datasets.options import ReadOptions
from cordwood.labelling.project import Project, ProjectSettings
from cordwood.labelling.reading import read_rows


def write_csv(path, rows, columns=("text", "label")):
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([columns, *rows])
    return path


def read_csv(path):
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def write_table(path, columns, rows):
    is_json = path.suffix in WITH_LISTS
    with open_table(path, columns, escape_formulas=False) as write_row:
        for row in rows:
            write_row([to_cell(value, is_json=is_json) for value in row])


def make_project(data, output, *, suggestions=(), read=None, annotator="ann", **settings):
    paths = [str(path) for path in (data if isinstance(data, list) else [data])]
    found = read_rows(
        paths,
        ReadOptions(**(read or {})),
        is_multilabel=settings.get("is_multilabel", False),
        suggestions=suggestions,
    )
    return Project(
        found,
        ProjectSettings(output=output, annotator=annotator, write_table=write_table, **settings),
    )


@contextmanager
def opened(*args, **settings):
    """Open a project whose model does not learn."""
    project = make_project(*args, **settings)
    try:
        yield project
    finally:
        project.close()


def wait_for(condition, seconds=240):
    """Wait until a condition is true, and return its value."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        found = condition()
        if found:
            return found
        time.sleep(0.05)
    raise AssertionError("the condition did not become true")
