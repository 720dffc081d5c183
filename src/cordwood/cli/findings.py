"""Check of labelled data before training, as shown by commands."""

from cordwood.audit.dataset_check import Finding, check_dataset
from cordwood.cli.console import Console
from cordwood.datasets.corpus import Corpus, FeatureMatrix
from cordwood.exceptions import DataError


def show_findings(
    console: Console, samples: Corpus | FeatureMatrix, *, strict: bool
) -> tuple[Finding, ...]:
    """Check the data and print a warning for each finding; raise for the first if `strict`."""
    with console.progress("checking the data"):
        findings = check_dataset(samples).findings
    if strict and findings:
        more = f" (and {len(findings) - 1} more findings)" if len(findings) > 1 else ""
        raise DataError(f"{findings[0].message}{more}; or train without --strict")
    for finding in findings:
        console.field("warning", finding.message)
    return findings
