"""`cordwood demo`: what the library is for, on texts that every installation has."""

import time
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.svm import LinearSVC

from cordwood import recipes
from cordwood._base.wording import format_probability, shorten_line
from cordwood._user_dirs import create_private_dir, user_cache_dir
from cordwood.audit import audit_dataset
from cordwood.audit.suspects import Suspect
from cordwood.classifier.text_classifier import TextClassifier
from cordwood.cli.commands import Demo
from cordwood.cli.console import Console
from cordwood.cli.expected_scores import add_baselines
from cordwood.cli.explain import show_explanation, show_legend
from cordwood.cli.report import write_model_report
from cordwood.datasets.corpus import Corpus
from cordwood.datasets.docstrings import collect_docstrings
from cordwood.exceptions import DataError
from cordwood.explain import Explanation
from cordwood.metrics.baselines import TFIDF_SVM
from cordwood.metrics.scores import Evaluation, describe_difference, describe_share

CLASSES = ("dates", "files", "logging", "mail", "markup", "network", "numbers", "testing")
"""Subjects of the standard library whose texts differ clearly."""

_TEST_SIZE = 0.2
_MAX_ERROR = 0.05
_MAX_LENGTH = 160
_TYPICAL = 0.9
_N_CANDIDATES = 20


def demo(args: Demo) -> None:
    """Train on docstrings of the standard library, and show scores, reasons and doubts."""
    console = Console(as_json=args.json)
    start = time.perf_counter()
    with console.progress("reading docstrings") as progress:
        corpus = collect_docstrings(classes=CLASSES, progress=progress)
    rows = np.arange(len(corpus))
    parts = train_test_split(rows, test_size=_TEST_SIZE, stratify=corpus.labels, random_state=0)
    training, test = (corpus.select(np.sort(part)) for part in parts)
    classes = sorted(map(str, set(training.labels or ())))
    console.print(
        f"What is a docstring of Python's standard library about: {', '.join(classes)}? "
        f"{len(training):,} texts for training, {len(test):,} others for a test, drawn at random "
        "from the same modules."
    )
    with console.progress("training on all cores"):
        # Without an encoder, so that the demo is fast, and the same in all installations.
        model = TextClassifier(recipes.DEFAULT, encoder=None, n_jobs=-1).fit(training)
    add_baselines(console, model, training)
    expected = model.evaluation_
    assert expected is not None
    with console.progress("evaluating"):
        evaluation = model.evaluate(test)
        baseline = _score_baseline(training, test)
    _show_scores(console, expected, evaluation, baseline)
    explanation = _explain_one(model, training, test)
    _head(console, "Why? One of the correct predictions of the test, with the words that decided:")
    show_explanation(console, explanation)
    show_legend(console)
    with console.progress("looking for wrong labels"):
        suspects = audit_dataset(training, model=model).select("label error")
    _show_suspect(console, suspects)
    undecided = _show_undecided(console, model, test)
    report = None if args.json else _write_report(console, model, training)
    seconds = time.perf_counter() - start
    console.print()
    console.print(
        f"Done in {seconds:.1f} s. To train on a CSV file with the columns body and topic:"
    )
    console.print("cordwood train YOURS.csv --text body --label topic -o yours.cordwood")
    console.print_json(
        {
            "recipe": recipes.DEFAULT,
            "n_training_samples": len(training),
            "seconds": round(seconds, 3),
            **evaluation.to_dict(),
            "expected": expected.to_dict(),
            "baseline_accuracy": baseline,
            "explanation": explanation.to_dict(),
            "suspects": [vars(suspect) for suspect in suspects[:1]],
            "undecided": undecided,
            "report": report,
        }
    )


def _head(console: Console, line: str) -> None:
    console.print()
    console.print(line)


def _score_baseline(training: Corpus, test: Corpus) -> float:
    """Return the accuracy of scikit-learn's `LinearSVC` on TF-IDF."""
    pipeline = make_pipeline(TfidfVectorizer(), LinearSVC(random_state=0))
    return float(pipeline.fit(training.texts, training.labels).score(test.texts, test.labels))


def _show_scores(
    console: Console, expected: Evaluation, found: Evaluation, baseline: float
) -> None:
    other = expected.baselines.get(TFIDF_SVM)
    console.print()
    console.table(
        ("", "this model", TFIDF_SVM),
        [
            (
                "expected from the training texts",
                expected.sentence,
                "" if other is None else describe_share(other["accuracy"]),
            ),
            (f"in the test of {found.n_samples:,} texts", found.sentence, describe_share(baseline)),
        ],
    )
    console.print(f"{describe_difference(found.accuracy, expected.accuracy)}.")


def _explain_one(model: TextClassifier, training: Corpus, test: Corpus) -> Explanation:
    """Explain a short text that is predicted correctly, and neither certain nor doubtful."""
    predictions = model.classify(test)
    cost = np.abs(predictions.confidence - _TYPICAL)
    cost += predictions.labels != np.asarray(test.labels)
    cost += np.array([len(text) > _MAX_LENGTH for text in test.texts])
    candidates = test.select(np.argsort(cost, kind="stable")[:_N_CANDIDATES])
    found = model.explain(candidates, training=training)
    # The first one of those whose nearest training texts agree most.
    return max(found, key=lambda each: sum(n.label == each.prediction for n in each.neighbors[:3]))


def _show_suspect(console: Console, suspects: Any) -> None:
    if not suspects:
        _head(console, "No label of the training texts looks wrong.")
        return
    first: Suspect = suspects[0]
    _head(console, f"{len(suspects):,} labels of the training texts look wrong. The first:")
    sure = "" if first.confidence is None else f", {format_probability(first.confidence)} sure"
    console.print(f"“{shorten_line(first.text, _MAX_LENGTH, '…')}”")
    console.print(
        f"is labelled {first.label} ({first.id}); the model, without having seen it, predicts "
        f"{first.suggested_label}{sure}."
    )


def _show_undecided(console: Console, model: TextClassifier, test: Corpus) -> dict[str, int] | None:
    """Show how many texts are left undecided if few errors are allowed."""
    try:
        found = model.classify(test, max_error=_MAX_ERROR)
    except DataError as error:
        _head(console, f"No texts can be left undecided: {error}.")
        return None
    is_decided = np.ones(len(test), bool) if found.is_decided is None else found.is_decided
    n_wrong = int((found.labels != np.asarray(test.labels))[is_decided].sum())
    n_left, n_decided = int((~is_decided).sum()), int(is_decided.sum())
    _head(
        console,
        f"If at most {100 * _MAX_ERROR:.0f} of 100 labels may be wrong, the model leaves "
        f"{n_left:,} of {len(test):,} test texts to a person; of the other {n_decided:,}, "
        f"{n_wrong:,} are wrong ({format_probability(n_wrong / max(n_decided, 1))}).",
    )
    return {"n_undecided": n_left, "n_decided": n_decided, "n_wrong": n_wrong}


def _write_report(console: Console, model: TextClassifier, training: Corpus) -> str:
    """Write the report beside other files that may be deleted, not where the user works."""
    folder = user_cache_dir()
    create_private_dir(folder)
    target = folder / "demo.html"
    console.print()
    name = Path("docstrings")
    write_model_report(console, model, training, name, target, data="docstrings of Python")
    return str(target)
