"""Write the reports of the gallery: python docs/generate_gallery.py

One of each kind: the data set `docstrings`, a model of it with its learning curve, and the
comparison of the classifiers of SIGIR 2017 on four data sets.
"""

import json
from pathlib import Path

import numpy as np

from cordwood import train
from cordwood.compare.stats.comparison import compare
from cordwood.datasets.registry import load_dataset
from cordwood.inspection import estimate_learning_curve, oof_evaluation
from cordwood.reports import comparison_report, dataset_report, model_report

ROOT = Path(__file__).resolve().parent.parent
GALLERY = ROOT / "docs" / "gallery"
LEDGERS = ROOT / "benchmarks" / "reproduction" / "ledgers"
NAMES = ("webkb", "20ng", "ohsumed", "reut90")
LEARNERS = ("SVM", "NB", "KNN", "RF", "XT", "BROOF, aggregate", "BERT, aggregate", "BERT")


def main() -> None:
    GALLERY.mkdir(exist_ok=True)
    corpus = load_dataset("docstrings")
    dataset_report(corpus, name="docstrings").save(GALLERY / "dataset.html")
    records = [
        record
        for name in NAMES
        for line in (LEDGERS / f"sigir17-{name}.jsonl").read_text(encoding="utf-8").splitlines()
        if (record := json.loads(line))["trial"]["learner"] in LEARNERS
    ]
    comparison_report(compare(records), name="of SIGIR 2017").save(GALLERY / "comparison.html")
    training = corpus.subset("train")
    model = train(training, encoder=None, n_jobs=-1)
    curve = estimate_learning_curve(model, training.texts, np.array(training.labels), n_repeats=2)
    model_report(
        model,
        training,
        name="docstrings",
        data_name="dataset:docstrings, subset train",
        evaluation=oof_evaluation(model, training.texts),
        curve=curve,
    ).save(GALLERY / "model.html")
    for path in sorted(GALLERY.glob("*.html")):
        print(f"{path.relative_to(ROOT)}: {path.stat().st_size / 1e3:.0f} kB")


if __name__ == "__main__":
    main()
