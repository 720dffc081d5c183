"""Arguments and options of the commands: one record per command.

This module imports nothing heavy, so that `cordwood COMMAND --help` is fast. The module named
after a command implements it and is imported only to run it.
"""

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from cordwood.cli import options
from cordwood.cli.options import argument, option
from cordwood.datasets.options import ReadOptions

# Copies of values in `cordwood.recipes`, whose import takes seconds; a test compares them.
DEFAULT_RECIPE = "quick"
SAVABLE_RECIPES = {
    "svm": "linear SVM on TF-IDF of words",
    "svm_ngrams": "linear SVM on word bigrams and character n-grams",
    "nbsvm": "svm_ngrams with features scaled by naive Bayes log-count ratios",
    "rf": "random forest",
    "et": "extra-trees",
    "boosted_rf": "random forests boosted by their out-of-bag error (BROOF)",
    "boosted_et": "extra-trees boosted by their out-of-bag error (BERT of SIGIR 2017)",
    "adarf": "random forests boosted by their training error (ADARF)",
    "lazy_rf": "random forest per query on its nearest neighbors (LazyNN_RF)",
    "lazy_et": "extra-trees per query on its nearest neighbors (LXT)",
    "adaboost": "AdaBoost.MH of single-word rules",
    "adauboost": "AdaUBoost of single-word rules, for rare classes",
    "lpboost": "LPBoost of single-word rules",
    "lpuboost": "LPUBoost of single-word rules, for rare classes",
    "stack_sigir17": "stack of the nine classifiers of SIGIR 2017",
    "stack_forests": "stack of boosted and lazy forests",
    "quick": "stack of nbsvm, nb, knn and rf, the recommendation",
    "adaboost_m2": "AdaBoost.M2 of decision stumps",
    "adaboost_m2_trees": "AdaBoost.M2 of fully grown trees",
    "nb": "multinomial, complement or Gaussian naive Bayes",
    "knn": "nearest neighbors by cosine similarity of TF-IDF",
    "logistic_ngrams": "logistic regression on word bigrams and character n-grams",
    "logistic": "logistic regression on TF-IDF of words",
    "embeddings": "logistic regression on sentence embeddings",
    "lexicon": "logistic regression on polarity scores of a lexicon",
}
UNSAVABLE_RECIPES = ("lightgbm", "brf", "xgboost")


class Test(StrEnum):
    """Significance test against the best learner of a data set."""

    PAIRED_T = "paired_t"
    CORRECTED_T = "corrected_t"
    WILCOXON = "wilcoxon"


@dataclass(frozen=True, kw_only=True)
class Demo:
    """Show what cordwood is for, on texts that every installation has.

    The texts are docstrings of Python's standard library, the classes what they are about. Shows
    the scores to expect beside a simple classifier, a test of them, an explained prediction, a
    label that looks wrong, and what the model leaves undecided; writes a report to the cache
    directory of the user.

    Example: cordwood demo
    """

    json: options.Json = False


@dataclass(frozen=True, kw_only=True)
class Train(options.DataCommand):
    """Train a classifier and write a model file.

    The model file stores the names of the columns; `predict` and `evaluate` read the same columns
    by default. With --classes and without DATA, a model is made of the descriptions alone.

    Example: cordwood train reviews.csv --text body --label topic -o reviews.cordwood
    """

    read: options.ReadWeighted = ReadOptions()
    data: options.OptionalData = None
    categorical: options.Categorical = None
    numeric: options.Numeric = None
    date: options.Date = None
    columns: options.Columns = None
    output: Annotated[
        Path | None,
        option(
            "MODEL",
            "Model file to create or replace. [default: name of DATA with .cordwood]",
            "--output",
            "-o",
        ),
    ] = None
    recipe: Annotated[
        str,
        typer.Option(
            "--recipe",
            metavar="NAME",
            help="Name of the classifier. "
            + "; ".join(f"{name}: {what}" for name, what in SAVABLE_RECIPES.items())
            + ".",
        ),
    ] = DEFAULT_RECIPE
    language: options.Language = None
    set: options.Set = None
    encoder: options.Encoder = "auto"
    bundle_encoder: Annotated[
        bool,
        typer.Option(
            "--bundle-encoder",
            help="Put the encoder into the model file, so that it need not be installed where the "
            "model is used.",
        ),
    ] = False
    lexicon: Annotated[
        str | None,
        option(
            "vader|FILE",
            "Lexicon of positive and negative words for a stack: vader for English texts, or "
            "a CSV file with a word and a score in each row.",
        ),
    ] = None
    classes: Annotated[
        Path | None,
        option(
            "FILE",
            "What the classes mean, which helps with few samples and needs an encoder: a file with "
            "one row per class and the columns name, description, and example or examples, which "
            "has one text per line. Without DATA, the accuracy remains unknown.",
        ),
    ] = None
    class_weight: Annotated[
        str | None,
        option(
            "balanced",
            "balanced gives all classes the same weight in training; not all recipes support "
            "it. [default: the samples have equal weights]",
        ),
    ] = None
    optimize: Annotated[
        str | None,
        option(
            "f1|macro_f1|cost|precision=P",
            "Choose the predicted class to optimize F1 or the recall at a precision of the "
            "positive class of two, the mean F1 of all classes, or the expected cost. [default: "
            "the most probable class]",
        ),
    ] = None
    cost: Annotated[
        Path | None,
        option(
            "FILE",
            "CSV file with the costs for --optimize cost: one row per true class, one column "
            "per predicted class.",
        ),
    ] = None
    positive: Annotated[
        str | None,
        option("CLASS", "Positive class for --optimize. [default: the class with fewer samples]"),
    ] = None
    strict: Annotated[
        bool,
        typer.Option("--strict", help="Stop if the check of the data finds anything."),
    ] = False
    report: Annotated[
        Path | None,
        option("FILE", "Write a report of the model to a .html, .md or .json file."),
    ] = None
    scores: Annotated[
        bool,
        typer.Option(
            "--scores/--no-scores",
            help="Estimate the scores on new samples from the training data, without a test set. "
            "Recipes that are not stacks are cross-validated for it, in 5 or 10 folds, unless they "
            "have out-of-bag or leave-one-out predictions.",
        ),
    ] = True
    baseline: Annotated[
        bool,
        typer.Option(
            "--baseline/--no-baseline",
            help="Show the scores beside those of the majority class and of a linear SVM on TF-IDF "
            "in 5-fold cross-validation.",
        ),
    ] = True
    seed: options.Seed = 0
    jobs: options.Jobs = -1
    cluster: Annotated[
        str | None,
        option(
            "ADDRESS", "Train on a Dask cluster, such as tcp://host:8786, with the same result."
        ),
    ] = None
    subset: options.Subset = None
    before: options.Before = None
    since: options.Since = None
    json: options.Json = False
    quiet: options.Quiet = False


@dataclass(frozen=True, kw_only=True)
class Predict(options.DataCommand):
    """Predict labels with a model.

    Writes the columns of the file, the predicted label and its probability, in the order of the
    file. The file is processed in batches and may be larger than memory. Without DATA, --text is a
    text to classify.

    With a folder as output, each Parquet, CSV or JSON lines file of DATA is a part with an output
    of its own; run the command again after an interruption, and it continues.

    Example: cordwood predict reviews.cordwood new.csv -o labels.csv

    Example: cordwood predict reviews.cordwood 'parts/*.parquet' -o labels/ --jobs 4
    """

    read: Annotated[
        ReadOptions,
        options.read_unlabeled(
            f"{options.TEXT_OF_MODEL} Without DATA: a text to classify.", "COLUMN|TEXT"
        ),
    ] = ReadOptions()
    model: options.Model
    data: Annotated[
        list[str] | None,
        argument(
            "DATA", "Samples, as for `cordwood train`. Omit it to classify the texts of --text."
        ),
    ] = None
    output: Annotated[
        str,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE|FOLDER/",
            help="File to create or replace: .csv, .tsv, .jsonl, .parquet or .xlsx. CSV is written "
            "as it was read: same delimiter, encoding and line ends. - is standard output. A "
            "folder gets one file per file of DATA, of the same name.",
        ),
    ] = "-"
    jobs: Annotated[
        int,
        typer.Option(
            "--jobs",
            "-j",
            metavar="NUMBER",
            help="Number of processes that predict the files of a folder, each with one thread; -1 "
            "is one per core. The result does not depend on it.",
        ),
    ] = 1
    keep_columns: Annotated[
        bool,
        typer.Option(
            "--keep-columns/--no-keep-columns",
            help="Write the columns of the file before the predictions, or only the sample ids.",
        ),
    ] = True
    escape_formulas: options.EscapeFormulas = True
    all_probabilities: Annotated[
        bool,
        typer.Option(
            "--all-probabilities",
            help="Write the probability of each class, in columns named probability:CLASS.",
        ),
    ] = False
    coverage: Annotated[
        float | None,
        option(
            "SHARE",
            "Write a set of labels that contains the true one with this probability, such as "
            "0.95, and whether it is a single label, in columns set and is_single.",
        ),
    ] = None
    class_conditional: Annotated[
        bool,
        typer.Option(
            "--class-conditional", help="The coverage holds for each class, not only for all."
        ),
    ] = False
    min_confidence: Annotated[
        float | None,
        option("SHARE", "Write __undecided__ for samples whose label has a lower probability."),
    ] = None
    max_error: Annotated[
        float | None,
        option(
            "SHARE",
            "Write __undecided__ for as many samples as necessary that at most this share of "
            "the others is wrong, such as 0.02.",
        ),
    ] = None
    unknown: Annotated[
        float | None,
        option(
            "SHARE",
            "Write __unknown__ for samples that are unlike the training samples, at the cost "
            "of losing this share of the others, such as 0.02.",
        ),
    ] = None
    json: Annotated[
        bool,
        typer.Option(
            "--json", help="Print JSON lines instead of CSV; with -o FILE, a summary as JSON."
        ),
    ] = False
    quiet: options.Quiet = False


@dataclass(frozen=True, kw_only=True)
class Evaluate(options.DataCommand):
    """Evaluate a model on labelled samples.

    Prints accuracy, macro F1, log loss and calibration error with intervals, precision, recall and
    F1 of each class, and the confusion matrix. Samples that were in the training data are counted,
    and the scores without them are printed as well.

    Example: cordwood evaluate reviews.cordwood held-out.csv
    """

    model: options.Model
    read: options.ReadWeightedOfModel = ReadOptions()
    data: options.ManyData
    subset: options.Subset = None
    before: options.Before = None
    since: options.Since = None
    strict: Annotated[
        bool, typer.Option("--strict", help="Stop if samples were in the training data.")
    ] = False
    json: options.Json = False


@dataclass(frozen=True, kw_only=True)
class Explain(options.DataCommand):
    """Explain predictions by the contributions of words.

    With --text, explains a text; with DATA, the first texts of a file: which words speak for the
    predicted class, which for the runner-up, and which training texts are similar. Contributions of
    words, and those of the members of a stack, add up to the log-odds or the probability of a
    class. With --by-class, or without any text, prints the words for and against each class.

    Example: cordwood explain reviews.cordwood --text "not bad at all"
    """

    read: Annotated[
        ReadOptions,
        options.read_unlabeled(
            "Text to explain; may be repeated. With DATA: the column of the text, as for "
            "`cordwood predict`.",
            "TEXT",
        ),
    ] = ReadOptions()
    model: options.Model
    data: Annotated[
        str | None,
        argument("DATA", "Texts to explain, as for `cordwood predict`."),
    ] = None
    by_class: Annotated[
        bool,
        typer.Option(
            "--by-class",
            help="Print the words for and against each class, aggregated over all texts of DATA; "
            "use texts that the model was not trained on, or --out-of-fold. Without DATA, each "
            "word of the vocabulary is a text.",
        ),
    ] = False
    out_of_fold: Annotated[
        bool,
        typer.Option(
            "--out-of-fold",
            help="With --by-class: DATA are the training texts with their labels. The model is "
            "fitted three more times, and each text is explained by one that was not trained on "
            "it.",
        ),
    ] = False
    training: Annotated[
        list[str] | None,
        option(
            "FILE",
            "The training data, to show similar training texts in full, and examples of the words "
            "of classes: a model file contains no texts. May be repeated.",
        ),
    ] = None
    label: Annotated[
        list[str] | None,
        option(
            "CLASS",
            "Explain this class; may be repeated. [default: the most probable class; with "
            "--by-class, all]",
            "--class",
        ),
    ] = None
    limit: Annotated[
        int,
        typer.Option("--limit", min=1, metavar="NUMBER", help="Maximum number of texts of DATA."),
    ] = 10
    top: Annotated[
        int,
        typer.Option("--top", min=1, metavar="NUMBER", help="Maximum number of words in a table."),
    ] = 10
    html: Annotated[
        Path | None,
        option("FILE", "Also write an HTML page with colored texts."),
    ] = None
    json: options.Json = False


@dataclass(frozen=True, kw_only=True)
class MakeReport(options.DataCommand):
    """Write a report of a model or a data set as one HTML page.

    The page needs neither a network nor other files. The report of a model shows its scores, the
    weakest classes, what is confused with what, words for and against each class, and explained
    predictions. With the training data, the scores are out-of-fold; with other labelled data, they
    are those of a test set. The report of a data set shows classes, lengths, languages, duplicates
    and suspicious labels.

    Example: cordwood report reviews.cordwood held-out.csv -o report.html
    """

    read: options.ReadOfModel = ReadOptions()
    model: Annotated[
        str,
        argument(
            "MODEL",
            "Model file written by `cordwood train`; or a data file, directory or "
            "dataset:NAME, for a report of a data set.",
        ),
    ]
    data: Annotated[
        str | None,
        argument("DATA", "Labelled samples: the training data of the model, or a test set."),
    ] = None
    output: Annotated[
        Path,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            help="File to create or replace; .html, .md or .json determines the format.",
        ),
    ] = Path("report.html")
    card: Annotated[
        Path | None,
        option(
            "FILE",
            "Also write a model card in the format of the Hugging Face Hub, such as README.md.",
        ),
    ] = None
    curve: Annotated[
        bool,
        typer.Option(
            "--curve",
            help="Also estimate what more training data would bring, by fits on shares of them; "
            "takes several times as long as training.",
        ),
    ] = False
    subset: options.Subset = None
    json: options.Json = False
    quiet: options.Quiet = False


@dataclass(frozen=True, kw_only=True)
class Audit(options.DataCommand):
    """Look for wrong labels and bad samples in labelled data.

    Finds likely label errors, equal and similar texts, with the same or with contradictory labels,
    test samples in the training set, empty and garbled texts, texts unlike the rest, classes that
    are hard to distinguish, and words that give the label away. Invalid rows are listed.

    Example: cordwood audit reviews.csv --text body --label topic -o suspects.csv
    """

    read: options.ReadAll = ReadOptions()
    data: options.Data
    test: Annotated[
        str | None,
        option(
            "DATA",
            "Test set, which is searched for samples that are in DATA; it is read with the "
            "same options.",
        ),
    ] = None
    recipe: Annotated[
        str,
        typer.Option(
            "--recipe",
            metavar="NAME",
            help="Classifier whose predictions are compared with the labels, as for `cordwood "
            "train`; none looks for neither label errors nor confused classes.",
        ),
    ] = DEFAULT_RECIPE
    language: options.Language = None
    set: options.Set = None
    encoder: options.Encoder = "auto"
    output: Annotated[
        Path | None,
        option(
            "FILE",
            "File to create or replace, with all suspects and reasons: .csv, .tsv, .jsonl, "
            ".parquet or .xlsx.",
            "--output",
            "-o",
        ),
    ] = None
    fix: Annotated[
        Path | None,
        option(
            "FILE",
            "Write a copy of DATA without invalid rows, duplicates, empty and garbled texts, and "
            "with one spelling of each label; in the format of DATA, which must be a CSV, TSV, "
            "JSON lines, Excel or Parquet file, with all columns. A second file, "
            "FILE-left-out, has the rows that were left out, and why.",
        ),
    ] = None
    relabel: Annotated[
        bool,
        typer.Option(
            "--relabel",
            help="With --fix, also replace labels if another one has an out-of-fold probability of "
            "at least 0.95.",
        ),
    ] = False
    report: Annotated[
        Path | None,
        option("FILE", "Write a report of the data set to a .html, .md or .json file."),
    ] = None
    escape_formulas: options.EscapeFormulas = True
    seed: options.Seed = 0
    jobs: options.Jobs = -1
    subset: options.Subset = None
    json: options.Json = False
    quiet: options.Quiet = False


@dataclass(frozen=True, kw_only=True)
class Compare(options.DataCommand):
    """Compare learners on data sets with significance tests.

    Interrupted comparisons resume from the ledger, the file of results. Several processes may
    share a ledger.

    Example: cordwood compare --quick reviews.csv --text body --label topic
    """

    read: options.ReadWeighted = ReadOptions()
    inputs: Annotated[
        list[str] | None,
        argument(
            "PLAN|DATA",
            "TOML file that defines learners, data sets and evaluation; with --quick, "
            "labelled samples, as for `cordwood train`.",
        ),
    ] = None
    quick: Annotated[
        bool,
        typer.Option(
            "--quick",
            help="Compare a fixed list of recipes on DATA, one or several files, directories or "
            "dataset:NAME, without a plan. The reading options require it; a plan contains its "
            "own.",
        ),
    ] = False
    language: options.Language = None
    encoder: options.Encoder = "auto"
    ledger: Annotated[
        Path | None,
        option(
            "FILE",
            "File of results; trials that are in it are not run again. [default: name of PLAN "
            "with .jsonl; with --quick, a temporary file]",
        ),
    ] = None
    output: Annotated[
        Path | None,
        option("FILE", "Also write the tables to a .md, .csv or .tex file.", "--output", "-o"),
    ] = None
    escape_formulas: options.EscapeFormulas = True
    plots: Annotated[
        Path | None,
        option(
            "DIRECTORY",
            "Write SVG figures: time against F1, critical differences, learning curves.",
        ),
    ] = None
    report: Annotated[
        Path | None,
        option(
            "FILE",
            "Write a report with tables, figures and their interpretation to a .html, .md or "
            ".json file.",
        ),
    ] = None
    jobs: Annotated[
        int,
        typer.Option(
            "--jobs", "-j", metavar="NUMBER", help="Number of parallel trials; -1 uses all cores."
        ),
    ] = 1
    cluster: Annotated[
        str | None,
        option("ADDRESS", "Run the trials on a Dask cluster, such as tcp://host:8786."),
    ] = None
    show: Annotated[
        bool, typer.Option("--show", help="Show the results in the ledger without running trials.")
    ] = False
    retry_errors: Annotated[
        bool, typer.Option("--retry-errors", help="Run trials again that failed before.")
    ] = False
    test: Annotated[
        Test,
        typer.Option(
            "--test",
            metavar="paired_t|corrected_t|wilcoxon",
            help="Significance test against the best learner of a data set: paired t-test (as in "
            "the papers), t-test corrected for overlapping training sets, or Wilcoxon signed-rank "
            "test.",
        ),
    ] = Test.PAIRED_T
    json: options.Json = False
    quiet: options.Quiet = False


class Metric(StrEnum):
    """Score of a learning curve."""

    ACCURACY = "accuracy"
    MACRO_F1 = "macro_f1"
    LOG_LOSS = "log_loss"


@dataclass(frozen=True, kw_only=True)
class Curve(options.DataCommand):
    """Estimate what more labelled samples would bring.

    Trains a classifier on shares of the samples, tests it on others, and extrapolates the scores
    to twice as many samples, with an interval. Takes about as long as six trainings.

    Example: cordwood curve reviews.csv --text body --label topic
    """

    data: options.Data
    recipe: Annotated[
        str,
        typer.Option("--recipe", metavar="NAME", help="Classifier, as for `cordwood train`."),
    ] = DEFAULT_RECIPE
    metric: Annotated[
        Metric,
        typer.Option(
            "--metric",
            metavar="accuracy|macro_f1|log_loss",
            help="Score of the curve.",
        ),
    ] = Metric.ACCURACY
    repeats: Annotated[
        int,
        typer.Option(
            "--repeats",
            metavar="NUMBER",
            min=1,
            max=5,
            help="Number of random splits into training and test samples.",
        ),
    ] = 3
    language: options.Language = None
    set: options.Set = None
    encoder: options.Encoder = "auto"
    seed: options.Seed = 0
    jobs: options.Jobs = -1
    subset: options.Subset = None
    json: options.Json = False
    quiet: options.Quiet = False


@dataclass(frozen=True, kw_only=True)
class Datasets:
    """List the available data sets, describe one, or export it.

    The argument DATA of other commands accepts a data set of this list as dataset:NAME.

    Example: cordwood datasets docstrings --export docstrings.csv
    """

    name: Annotated[
        str | None,
        argument("NAME", "Data set to describe. [default: list all]"),
    ] = None
    export: Annotated[
        Path | None,
        option("FILE", "Write the data set to a .csv, .tsv, .jsonl, .parquet or .xlsx file."),
    ] = None
    escape_formulas: options.EscapeFormulas = False
    data_dir: options.DataDir = None
    json: options.Json = False


class EncoderAction(StrEnum):
    """What to do with an encoder."""

    INSTALL = "install"
    DISTILL = "distill"


@dataclass(frozen=True, kw_only=True)
class Encoders:
    """List the sentence encoders, install one, or distill one.

    Without an action, lists the encoders with their dimension, languages and speed on this
    computer, and how to install those that are missing. `install` downloads an encoder with pip and
    checks its files. `distill` makes a table of static token vectors from a transformer, which is
    about a hundred times faster and less accurate.

    Example: cordwood encoders install minilm
    """

    action: Annotated[
        EncoderAction | None,
        argument("install|distill", "What to do. [default: list]"),
    ] = None
    name: Annotated[
        str | None,
        argument("ENCODER", "Name of the encoder; for distill, also a folder."),
    ] = None
    output: Annotated[
        Path | None,
        option("FOLDER", "Folder that distill creates.", "--output", "-o"),
    ] = None
    json: options.Json = False
    quiet: options.Quiet = False


@dataclass(frozen=True, kw_only=True)
class Warmup:
    """Compile all kernels in advance.

    Kernels are otherwise compiled when they are first used, which takes up to a minute in total,
    and cached in the directory NUMBA_CACHE_DIR if it is set, else in the user's cache directory.

    Example: cordwood warmup
    """

    json: options.Json = False
    quiet: options.Quiet = False


@dataclass(frozen=True, kw_only=True)
class Serve:
    """Serve models over HTTP, with a page for the browser.

    Models are named by their files; a file that is replaced is loaded again. Handles the requests
    of MLflow, KServe, Triton, Hugging Face and Label Studio clients, see docs/serving.md. Only this
    computer can use the server, unless --host is given.

    Example: cordwood serve reviews.cordwood --port 8000
    """

    model: Annotated[
        list[Path],
        argument("MODEL", "Model files written by `cordwood train`; the first is the default."),
    ]
    port: options.Port = 8000
    host: options.Host = "127.0.0.1"
    token: options.Token = None
    no_auth: options.NoAuth = False
    limit: options.Limit = None
    log_texts: Annotated[
        bool, typer.Option("--log-texts", help="Write the samples of requests to the log.")
    ] = False
    json: options.Json = False


@dataclass(frozen=True, kw_only=True)
class Label(options.DataCommand):
    """Label texts in the browser, with a model that learns.

    The model suggests labels, and chooses the next text. Each label is on the disk before the page
    shows the next text; run the same command again to continue. DATA may have no labels, some, or,
    with --review, all of them. It may be an export of Label Studio, Prodigy or doccano, or what
    `cordwood predict --max-error` left undecided.

    Example: cordwood label reviews.csv --text body --classes topics.csv -o labelled.csv
    """

    read: options.ReadToLabel = ReadOptions()
    data: options.ManyData
    output: Annotated[
        Path,
        option(
            "FILE",
            "File to create, with the labelled rows: .csv, .tsv, .jsonl, .parquet or .xlsx. The "
            "labels are stored beside it, in FILE.events.sqlite.",
            "--output",
            "-o",
        ),
    ]
    annotator: Annotated[
        str | None,
        option("NAME", "Who labels; the page can change it. [default: name of the user]"),
    ] = None
    classes: Annotated[
        Path | None,
        option(
            "FILE",
            "Names and descriptions of the classes, as for `cordwood train`: from them, labels are "
            "suggested before there is any. More can be added on the page.",
        ),
    ] = None
    multilabel: Annotated[
        bool, typer.Option("--multilabel", help="A text may have several labels, or none.")
    ] = False
    guidelines: Annotated[
        Path | None, option("FILE", "Text file with guidelines that the page shows.")
    ] = None
    suggestions: Annotated[
        list[str] | None,
        option(
            "COLUMN",
            "Column with labels of rules, a language model or another model, which are suggested; "
            "may be repeated. COLUMN_confidence may have their confidences, or COLUMN:CLASS those "
            "of each class.",
        ),
    ] = None
    review: Annotated[
        bool,
        typer.Option(
            "--review", help="Show the labels of DATA that `cordwood audit` suspects, one by one."
        ),
    ] = False
    model: Annotated[
        Path | None,
        option(
            "MODEL",
            "Model of `cordwood train` that was trained on DATA, for --review. [default: one is "
            "trained]",
        ),
    ] = None
    encoder: options.Encoder = "auto"
    escape_formulas: options.EscapeFormulas = False
    browser: Annotated[
        bool,
        typer.Option(
            "--browser/--no-browser", help="Open the page, if the command runs in a terminal."
        ),
    ] = True
    seed: options.Seed = 0
    port: options.Port = 8000
    host: options.Host = "127.0.0.1"
    token: options.Token = None
    no_auth: options.NoAuth = False
    limit: options.Limit = None
    json: options.Json = False
    quiet: options.Quiet = False


class CacheAction(StrEnum):
    """What to do with the cache."""

    CLEAR = "clear"


@dataclass(frozen=True, kw_only=True)
class Cache:
    """Show or clear the cached vectors of texts.

    Encoders are slow, so the vectors of texts are kept on disk.

    Example: cordwood cache clear
    """

    action: Annotated[CacheAction | None, argument("clear", "What to do. [default: show]")] = None
    name: Annotated[str | None, option("NAME", "Only vectors of this encoder.", "--encoder")] = None
    json: options.Json = False


RECORDS = {
    "demo": Demo,
    "train": Train,
    "predict": Predict,
    "evaluate": Evaluate,
    "explain": Explain,
    "audit": Audit,
    "report": MakeReport,
    "compare": Compare,
    "curve": Curve,
    "datasets": Datasets,
    "encoders": Encoders,
    "serve": Serve,
    "label": Label,
    "cache": Cache,
    "warmup": Warmup,
}
