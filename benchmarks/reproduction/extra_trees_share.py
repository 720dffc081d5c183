"""Scores of boosted forests by the share of rounds with extra-trees: figure 2 of SIGIR 2017.

Needs matplotlib, which the dependency group ``bench`` installs.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from matplotlib.figure import Figure

from cordwood.compare.runner.ledger import Ledger
from reproduction import canvas

LEDGERS = Path(__file__).parent / "ledgers"
METRICS = {"micro_f1": "micro-F1", "macro_f1": "macro-F1"}
TITLES = {"20ng": "20 Newsgroups", "webkb": "WebKB"}
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
    """Plot micro-F1 and macro-F1 against the share of extra-trees: a column per data set.

    All panels have the same scale, so that noise does not look like an effect.
    """
    figure = canvas.new_figure(3.2 * len(sets), 4.6)
    grid = figure.subplots(len(METRICS), len(sets), squeeze=False)
    spans = []
    for row, (metric, label) in enumerate(METRICS.items()):
        for axes, (name, scores) in zip(grid[row], sets.items(), strict=True):
            canvas.style_axes(axes)
            shares = [100 * score.share for score in scores]
            values = [100 * getattr(score, metric) for score in scores]
            axes.plot(shares, values, "o-", color=canvas.COLORS[0], markersize=4)
            axes.set_ylabel(f"{label}, %")
            axes.set_xticks(shares)
            spans.append((axes, min(values), max(values)))
            if row == 0:
                n_folds = scores[0].n_folds
                folds = "first fold" if n_folds == 1 else f"mean of {n_folds} folds"
                axes.set_title(f"{name}, {folds}", loc="left", fontsize=10)
            else:
                axes.set_xlabel("rounds with extra-trees, %")
    margin = 0.6 * max(high - low for _, low, high in spans)
    for axes, low, high in spans:
        axes.set_ylim((low + high) / 2 - margin, (low + high) / 2 + margin)
    return figure
