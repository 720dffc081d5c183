"""Names and descriptions of the classes: their embeddings count as training samples."""

import re
from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.pipeline import Pipeline

from cordwood._base.wording import count
from cordwood.classifier.samples import TrainingSamples, read_training_samples
from cordwood.exceptions import CordwoodError
from cordwood.oof.engine import predict_fold
from cordwood.oof.folds import make_folds
from cordwood.text.embedding import EmbeddingVectorizer

# Texts by label; none if a class has nothing but its name.
Descriptions: TypeAlias = Mapping[Any, tuple[str, ...]]

# Weight of the descriptions of a class, in samples. It is larger than that of names, because
# descriptions say more; see docs/few-labels.md.
_DESCRIPTIONS_WEIGHT = 12.0
# With more samples per class, names make no difference.
_MAX_SAMPLES_PER_CLASS = 100
_N_FOLDS = 8
# Lower bound of probabilities in the comparison of log losses, as in the combiner.
_FLOOR = 1e-3


def use_class_names(
    member: Pipeline, samples: TrainingSamples, descriptions: Descriptions | None = None
) -> None:
    """Add the embeddings of what the classes mean to a member on embeddings.

    Descriptions are always used. Names of the other classes, such as "positive", may mean much,
    codes such as "C14" nothing. They are used unless they increase the out-of-fold log loss by more
    than its standard error: few samples cannot show that names help, but they do on average; see
    docs/few-labels.md.
    """
    first, head = member.steps[0][1], member.steps[-1][1]
    if not isinstance(first, EmbeddingVectorizer):  # of a table
        return
    classes = samples.classes.tolist()
    described = {label: texts for label, texts in (descriptions or {}).items() if texts}
    if described:
        given = clone(first).fit([text for texts in described.values() for text in texts])
        head.set_params(
            class_vectors=_embed_classes(given, described),
            class_vectors_weight=_DESCRIPTIONS_WEIGHT,
        )
    names = {label: (to_words(label),) for label in classes if label not in described}
    has_few_samples = len(classes) < len(samples.y) <= _MAX_SAMPLES_PER_CLASS * len(classes)
    if not names or not has_few_samples or ("",) in names.values():
        return
    vectorizer = clone(first)
    vectors = vectorizer.fit_transform(samples.texts)
    if vectorizer.fingerprint_ is None:
        return  # without a cache, the training would encode all texts again
    class_vectors = {**(head.class_vectors or {}), **_embed_classes(vectorizer, names)}
    with_names = clone(head).set_params(class_vectors=class_vectors)
    increase = _log_losses(with_names, vectors, samples) - _log_losses(head, vectors, samples)
    if increase.mean() <= increase.std() / np.sqrt(len(increase)):
        head.set_params(class_vectors=class_vectors)


def check_descriptions(given: Any) -> Descriptions:
    """Return the texts of each label of `class_descriptions`; none for None."""
    if not isinstance(given, Mapping):
        raise CordwoodError(
            "class_descriptions must be a mapping of labels to texts; got an object of type "
            f"{type(given).__name__}"
        )
    found = {}
    for label, value in given.items():
        texts = (value,) if isinstance(value, str) else () if value is None else value
        is_valid = isinstance(texts, list | tuple) and (value is None or len(texts) > 0)
        if not is_valid or not all(isinstance(text, str) and text.strip() for text in texts):
            raise CordwoodError(
                f"class_descriptions of {label!r} must be a text or a list of texts that are not "
                f"empty, or None; got {value!r:.100}"
            )
        found[label] = tuple(texts)
    return found


def check_labels(descriptions: Descriptions, classes: Iterable[Any]) -> None:
    """Raise if a described label is none of the training samples."""
    known = list(classes)
    for label in descriptions:
        if label not in known:
            shown = ", ".join(map(repr, known[:10])) + (", ..." if len(known) > 10 else "")
            raise CordwoodError(
                f"class_descriptions has the label {label!r}, which no training sample has; remove "
                f"or correct it, or add a sample (labels of the samples: {shown})"
            )


def to_samples(descriptions: Descriptions) -> TrainingSamples:
    """Return the descriptions as training samples, for a model without others."""
    if len(descriptions) < 2:
        raise CordwoodError(
            f"class_descriptions has {count(len(descriptions), 'label')}; without training "
            "samples, a classifier needs at least two"
        )
    texts = {label: own or (to_words(label),) for label, own in descriptions.items()}
    for label, own in texts.items():
        if not own[0]:
            raise CordwoodError(
                f"class_descriptions of {label!r} is None, and the label has no words; describe it"
            )
    flat = [text for own in texts.values() for text in own]
    labels = [label for label, own in texts.items() for _ in own]
    samples = read_training_samples(flat, labels, None, converts_tables=True)
    # Each class weighs as much as its descriptions beside training samples do.
    weights = [_DESCRIPTIONS_WEIGHT / len(own) for own in texts.values() for _ in own]
    return samples._replace(weights=weights)


def _embed_classes(vectorizer: EmbeddingVectorizer, texts: Descriptions) -> dict[Any, Any]:
    """Return the vectors of the texts of each class."""
    vectors = vectorizer.transform([text for own in texts.values() for text in own])
    ends = np.cumsum([len(own) for own in texts.values()])
    return dict(zip(texts, np.split(vectors, ends[:-1]), strict=True))


def to_words(label: Any) -> str:
    """Return the words of a label; empty if it has none.

    Examples
    --------
    >>> to_words("rec.sport.baseball"), to_words("cardLost_or-stolen"), to_words(3)
    ('rec sport baseball', 'card lost or stolen', '')
    """
    if not isinstance(label, str):
        return ""
    apart = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", label)
    words = re.findall(r"[^\W_]+", apart)
    return " ".join(words).lower() if re.search(r"[^\W\d_]{2}", label) else ""


def _log_losses(head: Any, vectors: Any, samples: TrainingSamples) -> NDArray[np.float64]:
    """Return the out-of-fold log loss of each sample."""
    codes = np.searchsorted(samples.classes, samples.y)
    proba = np.empty((len(codes), len(samples.classes)))
    for fold in make_folds(_N_FOLDS, codes, None, seed=0):
        proba[fold[1]] = predict_fold(head, vectors, samples.y, {}, fold, samples.classes)
    return -np.log(np.maximum(proba[np.arange(len(codes)), codes], _FLOOR))
