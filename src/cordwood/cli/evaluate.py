"""`cordwood evaluate`: a model's labels against the true ones."""

from cordwood import persist, workflow
from cordwood.cli.commands import Evaluate
from cordwood.cli.console import Console
from cordwood.cli.inputs import Source
from cordwood.cli.show_scores import show_scores


def evaluate(asked: Evaluate) -> None:
    """Show how well a model labels rows whose labels are known."""
    console = Console(as_json=asked.json)
    source = Source.of(asked)
    fitted, card = persist.load(asked.model), persist.read_card(asked.model)
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
            "model": str(asked.model),
            "data": asked.data,
            "part": asked.part,
            "skipped": len(rows.skipped),
            "trained_on_these_rows": seen,
            **evaluation.to_dict(),
        }
    )
