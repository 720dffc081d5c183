"""Labels and classes as the events leave them, which every process derives from the same events."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from cordwood.labelling.samples import (
    ACTIONS,
    WITH_LABELS,
    Annotation,
    Labels,
    Row,
    Sample,
    collect_samples,
)
from cordwood.labelling.store import Event


class State:
    """Samples with the labels of each annotator.

    Events are applied in their order. Those of samples that are not in the data are kept, because
    the data may be longer the next time.
    """

    def __init__(self, rows: Sequence[Row], *, is_multilabel: bool) -> None:
        self.samples: dict[str, Sample] = collect_samples(rows)
        self.classes: dict[str, str | None] = {}  # descriptions by name
        self.scores: dict[int, Mapping[str, Any]] = {}  # of models by their number of labels
        self.last_event = 0
        # All annotations by annotator and sample, the last of which counts until it is undone.
        self._annotations: defaultdict[str, dict[str, list[Annotation]]] = defaultdict(dict)
        self._history: defaultdict[str, dict[int, str]] = defaultdict(dict)
        # New names of merged classes: in the data, and in events since a name was last added.
        self._renamed: dict[str, str] = {}
        self._merged: dict[str, str] = {}
        counts = Counter(label for row in rows for label in row.labels or ())
        self.classes.update((label, None) for label, _ in counts.most_common())
        samples = list(self.samples.values())
        for sample in samples:
            for vote in sample.votes:
                self.classes.setdefault(vote.label, None)
        # Labels that most annotators gave, or else those of the data, by the index of the sample.
        self.decided = {each.index: each.given for each in samples if each.given is not None}
        self.of_row = {row: sample for sample in samples for row in sample.rows}
        for position, row in enumerate(rows):
            for each in row.annotations:
                self._push(self.of_row[position].id, each, joins=is_multilabel)

    def apply(self, event: Event) -> None:
        """Apply the next event."""
        self.last_event = event.id
        details = event.details
        if event.action in ACTIONS and event.sample is not None:
            labels = tuple(dict.fromkeys(self._merged.get(each, each) for each in event.labels))
            reason, seconds = str(details.get("reason", "")), float(details.get("seconds", 0.0))
            found = Annotation(
                event.annotator, event.action, labels, event.time, seconds, reason, event.id
            )
            self._push(event.sample, found)
        elif event.action == "undo":
            self._undo(event.annotator, details["undone"])
        elif event.action in ("add", "describe"):
            self._merged.pop(details["name"], None)
            self.classes[details["name"]] = details.get("description")
        elif event.action == "merge":
            self._merge(details["name"], details["into"])
        elif event.action == "fit":
            self.scores[details["n"]] = details

    def _push(self, sample: str, annotation: Annotation, *, joins: bool = False) -> None:
        """Add an annotation; several decisions of a file about one text are joined."""
        stack = self._annotations[annotation.annotator].setdefault(sample, [])
        if joins and stack and annotation.action in WITH_LABELS:
            labels = dict.fromkeys((*stack.pop().labels, *annotation.labels))
            annotation = annotation._replace(labels=tuple(labels))
        stack.append(annotation)
        if annotation.event:
            self._history[annotation.annotator][annotation.event] = sample
        for label in annotation.labels:
            self.classes.setdefault(label, None)
        self._decide(sample)

    def _undo(self, annotator: str, event: int) -> None:
        sample = self._history[annotator].pop(event, None)
        if sample is not None:
            stack = self._annotations[annotator][sample]
            stack[:] = [each for each in stack if each.event != event]
            self._decide(sample)

    def _merge(self, name: str, into: str) -> None:
        def rename(labels: Labels) -> Labels:
            return tuple(dict.fromkeys(into if each == name else each for each in labels))

        for stacks in self._annotations.values():
            for stack in stacks.values():
                stack[:] = [each._replace(labels=rename(each.labels)) for each in stack]
        for sample in self.samples.values():
            if sample.given is not None:
                sample.given = rename(sample.given)
            sample.votes = [
                vote._replace(label=into) if vote.label == name else vote for vote in sample.votes
            ]
        for names in (self._merged, self._renamed):
            names.update({old: into for old, new in names.items() if new == name})
            names[name] = into
            names.pop(into, None)
        self.classes.pop(name, None)
        self.classes.setdefault(into, None)
        for id in self.samples:
            self._decide(id)

    def rename(self, labels: Labels) -> Labels:
        """Return labels of the data with merged classes."""
        return tuple(dict.fromkeys(self._renamed.get(each, each) for each in labels))

    def last_decision(self, annotator: str) -> tuple[int, str] | None:
        """Return the last event of an annotator that can be undone, and its sample."""
        history = self._history[annotator]
        return (last := max(history), history[last]) if history else None

    def list_decisions(self) -> dict[str, list[Annotation]]:
        """Return the decisions that count by the ids of their samples."""
        found: defaultdict[str, list[Annotation]] = defaultdict(list)
        for stacks in self._annotations.values():
            for id, stack in stacks.items():
                found[id] += stack[-1:]
        return {id: each for id, each in found.items() if each}

    @property
    def annotators(self) -> list[str]:
        """Those who decided about any sample of the data."""
        return [name for name in self._annotations if any(self.list_annotations(name))]

    def list_annotations(self, annotator: str) -> Iterator[tuple[Sample, Annotation]]:
        """Yield the decisions of an annotator that count."""
        for id, stack in self._annotations[annotator].items():
            if stack and id in self.samples:
                yield self.samples[id], stack[-1]

    def find(self, sample: Sample, annotator: str) -> Annotation | None:
        """Return the decision of an annotator about a sample."""
        stack = self._annotations.get(annotator, {}).get(sample.id)
        return stack[-1] if stack else None

    def find_all(self, sample: Sample) -> list[Annotation]:
        """Return the decisions of all annotators about a sample."""
        found = (self.find(sample, name) for name in list(self._annotations))
        return [each for each in found if each is not None]

    def is_contradictory(self, sample: Sample) -> bool:
        """Return whether no labels have more votes of annotators than all others."""
        return sample.index not in self.decided and any(
            each.action in WITH_LABELS for each in self.find_all(sample)
        )

    def _decide(self, id: str) -> None:
        """Count the votes of the annotators; if two labels have the most, nothing is decided."""
        sample = self.samples.get(id)
        if sample is None:
            return
        given = [each.labels for each in self.find_all(sample) if each.action in WITH_LABELS]
        counts = Counter(tuple(sorted(labels)) for labels in given).most_common(2)
        found = sample.given
        if counts:
            is_tied = len(counts) == 2 and counts[0][1] == counts[1][1]
            found = (
                None
                if is_tied
                else next(labels for labels in given if tuple(sorted(labels)) == counts[0][0])
            )
        if found is None:
            self.decided.pop(sample.index, None)
        else:
            self.decided[sample.index] = found
