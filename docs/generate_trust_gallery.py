"""Write the examples of explanations, audits and confidence: python docs/generate_trust_gallery.py

The recipe `quick` on texts of the data set `docstrings`. Of the training texts, 5 % get the label
of another class, which the audit looks for.
"""

from dataclasses import replace
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
from matplotlib import pyplot as plt
from numpy.typing import NDArray

from cordwood import TextClassifier, audit_dataset
from cordwood.confidence import calibrate_sets
from cordwood.datasets.corpus import Corpus
from cordwood.datasets.registry import load_dataset
from cordwood.explain.html import render_page

ROOT = Path(__file__).resolve().parent.parent
GALLERY = ROOT / "docs" / "gallery"
PICTURE = ROOT / "docs" / "pictures" / "confidence.svg"
PAGE = GALLERY / "trust.md"

N_CLASSES, N_TRAIN, N_TEST = 8, 1000, 2000
N_EXPLAINED, N_SUSPECTS = 4, 8
SHARE_FLIPPED = 0.05
COVERAGES = np.array([0.6, 0.7, 0.8, 0.85, 0.9, 0.925, 0.95, 0.975, 0.99])
N_BINS = 10


def main() -> None:
    training, test = load()
    model = TextClassifier(encoder=None, n_jobs=-1).fit(training)
    proba = model.predict_proba(test.texts)
    y_test = np.searchsorted(model.classes_, np.asarray(test.labels))
    parts = [
        "# Explanation, audit and confidence\n",
        "Written by `docs/generate_trust_gallery.py`: the recipe `quick`, trained on "
        f"{len(training):,} texts of the {N_CLASSES}\nlargest classes of the data set "
        f"`docstrings`, with {len(test):,} test texts.\n",
        explain_texts(model, training, test),
        audit(training),
        show_confidence(model, proba, y_test),
    ]
    PAGE.write_text("\n".join(parts), encoding="utf-8")
    for path in (PAGE, GALLERY / "explanation.html", PICTURE):
        print(f"{path.relative_to(ROOT)}: {path.stat().st_size / 1e3:.0f} kB")


def load() -> tuple[Corpus, Corpus]:
    """Return random training and test texts of the largest classes."""
    corpus = load_dataset("docstrings")
    labels = np.asarray(corpus.labels)
    classes, counts = np.unique(labels, return_counts=True)
    largest = classes[np.argsort(-counts, kind="stable")[:N_CLASSES]]
    # The subset "test" has texts of other modules, for which coverage is not guaranteed.
    chosen = np.random.default_rng(0).permutation(np.flatnonzero(np.isin(labels, largest)))
    training, test = chosen[:N_TRAIN], chosen[N_TRAIN:][:N_TEST]
    return corpus.select(np.sort(training)), corpus.select(np.sort(test))


def explain_texts(model: Any, training: Corpus, test: Corpus) -> str:
    """Write the page of explanations; return a section with a link to it."""
    rng = np.random.default_rng(1)
    chosen = rng.choice(len(test), N_EXPLAINED, replace=False).tolist()
    explanations = model.explain(test.select(chosen), training=training)
    words = model.explain_classes(test.texts[:300], n_words=5)
    fragment = explanations._repr_html_() + words._repr_html_()
    page = render_page(fragment, "Why a model of docstrings predicts what it predicts")
    (GALLERY / "explanation.html").write_text(page, encoding="utf-8")
    rows = [
        f"| {each.prediction} | {each.proba.max():.2f} | "
        + ", ".join(f"{escape(word)} ({value:+.2f})" for word, value in each.top_words(n=6))
        + " |"
        for each in explanations
    ]
    return "\n".join(
        [
            "## Explanation\n",
            "The words that contribute most to the predicted class of some test texts, in log-odds."
            "\nThe texts with colored words, and the words of each class:",
            "[explanation.html](explanation.html).\n",
            "| predicted | probability | words |",
            "|:--|--:|:--|",
            *rows,
            "",
        ]
    )


def audit(training: Corpus) -> str:
    """Change some labels; return a section with what the audit finds."""
    rng = np.random.default_rng(2)
    labels = np.asarray(training.labels)
    flipped = rng.choice(len(labels), round(SHARE_FLIPPED * len(labels)), replace=False)
    changed = labels.copy()
    for i in flipped.tolist():
        changed[i] = rng.choice(np.setdiff1d(labels, [labels[i]]))
    data = replace(training, labels=tuple(changed.tolist()))
    found = audit_dataset(data, model=TextClassifier(encoder=None, n_jobs=-1).fit(data))
    suspects = [each for each in found.suspects if each.kind == "label error"]
    hits = sum(each.index in set(flipped.tolist()) for each in suspects)
    rows = [
        f"| {changed[each.index]} | {labels[each.index]} | {each.suggested_label} | "
        f"{escape(each.reason)} |"
        for each in suspects[:N_SUSPECTS]
    ]
    counts = ", ".join(f"{kind}: {n}" for kind, n in found.counts.items())
    return "\n".join(
        [
            "## Audit\n",
            f"The labels of {len(flipped)} texts were changed. The audit reports {len(suspects)} "
            f"label errors; {hits} of them\nare changed labels. All findings: {counts}.\n",
            "| label | before the change | suggested | reason |",
            "|:--|:--|:--|:--|",
            *rows,
            "",
        ]
    )


def show_confidence(model: Any, proba: NDArray[np.float64], y: NDArray[np.intp]) -> str:
    """Draw calibration and coverage on the test texts; return a section with the picture."""
    matplotlib.rcParams["svg.hashsalt"] = "cordwood"
    calibration = calibrate_sets(model.oof_.proba, model.oof_.y)
    covered, sizes = [], []
    for coverage in COVERAGES.tolist():
        exact = calibration.predict_set(proba, coverage, allow_empty=True)
        covered.append(float(exact[np.arange(len(y)), y].mean()))
        sizes.append(float(calibration.predict_set(proba, coverage).sum(axis=1).mean()))
    confidence, is_correct = proba.max(axis=1), proba.argmax(axis=1) == y
    bins = np.array_split(np.argsort(confidence), N_BINS)
    figure, (left, middle, right) = plt.subplots(1, 3, figsize=(10, 3.3), layout="constrained")
    for axes in (left, middle):
        axes.plot([0, 1], [0, 1], color="0.6", linewidth=1, linestyle="--")
    means = [confidence[part].mean() for part in bins], [is_correct[part].mean() for part in bins]
    left.plot(*means, marker="o", color="#1f5fa8")
    left.set(xlabel="probability of the predicted class", ylabel="accuracy", title="Calibration")
    middle.plot(COVERAGES, covered, marker="o", color="#1f5fa8")
    low = COVERAGES.min() - 0.05
    middle.set(xlim=(low, 1.01), ylim=(low, 1.01), title="Prediction sets")
    middle.set(xlabel="requested coverage", ylabel="measured coverage")
    right.plot(COVERAGES, sizes, marker="o", color="#1f5fa8")
    right.set(xlabel="requested coverage", ylabel="labels per set", title="Size of the sets")
    figure.savefig(PICTURE, metadata={"Date": None})
    plt.close(figure)
    rows = [
        f"| {100 * coverage:g} % | {100 * share:.1f} % | {size:.2f} |"
        for coverage, share, size in zip(COVERAGES.tolist(), covered, sizes, strict=True)
        if coverage >= 0.9
    ]
    return "\n".join(
        [
            "## Confidence\n",
            "Left: accuracy of the test texts by the probability of the predicted class, in ten "
            "groups of equal\nsize. Middle and right: how often prediction sets contain the true "
            "label, and how many labels they\nhave. The thresholds come from the training texts "
            "alone.\n",
            "![Calibration, coverage and size of prediction sets](../pictures/confidence.svg)\n",
            "| requested coverage | measured | labels per set |",
            "|--:|--:|--:|",
            *rows,
            "",
        ]
    )


def escape(text: str) -> str:
    """Escape the characters of Markdown tables."""
    return text.replace("\\", "\\\\").replace("|", "\\|").replace("`", "'")


if __name__ == "__main__":
    main()
