"""Model card in the format of the Hugging Face Hub: Markdown with metadata as YAML."""

import json
from collections.abc import Iterator

from cordwood._base.wording import count
from cordwood.reports.markdown_page import escape_markdown
from cordwood.reports.model_records import ModelSummary
from cordwood.reports.next_steps import list_next_steps
from cordwood.reports.svg import printable

_METRICS = {"accuracy": ("accuracy", "accuracy"), "macro_f1": ("f1", "macro F1")}
_MAX_CLASSES = 50


def to_hub_card(summary: ModelSummary) -> str:
    """Render the summary of a model as a model card with a ``model-index``."""
    sections = [
        "---\n" + "\n".join(_metadata(summary)) + "\n---",
        f"# {_text(summary.name)}",
        _describe(summary),
        "## Use",
        _usage(summary),
        *_evaluation(summary),
        *_limits(summary),
        "## Training",
        _training(summary),
    ]
    return "\n\n".join(section for section in sections if section) + "\n"


def _metadata(summary: ModelSummary) -> Iterator[str]:
    # JSON strings and lists are YAML as well.
    is_text = bool(summary.words or summary.explained)
    task = "text-classification" if is_text else "tabular-classification"
    yield "library_name: cordwood"
    yield f"pipeline_tag: {task}"
    yield f"tags: {json.dumps(['cordwood', task])}"
    yield f"metrics: {json.dumps(['accuracy', 'f1'])}"
    if summary.scores is None or summary.source is None:
        return
    name, data = (
        # YAML may contain other characters than JSON.
        json.dumps(printable(each), ensure_ascii=False)
        for each in (summary.name, summary.data or "unnamed data set")
    )
    split = {"oof": "train", "test": "test", "training": "train"}[summary.source]
    yield "model-index:"
    yield f"- name: {name}"
    yield "  results:"
    yield "  - task:"
    yield f"      type: {task}"
    yield "    dataset:"
    yield f"      name: {data}"
    yield "      type: custom"
    yield f"      split: {split}"
    yield "    metrics:"
    for name, (kind, title) in _METRICS.items():
        score = getattr(summary.scores.scores, name)
        yield f"    - type: {kind}"
        yield f"      value: {score.value:.4f}"
        yield f"      name: {json.dumps(title)}"


def _describe(summary: ModelSummary) -> str:
    provenance = summary.provenance
    recipe = f"recipe `{provenance.recipe}`, " if provenance.recipe else ""
    n_train = f", trained on {provenance.n_train:,} samples" if provenance.n_train else ""
    shown = ", ".join(map(_text, summary.classes[:_MAX_CLASSES]))
    more = len(summary.classes) - _MAX_CLASSES
    return (
        f"A classifier of the library cordwood ({recipe}class `{provenance.classifier}`)"
        f"{n_train}. Classes: {shown}" + (f" and {more:,} more." if more > 0 else ".")
    )


def _usage(summary: ModelSummary) -> str:
    return (
        "```python\nimport cordwood\n\n"
        f"model = cordwood.load({summary.name + '.cordwood'!r})\n"
        'model.predict(["a new text"])\n```'
    )


def _evaluation(summary: ModelSummary) -> Iterator[str]:
    if summary.scores is None or summary.source is None:
        return
    how = {
        "oof": "Out-of-fold predictions of the training samples",
        "test": "Predictions of a test set",
        "training": "Predictions of the training samples, which are too good",
    }[summary.source]
    scored = summary.scores
    data = f" ({_text(summary.data)})" if summary.data else ""
    yield "## Evaluation"
    yield f"{how}{data}: {scored.n_samples:,} samples. Intervals are 95 % bootstrap intervals."
    baselines = scored.baselines
    lines = [
        "| score | value | interval |" + "".join(f" {_text(name)} |" for name in baselines),
        "|:--|--:|:--" + "|--:" * len(baselines) + "|",
    ]
    for name, title in (
        ("accuracy", "accuracy"),
        ("macro_f1", "macro F1"),
        ("log_loss", "log loss"),
    ):
        score = getattr(scored.scores, name)
        others = "".join(f" {getattr(each, name).value:.3f} |" for each in baselines.values())
        lines.append(
            f"| {title} | {score.value:.3f} | {score.low:.3f} to {score.high:.3f} |{others}"
        )
    yield "\n".join(lines)
    if not summary.by_class:
        return
    lines = ["| class | precision | recall | F1 | samples |", "|:--|--:|--:|--:|--:|"]
    for row in summary.by_class:
        lines.append(
            f"| {_text(row.label)} | {row.precision:.3f} | {row.recall:.3f} | "
            f"{row.f1:.3f} | {row.n_samples:,} |"
        )
    yield "\n".join(lines)


def _limits(summary: ModelSummary) -> Iterator[str]:
    steps = list_next_steps(summary)
    findings = [finding.message for finding in summary.findings]
    if summary.audit is not None:
        findings += [
            f"{count(n, 'training sample')}: {kind}" for kind, n in summary.audit.counts.items()
        ]
    if steps or findings:
        yield "## Limits and advice"
        yield "\n".join(f"- {_text(line)}" for line in (*steps, *findings))


def _training(summary: ModelSummary) -> str:
    provenance = summary.provenance
    facts = {
        "created": provenance.created,
        "training data": provenance.data,
        "fingerprint of the training data": provenance.fingerprint,
        "versions": ", ".join(f"{name} {v}" for name, v in provenance.versions.items()),
        **provenance.training,
    }
    lines = [f"- {name}: {_text(str(value))}" for name, value in facts.items() if value]
    return "\n".join(lines) or "Not recorded."


def _text(text: str) -> str:
    return escape_markdown(printable(text))
