"""Reports as HTML, Markdown and JSON, and those of data sets and models."""

from __future__ import annotations

import html
import json
import math
import os
import platform
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, is_dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar

from cordwood._base import atomic
from cordwood.audit.audit_dataset import Progress
from cordwood.audit.dataset_audit import DatasetAudit
from cordwood.datasets.corpus import Corpus, FeatureMatrix
from cordwood.exceptions import CordwoodError
from cordwood.metrics.learning_curve import LearningCurveEstimate
from cordwood.reports.blocks import Page
from cordwood.reports.dataset_page import layout_dataset
from cordwood.reports.dataset_summary import DatasetSummary, summarize_dataset
from cordwood.reports.html_page import render_html
from cordwood.reports.markdown_page import render_markdown
from cordwood.reports.model_page import layout_model
from cordwood.reports.model_records import ModelSummary
from cordwood.reports.model_summary import Provenance, summarize_model

SUFFIXES = (".html", ".md", ".json")
"""Formats of `Report.save`."""

_FRAME_HEIGHT = 700


class Summary(Protocol):
    """Content of a report: a dataclass of numbers, texts, lists, dicts and further dataclasses."""

    @property
    def kind(self) -> str:
        """What the report is about."""


S = TypeVar("S", bound=Summary)


@dataclass(frozen=True, repr=False)
class Report(Generic[S]):
    """A report of a model, a comparison or a data set.

    Notebooks show it as a page.

    Parameters
    ----------
    summary : dataclass
        Content of the report.
    layout : callable
        Lays out the summary and a footer as a page.

    Examples
    --------
    >>> from cordwood import Corpus
    >>> corpus = Corpus(texts=["a cat", "a dog"], ids=["1", "2"], labels=["cat", "dog"])
    >>> report = dataset_report(corpus, name="pets")
    >>> print(report.to_markdown().splitlines()[0])
    # Data set pets
    """

    summary: S
    layout: Callable[[S, Mapping[str, str]], Page]

    def to_dict(self) -> dict[str, Any]:
        """Return the content as built-in types that `json.dumps` accepts.

        Returns
        -------
        dict
            Numbers that are infinite or NaN, which JSON does not have, are None.
        """
        found: dict[str, Any] = _to_plain(self.summary)
        return found

    def to_html(self) -> str:
        """Return the report as one HTML page without references to other files.

        Returns
        -------
        str
        """
        return render_html(self._page())

    def to_markdown(self) -> str:
        """Return the report as Markdown, with tables instead of figures.

        Returns
        -------
        str
        """
        return render_markdown(self._page())

    def to_json(self) -> str:
        """Return the content as JSON.

        Returns
        -------
        str
            The JSON of `to_dict`.
        """
        return json.dumps(self.to_dict(), ensure_ascii=False, indent=2, allow_nan=False) + "\n"

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the report to a file.

        Parameters
        ----------
        path : path-like
            File to create or replace; the suffix .html, .md or .json determines the format.
        """
        check_format(path)
        convert = {".html": self.to_html, ".md": self.to_markdown, ".json": self.to_json}
        content = convert[Path(path).suffix.lower()]()
        with atomic.write(path, errors="backslashreplace", newline="\n") as file:
            file.write(content)

    def _page(self) -> Page:
        return self.layout(self.summary, _make_footer())

    def _repr_html_(self) -> str:
        # A frame of its own, so that neither styles nor anchors affect the notebook.
        content = html.escape(self.to_html(), quote=True)
        return (
            f'<iframe srcdoc="{content}" sandbox="allow-scripts" title="cordwood report" '
            f'style="width:100%;height:{_FRAME_HEIGHT}px;border:1px solid #8888"></iframe>'
        )

    def __repr__(self) -> str:
        return f"<Report of a {self.summary.kind}; save it with .save('report.html')>"


def check_format(path: str | os.PathLike[str]) -> None:
    """Raise CordwoodError unless a report can be written to a file of this name."""
    if Path(path).suffix.lower() not in SUFFIXES:
        raise CordwoodError(
            f"{Path(path).name!r} must end in .html, .md or .json, the formats of a report"
        )


def dataset_report(
    data: Corpus | FeatureMatrix,
    *,
    name: str = "samples",
    test: Corpus | FeatureMatrix | None = None,
    audit: DatasetAudit | None = None,
) -> Report[DatasetSummary]:
    """Report lengths, classes, languages, duplicates and odd labels of a data set.

    Parameters
    ----------
    data : Corpus or FeatureMatrix
        Labelled samples.
    name : str, default="samples"
        Name of the data set, for the title.
    test : Corpus or FeatureMatrix, optional
        Test samples, to be compared with `data`.
    audit : DatasetAudit, optional
        Result of `cordwood.audit.audit_dataset`, to show suspicious samples. By default, the
        data are only checked by `cordwood.check_dataset`.

    Returns
    -------
    Report

    See Also
    --------
    cordwood.check_dataset : The findings as a record.

    Examples
    --------
    >>> from cordwood import dataset_report, read_dataset
    >>> texts = ["good film", "great film", "bad film", "awful film"] * 5
    >>> films = {"text": texts, "label": ["+", "+", "-", "-"] * 5}
    >>> report = dataset_report(read_dataset(films, text="text", label="label"), name="films")
    >>> print(report.to_markdown().splitlines()[0])
    # Data set films
    """
    return Report(summarize_dataset(data, name=name, test=test, audit=audit), layout_dataset)


def model_report(
    model: Any,
    data: Corpus | FeatureMatrix | None,
    provenance: Provenance,
    progress: Progress | None = None,
) -> Report[ModelSummary]:
    """Report a `TextClassifier`; see its method `report`."""
    return Report(summarize_model(model, data, provenance, progress), layout_model)


def _to_plain(value: Any) -> Any:
    """Convert dataclasses to dicts and tuples to lists, whatever contains them."""
    if isinstance(value, LearningCurveEstimate):
        return _to_plain(value.to_dict())
    if is_dataclass(value):
        # `for_` is the field "for", which is a keyword of Python.
        return {
            field.name.rstrip("_"): _to_plain(getattr(value, field.name)) for field in fields(value)
        }
    if isinstance(value, Mapping):
        return {name: _to_plain(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [_to_plain(each) for each in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    # Labels may be any objects.
    return value if value is None or isinstance(value, bool | int | float | str) else str(value)


def _make_footer() -> dict[str, str]:
    return {
        "written by": f"cordwood {version('cordwood')}, Python {platform.python_version()}",
        "written at": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
    }
