"""How often do two members disagree? Table 3 of SIGIR'17, and the same with further members.

    python dev.py bench member_disagreement [--set webkb] [--fold 0] [--folder FOLDER]

Normalized degree of disagreement as in the paper: the fraction of the errors of the more accurate
member that the other predicts correctly, on the test samples of one fold. The members have the
parameters of the plans of stacks. Prints the matrix and writes it to reproduction/figures with the
published one. The last line is the correlation of our figures with the published ones.
"""

import argparse
from pathlib import Path

import numpy as np

from cordwood.stacking.diversity import normalized_disagreement
from reproduction.figure_files import add_figures
from reproduction.member_fits import DEFAULT_FOLDER, fit_members
from reproduction.published import PAPER_NAMES
from reproduction.published_sigir17 import DISAGREEMENT
from reproduction.subsets import score_labels
from stopwatch import print_head, print_row, print_run

PAPER = ("boosted_et", "boosted_rf", "lazy_rf", "svm", "nb", "knn")
EXTRA = ("svm_ngrams", "nbsvm", "logistic", "embeddings")


def main(name: str, number: int, extra: list[str], folder: Path) -> None:
    print_run()
    fits = fit_members(name, folder, number=number, extra=extra)
    # The members of the paper's table first.
    order = sorted(fits.members, key=lambda member: (*PAPER, member).index(member))
    predictions = {member: fits.predict(member) for member in order}
    matrix = normalized_disagreement(predictions, fits.y_test, form="closed")
    names = [PAPER_NAMES.get(member, member) for member in order]
    ours = {
        first: {
            second: "–" if second == first else f"{matrix[i, j]:.2f}"
            for j, second in enumerate(names)
        }
        for i, first in enumerate(names)
    }
    scores = {}
    for member, predicted in zip(names, predictions.values(), strict=True):
        found = score_labels(fits.y_test, predicted)
        scores[member] = " / ".join(f"{100 * score:.1f}" for score in found)
    print_head("", *names[1:])
    for i, first in enumerate(names[:-1]):
        print_row(first, *(f"{matrix[i, j]:.2f}" if j > i else "" for j in range(1, len(names))))
    published = DISAGREEMENT.get(name, {})
    path = add_figures(
        "sigir17-disagreement",
        name,
        {
            "fold": number,
            "scores": scores,
            "ours": ours,
            # Ours and the published figure; empty on and below the diagonal.
            "beside the paper": {
                first: {
                    second: f"{ours[first][second]} ({published[first][second]})"
                    if second in published.get(first, {})
                    else ""
                    for second in names[1 : len(PAPER)]
                }
                for first in names[: len(PAPER) - 1]
            },
        },
    )
    print(f"\nwrote {path}")
    if published:
        pairs = [
            (matrix[names.index(first), names.index(second)], float(figure))
            for first, others in published.items()
            for second, figure in others.items()
        ]
        print(f"correlation with the paper: {np.corrcoef(np.transpose(pairs))[0, 1]:.2f}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Measure the disagreement of members.")
    parser.add_argument("--set", default="webkb")
    parser.add_argument("--fold", type=int, choices=range(5), default=0)
    parser.add_argument("--extra", nargs="*", default=EXTRA, help="recipes of further members")
    parser.add_argument("--folder", type=Path, default=DEFAULT_FOLDER)
    options = parser.parse_args()
    main(options.set, options.fold, list(options.extra), options.folder)
