"""Figures of SIGIR 2017 besides scores: disagreement, time and Pareto fronts of stacks.

Names of members are those of `published.PAPER_NAMES`. The data sets ACM and MEDLINE are not public;
tables are complete for the others.

References
----------
R. Campos et al., "Stacking Bagged and Boosted Forests for Effective Automated Classification",
SIGIR 2017, tables 3 and 6, figure 3.
"""

from collections.abc import Mapping
from types import MappingProxyType

# Normalized degree of disagreement.
_TABLE_3_WEBKB = """
          BROOF LazyNN_RF SVM  NB   KNN
BERT      0.12  0.29      0.30 0.32 0.33
BROOF     -     0.29      0.32 0.32 0.33
LazyNN_RF -     -         0.31 0.32 0.19
SVM       -     -         -    0.27 0.30
NB        -     -         -    -    0.33
"""
_TABLE_3_20NG = """
          BROOF LazyNN_RF SVM  NB   KNN
BERT      0.15  0.23      0.28 0.39 0.35
BROOF     -     0.26      0.24 0.41 0.42
LazyNN_RF -     -         0.29 0.43 0.38
SVM       -     -         -    0.37 0.36
NB        -     -         -    -    0.39
"""
# Seconds of training and test.
_TABLE_6 = """
                     20ng  webkb reut90
stack,rf             7244  2413  13163
stack,rf,CV          20479 7358  29256
stack,mlr,CV         21455 7334  29131
stack,templates,CV   20448 7327  27124
stack,scann,CV       21651 7330  29007
stack,vig,CV         20620 7499  30296
stack,voting         2921  1046  4017
"""


def _read_pairs(table: str) -> Mapping[str, Mapping[str, str]]:
    header, *rows = (line.split() for line in table.strip().splitlines())
    return MappingProxyType(
        {
            name: MappingProxyType(
                {other: cell for other, cell in zip(header, cells, strict=True) if cell != "-"}
            )
            for name, *cells in rows
        }
    )


def _read_seconds(table: str) -> Mapping[str, Mapping[str, int]]:
    header, *rows = (line.split() for line in table.strip().splitlines())
    return MappingProxyType(
        {
            dataset: MappingProxyType(
                {name.replace(",", ", "): int(cells[column]) for name, *cells in rows}
            )
            for column, dataset in enumerate(header)
        }
    )


DISAGREEMENT: Mapping[str, Mapping[str, Mapping[str, str]]] = MappingProxyType(
    {"webkb": _read_pairs(_TABLE_3_WEBKB), "20ng": _read_pairs(_TABLE_3_20NG)}
)
"""Table 3: by data set, and by the names of two members, with two digits."""

STRATEGY_SECONDS: Mapping[str, Mapping[str, int]] = _read_seconds(_TABLE_6)
"""Table 6: by data set and strategy; "CV" is cross-validation of all members."""

PARETO_FRONTS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "20ng": (
            "LXT NB",
            "LazyNN_RF NB",
            "SVM KNN",
            "LXT SVM NB",
            "LazyNN_RF SVM NB",
            "LXT SVM NB KNN",
            "LXT SVM NB KNN XT",
            "LazyNN_RF BERT LXT SVM NB KNN",
            # "FA" in the paper, most likely the Portuguese initials of random forest.
            "LazyNN_RF LXT SVM NB KNN RF",
        ),
        "webkb": ("BERT SVM", "BERT LXT SVM", "BROOF BERT SVM KNN", "BERT SVM NB"),
    }
)
"""Figure 3: members of the stacks on the Pareto front, by data set."""
