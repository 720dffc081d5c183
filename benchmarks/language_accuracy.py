"""How accurate is cordwood on texts that are not in English?

    python dev.py bench language_accuracy [--sets zh-messages th-messages] [--limit 1500]
        [--samples 3] [--encoder use]

Compares the recipes `quick`, also with an encoder, and `svm` with two pipelines of scikit-learn:
linear SVMs on TF-IDF of words, and of n-grams of 1 to 3 characters, both with defaults otherwise.
The texts are of Debian 12 and downloaded once:

- messages: what LibreOffice shows its users, in short texts that were translated by people; the
  class is the module they belong to, such as Calc or Writer. Messages of several modules, and those
  that are not translated, are left out.
- descriptions: translated descriptions of packages; the class is the section of the package, such
  as games or editors.

Prints accuracies in percent of 3 stratified folds of at most `--limit` texts of the most frequent
classes, over `--samples` disjoint samples of texts if there are enough, and the difference between
`quick` and the character SVM with its standard error, in percentage points: both predict the same
texts, so that it is smaller than that of the accuracies. The last line is the smallest difference.
"""

import argparse
import bz2
import lzma
import random
import re
import struct
import tarfile
import tempfile
import urllib.request
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from functools import partial
from io import BytesIO
from pathlib import Path
from statistics import median_low
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.svm import LinearSVC

from cordwood import recipes
from options import at_least
from stopwatch import print_head, print_row, print_run

MIRROR = "http://deb.debian.org/debian"
SUITE = f"{MIRROR}/dists/bookworm/main"

# Suffix of the package of LibreOffice, or of the file of descriptions.
MESSAGES = {"zh": "zh-cn", "ja": "ja", "th": "th", "hi": "hi", "ar": "ar", "de": "de"}
DESCRIPTIONS = {"zh": "zh_CN", "ja": "ja", "de": "de"}
SETS = (
    *(f"{code}-messages" for code in MESSAGES),
    *(f"{code}-descriptions" for code in DESCRIPTIONS),
)
N_CLASSES = 8
N_FOLDS = 3
MIN_LENGTH = 6

Samples = list[tuple[str, str]]


def make_svm(**options: Any) -> Any:
    return make_pipeline(TfidfVectorizer(sublinear_tf=True, **options), LinearSVC())


def make_models(encoder: str | None) -> dict[str, Callable[[], Any]]:
    quick = partial(recipes.make, "quick", random_state=0, n_jobs=-1)
    with_encoder = {f"quick, {encoder}": partial(quick, encoder=encoder)} if encoder else {}
    return {
        "quick": quick,
        **with_encoder,
        "svm": partial(recipes.make, "svm", random_state=0),
        "character SVM": partial(make_svm, analyzer="char", ngram_range=(1, 3)),
        "word SVM": make_svm,
    }


class Mirror:
    """Files of the Debian archive, stored in a directory when they are read first."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        directory.mkdir(parents=True, exist_ok=True)
        self._packages: dict[str, dict[str, str]] = {}

    def read(self, url: str) -> bytes:
        """Return the content of a file."""
        path = self._directory / url.rsplit("/", 1)[-1]
        if not path.exists():
            with urllib.request.urlopen(url, timeout=300) as response:
                content = response.read()
            path.with_suffix(".part").write_bytes(content)
            path.with_suffix(".part").replace(path)
        return path.read_bytes()

    @property
    def packages(self) -> dict[str, dict[str, str]]:
        """The fields of each package."""
        if not self._packages:
            index = lzma.decompress(self.read(f"{SUITE}/binary-amd64/Packages.xz")).decode()
            for block in index.split("\n\n"):
                fields = dict(re.findall(r"^(Package|Section|Filename): (.*)$", block, re.M))
                if fields:
                    self._packages[fields["Package"]] = fields
        return self._packages

    def read_package(self, name: str) -> Iterator[tuple[str, bytes]]:
        """Yield the path and the content of each file of a package."""
        archive = self.read(f"{MIRROR}/{self.packages[name]['Filename']}")
        position = len("!<arch>\n")
        while position < len(archive):
            header = archive[position : position + 60]
            size = int(header[48:58])
            content = archive[position + 60 : position + 60 + size]
            if header.startswith(b"data.tar"):
                with tarfile.open(fileobj=BytesIO(content)) as tar:
                    for member in tar:
                        if member.isreg() and (file := tar.extractfile(member)) is not None:
                            yield member.name, file.read()
            position += 60 + size + size % 2


def parse_catalogue(content: bytes) -> Iterator[tuple[str, str]]:
    """Yield the messages of a .mo file and their translations."""
    _, _, count, originals, translations = struct.unpack_from("<5I", content)
    for number in range(count):
        texts = []
        for table in (originals, translations):
            size, start = struct.unpack_from("<2I", content, table + 8 * number)
            texts.append(content[start : start + size].decode())
        yield texts[0].rpartition("\x04")[2], texts[1]


def load_messages(mirror: Mirror, language: str) -> Samples:
    modules = defaultdict(set)
    for path, content in mirror.read_package(f"libreoffice-l10n-{language}"):
        if path.endswith(".mo"):
            for message, translation in parse_catalogue(content):
                if message and translation != message and len(translation) >= MIN_LENGTH:
                    modules[translation].add(Path(path).stem)
    return sorted((text, *names) for text, names in modules.items() if len(names) == 1)


def load_descriptions(mirror: Mirror, language: str) -> Samples:
    content = bz2.decompress(mirror.read(f"{SUITE}/i18n/Translation-{language}.bz2")).decode()
    pattern = r"Package: (\S+)\n.*\nDescription-\w+: ((?s:.*))"
    sections = {}
    for block in content.split("\n\n"):
        if (match := re.match(pattern, block)) and match[1] in mirror.packages:
            text = re.sub(r"^ \.?", "", match[2], flags=re.M)
            sections[text] = mirror.packages[match[1]]["Section"]
    return sorted(sections.items())


def load(
    mirror: Mirror, name: str, limit: int, n_samples: int
) -> list[tuple[list[str], list[str]]]:
    """Return disjoint random samples of the texts of the most frequent classes."""
    code, _, kind = name.rpartition("-")
    if kind == "messages":
        samples = load_messages(mirror, MESSAGES.get(code, code))
    else:
        samples = load_descriptions(mirror, DESCRIPTIONS.get(code, code))
    frequent = {label for label, _ in Counter(y for _, y in samples).most_common(N_CLASSES)}
    samples = [sample for sample in samples if sample[1] in frequent]
    random.Random(0).shuffle(samples)
    n_samples = max(1, min(n_samples, len(samples) // limit))
    parts = [samples[i * limit : (i + 1) * limit] for i in range(n_samples)]
    return [([text for text, _ in part], [label for _, label in part]) for part in parts]


def find_correct(
    make_model: Callable[[], Any], texts: list[str], labels: list[str]
) -> NDArray[np.bool_]:
    """Return which texts are predicted correctly in cross-validation."""
    X, y = np.array(texts, object), np.array(labels)
    correct = np.zeros(len(y), bool)
    for train, test in StratifiedKFold(N_FOLDS, shuffle=True, random_state=0).split(X, y):
        model = make_model().fit(X[train].tolist(), y[train])
        correct[test] = model.predict(X[test].tolist()) == y[test]
    return correct


def main(
    names: list[str], limit: int, n_samples: int, encoder: str | None, directory: Path
) -> None:
    print_run()
    mirror = Mirror(directory)
    models = make_models(encoder)
    print_head("data set", "texts", "median length", *models, "quick - character SVM")
    gains = []
    for name in names:
        samples = load(mirror, name, limit, n_samples)
        correct = {
            model: np.concatenate([find_correct(make_model, *sample) for sample in samples])
            for model, make_model in models.items()
        }
        texts = [text for sample, _ in samples for text in sample]
        gain = 100 * (correct["quick"].astype(float) - correct["character SVM"])
        print_row(
            name,
            f"{len(texts):,}",
            f"{median_low(map(len, texts)):,}",
            *(f"{100 * each.mean():.1f}" for each in correct.values()),
            f"{gain.mean():+.1f} ± {gain.std() / len(gain) ** 0.5:.1f}",
        )
        gains.append(gain.mean())
    print(f"\npoints: {min(gains):+.1f}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Compare recipes on texts in many languages.")
    parser.add_argument("--sets", nargs="+", default=SETS, help="such as zh-messages")
    parser.add_argument("--limit", type=at_least(100), default=1500)
    parser.add_argument("--samples", type=at_least(1), default=1)
    parser.add_argument("--encoder", help="such as use, which must be installed")
    parser.add_argument(
        "--dir", type=Path, default=Path(tempfile.gettempdir(), "cordwood-languages")
    )
    options = parser.parse_args()
    main(options.sets, options.limit, options.samples, options.encoder, options.dir)
