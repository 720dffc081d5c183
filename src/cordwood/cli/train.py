"""`cordwood train`: train a classifier and write a model file."""

import time
from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import nullcontext
from dataclasses import replace
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import typer
from joblib import effective_n_jobs

from cordwood import persist, recipes
from cordwood._base.cluster import Cluster, cluster
from cordwood._base.resources import PeakMemory
from cordwood._base.wording import count
from cordwood._view import MemberRecord
from cordwood.audit.dataset_check import Finding
from cordwood.classifier.text_classifier import TextClassifier
from cordwood.cli.classes_file import read_classes
from cordwood.cli.commands import Train
from cordwood.cli.console import Console
from cordwood.cli.decisions import decision_errors, make_decision
from cordwood.cli.expected_cost import show_expected_cost
from cordwood.cli.expected_scores import add_baselines, show_expected_scores
from cordwood.cli.findings import show_findings
from cordwood.cli.inputs import Source
from cordwood.cli.models import make_model
from cordwood.cli.options import parse_settings
from cordwood.cli.outputs import check_target
from cordwood.cli.report import check_report_target, format_review, write_model_report
from cordwood.cli.table_columns import list_features, read_table
from cordwood.columns import ColumnRoles
from cordwood.datasets.corpus import Corpus, FeatureMatrix
from cordwood.datasets.lines import STANDARD_INPUT
from cordwood.encoders import universal_sentence
from cordwood.encoders.bundle import read_files
from cordwood.encoders.catalog import list_encoders, load_encoder
from cordwood.exceptions import CordwoodError
from cordwood.persist.model_card import TrainingRecord
from cordwood.persist.sample_hashes import SampleHashes
from cordwood.text.languages import check_language
from cordwood.text.lexicon import read_lexicon

SUFFIX = ".cordwood"
EMBEDDINGS = "embeddings"

# Options that do not apply to a training on descriptions of classes alone.
_NEEDS_DATA = (
    *("set", "lexicon", "class_weight", "optimize", "report", "subset", "before", "since"),
    *("categorical", "numeric", "date", "columns"),
)

# Members of a smaller weight hardly contribute, and are not shown.
_MIN_WEIGHT = 0.005


class _Data(NamedTuple):
    """Training data, and what is known of them."""

    source: Source
    samples: Corpus | FeatureMatrix
    roles: ColumnRoles | None
    class_sizes: dict[Any, int]
    findings: tuple[Finding, ...]


class _Cost(NamedTuple):
    """What a training took."""

    seconds: float
    n_jobs: int
    peak: float | None  # bytes
    unit: str = "core"  # what there are `n_jobs` of

    @property
    def time(self) -> str:
        return f"{self.seconds:.1f} s on {count(self.n_jobs, self.unit)}"


def train(args: Train) -> None:
    """Train a classifier and write a model file."""
    console = Console(as_json=args.json, quiet=args.quiet)
    if not args.data:
        args = _replace_data(args)
    source = Source(
        data=args.data or [str(args.classes)],
        options=args.read,
        data_dir=args.data_dir,
        subset=args.subset,
        period=(args.before, args.since),
    )
    target = args.output or _default_target(source)
    _check_options(args, target)
    classes = None if args.classes is None else read_classes(args.classes)
    # Before the data are read, which may take long.
    with nullcontext() if args.cluster is None else cluster(args.cluster) as workers:
        data, model = _read_and_make(console, args, source, classes)
        cost = _fit(console, args, model, data.samples, workers)
    has_scores = model.oof is True
    save = partial(_save, args, model, data, cost, target)
    save()
    if has_scores and args.baseline:
        # After the model has been saved: nothing is lost if this is interrupted.
        add_baselines(console, model, data.samples)
        save()
    evaluation = model.evaluation_ if has_scores else None
    _show(console, args, model, cost)
    if data.samples.weights is not None:
        remark = "; the expected scores are not weighted" if has_scores else ""
        console.field("weights", f"used in training{remark}")
    if not args.data:
        console.field("accuracy", "unknown, because there are no labelled texts")
    if evaluation is not None:
        # Costs need no tuning.
        is_tuned = model.decision_.optimize not in (None, "cost")
        show_expected_scores(console, evaluation, is_tuned=is_tuned)
    console.field("wrote", f"{target} ({target.stat().st_size / 1e6:,.2f} MB)")
    _show_needs(console, args, model)
    if args.report is not None:
        card = persist.read_model_card(target)
        write_model_report(
            console,
            model,
            data.samples,
            target,
            args.report,
            card=card,
            data=source.name,
            review=format_review(source, target),
        )
    console.field("next", f"cordwood predict {target} NEW-DATA")
    scores = None if evaluation is None else evaluation.to_dict()
    console.print_json({**_to_record(args, model, data, cost, target), "scores": scores})


def _read_and_make(
    console: Console,
    args: Train,
    source: Source,
    classes: dict[str, list[str] | None] | None,
) -> tuple[_Data, TextClassifier]:
    """Read the training data, and make the unfitted model that the options define."""
    data = _read(console, args, source) if args.data else _describe(console, source, classes or {})
    decision = make_decision(args, data.class_sizes)
    # Samples that are the only one of their class cannot be both trained on and predicted.
    has_scores = args.scores and max(data.class_sizes.values(), default=0) > 1
    model = make_model(
        console,
        args,
        data.samples,
        columns=data.roles,
        lexicon=args.lexicon,
        class_descriptions=classes,
        class_weight=args.class_weight,
        decision=decision,
        oof=has_scores,
    )
    show_expected_cost(console, model, data.samples, len(data.class_sizes))
    return data, model


def _replace_data(args: Train) -> Train:
    """Return the options of a training on --classes alone; raise if one of them needs DATA."""
    if args.classes is None:
        raise typer.BadParameter("there is no DATA; give it, or the classes by --classes FILE")
    for name in _NEEDS_DATA:
        if getattr(args, name) is not None:
            raise typer.BadParameter(f"--{name.replace('_', '-')} requires DATA; omit it")
    if args.recipe != EMBEDDINGS and not recipes.find(args.recipe).members:
        raise typer.BadParameter(
            f"--classes without DATA requires an encoder, which recipe {args.recipe!r} does not "
            "use; omit --recipe"
        )
    return replace(args, recipe=EMBEDDINGS, scores=False)


def _check_options(args: Train, target: Path) -> None:
    """Raise before the data are read if the model could not be trained or written."""
    _check_savable(args.recipe)
    inputs = [*(args.data or ()), *([] if args.classes is None else [str(args.classes)])]
    check_target(target, inputs=inputs)
    if args.report is not None:
        check_report_target(args.report, inputs=inputs)
    if args.language is not None:
        check_language(args.language)
    settings = parse_settings(args.set)
    given = {name: settings[name] for name in ("encoder", "lexicon") if name in settings}
    _check_pretrained(replace(args, **given))


def _read(console: Console, args: Train, source: Source) -> _Data:
    """Read and check the training data, and show what they are."""
    table = read_table(source, args, console)
    samples, roles = table or (source.read(console, two_classes=True), None)
    if args.report is not None and samples.multilabel:
        raise CordwoodError("--report requires one label per sample; omit it")
    source.show(console, samples)
    if samples.groups is not None:
        found = count(len(set(samples.groups)), "group")
        use = (
            "not divided between training and validation"
            if args.read.group
            else "not used; --group COLUMN keeps groups together in cross-validation"
        )
        console.field("groups", f"{found}, {use}")
    findings = show_findings(console, samples, strict=args.strict)
    return _Data(source, samples, roles, _count_labels(samples), findings)


def _describe(console: Console, source: Source, classes: dict[str, list[str] | None]) -> _Data:
    """Return the descriptions of the classes as if they were the training data."""
    pairs = [(name, text) for name, texts in classes.items() for text in texts or [name]]
    samples = Corpus(
        texts=tuple(text for _, text in pairs),
        ids=tuple(str(i + 1) for i in range(len(pairs))),
        labels=tuple(name for name, _ in pairs),
    )
    found = f"{count(len(classes), 'class', 'classes')}, {count(len(pairs), 'text')} about them"
    console.field("read", f"{source.name}: {found}")
    return _Data(source, samples, None, _count_labels(samples), ())


def _fit(
    console: Console,
    args: Train,
    model: TextClassifier,
    samples: Corpus | FeatureMatrix,
    workers: Cluster | None,
) -> _Cost:
    start, memory = time.perf_counter(), PeakMemory()
    with console.progress("training"), decision_errors():
        groups = samples.groups if args.read.group else None
        model.fit(samples if args.data else [], groups=groups)
    seconds = time.perf_counter() - start
    if workers is not None:
        return _Cost(seconds, workers.n_workers, memory.read(), "worker")
    return _Cost(seconds, effective_n_jobs(model.n_jobs), memory.read())


def _save(args: Train, model: TextClassifier, data: _Data, cost: _Cost, target: Path) -> None:
    samples, roles = data.samples, data.roles
    record = TrainingRecord(
        fingerprint=samples.fingerprint(roles.names if roles is not None else ()),
        recipe=args.recipe,
        columns={**data.source.columns, **(roles.to_dict() if roles is not None else {})},
        training={
            "training time": cost.time,
            **({} if cost.peak is None else {"peak memory": f"{cost.peak / 1e6:,.0f} MB"}),
            "seed": str(args.seed),
            **({} if args.classes is None else {"classes": f"described in {args.classes.name}"}),
        },
        sample_hashes=SampleHashes.from_samples(list_features(samples, roles)).encode(),
    )
    persist.save(model, target, bundle_encoder=args.bundle_encoder, provenance=record)


def _show(console: Console, args: Train, model: TextClassifier, cost: _Cost) -> None:
    """Print the parts of a trained model."""
    vectorizer = model.view.vectorizer
    if vectorizer is not None:
        n_terms = count(len(vectorizer.vocabulary_), "term")
        console.field("features", f"{vectorizer.preset_reason_}; {n_terms}")
    weights = _list_weights(model.members_)
    if weights is not None and recipes.find(args.recipe).members:
        console.field("members", _format_members(model.members_))
    elif weights is not None and not model.view.is_multilabel:
        temperature = 1 / max(weights[args.recipe], 1e-9)
        console.field("adjusted", f"probabilities, by a temperature of {temperature:.2f}")
    if args.optimize is not None:
        console.field("decision", model.decision_.describe())
    console.field("trained", f"recipe {args.recipe}, in {cost.time}")


def _show_needs(console: Console, args: Train, model: TextClassifier) -> None:
    """Print what must be installed where the model is used, beside cordwood."""
    used = {member.name.partition("_")[0] for member in model.members_ if not member.is_pruned}
    given = model.encoder if isinstance(model.encoder, list) else [model.encoder]
    if EMBEDDINGS in used | {args.recipe} and not args.bundle_encoder:
        for name in given:
            info = next((each for each in list_encoders() if each.name == name), None)
            is_use = name == universal_sentence.NAME
            how = universal_sentence.INSTALL if is_use else f"cordwood encoders install {name}"
            how = f": {how}" if info is not None else ""
            console.field(
                "needs",
                f"the encoder {name} where the model is used{how}; or put it into the model file "
                "with --bundle-encoder",
            )
    if model.lexicon == "vader":
        console.field(
            "needs", 'the lexicon where the model is used: pip install "cordwood[lexicon]"'
        )


def _list_weights(members: Sequence[MemberRecord]) -> dict[str, float] | None:
    """Return the weights of the members of a stack; None if there are none."""
    weights = {member.name: member.weight or 0.0 for member in members}
    return weights if any(member.weight is not None for member in members) else None


def _format_members(members: Sequence[MemberRecord]) -> str:
    """Return the members of a stack with their weights, and the dropped ones.

    Examples
    --------
    >>> weights = {"nbsvm": 1.432, "knn": 0.004, "nb": None}
    >>> _format_members([MemberRecord(k, w, w is None, "cv") for k, w in weights.items()])
    'nbsvm (weight 1.43); dropped for little effect on the log loss: nb'
    """
    kept = ", ".join(
        f"{each.name} (weight {each.weight:.2f})"
        for each in members
        if not each.is_pruned and abs(each.weight or 0.0) >= _MIN_WEIGHT
    )
    dropped = ", ".join(each.name for each in members if each.is_pruned)
    return f"{kept}; dropped for little effect on the log loss: {dropped}" if dropped else kept


def _to_record(
    args: Train, model: TextClassifier, data: _Data, cost: _Cost, target: Path
) -> dict[str, Any]:
    """Return what --json prints beside the scores."""
    vectorizer = model.view.vectorizer
    return {
        "data": data.source.record,
        "subset": args.subset,
        "n_samples": len(data.samples),
        "n_skipped": len(data.samples.skipped),
        "classes": data.class_sizes,
        "findings": [finding.message for finding in data.findings],
        "recipe": args.recipe,
        "encoder": model.encoder,
        "lexicon": model.lexicon,
        "columns": None if data.roles is None else data.roles.to_dict(),
        "members": _list_weights(model.members_),
        "vectorizer": None if vectorizer is None else vectorizer.preset_reason_,
        "n_jobs": cost.n_jobs,
        "seconds": round(cost.seconds, 3),
        "model": str(target),
        "bytes": target.stat().st_size,
    }


def _check_pretrained(args: Train) -> None:
    """Raise if an encoder or a lexicon cannot be used."""
    uses_encoder = bool(recipes.find(args.recipe).members) or args.recipe == EMBEDDINGS
    is_none = args.encoder in ("none", None)
    if is_none and args.recipe == EMBEDDINGS:
        raise CordwoodError(f"recipe {EMBEDDINGS!r} requires an encoder; omit --encoder none")
    if args.bundle_encoder and (is_none or not uses_encoder):
        reason = "--encoder none excludes one" if uses_encoder else f"{args.recipe!r} uses none"
        raise CordwoodError(f"--bundle-encoder requires an encoder, but {reason}; omit it")
    if uses_encoder and not is_none and (args.bundle_encoder or args.encoder != "auto"):
        for encoder in args.encoder if isinstance(args.encoder, list) else [args.encoder]:
            loaded = load_encoder(encoder)
            if args.bundle_encoder:
                read_files(loaded)
    if args.lexicon is not None:
        read_lexicon(args.lexicon)


def _count_labels(samples: Corpus | FeatureMatrix) -> dict[Any, int]:
    """Return the number of samples of each label, the most frequent first."""
    labels: Iterable[Any] = samples.labels or ()
    counts = Counter(chain.from_iterable(labels) if samples.multilabel else labels)
    return dict(counts.most_common())


def _check_savable(recipe: str) -> None:
    if not recipes.find(recipe).savable:
        savable = [name for name in recipes.names() if recipes.find(name).savable]
        raise CordwoodError(
            f"models of recipe {recipe!r} cannot be saved in a model file, which contains no code; "
            f"use one of: {', '.join(savable)}"
        )


def _default_target(source: Source) -> Path:
    """Name the model after the data, in the current directory."""
    if source.paths == [STANDARD_INPUT]:
        raise typer.BadParameter("reading standard input requires a model name; give it with -o")
    if source.dataset is not None:
        # A colon, as in sklearn:wine, is not allowed in file names on Windows.
        return Path(source.dataset.rpartition(":")[2] + SUFFIX)
    path = Path(source.paths[0]).resolve()
    stem = path.name if path.is_dir() else Path(path.name.removesuffix(".gz")).stem
    return Path(stem + SUFFIX)
