"""A multilabel corpus with an official split, whose categories are tested against the rest."""

import json

import numpy as np

from cordwood import recipes
from cordwood.compare.config.plan import parse_plan
from cordwood.compare.runner.ledger import Ledger
from cordwood.compare.runner.run import run
from cordwood.datasets.registry import load_dataset

WORDS = {"tin": "solder alloy can", "gold": "ingot alloy mint", "owl": "feather night mint"}
CATEGORIES = ("tin", "gold")
VECTORIZER = {"preset": "icml03", "weighting": "binary", "min_df": 1}


def write_stories(root):
    """Write the corpus to a data folder."""
    rng = np.random.default_rng(0)
    with open(root / "stories.jsonl", "w", encoding="utf-8") as file:
        for number in range(240):
            labels = [name for name in WORDS if rng.random() < (0.15 if name == "tin" else 0.4)]
            own = [word for name in labels for word in WORDS[name].split()]
            words = rng.choice([*own, "the", "of", "story", *(own or ["news"])], size=6)
            split = "train" if number < 160 else "test"
            line = {"id": str(number), "text": " ".join(words), "labels": labels, "split": split}
            file.write(json.dumps(line) + "\n")
    return root


def make_plan(folder, learners, **tables):
    return parse_plan(
        {
            "evaluation": {"kind": "fixed", **tables.pop("evaluation", {})},
            "metric": "f1",
            "vectorizer": VECTORIZER,
            "datasets": [{"name": "stories", "categories": list(CATEGORIES)}],
            "learners": learners,
            **tables,
        },
        data_dir=folder,
    )


def run_plan(folder, tmp_path, learners, *, n_jobs=1, **tables):
    plan = make_plan(folder, learners, **tables)
    return run(plan, Ledger(tmp_path / "ledger.jsonl"), data_dir=folder, n_jobs=n_jobs)


def official_parts(folder, category):
    corpus = load_dataset("stories", data_dir=folder)
    for part in ("train", "test"):
        subset = corpus.subset(part)
        yield subset.texts, np.array([category in labels for labels in subset.labels])


def fit(folder, category, recipe, **params):
    (texts, y), (test_texts, y_test) = official_parts(folder, category)
    model = recipes.make(recipe, vectorizer_params=VECTORIZER, n_jobs=1, random_state=0, **params)
    return model.fit(texts, y), test_texts, y_test
