"""What each command takes: one record a command, whose fields are its arguments and options.

Nothing heavy is imported here, so that `cordwood COMMAND --help` is quick. The module of the
command's name does the work, and is loaded only when there is some.
"""

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from cordwood.cli import options

# As `cordwood.recipes` has them; to import them takes seconds, and a test compares the two.
DEFAULT_RECIPE = "quick"
SAVABLE_RECIPES = {
    "svm": "linear support vector machine on TF-IDF",
    "svm_ngrams": "linear support vector machine on word pairs and characters",
    "nbsvm": "ngrams, where those that tell classes apart count more",
    "rf": "random forest",
    "et": "extra-trees",
    "boosted_rf": "random forests boosted by their out-of-bag error",
    "boosted_et": "extra-trees boosted by their out-of-bag error",
    "adarf": "random forests boosted by their error on all documents",
    "lazy_rf": "a random forest for each query, on its nearest neighbours",
    "lazy_et": "extra-trees for each query, on its nearest neighbours",
    "adaboost": "AdaBoost.MH of word rules",
    "adauboost": "AdaUBoost of word rules, for rare classes",
    "lpboost": "LPBoost of word rules",
    "lpuboost": "LPUBoost of word rules, for rare classes",
    "stack_sigir17": "the nine learners of SIGIR'17, stacked by their out-of-bag rows",
    "best": "the nine of stack and nbsvm, stacked: most often right, takes minutes",
    "stack_forests": "boosted and lazy forests, stacked by their out-of-bag rows",
    "quick": "learners that take seconds, stacked",
    "adaboost_m2": "stumps boosted by AdaBoost.M2",
    "adaboost_m2_trees": "full trees boosted by AdaBoost.M2",
    "nb": "naive Bayes: multinomial, complement or Gaussian",
    "knn": "nearest neighbours by cosine on TF-IDF",
    "logistic_ngrams": "logistic regression on word pairs and characters",
    "logistic": "logistic regression on TF-IDF",
}


class Test(StrEnum):
    """How learners are told from the best."""

    PAIRED_T = "paired_t"
    CORRECTED_T = "corrected_t"
    WILCOXON = "wilcoxon"


@dataclass(frozen=True, kw_only=True)
class Demo:
    """See the whole thing work, on text that is on every machine.

    Trains on documentation strings of the installed libraries, labelled by what they document,
    and shows how well it labels those that it has not seen.

    Example: cordwood demo
    """

    json: options.Json = False


@dataclass(frozen=True, kw_only=True)
class Train:
    """Learn from labelled rows and write a model file.

    The model remembers the columns that it was trained on; `predict` and `evaluate` look for
    the same ones.

    Example: cordwood train reviews.csv --text body --label topic -o reviews.cordwood
    """

    data: options.Data
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            metavar="MODEL",
            help="The model file to write; one that stands there is replaced. "
            "[default: DATA's name with .cordwood]",
            show_default=False,
        ),
    ] = None
    text: options.TextColumns = None
    label: options.LabelColumn = None
    id: options.IdColumn = None
    part: options.Part = None
    recipe: Annotated[
        str,
        typer.Option(
            "--recipe",
            metavar="NAME",
            help="How to learn: "
            + "; ".join(f"{name}, {what}" for name, what in SAVABLE_RECIPES.items())
            + ".",
        ),
    ] = DEFAULT_RECIPE
    set: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="NAME=VALUE",
            help="Set a parameter of the recipe, such as C=0.5 or vectorizer__min_df=2; may be "
            "repeated.",
            show_default=False,
        ),
    ] = None
    seed: Annotated[
        int, typer.Option("--seed", metavar="NUMBER", help="The same seed gives the same model.")
    ] = 0
    encoding: options.Encoding = "utf-8"
    format: options.Format = None
    delimiter: options.Delimiter = None
    on_bad_rows: options.BadRows = options.OnBadRows.RAISE
    data_dir: options.DataDir = None
    json: options.Json = False
    quiet: options.Quiet = False


@dataclass(frozen=True, kw_only=True)
class Predict:
    """Label new rows with a model.

    Writes id, label and the label's probability for each row, in the order of the rows, a
    batch at a time: a file may be larger than memory.

    Example: cordwood predict reviews.cordwood new.csv -o labels.csv
    """

    model: options.Model
    data: options.Data
    output: Annotated[
        str,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            help="The .csv or .jsonl file to write; one that stands there is replaced. "
            "- is standard output.",
        ),
    ] = "-"
    all_probabilities: Annotated[
        bool,
        typer.Option(
            "--all-probabilities",
            help="Write the probability of every class, in columns called probability:CLASS.",
        ),
    ] = False
    text: options.TextColumns = None
    id: options.IdColumn = None
    encoding: options.Encoding = "utf-8"
    format: options.Format = None
    delimiter: options.Delimiter = None
    on_bad_rows: options.BadRows = options.OnBadRows.RAISE
    data_dir: options.DataDir = None
    json: Annotated[
        bool,
        typer.Option(
            "--json",
            help="Print JSON lines instead of CSV; with -o FILE, one JSON object that sums up.",
        ),
    ] = False
    quiet: options.Quiet = False


@dataclass(frozen=True, kw_only=True)
class Evaluate:
    """Compare a model's labels with the true ones.

    Prints micro F1 (with one label a row: the accuracy), macro F1, precision, recall and F1
    of each class, and the confusion table.

    Example: cordwood evaluate reviews.cordwood held-out.csv
    """

    model: options.Model
    data: options.Data
    text: options.TextColumns = None
    label: options.LabelColumn = None
    id: options.IdColumn = None
    part: options.Part = None
    encoding: options.Encoding = "utf-8"
    format: options.Format = None
    delimiter: options.Delimiter = None
    on_bad_rows: options.BadRows = options.OnBadRows.RAISE
    data_dir: options.DataDir = None
    json: options.Json = False


@dataclass(frozen=True, kw_only=True)
class Compare:
    """Compare learners on data sets, with statistics that hold.

    May be stopped at any moment, even killed: the same command goes on where it was. Several
    may run on one ledger.

    Example: cordwood compare --quick reviews.csv --text body --label topic
    """

    plan: Annotated[
        Path | None,
        typer.Argument(
            metavar="PLAN",
            help="A TOML file that says which learners are compared on which data sets, and how.",
            show_default=False,
        ),
    ] = None
    quick: Annotated[
        str | None,
        typer.Option(
            "--quick",
            metavar="DATA",
            help="Compare our recipes with the usual baselines on this file, or on dataset:NAME, "
            "without a plan.",
            show_default=False,
        ),
    ] = None
    text: options.TextColumns = None
    label: options.LabelColumn = None
    ledger: Annotated[
        Path | None,
        typer.Option(
            "--ledger",
            metavar="FILE",
            help="Where results are kept: what is in it is not done again. [default: PLAN's name "
            "with .jsonl; with --quick, nothing is kept]",
            show_default=False,
        ),
    ] = None
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            help="Write the tables to a .md, .csv or .tex file as well.",
            show_default=False,
        ),
    ] = None
    plots: Annotated[
        Path | None,
        typer.Option(
            "--plots",
            metavar="FOLDER",
            help="Draw time against effectiveness, critical differences and learning curves, as "
            "SVG.",
            show_default=False,
        ),
    ] = None
    jobs: Annotated[
        int,
        typer.Option("--jobs", "-j", metavar="NUMBER", help="Units at a time; -1 for all cores."),
    ] = 1
    cluster: Annotated[
        str | None,
        typer.Option(
            "--cluster",
            metavar="ADDRESS",
            help="Let the workers of a Dask cluster do the units, such as tcp://host:8786.",
            show_default=False,
        ),
    ] = None
    show: Annotated[
        bool, typer.Option("--show", help="Do nothing; only show what the ledger has of the plan.")
    ] = False
    retry_errors: Annotated[
        bool, typer.Option("--retry-errors", help="Try again what has failed before.")
    ] = False
    test: Annotated[
        Test,
        typer.Option(
            "--test",
            metavar="paired_t|corrected_t|wilcoxon",
            help="How learners are told from the best of a data set: as the papers do, with the "
            "correction for overlapping training rows, or by signed ranks.",
        ),
    ] = Test.PAIRED_T
    data_dir: options.DataDir = None
    json: options.Json = False
    quiet: options.Quiet = False


@dataclass(frozen=True, kw_only=True)
class Datasets:
    """List the data sets within reach, look into one, or export it.

    Commands that take DATA take a data set of this list as dataset:NAME.

    Example: cordwood datasets docstrings --export docstrings.csv
    """

    name: Annotated[
        str | None,
        typer.Argument(
            metavar="NAME",
            help="The data set to look into; without a name, all are listed.",
            show_default=False,
        ),
    ] = None
    export: Annotated[
        Path | None,
        typer.Option(
            "--export",
            metavar="FILE",
            help="Write the data set's rows to a .csv or .jsonl file.",
            show_default=False,
        ),
    ] = None
    data_dir: options.DataDir = None
    json: options.Json = False


RECORDS = {
    "demo": Demo,
    "train": Train,
    "predict": Predict,
    "evaluate": Evaluate,
    "compare": Compare,
    "datasets": Datasets,
}
