"""`cordwood evaluate`: a model's labels against the true ones."""

from cordwood import persist, workflow
from cordwood.cli import options
from cordwood.cli.console import Console
from cordwood.cli.scores import show_scores
from cordwood.cli.source import Source


def evaluate(
    model: options.Model,
    data: options.Data,
    text: options.TextColumns = None,
    label: options.LabelColumn = None,
    id: options.IdColumn = None,
    part: options.Part = None,
    encoding: options.Encoding = "utf-8",
    format: options.Format = None,
    delimiter: options.Delimiter = None,
    on_bad_rows: options.BadRows = options.OnBadRows.RAISE,
    data_dir: options.DataDir = None,
    json: options.Json = False,
) -> None:
    """Prints micro F1 (with one label a row: the accuracy), macro F1, precision, recall and F1
    of each class, and the confusion table.

    Example: cordwood evaluate reviews.cordwood held-out.csv
    """
    console = Console(as_json=json)
    source = Source(
        data=data,
        text=text,
        label=label,
        id=id,
        part=part,
        encoding=encoding,
        format=format,
        delimiter=delimiter,
        on_bad_rows=on_bad_rows,
        data_dir=data_dir,
    )
    fitted, card = persist.load(model), persist.read_card(model)
    rows = source.remember(card.columns).read(console, two_classes=False)
    source.show(console, rows)
    seen = rows.fingerprint() == card.fingerprint
    if seen:
        console.fact("beware", "the model was trained on these very rows; new ones are harder")
    with console.progress("evaluating"):
        evaluation = workflow.evaluate(fitted, rows)
    show_scores(console, evaluation)
    console.answer(
        {
            "model": str(model),
            "data": data,
            "part": part,
            "skipped": len(rows.skipped),
            "trained_on_these_rows": seen,
            **evaluation.to_dict(),
        }
    )
