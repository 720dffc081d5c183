"""Reports as HTML, Markdown and JSON: of data sets, comparisons and models."""

import html
import json
import math
import os
import platform
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from cordwood._base import atomic
from cordwood.audit.audit_dataset import Progress
from cordwood.audit.dataset_audit import DatasetAudit
from cordwood.compare.stats.comparison import Comparison, Curves
from cordwood.datasets.corpus import Corpus, FeatureMatrix
from cordwood.exceptions import CordwoodError, DataError
from cordwood.metrics.learning_curve import LearningCurveEstimate
from cordwood.metrics.scores import Evaluation
from cordwood.persist import ModelCard
from cordwood.reports.blocks import Page
from cordwood.reports.comparison_page import layout_comparison
from cordwood.reports.comparison_summary import summarize_comparison
from cordwood.reports.dataset_page import layout_dataset
from cordwood.reports.dataset_summary import summarize_dataset
from cordwood.reports.html_page import render_html
from cordwood.reports.markdown_page import render_markdown
from cordwood.reports.model_page import layout_model
from cordwood.reports.model_summary import Provenance, summarize_model

SUFFIXES = (".html", ".md", ".json")
"""Formats of `Report.save`."""

_FRAME_HEIGHT = 700

_LAYOUTS: Mapping[str, Callable[[Mapping[str, Any], Mapping[str, str]], Page]] = {
    "dataset": layout_dataset,
    "comparison": layout_comparison,
    "model": layout_model,
}


@dataclass(frozen=True)
class Report:
    """A report of a model, a comparison or a data set.

    Notebooks show it as a page.

    Parameters
    ----------
    summary : dict
        Content of the report as numbers, texts, lists and dicts.

    Examples
    --------
    >>> from cordwood import Corpus
    >>> corpus = Corpus(texts=["a cat", "a dog"], ids=["1", "2"], labels=["cat", "dog"])
    >>> report = dataset_report(corpus, name="pets")
    >>> print(report.to_markdown().splitlines()[0])
    # Data set pets
    """

    summary: Mapping[str, Any]

    def to_dict(self) -> dict[str, Any]:
        """Return the content as built-in types that `json.dumps` accepts.

        Returns
        -------
        dict
        """
        return dict(self.summary)

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
            Infinite numbers are null, which JSON does not have.
        """
        content = _replace_infinite(self.to_dict())
        return json.dumps(content, ensure_ascii=False, indent=2, allow_nan=False) + "\n"

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
        return _LAYOUTS[self.summary["kind"]](self.summary, _make_footer())

    def _repr_html_(self) -> str:
        # A frame of its own, so that neither styles nor anchors affect the notebook.
        content = html.escape(self.to_html(), quote=True)
        return (
            f'<iframe srcdoc="{content}" sandbox="allow-scripts" title="cordwood report" '
            f'style="width:100%;height:{_FRAME_HEIGHT}px;border:1px solid #8888"></iframe>'
        )

    def __repr__(self) -> str:
        return f"<Report of a {self.summary['kind']}; save it with .save('report.html')>"


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
) -> Report:
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
    """
    return Report(summarize_dataset(data, name=name, test=test, audit=audit))


def comparison_report(
    comparison: Comparison,
    curves: Mapping[str, Curves] | None = None,
    *,
    name: str = "comparison",
    notes: Iterable[str] = (),
) -> Report:
    """Report a comparison of learners: scores with ties, ranks, times and learning curves.

    Parameters
    ----------
    comparison : Comparison
        Result of `cordwood.compare.stats.comparison.compare`.
    curves : mapping of str to mapping, optional
        Learning curves by metric, as `cordwood.compare.stats.comparison.learning_curves` returns
        them.
    name : str, default="comparison"
        Name of the comparison, for the title.
    notes : iterable of str, default=()
        Sentences for the overview, such as the number of failed trials.

    Returns
    -------
    Report
    """
    return Report(summarize_comparison(comparison, curves or {}, name=name, notes=list(notes)))


def model_report(
    model: Any,
    data: Corpus | FeatureMatrix | Iterable[str] | None = None,
    labels: ArrayLike | None = None,
    *,
    name: str = "model",
    card: ModelCard | None = None,
    data_name: str | None = None,
    audit: DatasetAudit | None = None,
    evaluation: Evaluation | None = None,
    curve: LearningCurveEstimate | None = None,
    progress: Progress | None = None,
) -> Report:
    """Report how good a model is, where it is weak and why, and what to do next.

    Parameters
    ----------
    model : fitted classifier
        Model returned by `cordwood.train` or `cordwood.load`.
    data : Corpus, FeatureMatrix or iterable of str, optional
        Labelled samples. For the training data of a model with out-of-fold predictions, the scores
        are out-of-fold; other samples are predicted. Without samples, the report shows no texts,
        and scores only if the model has out-of-fold predictions, or `evaluation_`.
    labels : array-like of shape (n_samples,), optional
        Label of each text, if `data` are texts.
    name : str, default="model"
        Name of the model, for the title.
    card : ModelCard, optional
        Metadata of the model file, as returned by `cordwood.persist.read_model_card`.
    data_name : str, optional
        Name of `data`.
    audit : DatasetAudit, optional
        Result of `cordwood.audit.audit_dataset` for the training data. By default, training
        data are audited without another model.
    evaluation : Evaluation, optional
        Result of `cordwood.metrics.oof_evaluation` for the model, with baselines. By default,
        `evaluation_` of the model, which has baselines if `cordwood train` has computed them.
    curve : LearningCurveEstimate, optional
        Result of `cordwood.metrics.estimate_learning_curve`, to show what more training samples
        would bring.
    progress : callable, optional
        Called with the name of a step, the number of finished parts and their total or None.

    Returns
    -------
    Report

    Examples
    --------
    >>> from cordwood import recipes
    >>> texts, labels = ["so good", "good", "so bad", "bad"], ["+", "+", "-", "-"]
    >>> model = recipes.make("nb").fit(texts, labels)
    >>> report = model_report(model, ["good film", "bad film", "bad"], ["+", "-", "+"])
    >>> round(report.summary["scores"]["scores"]["accuracy"]["value"], 3)
    0.667
    """
    samples = _to_dataset(data, labels)
    provenance = Provenance(
        name=name,
        card=card,
        data=data_name,
        audit=audit,
        evaluation=evaluation,
        curve=curve,
    )
    return Report(summarize_model(model, samples, provenance, progress))


def _to_dataset(data: Any, labels: ArrayLike | None) -> Corpus | FeatureMatrix | None:
    if data is None or isinstance(data, Corpus | FeatureMatrix):
        if labels is not None:
            raise TypeError("labels requires texts; a Corpus or FeatureMatrix contains its labels")
        return data
    if labels is None:
        raise TypeError("labels is missing; give one label per text")
    texts = tuple(data)
    names = [str(label) for label in np.asarray(labels).tolist()]
    if len(names) != len(texts):
        raise DataError(f"labels has {len(names)} entries for {len(texts)} texts")
    ids = [str(i + 1) for i in range(len(texts))]
    return Corpus(texts=texts, ids=tuple(ids), labels=tuple(names))


def _replace_infinite(value: Any) -> Any:
    """Replace infinite numbers, such as the log-odds of a probability of one, by None."""
    if isinstance(value, Mapping):
        return {name: _replace_infinite(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [_replace_infinite(each) for each in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _make_footer() -> dict[str, str]:
    return {
        "written by": f"cordwood {version('cordwood')}, Python {platform.python_version()}",
        "written at": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
    }
