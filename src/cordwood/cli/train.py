"""`cordwood train`: train a classifier and write a model file."""

import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from importlib import import_module
from itertools import chain
from pathlib import Path
from typing import Any, cast

import typer
from joblib import effective_n_jobs
from sklearn.pipeline import Pipeline

from cordwood import api, persist, recipes
from cordwood._base.resources import PeakMemory
from cordwood._base.wording import count
from cordwood.cli.commands import Train
from cordwood.cli.console import Console
from cordwood.cli.encoder_option import find_encoder
from cordwood.cli.expected_scores import estimate_scores, show_expected_scores
from cordwood.cli.findings import show_findings
from cordwood.cli.inputs import Source
from cordwood.cli.options import check_jobs, parse_settings
from cordwood.cli.outputs import check_target
from cordwood.cli.table_columns import list_features, read_table
from cordwood.datasets.corpus import Corpus, FeatureMatrix
from cordwood.datasets.lines import STANDARD_INPUT
from cordwood.decisions.cost_file import read_cost_matrix
from cordwood.decisions.tuned_decision import TunedDecisionClassifier
from cordwood.encoders.bundle import read_files
from cordwood.encoders.catalog import load_encoder
from cordwood.exceptions import CordwoodError
from cordwood.multilabel.multilabel_classifier import MultiLabelClassifier
from cordwood.persist.sample_hashes import SampleHashes
from cordwood.text.languages import check_language
from cordwood.text.lexicon import read_lexicon
from cordwood.text.vectorizer import TextVectorizer

SUFFIX = ".cordwood"
EMBEDDINGS = "embeddings"


def train(args: Train) -> None:
    """Train a classifier and write a model file."""
    console = Console(as_json=args.json, quiet=args.quiet)
    check_jobs(args.jobs)
    _check_savable(args.recipe)
    source = Source(
        data=args.data,
        options=args.read,
        data_dir=args.data_dir,
        subset=args.subset,
        period=(args.before, args.since),
    )
    target = args.output or _default_target(source)
    check_target(target, inputs=args.data)
    # Imported only if needed, because reports import the comparisons.
    reports = None if args.report is None else import_module("cordwood.cli.report")
    if reports is not None:
        reports.check_report_target(args.report, inputs=args.data)
    if args.language is not None:
        check_language(args.language)
    settings = parse_settings(args.set)
    # The only way to several encoders.
    pretrained = {name: settings.pop(name) for name in ("encoder", "lexicon") if name in settings}
    args = replace(args, **pretrained)
    _check_pretrained(args)
    params = {
        "random_state": args.seed,
        "n_jobs": args.jobs,
        "language": args.language,
        "class_weight": args.class_weight,
        "optimize": args.optimize,
        "pos_label": args.positive,
        **settings,
    }
    table = read_table(source, args, console)
    samples, roles = table or (source.read(console, two_classes=True), None)
    if reports is not None and samples.multilabel:
        raise CordwoodError("--report requires one label per sample; omit it")
    if args.cost is not None:
        params["cost_matrix"] = read_cost_matrix(args.cost, _count_labels(samples))
    source.show(console, samples)
    if samples.groups is not None:
        console.field(
            "groups", _describe_groups(len(set(samples.groups)), is_used=bool(args.read.group))
        )
    findings = show_findings(console, samples, strict=args.strict)
    accepts_auto = recipes.find(args.recipe).auto_encoder
    encoder = args.encoder if accepts_auto or args.encoder != "auto" else "none"
    encoder = find_encoder(console, encoder, samples)
    class_sizes = _count_labels(samples)
    # Samples that are the only one of their class cannot be both trained on and predicted. Scores
    # are those of the most probable class, not of several labels or a tuned decision.
    has_scores = (
        args.scores
        and max(class_sizes.values(), default=0) > 1
        and not samples.multilabel
        and args.optimize is None
    )
    start, memory = time.perf_counter(), PeakMemory()
    with console.progress("training"):
        model = api.train(
            samples,
            groups=samples.groups if args.read.group else None,
            recipe=args.recipe,
            encoder=encoder,
            lexicon=args.lexicon,
            oof=has_scores,
            columns=roles,
            **params,
        )
    seconds, peak = time.perf_counter() - start, memory.read()
    n_jobs = effective_n_jobs(params["n_jobs"])
    training = {
        "training time": f"{seconds:.1f} s on {count(n_jobs, 'core')}",
        **({} if peak is None else {"peak memory": f"{peak / 1e6:,.0f} MB"}),
        "seed": str(args.seed),
    }
    save = partial(
        persist.save,
        model,
        target,
        bundle_encoder=args.bundle_encoder,
        provenance=persist.TrainingRecord(
            fingerprint=samples.fingerprint(roles.names if roles is not None else ()),
            recipe=args.recipe,
            columns={**source.columns, **(roles.to_dict() if roles is not None else {})},
            training=training,
            sample_hashes=SampleHashes.from_samples(list_features(samples, roles)).encode(),
        ),
    )
    save()
    if has_scores and args.baseline:
        # After the model has been saved: nothing is lost if this is interrupted.
        model.evaluation_ = estimate_scores(console, model, samples)
        save()
    size = target.stat().st_size
    vectorizer = _find_vectorizer(model)
    if vectorizer is not None:
        n_terms = count(len(vectorizer.vocabulary_), "term")
        console.field("features", f"{vectorizer.preset_reason_}; {n_terms}")
    # With a tuned decision, the classifier is inside.
    classifier = getattr(model[-1], "estimator_", model[-1])
    # Boosted forests have weights too, of their rounds.
    is_stack = samples.multilabel or hasattr(classifier, "pruned_")
    members = getattr(classifier, "estimator_weights_", None) if is_stack else None
    if members is not None and recipes.find(args.recipe).members:
        console.field("members", _format_members(members, getattr(classifier, "pruned_", ())))
    elif members is not None and not samples.multilabel:
        temperature = 1 / max(members[args.recipe], 1e-9)
        console.field("adjusted", f"probabilities, by a temperature of {temperature:.2f}")
    if isinstance(model[-1], TunedDecisionClassifier):
        console.field("decision", _format_decision(model[-1]))
    console.field("trained", f"recipe {args.recipe}, in {seconds:.1f} s on {count(n_jobs, 'core')}")
    if samples.weights is not None:
        remark = "; the expected scores are not weighted" if has_scores else ""
        console.field("weights", f"used in training{remark}")
    evaluation = model.evaluation_ if has_scores else None
    if evaluation is not None:
        show_expected_scores(console, evaluation)
    if samples.multilabel and args.scores:
        console.field("scores", _format_oof_scores(model[-1], samples))
    console.field("wrote", f"{target} ({size / 1e6:,.2f} MB)")
    if reports is not None:
        card = persist.read_model_card(target)
        reports.write_model_report(
            console,
            model,
            samples,
            target,
            args.report,
            card=card,
            data_name=source.name,
        )
    console.field("next", f"cordwood predict {target} NEW-DATA")
    console.print_json(
        {
            "data": source.record,
            "subset": args.subset,
            "n_samples": len(samples),
            "n_skipped": len(samples.skipped),
            "classes": class_sizes,
            "findings": [finding.message for finding in findings],
            "recipe": args.recipe,
            "encoder": encoder,
            "lexicon": args.lexicon,
            "columns": None if roles is None else roles.to_dict(),
            "members": members,
            "vectorizer": None if vectorizer is None else vectorizer.preset_reason_,
            "n_jobs": n_jobs,
            "seconds": round(seconds, 3),
            "scores": None if evaluation is None else evaluation.to_dict(),
            "model": str(target),
            "bytes": size,
        }
    )


def _describe_groups(n_groups: int, *, is_used: bool) -> str:
    found = count(n_groups, "group")
    if is_used:
        return f"{found}, not divided between training and validation"
    return f"{found}, not used; --group COLUMN keeps groups together in cross-validation"


def _check_pretrained(args: Train) -> None:
    """Raise before the data are read if an encoder or a lexicon cannot be used."""
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


def _format_members(weights: Mapping[str, float], pruned: Sequence[str]) -> str:
    """Return the members of a stack with their weights, and the dropped ones.

    Examples
    --------
    >>> _format_members({"nbsvm": 1.432, "nb": 0.0, "knn": 0.41}, ["nb"])
    'nbsvm (weight 1.43), knn (weight 0.41); dropped for little effect on the log loss: nb'
    """
    kept = ", ".join(
        f"{name} (weight {weight:.2f})" for name, weight in weights.items() if name not in pruned
    )
    dropped = f"; dropped for little effect on the log loss: {', '.join(pruned)}" if pruned else ""
    return kept + dropped


def _format_oof_scores(classifier: MultiLabelClassifier, samples: Corpus | FeatureMatrix) -> str:
    """Describe the out-of-fold scores of a model of several labels per sample."""
    predictions = api.MultiLabelPredictions(
        indicators=classifier.apply_thresholds(classifier.oof_proba_),
        probabilities=classifier.oof_proba_,
        classes=classifier.classes_,
    )
    evaluation = api.score_multilabel(cast(Any, samples.labels), predictions, samples.weights)
    return (
        f"out of fold, micro F1 {evaluation.micro_f1:.3f}, macro F1 {evaluation.macro_f1:.3f}; "
        "slightly optimistic, because the thresholds were chosen on the same predictions"
    )


def _format_decision(classifier: TunedDecisionClassifier) -> str:
    """Describe a tuned decision and its score of out-of-fold predictions."""
    score = classifier.best_score_
    if classifier.optimize == "cost":
        return f"least expected cost; out-of-fold mean cost {-score:.3f}"
    if classifier.optimize == "macro_f1":
        return f"class weights for macro F1; out-of-fold macro F1 {score:.3f}"
    name = "F1" if classifier.optimize == "f1" else "recall"
    return (
        f"{classifier.positive_class_} from a probability of {classifier.best_threshold_:.3f} on; "
        f"out-of-fold {name} {score:.3f}"
    )


def _count_labels(samples: Corpus | FeatureMatrix) -> dict[Any, int]:
    """Return the number of samples of each label, the most frequent first."""
    labels: Iterable[Any] = samples.labels or ()
    counts = Counter(chain.from_iterable(labels) if samples.multilabel else labels)
    return dict(counts.most_common())


def _find_vectorizer(model: Pipeline) -> TextVectorizer | None:
    """Return the vectorizer, in a stack that of the first member that has one of its own."""
    shared_steps = getattr(model[-1], "_shared_steps", ())
    pipelines = [Pipeline(steps) for steps in shared_steps if steps]
    classifier = getattr(model[-1], "estimator_", model[-1])
    for pipeline in (model, *getattr(classifier, "estimators_", ()), *pipelines):
        steps = getattr(pipeline, "named_steps", {})
        if "preprocessor" in steps:
            steps = steps["preprocessor"].named_transformers_
        vectorizer = steps.get("vectorizer")
        if isinstance(vectorizer, TextVectorizer):
            return vectorizer
    return None


def _check_savable(recipe: str) -> None:
    """Raise before training if the model could not be saved."""
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
