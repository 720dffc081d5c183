"""How long does it take to explain one text?

    python dev.py bench explanation_speed [--sets tweets 20ng] [--n-texts 50] [--repeats 5]

Trains `quick` on each data set and explains test texts one by one, after a warm-up: by
`Explainer.explain`, and by occlusion, which predicts the text without each of its words. The
alternative in the last line is a single call of `predict_proba`, without any explanation. CPU times
are minima over the repeats, in which the three alternate; the table has medians and maxima over the
texts. The last line is the time of an explanation divided by that of a prediction, the largest
median over the data sets.
"""

import argparse
import time
from typing import Any

import numpy as np

from cordwood import TextClassifier
from cordwood.explain._occlusion import occlude
from cordwood.explain._word_folding import Words
from corpora import load_single_label
from options import at_least
from stopwatch import load, measure, print_head, print_row, print_run

MAX_TRAIN = 4000
SEED = 0


def evaluate(name: str, n_texts: int, n_repeats: int) -> float:
    corpus = load_single_label(name)
    order = np.random.default_rng(SEED).permutation(len(corpus))
    n_train = min(MAX_TRAIN, len(corpus) - n_texts)
    train, test = corpus.select(order[:n_train]), corpus.select(order[n_train:][:n_texts])
    model = TextClassifier(encoder=None, oof=False, random_state=SEED, n_jobs=1).fit(train)
    functions: dict[str, Any] = {
        "explanation": model.make_explainer().explain,
        "occlusion": lambda text: occlude(model, [text], [Words(text)]),
        "prediction": lambda text: model.predict_proba([text]),
    }
    least = {method: np.full(len(test), np.inf) for method in functions}
    for repeat in range(n_repeats + 1):
        for i, text in enumerate(test.texts):
            for method, function in functions.items():
                if method == "occlusion" and repeat > 1:
                    continue
                seconds, _ = measure(function, text, clock=time.process_time)
                if repeat:  # The first one compiles or loads kernels.
                    least[method][i] = min(least[method][i], seconds)
    print(f"\n{name}: {n_train:,} training texts, {len(test)} explained texts{load()}")
    print_head("function", "median, ms", "maximum, ms")
    for method, seconds in least.items():
        print_row(method, f"{1000 * np.median(seconds):.2f}", f"{1000 * seconds.max():.2f}")
    return float(np.median(least["explanation"] / least["prediction"]))


def main(names: list[str], n_texts: int, n_repeats: int) -> None:
    print_run()
    ratios = [evaluate(name, n_texts, n_repeats) for name in names]
    print(f"\nratio: {max(ratios):.2f}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Time explanations of single texts.")
    parser.add_argument("--sets", nargs="+", default=["tweets", "20ng"])
    parser.add_argument("--n-texts", type=at_least(1), default=50)
    parser.add_argument("--repeats", type=at_least(1), default=5)
    options = parser.parse_args()
    main(options.sets, options.n_texts, options.repeats)
