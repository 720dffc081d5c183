"""How long does the report of a model take, compared with its training, and how large is the page?

    python dev.py bench report_speed [--n-samples 20000]

Trains `quick` on texts of 50 classes, those of 20 newsgroups and the 30 largest of Reuters-52, and
writes the report of the training data, with its out-of-fold predictions and the audit of the data.
CPU times of one thread; kernels are compiled before. The last line is the time of the report
divided by that of training.
"""

import argparse
import time
from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from cordwood import Corpus, TextClassifier
from corpora import load_single_label
from options import at_least
from stopwatch import load, measure, print_head, print_row, print_run

N_REUTERS = 30
SEED = 0


def load_texts(n_samples: int) -> Corpus:
    news, reuters = load_single_label("20ng"), load_single_label("r52")
    largest = {label for label, _ in Counter(reuters.labels).most_common(N_REUTERS)}
    chosen = reuters.select([i for i, label in enumerate(reuters.labels) if label in largest])
    texts = [*news.texts, *chosen.texts]
    labels = [*news.labels, *chosen.labels]
    order = np.random.default_rng(SEED).permutation(len(texts))[:n_samples]
    return Corpus(
        texts=[texts[i] for i in order],
        labels=[labels[i] for i in order],
        ids=[str(i) for i in order],
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--n-samples", type=at_least(500), default=20_000)
    arguments = parser.parse_args()
    print_run("jinja2")
    corpus = load_texts(arguments.n_samples)
    small = corpus.select(range(300))
    model = TextClassifier(encoder=None, n_jobs=1)
    model.fit(small).report(None, small).to_html()
    clock = time.process_time
    seconds, _ = measure(model.fit, corpus, clock=clock)
    summarized, report = measure(model.report, None, corpus, clock=clock)
    with TemporaryDirectory() as folder:
        path = Path(folder, "report.html")
        written, _ = measure(lambda: report.save(path), clock=clock)
        size = path.stat().st_size
    n_classes = len(set(corpus.labels or ()))
    print_head(f"{len(corpus):,} texts, {n_classes} classes", "CPU seconds")
    print_row("training", f"{seconds:.1f}")
    print_row("report", f"{summarized:.1f}")
    print_row("page", f"{written:.2f}")
    print(f"\npage of {size / 1e6:.2f} MB{load()}")
    print(f"{(summarized + written) / seconds:.3f}")


if __name__ == "__main__":
    main()
