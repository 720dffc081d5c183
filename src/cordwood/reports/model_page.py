"""Page of a model: from its summary to tables, figures and sentences."""

from collections.abc import Mapping, Sequence
from typing import Any

from cordwood.reports.blocks import (
    Block,
    Chart,
    Charts,
    DataTable,
    Entry,
    Facts,
    Fold,
    HeatMap,
    Page,
    Prose,
    Sample,
    Samples,
    Section,
    Steps,
    TableColumn,
    Tile,
    Tiles,
    WordList,
    WordLists,
    text_table,
)
from cordwood.reports.charts import (
    Estimate,
    LinePoint,
    interval_chart,
    line_chart,
    reliability_chart,
)
from cordwood.reports.dataset_page import findings_blocks
from cordwood.reports.next_steps import list_next_steps

_SCORE_NAMES = {"accuracy": "accuracy", "macro_f1": "macro F1", "log_loss": "log loss"}
_SOURCES = {
    "oof": "out-of-fold predictions of the training samples: each sample was predicted without "
    "having been trained on",
    "test": "predictions of samples that are not the training data",
    "training": "predictions of the training samples by the model that was trained on them",
}
_OOF_SOURCES = {
    "oob": "out-of-bag",
    "loo": "leave-one-out",
    "cv": "cross-validation",
    "prefit": "fitted before",
}
_MAX_LABEL = 40
_N_OPEN_SUSPECTS = 8
_MIN_SHOWN = 0.03


def layout_model(summary: Mapping[str, Any], footer: Mapping[str, str]) -> Page:
    """Lay out the summary of a model as a page.

    Parameters
    ----------
    summary : mapping
        Result of `summarize_model`.
    footer : mapping of str to str
        Versions and the time of writing.

    Returns
    -------
    Page
    """
    return Page(
        title=f"Model {summary['name']}",
        subtitle=_subtitle(summary),
        sections=[
            Section("overview", "How good it is", _overview(summary)),
            Section("next", "What to do next", _next_steps(summary)),
            Section("classes", "Where it is weak", _classes(summary)),
            Section("confusion", "What it confuses", _confusion(summary)),
            Section("confidence", "How far to trust its probabilities", _confidence(summary)),
            Section("curve", "What more data would bring", _learning_curve(summary)),
            Section("labels", "Labels to check", _suspects(summary)),
            Section("explained", "Explained predictions", _explained(summary)),
            Section("words", "Words of the classes", _words(summary)),
            Section("members", "Members of the stack", _members(summary)),
            Section("data", "Training data", _data(summary)),
            Section("card", "How it was made", _card(summary)),
        ],
        footer=footer,
    )


def _subtitle(summary: Mapping[str, Any]) -> str:
    provenance = summary["provenance"]
    parts = [f"A classifier of {len(summary['classes']):,} classes"]
    if provenance["recipe"]:
        parts.append(f"recipe {provenance['recipe']}")
    if provenance["n_train"]:
        parts.append(f"trained on {provenance['n_train']:,} samples")
    return ", ".join(parts) + "."


def _overview(summary: Mapping[str, Any]) -> list[Block]:
    scored = summary["scores"]
    if scored is None:
        return [
            Prose(
                "There are no scores: the model has no out-of-fold predictions. Give labelled data "
                "for an evaluation.",
                "warning",
            )
        ]
    scores = scored["scores"]
    accuracy, baseline = scores["accuracy"], scored["baselines"]["largest class"]
    tiles = [
        _score_tile("accuracy", accuracy, 100, " %"),
        _score_tile("macro F1", scores["macro_f1"], 100, " %"),
        _score_tile("log loss", scores["log_loss"], 1, ""),
        Tile(
            "calibration error",
            f"{100 * scored['calibration_error']:.1f} %",
            "mean gap of probability and accuracy",
        ),
    ]
    blocks: list[Block] = []
    if summary["source"] == "training":
        blocks.append(
            Prose(
                "These scores are too good: the model was trained on these samples, and it has no "
                "out-of-fold predictions. Give a test set.",
                "warning",
            )
        )
    blocks.append(Tiles(tiles))
    error_ratio = (1 - accuracy["value"]) / max(1 - baseline["accuracy"], 1e-9)
    blocks.append(
        Prose(
            f"Of 100 samples, {100 * accuracy['value']:.0f} are classified correctly; always "
            f"predicting the largest class would be correct on {100 * baseline['accuracy']:.0f}. "
            f"The model makes {100 * error_ratio:.0f} % of the errors of that rule."
        )
    )
    blocks.append(_baseline_chart(summary))
    resampled = "groups" if scored["n_groups"] else "samples"
    blocks.append(
        Prose(
            f"Scores are from {_SOURCES[summary['source']]} ({scored['n_samples']:,} samples). "
            f"Intervals contain the score on new samples of the same kind in about 95 % of the "
            f"cases (bootstrap over {resampled}).",
            "note",
        )
    )
    if summary["n_unseen"]:
        blocks.append(
            Prose(
                f"{summary['n_unseen']:,} further samples have labels that the model does not "
                "know; they are not in the scores.",
                "warning",
            )
        )
    return blocks


def _score_tile(name: str, score: Mapping[str, float], factor: float, unit: str) -> Tile:
    digits = 1 if factor == 100 else 3
    value, low, high = (factor * score[key] for key in ("value", "low", "high"))
    return Tile(
        name, f"{value:.{digits}f}{unit}", f"95 % interval {low:.{digits}f} to {high:.{digits}f}"
    )


def _baseline_chart(summary: Mapping[str, Any]) -> Chart:
    scored = summary["scores"]
    rows, table = {}, []
    for metric in ("accuracy", "macro_f1"):
        name = _SCORE_NAMES[metric]
        score = scored["scores"][metric]
        rows[f"{name}: this model"] = Estimate(
            *(100 * score[key] for key in ("value", "low", "high"))
        )
        for baseline, values in scored["baselines"].items():
            rows[f"{name}: {baseline}"] = _baseline_estimate(values, metric)
    for name, row in rows.items():
        table.append([name, row.value, row.low, row.high])
    title = "Scores beside baselines"
    baselines = [name for name in rows if "this model" not in name]
    svg = interval_chart(
        rows,
        title=title,
        x_label="%",
        strong=[name for name in rows if name not in baselines],
        hollow=baselines,
        legend=[
            ("fill s0", 0, "this model"),
            ("hollow s0", 0, "baseline"),
            ("bar s0", -1, "95 % interval"),
        ],
        low=0,
        high=100,
    )
    return Chart(
        title=title,
        svg=svg,
        data=text_table(title, ["score", "value, %", "low", "high"], table),
    )


def _baseline_estimate(values: Mapping[str, Any], metric: str) -> Estimate:
    value = values[metric]
    if isinstance(value, Mapping):
        return Estimate(*(100 * value[key] for key in ("value", "low", "high")))
    return Estimate(100 * value, 100 * value, 100 * value)


def _next_steps(summary: Mapping[str, Any]) -> list[Block]:
    steps = list_next_steps(summary)
    return [Steps(steps, is_ordered=True)] if steps else []


def _classes(summary: Mapping[str, Any]) -> list[Block]:
    rows = summary["by_class"]
    if not rows:
        return []
    most = max(row["n_missed"] for row in rows) or 1
    n_errors = sum(row["n_missed"] for row in rows)
    entries = [
        [
            Entry(row["label"]),
            Entry(f"{row['n_missed']:,}", float(row["n_missed"]), row["n_missed"] / most),
            Entry(f"{row['n_samples']:,}", float(row["n_samples"])),
            _percent(row["recall"]),
            _percent(row["precision"]),
            _percent(row["f1"]),
            Entry(
                f"{row['confused_with']} ({row['n_confused']:,})" if row["confused_with"] else "",
                row["confused_with"] or "",
            ),
        ]
        for row in rows
    ]
    columns = [
        TableColumn("class"),
        TableColumn("errors", "bar", "samples of this class that are predicted as another"),
        TableColumn("samples", "number"),
        TableColumn("recall", "number", "share of the class that is found"),
        TableColumn("precision", "number", "share of the predictions of the class that is correct"),
        TableColumn("F1", "number", "harmonic mean of precision and recall"),
        TableColumn("mostly predicted as"),
    ]
    worst = rows[: max(1, min(3, len(rows) - 1))]
    share = sum(row["n_missed"] for row in worst) / n_errors if n_errors else 0.0
    weakest = min(rows, key=lambda row: row["f1"])
    note = (
        f"{_join([row['label'] for row in worst])} {'has' if len(worst) == 1 else 'have'} "
        f"{100 * share:.0f} % of all {n_errors:,} errors. "
        f"The lowest F1 is that of {weakest['label']}: {100 * weakest['f1']:.1f} % on "
        f"{weakest['n_samples']:,} samples."
        if n_errors
        else "There are no errors."
    )
    return [
        Prose(note),
        DataTable(caption="Scores by class, most errors first", columns=columns, rows=entries),
    ]


def _confusion(summary: Mapping[str, Any]) -> list[Block]:
    confusion = summary["confusion"]
    if confusion is None or not confusion["n_errors"]:
        return []
    targets = {
        (pair["true"], pair["predicted"]): f"pair-{i}"
        for i, pair in enumerate(confusion["pairs"])
        if pair["examples"]
    }
    groups = confusion["groups"]
    blocks: list[Block] = []
    if len(groups) > 1 or len(groups[0]["labels"]) < confusion["n_classes"]:
        share = confusion["n_shown_errors"] / confusion["n_errors"]
        blocks.append(
            Prose(
                f"Of {confusion['n_classes']:,} classes, those that are confused with each other "
                f"are shown together; these {len(groups)} groups contain {100 * share:.0f} % of "
                f"all {confusion['n_errors']:,} errors."
            )
        )
    largest = max(
        count
        for group in groups
        for i, row in enumerate(group["counts"])
        for j, count in enumerate(row)
        if i != j
    )
    for number, group in enumerate(groups, 1):
        n_inside = sum(
            count for i, row in enumerate(group["counts"]) for j, count in enumerate(row) if i != j
        )
        caption = (
            "Confusion matrix"
            if len(groups) == 1
            else f"Group {number}: {len(group['labels'])} classes, {n_inside:,} errors"
        )
        blocks.append(_heat_map(caption, group, largest, targets, is_last=number == len(groups)))
    blocks.append(_pair_table(confusion, targets))
    if targets:
        blocks += _pair_examples(confusion, targets)
    return blocks


def _heat_map(
    caption: str,
    group: Mapping[str, Any],
    largest: int,
    targets: Mapping[tuple[str, str], str],
    *,
    is_last: bool,
) -> HeatMap:
    labels = group["labels"]
    entries = []
    for i, row in enumerate(group["counts"]):
        entries.append(
            [
                Entry(
                    f"{count:,}" if count else "",
                    bar=count / largest if i != j else None,
                    href=f"#{targets[labels[i], labels[j]]}"
                    if (labels[i], labels[j]) in targets
                    else "",
                )
                for j, count in enumerate(row)
            ]
        )
    note = (
        "Rows are true classes, columns predicted ones. The darker, the more samples; dashed: "
        "correct predictions." + (" Numbers link to examples." if targets else "")
    )
    return HeatMap(
        caption=caption,
        corner="true ↓ predicted →",
        labels=labels,
        entries=entries,
        note=note if is_last else "",
    )


def _pair_table(confusion: Mapping[str, Any], targets: Mapping[tuple[str, str], str]) -> DataTable:
    pairs = confusion["pairs"][:20]
    largest = pairs[0]["n"]
    return DataTable(
        caption="Most frequent errors",
        columns=[
            TableColumn("true class"),
            TableColumn("predicted class"),
            TableColumn("samples", "bar"),
            TableColumn("share of the true class", "number"),
        ],
        rows=[
            [
                Entry(pair["true"]),
                Entry(pair["predicted"]),
                Entry(
                    f"{pair['n']:,}",
                    float(pair["n"]),
                    pair["n"] / largest,
                    href=f"#{targets[pair['true'], pair['predicted']]}"
                    if (pair["true"], pair["predicted"]) in targets
                    else "",
                ),
                _percent(pair["share"]),
            ]
            for pair in pairs
        ],
    )


def _pair_examples(
    confusion: Mapping[str, Any], targets: Mapping[tuple[str, str], str]
) -> list[Block]:
    items = [
        Samples(
            title=f"{pair['true']} predicted as {pair['predicted']} ({pair['n']:,})",
            id=targets[pair["true"], pair["predicted"]],
            is_folded=True,
            items=[
                Sample(
                    segments=[(row["text"] + ("…" if row["is_shortened"] else ""), 0.0)],
                    facts={
                        "id": row["id"],
                        pair["predicted"]: f"{100 * row['probability']:.0f} %",
                        pair["true"]: f"{100 * row['probability_true']:.0f} %",
                    },
                )
                for row in pair["examples"]
            ],
        )
        for pair in confusion["pairs"]
        if pair["examples"]
    ]
    return [Fold(f"Examples of the {len(items)} most frequent errors", items)]


def _confidence(summary: Mapping[str, Any]) -> list[Block]:
    if not summary["reliability"]:
        return []
    charts = [_reliability(summary), _abstention_chart(summary)]
    blocks: list[Block] = [Charts(charts)]
    targets = summary["abstention"]["targets"]
    if targets:
        rows = [
            [
                (f"{100 * row['accuracy']:.0f} %", row["accuracy"]),
                (f"{row['threshold']:.3f}", row["threshold"]),
                (f"{100 * row['coverage']:.1f} %", row["coverage"]),
                (f"{100 * (1 - row['coverage']):.1f} %", 1 - row["coverage"]),
            ]
            for row in targets
        ]
        blocks.append(
            text_table(
                "Thresholds of the probability",
                ["accuracy of the decided", "threshold", "decided", "left to people"],
                rows,
            )
        )
    return blocks


def _reliability(summary: Mapping[str, Any]) -> Chart:
    bins = summary["reliability"]
    title = "Reliability: are probabilities right?"
    gap = sum(b["n"] * (b["confidence"] - b["accuracy"]) for b in bins) / sum(b["n"] for b in bins)
    error = summary["scores"]["calibration_error"]
    direction = (
        "on average neither too high nor too low"
        if abs(gap) < 0.01
        else f"on average {abs(100 * gap):.1f} percentage points too {'high' if gap > 0 else 'low'}"
    )
    sentence = (
        f"Probabilities of the predicted class are {direction}; the mean gap over bins is "
        f"{100 * error:.1f} percentage points. Points on the dotted line are perfectly calibrated."
    )
    data = text_table(
        title,
        ["probability, %", "correct, %", "95 % interval", "samples"],
        [
            [
                100 * b["confidence"],
                100 * b["accuracy"],
                f"{100 * b['low']:.1f} to {100 * b['high']:.1f}",
                int(b["n"]),
            ]
            for b in bins
        ],
    )
    return Chart(
        title=title, svg=reliability_chart(bins, title=title), sentence=sentence, data=data
    )


def _abstention_chart(summary: Mapping[str, Any]) -> Chart:
    curve = summary["abstention"]["curve"]
    title = "Accuracy if the least certain predictions are left undecided"
    points = [
        LinePoint(
            100 * p["coverage"], 100 * p["accuracy"], 100 * p["accuracy"], 100 * p["accuracy"]
        )
        for p in curve
    ]
    svg = line_chart(
        {"accuracy": points},
        title=title,
        x_label="decided samples, %",
        y_label="correct among them, %",
        x_range=(0, 100),
        markers=False,
    )
    half = min(curve, key=lambda p: abs(p["coverage"] - 0.5))
    sentence = (
        f"On the {100 * half['coverage']:.0f} % of the samples with the highest probabilities, "
        f"{100 * half['accuracy']:.1f} % of the predictions are correct; on all, "
        f"{100 * curve[-1]['accuracy']:.1f} %."
    )
    data = text_table(
        title,
        ["decided, %", "correct, %"],
        [[p.x, p.y] for p in points[:: max(1, len(points) // 10)]],
    )
    return Chart(title=title, svg=svg, sentence=sentence, data=data)


def _learning_curve(summary: Mapping[str, Any]) -> list[Block]:
    return []


def _suspects(summary: Mapping[str, Any]) -> list[Block]:
    suspects = summary["suspects"]
    if not suspects or summary["source"] == "training":
        return []
    samples = [
        Sample(
            segments=[(row["text"] + ("…" if row["is_shortened"] else ""), 0.0)],
            facts={
                "id": row["id"],
                "label": f"{row['label']} ({100 * row['probability_label']:.1f} %)",
                "predicted": f"{row['predicted']} ({100 * row['probability']:.1f} %)",
            },
        )
        for row in suspects
    ]
    blocks: list[Block] = [
        Prose(
            "The model is certain that these labels are wrong. Either the label is a mistake, or "
            "the sample is a hard one; look at them first."
        ),
        Samples(
            title="Suspicious labels, the most certain first", items=samples[:_N_OPEN_SUSPECTS]
        ),
    ]
    if len(samples) > _N_OPEN_SUSPECTS:
        title = f"{len(samples) - _N_OPEN_SUSPECTS} more"
        blocks.append(Samples(title=title, items=samples[_N_OPEN_SUSPECTS:], is_folded=True))
    return blocks


def _explained(summary: Mapping[str, Any]) -> list[Block]:
    if not summary["explained"]:
        return []
    note = (
        "Words on blue argue for the predicted class, underlined words on orange against it; the "
        "stronger the color, the larger the contribution."
    )
    if summary["source"] != "test":
        note += (
            " Words are colored where the prediction is correct: the final model has been trained "
            "on these texts, so that it does not repeat the errors of the out-of-fold predictions. "
            "Errors are explained by the similar training samples."
        )
    by_kind: dict[str, list[Mapping[str, Any]]] = {}
    for row in summary["explained"]:
        by_kind.setdefault(row["kind"], []).append(row)
    samples = [
        Samples(title=kind[0].upper() + kind[1:], items=[_explained_sample(row) for row in rows])
        for kind, rows in by_kind.items()
    ]
    return [Prose(note, "note"), *samples]


def _explained_sample(row: Mapping[str, Any]) -> Sample:
    largest = max((abs(value) for _, value in row["segments"]), default=0.0) or 1.0
    # Faint colors of tiny contributions only distract.
    segments = [
        (text, value / largest if abs(value) >= _MIN_SHOWN * largest else 0.0)
        for text, value in row["segments"]
    ]
    if row["is_shortened"]:
        segments.append(("…", 0.0))
    details = []
    if row["contributions"]:
        details.append(
            text_table(
                f"Members: contributions to the {row['output'].replace('_', '-')} of "
                f"{row['predicted']}",
                ["member", "contribution", "method"],
                [
                    [each["name"], (f"{each['value']:+.3f}", each["value"]), each["method"]]
                    for each in row["contributions"]
                ],
            )
        )
    if row["member_probabilities"]:
        details.append(
            text_table(
                "Members: out-of-fold probabilities, %",
                ["member", row["predicted"], f"{row['label']} (label)"],
                [
                    [each["name"], 100 * each["predicted"], 100 * each["label"]]
                    for each in row["member_probabilities"]
                ],
            )
        )
    if row["neighbors"]:
        details.append(
            text_table(
                "Most similar training samples",
                ["sample", "label", "similarity", "shared terms"],
                [
                    [each["id"], each["label"], each["similarity"], ", ".join(each["terms"])]
                    for each in row["neighbors"]
                ],
            )
        )
    return Sample(
        segments=segments,
        facts={
            "id": row["id"],
            "label": row["label"],
            "predicted": f"{row['predicted']} ({100 * row['probability']:.0f} %)",
        },
        details=details,
    )


def _words(summary: Mapping[str, Any]) -> list[Block]:
    words = summary["words"]
    if not words:
        return []
    items = []
    for row in words["classes"]:
        if not row["for"] and not row["against"]:
            continue
        largest = max((abs(w["contribution"]) for w in (*row["for"], *row["against"])), default=1.0)
        items.append(
            WordList(
                str(row["label"]),
                [_weigh(word, largest) for word in row["for"]],
                [_weigh(word, largest) for word in row["against"]],
            )
        )
    note = words["note"][0].upper() + words["note"][1:] + "."
    return [WordLists(items), Prose(note, "note")] if items else []


def _weigh(word: Mapping[str, Any], largest: float) -> tuple[str, float, str]:
    n_texts = "" if word["n_texts"] is None else f", in {word['n_texts']:,} texts"
    hint = f"{word['contribution']:+.3f}{n_texts}"
    return word["word"], abs(word["contribution"]) / (largest or 1.0), hint


def _members(summary: Mapping[str, Any]) -> list[Block]:
    found = summary["members"]
    if found is None:
        return []
    rows = found["members"]
    has_scores = any("accuracy" in row for row in rows)
    has_sources = any(row["oof_source"] for row in rows)
    has_times = any("predict_seconds" in row for row in rows)
    has_loss = any("accuracy_loss" in row for row in rows)
    weights = [row["weight"] for row in rows if row["weight"] is not None]
    largest = max(map(abs, weights), default=1.0) or 1.0
    columns = [
        TableColumn("member"),
        *([TableColumn("weight", "bar", "in the final estimator")] if weights else []),
        *([TableColumn("accuracy", "number"), TableColumn("macro F1", "number")] * has_scores),
        *(
            [
                TableColumn("accuracy lost without it", "number", "percentage points"),
                TableColumn("log loss added without it", "number"),
            ]
            * has_loss
        ),
        *([TableColumn("CPU ms per prediction", "number")] * has_times),
        *([TableColumn("predictions for the stack")] * has_sources),
    ]
    entries = []
    for row in rows:
        entry = [Entry(row["name"], mark="dropped" if row["is_pruned"] else "")]
        if weights:
            entry.append(Entry(f"{row['weight']:.2f}", row["weight"], abs(row["weight"]) / largest))
        if has_scores:
            entry += [_percent(row.get("accuracy")), _percent(row.get("macro_f1"))]
        if has_loss:
            entry += [
                _change(row.get("accuracy_loss"), 100),
                _change(row.get("log_loss_increase"), 1),
            ]
        if has_times:
            seconds = row.get("predict_seconds")
            entry.append(
                Entry("–", "") if seconds is None else Entry(f"{1e3 * seconds:.2f}", seconds)
            )
        if has_sources:
            entry.append(Entry(_OOF_SOURCES.get(row["oof_source"], "")))
        entries.append(entry)
    blocks: list[Block] = [
        DataTable(
            caption=f"Members, combined by {found['combiner']}",
            columns=columns,
            rows=entries,
            note="Predictions for the stack: how the predictions on which the final estimator was "
            "trained were obtained."
            + (" Accuracy and F1 are out-of-fold." if has_scores else "")
            + (
                " What the stack would lose without a member is measured by fitting the final "
                "estimator to the others, on up to 3,000 samples in two folds; differences below "
                "half a percentage point are noise."
                if has_loss
                else ""
            ),
        )
    ]
    if found["disagreement"]:
        blocks.append(_diversity(found))
    return blocks


def _diversity(found: Mapping[str, Any]) -> HeatMap:
    matrix = found["disagreement"]
    largest = max(max(row) for row in matrix) or 1.0
    entries = [
        [
            Entry("" if i == j else f"{100 * value:.1f}", bar=None if i == j else value / largest)
            for j, value in enumerate(row)
        ]
        for i, row in enumerate(matrix)
    ]
    return HeatMap(
        caption="Diversity: samples that exactly one of two members predicts correctly, %",
        corner="",
        labels=found["names"],
        entries=entries,
        note="The more two members disagree, the more a combination of them can gain.",
    )


def _data(summary: Mapping[str, Any]) -> list[Block]:
    return [] if summary["findings"] is None else findings_blocks(summary["findings"])


def _card(summary: Mapping[str, Any]) -> list[Block]:
    provenance = summary["provenance"]
    facts = {
        "model": provenance["name"],
        "recipe": provenance["recipe"],
        "classifier": provenance["classifier"],
        "training data": provenance["data"],
        "training samples": f"{provenance['n_train']:,}" if provenance["n_train"] else None,
        "classes": ", ".join(summary["classes"][:_MAX_LABEL])
        + (" …" if len(summary["classes"]) > _MAX_LABEL else ""),
        "columns": "; ".join(
            f"{name}: {', '.join(value) if isinstance(value, list) else value}"
            for name, value in provenance["columns"].items()
        ),
        "created": provenance["created"],
        "fingerprint of the training data": provenance["fingerprint"],
        "versions": ", ".join(f"{name} {v}" for name, v in provenance["versions"].items()),
        **provenance["details"],
    }
    blocks: list[Block] = [Facts({name: str(value) for name, value in facts.items() if value})]
    if provenance["params"]:
        params = list(provenance["params"].items())
        blocks.append(
            Fold(
                f"{len(params)} parameters",
                [text_table("Parameters that are not None", ["parameter", "value"], params)],
            )
        )
    return blocks


def _percent(value: float | None) -> Entry:
    return Entry("–", "") if value is None else Entry(f"{100 * value:.1f} %", value)


def _change(change: float | None, factor: float) -> Entry:
    if change is None:
        return Entry("–", "")
    return Entry(f"{factor * change:+.{2 if factor == 100 else 3}f}", change)


def _join(names: Sequence[str]) -> str:
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)
