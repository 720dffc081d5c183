"""Scores of boosted forests by the share of rounds with extra-trees: figure 2 of SIGIR 2017.

Needs matplotlib, which the extra ``plots`` installs.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from matplotlib.figure import Figure

from cordwood.compare.report import _figure as canvas
from cordwood.compare.runner.ledger import Ledger

LEDGERS = Path(__file__).parent / "ledgers"
METRICS = {"micro_f1": "micro-F1", "macro_f1": "macro-F1"}
_SHARES = {"boosted_rf": 0.0, "boosted_et": 1.0}


class ShareScore(NamedTuple):
    """Scores at one share of extra-trees.

    Parameters
    ----------
    share : float
        Of the rounds, between 0 (BROOF) and 1 (BERT).
    n_folds : int
        Number of finished folds that all shares have.
    micro_f1, macro_f1 : float
        Means over these folds.
    """

    share: float
    n_folds: int
    micro_f1: float
    macro_f1: float


def read_shares(name: str, folder: Path = LEDGERS) -> list[ShareScore]:
    """Return the scores of the ledger ``sigir17-extra-trees-NAME``, by increasing share.

    Only folds that are finished for all shares count, so that the means are comparable.
    """
    found: dict[float, dict[int, Mapping[str, float]]] = defaultdict(dict)
    for record in Ledger(folder / f"sigir17-extra-trees-{name}.jsonl").records():
        trial = record["trial"]
        share = trial["params"].get("classifier__base", _SHARES[trial["recipe"]])
        found[share][trial["fold"]] = record["scores"]
    folds = sorted(set.intersection(*(set(by_fold) for by_fold in found.values())))
    scores = {
        share: np.array([[found[share][fold][metric] for metric in METRICS] for fold in folds])
        for share in sorted(found)
    }
    return [
        ShareScore(share, len(folds), *values.mean(axis=0).tolist())
        for share, values in scores.items()
    ]


def draw_shares(sets: Mapping[str, Sequence[ShareScore]]) -> Figure:
    """Plot micro-F1 and macro-F1 against the share of extra-trees, one panel per data set."""
    figure = canvas.new_figure(3.2 * len(sets), 2.8)
    panels = figure.subplots(1, len(sets), squeeze=False)[0]
    for axes, (name, scores) in zip(panels, sets.items(), strict=True):
        canvas.style_axes(axes)
        shares = [100 * score.share for score in scores]
        for (metric, label), color, marker in zip(
            METRICS.items(), canvas.COLORS, "os", strict=False
        ):
            values = [100 * getattr(score, metric) for score in scores]
            axes.plot(shares, values, marker + "-", color=color, markersize=4, label=label)
        axes.set_title(f"{name}, mean of {scores[0].n_folds} folds", loc="left", fontsize=10)
        axes.set_xlabel("rounds with extra-trees, %")
        axes.set_ylabel("F1, %")
        axes.set_xticks(shares)
        axes.margins(0.06, 0.12)
        axes.legend(fontsize=canvas.FONT_SIZE, frameon=False, loc="best")
    return figure
