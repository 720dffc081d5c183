"""The model that learns from the labels in the background, and what it suggests."""

import logging
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.preprocessing import normalize

from cordwood.audit import audit_dataset, find_label_errors
from cordwood.classifier.text_classifier import TextClassifier
from cordwood.datasets.corpus import Corpus
from cordwood.exceptions import CordwoodError
from cordwood.labelling.cold_start import WordOverlap
from cordwood.labelling.samples import Labels
from cordwood.metrics.evaluation import evaluate_oof
from cordwood.metrics.scores import Score
from cordwood.text.embedding import EmbeddingVectorizer
from cordwood.text.vectorizer import TextVectorizer

logger = logging.getLogger("cordwood")

# Of more texts, the next one is chosen from a random part, whose probabilities are known soon.
POOL_SIZE = 20_000
# Of more labels, a part is fitted, so that a refit takes no longer than one of as many.
MAX_FITTED = 10_000
# Labels until a first model, and until the next one: as many, or this share of those there are.
_MIN_LABELS = 6
_REFIT_SHARE = 0.05
# Of fewer texts that were drawn at random, an estimate has no use.
_MIN_DRAWN = 10
_MIN_SHOWN = 0.1  # share of the contribution of the strongest word
_N_SUGGESTED = 3
_MAX_OCCLUDED = 400  # characters
_REVIEWED = ("label error", "contradictory label", "missing label")


class TrainingSet(NamedTuple):
    """Labelled texts, the classes, and the state of the labels that they are of."""

    indices: tuple[int, ...]
    labels: tuple[Labels, ...]
    is_drawn: NDArray[np.bool_]  # at random, so that they are fit for estimates
    descriptions: Mapping[str, str | None]

    @property
    def is_enough(self) -> bool:
        """Whether a model can be fitted: it is cross-validated, with two samples of a class."""
        distinct = set(self.labels)
        return len(self.labels) >= _MIN_LABELS and 1 < len(distinct) < len(self.labels)


class Suspicion(NamedTuple):
    """Why a label may be wrong, and the one that is more probable."""

    sentence: str
    suggested: str | None
    confidence: float | None = None


class Fitted(NamedTuple):
    """A model, and what it predicts for the texts that are chosen from; it is never modified."""

    model: TextClassifier
    source: str
    n_labelled: int
    proba: NDArray[np.float64]
    accuracy: Score | None
    n_drawn: int
    suspicions: dict[int, Suspicion]


class Learner:
    """Fits models in a thread of its own; the newest one that succeeded is used."""

    def __init__(
        self,
        texts: Sequence[str],
        *,
        is_multilabel: bool,
        encoder: Any,
        seed: int,
        take_snapshot: Callable[[], TrainingSet],
        on_fit: Callable[[Fitted], None],
        review: Corpus | None = None,
        model: TextClassifier | None = None,
    ) -> None:
        self._texts, self._is_multilabel, self._encoder = texts, is_multilabel, encoder
        self._seed, self._take_snapshot, self._on_fit = seed, take_snapshot, on_fit
        self._review, self._given_model = review, model
        order = np.random.default_rng(seed).permutation(len(texts))
        self.pool: NDArray[np.intp] = np.sort(order[:POOL_SIZE])
        self.vectors: Any = None  # of the pool, until then texts are drawn at random
        self.fitted: Fitted | None = None
        self.suspects: dict[int, Suspicion] = {}  # of an audit, the most suspect first
        self.state, self.sentence = "none", "No model yet: label a few texts of each class."
        self._overlap: WordOverlap | None = None
        self._wanted, self._is_closed = threading.Event(), False
        self._n_changes = 0
        self._thread = threading.Thread(target=self._run, name="cordwood-learner", daemon=True)

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def close(self) -> None:
        """End the thread after the fit that is running, for which the process does not wait."""
        self._is_closed = True
        self._wanted.set()

    def notify(self, n_changes: int = 1, *, at_once: bool = False) -> None:
        """Count changes of labels, and fit a model after enough of them."""
        self._n_changes += n_changes
        n_known = 0 if self.fitted is None else self.fitted.n_labelled
        if at_once or self._n_changes >= max(_MIN_LABELS - 1, _REFIT_SHARE * n_known):
            self._wanted.set()

    def _run(self) -> None:
        self._attempt(self._vectorize)
        if self._review is None:
            self._wanted.set()
        elif not self._attempt(self._audit):
            return  # there is nothing to review, which a model of the labels must not hide
        while self._wanted.wait() and not self._is_closed:
            self._wanted.clear()
            self._attempt(self._update)

    def _attempt(self, work: Callable[[], None]) -> bool:
        """Do a part of the work; an error becomes a state with a sentence."""
        try:
            work()
            return True
        except Exception as error:  # a thread that ends would leave the labels without a model
            logger.debug("fit of a labelling project failed", exc_info=True)
            known = isinstance(error, CordwoodError | ValueError | MemoryError)
            reason = " ".join(str(error).split()) if known else f"unexpected {type(error).__name__}"
            kept = "" if self.fitted is None else "; the model before it is used"
            self.state, self.sentence = "failed", f"The model could not be fitted: {reason}{kept}."
            return False

    @property
    def _pool_texts(self) -> list[str]:
        return [self._texts[i] for i in self.pool.tolist()]

    def _vectorize(self) -> None:
        texts = self._pool_texts
        try:
            self.vectors = normalize(TextVectorizer().fit_transform(texts))
        except ValueError:  # no words
            return
        if self._encoder is not None:
            self.vectors = EmbeddingVectorizer(encoder=self._encoder).fit_transform(texts)

    def _audit(self) -> None:
        """Look for wrong labels in the data, by the given model or one that is fitted."""
        data = self._review
        assert data is not None
        self.state = "fitting"
        self.sentence = "The labels are being compared with a model of the texts."
        model = self._given_model or self._make_model({}).fit(data)
        found = audit_dataset(data, model=model, random_state=self._seed)
        position = {text: index for index, text in enumerate(self._texts)}
        suspects: dict[int, Suspicion] = {}
        for kind in _REVIEWED:
            for each in found.select(kind):
                suspicion = Suspicion(each.reason, each.suggested_label, each.confidence)
                suspects.setdefault(position[data.texts[each.index]], suspicion)
        self._use(model, "model", len(data), None, 0, {})
        self.suspects = suspects

    def _update(self) -> None:
        """Fit a model on the labels, or on the descriptions of the classes if they are too few."""
        data = self._take_snapshot()
        self._n_changes = 0
        self._overlap = WordOverlap(data.descriptions, self._pool_texts)
        if data.is_enough:
            self.state = "fitting"
            self.sentence = f"A model of {len(data.labels):,} labels is being fitted."
            self._fit(data)
        elif self._encoder is not None and not self._is_multilabel and len(data.descriptions) > 1:
            self.state, self.sentence = "fitting", "A model of the descriptions is being fitted."
            model = TextClassifier(
                encoder=self._encoder,
                class_descriptions=data.descriptions,
                random_state=self._seed,
            ).fit([], [])
            self._use(model, "classes", 0, None, 0, {})

    def _make_model(self, descriptions: Mapping[str, str | None]) -> TextClassifier:
        described = {label: text for label, text in descriptions.items() if text}
        can_use = self._encoder is not None and not self._is_multilabel
        return TextClassifier(
            encoder=self._encoder,
            class_descriptions=described if described and can_use else None,
            oof=True,
            random_state=self._seed,
        )

    def _fit(self, data: TrainingSet) -> None:
        texts = [self._texts[i] for i in data.indices]
        y: list[Any] = [list(each) if self._is_multilabel else each[0] for each in data.labels]
        known = {label for labels in data.labels for label in labels}
        model = self._make_model(
            {label: text for label, text in data.descriptions.items() if label in known}
        ).fit(texts, y)
        oof = model.oof_
        assert oof is not None
        accuracy, drawn = None, data.is_drawn
        if drawn.sum() >= _MIN_DRAWN:
            part = replace(oof, proba=oof.proba[drawn], y=oof.y[drawn], groups=None)
            accuracy = evaluate_oof(part, model.decision_.apply(oof.proba)[drawn]).accuracy
        suspicions: dict[int, Suspicion] = {}
        if not self._is_multilabel:
            errors = find_label_errors(oof)
            for i in errors.ranking.tolist():
                label = str(oof.classes[errors.suggested[i]])
                sentence = (
                    f"{label} has the probability {errors.confidence[i]:.2f}, {y[i]} "
                    f"{errors.self_confidence[i]:.2f}"
                )
                suspicions[data.indices[i]] = Suspicion(
                    sentence, label, float(errors.confidence[i])
                )
        self._use(model, "model", len(y), accuracy, int(drawn.sum()), suspicions)

    def _use(
        self,
        model: TextClassifier,
        source: str,
        n_labelled: int,
        accuracy: Score | None,
        n_drawn: int,
        suspicions: dict[int, Suspicion],
    ) -> None:
        proba = model.predict_proba(self._pool_texts)
        fitted = Fitted(model, source, n_labelled, proba, accuracy, n_drawn, suspicions)
        self._on_fit(fitted)  # first: the page shows the curve of the model that it shows
        self.fitted = fitted
        self.state, self.sentence = "ready", _describe(fitted)

    def suggest(self, text: str) -> dict[str, Any] | None:
        """Suggest labels with the words that argue for them; None if nothing is known."""
        fitted = self.fitted
        if fitted is None:
            return None if self._overlap is None else self._overlap.suggest(text)
        explainer = fitted.model.make_explainer()
        # An encoder takes long for many words, so that other members explain, if there are any.
        is_needed = len(explainer.occluded) == len(explainer.is_exact)
        occlusion = is_needed and len(text) <= _MAX_OCCLUDED
        [found] = explainer.explain_each([text], occlusion=occlusion)
        ranked = found.top_classes(len(found.classes))
        proba = dict(zip(found.classes.tolist(), found.proba.tolist(), strict=True))
        if isinstance(found.prediction, tuple):
            suggested = list(found.prediction)
            explained = suggested or ranked[:1]
        else:
            suggested, explained = ranked[:_N_SUGGESTED], ranked[:1]
        columns = [found.class_index(label) for label in explained]
        words = []
        if columns and len(found.words):
            part = found.word_contributions[:, columns]
            strongest = np.abs(part).argmax(axis=1)
            values = part[np.arange(len(part)), strongest]
            largest = float(np.abs(values).max()) or 1.0
            words = [
                {"start": start, "end": end, "share": value / largest, "label": explained[column]}
                for (start, end), value, column in zip(
                    found.spans, values.tolist(), strongest.tolist(), strict=True
                )
                if abs(value) >= _MIN_SHOWN * largest
            ]
        labels = [{"label": label, "probability": proba[label]} for label in suggested]
        return {"source": fitted.source, "labels": labels, "words": words}

    def find_nearest(self, index: int, labelled: Sequence[int], n: int) -> list[tuple[int, float]]:
        """Return the labelled texts that are most similar to a text, with their cosines."""
        vectors, pool = self.vectors, self.pool
        if vectors is None:
            return []
        [own] = np.searchsorted(pool, [index])
        others = np.asarray(labelled, np.intp)
        places = np.minimum(np.searchsorted(pool, others), len(pool) - 1)
        is_known = (pool[places] == others) & (others != index)
        others, places = others[is_known], places[is_known]
        if own == len(pool) or pool[own] != index or not len(others):
            return []
        product = vectors[places] @ vectors[[own]].T
        cosines = (product.toarray() if hasattr(product, "toarray") else product).ravel()
        best = np.argsort(-cosines, kind="stable")[:n]
        return [(int(others[i]), float(cosines[i])) for i in best if cosines[i] > 0]


def _describe(fitted: Fitted) -> str:
    if fitted.source == "classes":
        return "A model of the descriptions alone; its accuracy is unknown."
    of = f"A model of {fitted.n_labelled:,} labels"
    if fitted.accuracy is None:
        return f"{of}; {_MIN_DRAWN} texts drawn at random are needed to estimate its accuracy."
    score = fitted.accuracy
    return (
        f"{of}: about {score:.0%} of new texts would be right ({score.low:.0%} to "
        f"{score.high:.0%}), estimated on {fitted.n_drawn:,} texts that were drawn at random."
    )
