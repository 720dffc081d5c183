"""Write the reports of the gallery: python docs/generate_gallery.py

One of each kind: the audit of the data set `docstrings`, a model of it with its learning curve, and
the comparison of the classifiers of SIGIR 2017 on four data sets. Their pictures are taken with
selenium, chromium and chromedriver.
"""

import base64
import json
import shutil
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from selenium import webdriver

from cordwood import TextClassifier, audit_dataset, dataset_report
from cordwood.compare import comparison_report
from cordwood.compare.stats.comparison import compare
from cordwood.datasets.registry import load_dataset
from cordwood.metrics import estimate_learning_curve
from cordwood.metrics.baselines import score_baselines
from cordwood.reports.model_summary import Provenance
from cordwood.reports.report import Report, model_report

ROOT = Path(__file__).resolve().parent.parent
GALLERY = ROOT / "docs" / "gallery"
PICTURES = ROOT / "docs" / "pictures"
LEDGERS = ROOT / "benchmarks" / "reproduction" / "ledgers"
NAMES = ("webkb", "20ng", "ohsumed", "reut90")
LEARNERS = ("SVM", "NB", "KNN", "RF", "XT", "BROOF, aggregate", "BERT, aggregate", "BERT")

WIDTH = 1100
# The part of each page that its picture shows: from the top of the first element to the bottom of
# the second.
PARTS = {
    "model": ("header", "#next"),
    "comparison": ("#ranks", "#time"),
    "dataset": ("header", "#findings"),
}


def main() -> None:
    """Write the pages and their pictures."""
    GALLERY.mkdir(exist_ok=True)
    for name, report in make_reports().items():
        report.save(GALLERY / f"{name}.html")
    take_pictures()
    for path in (*sorted(GALLERY.glob("*.html")), *sorted(PICTURES.glob("report-*.png"))):
        print(f"{path.relative_to(ROOT)}: {path.stat().st_size / 1e3:.0f} kB")


def make_reports() -> Mapping[str, Report[Any]]:
    """Return one report of each kind."""
    training = load_dataset("docstrings").subset("train")
    # Docstrings of a module resemble each other, and new texts are of other modules.
    groups = np.array(training.groups)
    model: Any = TextClassifier(encoder=None, n_jobs=-1).fit(training, groups=groups)
    baselines = score_baselines(training.texts, model.oof_)
    model.evaluation_ = replace(model.evaluation_, baselines=baselines)
    labels = np.array(training.labels)
    curve = estimate_learning_curve(model, training.texts, labels, groups=groups, n_repeats=2)
    records = [
        record
        for name in NAMES
        for line in (LEDGERS / f"sigir17-{name}.jsonl").read_text(encoding="utf-8").splitlines()
        if (record := json.loads(line))["trial"]["learner"] in LEARNERS
    ]
    audit = audit_dataset(training, model=model)
    data = "dataset:docstrings, subset train"
    provenance = Provenance(name="docstrings", data=data, curve=curve)
    return {
        "model": model_report(model, training, provenance),
        "comparison": comparison_report(compare(records), name="of SIGIR 2017"),
        "dataset": dataset_report(training, name="docstrings", audit=audit),
    }


def take_pictures() -> None:
    """Take a picture of the beginning of each page."""
    browser, driver = shutil.which("chromium"), shutil.which("chromedriver")
    options = webdriver.ChromeOptions()
    options.binary_location = browser or ""
    with TemporaryDirectory() as profile:
        for flag in ("headless", "no-sandbox", "hide-scrollbars", f"user-data-dir={profile}"):
            options.add_argument(f"--{flag}")
        window = webdriver.Chrome(options=options, service=webdriver.ChromeService(driver))
        size = {"width": WIDTH, "height": 900, "deviceScaleFactor": 1, "mobile": False}
        window.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        for name, (first, last) in PARTS.items():
            window.get((GALLERY / f"{name}.html").as_uri())
            top, bottom = window.execute_script(
                "const [first, last] = Array.from(arguments, css => document.querySelector(css)"
                "  .getBoundingClientRect()); return [first.top, last.bottom]",
                first,
                last,
            )
            clip = {"x": 0, "y": top - 16, "width": WIDTH, "height": bottom - top + 32, "scale": 1}
            parameters = {"captureBeyondViewport": True, "clip": clip}
            taken = window.execute_cdp_cmd("Page.captureScreenshot", parameters)
            picture = base64.b64decode(taken["data"])
            (PICTURES / f"report-{name}.png").write_bytes(picture)
        window.quit()


if __name__ == "__main__":
    main()
