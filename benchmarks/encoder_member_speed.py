"""How much longer does `quick` take to fit with an encoder whose vectors are cached?

    python dev.py bench encoder_member_speed [--sets tweets,yelp,ohsumed] [--encoder use]
        [--repeats 2]

Encodes all texts of a data set, and then alternately fits `quick` without and with the encoder on
four fifths of the texts, in one thread. Reported are the minima over the repeats of CPU seconds.
The last line is the largest ratio.
"""

import argparse
import time
from collections import defaultdict

import numpy as np
from sklearn.model_selection import StratifiedKFold

from cordwood import EmbeddingVectorizer, recipes
from corpora import load_single_label
from options import at_least
from stopwatch import measure, print_head, print_row, print_run


def main(names: list[str], encoder: str, n_repeats: int) -> None:
    print_run()
    recipes.make("quick").fit(["a b", "c d"] * 20, [0, 1] * 20)  # compiles or loads kernels
    print_head("data set", "texts", "classes", "without, s", f"with {encoder}, s", "ratio")
    ratios = []
    for name in names:
        corpus = load_single_label(name)
        EmbeddingVectorizer(encoder).fit(corpus.texts)  # fills the cache
        splitter = StratifiedKFold(5, shuffle=True, random_state=42)
        train, _ = next(splitter.split(corpus.texts, corpus.labels))
        texts = np.array(corpus.texts, object)[train]
        labels = np.array(corpus.labels)[train]
        seconds = defaultdict(list)
        for _ in range(n_repeats):
            for used in (None, encoder):
                model = recipes.make("quick", encoder=used, random_state=0)
                spent, _ = measure(model.fit, texts, labels, clock=time.process_time)
                seconds[used].append(spent)
        without, with_encoder = min(seconds[None]), min(seconds[encoder])
        ratios.append(with_encoder / without)
        print_row(
            name,
            f"{len(texts):,}",
            str(len(set(labels))),
            f"{without:.1f}",
            f"{with_encoder:.1f}",
            f"{ratios[-1]:.2f}",
        )
    print(f"\nratio {max(ratios):.2f}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Compare fits with and without an encoder.")
    parser.add_argument("--sets", default="tweets,yelp,ohsumed")
    parser.add_argument("--encoder", default="use")
    parser.add_argument("--repeats", type=at_least(1), default=2)
    options = parser.parse_args()
    main(options.sets.split(","), options.encoder, options.repeats)
