"""Names of the classes as knowledge about them: their embeddings count as training samples."""

import re
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.pipeline import Pipeline

from cordwood.classifier.samples import TrainingSamples
from cordwood.oof.engine import predict_fold
from cordwood.oof.folds import make_folds
from cordwood.text.embedding import EmbeddingVectorizer

# With more samples per class, names make no difference.
_MAX_SAMPLES_PER_CLASS = 100
_N_FOLDS = 8
# Lower bound of probabilities in the comparison of log losses, as in the combiner.
_FLOOR = 1e-3


def use_class_names(member: Pipeline, samples: TrainingSamples) -> None:
    """Add the embeddings of the names of the classes to a member on embeddings, unless they harm.

    Names such as "positive" have a meaning, codes such as "C14" have none. They are used
    unless they increase the out-of-fold log loss by more than its standard error: few samples
    cannot show that names help, but they do on average; see docs/few-labels.md.
    """
    names = {label: to_words(label) for label in samples.classes.tolist()}
    has_few_samples = len(names) < len(samples.y) <= _MAX_SAMPLES_PER_CLASS * len(names)
    first, head = member.steps[0][1], member.steps[-1][1]
    is_of_texts = isinstance(first, EmbeddingVectorizer)  # and not of a table
    if not is_of_texts or not has_few_samples or not all(names.values()):
        return
    vectorizer = clone(first)
    vectors = vectorizer.fit_transform(samples.texts)
    if vectorizer.fingerprint_ is None:
        return  # without a cache, the training would encode all texts again
    with_names = clone(head).set_params(class_vectors=embed_classes(vectorizer, names))
    increase = _log_losses(with_names, vectors, samples) - _log_losses(head, vectors, samples)
    if increase.mean() <= increase.std() / np.sqrt(len(increase)):
        head.set_params(class_vectors=with_names.class_vectors)


def embed_classes(vectorizer: EmbeddingVectorizer, texts: Mapping[Any, str]) -> dict[Any, Any]:
    """Return the vector of the text of each class."""
    return dict(zip(texts, vectorizer.transform(list(texts.values())), strict=True))


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
