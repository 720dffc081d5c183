from collections import Counter

import numpy as np
import pytest

from cordwood import Corpus, TextClassifier
from cordwood.audit import audit_dataset
from cordwood.audit.spellings import find_spellings

VERBS = ("cancel", "activate", "receive", "dispute", "change", "verify", "declined")
NOUNS = (
    *("card_payment", "bank_transfer", "cash_withdrawal", "exchange_rate", "direct_debit"),
    *("top_up", "identity_document", "pin_code", "virtual_card", "refund", "extra_charge"),
)
LABELS = [f"{verb}_{noun}" for verb in VERBS for noun in NOUNS]


def misspell(label, rng):
    position, letter = int(rng.integers(len(label))), chr(97 + rng.integers(26))
    start, end = label[:position], label[position:]
    variants = (start + end[1:], start + letter + end, start + letter + end[1:])
    swapped = start + end[:2][::-1] + end[2:]
    others = (label.upper(), label.capitalize(), label.replace("_", "-"), label.replace("_", " "))
    return (*variants, swapped, *others)[rng.integers(8)]


def make_samples(seed, n_samples=2000, n_variants=42):
    """Return texts, true labels and labels of which some are misspelled in one to three samples."""
    rng = np.random.default_rng(seed)
    labels = [LABELS[i % len(LABELS)] for i in range(n_samples)]
    texts = [
        " ".join(f"{part[:6]}{rng.integers(4)}" for part in label.split("_", 1) for _ in range(3))
        + f" {rng.integers(400)} {rng.integers(400)}"
        for label in labels
    ]
    given, variants = list(labels), {}
    while len(variants) < n_variants:
        label = LABELS[rng.integers(len(LABELS))]
        if (variant := misspell(label, rng)) not in (*LABELS, *variants):
            variants[variant] = label
            same = [i for i in range(n_samples) if given[i] == label]
            for i in rng.choice(same, rng.integers(1, 4), replace=False):
                given[i] = variant
    return texts, labels, given


@pytest.mark.parametrize("seed", [0, 1])
def test_misspelled_labels_are_merged(seed):
    texts, labels, given = make_samples(seed)
    assert len(set(given)) == 119
    data = Corpus(texts=texts, ids=[str(i) for i in range(len(texts))], labels=given)
    audit = audit_dataset(data, model=TextClassifier("nb", oof=True).fit(data))
    new = audit.fix().relabelled
    assert [new.get(i, label) for i, label in enumerate(given)] == labels


PAIRS = [
    ("card_1", "card_2"),
    ("pos", "neg"),
    ("top_up", "to_up"),
    ("1", "-1"),
    ("A", "A-"),
    ("23", "2-3"),
    ("type_i", "type_ii"),
    ("grade_ii_tumour", "grade_iii_tumour"),
    ("type_a_diabetes", "type_b_diabetes"),
    ("card", "cart"),
    ("typical_reaction", "atypical_reaction"),
    ("v1.10", "v1.1"),
]


@pytest.mark.parametrize("labels", PAIRS)
def test_different_labels_are_not_spellings(labels):
    frequent, rare = labels
    assert find_spellings(Counter({frequent: 90, rare: 3}), ["an atypical reaction"]) == ()


@pytest.mark.parametrize("rare", [3, 30])
def test_a_class_that_the_model_distinguishes_is_not_merged(rare):
    texts = [f"embassy visa passport {i % 7}" for i in range(90)]
    texts += [f"sheriff mayor district {i % 7}" for i in range(rare)]
    labels = ["country"] * 90 + ["county"] * rare
    other = [f"goal match team {i % 9}" for i in range(40)]
    data = Corpus(
        texts=texts + other,
        ids=[str(i) for i in range(len(texts + other))],
        labels=labels + ["sport"] * 40,
    )
    audit = audit_dataset(data, model=TextClassifier("nb", oof=True).fit(data))
    assert [(each.label, each.variant) for each in audit.spellings] == [("country", "county")]
    assert not audit.spellings[0].is_confirmed
    assert "country" not in audit.fix().relabelled.values()


def test_without_a_model_typos_are_not_merged():
    labels = ["shipping"] * 20 + ["Shipping", "shiping"] + ["billing"] * 20
    data = Corpus(texts=["x"] * 42, ids=[str(i) for i in range(42)], labels=labels)
    audit = audit_dataset(data)
    assert [each.is_confirmed for each in audit.spellings] == [True, False]
    assert 21 not in audit.fix().relabelled
