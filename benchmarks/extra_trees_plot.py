"""Do boosted forests improve with the share of extra-trees? Figure 2 of SIGIR'17.

    python dev.py bench extra_trees_plot

Reads the ledgers ``sigir17-extra-trees-*``; nothing is fitted. Writes the scores to
reproduction/figures and the plot to docs/pictures. Only folds that are finished for all shares
count.
"""

from pathlib import Path

from reproduction import canvas
from reproduction.extra_trees_share import TITLES, draw_shares, read_shares
from reproduction.figure_files import add_figures
from stopwatch import print_head, print_row

PLOT = Path(__file__).resolve().parents[1] / "docs" / "pictures" / "sigir17-extra-trees.svg"


def main() -> None:
    sets = {name: read_shares(name) for name in TITLES}
    for name, scores in sets.items():
        cells = {
            f"{100 * score.share:.0f} %": f"{100 * score.micro_f1:.1f} / {100 * score.macro_f1:.1f}"
            for score in scores
        }
        print_head(f"{name}, {scores[0].n_folds} of 5 folds", *cells)
        print_row("micro-F1 / macro-F1", *cells.values())
        add_figures("sigir17-extra-trees", name, {"n_folds": scores[0].n_folds, **cells})
    canvas.save(draw_shares({TITLES[name]: scores for name, scores in sets.items()}), PLOT)
    print(f"\nwrote {PLOT}")


if __name__ == "__main__":
    main()
