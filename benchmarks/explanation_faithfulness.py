"""Are the words that `TextClassifier.explain` names those that the prediction depends on?

    pip install lime shap
    python dev.py bench explanation_faithfulness [--sets tweets yelp 20ng] [--n-texts 30]

Trains `quick` on each data set and explains its predictions of test texts. Words are ranked by
their contribution to the predicted class, all occurrences of a word together. Words are separated
by spaces: if a part of such a word is removed, the rest becomes another word, such as the emoticon
":/" of "http://".

- deletion: mean decrease of the probability when the first 5, 10, 20 and 50 % of the distinct words
  are removed (comprehensiveness, AOPC; higher is better).
- sufficiency: mean decrease when only these words are kept (lower is better).

Alternatives: a random order, occlusion (the decrease without each word), LIME with its default of
5,000 samples, and SHAP's explainer of texts (Partition) with its default of 500 evaluations. CPU
times are means per text. The last line is the CPU time of LIME divided by that of cordwood, the
smallest over the data sets.
"""

import argparse
import re
import time
from bisect import bisect_left, bisect_right
from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cordwood import TextClassifier
from corpora import load_single_label
from options import at_least
from stopwatch import load, measure, print_head, print_row, print_run

SHARES = (0.05, 0.1, 0.2, 0.5)
MAX_TRAIN = 4000
SEED = 0

# Scores of the distinct words of a text, in lower case, for one class.
Scores = dict[str, float]


class Text:
    """A text, its distinct words and the spans of all of their occurrences."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.occurrences: dict[str, list[tuple[int, int]]] = {}
        for match in re.finditer(r"\S+", text):
            self.occurrences.setdefault(match[0].lower(), []).append(match.span())

    @property
    def words(self) -> list[str]:
        """The distinct words, in lower case."""
        return list(self.occurrences)

    def without(self, removed: set[str]) -> str:
        """Return the text without some words."""
        parts, end = [], 0
        spans = sorted(span for word in removed for span in self.occurrences[word])
        for start, stop in spans:
            parts.append(self.text[end:start])
            end = stop
        return "".join([*parts, self.text[end:]])


def explain_with_cordwood(model: Any) -> Callable[[list[Text], list[int]], list[Scores]]:
    explainer = model.make_explainer()

    def convert(text: Text, column: int, found: Any) -> Scores:
        scores = dict.fromkeys(text.words, 0.0)
        values = found.word_contributions[:, column].tolist()
        places = sorted((span, word) for word, spans in text.occurrences.items() for span in spans)
        starts = [start for (start, _), _ in places]
        for (start, end), value in zip(found.spans, values, strict=True):
            covered = places[bisect_right(starts, start) - 1 : bisect_left(starts, end)]
            for _, word in covered:
                scores[word] += value / len(covered)
        return scores

    def explain(texts: list[Text], columns: list[int]) -> list[Scores]:
        found = explainer.explain_each(text.text for text in texts)
        return [convert(*each) for each in zip(texts, columns, found, strict=True)]

    return explain


def one_by_one(
    make: Callable[[Any], Callable[[Text, int], Scores]],
) -> Callable[[Any], Callable[[list[Text], list[int]], list[Scores]]]:
    """Return a method of many texts, given one of single texts."""

    def make_many(model: Any) -> Callable[[list[Text], list[int]], list[Scores]]:
        explain = make(model)
        return lambda texts, columns: [explain(*each) for each in zip(texts, columns, strict=True)]

    return make_many


def explain_by_occlusion(model: Any) -> Callable[[Text, int], Scores]:
    def explain(text: Text, column: int) -> Scores:
        proba = model.predict_proba([text.text, *(text.without({word}) for word in text.words)])
        change = proba[0, column] - proba[1:, column]
        return dict(zip(text.words, change.tolist(), strict=True))

    return explain


def explain_at_random(model: Any) -> Callable[[Text, int], Scores]:
    rng = np.random.default_rng(SEED)
    return lambda text, column: dict(zip(text.words, rng.random(len(text.words)), strict=True))


def explain_with_lime(model: Any) -> Callable[[Text, int], Scores]:
    explainer = import_module("lime.lime_text").LimeTextExplainer(
        split_expression=str.split, random_state=SEED
    )

    def explain(text: Text, column: int) -> Scores:
        found = explainer.explain_instance(
            text.text, model.predict_proba, labels=(column,), num_features=len(text.words) + 1
        )
        scores = dict.fromkeys(text.words, 0.0)
        for word, value in found.as_list(label=column):
            scores[word.lower()] += value
        return scores

    return explain


def explain_with_shap(model: Any) -> Callable[[Text, int], Scores]:
    shap = import_module("shap")
    # The masker of SHAP's examples of TF-IDF models; masked tokens become "...".
    masker = shap.maskers.Text(r"\W+")
    explainer = shap.Explainer(lambda texts: model.predict_proba(list(texts)), masker, seed=SEED)

    def explain(text: Text, column: int) -> Scores:
        found = explainer([text.text], silent=True)
        scores = dict.fromkeys(text.words, 0.0)
        start = 0
        for token, value in zip(found.data[0], found.values[0][:, column], strict=True):
            end = start + len(token)
            covered = [
                word
                for word, spans in text.occurrences.items()
                for span in spans
                if span[0] < end and span[1] > start
            ]
            for word in covered:
                scores[word] += float(value) / len(covered)
            start = end
        return scores

    return explain


METHODS: dict[str, Callable[[Any], Callable[[list[Text], list[int]], list[Scores]]]] = {
    "random": one_by_one(explain_at_random),
    "occlusion": one_by_one(explain_by_occlusion),
    "LIME": one_by_one(explain_with_lime),
    "SHAP": one_by_one(explain_with_shap),
    "cordwood": explain_with_cordwood,
}


def find_curves(
    model: Any, text: Text, column: int, scores: Scores
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the decreases by deletion and by keeping the first words, for each share."""
    order = sorted(text.words, key=lambda word: -scores[word])
    texts = [text.text]
    for share in SHARES:
        first = set(order[: max(1, round(share * len(order)))])
        texts += [text.without(first), text.without(set(order) - first)]
    proba = model.predict_proba(texts)[:, column]
    return proba[0] - proba[1::2], proba[0] - proba[2::2]


def evaluate(name: str, n_texts: int, methods: list[str]) -> float:
    corpus = load_single_label(name)
    order = np.random.default_rng(SEED).permutation(len(corpus))
    n_train = min(MAX_TRAIN, len(corpus) - n_texts)
    train, test = corpus.select(order[:n_train]), corpus.select(order[n_train:][:n_texts])
    model = TextClassifier(encoder=None, oof=False, random_state=SEED, n_jobs=1).fit(train)
    texts = [text for text in map(Text, test.texts) if len(text.words) > 1]
    columns = model.predict_proba([text.text for text in texts]).argmax(axis=1).tolist()
    print(f"\n{name}: {n_train:,} training texts, {len(texts)} explained texts{load()}")
    print_head("method", "deletion", "sufficiency", "CPU, ms")
    seconds = {}
    for method in methods:
        explain = METHODS[method](model)
        explain(texts[:1], columns[:1])  # compiles or loads kernels
        total, found = measure(explain, texts, columns, clock=time.process_time)
        seconds[method] = total / len(texts)
        curves = [find_curves(model, *each) for each in zip(texts, columns, found, strict=True)]
        deletion, sufficiency = np.mean(curves, axis=(0, 2))
        milliseconds = f"{1000 * seconds[method]:.1f}"
        print_row(method, f"{deletion:.3f}", f"{sufficiency:.3f}", milliseconds)
    return seconds["LIME"] / seconds["cordwood"] if "LIME" in methods else np.nan


def main(names: list[str], n_texts: int, methods: list[str]) -> None:
    print_run(*(package for package in ("lime", "shap") if package.upper() in methods))
    ratios = [evaluate(name, n_texts, methods) for name in names]
    print(f"\nratio: {min(ratios):.0f}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Compare the faithfulness of explanations.")
    parser.add_argument("--sets", nargs="+", default=["tweets", "yelp", "20ng"])
    parser.add_argument("--n-texts", type=at_least(1), default=30)
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=list(METHODS))
    options = parser.parse_args()
    main(options.sets, options.n_texts, options.methods)
