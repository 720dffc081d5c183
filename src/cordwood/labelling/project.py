"""A labelling project: the texts, the labels on disk, the model, and the next text."""

import threading
import zlib
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, NamedTuple, cast

import numpy as np

from cordwood._base.wording import count, join_names, shorten_line
from cordwood.audit.spellings import find_spellings
from cordwood.classifier.text_classifier import TextClassifier
from cordwood.datasets.corpus import Corpus
from cordwood.exceptions import CordwoodError, DataError
from cordwood.labelling.agreement import cohen_kappa, krippendorff_alpha
from cordwood.labelling.choice import choose_next
from cordwood.labelling.learner import MAX_FITTED, Fitted, Learner, Suspicion, TrainingSet
from cordwood.labelling.reading import LabelData
from cordwood.labelling.samples import (
    PLACEHOLDERS,
    WITH_LABELS,
    Annotation,
    Labels,
    Row,
    Sample,
)
from cordwood.labelling.state import State
from cordwood.labelling.store import Store, name_store
from cordwood.metrics.learning_curve import fit_learning_curve
from cordwood.metrics.scores import Score

SampleState = Literal["unlabelled", "labelled", "skipped", "unsure", "suspicious"]

_STATES = {"label": "labelled", "keep": "labelled", "skip": "skipped", "unsure": "unsure"}
_N_NEIGHBORS = 5
_MAX_NAME = 200
_MAX_SHOWN = 200
# Share of texts that another annotator has labelled already, to measure the agreement.
_OVERLAP = 0.1
_SMALL_GAIN = 0.01
_MIN_POINTS = 3  # of the learning curve

_REASONS = {
    "uncertain": "The model is unsure of this text and of texts like it.",
    "random": "Drawn at random, so that the estimate of the accuracy is unbiased.",
    "diverse": "Unlike the texts that are labelled so far.",
    "listed": "Selected from the list.",
    "undone": "The last decision was undone.",
}

_Choice = tuple[Sample, str]  # and the reason
WriteTable = Callable[[Path, Sequence[str], Iterator[list[Any]]], None]


class Filter(NamedTuple):
    """Which texts are selected."""

    state: SampleState | None = None
    label: str | None = None
    search: str | None = None


@dataclass(frozen=True, kw_only=True)
class ProjectSettings:
    """What to label, and how."""

    output: Path
    annotator: str
    write_table: WriteTable
    is_multilabel: bool = False
    is_review: bool = False
    descriptions: Mapping[str, Sequence[str] | None] = field(default_factory=dict)
    guidelines: str | None = None
    encoder: Any = None
    model: TextClassifier | None = None
    seed: int = 0


class Project:
    """Decisions of annotators about texts; thread-safe.

    Each decision is on the disk when a method returns. Those of other processes with the same
    output are read before each reply.
    """

    def __init__(self, data: LabelData, settings: ProjectSettings) -> None:
        self.data, self.settings = data, settings
        self._lock = threading.RLock()
        self.state = State(data.rows, is_multilabel=settings.is_multilabel)
        self.samples = list(self.state.samples.values())
        self._chosen: dict[tuple[str, str], str] = {}  # reasons by annotator and sample
        self._written_event = 0
        if settings.is_review and self._make_review() is None:
            raise DataError(
                "a review needs labels, of at least two classes; name their column with --label"
            )
        self.store = Store(name_store(settings.output))
        self._sync()
        for name, texts in settings.descriptions.items():
            description = "\n".join(texts or ()) or None
            if self.state.classes.get(name, "") != description:
                self.store.append(
                    settings.annotator, "add", name=check_name(name), description=description
                )
        self._sync()
        self.learner = Learner(
            [each.text for each in self.samples],
            is_multilabel=settings.is_multilabel,
            encoder=settings.encoder,
            seed=settings.seed,
            take_snapshot=self._take_snapshot,
            on_fit=self._record_fit,
            review=self._make_review() if settings.is_review else None,
            model=settings.model,
        )

    def close(self) -> None:
        """Write the output and close the file of the events."""
        self.learner.close()
        try:
            self.write()
        finally:
            self.store.close()

    def _sync(self) -> None:
        """Apply the events since the last call, of this and other processes."""
        for event in self.store.read(self.state.last_event):
            self.state.apply(event)

    def _record(self, annotator: str, action: str, **values: Any) -> int:
        event = self.store.append(annotator, action, **values)
        self._sync()
        return event

    # What the learner needs

    def _take_snapshot(self) -> TrainingSet:
        with self._lock:
            self._sync()
            decisions = self.state.list_decisions()
            of = {i: decisions.get(self.samples[i].id, []) for i in self.state.decided}
            # Of too many, those of the annotators first, and of these the same ones each time.
            ranks = np.random.default_rng(self.settings.seed).permutation(len(self.samples))
            indices = sorted(sorted(of, key=lambda i: (not of[i], ranks[i]))[:MAX_FITTED])
            # At random, or in the data.
            is_drawn = [_is_drawn(of[i]) or not _has_labels(of[i]) for i in indices]
            return TrainingSet(
                tuple(indices),
                tuple(self.state.decided[i] for i in indices),
                np.array(is_drawn, bool),
                dict(self.state.classes),
            )

    def _record_fit(self, fitted: Fitted) -> None:
        score = fitted.accuracy
        if score is not None:
            with self._lock:
                details = {"n": fitted.n_labelled, "n_drawn": fitted.n_drawn}
                scores = {"accuracy": float(score), "low": score.low, "high": score.high}
                self._record("", "fit", **details, **scores)

    def _make_review(self) -> Corpus | None:
        """Return the labelled samples, with the labels of the data; None unless of two classes."""
        labelled = [each for each in self.samples if each.given]
        if self.settings.is_multilabel or len({each.given for each in labelled}) < 2:
            return None
        return Corpus(
            texts=tuple(each.text for each in labelled),
            ids=tuple(each.id for each in labelled),
            labels=tuple(each.given[0] for each in labelled if each.given),
        )

    @property
    def _suspects(self) -> dict[int, Suspicion]:
        if self.settings.is_review:
            return self.learner.suspects
        return {} if self.learner.fitted is None else self.learner.fitted.suspicions

    # Descriptions

    def describe(self) -> dict[str, Any]:
        """Return the classes, the progress, the model and the agreement."""
        with self._lock:
            self._sync()
            counts = self._count_labels()
            suspects = [self.samples[index] for index in self.learner.suspects]
            n_open = sum(not self.state.find_all(each) for each in suspects)
            return {
                "name": self.settings.output.name,
                "n_samples": len(self.samples),
                "is_multilabel": self.settings.is_multilabel,
                "is_review": self.settings.is_review,
                "classes": self.list_classes(),
                "guidelines": self.settings.guidelines,
                "annotators": list(
                    dict.fromkeys((self.settings.annotator, *self.state.annotators))
                ),
                "progress": self._progress(),
                "model": self._describe_model(),
                **self._describe_curve(),
                "review": {"open": n_open, "done": len(suspects) - n_open},
                "agreement": self._measure_agreement(),
                "spellings": _group_spellings(counts),
            }

    def _count_labels(self) -> Counter[str]:
        return Counter(label for labels in self.state.decided.values() for label in labels)

    def list_classes(self) -> list[dict[str, Any]]:
        """Return the classes with their descriptions and sizes."""
        counts = self._count_labels()
        return [
            {"name": name, "description": description, "n": counts[name]}
            for name, description in self.state.classes.items()
        ]

    def _progress(self) -> dict[str, Any]:
        by_annotator = {
            name: Counter(_STATES[each.action] for _, each in self.state.list_annotations(name))
            for name in self.state.annotators
        }
        total: Counter[str] = sum(by_annotator.values(), Counter())
        return {
            "labelled": len(self.state.decided),
            "skipped": total["skipped"],
            "unsure": total["unsure"],
            "total": len(self.samples),
            "by_annotator": {name: each["labelled"] for name, each in by_annotator.items()},
        }

    def _describe_model(self) -> dict[str, Any]:
        fitted = self.learner.fitted
        accuracy = None if fitted is None else fitted.accuracy
        return {
            "state": self.learner.state,
            "n_labelled": 0 if fitted is None else fitted.n_labelled,
            "sentence": self.learner.sentence,
            "accuracy": None if accuracy is None else accuracy.to_dict(),
        }

    def _describe_curve(self) -> dict[str, Any]:
        points = [self.state.scores[n] for n in sorted(self.state.scores)]
        curve = [{name: each[name] for name in ("n", "accuracy", "low", "high")} for each in points]
        return {"curve": curve, "forecast": _forecast(points, len(self.state.decided))}

    def _measure_agreement(self) -> dict[str, Any] | None:
        labels: defaultdict[Sample, dict[str, Labels]] = defaultdict(dict)
        for name in self.state.annotators:
            for sample, each in self.state.list_annotations(name):
                if each.action in WITH_LABELS:
                    labels[sample][name] = tuple(sorted(each.labels))
        names = {name for each in labels.values() for name in each}
        shared = [each for each in labels.values() if len(each) > 1]
        if not shared:
            return None
        n_equal = sum(len(set(each.values())) == 1 for each in shared)
        kappa = None
        if len(names) == 2:
            pairs = [[each[name] for each in shared] for name in sorted(names)]
            kappa = cohen_kappa(*pairs)
        n_open = sum(self.state.is_contradictory(sample) for sample in labels)
        sentence = (
            f"{count(len(names), 'annotator')} gave the same labels to {n_equal:,} of "
            f"{count(len(shared), 'text')} that they have in common."
        )
        if n_open:
            sentence += (
                f" {count(n_open, 'text')} with contradictory labels will not be in the output "
                "until one of them is changed."
            )
        alpha = krippendorff_alpha([list(each.values()) for each in shared])
        return {
            "sentence": sentence,
            "n": len(shared),
            "cohen_kappa": kappa,
            "krippendorff_alpha": alpha,
        }

    # Texts

    def find(self, id: str) -> Sample:
        """Return the sample of an id."""
        if id not in self.state.samples:
            raise KeyError(f"there is no text with the id {shorten_line(id, 80)!r}")
        return self.state.samples[id]

    def choose(
        self, annotator: str, selected: Filter, skip: Sequence[str]
    ) -> tuple[dict[str, Any] | None, int]:
        """Return the next text to label, and how many there are."""
        with self._lock:
            self._sync()
            skipped = set(skip)
            found = [
                each
                for each in self._select(annotator, self._default(selected))
                if each.id not in skipped
            ]
            if not found:
                return None, 0
            choice = self._choose_from(annotator, selected, found)
        # Outside of the lock, as everything that takes long.
        sample, reason = choice() if callable(choice) else choice
        if reason == "random" and (selected.label or selected.search):
            reason = "listed"  # of a part of the texts, which is not fit for estimates
        with self._lock:
            self._chosen[annotator, sample.id] = reason
        return self.show(annotator, sample.id, reason), len(found)

    def _default(self, selected: Filter) -> Filter:
        if selected.state is not None:
            return selected
        return selected._replace(state="suspicious" if self.settings.is_review else "unlabelled")

    def _select(self, annotator: str, selected: Filter) -> list[Sample]:
        if selected.state == "suspicious":
            samples = [self.samples[index] for index in self._suspects]
            # Of a review those that are not decided; else labels that the model contradicts.
            if self.settings.is_review:
                samples = [each for each in samples if self.state.find(each, annotator) is None]
        else:
            samples = self.samples
            if selected.state is not None:
                state_of = self._find_states(annotator)
                samples = [each for each in samples if state_of(each) == selected.state]
        if selected.search:
            searched = selected.search.casefold()
            samples = [each for each in samples if searched in each.text.casefold()]
        if selected.label is not None:
            predicted = self._predict_labels()
            samples = [
                each
                for each in samples
                if selected.label in (self._labels_for(each, annotator) or predicted(each.index))
            ]
        return samples

    def _predict_labels(self) -> Callable[[int], Labels]:
        """Return a function that returns the most probable label of a text of the pool."""
        fitted, pool = self.learner.fitted, self.learner.pool
        if fitted is None:
            return lambda index: ()
        labels = fitted.model.classes_[fitted.proba.argmax(axis=1)].tolist()
        known = dict(zip(pool.tolist(), labels, strict=True))
        return lambda index: (str(known[index]),) if index in known else ()

    def _choose_from(
        self, annotator: str, selected: Filter, found: list[Sample]
    ) -> _Choice | Callable[[], _Choice]:
        """Return the next text, or a function that chooses it."""
        state = self._default(selected).state
        if state == "suspicious":
            return found[0], "review"
        if state != "unlabelled":
            return found[0], "listed"
        learner = self.learner
        rng = np.random.default_rng(
            [self.settings.seed, self.state.last_event, zlib.crc32(annotator.encode())]
        )
        decisions = self.state.list_decisions()
        fresh = [each for each in found if each.id not in decisions]
        # Texts that another annotator was given at random, and labelled.
        shared = [each for each in found if each.id in decisions and _is_drawn(decisions[each.id])]
        if shared and (not fresh or rng.random() < _OVERLAP):
            return shared[rng.integers(len(shared))], "random"
        candidates = fresh or found
        mask = np.zeros(len(self.samples), bool)
        mask[[each.index for each in candidates]] = True
        in_pool = mask[learner.pool]
        if learner.vectors is None or not in_pool.any():
            return candidates[rng.integers(len(candidates))], "random"
        seed = int(rng.integers(2**31))

        def choose() -> _Choice:
            fitted = learner.fitted
            [choice] = choose_next(
                None if fitted is None else fitted.proba,
                learner.vectors,
                ~in_pool,
                seed=seed,
                is_multilabel=self.settings.is_multilabel,
            )
            return self.samples[learner.pool[choice.index]], choice.reason

        return choose

    def _find_states(self, annotator: str) -> Callable[[Sample], str]:
        """Return a function that returns the state of a sample, which is called for all of them."""
        pairs = self.state.list_annotations(annotator)
        own = {sample.id: _STATES[each.action] for sample, each in pairs}
        return lambda each: own.get(each.id, "unlabelled" if each.given is None else "labelled")

    def _labels_for(self, sample: Sample, annotator: str) -> Labels | None:
        """Return the labels of an annotator, who does not see those of others."""
        own = self.state.find(sample, annotator)
        return sample.given if own is None else own.labels

    def show(self, annotator: str, id: str, reason: str = "listed") -> dict[str, Any]:
        """Return a text with what is known of it."""
        with self._lock:
            self._sync()
            sample = self.find(id)
            nearest = self.learner.find_nearest(
                sample.index, sorted(self.state.decided), _N_NEIGHBORS
            )
            neighbors = [
                {
                    "text": self.samples[index].text,
                    "labels": list(self.state.decided[index]),
                    "similarity": similarity,
                }
                for index, similarity in nearest
            ]
            labels = self._labels_for(sample, annotator)
            suspicion = self._suspects.get(sample.index)
            question = None if suspicion is None else _ask(labels, suspicion)
            shown = {
                "id": sample.id,
                "text": sample.text,
                "context": self._context(self.data.rows[sample.rows[0]].columns),
                "state": self._find_states(annotator)(sample),
                "labels": None if labels is None else list(labels),
                "reason": reason,
                "reason_sentence": question if reason == "review" else _REASONS[reason],
                "votes": [each._asdict() for each in sample.votes],
                "neighbors": neighbors,
                "question": question,
            }
        # Outside of the lock, because an explanation takes long.
        shown["suggestion"] = self._suggest(sample, suspicion)
        return shown

    def _context(self, columns: Mapping[str, Any]) -> dict[str, Any]:
        """Return the columns beside the text, the label and the suggestions."""
        data = self.data
        hidden = (*data.text_columns, data.label, *data.suggestions)
        return {
            name: value if isinstance(value, str | int | float | None) else str(value)
            for name, value in columns.items()
            if name not in hidden and not name.startswith(f"{data.label}:")
        }

    def _suggest(self, sample: Sample, suspicion: Suspicion | None) -> dict[str, Any] | None:
        """Return the suggestion of the model, of the columns, or of the words of the classes."""
        fitted = self.learner.fitted
        is_model = fitted is not None and fitted.source == "model"
        if sample.votes and not is_model:
            best = max(sample.votes, key=lambda vote: vote.confidence or 0.0)
            labels = [{"label": best.label, "probability": best.confidence}]
            return {"source": best.source, "labels": labels, "words": []}
        found = self.learner.suggest(sample.text)
        if found is not None and suspicion is not None and suspicion.suggested is not None:
            # Of out-of-fold predictions: the model itself was fitted on the suspicious label.
            labels = [each for each in found["labels"] if each["label"] != suspicion.suggested]
            first = {"label": suspicion.suggested, "probability": suspicion.confidence}
            found["labels"] = [first, *labels]
        return found

    def list_texts(
        self, annotator: str, selected: Filter, offset: int, limit: int
    ) -> dict[str, Any]:
        """Return a part of the texts that a filter selects."""
        with self._lock:
            self._sync()
            found, state_of = self._select(annotator, selected), self._find_states(annotator)
            rows = []
            for each in found[offset : offset + limit]:
                labels = self._labels_for(each, annotator)
                suspicion = self._suspects.get(each.index)
                rows.append(
                    {
                        "id": each.id,
                        "text": shorten_line(each.text[: 4 * _MAX_SHOWN], _MAX_SHOWN, "…"),
                        "labels": None if labels is None else list(labels),
                        "state": state_of(each),
                        "suspicion": None if suspicion is None else suspicion.sentence,
                    }
                )
            return {"total": len(found), "rows": rows}

    # Decisions

    def decide(
        self,
        annotator: str,
        id: str,
        action: str,
        labels: Sequence[str],
        *,
        seconds: float = 0.0,
        suggestion_shown: bool = False,
    ) -> dict[str, Any]:
        """Store a decision about a text, and return the progress."""
        with self._lock:
            self._sync()
            sample = self.find(id)
            chosen = self._check_labels(sample, action, labels)
            reason = self._chosen.pop((annotator, id), "listed")
            event = self._record(
                annotator,
                action,
                sample=id,
                labels=chosen,
                reason=reason,
                seconds=seconds,
                suggestion_shown=suggestion_shown,
            )
            if action in WITH_LABELS:
                self.learner.notify()
            return {"event": event, "progress": self._progress()}

    def _check_labels(self, sample: Sample, action: str, labels: Sequence[str]) -> Labels:
        if action == "keep":
            if sample.given is None:
                raise CordwoodError("the text has no label in the data that could be kept")
            return sample.given
        chosen = tuple(dict.fromkeys(labels))
        for label in chosen:
            if label not in self.state.classes:
                shown = join_names(list(self.state.classes), 10) or "none"
                raise CordwoodError(
                    f"there is no class {shorten_line(label, 80)!r}; add it first (classes: "
                    f"{shown})"
                )
        if action == "label" and len(chosen) != 1 and not self.settings.is_multilabel:
            raise CordwoodError(f"give one label; got {len(chosen)}")
        return chosen

    def undo(self, annotator: str) -> dict[str, Any]:
        """Undo the last decision of an annotator, and return its text."""
        with self._lock:
            self._sync()
            last = self.state.last_decision(annotator)
            if last is None:
                raise CordwoodError("there is no decision that could be undone")
            event, id = last
            undo = self._record(annotator, "undo", sample=id, undone=event)
            self.learner.notify()
        # The text of an event may be missing in the data of today.
        sample = self.show(annotator, id, "undone") if id in self.state.samples else None
        return {"event": undo, "sample": sample}

    def change_classes(
        self,
        annotator: str,
        action: str,
        name: str,
        *,
        description: str | None = None,
        into: str | None = None,
    ) -> list[dict[str, Any]]:
        """Add, describe or merge a class, and return all classes."""
        with self._lock:
            self._sync()
            classes = self.state.classes
            if action == "add":
                name = check_name(name)
                if name in classes:
                    raise CordwoodError(f"there is a class {name!r} already")
            for given in {"add": (), "describe": (name,), "merge": (name, into)}[action]:
                if given not in classes:
                    raise CordwoodError(f"there is no class {shorten_line(str(given), 80)!r}")
            if action == "merge" and name == into:
                raise CordwoodError(f"the class {name!r} cannot be merged into itself")
            details = {"into": into} if action == "merge" else {"description": description or None}
            self._record(annotator, action, name=name, **details)
            self.learner.notify(at_once=True)
            return self.list_classes()

    # Output

    def write(self) -> None:
        """Write the labelled rows to the output, if there were events since the last time."""
        with self._lock:
            self._sync()
            if self._written_event == self.state.last_event:
                return
            event = self.state.last_event
        columns, rows = self.make_table()
        self.settings.write_table(self.settings.output, columns, iter(rows))
        self._written_event = event

    def make_table(self) -> tuple[list[str], list[list[Any]]]:
        """Return the columns and the labelled rows of the data, in their order."""
        with self._lock:
            annotators = self.state.annotators if len(self.state.annotators) > 1 else []
            rows = self.labelled_rows()
        found = []
        for row in rows:
            columns = dict(row.columns)
            if not any(name in columns for name in self.data.text_columns):
                columns[self.data.text_columns[0]] = row.text
            columns[self.data.label] = self._to_cell(row.labels or ())
            by_name = {each.annotator: each for each in row.annotations}
            for name in annotators:
                own = by_name.get(name)
                has_labels = own is not None and own.action in WITH_LABELS
                columns[f"{self.data.label}:{name}"] = (
                    self._to_cell(own.labels) if own is not None and has_labels else None
                )
            found.append(columns)
        names = list(dict.fromkeys(name for each in found for name in each)) or [
            self.data.text_columns[0],
            self.data.label,
        ]
        return names, [[each.get(name) for name in names] for each in found]

    def labelled_rows(self, *, all_decisions: bool = False) -> list[Row]:
        """Return the rows of the data with labels, or also those with other decisions."""
        found, decisions = [], self.state.list_decisions()
        for position, row in enumerate(self.data.rows):
            sample = self.state.of_row[position]
            annotations = tuple(decisions.get(sample.id, ()))
            labels = None if row.labels is None else self.state.rename(row.labels)
            if _has_labels(annotations):
                labels = self.state.decided.get(sample.index)
            if labels is not None or (all_decisions and annotations):
                votes = tuple(sample.votes)
                found.append(row._replace(labels=labels, annotations=annotations, votes=votes))
        return found

    def export_rows(self) -> list[Row]:
        """Return the rows with decisions; the annotator of labels of the data is "data"."""
        with self._lock:
            found = []
            for row in self.labelled_rows(all_decisions=True):
                annotations = row.annotations
                if row.labels is not None and not _has_labels(annotations):
                    annotations += (Annotation("data", "label", row.labels),)
                context = self._context(row.columns)
                found.append(row._replace(columns=context, annotations=annotations))
            return found

    def _to_cell(self, labels: Labels) -> Any:
        return labels if self.settings.is_multilabel else labels[0]


def _has_labels(decisions: Sequence[Annotation]) -> bool:
    return any(each.action in WITH_LABELS for each in decisions)


def _is_drawn(decisions: Sequence[Annotation]) -> bool:
    """Return whether a text that was drawn at random was labelled."""
    return any(each.action in WITH_LABELS and each.reason == "random" for each in decisions)


def check_name(name: str) -> str:
    """Return a valid name of a class, without blanks around it."""
    cleaned = name.strip()
    if not cleaned or len(cleaned) > _MAX_NAME or not cleaned.isprintable():
        raise CordwoodError(
            f"the name of a class must have 1 to {_MAX_NAME} characters that can be printed"
        )
    if cleaned in PLACEHOLDERS or ";" in cleaned:
        raise CordwoodError(
            f"{cleaned!r} cannot be the name of a class: it has a meaning in files of labels"
        )
    return cleaned


def _ask(labels: Labels | None, suspicion: Suspicion) -> str:
    given = "no label" if not labels else join_names(labels)
    proposed = "" if suspicion.suggested is None else f" Is it {suspicion.suggested}?"
    return f"The label is {given}, but {suspicion.sentence}.{proposed}"


def _group_spellings(counts: Mapping[str, int]) -> list[dict[str, Any]]:
    """Return the classes that are probably spellings of others, by the others."""
    groups: defaultdict[str, list[tuple[str, int]]] = defaultdict(list)
    for each in find_spellings(counts):
        groups[each.label].append((each.variant, each.n_samples))
    return [
        {"names": [name for name, _ in found], "into": into, "n": [n for _, n in found]}
        for into, found in groups.items()
    ]


def _forecast(points: Sequence[Mapping[str, Any]], n_labelled: int) -> dict[str, Any] | None:
    """Forecast the accuracy with twice as many labels, and advise whether they are worth it."""
    if len(points) < _MIN_POINTS:
        return None
    sizes = [point["n"] for point in points]
    scores = [Score(point["accuracy"], point["low"], point["high"]) for point in points]
    curve = fit_learning_curve(sizes, scores)
    n = 2 * max(n_labelled, sizes[-1])
    found, gain = curve.forecast(n), curve.gain(n)
    sentence = (
        f"With {n:,} labels, about {found:.0%} of new texts would be right ({found.low:.0%} to "
        f"{found.high:.0%})"
    )
    if cast(float, gain.high) < _SMALL_GAIN:
        sentence += "; twice as many labels would bring less than one point, so that you can stop."
    elif gain < _SMALL_GAIN:
        sentence += "; more labels would probably bring less than one point."
    else:
        sentence += f": {100 * gain:.0f} points more than now."
    return {
        "n": n,
        "accuracy": float(found),
        "low": found.low,
        "high": found.high,
        "sentence": sentence,
    }
