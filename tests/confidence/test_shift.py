from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import binomtest, hypergeom

import cordwood
from cordwood import TextClassifier
from cordwood.confidence import shift as module
from cordwood.confidence.shift import DatasetShift, ShiftDetector, ShiftedTerm, shift_p_values
from cordwood.exceptions import DataError
from cordwood.text.vectorizer import TextVectorizer
from synthetic_data import make_counts

WORDS = np.array([f"w{i}" for i in range(300)])


def write_texts(n_texts, seed, extra=()):
    """Texts of 8 words of a Zipf distribution; with `extra`, one of these words in each."""
    rng = np.random.default_rng(seed)
    weights = 1 / np.arange(1, len(WORDS) + 1)
    drawn = rng.choice(WORDS, (n_texts, 8), p=weights / weights.sum())
    return [" ".join([*words, *rng.choice(extra or [""], 1)]) for words in drawn]


def make_detector(texts, **params):
    vectorizer = TextVectorizer(preset="social", mark_negation=False, **params)
    X = vectorizer.fit_transform(texts)
    frequencies = np.bincount(X.indices, minlength=X.shape[1]).astype(np.int32)
    return ShiftDetector(vectorizer, frequencies, len(texts))


def detect(texts, new_texts, **params):
    detector = make_detector(texts, **params)
    detector.add(new_texts)
    return detector.detect()


@pytest.fixture(scope="module")
def model():
    texts = write_texts(300, 0)
    return TextClassifier("nb").fit(texts, [("w1 " in text) for text in texts])


def test_p_values_are_those_of_binomial_tests():
    before, after = np.array([0, 5, 40, 200, 3]), np.array([9, 0, 10, 150, 30])
    is_known = np.array([False, True, True, True, False])
    share, expected = 0.3, []
    for b, a, known in zip(before, after, is_known, strict=True):
        sides = ("greater", "less") if known else ("greater",)
        tests = [binomtest(int(a), int(a + b), share, alternative=side) for side in sides]
        expected.append(2 * 5 * min(test.pvalue for test in tests))
    np.testing.assert_allclose(shift_p_values(before, after, share, is_known), expected)


def test_p_values_are_conservative():
    """Texts are drawn without replacement, so that the exact distribution is narrower."""
    for total in (5, 60, 500):
        after = np.arange(total // 2, total + 1)
        found = shift_p_values(total - after, after, 0.4, np.zeros(len(after), bool))
        exact = hypergeom.sf(after - 1, 1000, 400, total) * 2 * len(after)
        wide = exact < 1e-3
        assert (found >= exact * (1 - 1e-9))[wide].all()


def test_texts_of_the_same_source_do_not_differ():
    alarms = [
        detect(write_texts(200, seed), write_texts(150, seed + 1000)) is not None
        for seed in range(60)
    ]
    assert sum(alarms) <= 3  # 0.6 are expected at most


def test_terms_that_differ_are_found_with_their_shares():
    texts, new = write_texts(400, 0), write_texts(100, 1, extra=("covid", "vaccine"))
    found = detect(texts, new)
    shares = {each.term: each for each in found.terms}
    assert set(shares) == {"covid", "vaccine"}
    for word in ("covid", "vaccine"):
        n_texts = sum(word in text for text in new)
        assert shares[word] == (word, n_texts / 100, 0.0)
    back = detect(new, texts)  # terms that have become rare
    assert {each.term for each in back.terms} == {"covid", "vaccine"}
    assert back.terms[0].share == 0


def test_sentence():
    shift = DatasetShift((ShiftedTerm("a", 0.53, 0.0), ShiftedTerm("b", 0.081, 0.0014)), 100)
    assert str(shift) == (
        "the texts differ from the training texts: 'a' is in 53% of them instead of 0.0%, "
        "'b' in 8.1% instead of 0.1%"
    )


def test_a_term_below_min_df_may_have_been_in_training_texts():
    texts = write_texts(100, 0)
    new = [f"{text} rare" for text in write_texts(10, 1)[:4]] + write_texts(96, 2)
    assert detect(texts, new, min_df=1) is None  # by chance, 1 in 2 ** 4
    new = [f"{text} rare" for text in write_texts(100, 1)]
    [term] = detect(texts, new, min_df=6).terms
    assert term == ("rare", 1.0, 0.05)


def test_vocabulary_with_a_limit_does_not_show_which_terms_are_new():
    texts = write_texts(200, 0, extra=("often",))
    new = write_texts(200, 1, extra=("often",))
    assert detect(texts, new, max_df=0.9) is None
    assert detect(texts, new, max_features=20) is None


def test_parts_of_many_texts_are_sampled_at_random(monkeypatch):
    monkeypatch.setattr(module, "_MAX_TEXTS", 100)
    detector = make_detector(write_texts(50, 0))
    for start in range(0, 1000, 50):
        detector.add(str(i) for i in range(start, start + 50))
    kept = np.array(detector._texts, int)
    assert len(set(kept)) == 100
    assert abs(kept.mean() - 500) < 4 * 289 / 10


def test_no_texts():
    assert detect(write_texts(50, 0), []) is None


def test_model_detects_shift_also_after_a_file(model, tmp_path):
    same, other = write_texts(150, 1), write_texts(150, 2, extra=("covid",))
    assert model.detect_shift(same) is None
    expected = model.detect_shift(other)
    assert expected.terms[0].term == "covid"
    model.save(tmp_path / "model")
    assert cordwood.load(tmp_path / "model").detect_shift(other) == expected


def test_file_without_frequencies_is_loaded(model, tmp_path):
    other = TextClassifier("nb").fit(write_texts(60, 0), ["a", "b"] * 30)
    other.scope_ = replace(other.scope_, frequencies=None)
    other.save(tmp_path / "model")
    loaded = cordwood.load(tmp_path / "model")
    assert loaded.classify(write_texts(5, 1), unknown=0.1).is_in_scope.shape == (5,)
    with pytest.raises(DataError, match="detect_shift requires"):
        loaded.detect_shift(write_texts(5, 1))


def test_models_without_frequencies_raise():
    X, y = make_counts(60, 10, 2, seed=0)
    numeric = TextClassifier("nb").fit(X, y)
    without_scores = TextClassifier("svm").fit(write_texts(40, 0), ["a", "b"] * 20)
    for model, samples in ((numeric, X), (without_scores, write_texts(5, 1))):
        assert model.make_shift_detector() is None
        with pytest.raises(DataError, match="requires a model of texts with out-of-fold"):
            model.detect_shift(samples)
