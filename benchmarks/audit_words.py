"""Which words of a label error does an audit show, and what do they cost with an encoder?

    python dev.py bench audit_words [--sets tweets nyt yelp] [--n-texts 2000] [--n-errors 40]
        [--encoder use]

The first label errors of each data set are explained by `quick` with an encoder, with different
limits of the number of words that are removed from a text to explain the encoder; "none" explains
the other members only, as an audit does for all but the first label errors. The table has the mean
decrease of the log-odds of the suggested label if the five words of the largest contributions are
removed from the text, with its standard error, and the CPU seconds; vectors are not cached. The
last line is the smallest decrease with the limit of cordwood, divided by that with all words.
"""

import argparse
import time
from typing import Any

import numpy as np
from scipy.special import logit

from cordwood import TextClassifier
from cordwood.audit import find_label_errors
from cordwood.explain import _occlusion
from cordwood.explain.explanation import Explanation
from corpora import load_single_label
from options import at_least
from stopwatch import measure, print_head, print_row, print_run

N_WORDS = 5
LIMITS: dict[str, int | None] = {
    "all": 10**9,
    str(_occlusion.MAX_WORDS): _occlusion.MAX_WORDS,
    "8": 8,
    "none": None,
}


def remove_words(explanation: Explanation, label: Any) -> str:
    """Remove the words with the largest positive contributions to a class."""
    found = explanation.top_words(label, 4 * N_WORDS)
    words = [word for word, value in found if value > 0 and any(map(str.isalnum, word))][:N_WORDS]
    text = explanation.text
    for word, (start, end) in reversed([*zip(explanation.words, explanation.spans, strict=True)]):
        if word in words:
            text = text[:start] + text[end:]
    return text


def evaluate(name: str, options: argparse.Namespace) -> float:
    corpus = load_single_label(name)
    corpus = corpus.select(np.random.default_rng(0).permutation(len(corpus))[: options.n_texts])
    model = TextClassifier(encoder=options.encoder, random_state=0, n_jobs=1).fit(corpus)
    for member in model.view.members:
        for vectorizer in member.vectorizers:
            if hasattr(vectorizer, "cache"):
                vectorizer.cache = False
    errors = find_label_errors(model.oof_)
    ranking = errors.ranking[: options.n_errors]
    texts = [corpus.texts[i] for i in ranking]
    suggested = errors.suggested[ranking]
    rows = np.arange(len(ranking))
    before = logit(model.predict_proba(texts)[rows, suggested])
    explainer = model.make_explainer()
    n_words = np.median([len(text.split()) for text in texts])
    print(f"\n{name}: {len(texts)} label errors with {n_words:.0f} words in the median")
    print_head("words", "decrease", "standard error", "CPU seconds")
    means = {}
    for limit, value in LIMITS.items():
        _occlusion.MAX_WORDS = value or 0
        seconds, found = measure(
            lambda occlusion: list(explainer.explain_each(texts, occlusion=occlusion)),
            value is not None,
            clock=time.process_time,
        )
        labels = model.classes_[suggested].tolist()
        reduced = [remove_words(each, label) for each, label in zip(found, labels, strict=True)]
        decrease = before - logit(model.predict_proba(reduced)[rows, suggested])
        means[limit] = decrease.mean()
        error = decrease.std() / np.sqrt(len(decrease))
        print_row(limit, f"{means[limit]:.2f}", f"{error:.2f}", f"{seconds:.1f}")
    return float(means[list(LIMITS)[1]] / means["all"])


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Compare limits of the words that are removed.")
    parser.add_argument("--sets", nargs="+", default=["tweets", "nyt", "yelp"])
    parser.add_argument("--n-texts", type=at_least(500), default=2000)
    parser.add_argument("--n-errors", type=at_least(10), default=40)
    parser.add_argument("--encoder", default="use")
    options = parser.parse_args()
    print_run()
    print(f"\nratio: {min(evaluate(name, options) for name in options.sets):.2f}")
