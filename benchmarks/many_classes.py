"""Short texts of many classes, which every Debian or Ubuntu system has: package descriptions.

The texts are not part of this repository. They stand in for data sets of short requests with a
hundred classes.
"""

import re
import shutil
import subprocess
from collections import defaultdict

import numpy as np

CLASSES = {"maintainer": "Maintainer", "section": "Section"}
_MIN_TEXTS, _MAX_TEXTS = 60, 130


def load_descriptions(by: str) -> tuple:
    """Return one-line descriptions of packages, and their maintainer or section as the class.

    Classes have at least 60 distinct descriptions; at most 130 of them are drawn.
    """
    if shutil.which("apt-cache") is None:
        raise SystemExit("this benchmark reads package descriptions by apt-cache, of Debian")
    listing = subprocess.run(["apt-cache", "dumpavail"], capture_output=True, check=True)
    texts = defaultdict(set)
    for paragraph in listing.stdout.decode("utf-8", "replace").split("\n\n"):
        fields = dict(re.findall(r"^([A-Za-z-]+): (.*)$", paragraph, re.MULTILINE))
        if "Description" in fields and CLASSES[by] in fields:
            texts[fields[CLASSES[by]]].add(fields["Description"])
    rng = np.random.default_rng(0)
    rows = [
        (text, label)
        for label in sorted(texts)
        if len(texts[label]) >= _MIN_TEXTS
        for text in rng.permutation(sorted(texts[label]))[:_MAX_TEXTS]
    ]
    if not rows:
        raise SystemExit("apt-cache lists no packages; run apt-get update first")
    descriptions, labels = zip(*rows, strict=True)
    return np.array(descriptions), np.array(labels)
