"""Scores that the papers report, to show beside ours.

The scores are those of [2]_, tables 1, 2, 4, 5 and 7. The tables of [1]_ and [3]_ are missing in
the copies that were available. The data sets ``med`` (MEDLINE), ``acm`` and ``digg`` are not
public; ``spambase`` is most likely the paper's SPAM.

References
----------
.. [1] T. Salles et al., "BROOF: Exploiting Out-of-Bag Errors, Boosting and Random Forests for
   Effective Automated Classification", SIGIR 2015.
.. [2] R. Campos et al., "Stacking Bagged and Boosted Forests for Effective Automated
   Classification", SIGIR 2017.
.. [3] J. Leskovec, J. Shawe-Taylor, "Linear Programming Boosting for Uneven Datasets", ICML 2003.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from cordwood.compare.config.plan import Plan
from cordwood.compare.config.schema import LearnerConfig

PAPER_NAMES: Mapping[str, str] = MappingProxyType(
    {
        "boosted_et": "BERT",
        "boosted_rf": "BROOF",
        "lazy_rf": "LazyNN_RF",
        "lazy_et": "LXT",
        "et": "XT",
        "rf": "RF",
        "svm": "SVM",
        "nb": "NB",
        "knn": "KNN",
        "xgboost": "XGBoost",
        "adaboost": "AdaBoost",
        "adauboost": "AdaUBoost",
        "lpboost": "LPBoost",
        "lpuboost": "LPUBoost",
    }
)
"""The papers' names of recipes, which are the names of learners in the plans."""

# The same algorithms in scikit-learn.
_ESTIMATORS = {"learners.py:random_forest": "RF", "learners.py:extra_trees": "XT"}
_STACKS = {"stack_sigir17": "stack", "stack_forests": "forests"}

# Micro-F1 / macro-F1 in percent, by learner and data set.
_TABLE_1 = """
          20ng         webkb        acm          reut90       spambase     med
BERT      89.45/89.13  84.61/73.61  74.80/62.10  67.33/29.24  96.11/95.93  83.68/74.25
SVM       90.06/89.93  83.48/73.39  75.40/63.84  68.19/31.95  92.55/92.12  86.19/78.46
BROOF     87.96/87.44  84.41/73.23  73.35/60.76  66.79/28.48  96.09/95.90  83.05/73.25
XGBoost   81.88/81.38  85.52/74.44  73.78/62.79  65.21/29.06  95.08/94.84  84.19/76.81
LazyNN_RF 87.96/87.39  82.34/68.33  74.02/59.46  66.30/26.61  92.91/92.54  84.88/72.90
NB        88.99/88.68  62.63/51.38  73.54/58.03  65.32/27.86  79.27/78.18  82.92/63.80
KNN       87.53/87.22  75.63/60.34  70.99/55.85  68.07/29.93  83.31/82.91  82.16/68.00
XT        87.03/86.65  82.87/68.54  73.08/58.71  64.87/26.18  95.74/95.52  82.49/71.15
LXT       88.39/88.05  81.24/66.89  69.63/57.33  65.92/26.71  92.42/92.05  83.84/71.02
RF        83.64/83.08  81.52/65.44  71.05/56.56  63.92/24.36  95.46/95.22  81.61/70.41
"""
_TABLE_2 = """
          amazon       bbc          debate       digg         myspace
BERT      75.76/74.16  86.04/53.78  79.38/77.24  75.70/63.03  86.46/67.35
BROOF     74.52/73.02  86.17/55.04  79.23/77.07  76.34/65.56  86.57/67.93
NB        74.68/73.32  86.84/46.48  76.00/73.70  76.09/64.38  85.50/60.39
XT        73.88/72.10  86.58/52.35  79.33/76.93  76.85/60.84  85.64/65.24
SVM       74.24/72.84  86.43/50.34  78.58/76.20  75.58/60.96  86.23/67.94
RF        73.80/71.76  86.84/52.40  78.53/75.79  75.31/57.04  85.74/60.70
XGBoost   71.49/69.98  86.16/52.39  75.89/73.01  74.29/57.46  85.38/63.57
LXT       72.22/69.24  87.11/49.36  78.07/74.98  74.93/56.91  85.26/55.64
LazyNN_RF 72.30/69.00  87.37/50.19  76.35/72.89  76.21/58.90  85.14/55.55
KNN       69.86/67.64  86.44/46.36  74.03/72.25  74.80/52.77  85.49/56.07
"""
_TABLE_2_CONTINUED = """
          nyt          tweets       twitter      yelp         youtube
BERT      68.14/67.01  88.30/85.49  76.15/74.71  94.26/94.26  79.85/76.47
BROOF     68.01/66.85  88.11/85.36  75.01/73.73  93.58/93.58  79.69/76.18
NB        67.10/66.06  86.82/84.40  74.88/73.89  90.44/90.44  83.43/80.30
XT        67.43/66.03  86.46/83.00  75.19/73.26  91.74/91.73  79.65/76.22
SVM       66.34/65.48  86.87/84.10  74.53/73.15  92.94/92.94  82.24/77.99
RF        67.43/65.41  84.63/79.54  73.83/71.21  90.76/90.75  79.89/76.29
XGBoost   61.06/60.08  84.24/80.11  72.47/69.01  90.84/90.83  74.74/68.13
LXT       64.41/61.50  82.36/75.35  71.91/68.51  90.82/90.82  77.22/67.56
LazyNN_RF 64.64/61.61  80.86/73.53  70.86/67.49  90.18/90.17  76.48/66.40
KNN       60.61/54.92  77.34/68.14  67.02/64.08  74.50/73.83  75.74/67.27
"""
# Stacks: members, combiner, and "cv" if all out-of-fold predictions are by cross-validation.
_TABLE_4 = """
               20ng         webkb        acm          reut90       spambase     med
stack,rf,cv    92.21/92.01  86.85/79.43  79.02/66.25  80.76/39.28  96.06/95.87  88.76/81.62
stack,rf       92.21/92.01  86.85/79.43  79.02/66.25  80.76/39.28  96.06/95.87  88.76/81.62
forests,rf     90.63/90.40  86.79/79.63  77.83/63.42  80.00/38.66  96.13/95.94  87.10/79.36
SVM+NB+KNN,rf  90.65/90.42  84.95/75.86  77.78/65.08  78.53/37.10  93.67/93.37  87.96/80.33
SVM+BERT,rf    90.85/90.68  86.65/80.13  77.25/66.29  78.43/36.80  95.91/95.72  87.65/80.55
"""
_TABLE_5 = """
               amazon       bbc          debate       digg         myspace
stack,rf       75.60/74.44  86.84/51.56  80.14/77.86  76.47/65.80  86.10/68.27
forests,rf     75.60/74.44  86.84/50.03  79.89/77.41  75.96/62.71  86.94/68.88
SVM+NB+KNN,rf  75.37/74.14  86.70/46.44  78.83/76.71  77.50/64.84  86.09/65.98
SVM+BERT,rf    75.96/74.85  86.70/47.34  79.99/77.88  76.46/63.05  86.11/67.14
"""
_TABLE_5_CONTINUED = """
               nyt          tweets       twitter      yelp         youtube
stack,rf       68.10/67.35  89.16/87.08  75.71/74.83  94.82/94.82  83.93/81.11
forests,rf     67.79/66.87  89.01/86.63  76.23/75.26  94.22/94.22  81.50/77.63
SVM+NB+KNN,rf  67.41/66.53  88.35/86.07  75.32/74.24  93.84/93.84  84.13/81.05
SVM+BERT,rf    67.73/66.92  88.25/85.81  75.89/74.79  94.64/94.64  81.42/77.85
"""
# The stack whose forests use out-of-bag predictions, which replaces that of table 4, and other
# combiners.
_TABLE_7 = """
                 20ng         webkb        acm          reut90
stack,rf         92.24/92.04  86.87/79.35  78.99/65.75  80.25/40.80
stack,mlr        91.36/91.14  85.34/76.62  77.99/68.26  76.33/35.64
stack,templates  91.44/91.23  83.82/76.11  77.53/65.07  68.19/32.43
stack,voting     91.55/91.29  84.27/72.20  77.70/64.31  66.71/28.89
stack,scann      90.87/90.55  85.31/73.88  76.84/63.08  71.14/29.25
stack,vig        90.13/89.65  82.14/74.33  75.11/65.49  19.40/3.17
"""


@dataclass(frozen=True)
class Figure:
    """Scores that a paper reports of a learner on a data set.

    Parameters
    ----------
    micro_f1, macro_f1 : float
        Means over the folds, between 0 and 1.
    source : str
        Paper and table.
    """

    micro_f1: float
    macro_f1: float
    source: str


def find_figure(protocol: str | None, dataset: str, learner: LearnerConfig) -> Figure | None:
    """Return what the paper of a protocol reports of a learner, or None.

    Forests of scikit-learn have the scores of the same algorithms, and stacks those of the same
    members and combiner.

    Examples
    --------
    >>> find_figure("sigir17", "webkb", LearnerConfig(recipe="rf"))
    Figure(micro_f1=0.8152, macro_f1=0.6544, source='SIGIR 2017, table 1')
    >>> stack = LearnerConfig(recipe="stack_sigir17", params={"combiner": "vig"})
    >>> find_figure("sigir17", "webkb", stack).micro_f1
    0.8214
    >>> find_figure("sigir17", "webkb", LearnerConfig(recipe="quick")) is None
    True
    """
    return FIGURES.get(protocol or "", {}).get((dataset, _row_name(learner)))


def list_figures(plan: Plan) -> dict[tuple[str, str], Figure]:
    """Return the published scores of a plan's learners, by the names of data set and learner."""
    protocol = None if plan.protocol is None else Path(plan.protocol).stem
    figures = {
        (dataset.name, learner.name): find_figure(protocol, dataset.name, learner)
        for dataset in plan.datasets
        for learner in plan.learners
    }
    return {names: figure for names, figure in figures.items() if figure is not None}


def _row_name(learner: LearnerConfig) -> str:
    """Return the name of a learner's row in the tables."""
    if learner.recipe in _STACKS:
        members = "+".join(
            PAPER_NAMES.get(name, name) for name in learner.params.get("members", ())
        )
        source = [] if learner.params.get("classifier__use_oob", True) else ["cv"]
        parts = (members or _STACKS[learner.recipe], learner.params.get("combiner", ""), *source)
        return ",".join(parts)
    if "classifier__base" in learner.params:
        return ""  # A mixture of random forests and extra-trees.
    if learner.estimator is not None:
        return _ESTIMATORS.get(learner.estimator.rpartition("/")[2], "")
    return PAPER_NAMES.get(learner.recipe or "", "")


def _read_table(table: str, source: str) -> dict[tuple[str, str], Figure]:
    header, *rows = (line.split() for line in table.strip().splitlines())
    figures = {}
    for name, *cells in rows:
        for dataset, cell in zip(header, cells, strict=True):
            micro, macro = (round(float(percent) / 100, 4) for percent in cell.split("/"))
            figures[dataset, name] = Figure(micro, macro, source)
    return figures


FIGURES: Mapping[str, Mapping[tuple[str, str], Figure]] = MappingProxyType(
    {
        "sigir17": MappingProxyType(
            {
                **_read_table(_TABLE_1, "SIGIR 2017, table 1"),
                **_read_table(_TABLE_2, "SIGIR 2017, table 2"),
                **_read_table(_TABLE_2_CONTINUED, "SIGIR 2017, table 2"),
                **_read_table(_TABLE_4, "SIGIR 2017, table 4"),
                **_read_table(_TABLE_5, "SIGIR 2017, table 5"),
                **_read_table(_TABLE_5_CONTINUED, "SIGIR 2017, table 5"),
                **_read_table(_TABLE_7, "SIGIR 2017, table 7"),
            }
        )
    }
)
"""Published scores by protocol, then by data set and row of the table."""
